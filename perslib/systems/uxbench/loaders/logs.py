"""Logs of any size in blocks that fit into memory: files of sessions, or of messages.

JSON Lines hold a session per line; a block is a range of lines. Parquet, CSV and JSON Lines of messages hold a session
per row, with its messages in `history`, or a message per row, where consecutive rows of one `cid` are a session. A
block is then a range of rows that does not split a session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa

from perslib.corpus.files.parquet import open_table
from perslib.corpus.files.records import LONGEST, check_lines, check_width
from perslib.errors import DataError, Problem
from perslib.systems.uxbench.loaders.log_records import NAMES, LogSession, UnreadableRecord, get_field, session

AT_ONCE = 4 << 20
"""Bytes of JSON Lines, about, in a block."""
ROWS = 512
_TOO_LONG = f"line longer than {LONGEST} bytes"
_LINES = (".jsonl", ".ndjson", ".json")
_TABLES = (".parquet", ".csv", ".tsv")
#: What a message a row says of its session, in the first that says it.
OF_SESSION = ("user", "assistant", "scenario")
Source: TypeAlias = str | Path | pd.DataFrame


class LogBlock(NamedTuple):
    """Whole sessions as they stand in a log; `first` is the number of its first line or session, from 1."""

    place: str
    first: int
    data: bytes | pa.Table
    too_long: int = 0
    """The number of a line that was skipped because it is too long; such a block holds nothing else."""


def read_log_blocks(source: Source, *, size: int = AT_ONCE, rows: int = ROWS) -> Iterator[LogBlock]:
    """Yield the blocks of a file, of a folder's files in the order of their names, or of a frame."""
    if isinstance(source, pd.DataFrame):
        yield from _of_tables(_slices(source, rows), "frame")
        return
    for file in _files(Path(source)):
        if file.suffix == ".parquet":
            yield from _of_tables(_batches(file, rows), file.name)
        elif file.suffix in _TABLES or _holds_messages(file):
            yield from _of_tables(_read_in_parts(file, rows), file.name)
        else:
            yield from _of_lines(file, size)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(Problem(str(path), "does not exist"), "Give a .jsonl or .parquet log, or a folder of them.")
    known = (*_LINES, *_TABLES)
    files = sorted(f for f in path.iterdir() if f.suffix in known) if path.is_dir() else [path]
    if not files or any(f.suffix not in known for f in files):
        raise DataError(Problem(str(path), "is no .jsonl, .csv or .parquet log, nor a folder that holds any"))
    return files


def first_record(file: Path) -> Any:
    """Return the first record of a file of lines; raise UnreadableRecord if it cannot be read."""
    with file.open("rb") as stream:
        line = next((line for line in iter(lambda: stream.readline(1 << 20), b"") if line.strip()), b"")
    return _parse_line(line, torn=False)


def _holds_messages(file: Path) -> bool:
    """Return whether a file of lines has a message per line, judging by its first line."""
    first = first_record(file)
    return isinstance(first, dict) and get_field(first, "history") is None and get_field(first, "role") is not None


