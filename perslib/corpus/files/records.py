"""The one way from a file to a loader: records are read, checked, and passed on one by one.

    lines = read_json_lines(read_bounded(file), file.name)
    rows = read_each(lines, reading, SCHEMA, read_conversation)

A record that does not fit the schema, or that its reader refuses, is rejected with its place and the reason; a loader
receives good records only. Records and tables above a maximum size (`LONGEST`, `COLUMNS`) are
refused before they are read.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from perslib.corpus.files.reading import ImportResult, not_utf8, parse_json, read_json
from perslib.errors import DataError, PerslibError, Problem
from perslib.schemas import Schema, check

T = TypeVar("T")
Row = TypeVar("Row")
#: Place, value (or Problem) and what stands there of each record.
Lines: TypeAlias = Iterable[tuple[str, Any, Any]]
LONGEST = 64 << 20
"""Bytes; a longer line is no record of a conversation."""
COLUMNS = 2_000
"""Columns that a table may have."""
UNFIT = "Mostly it is of another kind or version, or half a download: compare it with what data/README.md says of this kind."
"""What helps where nobody foresaw what is wrong."""
MOST_FILES = 10_000
"""Files of a folder that are looked at before they are read."""
CELLS = 10_000_000
"""Cells that a file may have: what is read stands in memory."""
_PART = 1 << 20

#: What to do with a file that is cut off.
AGAIN = "Download it once more."


def check_regular(path: Path) -> None:
    """Raise DataError where a pipe, a socket or a device stands at a path or in a folder: reading it might never end."""
    within = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    for file in (path, *islice(within, MOST_FILES)):
        try:
            mode = file.stat().st_mode
        except OSError:  # whoever opens it says what is wrong
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise DataError(
                Problem(str(file), "is no file, but a pipe, a socket or a device"),
                "Give a file that can be read twice.",
            )


def count_cells(rows: Iterable[Row], place: str) -> Iterator[Row]:
    """Yield rows, or objects of JSON, as long as none is wider than any table, and all together fit into memory."""
    cells = 0
    for row in rows:
        width = _count_keys(row)
        check_width(range(width), place)
        cells += max(width, 1)
        if cells > CELLS:
            wrong = f"has more than {CELLS:,} cells, and what is read stands in memory"
            raise DataError(Problem(place, wrong), "Divide it, or keep the columns that are of use.")
        yield row


def _count_keys(row: Any) -> int:
    """Return how many cells a row has; in an object of JSON, those of the objects in it, but not of its lists."""
    if not isinstance(row, Mapping):
        return len(row) if isinstance(row, Sequence) and not isinstance(row, str | bytes) else 1
    return sum(_count_keys(cell) if isinstance(cell, Mapping) else 1 for cell in row.values())


def read_bounded(file: Path) -> bytes:
    """Read a file of lines, none of which is longer than any record."""
    check_lines(file)
    return file.read_bytes()


def read_unpacked(file: Path) -> bytes:
    """Read a file of lines, unpacked where its name ends in .gz."""
    if file.suffix != ".gz":
        return read_bounded(file)
    try:
        return gzip.decompress(file.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(Problem(file.name, f"cannot be unpacked: {error}"), AGAIN) from error


def check_lines(file: Path) -> None:
    """Raise DataError, before a file is in memory, if one of its lines is longer than any record."""
    number, length = 1, 0
    with file.open("rb") as stream:
        while part := stream.read(_PART):
            end = max(part.rfind(b"\n"), part.rfind(b"\r"))
            if length + (len(part) if end < 0 else 0) > LONGEST:
                wrong = f"is longer than {LONGEST:,} bytes, so it is no record of a conversation"
                remedy = "Write one record a line; break the line where several records stand in it, or take it out."
                raise DataError(Problem(f"{file.name}:{number}", wrong), remedy)
            number, length = number + part.count(b"\n"), length + len(part) if end < 0 else len(part) - end - 1


def check_width(columns: Sized, place: str) -> None:
    """Stop where a table has more columns than any table of conversations."""
    if len(columns) > COLUMNS:
        wrong = f"has {len(columns):,} columns, and at most {COLUMNS:,} are read"
        remedy = "Keep those that are of use. Records that became columns (a row that is a column) are to be turned."
        raise DataError(Problem(place, wrong), remedy)


def check_header(columns: Sequence[str], place: str) -> None:
    """Stop where a table is too wide, or has two columns of one name: nothing says which of them is meant."""
    check_width(columns, place)
    names = [str(column).strip() for column in columns]
    for name in dict.fromkeys(names):
        if name and names.count(name) > 1:
            places = ", ".join(str(i) for i, own in enumerate(names, 1) if own == name)
            wrong = f"has {names.count(name)} columns called {name!r}: the columns {places}"
            raise DataError(Problem(place, wrong), "Give each column a name of its own.")


def json_lines(raw: bytes, place: str) -> Iterator[tuple[str, Any | Problem, bytes]]:
    """Yield the place, value (or Problem) and bytes of each line that is not blank."""
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            value = parse_json(line, place)
            at = f"{place}:{number}"
            yield at, Problem(at, value.message) if isinstance(value, Problem) else value, line


def json_items(file: Path, what: str = "a list of conversations") -> Lines:
    """Return place and content of each item of the list that a JSON file holds."""
    return ((f"{file.name}[{i}]", item, item) for i, item in enumerate(read_json(file, list, what)))


def csv_lines(
    raw: bytes, place: str, required: Sequence[str], delimiter: str = ","
) -> Iterator[tuple[str, dict[str, Any] | Problem, dict[str, Any]]]:
    """Yield the place, content (or Problem) and fields of each row, empty fields as None; raise DataError if the header
    lacks a column.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(not_utf8(raw, error, place)) from error
    csv.field_size_limit(LONGEST)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    check_header(reader.fieldnames or [], f"{place}:1")
    if missing := [c for c in required if c not in (reader.fieldnames or [])]:
        raise DataError(Problem(f"{place}:1", f"has no column {', '.join(missing)}"), f"Found: {reader.fieldnames}")
    line = reader.line_num + 1
    try:
        for row in reader:
            at, line = f"{place}:{line}", reader.line_num + 1
            if None in row or None in row.values():
                yield at, Problem(at, "has another number of fields than the header"), row
            else:
                yield at, {k: (v if v != "" else None) for k, v in row.items()}, row
    except csv.Error as error:
        raise DataError(
            Problem(f"{place}:{line}", f"cannot be read as CSV: {error}"), "Is a quote not closed?"
        ) from error


