"""Recipes: what files of a format hold and where, in TOML (data/README.md explains every key).

A recipe is your own file, or one of those that systems bring. `by_recipe` reads files by a recipe.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perslib.corpus.files.reading import AUTO, ImportResult
from perslib.corpus.scale import Scale
from perslib.errors import DataError, Problem
from perslib.registry import Registry
from perslib.schemas import Schema, check, make_schema, read_schema

REMEDY = "data/README.md, section 'Recipes', explains every key."
_SCHEMA = read_schema(__file__, "recipe.schema.toml", "recipe")
Names = Mapping[str, Any]
recipe: Registry[Recipe] = Registry("recipe")
"""Recipes that systems bring, by name."""
function: Registry[Any] = Registry("function of recipes")
"""What a recipe cannot express and names: `derive(record)` returns fields of a record, which are at `derived.NAME`;
`complete(reading, folder)` adds to the reading what stands in further files.
"""


@dataclass(frozen=True)
class RecipeColumn:
    """Where a column is in a record, and how its value is converted."""

    name: str
    path: tuple[str, ...] = ()
    """The first of these that leads to something counts."""
    text: str = ""
    """A text with paths in braces, in place of a path."""
    flags: Names = field(default_factory=dict)
    """In place of a path, paths of flags, each with what it says where it is set."""
    kind: str = ""
    values: Names = field(default_factory=dict)
    unknown: str = ""
    """What values that are none of `values` are counted as; where it is empty, they are errors."""
    optional: bool = False
    role: str = "role"
    content: str = "content"
    roles: Names = field(default_factory=dict)
    columns: Mapping[str, RecipeColumn] = field(default_factory=dict)

    @classmethod
    def parse(cls, name: str, own: Any) -> RecipeColumn:
        """Make a column of what a recipe says: a path, paths, or a table."""
        own = dict(own) if isinstance(own, Mapping) else {"path": own}
        path = own.pop("path", ())
        for key in ("values", "roles"):
            own[key] = {in_words(word): value for word, value in own.get(key, {}).items()}
        own["columns"] = parse_columns(own.get("columns", {}))
        return cls(name, (path,) if isinstance(path, str) else tuple(path), **own)

    @property
    def sources(self) -> list[tuple[str, ...]]:
        """Return the paths of which records must have some."""
        if self.optional:
            return []
        return [self.path] if self.path else [(flag,) for flag in self.flags]

    @property
    def theirs(self) -> str:
        """Return the place of the column in a record, in words."""
        return self.text or " or ".join(self.path or self.flags)

    @property
    def steps(self) -> str:
        """Return the words of `values`, lowest first; the first word if several mean one rating."""
        text, last = "", None
        for word, value in self.values.items():
            if value != last:
                text += word if last is None else f" {'<' if value > last else 'or'} {word}"
            last = value
        return text


def parse_columns(columns: Names) -> dict[str, RecipeColumn]:
    """Make the columns that a table of a recipe describes."""
    return {name: RecipeColumn.parse(name, own) for name, own in columns.items()}


def in_words(value: Any) -> str:
    """Write a word or a number in the form in which values are compared, whatever their case and blanks."""
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).lower().split())


@dataclass(frozen=True)
class Recipe:
    """A format: where each column is, and facts about all its data. Tables without a recipe have an empty one."""

    kind: str = "table"
    file: Path = Path("table")
    name: str = ""
    language: str = "en"
    scale: Scale | None = None
    session_scale: Scale | None = None
    evidence: str = AUTO
    dates: str | None = None
    names: Names = field(default_factory=dict)
    """The files that may be read, each with its language."""
    pattern: str = ""
    parts: Names = field(default_factory=dict)
    """The files of a folder that is a record, by the field that each is."""
    records: str | None = None
    """The path in a JSON file to its records."""
    join: Mapping[str, Names] = field(default_factory=dict)
    each: str = ""
    """The path in a record to the items of which each is a row."""
    rows: tuple[tuple[str, Mapping[str, RecipeColumn]], ...] = ()
    """The columns of each row that a record gives, with what tells it from the others."""
    derive: str = ""
    """The `function` that adds fields to a record before its columns are taken."""
    complete: str = ""
    """The function that adds to the corpus what stands in further files."""
    leave_out: Names = field(default_factory=dict)
    count: Names = field(default_factory=dict)
    unique: tuple[str, ...] = ()
    twice: str = "is a second conversation with the id"
    unanswered: str = ""
    """What conversations without a reply are counted as; where it is empty, they are left out."""
    order: str = "all"
    """Whether conversations follow each other: all, those of a user (which are numbered), or none."""
    of_session: tuple[str, ...] = ()
    ratings: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    nothing: str = "holds no row"
    remedy: str = "Not one session is left. Each row needs user, request, response."
    record: Names = field(default_factory=dict)
    """The JSON schema of a record; `definitions` is what it refers to."""
    definitions: Names = field(default_factory=dict)

    @property
    def takes_conversations(self) -> bool:
        """Return whether a record is a whole conversation, and not a row of one."""
        return bool(self.each) or len(self.rows) > 1 or any("messages" in columns for _, columns in self.rows)

    def using(self, **options: Any) -> Recipe:
        """Return the recipe with options that replace its own."""
        return replace(self, **{option: value for option, value in options.items() if value is not None})

    def begin(self, skip_bad: bool) -> ImportResult:
        """Return a reading with what the recipe states about all data."""
        return ImportResult(skip_bad, evidence=self.evidence, dates=self.dates, session_scale=self.session_scale)

    def schema_of(self, record: Names) -> Schema | None:
        """Return the recipe's schema for records; None if it has none."""
        try:
            return make_schema({"definitions": self.definitions, "record": record}, "record") if record else None
        except ValueError as error:
            wrong = f"record is no JSON schema: {str(error).splitlines()[0]}"
            raise DataError(Problem(self.file.name, wrong), REMEDY) from error

    def is_rating(self, column: str) -> bool:
        """Return whether a column holds ratings, which are on a scale."""
        return column in ("score", "satisfaction", *self.ratings)

    def explain(self, problem: Problem) -> Problem:
        """Return the problem of a row as one of the record: with the record's name of the column, and the words that it
        takes.
        """
        ours, _, wrong = problem.message.partition(" ")
        if not (column := next((columns[ours] for _, columns in self.rows if ours in columns), None)):
            return problem
        words = f", {column.steps}" if column.values and self.is_rating(ours) else ""
        return Problem(problem.place, f"{column.theirs} {wrong}{words}")


