"""Which columns of anybody's tables are the item, the person, people's label and judges' scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from perslib.corpus.any_file.fields import Field, choose_field, find_people
from perslib.corpus.any_file.find_score import NAMES, is_best_low
from perslib.corpus.any_file.ratings import find_codes, find_scale_of, is_missing, number_of, turn_scale
from perslib.corpus.any_file.records_of import read_records
from perslib.corpus.any_file.shapes import WORDS, flatten_record, words_of
from perslib.corpus.files.reading import number_in
from perslib.corpus.files.tables import read_table_rows
from perslib.errors import DataError, Problem

Table: TypeAlias = pd.DataFrame | str | Path | Sequence[Mapping[str, Any]]


#: The largest share of the rows of a file that may be unreadable.
UNREAD = 0.05


def read_flat(table: Table, notes: list[str], encoding: str | None = None) -> pd.DataFrame:
    """Return a table as a frame of flat fields: a file of any form, a frame, or a list of objects; `notes` take what was left out."""
    name = str(table) if isinstance(table, str | Path) else "the table"
    if isinstance(table, str | Path):
        read = [(place, value) for place, value, _ in read_records(Path(table), encoding)[0]]
    else:
        objects = read_table_rows(table) if isinstance(table, pd.DataFrame) else table
        read = [(f"row {number}", value) for number, value in enumerate(objects, 1)]
    records = [value for _, value in read if isinstance(value, Mapping)]
    if bad := [(place, value) for place, value in read if not isinstance(value, Mapping)]:
        place, value = bad[0]
        why = value.message if isinstance(value, Problem) else "is no object with named fields"
        summary = f"{len(bad):,} of {len(read):,} rows cannot be read, the first: {place} {why}"
        if len(bad) > UNREAD * len(read):
            raise DataError(
                Problem(name, summary), "Correct the file; a few unreadable rows are left out, so many are not."
            )
        notes.append(f"left out: {summary}")
    rows = [own for record in records for own in flatten_record(record)]
    if not rows:
        raise DataError(Problem(name, "holds no records"))
    return pd.DataFrame(rows)


ITEM_NAMES = [
    "item id",
    "item",
    "question id",
    "sample id",
    "example id",
    "id",
    "trace id",
    "case id",
    "task id",
    "conversation id",
    "session id",
    "request id",
    "prompt id",
    "row",
    "index",
    "uid",
]
_OF_PEOPLE = {*WORDS["about"]["people"], "label", "labeler"}
_OF_JUDGES = {*WORDS["about"]["machines"], "evaluator", "scores"}
#: Labels that are choices between two replies, on 0 to 1.
CHOICES = {
    word.replace("_", " "): number
    for side, number in (("tie", 0.5), ("b", 0.0), ("a", 1.0))
    for word in WORDS["pairs"][side]
}
#: What numbers are called that are no result: places and draws.
_NO_RESULT = {"id", "epoch", "seed", "index", "turn", "version", "tokens", "time", "latency", "threshold", "row"}


@dataclass
class Columns:
    """Which column is which, in one table or two."""

    own: pd.DataFrame
    people: pd.DataFrame
    are_two: bool
    item: str | None
    user: str | None
    label: Sequence[str]
    judges: tuple[str, ...]
    time: str | None
    repeats: str | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._own, self._people = list_fields(self.own), list_fields(self.people)
        for name, frame in (
            (self.item, self.own),
            (self.user, self.people),
            *((label, self.people) for label in self.label),
            *((j, self.own) for j in self.judges),
        ):
            if name is not None and name not in frame:
                raise DataError(Problem(name, "is no column"), f"Found: {', '.join(map(str, frame))}")
        shared = [one for one in self._people.values() if one.path in self._own]
        field = choose_field(shared, [ITEM_NAMES])
        self.item = self.item or (field.path if field else None)
        if self.item is None and self.are_two:
            raise DataError(
                Problem("item", "no column that both tables have names the item"), "Say which: --item COLUMN"
            )
        judge = self._find_judge_name()
        self._names_judge = judge.path if judge is not None else ""
        taken = (self.item, self._names_judge, *self.judges, *self.label)
        names = [one for one in self._people.values() if one.is_name and one.path not in taken and one.scale != "0-1"]
        field = choose_field(names, [NAMES["user"][0]])
        self.user = self.user or (field.path if field else None)
        self._wide = [*self.label] if len(self.label) > 1 else [] if self.label else self._find_annotators()
        if self._wide:
            self.user = None
            self.notes.append(f"labels: an annotator a column, {', '.join(self._wide)}")
        else:
            self._label = self.label[0] if self.label else self._find_label()
            self.notes.append(
                f"labels: {self._label}"
                + (f", by {self.user}" if self.user else ", of one user: no column says who rated")
            )

    def _find_judge_name(self) -> Field | None:
        """Return the field that says whose score a row holds, where each row is one judge's."""
        named = [
            one
            for one in self._own.values()
            if one.is_name and one.scale is None and len(one.kinds) < max(2, len(self.own) / 3)
        ]
        plain = choose_field(named, [["judge", "judge name", "evaluator", "scorer", "grader", "metric", "metric name"]])
        return plain or choose_field([one for one in named if len(one.kinds) > 1], [["model", "name"]])

    def _find_annotators(self) -> list[str]:
        """Return the columns of people's labels, an annotator each: alike but for a number or letter, and called people's."""
        rated = [
            one for one in self._people.values() if one.scale is not None and one.path not in (self.item, *self.judges)
        ]
        people = find_people([one for one in rated if not _OF_JUDGES & {*one.words} or _OF_PEOPLE & {*one.words}])
        return [*people] if people and {*words_of(people[0])} & {*_OF_PEOPLE, *WORDS["people"]["words"]} else []

    def _find_label(self) -> str:
        rated = [
            one
            for one in self._people.values()
            if (one.scale is not None or are_choices(one.values))
            and one.path not in (self.item, self.user, self.time, self._names_judge, *self.judges)
        ]
        of_people = [one for one in rated if _OF_PEOPLE & set(one.words)] or (
            [one for one in rated if not _OF_JUDGES & set(one.words)] if self.are_two or len(rated) < 3 else []
        )
        label = choose_field(of_people, NAMES["score"]) or (of_people[0] if len(of_people) == 1 else None)
        if label is None:
            listed = ", ".join(one.path for one in rated) or "none that holds ratings"
            raise DataError(
                Problem("label", f"no column is plainly what people said; with ratings: {listed}"),
                "Say which: --label COLUMN",
            )
        return label.path

    def find_scale(self) -> str | None:
        """Return the scale of the labels, as `--scale` takes it: the other way round where the lowest number is the best."""
        columns = self._wide or [self._label]
        scale = find_scale_of([value for column in columns for value in self.people[column].dropna()])
        if any(is_best_low(self._people[column], scale) for column in columns):
            self.notes.append(f"scale: in {columns[0]} the lowest number is the best, so labels are turned round")
            return turn_scale(scale)
        return scale

    def labels(self) -> pd.DataFrame:
        """Return item, user and label, a row a label."""
        frame = self.people.assign(item=self._items(self.people))
        if self._wide:
            long = frame[["item", *self._wide]].melt("item", self._wide, "user", "label")
        else:
            long = frame.assign(
                label=frame[self._label], user=frame[self.user].astype(str) if self.user else "everybody"
            )
        codes = find_codes(long["label"].dropna().tolist())
        is_code = long["label"].map(number_of).isin(codes) if codes else long["label"].isna()
        long["label"] = long["label"].mask(is_code | long["label"].map(is_missing).astype(bool))
        if missing := int(long["label"].isna().sum()):
            shown = f" (or one of {', '.join(f'{code:g}' for code in sorted(codes))})" if codes else ""
            self.notes.append(f"left out: {missing:,} of {len(long):,} rows have no label{shown}")
        return self._keep_first(long[["item", "user", "label"]].dropna(), ["item", "user"], "label")

    def _keep_first(self, long: pd.DataFrame, keys: list[str], value: str) -> pd.DataFrame:
        """Return a row for these keys each: the first of several, or the last; where they differ, only if that was said."""
        again = long[long.duplicated(keys)]
        if len(again):
            differ = long.groupby(keys)[value].nunique().gt(1)
            summary = f"{len(again):,} of {len(long):,} rows hold a further {value} of the same {' and '.join(keys)}"
            if differ.any() and not self.repeats:
                first = ", ".join(map(str, np.atleast_1d(differ.idxmax())))
                raise DataError(
                    Problem(value, f"{summary}, and they differ, as those of {first} do"),
                    "Is another column the item (--item) or the person (--user)? If these are repeats, say which count: "
                    "--repeats first, or --repeats last.",
                )
            self.notes.append(f"left out: {summary}; the {self.repeats or 'first'} counts")
        return long.drop_duplicates(keys, keep="last" if self.repeats == "last" else "first").reset_index(drop=True)

    def scores(self) -> pd.DataFrame:
        """Return item, judge and score (and user, where a row of one table is one user's), a row a score."""
        frame = self.own.assign(item=self._items(self.own))
        label = None if self.are_two or self._wide else self._label
        taken = (self.item, self.user, label, self.time, self._names_judge, *([] if self.are_two else self._wide))
        rated = [one for one in self._own.values() if is_result(one) and one.path not in taken]
        value = choose_field(rated, NAMES["score"]) or (rated[0] if len(rated) == 1 else None)
        has_names = bool(self._names_judge) and not self.judges and value is not None
        keys = ["item"]
        if self.user in frame and (not self.are_two or self._is_per_user(frame, has_names)):
            frame["user"], keys = frame[self.user].astype(str), ["item", "user"]
        if has_names and value is not None:
            long = frame.assign(judge=frame[self._names_judge].astype(str), score=frame[value.path])
            self.notes.append(f"judges: {value.path}, by {self._names_judge}")
        else:
            columns = (
                list(self.judges)
                or [one.path for one in rated if _OF_JUDGES & set(one.words)]
                or [one.path for one in rated if one.length < 8]
            )
            if not columns:
                raise DataError(Problem("judge", "no column holds a judge's scores"), "Say which: --judge COLUMN")
            names = [*keys, *([self.time] if self.time else [])]
            long = frame[[*names, *columns]].melt(names, columns, "judge", "\0").rename(columns={"\0": "score"})
            self.notes.append(f"judges: {', '.join(columns)}")
        long = long.assign(when=long[self.time]) if self.time else long
        scored = long[[*keys, "judge", "score", *(["when"] if self.time else [])]].dropna(subset="score")
        return self._keep_first(scored, [*keys, "judge"], "score")

    def _is_per_user(self, frame: pd.DataFrame, has_names: bool) -> bool:
        """Return whether scores in a file of their own are each of one user: items are numbered within users."""
        of_judge = [self._names_judge] if has_names else []
        return (
            bool(frame.duplicated(["item", *of_judge]).any())
            and not frame.duplicated(["item", str(self.user), *of_judge]).any()
        )

    def _items(self, frame: pd.DataFrame) -> pd.Series:
        return frame[self.item].astype(str) if self.item else pd.Series(np.arange(len(frame)), frame.index).astype(str)


