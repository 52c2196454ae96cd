"""Tables in files: their columns, and their rows one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.files.parquet import read_frame
from perslib.corpus.files.records import COLUMNS, Lines, csv_lines, json_items, json_lines, read_bounded
from perslib.errors import DataError, Problem

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


def open_rows(path: Path, what: str = "a list of rows") -> tuple[list[str], Lines]:
    """Return the columns that a table names before its rows (JSON names none), and place, content (or Problem) and text
    of each row.
    """
    suffix = path.suffix.lower()
    if not path.is_file() or suffix not in SUFFIXES:
        raise DataError(Problem(str(path), f"is no table; expected a file ending in {', '.join(SUFFIXES)}"))
    if suffix == ".parquet":
        frame = read_frame(path, most=COLUMNS)
        rows = enumerate(read_table_rows(frame), 1)
        return [*map(str, frame.columns)], ((f"{path.name}:{number}", row, None) for number, row in rows)
    if suffix == ".jsonl":
        return [], json_lines(read_bounded(path), path.name)
    if suffix == ".json":
        return [], json_items(path, what)
    lines = csv_lines(read_bounded(path), path.name, (), "\t" if suffix == ".tsv" else ",")
    first = next(lines, None)
    return ([], []) if first is None else ([c for c in first[2] if c is not None], chain([first], lines))


def refuse_missing(missing: list[str], names: Iterable[str], place: str) -> None:
    """Raise an error that names the columns that are missing, where there are any."""
    if missing:
        raise DataError(Problem(place, f"has no column {', '.join(missing)}"), f"Found: {', '.join(names)}")


def read_table_rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows of plain Python values, without missing cells."""
    for row in frame.astype(object).to_dict("records"):
        cells = {str(c): v.tolist() if isinstance(v, np.generic | np.ndarray) else v for c, v in row.items()}
        yield {c: str(v) if isinstance(v, pd.Timestamp) else v for c, v in cells.items() if not _is_missing(v)}


def _is_missing(value: Any) -> bool:
    return value is None or (not isinstance(value, list | dict | tuple) and bool(pd.isna(value)))
