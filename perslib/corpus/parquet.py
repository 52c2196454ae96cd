"""A Parquet file as a frame, in little more room than the frame takes.

Read whole, Arrow wants two and a half times the room of a column of long texts, and a file of many row groups gives it
in as many pieces. Here rows are read by and by, and a column of texts grows in one piece.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib.corpus.growing import Texts

#: Rows read at a time.
ROWS = 16_384


class _Column(Protocol):
    """A column that grows by what a batch of rows holds of it."""

    def add(self, part: pa.Array) -> None:
        """Append these cells."""

    def series(self) -> pd.Series:
        """The whole column."""


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
        schema = stored.schema_arrow
        columns = {field.name: _column(field, schema) for field in schema}
        for batch in stored.iter_batches(ROWS):
            for name, part in zip(columns, batch.columns):
                columns[name].add(part)
    return pd.DataFrame({name: columns[name].series() for name in columns}, copy=False)


def _column(field: pa.Field, schema: pa.Schema) -> _Column:
    if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        return Texts()
    return _Lists() if pa.types.is_list(field.type) else _Others(field, schema)