def are_choices(values: Iterable[Any]) -> bool:
    """Return whether values choose between two replies: A, B or tie, but not 1 or 2."""
    held = {_fold(value) for value in values if not is_missing(value)}
    sides = {word for word in held if CHOICES.get(word, 0.5) != 0.5}
    return len(held) > 1 and held <= {*CHOICES} and not sides <= {*"12"}


def read_choice(value: Any) -> float:
    """Return a choice between two replies as a number: 1 for the first, 0 for the second."""
    return CHOICES[_fold(value)]


def _fold(value: Any) -> str:
    return " ".join(str(value).lower().replace("_", " ").split())


def is_result(one: Field) -> bool:
    """Return whether a field is a result: a rating, true or false, or a number that is neither a place nor a draw."""
    if one.is_conversation or _NO_RESULT & set(one.words[-1:]) or "metadata" in one.words:
        return False
    return find_scale_of(one.values) is not None or are_choices(one.values)


def is_measured(one: Field) -> bool:
    """Return whether a field holds numbers on whatever scale, and is neither a place nor a draw."""
    return is_number(one) and not _NO_RESULT & set(one.words[-1:]) and "metadata" not in one.words


def is_number(one: Field) -> bool:
    """Return whether all that a field holds are numbers, and not always the same."""
    numbers = {number_in(value) for value in one.values}
    return None not in numbers and len(numbers) > 1


def list_fields(frame: pd.DataFrame) -> dict[str, Field]:
    """Return the fields of a frame that hold something, by name."""
    return {
        str(name): Field(str(name), frame[name].dropna().tolist(), len(frame))
        for name in frame
        if frame[name].notna().any()
    }
