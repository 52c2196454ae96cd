"""Files of any form, and frames, lists and data sets in memory: read by what their columns are recognised as."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.any_file.choices import may_be_rating
from perslib.corpus.any_file.fields import Field
from perslib.corpus.any_file.ratings import spell_scale, turn_scale
from perslib.corpus.any_file.recognise import recognise
from perslib.corpus.any_file.records_of import PICKLES, SUFFIXES, join_records, read_records
from perslib.corpus.any_file.shapes import WORDS, name_of_path
from perslib.corpus.any_file.statistics_files import is_saved_dataset
from perslib.corpus.corpus import Corpus
from perslib.corpus.files.reading import ImportResult
from perslib.corpus.files.records import check_header, read_each
from perslib.corpus.files.tables import read_table_rows
from perslib.corpus.loaders import table
from perslib.corpus.loaders.form import Form
from perslib.corpus.loaders.rows import read_placed, refuse_unfit_names
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SCHEMA
from perslib.errors import DataError, Problem
from perslib.schemas import find_unstorable

#: The kind that reads files of any form.
ANY = "any"
#: Characters of a field that are shown of a row.
SHOWN, ROWS = 60, 3
#: Columns that have a meaning in a table in our names.
OURS = {*SCHEMA["turns"], *SCHEMA["sessions"], *SCHEMA["candidates"], "messages", "profile", "preferred"}
_GIVE = "Give a name or a path, a frame, or a list of dictionaries."


class RecognisedWarning(UserWarning):
    """What data in memory were taken for."""


def looks_like(path: Path) -> bool:
    """Return whether a path is a file with records of some kind, and no table whose columns are called as ours.

    Where ratings have a name of somebody else's, it is none: they would be a further column that no page reads.
    """
    if is_saved_dataset(path) or (path.is_file() and path.suffix.lower() in PICKLES):
        return True
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return False
    rated = {name for name in table.read_names(path) if name_of_path(name) in WORDS["names"]["score"][0]}
    is_ours = table.looks_like(path) and not (rated and rated.isdisjoint(table.RATINGS))
    return not is_ours or _has_other_ratings(path)


def _has_other_ratings(path: Path) -> bool:
    """Return whether a table in our names has a further column that may be people's rating: then it is asked which is."""
    rows = table.read_first_rows(path)
    names = dict.fromkeys(str(name) for row in rows for name in row if name not in OURS)
    fields = [Field(name, [row[name] for row in rows if row.get(name) is not None], len(rows)) for name in names]
    return any(one.scale is not None and may_be_rating(one) for one in fields)


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
    encoding: str | None = None,
    join: tuple[Path, str] | None = None,
) -> ImportResult:
    """Read a file of any form; what was not said by an option is recognised, and `meta["taken"]` says as what.

    `join` is a second file and the field by which its records and those of the first belong together.
    """
    records, notes = read_records(path, encoding)
    if join is not None:
        records, joined = join_records(records, read_records(join[0], encoding)[0], join[1], (path.name, join[0].name))
        notes = [*notes, joined]
    how = {"language": language, "scale": scale, "session_scale": session_scale, "evidence": evidence, "dates": dates}
    return _read(records, notes, path.name, name or path.stem, columns, skip_bad, how)


def read_objects(data: Any, name: str = "data", **how: Any) -> Corpus:
    """Return the corpus of a frame, a data set of Hugging Face, or a list of objects; a warning says what was recognised."""
    how = _check_options(how)
    records = [(f"row {number}", row, row) for number, row in enumerate(_list_rows(data), 1)]
    if wrong := next((place for place, row, _ in records if not isinstance(row, Mapping)), None):
        raise DataError(Problem(wrong, "is no object with named fields"), _GIVE)
    try:
        problems = [problem for place, row, _ in records for problem in find_unstorable(row, place)]
    except RecursionError:
        raise DataError("An object holds itself, or others too deep in one another", "Give plain rows.") from None
    if problems:
        raise DataError(problems, "Correct these values, or leave them out.")
    columns = how.pop("columns", None)
    result = _read(records, [], name, name, columns, False, how)
    warnings.warn(RecognisedWarning("\n".join(describe_taken(result.corpus))), stacklevel=3)
    return result.corpus


def _list_rows(data: Any) -> Iterable[Any]:
    """Return the rows of what is in memory; DataError where it has none, or names that no field can have."""
    frame = data.to_pandas() if hasattr(data, "to_pandas") else data
    if not isinstance(frame, pd.DataFrame):
        if isinstance(frame, Iterable) and not isinstance(frame, str | bytes | Mapping):
            return frame
        raise DataError(Problem("data", f"is a {type(frame).__name__}, nothing with rows"), _GIVE)
    if frame.columns.nlevels > 1:
        remedy = "Give each column one name: frame.columns = ['_'.join(map(str, names)) for names in frame.columns]"
        raise DataError(Problem("data", f"has column names of {frame.columns.nlevels} levels"), remedy)
    whole = frame.reset_index() if any(frame.index.names) else frame
    check_header([*map(str, whole.columns)], "data")
    return read_table_rows(whole)


def _check_options(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file, read as a command reads them; DataError where one is none, or has no such form."""
    known = [
        option
        for option in inspect.signature(read).parameters
        if option not in ("path", "skip_bad", "name", "encoding", "join")
    ]
    if unknown := [option for option in how if option not in known]:
        raise DataError(Problem(unknown[0], "is no option here"), f"Options are: {', '.join(known)}.")
    if not isinstance(how.get("columns") or {}, Mapping):
        raise DataError(Problem("columns", f"is a {type(how['columns']).__name__}"), "Give {ours: theirs}.")
    scales = [option for option in ("scale", "session_scale") if isinstance(how.get(option), str)]
    return {**how, **{option: Scale.parse(how[option]) for option in scales}}


def _read(
    records: Sequence[tuple[str, Any, Any]],
    notes: Sequence[str],
    place: str,
    name: str,
    columns: Mapping[str, str] | None,
    skip_bad: bool,
    how: Mapping[str, Any],
) -> ImportResult:
    scales = {"score": "scale", "satisfaction": "session_scale"}
    recognised = recognise(records, place, columns, {c for c, option in scales.items() if how.get(option)})
    own = {"language": recognised.language} | {
        option: _parse(recognised.scales.get(column), column in recognised.turned) for column, option in scales.items()
    }
    form = Form(kind=ANY).using(**own).using(**how)
    reading = form.begin(skip_bad)
    bad = {at: (at, value, held) for at, value, held in records if not isinstance(value, Mapping)}
    lines = [bad.get(at, (at, row, row)) if row is None else (at, row, row) for at, row in recognised.rows]
    rows = read_each(lines, reading, None, _check_names, sessions=0)
    result = read_placed(rows, reading, name, form)
    result.corpus.meta["taken"] = {"columns": recognised.taken, "notes": [*notes, *recognised.notes]}
    return result


def _check_names(row: Any, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(Problem(place, "is no JSON object"))
    refuse_unfit_names(row, place)
    return row


def _parse(scale: str | None, turned: bool) -> Scale | None:
    """Return a scale that is not the usual one."""
    scale = spell_scale(scale)
    if turned:
        return Scale.parse(turn_scale(scale))
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
