"""Who rated what: the person, the rating, its scale, and the cells that hold none."""

from __future__ import annotations

import math
from collections import Counter

from perslib.corpus.any_file.choices import (
    Choice,
    choose_rating,
    choose_user,
    find_unreadable_rating,
    is_of_something_else,
    says_people,
)
from perslib.corpus.any_file.fields import FITS, Field, choose_field, find_people, find_unnamed_ratings
from perslib.corpus.any_file.ratings import (
    find_codes,
    find_named_scale,
    find_scale_of,
    is_missing,
    is_turned,
    number_of,
    refuse_mixed_ends,
    spell_scale,
    split_scale,
    turn_scale,
)
from perslib.corpus.any_file.search import Search, share_differing
from perslib.corpus.any_file.shapes import WHO, WORDS, words_of
from perslib.errors import Ambiguous, DataError, Problem

NAMES = WORDS["names"]
#: Names of school grades, of which 1 is the best in some countries and the worst in others.
_GRADES = ("note", "schulnote", "grade")
#: So many further turns of conversations do not have the rating of the first by chance.
SEVERAL = 10


def find_user(it: Search) -> None:
    """Take the field of the person: whoever annotated, else whoever is named."""
    if "user" not in it.taken and WHO in it.fields:
        named = choose_field([one for one in it.free("user") if FITS["user"](one) and one.path != WHO], NAMES["user"])
        it.taken["user"] = WHO
        it.note(
            "users: those who annotated"
            + (f"; {named.path} is kept as it is (--columns user={named.path})" if named else "")
        )
    if "user" not in it.taken:
        people = find_people([one for one in it.free("score") if one.scale is not None])
        choice = choose_user([one for one in it.free("user") if one.path not in people], it.name)
        if choice.field is not None:
            it.taken["user"] = choice.field.path
            if choice.also:
                it.note(f"users: {choice.field.path}; also there: {', '.join(choice.also)} (--columns user=FIELD)")
            if len(choice.field.kinds) == len(choice.field.values) > 1:
                it.note(f"users: {choice.field.path} is another one in each row, so nothing else is known of anybody")


def find_score(it: Search) -> None:
    """Find the rating; of several annotators with a column each, each is a user."""
    if "preferred" in it.taken:
        return
    column = "score"
    ratings = [one for one in it.free("score") if one.scale is not None]
    given = it.taken.get("score", "")
    several = tuple(given.split("+")) if given and given not in it.fields else ()
    people = several or (() if given else find_people(ratings))
    if (
        people
        and not several
        and it.taken.get("user") in it.fields
        and not any(_is_annotators(path) for path in people)
    ):
        raise Ambiguous("score", [*people, "+".join(people)], it.name)
    if people:
        it.recognised.people = people
        it.taken.update({"user": f"({', '.join(people)})", "score": f"({', '.join(people)})"})
        it.note(f"users: the annotators, a column each: {', '.join(people)}")
        it.scales["score"] = find_scale_of([value for path in people for value in it.fields[path].values])
    else:
        lists = {word for name in WORDS["annotations"]["lists"] for word in name.split()}
        annotated = [one for one in ratings if lists & set(one.words[:-1]) or one.path == "rating"]
        wide = it.fields[next(iter(it.recognised.wide.values()))[1]] if it.recognised.wide else None
        chosen, choice = it.get("score") or wide, Choice(None)
        if chosen is None:
            choice = choose_rating(ratings, it.name)
            chosen = choice.field or (annotated[0] if len(annotated) == 1 else None)
        talks = [
            message for one in it.fields.values() if one.is_conversation for v in one.values for message in v.messages
        ]
        in_messages = [message["score"] for message in talks if "score" in message]
        is_sure = chosen is not None and (chosen.path in it.taken.values() or says_people(chosen))
        if not is_sure and not in_messages and (odd := find_unreadable_rating([*it.fields.values()])):
            cells = ", ".join(repr(kind) for kind, _ in odd.kinds.most_common(4))
            wrong = f"is called a rating, and its cells are none that is known: {cells}"
            raise DataError(Problem(odd.path, wrong), "Write numbers, or name another: --columns score=FIELD")
        if chosen is None and not in_messages and (chosen := find_unnamed(it, ratings)):
            it.note(f"ratings: {chosen.path}, by its values; its name does not say so (--columns score=FIELD)")
        if chosen is None:
            numbers = [one.path for one in ratings if len(one.kinds) > 2][:5]
            also = f"; fields with numbers: {', '.join(numbers)} (--columns score=FIELD)" if numbers else ""
            it.note("ratings: with the messages" if in_messages else f"ratings: none were found{also}")
            it.scales["score"] = find_scale_of(in_messages) if in_messages else None
            return
        together = [value for _, rating in it.recognised.wide.values() for value in it.fields[rating].values]
        scale = find_scale_of(together) if together else chosen.scale
        refuse_mixed_ends(chosen.values, chosen.path)
        is_of_conversation = not {"score", "satisfaction"} & it.named and share_differing(it, chosen, SEVERAL) == 0
        column = "satisfaction" if is_of_conversation else "score"
        it.taken[column], it.scales[column] = chosen.path, scale
        others = [path for path in choice.also if path != chosen.path]
        say_cells(it, chosen, column)
        what = "the same in all turns, so it rates the conversation" if is_of_conversation else "the score"
        if others or is_of_conversation:
            also = f"; also there: {', '.join(others[:5])}" if others else ""
            it.note(f"ratings: {chosen.path} is {what}{also} (--columns score=FIELD)")
        talk = it.get("messages")
        rows = len(talk.values) if talk is not None and talk.is_conversation else math.inf
        if column == "score" and sum(message["role"] == "assistant" for message in talks) > rows:
            whole = f"--columns satisfaction={chosen.path} where it rates the whole"
            it.note(f"ratings: {chosen.path} rates the last reply of each conversation ({whole})")
    if (spelled := spell_scale(it.scales[column])) not in ("", "1-5"):
        it.note(f"scale: {spelled.replace('-1-1', '−1 to 1')}, as these ratings are (--scale says otherwise)")


