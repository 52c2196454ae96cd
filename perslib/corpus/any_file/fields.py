"""Fields of records in which columns are looked for: their names as words, and what their values can be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perslib.corpus.any_file.ratings import find_scale_of, is_missing, is_plain, number_of
from perslib.corpus.any_file.shapes import WHO, WORDS, Conversation, Flat, name_of_path, words_of

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
        #: Whether a tool keeps no more than the beginning of a text here.
        self.is_cut = any(part in f" {' '.join(self.words)} " for part in WORDS["cut"]["names"])
        self.is_conversation = bool(self.values) and isinstance(self.values[0], Conversation)
        plain = [] if self.is_conversation else [str(value).strip() for value in self.values]
        self.kinds = Counter(plain)
        self.length = sum(map(len, plain)) / max(1, len(plain))
        is_written = sum(isinstance(value, str) for value in self.values) > 0.8 * len(self.values)
        self.is_text = is_written and self.length > 3 and (len(self.kinds) > 2 or self.length > 12)
        self.is_id = bool(plain) and not any(" " in kind for kind in self.kinds)
        self.is_name = bool(plain) and self.length < 65
        self.scale = None if self.is_conversation or len(self.kinds) > VALUES else find_scale_of(self.values, self.path)


def choose_field(fields: Sequence[Field], names: list[list[str]]) -> Field | None:
    """Return the field with the plainest name: a whole path, the last part of one, its last words, then a word in it."""
    for listed, how in ((names[0], lambda one: " ".join(one.words)), (names[0], lambda one: one.name)):
        for name in listed:
            if matching := [one for one in fields if how(one) == name]:
                return max(matching, key=lambda one: (not one.is_cut, len(one.values)))
    for name in names[0]:
        last = name.split()
        if len(last) > 1 and (matching := [one for one in fields if list(one.words[-len(last) :]) == last]):
            return max(matching, key=lambda one: (not one.is_cut, len(one.values), -len(one.words)))
    for name in names[1] if len(names) > 1 else ():
        if matching := [one for one in fields if name in one.words]:
            return max(matching, key=lambda one: (not one.is_cut, len(one.values), -len(one.words)))
    for name in names[2] if len(names) > 2 else ():
        if matching := [one for one in fields if name in one.words and {*WORDS["texts"]["words"]} & {*one.words}]:
            return max(matching, key=lambda one: len(one.values))
    return None


def find_pair_of_texts(fields: Sequence[Field]) -> dict[str, str]:
    """Return two fields of replies whose names differ in their last word alone: `reply_model_a` and `reply_model_b`."""
    replies = {*WORDS["names"]["response"][1]}
    texts = {one.words: one.path for one in fields if one.is_text and replies & {*one.words}}
    for first, second in (("a", "b"), ("1", "2"), ("left", "right"), ("x", "y")):
        for words, path in texts.items():
            if words[-1] == first and (*words[:-1], second) in texts:
                return {"response_a": path, "response_b": texts[(*words[:-1], second)]}
    return {}


def find_people(ratings: Sequence[Field]) -> tuple[str, ...]:
    """Return the columns that are the ratings of an annotator each: alike but for a number or letter, and about people or ratings."""
    people = {*WORDS["people"]["words"], "rating", "ratings", "score", "scores"}
    groups: dict[tuple[str, ...], list[Field]] = {}
    for one in ratings:
        stem = tuple(word for word in one.words if word in people or not re.fullmatch(r"\d+|[a-z]", word))
        groups.setdefault(stem, []).append(one)
    return next(
        (tuple(one.path for one in own) for stem, own in groups.items() if len(own) > 1 and set(stem) & people), ()
    )


def find_unnamed_ratings(fields: Sequence[Field]) -> list[str]:
    """Return the fields that are ratings by their values: in plain words, or else whole numbers on a scale, of unknown name."""
    counts = {*WORDS["counts"]["words"]}
    plain = [one.path for one in fields if one.scale is not None and (is_plain(one.values) or _is_likert(one))]
    return plain or [
        one.path
        for one in fields
        if one.scale in ("1-5", "1-6", "1-7", "1-10")
        and len(one.values) >= 0.5 * one.rows
        and 2 < len(one.kinds) < 11
        and all(kind.isdigit() for kind in one.kinds)
        and max(map(int, one.kinds)) > 3
        and not counts & set(one.words)
    ]


def _is_likert(one: Field) -> bool:
    """Return whether a field holds words of a scale of five."""
    return len(one.kinds) > 2 and all(number_of(value) is None or is_missing(value) for value in one.values)


def find_wide_replies(fields: Sequence[Field]) -> dict[str, tuple[str, str]]:
    """Return, by the system, the columns of its replies and of their ratings: `gpt_response` and `gpt_rating`, and so on."""
    replies, ratings = ({*WORDS["names"][column][0]} for column in ("response", "score"))
    texts = {one.words[:-1]: one.path for one in fields if one.is_text and one.words[-1:] and one.words[-1] in replies}
    scores = {one.words[:-1]: one.path for one in fields if one.scale and one.words[-1:] and one.words[-1] in ratings}
    names = {path: path[: path.lower().rfind(name_of_path(path).split()[-1])].strip(" _.-") for path in texts.values()}
    return {names[path]: (path, scores[stem]) for stem, path in texts.items() if stem in scores}


def unfold_numbered(flat: list[tuple[str, Flat]]) -> tuple[list[tuple[str, Flat]], list[str]]:
    """Return a record for each of several numbered requests with their replies: `prompt_1`, `reply_1`, `rating_1`, `prompt_2`, …"""
    numbered: dict[tuple[str, ...], dict[str, str]] = {}
    for path in dict.fromkeys(path for _, own in flat[:VALUES] for path in own):
        words = words_of(path)
        if [word.isdigit() for word in words].count(True) == 1 and len(words) > 1:
            number = next(word for word in words if word.isdigit())
            numbered.setdefault(tuple(word for word in words if word != number), {})[number] = path
    names = {" ".join(stem): own for stem, own in numbered.items() if len(own) > 1}
    asked, replied = (
        next((names[name] for name in WORDS["names"][column][0] if name in names), None)
        for column in ("request", "response")
    )
    numbers = [number for number in asked or () if number in (replied or ())]
    if len(numbers) < 2:
        return flat, []
    own_names = {name: own for name, own in names.items() if {*own} & {*numbers}}
    taken = {path for own in own_names.values() for path in own.values()}
    rows: list[tuple[str, Flat]] = []
    for place, own in flat:
        rest = {"respondent": place} | {path: value for path, value in own.items() if path not in taken}
        for number in numbers:
            part = {name: own[paths[number]] for name, paths in own_names.items() if paths.get(number) in own}
            rows += [(place, rest | part)] if part else []
    return rows, [f"rows: one for each of {', '.join(own_names)} with {', '.join(numbers)} in their names"]


def pivot_dimensions(flat: list[tuple[str, Flat]]) -> tuple[list[tuple[str, Flat]], list[str]]:
    """Return records with a field for each thing that was rated, where each such rating has a record, and a note on it."""
    paths = dict.fromkeys(path for _, own in flat[:VALUES] for path in own)
    ratings = [path for path in paths if name_of_path(path) in WORDS["names"]["score"][0]]
    about = [path for path in paths if name_of_path(path) in WORDS["dimensions"]["names"]]
    if len(ratings) != 1:
        return flat, []
    for path in about:
        kinds = {str(own.get(path)) for _, own in flat}
        if not 1 < len(kinds) < 11:
            continue
        single = {p for p in paths if len({repr(own.get(p)) for _, own in flat}) == len(flat)}
        joined: dict[str, tuple[str, Flat]] = {}
        for place, own in flat:
            rest = {p: value for p, value in own.items() if p not in {path, ratings[0]} | single}
            merged = joined.setdefault(repr(rest), (place, rest))[1]
            if path not in own or str(own[path]) in merged:
                break
            merged[str(own[path])] = own.get(ratings[0])
        else:
            if 2 * len(joined) <= len(flat):
                return [*joined.values()], [f"ratings: a row for each {path}, joined: {', '.join(sorted(kinds))}"]
    return flat, []


def _can_be_user(one: Field) -> bool:
    """Return whether values can name people: short, some again (or ids), and with numbers in them where the name is unclear."""
    is_unclear = one.name in WORDS["numbered"]["user"] and not all(re.search(r"\d", kind) for kind in one.kinds)
    is_again = len(one.kinds) < len(one.values) or one.is_id or one.rows < 20 or one.path == WHO
    return one.is_name and one.scale != "0-1" and is_again and not is_unclear


FITS: dict[str, Callable[[Field], bool]] = {
    "user": _can_be_user,
    "session": lambda one: one.is_name,
    "turn": lambda one: one.scale is not None or (one.is_name and all(kind.isdigit() for kind in one.kinds)),
    "scenario": lambda one: one.is_name and len(one.kinds) <= max(2, one.rows / 3),
    "assistant": lambda one: one.is_name and len(one.kinds) <= max(3, one.rows / 3),
    "asked_at": lambda one: one.is_name and all(re.search(r"\d", kind) for kind in one.kinds),
    "task": lambda one: one.is_text and one.length > 20,
    "satisfaction": lambda one: one.scale is not None,
}  # fmt: skip
