"""Rows of a table as a corpus: scales and times are detected, rows of one conversation are joined, and all are checked.

A row has the columns of your own tables (`perslib.corpus.loaders.table`), whatever file it comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from perslib.corpus import several_replies as several
from perslib.corpus.files.reading import ImportResult, Rejected, find_scale, number_in, parse_json
from perslib.corpus.files.records import Lines, read_each
from perslib.corpus.files.times import is_time, read_times
from perslib.corpus.loaders.conversations import Key, Placed, Row, group_rows, say_alone, split_conversations
from perslib.corpus.loaders.form import Form
from perslib.corpus.scale import FIVE, Scale
from perslib.corpus.schema import SCHEMA, SESSION, coerce
from perslib.errors import DataError, Problem
from perslib.schemas import Schema, check, find_unstorable, read_schema

#: What rates a whole session, and what else is said once for it.
RATINGS = ("satisfaction", "success")
TIMES = ("asked_at", "answered_at")
OF_SESSION = ("task", "assistant", "trailing", *RATINGS)
#: So many conversations are not all rated in the lower half of their scale by chance.
FEW = 10
#: Of so many ratings one is the highest, where all may give it.
MANY = 20


def read_rows_of(
    lines: Lines,
    make_rows: Callable[[dict[str, Any], str], Iterable[dict[str, Any]]],
    reading: ImportResult,
    name: str,
    form: Form,
    schema: Schema,
    sessions: int = 1,
) -> ImportResult:
    """Read records of which each is a conversation; where it is no session, but a row of one, a bad one spoils it."""

    def make_fit(record: dict[str, Any], place: str) -> list[dict[str, Any]]:
        rows = [*make_rows(record, place)]
        for row in rows:
            refuse_unfit_names(row, place)
        return rows

    made = read_each(lines, reading, schema, make_fit, sessions)
    bad = [] if sessions else [None]
    return read_placed([(at, row) for at, rows in made for row in (bad if rows is None else rows)], reading, name, form)


def read_placed(placed: Placed, reading: ImportResult, name: str, form: Form) -> ImportResult:
    """Read rows with the place of each in its file; None for a row that cannot be read, and was rejected."""
    placed = list(placed)
    names = {str(row["session"]) for _, row in placed if row is not None and row.get("session") is not None}
    placed = list(split_conversations(placed, reading, names, RATINGS, form.unanswered))
    good = [(place, row) for place, row in placed if row is not None]
    rated = [row for _, row in good]
    scale = _turn_round(rated, "score", form.scale)
    reading.session_scale = _turn_round(rated, "satisfaction", reading.session_scale)
    notes = list(_find_scales(reading, rated, scale))
    times, faults = read_times(good, TIMES, reading.dates)
    reading.faults += faults
    by_session, spoiled, alone = group_rows(placed, reading, names, partial(_check, form=form))
    for key, rows in by_session.items():
        if key in spoiled:
            reading.rejected += [Rejected(p, "another row of the same session is bad", row) for p, row in rows]
        elif problems := [*several.problems_of(several.by_turn(rows)), *_differing(rows)]:
            reading.reject(problems, [row for _, row in rows], sessions=0)
            spoiled.add(key)
        else:
            reading.faults += several.unclear(rows)
    reading.faults += [fault for rows in alone for fault in several.unclear(rows)]
    reading.faults += _find_mixed_columns((row for rows in by_session.values() for row in rows), form)
    reading.lost += len(spoiled)
    replies = _fill(reading, {key: rows for key, rows in by_session.items() if key not in spoiled}, form)
    extras = {"candidates": coerce(pd.DataFrame(replies), "candidates")} if replies else {}
    remarks = [*(f"times: {note}" for note in times), *say_alone(alone), *notes]
    meta = {"kind": form.kind} | ({"said": remarks} if remarks else {})
    meta |= {"scenarios": list(form.scenarios)} if form.scenarios else {}
    nothing = Problem(name, form.nothing)
    return reading.finish(meta, name, form.language, nothing, form.remedy, extras=extras)


def _turn_round(rows: list[dict[str, Any]], column: str, scale: Scale | None) -> Scale | None:
    """Turn ratings round where the lowest number is the best, and return their scale, from worst to best."""
    if scale is None or not scale.is_turned:
        return scale
    for row in rows:
        if (number := number_in(row.get(column))) is not None:
            row[column] = scale.low + scale.high - number
    return replace(scale, is_turned=False)


def _find_scales(reading: ImportResult, rows: list[dict[str, Any]], declared: Scale | None) -> Iterator[str]:
    """Find the scale of replies and that of conversations, and say where they are two, or may be."""
    given = {c: [number_in(row[c]) for row in rows if row.get(c) is not None] for c in ("score", "satisfaction")}
    scores, ratings = ([number for number in given[c] if number is not None] for c in given)
    if not scores:
        declared, reading.session_scale = declared or reading.session_scale, None
    reading.scale = scale = find_scale(declared, rows, list(given))
    if (
        declared is None
        and (scale.low, scale.high) == (FIVE.low, FIVE.high)
        and len(scores) >= MANY
        and max(scores) < FIVE.high
    ):
        yield f"scale: taken as {FIVE}, and nobody gave more than {max(scores):g} (--scale 1-{max(scores):g} where that is its end)"
    own = find_scale(reading.session_scale, rows, ["satisfaction"], scale)
    middle = (scale.low + scale.high) / 2
    if (own.low, own.high) != (scale.low, scale.high):
        reading.session_scale = own
        yield f"scales: conversations were rated on {own}, replies on {scale}; each is mapped to 1–5 by itself"
    elif reading.session_scale is None and len(ratings) >= FEW and max(ratings) <= middle < max(scores, default=middle):
        yield (
            f"scales: no conversation was rated above {max(ratings):g}, but replies on {scale}; taken as one scale. "
            "If conversations have one of their own: --session-scale LOW-HIGH"
        )


def refuse_unfit_names(row: dict[str, Any], place: str) -> None:
    """Raise an error where a row is of no session that can be named."""
    if problems := list(find_unstorable({c: row.get(c) for c in SESSION}, place)):
        raise DataError(problems)


def _check(row: dict[str, Any], place: str, reading: ImportResult, form: Form) -> list[Problem]:
    """Return the problems of a row; convert its ratings and profile."""
    if problems := [value for value in row.values() if isinstance(value, Problem)]:
        return [form.explain(problem) for problem in problems]
    profile = row.get("profile")
    if isinstance(profile, str) and not any(find_unstorable(profile, place)):
        row["profile"] = parse_json(profile.encode(), f"{place} profile")
        if isinstance(row["profile"], Problem):
            return [row["profile"]]
    problems = check(row, _SCHEMA, place)
    for column in ("score", "satisfaction", *form.ratings):
        if row.get(column) is not None and not any(find_unstorable(row[column], place)):
            row[column] = reading.score(row[column], column, place, whole=False)
            problems += [row[column]] if isinstance(row[column], Problem) else []
    for column in ("success", "chosen"):
        if row.get(column) is not None:
            row[column] = str(row[column]).lower() in ("true", "1")
    return [form.explain(problem) for problem in problems]


_SCHEMA = read_schema(__file__, "records.schema.toml", "table", moment=is_time)


def _differing(rows: list[Row]) -> list[Problem]:
    """Return problems where rows of one session give it different ratings as a whole."""
    problems = []
    for column in RATINGS:
        (at, first), *others = [(p, r[column]) for p, r in rows if r.get(column) is not None] or [("", None)]
        problems += [
            Problem(
                place,
                f"{column} is {value}, but {first} at {at}; it is of the whole session (ratings of replies: score)",
            )
            for place, value in others
            if value != first
        ]
    return problems


def _find_mixed_columns(rows: Iterator[Row], form: Form) -> Iterator[Problem]:
    """Yield problems of further columns whose cells are of several kinds, which a file of columns cannot hold."""
    known = {*SCHEMA["turns"], *OF_SESSION, *form.of_session, "profile"}
    kinds: dict[str, tuple[str, str]] = {}
    for place, row in rows:
        for column, value in row.items():
            if column in known or value is None:
                continue
            kind = _KINDS.get(type(value), "an object")
            first, at = kinds.setdefault(column, (kind, place))
            if kind != first:
                kinds[column] = kind, place
                yield Problem(place, f"{column} is {kind}, but {first} at {at}; give the column one kind of value")


_KINDS = {str: "a text", int: "a number", float: "a number", bool: "true or false", list: "a list"}


def _fill(reading: ImportResult, by_session: dict[Key, list[Row]], form: Form) -> list[dict[str, Any]]:
    """Fill in the users' profiles, the sessions and the turns; return the replies of turns with several replies."""
    replies: list[dict[str, Any]] = []
    of_session = (*OF_SESSION, *form.of_session)
    counts: Counter[tuple[str, ...]] = Counter()
    for position, (key, rows) in enumerate(by_session.items()):
        where = dict(zip(SESSION, key))
        if form.order == "user":
            where["session"], position = str(counts[key[:2]]), counts[key[:1]]
            counts.update([key[:2], key[:1]])
        turns = several.by_turn(row for row in rows if not row[1].get("is_unanswered"))
        if rows[0][1].get("turn") is not None:
            turns = sorted(turns, key=lambda own: int(own[0][1]["turn"]))
        first = {c: v for _, row in reversed(rows) for c, v in row.items() if c in of_session and v is not None}
        if first.get("satisfaction") is not None:
            first["satisfaction"] = float(reading.scale_of("satisfaction").to_five(first["satisfaction"]))
        for i, own in enumerate(turns):
            row = several.main_of(own)
            number = i if row.get("turn") is None else int(row["turn"])
            replies += several.candidates(where, number, own, reading.make_rating_columns)
            reading.note("equal replies to one request, rated differently", several.rated_differently(own))
            turn = {k: v for k, v in row.items() if k not in (*of_session, *several.OF_REPLY, "profile")}
            turn |= {c: None if row.get(c) is None else pd.Timestamp(row[c]) for c in TIMES}
            reading.turns.append({**turn, **reading.make_rating_columns(row.get("score")), **where, "turn": number})
            reading.profiles[key[0]] = reading.profiles.get(key[0]) or row.get("profile") or {}
            first.setdefault("assistant", row.get("candidate"))
        reading.profiles.setdefault(key[0], {})
        reading.sessions.append(
            {"trailing": (), **where, **first, "position": position if form.order != "none" else None}
        )
    return replies
