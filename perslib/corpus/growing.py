"""Columns and frames that grow by parts without lying in memory twice, each column of texts in one piece.

Arrow joins texts by copying them, and selects rows from joined texts by copying them all once more.
"""

from __future__ import annotations

from array import array

import numpy as np
import pandas as pd
import pyarrow as pa

_KIND = pd.StringDtype("pyarrow", na_value=np.nan)


class Texts:
    """A column of texts: bytes one behind the other, where each text ends, and which are there."""

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
        self._data += memoryview(data or b"")[
            own[0] : own[-1]
        ]  # a large block grows by pages, nothing is copied

    def series(self) -> pd.Series:
        """The column; to be called once, at the end."""
        there = np.frombuffer(self._there, bool)
        missing = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        buffers = [missing, pa.py_buffer(self._ends), pa.py_buffer(self._data)]
        texts = pa.Array.from_buffers(pa.large_string(), len(there), buffers)
        return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([texts]), dtype=_KIND))


class Numbers:
    """A column of numbers or truth values: what they are, and which are missing."""

    def __init__(self, kind: pd.Float64Dtype | pd.Int64Dtype | pd.BooleanDtype) -> None:
        self._kind, self._values, self._missing = kind, bytearray(), bytearray()

    def add(self, part: pd.Series) -> None:
        """Append these cells."""
        self._values += part.to_numpy(self._kind.numpy_dtype, na_value=0).tobytes()
        self._missing += part.isna().to_numpy().tobytes()

    def series(self) -> pd.Series:
        """The column; to be called once, at the end."""
        values = np.frombuffer(self._values, self._kind.numpy_dtype)
        made = self._kind.construct_array_type()
        return pd.Series(made(values, np.frombuffer(self._missing, bool)))


class Others:
    """A column of anything else."""

    def __init__(self) -> None:
        self._parts: list[pd.Series] = []

    def add(self, part: pd.Series) -> None:
        """Append these cells."""
        self._parts.append(part)

    def series(self) -> pd.Series:
        """The column."""
        return pd.concat(self._parts, ignore_index=True)


class Growing:
    """A frame that grows by frames of the same columns."""

    def __init__(self) -> None:
        self._columns: dict[str, Texts | Numbers | Others] = {}

    def add(self, part: pd.DataFrame) -> None:
        """Append these rows."""
        for name, column in part.items():
            grown = self._columns.get(str(name)) or self._columns.setdefault(str(name), _begun(column))
            if isinstance(grown, Texts):
                for piece in pa.chunked_array(column.array.__arrow_array__()).chunks:
                    grown.add(piece)
            else:
                grown.add(column)

    def frame(self) -> pd.DataFrame:
        """The frame; to be called once, at the end."""
        names = list(self._columns)
        return pd.DataFrame({name: self._columns.pop(name).series() for name in names}, copy=False)


def _begun(column: pd.Series) -> Texts | Numbers | Others:
    if column.dtype == _KIND:
        return Texts()
    is_number = isinstance(column.dtype, pd.Float64Dtype | pd.Int64Dtype | pd.BooleanDtype)
    return Numbers(column.dtype) if is_number else Others()
