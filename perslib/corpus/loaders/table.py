"""Your own table: JSONL, CSV, Parquet or a data frame, with a row per reply or a row per conversation.

A row of a reply has `user`, `request`, `response`. `session` groups the rows of a conversation, in their order (see
`perslib.corpus.loaders.conversations`). Optional columns are `scenario`, `turn`, `score`, `reason`, `task`,
`assistant`, `profile`, `asked_at`, `answered_at`, `feedback`, and `satisfaction` and `success` of the whole session;
other columns are stored as they are. `perslib.corpus.schema` explains each. A profile is a JSON object (in CSV: its
text) in any one row of the user. A row of a conversation has `messages` instead of request and response: a list of
`{role, content}` as in chat APIs, where a reply may have its own `score` and other columns. Replies to choose from have
a `candidate` each (see `perslib.corpus.several_replies`), or stand in one row as `response_a`, `response_b` and
`preferred`: a, b or tie.

`columns` gives columns with other names, ours → theirs. The scale of the ratings is declared, or read from the data if
it is plain; it is stored in the corpus (`Corpus.scale`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from perslib.corpus import several_replies as several
from perslib.corpus.corpus import Corpus
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import naming, read_each
from perslib.corpus.files.tables import SUFFIXES, open_rows, read_table_rows, refuse_missing
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_placed, refuse_unfit_names
from perslib.corpus.scale import Scale
from perslib.errors import DataError, Problem

RATINGS = ("score", "satisfaction", "success", "feedback")
REQUIRED = ("user", "request", "response")
#: Rows by which a table is told.
FIRST = 200
NOTHING: Mapping[str, str] = MappingProxyType({})


def looks_like(path: Path) -> bool:
    """Return whether a file is a table whose columns are called as ours; a JSON file, if it holds a list of such rows."""
    names = read_names(path)
    return any(names.issuperset(columns) for columns in (REQUIRED, ("user", "messages"), (*REQUIRED[:2], "preferred")))


def read_names(path: Path) -> frozenset[str]:
    """Return the names of the columns of a table, and of the fields of its first row; none where the file is no table."""
    return _find_first(path)[0]


def read_first_rows(path: Path) -> list[dict[str, Any]]:
    """Return the first rows of a table, by which it is told; none where the file is no table."""
    return _find_first(path)[1]


def _find_first(path: Path) -> tuple[frozenset[str], list[dict[str, Any]]]:
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return frozenset(), []
    written = path.stat()
    return _read_first(path, written.st_mtime_ns, written.st_size)


@lru_cache(maxsize=1)  # several kinds ask for the names of one file, which may be large
def _read_first(path: Path, *_: int) -> tuple[frozenset[str], list[dict[str, Any]]]:
    if path.suffix.lower() == ".json":
        with path.open("rb") as stream:
            if not stream.read(100).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
                return frozenset(), []
    rows: list[Any] = []
    try:
        header, lines = open_rows(path)
        rows += (value for _, value, _ in itertools.islice(lines, FIRST))
    except DataError:
        if not rows:
            return frozenset(), []
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    plain = (name for name, value in row.items() if name == "messages" or not isinstance(value, dict | list))
    return frozenset(map(str, (*header, *plain))), [own for own in rows if isinstance(own, dict)]


def read(
    path: Path,
    *,
    skip_bad: bool = False,
    name: str | None = None,
    language: str | None = None,
    columns: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    session_scale: Scale | None = None,
    evidence: str | None = None,
    dates: str | None = None,
) -> ImportResult:
    """Read a table of one's own, by the names of its columns; see `perslib import table`."""
    how = {"language": language, "scale": scale, "session_scale": session_scale, "evidence": evidence, "dates": dates}
    own = Form().using(**how)
    reading = own.begin(skip_bad)
    header, lines = open_rows(path)
    if header:
        _check_columns(columns or {}, header, path.name if path.suffix.lower() == ".parquet" else f"{path.name}:1")
    rows = read_each(lines, reading, None, partial(_rename, columns=columns or {}), sessions=0)
    names = dict.fromkeys(column for _, row in rows if row for column in row)
    if names and not header:  # it has the columns that some row has
        refuse_missing([own for ours, own in (columns or {}).items() if ours not in names], names, path.name)
    return read_placed(rows, reading, name or path.stem, own)


def read_rows(
    rows: Iterable[Any],
    name: str,
    *,
    language: str = "en",
    skip_bad: bool = False,
    scale: Scale | None = None,
    session_scale: Scale | None = None,
    evidence: str | None = None,
    dates: str | None = None,
    row_of: Callable[[Any], dict[str, Any]] = dict,
) -> ImportResult:
    """Read rows as of a table: what a loader of one's own makes of its files.

    Rows may be records of any form that `row_of` makes a row of; a record for which it fails is named with the error, and
    left out under `skip_bad` like any other bad row.
    """
    how = {"language": language, "scale": scale, "session_scale": session_scale, "evidence": evidence, "dates": dates}
    own = Form().using(**how)
    reading = own.begin(skip_bad)
    placed = read_each(_number_rows(rows), reading, None, lambda row, place: _rename(row_of(row), place), sessions=0)
    return read_placed(placed, reading, name, own)


def _number_rows(rows: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the rows with their places; an error in their source ends the reading, because the next rows are unknown."""
    todo, end = iter(rows), object()
    for number in itertools.count(1):
        with naming(f"row {number}"):
            row = next(todo, end)
        if row is end:
            return
        yield f"row {number}", row, row


def from_frame(
    frame: pd.DataFrame,
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
    scale: Scale | str | None = None,
    session_scale: Scale | str | None = None,
    evidence: str | None = None,
    dates: str | None = None,
    language: str = "en",
) -> Corpus:
    """Return the corpus of a data frame; rows and options are those of your own tables."""
    replies, sessions = (Scale.parse(s) if isinstance(s, str) else s for s in (scale, session_scale))
    _check_columns(columns or {}, frame.columns, name)
    rows = (_under_ours(row, columns or {}) for row in read_table_rows(frame))
    how: dict[str, Any] = {"scale": replies, "session_scale": sessions, "evidence": evidence, "dates": dates}
    return read_rows(rows, name, language=language, **how).corpus


def _check_columns(columns: Mapping[str, str], fields: Iterable[object], place: str) -> None:
    names = [str(c) for c in fields]
    refuse_missing([own for own in columns.values() if own not in names], names, place)
    known = {*names, *columns}
    required: tuple[str, ...] = REQUIRED
    if "messages" in known:
        required = "user", "messages"
    elif "preferred" in known:
        required = *REQUIRED[:2], *several.PAIR
    if lacking := [c for c in required if c not in known]:
        remedy = f"Found: {', '.join(names)}. Name yours: --columns {','.join(f'{c}=YOURS' for c in lacking)}"
        raise DataError(Problem(place, f"has no column {', '.join(lacking)}"), remedy)


def _under_ours(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the row under our names; one column may fill several of ours, and `user` stays as it is next to another."""
    renamed = {*columns, *columns.values()} - ({"user"} - columns.keys())
    others = {c: v for c, v in row.items() if c not in renamed}
    return others | {ours: row[own] for ours, own in columns.items() if own in row}


def _rename(row: Any, place: str, columns: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """Return the row under our names; raise DataError if it is not a row or its session has no usable name."""
    if not isinstance(row, dict):
        raise DataError(Problem(place, "is no JSON object"))
    row = _under_ours(row, columns)
    refuse_unfit_names(row, place)
    return row
