"""Which columns of anybody's tables are the item, the person, people's label and judges' scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from perslib.corpus.files.tables import read_table_rows
from perslib.errors import DataError, Problem
from perslib.systems.readers.any_file.fields import Field, choose_field
from perslib.systems.readers.any_file.ratings import find_scale_of
from perslib.systems.readers.any_file.recognise import NAMES
from perslib.systems.readers.any_file.records_of import read_records
from perslib.systems.readers.any_file.shapes import flatten_record

Table: TypeAlias = pd.DataFrame | str | Path | Sequence[Mapping[str, Any]]


def read_flat(table: Table) -> pd.DataFrame:
    """Return a table as a frame of flat fields: a file of any form, a frame, or a list of objects."""
    if isinstance(table, str | Path):
        records = [value for _, value, _ in read_records(Path(table))[0] if isinstance(value, Mapping)]
    else:
        records = [*(read_table_rows(table) if isinstance(table, pd.DataFrame) else table)]
    rows = [own for record in records for own in flatten_record(record)]
    if not rows:
        raise DataError(Problem(str(table) if isinstance(table, str | Path) else "the table", "holds no records"))
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
_OF_PEOPLE = {
    "human",
    "annotator",
    "rater",
    "user",
    "gold",
    "people",
    "person",
    "manual",
    "expert",
    "label",
    "truth",
    "labeler",
    "participant",
}
_OF_JUDGES = {
    "judge",
    "llm",
    "gpt",
    "model",
    "auto",
    "predicted",
    "prediction",
    "metric",
    "evaluator",
    "claude",
    "gemini",
    "qwen",
    "ai",
    "bot",
    "automatic",
    "scores",
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
    label: str | None
    judges: tuple[str, ...]
    time: str | None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._own, self._people = list_fields(self.own), list_fields(self.people)
        for name, frame in (
            (self.item, self.own),
            (self.user, self.people),
            (self.label, self.people),
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
        names = [one for one in self._people.values() if one.is_name and one.path != self.item and one.scale != "0-1"]
        field = choose_field(names, [NAMES["user"][0]])
        self.user = self.user or (field.path if field else None)
        self._wide = [] if self.label or self.user else self._find_annotators()
        if not self._wide:
            self.label = self.label or self._find_label()
            self.notes.append(
                f"labels: {self.label}"
                + (f", by {self.user}" if self.user else ", of one user: no column says who rated")
            )

    def _find_annotators(self) -> list[str]:
        rated = [one for one in self._people.values() if one.scale is not None and one.path != self.item]
        annotators = [
            one.path
            for one in rated
            if {"annotator", "rater", "human", "labeler", "person"} & set(one.words) and one.words[-1].isdigit()
        ]
        if len(annotators) > 1:
            self.notes.append(f"labels: an annotator a column, {', '.join(annotators)}")
            return annotators
        return []

    def _find_label(self) -> str:
        rated = [
            one
            for one in self._people.values()
            if one.scale is not None and one.path not in (self.item, self.user, self.time, *self.judges)
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

    def labels(self) -> pd.DataFrame:
        """Return item, user and label, a row a label."""
        frame = self.people.assign(item=self._items(self.people))
        if self._wide:
            long = frame[["item", *self._wide]].melt("item", self._wide, "user", "label")
        else:
            long = frame.assign(
                label=frame[self.label], user=frame[self.user].astype(str) if self.user else "everybody"
            )
        return long[["item", "user", "label"]].dropna().drop_duplicates(["item", "user"]).reset_index(drop=True)

    def scores(self) -> pd.DataFrame:
        """Return item, judge and score (and user, where a row of one table is one user's), a row a score."""
        frame = self.own.assign(item=self._items(self.own))
        keys = ["item"]
        if not self.are_two and self.user:
            frame["user"], keys = frame[self.user].astype(str), ["item", "user"]
        taken = (self.item, self.user, self.label, self.time, *self._wide)
        rated = [one for one in self._own.values() if is_result(one) and one.path not in taken]
        who = choose_field(
            [one for one in self._own.values() if one.is_name and one.path not in taken],
            [["judge", "evaluator", "scorer", "metric", "metric name", "judge name", "model", "name"]],
        )
        value = choose_field(rated, NAMES["score"])
        if not self.judges and who is not None and value is not None and 1 < len(who.kinds) < len(self.own) / 3:
            long = frame.assign(judge=frame[who.path].astype(str), score=frame[value.path])
            self.notes.append(f"judges: {value.path}, by {who.path}")
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
        return (
            long[[*keys, "judge", "score", *(["when"] if self.time else [])]]
            .dropna(subset="score")
            .drop_duplicates([*keys, "judge"])
        )

    def _items(self, frame: pd.DataFrame) -> pd.Series:
        return frame[self.item].astype(str) if self.item else pd.Series(np.arange(len(frame)), frame.index).astype(str)


def is_result(one: Field) -> bool:
    """Return whether a field is a result: a rating, true or false, or a number that is neither a place nor a draw."""
    if one.is_conversation or _NO_RESULT & set(one.words[-1:]) or "metadata" in one.words:
        return False
    return find_scale_of(one.values) is not None


def list_fields(frame: pd.DataFrame) -> dict[str, Field]:
    """Return the fields of a frame that hold something, by name."""
    return {
        str(name): Field(str(name), frame[name].dropna().tolist(), len(frame))
        for name in frame
        if frame[name].notna().any()
    }
