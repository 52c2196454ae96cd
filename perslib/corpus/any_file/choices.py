"""Which of several fields is people's rating, the person, or a text: one that alone fits, or a question.

Two fields that could be it and differ are asked about, whatever they are called. Only words decide that say whose it is (of people
beside machines), what it is of (the reply beside the request), or that it is the whole (beside parts).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perslib.corpus.any_file.fields import FITS, Field, choose_field, find_unnamed_ratings
from perslib.corpus.any_file.ratings import is_plain
from perslib.corpus.any_file.recognised_rows import EVERYBODY
from perslib.corpus.any_file.shapes import WHO, WORDS
from perslib.errors import Ambiguous

_PEOPLE, _MACHINES, _OTHERS, _FACETS, _WHOLE = (
    {*WORDS["about"][key]} for key in ("people", "machines", "others", "facets", "whole")
)
_COUNTS = {*WORDS["counts"]["words"]}
_NAMES = WORDS["names"]
_RATED = {*_NAMES["score"][0]}, {*_NAMES["score"][1]}
_STRONG_USERS = {*WORDS["strong"]["user"]}
#: In a name of more words, such as a survey's question, a word says little of what is rated.
SHORT_NAME = 5
#: A text that has so few kinds in so many rows is a template, and a field that has one kind is nobody's name.
FEW_KINDS, MANY_ROWS = 0.05, 8
#: The share of rows in which a field must hold something to be a rival of another.
HALF = 0.5


@dataclass(frozen=True)
class Choice:
    """A field that was chosen, and others that might have been meant."""

    field: Field | None
    also: tuple[str, ...] = ()


def choose_rating(ratings: Sequence[Field], place: str) -> Choice:
    """Return the field of people's ratings; Ambiguous where several could be it and differ, and none of them alone has a word of people."""
    fitting = [one for one in ratings if may_be_rating(one)]
    weak = {*WORDS["about"]["weak"]}
    named = [one for one in fitting if len(one.kinds) > 1] or fitting
    named = [one for one in named if not weak & {*one.words}] or named
    if not named:
        return Choice(None, tuple(one.path for one in ratings if _MACHINES & {*one.words}))
    groups = [[one for one in named if says_people(one)], [one for one in named if not _FACETS & {*one.words}], named]
    pool = _drop_equal(next(group for group in groups if group))
    if len(pool) > 1:
        whole = [one for one in pool if _WHOLE & {*one.words}]
        plain = [one for one in pool if not _FACETS & {*one.words}]
        pool = whole if len(whole) == 1 else plain if len(plain) == 1 and says_people(plain[0]) else pool
    if len(pool) == 1 and not (says_people(pool[0]) or _WHOLE & {*pool[0].words}):
        pool = _drop_equal([*pool, *(one for one in named if one is not pool[0] and len(one.values) > HALF * one.rows)])
    if len(pool) == 1 and {pool[0].words[-1]} & {*WORDS["about"]["scores"]} and not says_people(pool[0]):
        unnamed = {*find_unnamed_ratings(ratings)}
        pool += [one for one in ratings if one.path in unnamed and one not in named and not is_of_something_else(one)]
    if len(pool) > 1:
        raise Ambiguous("score", [one.path for one in pool], place)
    also = [
        one
        for one in ratings
        if one is not pool[0] and not _COUNTS & {*one.words} and one.name not in _NAMES["turn"][0]
    ]
    return Choice(pool[0], tuple(one.path for one in also))


def may_be_rating(one: Field) -> bool:
    """Return whether a field is called as people's rating of a reply is, or written as one."""
    return _is_named_rating(one) and not is_of_something_else(one)


def find_unreadable_rating(fields: Sequence[Field]) -> Field | None:
    """Return a field that is called people's rating, and whose few values are no rating that is known."""
    return next(
        (
            one
            for one in fields
            if one.scale is None
            and not one.is_conversation
            and (one.name in _RATED[0] or _WHOLE & {*one.words})
            and not is_of_something_else(one)
            and 1 < len(one.kinds) < min(20, max(3, len(one.values) / 3))
        ),
        None,
    )


def _is_named_rating(one: Field) -> bool:
    words = {*one.words}
    return one.name in _RATED[0] or bool(words & (_RATED[1] | _FACETS | _WHOLE)) or says_people(one)


def says_people(one: Field) -> bool:
    """Return whether a rating is people's by a word, or by how it is written (👍)."""
    return bool(_PEOPLE & {*one.words}) or is_plain(one.values)


