"""What a page says, beside what it saves: every sentence, table and figure is recorded, and held against predicates.

    said = record_page("01_verification", corpus=str(folder), out=str(out))
    list_lies(said)                      each as "predicate: sentence or table", none where all is true

A predicate sees the numbers in a sentence and the frames of the page; none knows how the page chose its wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pages import run_cells

from perslib import report
from perslib.errors import NotEnough
from perslib.report.page import export, page
from perslib.report.show.claims import Estimate
from perslib.report.show.tables import FormattedCell
from perslib.text import translate

#: Words that announce: what they say needs an interval that excludes chance.
ANNOUNCES = re.compile(
    r"significantly (better|worse)|beyond chance|more than by chance|\bleads\b|is first; the data|picks (better|worse)|\brewards a reply\b"
    r"|adds? .* to r\*\*|teach something"
)
#: Words that take an announcement back.
TAKES_BACK = re.compile(
    r"(?i)nothing shows|\bno\b|\bnot\b|none|within chance|too few|how much|\?|no evidence|differ significantly from"
)
_NUMBER = re.compile(r"(?<![\w.])[−-]?\d+(?:\.\d+)?(?![\w.]*%?\w)")
_INTERVAL = re.compile(r"([−-]?[\d.,]+) \[([−-]?[\d.,]+), ([−-]?[\d.,]+)\]")
_DIFFERENCE = re.compile(r"difference (?:of|is) ([−-]?\d+\.\d+)")
#: Columns of saved frames → the ends of their scale.
SCALES = {
    "pearson": (-1, 1),
    "wb_pearson": (-1, 1),
    "spearman": (-1, 1),
    "tau": (-1, 1),
    "kappa": (-1, 1),
    "auroc": (0, 1),
}
SCALES |= {"mean_score": (1, 5), "user_macro": (1, 5), "dissatisfied": (0, 1), "share": (0, 1)}


@dataclass
class Said:
    """What a page said and saved."""

    sentences: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    """Message, values, and the text that they make."""
    captions: list[tuple[str, pd.DataFrame]] = field(default_factory=list)
    frames: list[tuple[str, pd.DataFrame]] = field(default_factory=list)

    @property
    def has_intervals(self) -> bool:
        """Whether any saved frame has a finite bound."""
        return any(_bounds(frame).notna().any(axis=None) for _, frame in self.frames)


def record_page(notebook: str, **parameters: object) -> Said:
    """Run a notebook and record what it says and saves."""
    said = Said()

    def keep(tell: Callable[..., None]) -> Callable[..., None]:
        def told(message: str, **values: Any) -> None:
            is_left_out = tell is page.answer and any(page._UNDEFINED.search(str(own)) for own in values.values())
            if message and not is_left_out:
                own = {name: value for name, value in values.items() if name != "counted"}
                said.sentences.append((message, own, translate(message, **own)))
            tell(message, **values)

        return told

    def keep_frame(save: Callable[..., Any]) -> Callable[..., Any]:
        def saved(*args: Any, **more: Any) -> Any:
            frame = next((own for own in args if isinstance(own, pd.DataFrame)), None)
            caption = more.get("caption") or next((own for own in args[2:] if isinstance(own, str)), "")
            if frame is not None and len(frame):
                name = next(own for own in args if isinstance(own, str))
                said.frames.append((name, export._with_numbers(frame)))
                said.captions.append((str(caption), frame))
            return save(*args, **more)

        return saved

    with pytest.MonkeyPatch.context() as patch:
        for name in ("say", "answer"):
            patch.setattr(report, name, keep(getattr(page, name)))
        for name in ("save_table", "save_figure"):
            patch.setattr(report, name, keep_frame(getattr(export, name)))
        with suppress(NotEnough), redirect_stdout(StringIO()):
            run_cells(notebook, **parameters)
    return said


# -- predicates: each yields what it finds wrong ----------------------------------------------------------------------


def find_values_outside(said: Said) -> Iterator[str]:
    """An interval holds its value, in sentences and in frames."""
    for _, values, text in said.sentences:
        for value, low, high in _INTERVAL.findall(text):
            if not _read(low) <= _read(value) <= _read(high):
                yield f"{value} lies outside [{low}, {high}]: {text}"
        for own in values.values():
            if isinstance(own, Estimate | FormattedCell):
                low, high = (
                    (own.low, own.high) if isinstance(own, Estimate) else (_end(own, "_low"), _end(own, "_high"))
                )
                value = own.value if isinstance(own, Estimate) else own.numbers.get("", np.nan)
                slack = 0.011 if isinstance(own, Estimate) and own.digits < 3 else 0.0011
                if np.isfinite([low, high, float(value)]).all() and not low - slack <= float(value) <= high + slack:
                    yield f"{own} does not hold its value: {text}"
    for name, frame in said.frames:
        for column in _estimated(frame):
            value, low, high = (
                pd.to_numeric(frame[f"{column}{end}"], errors="coerce") for end in ("", "_low", "_high")
            )
            if ((value < low - 1e-9) | (value > high + 1e-9)).any():
                yield f"{column} of {name} lies outside its interval"


def find_off_scale(said: Said) -> Iterator[str]:
    """A number and its interval stay inside what can be."""
    for name, frame in said.frames:
        kinds = {column: SCALES[column] for column in _estimated(frame) if column in SCALES}
        parts = [(column, frame, column, scale) for column, scale in kinds.items()]
        if "metric" in frame and "value_low" in frame:
            parts += [
                (m, frame[frame["metric"] == m], "value", SCALES[m]) for m in frame["metric"].unique() if m in SCALES
            ]
        for label, rows, column, (least, most) in parts:
            ends = rows[[c for c in (column, f"{column}_low", f"{column}_high") if c in rows]].apply(
                pd.to_numeric, errors="coerce"
            )
            if (ends.min(axis=None) < least - 1e-9) or (ends.max(axis=None) > most + 1e-9):
                yield f"{label} of {name} leaves {least} to {most}"


def find_bare_announcements(said: Said) -> Iterator[str]:
    """What announces has an interval that excludes chance, or corrected p; where the page has none, nothing is announced."""
    for message, values, text in said.sentences:
        if not ANNOUNCES.search(message) or TAKES_BACK.search(message):
            continue
        estimates = [own for own in values.values() if isinstance(own, Estimate)]
        if not said.has_intervals or any(own.side in ("unknown",) for own in estimates):
            yield f"announced without an interval: {text}"
        elif estimates and not any(own.side in ("above", "below") for own in estimates):
            yield f"announced within chance: {text}"


def find_undefined(said: Said) -> Iterator[str]:
    """No sentence has a number that is not defined."""
    for _, _, text in said.sentences:
        if re.search(r"\bnan\b|\[–|[=:] None\b", text):
            yield f"not defined: {text}"


def find_wrong_differences(said: Said) -> Iterator[str]:
    """A difference is that of two numbers that are printed beside it, where two are."""
    for _, _, text in said.sentences:
        for match in _DIFFERENCE.finditer(text):
            digits = len(match[1].partition(".")[2])
            others = [own for own in _list_numbers(text[: match.start()]) if len(own.partition(".")[2]) == digits]
            pairs = [
                abs(abs(_read(a) - _read(b)) - abs(_read(match[1])))
                for i, a in enumerate(others)
                for b in others[i + 1 :]
            ]
            if len(others) >= 2 and min(pairs) > 0.6 * 10**-digits:
                yield f"no two numbers differ by {match[1]}: {text}"


def find_rounded_shares(said: Said) -> Iterator[str]:
    """A share that is not all, or not none, is not printed as such."""
    for message, values, text in said.sentences:
        for _, name, form, _ in Formatter().parse(message):
            share = values.get(name or "")
            if form == ".0%" and isinstance(share, float) and 0 < share < 1 and f"{share:.0%}" in ("0%", "100%"):
                yield f"{name} is {share:.4f}: {text}"


def find_empty_captions(said: Said) -> Iterator[str]:
    """A caption that names intervals stands above some, or the page says that there are none."""
    for caption, frame in said.captions:
        bounds = _bounds(frame)
        if (
            "95 % interval" in caption
            and len(bounds.columns)
            and bounds.isna().all(axis=None)
            and not export._lacks_intervals(frame)
        ):
            yield f"no interval under: {caption}"


def find_numbered_references(said: Said) -> Iterator[str]:
    """A sentence names a table or figure of its own page by what it shows, never by a number."""
    for message, _, text in said.sentences:
        if re.search(r"\b(Table|Figure) \d", message) and not re.search(
            r"paper|PersTurnBench|Mem-PAL|UXBench|DEUS", message
        ):
            yield f"by its number: {text}"


PREDICATES: tuple[Callable[[Said], Iterator[str]], ...] = (
    find_values_outside,
    find_off_scale,
    find_bare_announcements,
    find_undefined,
    find_wrong_differences,
    find_rounded_shares,
    find_empty_captions,
    find_numbered_references,
)


def list_lies(said: Said) -> list[str]:
    """Return what any predicate finds wrong."""
    return [f"{find.__name__}: {lie}" for find in PREDICATES for lie in find(said)]


def _bounds(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[[column for column in frame if str(column).endswith(("_low", "_high"))]]


def _estimated(frame: pd.DataFrame) -> list[str]:
    names = [str(column) for column in frame]
    return [name for name in names if f"{name}_low" in names and f"{name}_high" in names]


def _end(cell: FormattedCell, name: str) -> float:
    return float(cell.numbers.get(name, np.nan))


def _list_numbers(text: str) -> list[str]:
    return _NUMBER.findall(re.sub(r"\[[^\]]*\]", "", text))


def _read(number: str) -> float:
    return float(number.replace("−", "-").replace(",", ""))
