"""Fields of records in which columns are looked for: their names as words, and what their values can be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perslib.corpus.loaders.ratings import find_scale_of
from perslib.corpus.loaders.shapes import WHO, WORDS, Conversation, name_of_path, words_of

#: A rating has at most so many different values.
VALUES = 101


@dataclass
class Field:
    """A field of the flat records, and what its values are."""

    path: str
    values: list[Any]
    rows: int

    def __post_init__(self) -> None:
        self.words, self.name = words_of(self.path), name_of_path(self.path)
        self.is_conversation = bool(self.values) and isinstance(self.values[0], Conversation)
        plain = [] if self.is_conversation else [str(value).strip() for value in self.values]
        self.kinds = Counter(plain)
        self.length = sum(map(len, plain)) / max(1, len(plain))
        is_written = sum(isinstance(value, str) for value in self.values) > 0.8 * len(self.values)
        self.is_text = is_written and self.length > 3 and (len(self.kinds) > 2 or self.length > 12)
        self.is_name = bool(plain) and self.length < 65
        self.scale = None if self.is_conversation or len(self.kinds) > VALUES else find_scale_of(self.values)


def choose_field(fields: Sequence[Field], names: list[list[str]]) -> Field | None:
    """Return the field with the plainest name: a whole path, the last part of one, then a word in it."""
    for listed, how in ((names[0], lambda one: " ".join(one.words)), (names[0], lambda one: one.name)):
        for name in listed:
            if found := [one for one in fields if how(one) == name]:
                return max(found, key=lambda one: len(one.values))
    for name in names[1] if len(names) > 1 else ():
        if found := [one for one in fields if name in one.words]:
            return max(found, key=lambda one: (len(one.values), -len(one.words)))
    return None


def find_people(ratings: Sequence[Field]) -> tuple[str, ...]:
    """Return the columns that are the ratings of an annotator each: alike but for a number or letter, and about people or ratings."""
    people, groups = {*WORDS["people"]["words"], "rating", "score"}, dict[tuple[str, ...], list[Field]]()
    for one in ratings:
        stem = tuple(word for word in one.words if not re.fullmatch(r"\d+|[a-z]", word))
        groups.setdefault(stem, []).append(one)
    return next(
        (tuple(one.path for one in own) for stem, own in groups.items() if len(own) > 1 and set(stem) & people), ()
    )


FITS: dict[str, Callable[[Field], bool]] = {
    "user": lambda one: one.is_name and one.scale != "0-1" and (len(one.kinds) < len(one.values) or one.rows < 20 or one.path == WHO),
    "session": lambda one: one.is_name,
    "turn": lambda one: one.scale is not None or (one.is_name and all(kind.isdigit() for kind in one.kinds)),
    "scenario": lambda one: one.is_name and len(one.kinds) <= max(2, one.rows / 3),
    "assistant": lambda one: one.is_name and len(one.kinds) <= max(3, one.rows / 3),
    "asked_at": lambda one: one.is_name and all(re.search(r"\d", kind) for kind in one.kinds),
    "task": lambda one: one.is_text and one.length > 20,
    "satisfaction": lambda one: one.scale is not None,
}  # fmt: skip