def read_each(
    lines: Lines, reading: ImportResult, schema: Schema | None, read: Callable[[Any, str], T], sessions: int = 1
) -> list[tuple[str, T | None]]:
    """Give the place of each record and what `read` makes of it; None where the record is rejected.

    Parameters
    ----------
    lines
        Records with their places; a Problem in place of a record rejects it.
    reading
        What takes rejected records, each for so many `sessions`.
    schema
        What a record must be before it is read; None where `read` checks it.
    read
        Makes something of a record and its place. It raises `DataError` for what is wrong with the record; any other
        error in it rejects the record as well, by the name of the error.
    """
    results: list[tuple[str, T | None]] = []
    for place, value, held in lines:
        problems = (
            [value] if isinstance(value, Problem) else check(value, schema, place, reading.unknown) if schema else []
        )
        made = None
        if not problems:
            try:
                with naming(place):
                    made = read(value, place)
            except DataError as error:
                problems = error.problems
        if problems:
            shown = value if not isinstance(value, Problem) else held
            shown = shown.decode("utf-8", "replace") if isinstance(shown, bytes) else shown
            reading.reject(problems, shown, sessions)
        results.append((place, made))
    return results


def refuse_second(seen: set[Any], key: Any, place: str, wrong: str) -> None:
    """Remember the key of a record; raise DataError, with what is wrong, where another one has it."""
    if key in seen:
        raise DataError(Problem(place, f"{wrong} {key[-1] if isinstance(key, tuple) else key}"))
    seen.add(key)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Turn an unforeseen error into a problem of this place, with what mostly helps; the error itself is its cause."""
    try:
        yield
    except (PerslibError, MemoryError):
        raise
    except OSError as error:
        raise DataError(
            Problem(str(error.filename or place), f"cannot be read: {error.strerror or error}"), UNFIT
        ) from error
    except Exception as error:
        raise DataError(Problem(place, f"cannot be read ({type(error).__name__}: {error})"), UNFIT) from error
