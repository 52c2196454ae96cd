"""Files of any form, and frames, lists and data sets in memory: read by what their columns are recognised as."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import read_each
from perslib.corpus.files.tables import read_table_rows
from perslib.corpus.loaders import table
from perslib.corpus.loaders.recipe import Recipe
from perslib.corpus.loaders.rows import read_placed, refuse_unfit_names
from perslib.corpus.scale import Scale
from perslib.corpus.store import ANY
from perslib.errors import DataError, Problem
from perslib.systems.readers.any_file.ratings import spell_scale
from perslib.systems.readers.any_file.recognise import recognise
from perslib.systems.readers.any_file.records_of import SUFFIXES, read_records
from perslib.systems.readers.any_file.shapes import WORDS, name_of_path

#: Characters of a field that are shown of a row.
SHOWN, ROWS = 60, 3


class RecognisedWarning(UserWarning):
    """What data in memory were taken for."""


def looks_like(path: Path) -> bool:
    """Return whether a path is a file with records of some kind, and no table whose columns are called as ours.

    Where ratings have a name of somebody else's, it is none: they would be a further column that no page reads.
    """
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return False
    rated = {name for name in table.read_names(path) if name_of_path(name) in WORDS["names"]["score"][0]}
    return not table.looks_like(path) or (bool(rated) and rated.isdisjoint(table.RATINGS))


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
    """Read a file of any form; what was not said by an option is recognised, and `meta["taken"]` says as what."""
    records, notes = read_records(path)
    how = {"language": language, "scale": scale, "session_scale": session_scale, "evidence": evidence, "dates": dates}
    return _read(records, notes, path.name, name or path.stem, columns, skip_bad, how)


def read_objects(data: Any, name: str = "data", **how: Any) -> Corpus:
    """Return the corpus of a frame, a data set of Hugging Face, or a list of objects; a warning says what was recognised."""
    frame = data.to_pandas() if hasattr(data, "to_pandas") else data
    rows: Iterable[Any] = read_table_rows(frame) if isinstance(frame, pd.DataFrame) else frame
    records = [(f"row {number}", row, row) for number, row in enumerate(rows, 1)]
    if wrong := next((place for place, row, _ in records if not isinstance(row, Mapping)), None):
        raise DataError(Problem(wrong, "is no object with named fields"), "Give a frame, or a list of dictionaries.")
    columns = how.pop("columns", None)
    result = _read(records, [], name, name, columns, False, how)
    warnings.warn(RecognisedWarning("\n".join(describe_taken(result.corpus))), stacklevel=3)
    return result.corpus


def _read(
    records: Sequence[tuple[str, Any, Any]],
    notes: Sequence[str],
    place: str,
    name: str,
    columns: Mapping[str, str] | None,
    skip_bad: bool,
    how: Mapping[str, Any],
) -> ImportResult:
    recognised = recognise(records, place, columns)
    own = {
        "language": recognised.language,
        "scale": _parse(recognised.scales.get("score")),
        "session_scale": _parse(recognised.scales.get("satisfaction")),
    }
    recipe = Recipe(kind=ANY).using(**own).using(**how)
    reading = recipe.begin(skip_bad)
    bad = {at: (at, value, held) for at, value, held in records if not isinstance(value, Mapping)}
    lines = [bad.get(at, (at, row, row)) if row is None else (at, row, row) for at, row in recognised.rows]
    rows = read_each(lines, reading, None, _check_names, sessions=0)
    result = read_placed(rows, reading, name, recipe)
    result.corpus.meta["taken"] = {"columns": recognised.taken, "notes": [*notes, *recognised.notes]}
    return result


def _check_names(row: Any, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(Problem(place, "is no JSON object"))
    refuse_unfit_names(row, place)
    return row


def _parse(scale: str | None) -> Scale | None:
    """Return a scale that is not the usual one."""
    scale = spell_scale(scale)
    return None if scale in ("", "1-5") else Scale.parse("0-1" if scale == "-1-1" else scale)


def describe_taken(corpus: Corpus) -> Iterator[str]:
    """Yield what each field was taken for, what was assumed, and the first rows as they are stored."""
    taken = corpus.meta["taken"]
    width = max(map(len, taken["columns"]), default=0)
    yield "taken for:"
    yield from (f"  {ours:<{width}}  {theirs}" for ours, theirs in taken["columns"].items())
    yield from (f"  {note}" for note in taken["notes"])
    yield f"the first {min(ROWS, len(corpus.turns))} replies as they are stored:"
    shown = ("user", "scenario", "session", "turn", "request", "response", "score")
    for row in corpus.turns[[*shown]].head(ROWS).astype(object).to_dict("records"):
        cells = {name: " ".join(str(value).split()) for name, value in row.items() if not pd.isna(value)}
        yield "  " + json.dumps(
            {n: v if len(v) <= SHOWN else v[:SHOWN] + "…" for n, v in cells.items()}, ensure_ascii=False
        )
