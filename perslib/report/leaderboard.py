"""The leaderboard: candidates of all replays under `reports/`, side by side where they may be compared.

A replay page saves its standings as the table `leaderboard`. Rows of several pages come into one group if, and only
if, corpus, replayed turns, judge, the judge's model and the calibration are the same; a mean satisfaction says
nothing beyond those. Tests between candidates stay those of the run in which they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import Translatable
from perslib.report.manifest import write_text
from perslib.report.shelf import Page, common_language, pages_under, shelf_css, template
from perslib.report.words import controls_shown, day, name_of
from perslib.text import translate, using_language

FILE = "leaderboard.html"
TABLE = "leaderboard"
#: What must be the same in rows that are compared.
GROUP = ["corpus_digest", "set_digest", "judge", "judge_prompt", "judge_backbone", "calibration"]
#: What makes two rows of a group one candidate. Of the recorded replies there is only one.
CANDIDATE = ["candidate", "context", "backbone", "temperature"]
_TEXTS = ["candidate", "context", "backbone", "corpus", "replay_set", "rank_set", *GROUP]
_SCORES = ["user_macro", "user_macro_low", "user_macro_high"]
_SHARES = ["dsat", "dsat_low", "dsat_high"]
_COUNTS = ["turns", "users"]
_FLAGS = ["tied_first", "self_judged", "first_look"]
#: Least and greatest value of a number's column; empty cells are allowed but in counts.
_BOUNDS = {
    **dict.fromkeys(_SCORES, (1.0, 5.0)),
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    **dict.fromkeys(_COUNTS, (0.0, 1e9)),
    "temperature": (0.0, 100.0),
}
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Skipped:
    """A table that is left out, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Group:
    """Candidates that may be compared, the best first; all of them share what `first` says."""

    rows: pd.DataFrame

    @property
    def first(self) -> dict[Hashable, Any]:
        """The row of the best candidate."""
        return self.rows.iloc[0].to_dict()

    @property
    def turns(self) -> int:
        """Turns of the replay set, as far as any candidate was scored on them."""
        return int(self.rows["turns"].max())

    @property
    def users(self) -> int:
        """Users of these turns."""
        return int(self.rows["users"].max())

    @property
    def axis(self) -> tuple[float, float]:
        """Whole half points around all intervals, for the drawing."""
        known = self.rows[_SCORES].to_numpy(float)
        known = known[np.isfinite(known)]
        if not known.size:
            return 1.0, 5.0
        low, high = np.floor(known.min() * 2) / 2, np.ceil(known.max() * 2) / 2
        return float(low), float(max(high, low + 0.5))

    def place(self, score: float) -> float:
        """Where a score is on the axis, in percent."""
        low, high = self.axis
        return round(100 * (score - low) / (high - low), 2)


def write_leaderboard(root: Path) -> Path | None:
    """Write `leaderboard.html` over the tables of all runs under `root`; without any, remove the one that is there."""
    pages = pages_under(root)
    language = common_language(pages)
    with using_language(language):
        return _write(root, pages, language)


def _write(root: Path, pages: list[Page], language: str) -> Path | None:
    groups, skipped = standings(pages)
    path = root / FILE
    if not groups and not skipped:
        path.unlink(missing_ok=True)
        return None
    return write_text(
        path,
        template("leaderboard.html.j2").render(
            groups=groups,
            skipped=skipped,
            language=language,
            shown=controls_shown,
            named=lambda value: controls_shown(name_of(str(value))),
            interval=_interval,
            is_number=np.isfinite,
            css=shelf_css(),
        ),
    )


def standings(pages: Iterable[Page]) -> tuple[list[Group], list[Skipped]]:
    """The groups of all tables, those of most candidates first, and the tables that cannot be read."""
    tables, skipped = [], []
    for page in pages:
        for file in _files(page):
            try:
                tables.append(_read(file, page))
            except Unfit as error:
                skipped.append(Skipped(_shown(file, page), translate(error.message, **error.values)))
            except (OSError, ValueError, RecursionError) as error:
                why = controls_shown(str(error)).replace(str(file), file.name)
                skipped.append(Skipped(_shown(file, page), translate("cannot be read: {why}", why=why)))
    if not any(map(len, tables)):
        return [], skipped
    rows = pd.concat([table for table in tables if len(table)], ignore_index=True)
    groups = [Group(_merged(own)) for _, own in rows.groupby(GROUP, sort=False)]
    return sorted(groups, key=lambda g: (-len(g.rows), -max(g.rows["when"]), *g.rows[GROUP].iloc[0])), skipped


