"""A Parquet file as a frame, in little more room than the frame takes.

Read whole, Arrow wants two and a half times the room of a column of long texts, and a file of many row groups gives it
in as many pieces, which every selection of rows would have to put together anew. Here rows are read by and by, and a
column of texts grows in one piece.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows read at a time.
ROWS = 16_384


class _Growing(Protocol):
    """A column that grows by what a batch of rows holds of it."""

    def add(self, part: pa.Array) -> None:
        """Append these cells."""

    def series(self) -> pd.Series:
        """The whole column."""


class _Texts:
    """Texts: bytes one behind the other, where each ends, and which are missing."""

    def __init__(self, rows: int) -> None:
        self._data, self._ends, self._there = bytearray(), np.zeros(rows + 1, np.int64), np.ones(rows, bool)
        self._rows = 0

    def add(self, part: pa.Array) -> None:
        part = part.cast(pa.large_string())
        _, ends, data = part.buffers()
        own = np.frombuffer(ends, np.int64)[part.offset : part.offset + len(part) + 1]
        rows = slice(self._rows, self._rows + len(part))
        self._ends[rows.start + 1 : rows.stop + 1] = own[1:] - own[0] + len(self._data)
        self._there[rows] = part.is_valid().to_numpy(zero_copy_only=False)
        self._data += memoryview(data or b"")[
            own[0] : own[-1]
        ]  # realloc of a large block moves pages, not bytes
        self._rows = rows.stop

    def series(self) -> pd.Series:
        missing = None if self._there.all() else pa.py_buffer(np.packbits(self._there, bitorder="little"))
        buffers = [missing, pa.py_buffer(self._ends), pa.py_buffer(self._data)]
        texts = pa.Array.from_buffers(pa.large_string(), self._rows, buffers)
        kind = pd.StringDtype("pyarrow", na_value=np.nan)
        return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([texts]), dtype=kind))


class _Lists:
    """Lists, as tuples; a missing one is empty."""

    def __init__(self) -> None:
        self._cells: list[tuple[object, ...]] = []

    def add(self, part: pa.Array) -> None:
        self._cells += [tuple(cell or ()) for cell in part.to_pylist()]

    def series(self) -> pd.Series:
        return pd.Series(self._cells, dtype=object)


class _Others:
    """Numbers, times and whatever else, as pandas reads them."""

    def __init__(self, column: pa.Field, schema: pa.Schema) -> None:
        self._schema = pa.schema([column], metadata=schema.metadata)
        self._parts: list[pa.RecordBatch] = []

    def add(self, part: pa.Array) -> None:
        self._parts.append(pa.RecordBatch.from_arrays([part], schema=self._schema))

    def series(self) -> pd.Series:
        return pa.Table.from_batches(self._parts, self._schema).to_pandas().iloc[:, 0]


def read_frame(file: Path) -> pd.DataFrame:
    """The frame that `to_parquet` wrote, lists as tuples."""
    with pq.ParquetFile(file) as stored:
        schema, rows = stored.schema_arrow, stored.metadata.num_rows
        columns = {field.name: _column(field, schema, rows) for field in schema}
        for batch in stored.iter_batches(ROWS):
            for name, part in zip(columns, batch.columns):
                columns[name].add(part)
    return pd.DataFrame({name: columns[name].series() for name in columns}, copy=False)


def _column(field: pa.Field, schema: pa.Schema, rows: int) -> _Growing:
    if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        return _Texts(rows)
    return _Lists() if pa.types.is_list(field.type) else _Others(field, schema)
