"""Reading files by a recipe: each record becomes rows of a table, with columns from the places that the recipe names.

A path leads into a record (`a.b[0].c`), also through a text that is JSON. Paths that begin with `this` lead to facts
about the record that are not in it: `this.place`, `this.language`, and `this.number` and `this.item` of the part that
becomes a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import ImportResult, number_in, parse_json, truth
from perslib.corpus.files.records import Lines, read_each
from perslib.corpus.files.tables import open_rows
from perslib.corpus.loaders.conversations import Row
from perslib.corpus.loaders.recipe import Recipe, RecipeColumn, function, in_words
from perslib.corpus.loaders.rows import read_placed, refuse_unfit_names
from perslib.errors import DataError, Problem
from perslib.schemas import show

Record = dict[str, Any]
MISSING = object()
EMPTY = (None, "", MISSING)
#: What is made of a value that is to be of one kind; None where it is not.
KINDS: dict[str, Callable[[Any], Any]] = {"text": str, "number": number_in, "flag": truth}


def is_at(recipe: Recipe, path: Path) -> bool:
    """Return whether a path is, or a folder holds, files with the names in a recipe."""
    folder = path if path.is_dir() else path.parent
    return bool(_find_files(recipe, path)) and all((folder / own["file"]).is_file() for own in recipe.join.values())


def read_by_recipe(recipe: Recipe, path: Path, *, skip_bad: bool = False, name: str | None = None) -> ImportResult:
    """Read a file or a folder by a recipe."""
    reading = recipe.begin(skip_bad)
    known = {"language": recipe.language}
    if recipe.names:
        file = _one_file(recipe, path)
        known["language"] = recipe.names[file.name]
        header, lines = _open(recipe, file)
    elif recipe.parts:
        header, lines = [], _folders(recipe.parts, path)
    else:
        files = sorted(path.glob(recipe.pattern)) if recipe.pattern and path.is_dir() else [path]
        opened = [_open(recipe, file) for file in files]
        header = list(chain.from_iterable(own for own, _ in opened))
        lines = chain.from_iterable(own for _, own in opened)
    making = _Making(recipe, reading, known, header)
    making.read_joined(path if path.is_dir() else path.parent)
    made = read_each(lines, reading, recipe.schema_of(recipe.record), making.rows, int(recipe.takes_conversations))
    making.check(path)
    bad = [] if recipe.takes_conversations else [None]  # a bad record that is a whole conversation costs no other
    placed = [own for place, rows in made for own in ([(place, row) for row in bad] if rows is None else rows)]
    name = name or fill_in(recipe.name, {"this": known}) or path.stem
    read_placed(placed, reading, name, recipe.using(**known))
    return function[recipe.complete](reading, path) if recipe.complete else reading


# -- the records ---------------------------------------------------------------------------------------------


def _find_files(recipe: Recipe, path: Path) -> list[Path]:
    """Return the files with the names in a recipe: the path itself, or those in a folder."""
    files = [path / name for name in recipe.names] if path.is_dir() else [path]
    return [file for file in files if file.is_file() and file.name in recipe.names]


def _one_file(recipe: Recipe, path: Path) -> Path:
    """Return the one file that a recipe reads at a path, with those that are joined to it."""
    files = _find_files(recipe, path)
    if len(files) > 1:
        listed = " and ".join(file.name for file in files)
        remedy = f"Import them one by one, such as {files[0]}"
        raise DataError(Problem(str(path), f"holds {listed}; a corpus has one language"), remedy)
    if not is_at(recipe, path):
        needed = " and ".join([*(own["file"] for own in recipe.join.values()), " or ".join(recipe.names)])
        raise DataError(Problem(str(path), f"is not, and does not hold, {needed}"))
    return files[0]


def _open(recipe: Recipe, file: Path) -> tuple[list[str], Lines]:
    """Return the columns of a file that is a table, and place and content of each of its records."""
    if recipe.records is None or file.suffix.lower() != ".json":
        return open_rows(file, "a list of conversations" if recipe.takes_conversations else "a list of rows")
    document = parse_json(file.read_bytes(), file.name)
    held = document if isinstance(document, Problem) else find_value(document, recipe.records)
    if held is MISSING:
        raise DataError(
            Problem(file.name, f"has nothing at {recipe.records}"), f"Correct records in {recipe.file.name}."
        )
    items = [(f"{file.name}:{i}", own) for i, own in enumerate(held)] if isinstance(held, list) else [(file.name, held)]
    return [], ((place, own, own) for place, own in items)


def _folders(parts: Mapping[str, str], path: Path) -> Lines:
    """Yield records that are folders: the content of their files by the names of the parts, or a Problem."""
    for folder in sorted(file.parent for file in path.rglob(next(iter(parts.values())))):
        files = {part: folder / name for part, name in parts.items()}
        record = {
            part: parse_json(file.read_bytes(), str(file))
            if file.is_file()
            else Problem(str(folder), f"has no {file.name}")
            for part, file in files.items()
        }
        wrong = next((own for own in record.values() if isinstance(own, Problem)), None)
        yield str(folder.relative_to(path)), wrong or record, wrong or record


# -- paths ---------------------------------------------------------------------------------------------------


@cache
def _keys(path: str) -> list[str | int]:
    """Return the keys and numbers in a path."""
    return [int(number) if number else name for number, name in re.findall(r"\[(-?\d+)\]|([^.\[\]]+)", path)]


def find_value(record: Any, path: str) -> Any:
    """Return the value at a path such as `a.b[0].c`, or in the column of exactly that name; MISSING if there is none."""
    if isinstance(record, Mapping) and path in record:
        return record[path]
    for key in _keys(path):
        try:
            record = _parse_if_json(record)[key]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return record


def _parse_if_json(value: Any) -> Any:
    """Return a value, or the content of a text that is JSON."""
    return parse_json(value.encode("utf-8", "surrogatepass"), "") if isinstance(value, str) else value


def fill_in(text: str, record: Any) -> str | None:
    """Return a text with the values at the paths in its braces; None if one of them is missing."""
    parts = re.split(r"\{([^{}]+)\}", text)
    parts[1::2] = values = [find_value(record, path) for path in parts[1::2]]
    is_lacking = any(value in EMPTY or isinstance(value, list | dict) for value in values)
    return None if is_lacking else "".join(map(str, parts)).strip() or None


# -- a record's rows -----------------------------------------------------------------------------------------


class _Making:
    """Makes rows of records, and remembers which record each row is from."""

    def __init__(self, recipe: Recipe, reading: ImportResult, known: Record, header: Iterable[str]):
        self.recipe, self.reading, self.known = recipe, reading, known
        self._cells: Record = dict.fromkeys(header)
        self._read: list[Record] = []
        self._seen: set[tuple[str, ...]] = set()
        self._joined: dict[str, dict[Any, Any]] = {name: {} for name in recipe.join}
        self._used: set[tuple[str, Any]] = set()

    def read_joined(self, folder: Path) -> None:
        """Read the files whose records are joined to those of the main one."""
        for name, join in self.recipe.join.items():
            held, key = self._joined[name], join["key"]

            def keep(record: Record, place: str, held: dict[Any, Any] = held, key: str = key) -> None:
                if (value := find_value(record, key)) in held:
                    raise DataError(Problem(place, f"is a second record with the {key} {value}"))
                held[value] = record

            lines = open_rows(folder / join["file"], "a list of conversations")[1]
            read_each(lines, self.reading, self.recipe.schema_of(join.get("record", {})), keep)

    def rows(self, record: Any, place: str) -> list[Row]:
        """Return the rows of a record, with their places."""
        if not isinstance(record, dict):
            raise DataError(Problem(place, "is no JSON object"))
        this = {**self.known, "place": place}
        record = {**self._cells, **record, "this": this}
        for name, join in self.recipe.join.items():
            key = find_value(record, join["on"])
            if key not in self._joined[name]:
                raise DataError(Problem(place, f"{join['absent']}: {key}"))
            record[name] = self._joined[name][key]
            self._used.add((name, key))
        if self.recipe.derive:
            record["derived"] = function[self.recipe.derive](record)
        parts = [(word, columns, None) for word, columns in self.recipe.rows]
        if each := self.recipe.each:
            items = _list_at(find_value(record, each), each, place)
            parts = [(f"{each}[{number}]", self.recipe.rows[0][1], item) for number, item in enumerate(items)]
        made = []
        for number, (part, columns, item) in enumerate(parts):
            own = {**record, "this": {**this, "number": number, "item": item}}
            made += self._row(columns, own, f"{place} {part}".strip())
        return made

    def _row(self, columns: Mapping[str, RecipeColumn], record: Record, place: str) -> list[Row]:
        """Return the row of a part of a record; an empty list if the recipe leaves it out."""
        self._read.append(record)
        taken = ((name, self._value(column, record, place)) for name, column in columns.items())
        row = {name: value for name, value in taken if value is not MISSING}
        for column, what in self.recipe.leave_out.items():
            if row.get(column) in EMPTY:
                self.reading.note(what, bool(what))
                return []
        refuse_unfit_names(row, place)
        key = tuple(str(row.get(column)) for column in self.recipe.unique)
        if key and key in self._seen:
            raise DataError(Problem(place, f"{self.recipe.twice} {key[-1]}"))
        self._seen.add(key)
        for column, what in self.recipe.count.items():
            self.reading.note(what, row.get(column) is None)
        return [(place, row)]

    def _value(self, column: RecipeColumn, record: Any, place: str) -> Any:
        """Return the value of a record for a column; a Problem if the recipe does not know it."""
        if column.text:
            return fill_in(column.text, record)
        if column.flags:
            own = [says for flag, says in column.flags.items() if truth(find_value(record, flag))]
            is_one = len(own) == 1 or any(not isinstance(says, str) for says in own)
            return (own[0] if len(own) == 1 else None) if is_one else ", ".join(own) or None
        there = [value for path in column.path if (value := find_value(record, path)) is not MISSING]
        value = next((value for value in there if value not in EMPTY), there[0] if there else MISSING)
        if value is MISSING:
            return MISSING if column.optional else None
        if column.name == "messages":
            return self._messages(column, _parse_if_json(value), place)
        if column.kind and value not in EMPTY:
            given, value = value, KINDS[column.kind](value)
            if value is None:
                return Problem(place, f"{column.name} is {show(given)}, expected a {column.kind}")
        return self._translate(column, value, place) if column.values else value

    def _translate(self, column: RecipeColumn, value: Any, place: str) -> Any:
        """Return the value that a word stands for. A word that is not a rating is left to the check of rows."""
        if value in EMPTY:
            return None
        if (word := in_words(value)) in column.values:
            return column.values[word]
        if column.unknown:
            self.reading.note(f"{column.unknown} ({str(value).strip()})")
            return str(value).strip()
        if self.recipe.is_rating(column.name):
            return value
        return Problem(place, f"{column.name} is {show(value)}, expected {', '.join(column.values)}")

    def _messages(self, column: RecipeColumn, messages: Any, place: str) -> list[Record]:
        """Return messages as `{role, content}`, with their further columns."""
        written = []
        for number, message in enumerate(_list_at(messages, column.theirs, place)):
            role, content = find_value(message, column.role), find_value(message, column.content)
            if MISSING in (role, content):
                lacking = column.role if role is MISSING else column.content
                raise DataError(Problem(place, f"{column.theirs}[{number}].{lacking} is missing"))
            taken = ((name, self._value(own, message, place)) for name, own in column.columns.items())
            further = {name: value for name, value in taken if value is not MISSING}
            written.append({"role": column.roles.get(in_words(role), role), "content": content, **further})
        return written

    def check(self, path: Path) -> None:
        """Raise an error where a path is in no record; count the joined records that belong to none."""
        read = self._read or ([self._cells] if self._cells else [])
        every = self.recipe.rows[0][1].values() if read else ()
        lacking = {
            " or ".join(paths): column.name
            for column in every
            for paths in column.sources
            if (self._read or "." not in "".join(paths))  # of a header alone, columns are all that is known
            and all(find_value(record, path) is MISSING for record in read for path in paths)
        }
        if lacking:
            columns = dict.fromkeys(name for record in read for name in record if name not in ("this", "derived"))
            remedy = (
                f"Found: {', '.join(columns)}. {self.recipe.file.name} takes {', '.join(dict.fromkeys(lacking.values()))} "
                "from there: correct the path, or write { path = …, optional = true } where data may lack it."
            )
            raise DataError(Problem(path.name, f"has no column {', '.join(lacking)}"), remedy)
        for name, join in self.recipe.join.items():
            used = sum(own == name for own, _ in self._used)
            self.reading.note(join.get("unused", ""), len(self._joined[name]) - used)


def _list_at(value: Any, path: str, place: str) -> list[Any]:
    """Return the list at a path; raise DataError if it is not a list."""
    if not isinstance(value, list):
        wrong = value.message if isinstance(value, Problem) else f"is {show(value)}, expected a list"
        raise DataError(Problem(place, f"{path} {wrong}"))
    return value