def _merged(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a candidate, the best first: of its whole runs the newest, of first looks only where it has no other."""
    # Imported here, for it brings judges and models along, which no other page needs.
    from perslib.replay.replies import ORIGINAL

    rows = rows.sort_values(["first_look", "when"], ascending=[True, False], kind="stable")
    which, recorded = rows[CANDIDATE].copy(), rows["candidate"] == ORIGINAL
    which.loc[recorded, ["context", "backbone"]], which.loc[recorded, "temperature"] = "", np.nan
    once = rows[~which.duplicated()]
    return once.sort_values(["user_macro", "candidate"], ascending=[False, True], kind="stable")


# -- tables as they lie there ------------------------------------------------------------------------------


class Unfit(Translatable):
    """A table that is no table of standings; `message` says why."""


def _files(page: Page) -> list[Path]:
    """The page's table of standings; a manifest that points out of its own folder is not followed."""
    tables = page.entry.get("tables", {})
    files = [page.folder / file for file in tables.get(TABLE, []) if file.endswith(".csv")]
    home = page.folder.resolve()
    return [file for file in files if file.resolve().is_relative_to(home)]


def _shown(file: Path, page: Page) -> str:
    return controls_shown(file.relative_to(page.root).as_posix())


def _read(file: Path, page: Page) -> pd.DataFrame:
    """The table with typed columns, and beside them which run it comes from."""
    # As text: pandas would take a candidate called "null" for none at all.
    rows = pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8")
    wanted = [*_TEXTS, *_BOUNDS, *_FLAGS]
    if missing := [column for column in wanted if column not in rows]:
        raise Unfit(
            "lacks the columns {columns}; render its page again with this version of perslib",
            columns=", ".join(missing[:3]) + ", …" * (len(missing) > 3),
        )
    rows = rows[wanted]
    for column in _FLAGS:
        _check(rows, column, lambda text: text in ("True", "False"))
    for column in ("candidate", "corpus_digest", "set_digest"):
        _check(rows, column, bool)
    for column, (low, high) in _BOUNDS.items():
        _check(rows, column, partial(_is_number, low=low, high=high, needed=column in _COUNTS))
    if (twice := rows.duplicated([*GROUP, *CANDIDATE])).any():
        raise Unfit(
            "names the candidate “{name}” twice", name=controls_shown(rows.loc[twice, "candidate"].iloc[0])
        )
    typed = {column: pd.to_numeric(rows[column]).astype(float) for column in _BOUNDS}
    started = pd.to_datetime(str(page.entry.get("started", "")), utc=True, errors="coerce")
    return rows.assign(
        **typed,
        **{column: rows[column] == "True" for column in _FLAGS},
        of=rows.groupby(GROUP, sort=False)["candidate"].transform("size"),
        when=0.0 if pd.isna(started) else started.timestamp(),
        date=day(str(page.entry.get("started", ""))),
        href=f"{page.href}#table-{TABLE}" if page.href else "",
        page=controls_shown(page.folder.name),
    )


def _check(rows: pd.DataFrame, column: str, fits: Callable[[str], bool]) -> None:
    for line, text in enumerate(rows[column], 2):  # as editors count lines
        if not fits(text):
            raise Unfit(
                "line {line}: {column} is “{value}”",
                line=line,
                column=column,
                value=controls_shown(text[:40]),
            )


def _is_number(text: str, low: float, high: float, needed: bool) -> bool:
    if not text:
        return not needed
    try:
        return low - _ROUNDING <= float(text) <= high + _ROUNDING
    except ValueError:
        return False


def _interval(row: Any, name: str, digits: int) -> str:
    """A value with its interval in one piece, `4.12 [3.98, 4.26]`."""
    from perslib.report.tables import with_interval

    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    text = str(with_interval(value, low, high, digits))
    return text.replace(", ", ",\u00a0")