def read_recipe(file: Path) -> Recipe:
    """Read a recipe; an error that names the file, the key and the remedy where it is none."""
    try:
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(Problem(file.name, f"is no TOML: {error}"), REMEDY) from error
    problems = check(content, _SCHEMA, file.name)
    problems = problems or [Problem(file.name, wrong) for wrong in _find_misnamed(content)]
    if problems:
        raise DataError(problems, REMEDY)
    own: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    for key, border in (("scale", own.pop("dissatisfied", None)), ("session_scale", None)):
        if key in own or border is not None:
            try:
                own[key] = Scale.parse(own.get(key, ""), border)
            except DataError as error:
                raise DataError(Problem(file.name, f"{key}: {error.problems[0].message}"), error.remedy) from error
    columns, each = own.pop("columns"), own.pop("each", ("",))
    own["each"], words = ("", each) if isinstance(each, tuple) else (each, ("",))
    own["rows"] = tuple((word, parse_columns(_fill_in_word(columns, word))) for word in words)
    return Recipe(**own, kind=file.stem, file=file)


def _find_misnamed(content: Names) -> Iterator[str]:
    """Yield what is wrong with the keys of a recipe that name columns or functions."""
    for key in ("leave_out", "count", "unique", "of_session", "ratings"):
        for name in content.get(key, ()):
            if name not in content["columns"]:
                yield f"{key} names {name}, which is no column"
    for key in ("derive", "complete"):
        if (name := content.get(key)) and name not in function:
            yield f"{key} is {name}, but no function is registered under this name"


def _fill_in_word(columns: Names, word: str) -> Names:
    """Return the columns with a word in place of `{each}`."""
    filled: Names = json.loads(json.dumps(columns).replace("{each}", json.dumps(word)[1:-1]))
    return filled


def find_recipe(name: str | Path) -> Recipe:
    """Read a recipe: a file, or one that a system brings, by its name."""
    if (file := Path(name).expanduser()).is_file():
        return read_recipe(file)
    return recipe[str(name)]()
