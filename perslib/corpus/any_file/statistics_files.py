"""Files of statistics programs (Stata, SPSS), and data sets that `save_to_disk` of Hugging Face wrote, as records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc

from perslib.corpus.any_file.archives import Records
from perslib.corpus.files.records import COLUMNS, check_width, count_cells
from perslib.corpus.files.tables import read_table_rows
from perslib.errors import DataError, Problem
from perslib.extras import import_extra

SUFFIXES = (".dta", ".sav", ".zsav")


def read_statistics_file(path: Path) -> tuple[Records, list[str]]:
    """Return the rows of a Stata or SPSS file under their variables' names, cells with labels as these; and the variables' questions."""
    try:
        if path.suffix.lower() == ".dta":
            with pd.read_stata(path, iterator=True) as reader:
                questions, frame = reader.variable_labels(), reader.read()
        else:
            (pyreadstat,) = import_extra("spss", f"{path.name}: an SPSS file")
            frame, about = pyreadstat.read_sav(str(path), apply_value_formats=True)
            questions = about.column_names_to_labels
    except (ValueError, OSError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(Problem(path.name, f"cannot be read: {error}")) from error
    check_width(frame.columns, path.name)
    asked = {name: _name_variable(name, question) for name, question in questions.items()}
    rows = count_cells(read_table_rows(frame.rename(columns=asked)), path.name)
    return [(f"{path.name}:{number}", _clean(row), row) for number, row in enumerate(rows, 1)], [
        "fields are named by their variables and, in brackets, what these were labelled with"
    ] * any(questions.values())


def _name_variable(name: str, question: str | None) -> str:
    return f"{name} ({question})" if question and question != name and "=" in question else name


def _clean(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without empty texts, whole numbers as such."""
    whole = {k: int(v) if isinstance(v, float) and math.isfinite(v) and v.is_integer() else v for k, v in row.items()}
    return {name: value for name, value in whole.items() if value != ""}


def is_saved_dataset(path: Path) -> bool:
    """Return whether a folder is what `save_to_disk` of Hugging Face's data sets writes."""
    return path.is_dir() and ((path / "state.json").is_file() or (path / "dataset_dict.json").is_file())


def read_saved_dataset(path: Path) -> tuple[Records, list[str]]:
    """Return the rows of a data set's folder; DataError where it holds several splits, of which one is to be named."""
    if (path / "dataset_dict.json").is_file():
        parts = sorted(own.name for own in path.iterdir() if is_saved_dataset(own))
        raise DataError(
            Problem(path.name, f"holds several splits: {', '.join(parts)}"),
            f"Give one: {path / parts[0]}" if parts else "",
        )
    records: Records = []
    for file in sorted(path.glob("data-*.arrow")):
        try:
            with pa.memory_map(str(file)) as mapped:
                table = pyarrow.ipc.open_stream(mapped).read_all()
        except (pa.ArrowException, OSError) as error:
            raise DataError(Problem(f"{path.name}/{file.name}", f"is no readable Arrow file: {error}")) from error
        check_width(range(min(table.num_columns, COLUMNS + 1)), file.name)
        rows = count_cells(iter(table.to_pylist()), file.name)
        records += [(f"{path.name}:{number}", row, row) for number, row in enumerate(rows, len(records) + 1)]
    return records, ["a data set as Hugging Face saves it"]