def _read_in_parts(file: Path, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a CSV, or of lines of messages, in parts."""
    check_lines(file)
    try:
        if file.suffix in _LINES:
            parts = pd.read_json(file, lines=True, chunksize=rows, dtype=False)
        else:
            parts = pd.read_csv(file, sep="\t" if file.suffix == ".tsv" else ",", chunksize=rows, dtype=str)
        with parts:
            for part in parts:
                check_width(part.columns, file.name)
                values = part.astype(object).where(part.notna(), None)
                yield pa.Table.from_pylist(values.to_dict("records"))
    except ValueError as error:
        raise DataError(Problem(str(file), f"cannot be read: {error}")) from error


# -- lines ------------------------------------------------------------------------------------------------


def _of_lines(file: Path, size: int) -> Iterator[LogBlock]:
    number, rest, skipping = 1, b"", False
    with file.open("rb") as stream:
        while read := stream.read(size):
            if skipping:
                end = read.find(b"\n")
                if end < 0:
                    continue
                read, number, skipping = read[end + 1 :], number + 1, False
            read = rest + read
            end = read.rfind(b"\n") + 1
            whole, rest = read[:end], read[end:]
            if whole:
                yield LogBlock(file.name, number, whole)
                number += whole.count(b"\n")
            if len(rest) > LONGEST:
                yield LogBlock(file.name, number, b"", too_long=number)
                rest, skipping = b"", True
    if rest:
        yield LogBlock(file.name, number, rest)


# -- rows -------------------------------------------------------------------------------------------------


def _batches(file: Path, rows: int) -> Iterator[pa.Table]:
    with open_table(file, buffer_size=1 << 20, pre_buffer=False) as stored:
        check_width(stored.schema_arrow.names, file.name)
        for batch in stored.iter_batches(batch_size=rows):
            yield pa.Table.from_batches([batch])


def _slices(frame: pd.DataFrame, rows: int) -> Iterator[pa.Table]:
    for begin in range(0, len(frame), rows):
        yield pa.Table.from_pandas(frame.iloc[begin : begin + rows], preserve_index=False)


def _of_tables(tables: Iterator[pa.Table], place: str) -> Iterator[LogBlock]:
    """Yield blocks of the tables, each ending where a session ends."""
    number, held = 1, None
    for table in map(_rename_columns, tables):
        if "history" in table.column_names or "messages" in table.column_names:
            yield LogBlock(place, number, table)
            number += len(table)
            continue
        if "cid" not in table.column_names or "role" not in table.column_names:
            raise DataError(
                Problem(place, f"has the columns {', '.join(table.column_names)}"),
                "A log has a column `history` (a session a row) or the columns `cid` and `role` (a message a row).",
            )
        table = table if held is None else pa.concat_tables([held, table], promote_options="permissive")
        cids = table["cid"].to_pylist()
        begin = len(cids) - 1
        while begin > 0 and cids[begin - 1] == cids[-1]:
            begin -= 1
        held = table.slice(begin)
        if begin:
            yield LogBlock(place, number, table.slice(0, begin))
            number += 1 + sum(one != other for one, other in pairwise(cids[:begin]))
    if held is not None:
        yield LogBlock(place, number, held)


def _rename_columns(table: pa.Table) -> pa.Table:
    """Return the table with our names for the columns of sessions and messages."""
    names = list(table.column_names)
    for field in ("history", "role", "cid"):
        other = next((name for name in NAMES[field] if name in names), None)
        if field not in names and other is not None and (field != "cid" or "history" not in names):
            names[names.index(other)] = field
    return table.rename_columns(names)


class Reject(NamedTuple):
    """A record that is not a session: its place and the reason."""

    place: str
    reason: str


def read_log_block(block: LogBlock) -> Iterator[tuple[int, LogSession | Reject]]:
    """Yield number and session, or number and reject, of every record of a block."""
    for number, record in read_block_records(block):
        place = f"{block.place}:{number}"
        try:
            yield number, session(record, name=place)
        except UnreadableRecord as error:
            yield number, Reject(place, str(error))


def read_log_sessions(source: Source, rejected: list[Reject] | None = None) -> Iterator[LogSession]:
    """Yield the sessions of a log; records that are not sessions are added to `rejected`."""
    for block in read_log_blocks(source):
        for _, one in read_log_block(block):
            if isinstance(one, LogSession):
                yield one
            elif rejected is not None:
                rejected.append(one)


def read_block_records(block: LogBlock) -> Iterator[tuple[int, Any]]:
    """Yield number and record of every line or row of a block; `UnreadableRecord` in place of a record that cannot be
    read.
    """
    if block.too_long:
        yield block.too_long, UnreadableRecord(_TOO_LONG)
        return
    if isinstance(block.data, bytes):
        lines = block.data.split(b"\n")
        for i, line in enumerate(lines):
            if line.strip():
                yield block.first + i, _parse_line(line, torn=i == len(lines) - 1)
        return
    rows = _rows(block.data)
    if "history" in block.data.column_names or "messages" in block.data.column_names:
        yield from enumerate(rows, start=block.first)
        return
    fields = [field for field in OF_SESSION if {field, *NAMES[field]} & set(block.data.column_names)]
    cids = zip(block.data.column("cid").to_pylist(), rows)
    for i, (cid, messages) in enumerate(groupby(cids, key=lambda row: row[0])):
        history = [message for _, message in messages]
        dialogue = [message for message in history if isinstance(message, dict)]
        about = {field: next((v for m in dialogue if (v := get_field(m, field)) is not None), None) for field in fields}
        yield block.first + i, {"cid": cid, "history": history, **{k: v for k, v in about.items() if v is not None}}


def _rows(data: pa.Table | pa.RecordBatch) -> list[Any]:
    """Return the rows; raise UnreadableRecord if one holds a date that Python does not have."""
    try:
        rows: list[Any] = data.to_pylist()
    except (OverflowError, ValueError):
        if len(data) == 1:
            return [UnreadableRecord("a value out of range")]
        return [row for i in range(len(data)) for row in _rows(data.slice(i, 1))]
    return rows


def _parse_line(line: bytes, torn: bool) -> Any:
    if len(line) > LONGEST:
        return UnreadableRecord(_TOO_LONG)
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return UnreadableRecord("torn last line" if torn else "not UTF-8")
    except RecursionError:
        return UnreadableRecord("nested too deeply")
    except ValueError:
        return UnreadableRecord("torn last line" if torn else "not JSON")
