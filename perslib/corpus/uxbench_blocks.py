"""A log in blocks: runs of whole sessions, read one after another, so that no log is too large.

JSON Lines hold a session a line; a block is a run of lines. Parquet holds a session a row, its messages in `history`,
or a message a row, consecutive rows of one `cid` being a session; a block is a run of rows that cuts no session.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib.errors import DataError, Problem

AT_ONCE = 4 << 20
"""Bytes of JSON Lines, about, in a block."""
ROWS = 512
LONGEST = 64 << 20
"""Bytes; a longer line is no session, and is skipped without ever being held in memory."""
_LINES = (".jsonl", ".ndjson", ".json")
Source: TypeAlias = str | Path | pd.DataFrame


class Block(NamedTuple):
    """Whole sessions as they stand in a log; `first` is the number of its first line, or session, from 1."""

    place: str
    first: int
    data: bytes | pa.Table
    too_long: int = 0
    """The number of a line that was skipped because it is too long; such a block holds nothing else."""


def blocks(
    source: Source, *, size: int = AT_ONCE, rows: int = ROWS, longest: int = LONGEST
) -> Iterator[Block]:
    """The blocks of a file, of a folder's files in the order of their names, or of a frame."""
    if isinstance(source, pd.DataFrame):
        yield from _of_tables(_slices(source, rows), "frame")
        return
    for file in _files(Path(source)):
        if file.suffix == ".parquet":
            yield from _of_tables(_batches(file, rows), file.name)
        else:
            yield from _of_lines(file, size, longest)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(
            Problem(str(path), "does not exist"), "Give a .jsonl or .parquet log, or a folder of them."
        )
    files = (
        sorted(f for f in path.iterdir() if f.suffix in (*_LINES, ".parquet")) if path.is_dir() else [path]
    )
    if not files or any(f.suffix not in (*_LINES, ".parquet") for f in files):
        raise DataError(Problem(str(path), "is no .jsonl or .parquet log, nor a folder that holds any"))
    return files


# -- lines ------------------------------------------------------------------------------------------------


def _of_lines(file: Path, size: int, longest: int) -> Iterator[Block]:
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
                yield Block(file.name, number, whole)
                number += whole.count(b"\n")
            if len(rest) > longest:
                yield Block(file.name, number, b"", too_long=number)
                rest, skipping = b"", True
    if rest:
        yield Block(file.name, number, rest)


# -- rows -------------------------------------------------------------------------------------------------


def _batches(file: Path, rows: int) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as parquet:
            for batch in parquet.iter_batches(batch_size=rows):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise DataError(Problem(str(file), f"is no readable Parquet file: {error}")) from error


def _slices(frame: pd.DataFrame, rows: int) -> Iterator[pa.Table]:
    for begin in range(0, len(frame), rows):
        yield pa.Table.from_pandas(frame.iloc[begin : begin + rows], preserve_index=False)


def _of_tables(tables: Iterator[pa.Table], place: str) -> Iterator[Block]:
    """The tables, each ending where a session ends."""
    number, held = 1, None
    for table in tables:
        if "history" in table.column_names or "messages" in table.column_names:
            yield Block(place, number, table)
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
            yield Block(place, number, table.slice(0, begin))
            number += 1 + sum(one != other for one, other in pairwise(cids[:begin]))
    if held is not None:
        yield Block(place, number, held)