def say_cells(it: Search, chosen: Field, column: str) -> None:
    """Say which cells hold no rating, and which end of the scale is the best where that is not the highest."""
    values = [value for _, own in it.flat if (value := own.get(chosen.path)) is not None]
    codes = it.recognised.codes[column] = find_codes(values)
    empty = Counter(str(value) for value in values if is_missing(value) or number_of(value) in codes)
    if empty:
        cells = ", ".join(f"{cell!r} ({times:,})" for cell, times in empty.most_common(5))
        it.note(f"ratings: {empty.total():,} cells of {chosen.path} hold none: {cells}")
    if column not in it.recognised.asked_scales and is_best_low(chosen, it.scales[column]):
        it.recognised.turned.add(column)
        it.note(f"scale: in {chosen.path} the lowest number is the best, so ratings are turned round")


def is_best_low(one: Field, scale: str | None) -> bool:
    """Return whether the lowest number of a rating is the best; DataError where it may be, and nothing says which end is."""
    turned = is_turned(one.path, [*one.kinds], scale or "1-5")
    low, high = split_scale(scale)
    if turned and high < 5 and find_named_scale(one.path, [one.path]) is None:
        wrong = f"has nothing above {high:g}, of which {low:g} is the best, and nothing says where its scale ends"
        raise DataError(Problem(one.path, wrong), "Say so: --scale 5-1, where 5 is the worst.")
    if turned is None and (scale == "1-2" or one.name in _GRADES or {*WORDS["against"]["words"]} & {*one.words}):
        raise DataError(
            Problem(one.path, f"is on {scale}, and nothing says which end is the best"),
            f"Say which: --scale {spell_scale(scale)}, or --scale {turn_scale(scale)} where the lowest number is the best.",
        )
    return bool(turned)


def _is_annotators(path: str) -> bool:
    """Return whether a name says that ratings are an annotator's, and not only that there are several of them."""
    return bool({*words_of(path)} & {*WORDS["people"]["words"], "ratings", "scores"})


def find_unnamed(it: Search, ratings: list[Field]) -> Field | None:
    """Return the one field that may hold ratings; ask where several may, or all, of an annotator each."""
    paths = find_unnamed_ratings([one for one in ratings if not is_of_something_else(one)])
    if len(paths) > 1:
        raise Ambiguous("score", [*paths, "+".join(paths)], it.name)
    return it.fields[paths[0]] if paths else None
