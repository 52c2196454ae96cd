"""What the columns of anybody's file are: by their names, types and values, said before anything is stored.

    found = recognise(records, "ratings.csv")    # records as `read_records` gives them
    found.taken         # our column → their field
    found.notes         # what was assumed: the scale, who rated, what a conversation is
    found.rows          # rows under our names, with their places, as a table of one's own has them

A field that is named on request (`columns`) is taken as said, and the rest follows. Where two fields fit equally well, `Ambiguous` asks
which; which end of a scale is the best is asked where nothing says it. What was assumed is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from perslib.corpus.any_file.fields import Field, pivot_dimensions, unfold_numbered
from perslib.corpus.any_file.find_dialogue import find_dialogue, leave_opening
from perslib.corpus.any_file.find_score import find_score, find_user
from perslib.corpus.any_file.ratings import is_missing
from perslib.corpus.any_file.recognised_rows import EVERYBODY, Recognised, make_rows
from perslib.corpus.any_file.search import Search
from perslib.corpus.any_file.shapes import REPLY, flatten_record, keep_mixed_as_texts, take_quotes_off
from perslib.errors import DataError, Problem

#: Rows by which columns are told.
LOOKED_AT = 2_000
#: Columns that a file may have beside what was asked, replied and rated.
OTHERS = ("scenario", "assistant", "asked_at", "task", "satisfaction")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


def recognise(
    records: Sequence[tuple[str, Any, Any]],
    name: str,
    columns: Mapping[str, str] | None = None,
    asked_scales: Collection[str] = (),
) -> Recognised:
    """Return what records are taken for; DataError where no reply, or nothing that was asked, can be found in them."""
    flat = [
        (place, own) for place, record, _ in records if isinstance(record, Mapping) for own in flatten_record(record)
    ]
    flat, unfolded = unfold_numbered(flat)
    flat, pivoted = pivot_dimensions(flat)
    values: dict[str, list[Any]] = {}
    for _, own in flat[:LOOKED_AT]:
        for path, value in own.items():
            values.setdefault(path, []).append(value)
    keep_mixed_as_texts(flat, values)
    take_quotes_off(flat, values)
    fields = {path: Field(path, own, min(len(flat), LOOKED_AT)) for path, own in values.items() if path != REPLY}
    columns = dict(columns or {})
    if not fields:
        bad = [value for _, value, _ in records if isinstance(value, Problem)]
        raise DataError(bad or Problem(name, "holds no records with fields"))
    if unknown := [
        path for own in columns.values() for path in ([own] if own in fields else own.split("+")) if path not in fields
    ]:
        raise DataError(Problem(name, f"has no field {', '.join(unknown)}"), f"Found: {', '.join(fields)}")
    recognised = Recognised(columns, asked_scales=frozenset(asked_scales))
    search = Search(fields, flat, name, recognised, frozenset(columns))
    find_dialogue(search)
    find_user(search)
    search.find("session")
    search.find("turn")
    find_score(search)
    for column in OTHERS:
        search.find(column)
    leave_opening(search)
    take_last_messages(search)
    settle(search)
    drop_empty_rows(search)
    settle_other_cells(search)
    recognised.notes[:0] = [*unfolded, *pivoted]
    recognised.rows = make_rows(search.flat, recognised)
    read = [row for _, row in recognised.rows[:200] if row]
    texts = [str(row.get("response") or row.get("response_a") or row.get("messages")) for row in read]
    chinese = sum(len(_CHINESE.findall(text)) for text in texts)
    recognised.language = "zh" if chinese * 5 > sum(map(len, texts)) else "en"
    recognised.rows += [(place, None) for place, record, _ in records if not isinstance(record, Mapping)]
    return recognised


def take_last_messages(it: Search) -> None:
    """Take the last message as the request where rows of one session hold what came before it, each with its reply, as traces do."""
    talk, session = it.get("messages"), it.get("session")
    if talk is None or session is None or "response" not in it.taken or not talk.is_conversation:
        return
    asked: dict[str, set[str]] = {}
    rows = [
        (str(own[session.path]), own[talk.path].messages)
        for _, own in it.flat
        if talk.path in own and session.path in own
    ]
    for key, messages in rows:
        asked.setdefault(key, set()).add(messages[-1]["content"])
    if len(asked) < len(rows) and all(
        messages[-1]["role"] == "user" and {m["content"] for m in messages if m["role"] == "user"} <= asked[key]
        for key, messages in rows
    ):
        it.taken["request"] = it.taken.pop("messages")
        it.note(f"request: the last message of {talk.path}; those before it are rows of the same {session.path}")


def drop_empty_rows(it: Search) -> None:
    """Leave out and count rows without any text, such as those of who took part."""
    texts = [path for column in ("request", "response", "messages") if (path := it.taken.get(column)) in it.fields]
    if it.recognised.wide or it.recognised.role or not texts or "preferred" in it.taken:
        return
    empty = [place for place, own in it.flat if not any(own.get(path) for path in texts)]
    if 0 < len(empty) < len(it.flat) / 2:
        it.flat = [row for row in it.flat if any(row[1].get(path) for path in texts)]
        it.note(
            f"rows: {len(empty):,} of {len(empty) + len(it.flat):,} hold no request and no reply, and are left out; the first: {empty[0]}"
        )


def settle_other_cells(it: Search) -> None:
    """Take cells without a value out of further columns of numbers, and make texts of those that hold both, which one kind of column holds."""
    ours = {*it.taken.values(), *it.recognised.people, *(path for pair in it.recognised.wide.values() for path in pair)}
    texts = []
    for path, field in it.fields.items():
        if path in ours or field.is_conversation:
            continue
        are_texts = {isinstance(own[path], str) for _, own in it.flat if path in own}
        if len(are_texts) < 2:
            continue
        odd = {str(own[path]) for _, own in it.flat if isinstance(own.get(path), str)}
        is_empty = all(map(is_missing, odd))
        texts += [] if is_empty else [path]
        for _, own in it.flat:
            if path in own and (not is_empty or isinstance(own[path], str)):
                own[path] = None if is_empty else str(own[path])
    if texts:
        it.note(f"kept as texts, since they hold numbers and words: {', '.join(texts)}")


def settle(it: Search) -> None:
    """Say whose rows are where no field says it, and what a conversation is."""
    taken = it.taken
    talk = it.get("messages")
    if "user" not in taken and talk is not None and talk.is_conversation and any(v.user for v in talk.values):
        taken["user"] = f"(in {talk.path})"
        it.note(f"users: those who wrote in {talk.path}")
    if "user" not in taken:
        taken["user"] = f"({EVERYBODY})"
        it.note(f"users: no field says whose a reply is; all are of one user, {EVERYBODY!r} (--columns user=FIELD)")
    session = it.get("session")
    if session is not None and len(session.kinds) == 1 < session.rows / 10:
        it.note(f"conversations: {session.path} is the same everywhere, so it is none")
        del taken["session"]
        session = None
    if session is not None and "messages" in taken and not it.recognised.role:
        who, where = taken.get("user", ""), session.path
        keys = [(own.get(who), own[where]) for _, own in it.flat if where in own]
        if len({*keys}) < len(keys):
            it.note(
                f"conversations: each row is one, and {where} is of several, so it is none (--columns session={where})"
            )
            del taken["session"]
            session = None
    is_alone = session is None or (len(session.kinds) == len(session.values) and not it.recognised.role)
    if is_alone:
        taken.pop("turn", None)  # of how many, not which
    if session is not None:
        it.note("conversations: " + ("each row is one" if is_alone else f"rows of one {session.path}, in their order"))
    elif it.recognised.role:
        raise DataError(
            Problem(it.name, "has a message a row, and no field says which conversation it is of"),
            "Name it: --columns session=FIELD",
        )
    else:
        it.note("conversations: each row is one")