def is_of_something_else(one: Field) -> bool:
    """Return whether a rating is a machine's, or of something else than the reply, by its name."""
    words = {*one.words}
    is_short = len(one.words) <= SHORT_NAME
    return bool((words & _MACHINES and not words & _PEOPLE) or (is_short and words & (_OTHERS | _COUNTS)))


def _drop_equal(fields: Sequence[Field]) -> list[Field]:
    """Return the fields without those that hold the same values as one before them."""
    return list({tuple(map(str, one.values)): one for one in reversed(fields)}.values())[::-1]


def choose_user(fields: Sequence[Field], place: str) -> Choice:
    """Return the field of people: no constant, and none with a value a row where others repeat; Ambiguous where two divide the rows in two ways."""
    fitting = [one for one in fields if FITS["user"](one)]
    varied = [one for one in fitting if len(one.kinds) > 1 or len(one.values) < MANY_ROWS] or fitting
    chosen = choose_field(varied, _NAMES["user"])
    if (chosen is None or len(chosen.kinds) < 2) and (unnamed := _find_unnamed_people(fields)):
        raise Ambiguous("user", [*(one.path for one in unnamed), chosen.path if chosen else EVERYBODY], place)
    if chosen is None:
        return Choice(None)
    named = [one for one in varied if one is chosen or choose_field([one], _NAMES["user"]) is not None]
    if len(again := [one for one in named if len(one.kinds) < len(one.values)]) and chosen not in again:
        chosen = choose_field(again, _NAMES["user"]) or chosen
    rivals = [
        one
        for one in again
        if one is not chosen
        and one.name in _STRONG_USERS
        and chosen.name in _STRONG_USERS
        and not _divide_alike(one, chosen)
    ]
    if rivals and chosen.path != WHO:
        raise Ambiguous("user", [chosen.path, *(one.path for one in rivals)], place)
    return Choice(chosen, tuple(one.path for one in named if one is not chosen))


def _find_unnamed_people(fields: Sequence[Field]) -> list[Field]:
    """Return the fields that may well be people's ids by their values: short, with digits or @, and each one in several rows."""
    other = {
        name
        for column in ("session", "turn", "scenario", "assistant", "asked_at", "score")
        for name in _NAMES[column][0]
    }
    return [
        one
        for one in fields
        if one.is_id
        and one.rows >= MANY_ROWS
        and len(one.values) > HALF * one.rows
        and 1 < len(one.kinds) <= len(one.values) / 2
        and all(
            re.search(r"\d|@", kind) and re.search(r"[^\W\d]", kind) and not re.match(r"\d{4}-\d\d", kind)
            for kind in one.kinds
        )
        and one.name not in other
        and one.scale is None
    ]


def _divide_alike(one: Field, other: Field) -> bool:
    """Return whether each value of one field stands with one value of the other."""
    pairs = {*zip(map(str, one.values), map(str, other.values))}
    return len(one.values) == len(other.values) and len(pairs) == len(one.kinds) == len(other.kinds)


def choose_text(column: str, texts: Sequence[Field], place: str) -> Choice:
    """Return the text of a request or a response; Ambiguous where two with plain names differ, and neither alone says whose it is."""
    varied = [one for one in texts if not is_template(one)]
    chosen = choose_field(varied, _NAMES[column]) or choose_field(texts, _NAMES[column])
    strong, sides = ({*WORDS[key][column]} for key in ("strong", "sides"))
    if chosen is None or chosen.name not in strong:
        return Choice(chosen)
    rivals = [
        one
        for one in varied
        if one is not chosen
        and _is_strong(one, strong, sides)
        and len(one.values) > HALF * chosen.rows
        and one.kinds != chosen.kinds
        and not one.is_cut
    ]
    if not rivals:
        return Choice(chosen)
    own = [one for one in (chosen, *rivals) if sides & {*one.words}]
    if len(own) == 1:
        return Choice(own[0], tuple(one.path for one in (chosen, *rivals) if one is not own[0]))
    raise Ambiguous(column, [chosen.path, *(one.path for one in rivals)], place)


def _is_strong(one: Field, strong: set[str], sides: set[str]) -> bool:
    words = one.name.split()
    return one.name in strong or (len(words) == 2 and words[0] in sides and words[1] in strong)


def is_template(one: Field) -> bool:
    """Return whether a text is the same in nearly all rows: instructions around what was asked, and no request."""
    return len(one.values) >= MANY_ROWS and len(one.kinds) <= max(1, FEW_KINDS * len(one.values))
