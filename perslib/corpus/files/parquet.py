"""Frames in little memory: read from a Parquet file, or built part by part.

To read a whole file, Arrow needs two and a half times the memory of a column of long texts. It copies texts to join
them, copies them again to select rows, and splits a file of many row groups into as many pieces. Here rows are added
part by part, and a column of texts is one piece.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib.corpus.files.records import check_header
from perslib.errors import DataError, Problem

#: Rows read at a time.
ROWS = 16_384
_KIND = pd.StringDtype("pyarrow", na_value=np.nan)


class Texts:
    """A column of texts: the bytes one after the other, the end of each text, and which texts exist."""

    def __init__(self) -> None:
        self._data, self._ends, self._there = bytearray(), array("q", [0]), bytearray()

    def add(self, part: pa.Array) -> None:
        """Append these texts."""
        if not len(part):
            return
        part = part.cast(pa.large_string())
        _, ends, data = part.buffers()
        own = np.frombuffer(ends, np.int64)[part.offset : part.offset + len(part) + 1]
        self._ends.frombytes((own[1:] - own[0] + len(self._data)).tobytes())
        self._there += part.is_valid().to_numpy(zero_copy_only=False).tobytes()
        self._data += memoryview(data or b"")[own[0] : own[-1]]  # a large block grows by pages, nothing is copied

    def series(self) -> pd.Series:
        """Return the column. Call it once, at the end."""
        there = np.frombuffer(self._there, bool)
        missing = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        buffers = [missing, pa.py_buffer(self._ends), pa.py_buffer(self._data)]
        texts = pa.Array.from_buffers(pa.large_string(), len(there), buffers)
        return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([texts]), dtype=_KIND))


class NumberColumn:
    """A column of numbers or truth values: the values, and which are missing."""

    def __init__(self, kind: pd.Float64Dtype | pd.Int64Dtype | pd.BooleanDtype) -> None:
        self._kind, self._values, self._missing = kind, bytearray(), bytearray()

    def add(self, part: pd.Series) -> None:
        """Append these cells."""
        self._values += part.to_numpy(self._kind.numpy_dtype, na_value=0).tobytes()
        self._missing += part.isna().to_numpy().tobytes()

    def series(self) -> pd.Series:
        """Return the column. Call it once, at the end."""
        values = np.frombuffer(self._values, self._kind.numpy_dtype)
        made = self._kind.construct_array_type()
        return pd.Series(made(values, np.frombuffer(self._missing, bool)))


class Others:
    """A column of any other kind."""

    def __init__(self) -> None:
        self._parts: list[pd.Series] = []

    def add(self, part: pd.Series) -> None:
        """Append these cells."""
        self._parts.append(part)

    def series(self) -> pd.Series:
        """Return the column."""
        return pd.concat(self._parts, ignore_index=True)


class GrowingFrame:
    """A frame that grows by frames with the same columns."""

    def __init__(self) -> None:
        self._columns: dict[str, Texts | NumberColumn | Others] = {}

    def add(self, part: pd.DataFrame) -> None:
        """Append these rows."""
        for name, column in part.items():
            grown = self._columns.get(str(name)) or self._columns.setdefault(str(name), _begin_column(column))
            if isinstance(grown, Texts):
                for piece in pa.chunked_array(column.array.__arrow_array__()).chunks:
                    grown.add(piece)
            else:
                grown.add(column)

    def frame(self) -> pd.DataFrame:
        """Return the frame. Call it once, at the end."""
        names = list(self._columns)
        return pd.DataFrame({name: self._columns.pop(name).series() for name in names}, copy=False)


def _begin_column(column: pd.Series) -> Texts | NumberColumn | Others:
    if column.dtype == _KIND:
        return Texts()
    is_number = isinstance(column.dtype, pd.Float64Dtype | pd.Int64Dtype | pd.BooleanDtype)
    return NumberColumn(column.dtype) if is_number else Others()


@contextmanager
def open_table(file: Path, remedy: str = "", **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; raise DataError if it, or what is read from it, is damaged."""
    try:
        with pq.ParquetFile(file, **options) as stored:
            yield stored
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(Problem(str(file), f"is no readable Parquet file: {error}"), remedy) from error


def read_frame(file: Path, remedy: str = "", most: int | None = None) -> pd.DataFrame:
    """Return the frame that `to_parquet` wrote, with lists as tuples; raise DataError if it has more than `most`
    columns.
    """
    growing = GrowingFrame()
    with open_table(file, remedy) as stored:
        if most is not None:
            check_header(stored.schema_arrow.names, file.name)
        tables = (pa.Table.from_batches([batch]) for batch in stored.iter_batches(ROWS))
        for table in tables if stored.metadata.num_rows else [stored.schema_arrow.empty_table()]:
            growing.add(_part(table))
    return growing.frame()


def _part(table: pa.Table) -> pd.DataFrame:
    """Return rows as pandas reads them, with lists as tuples; a missing list is an empty tuple."""
    lists = [field.name for field in table.schema if pa.types.is_list(field.type)]
    cells = {name: [tuple(cell or ()) for cell in table[name].to_pylist()] for name in lists}
    plain = table.drop_columns(lists).to_pandas()
    listed = {name: pd.Series(own, plain.index, dtype=object) for name, own in cells.items()}
    return plain.assign(**listed)[table.column_names]
