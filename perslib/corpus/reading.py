"""Reading files that may be broken: every problem is collected with its place, nothing is dropped silently."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.errors import DataError, Problem

SKIP_REMEDY = (
    "Mend the file, or import with --skip-bad: good sessions are kept, the others written to rejected.jsonl."
)


@dataclass(frozen=True)
class Rejected:
    """A session (or a row that belongs to none) left out under `skip_bad`, with the reason and what it held."""

    place: str
    reason: str
    record: Any


@dataclass
class Intake:
    """What reading a release brings to light, besides the data: problems, rejected records, irregularities.

    A *problem* stops the import unless `skip_bad`; then the whole session that it is in is rejected, for a
    conversation with a hole in it is not what the user saw. An *irregularity* is survived and counted.
    """

    skip_bad: bool = False
    problems: list[Problem] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    irregularities: Counter[str] = field(default_factory=Counter)

    def note(self, what: str, times: int = 1) -> None:
        """Count something odd that was read all the same."""
        if times:
            self.irregularities[what] += times

    def reject(self, problems: list[Problem], record: Any) -> None:
        """Give up a session for these problems."""
        self.problems += problems
        reason = "; ".join(p.message for p in problems)
        self.rejected.append(Rejected(problems[0].place, reason, record))

    def settle(self) -> None:
        """After reading: raise what was wrong, unless bad sessions are to be left out."""
        if self.problems and not self.skip_bad:
            raise DataError(self.problems, SKIP_REMEDY)


@dataclass(frozen=True)
class Reading:
    """A corpus as read, and what was left out of it."""

    corpus: Corpus
    rejected: list[Rejected]

    @property
    def irregularities(self) -> dict[str, int]:
        """What was odd and survived, counted."""
        counted: dict[str, int] = self.corpus.meta.get("irregularities", {})
        return counted

    def write_rejected(self, path: Path) -> None:
        """One JSON line a rejected session: place, reason, record."""
        lines = [json.dumps(vars(r), ensure_ascii=False, default=str) for r in self.rejected]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def parse_json(raw: bytes, place: str) -> Any | Problem:
    """The JSON value in `raw`, or what is wrong with it and where."""
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        return Problem(
            f"{place}:{line}", f"is not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8"
        )
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip())
        what = (
            "the JSON text ends too early" if at_end else f"is not JSON: {error.msg} (column {error.colno})"
        )
        return Problem(f"{place}:{error.lineno}", what)


def json_lines(raw: bytes, place: str) -> Iterator[tuple[str, Any | Problem, bytes]]:
    """Place, value (or Problem) and bytes of each line that is not blank."""
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            value = parse_json(line, place)
            at = f"{place}:{number}"
            yield at, Problem(at, value.message) if isinstance(value, Problem) else value, line


def csv_lines(
    raw: bytes, place: str, required: Sequence[str], delimiter: str = ","
) -> Iterator[tuple[str, dict[str, Any] | Problem, dict[str, Any]]]:
    """Place, content (or Problem) and fields of each row, empty fields as None; the header has these columns."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        problem = Problem(f"{place}:{line}", f"is not UTF-8 (byte {raw[error.start]:#04x})")
        raise DataError(problem, "Save the file as UTF-8.") from error
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    if missing := [c for c in required if c not in (reader.fieldnames or [])]:
        raise DataError(
            Problem(f"{place}:1", f"has no column {', '.join(missing)}"), f"Found: {reader.fieldnames}"
        )
    line = reader.line_num + 1
    for row in reader:
        at, line = f"{place}:{line}", reader.line_num + 1
        if None in row or None in row.values():
            yield at, Problem(at, "has another number of fields than the header"), row
        else:
            yield at, {k: (v if v != "" else None) for k, v in row.items()}, row


def score_of(value: Any, field_name: str, place: str) -> int | Problem:
    """A satisfaction score 1–5 given as 4, 4.0 or "4"; anything else is a problem."""
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        number = float("nan")
    if number in (1, 2, 3, 4, 5):
        return int(number)
    return Problem(
        place, f"{field_name} is {json.dumps(value, ensure_ascii=False, default=str)}, expected 1–5"
    )


def frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Rows as a frame that has these columns even when there are no rows."""
    return pd.DataFrame(rows) if rows else pd.DataFrame({c: [] for c in columns})
