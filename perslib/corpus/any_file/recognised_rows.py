"""Rows under our names from flat records, once it is known what their fields are.

found = Recognised(taken={"user": "who", "request": "prompt", "response": "reply", "score": "stars"})
rows = make_rows(flat, found)       # place and row of each reply, or of each conversation
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.any_file.ratings import number_of, read_rating
from perslib.corpus.any_file.shapes import REPLY, WORDS, Conversation, Flat, Several

Row = tuple[str, dict[str, Any] | None]
#: The user of rows of which nobody is named.
EVERYBODY = "everybody"
#: The first of a pair is the better one.
CHOSEN = "(chosen)"
#: In a flat record: the system whose reply it is, of several in columns; the column of the person who rated, of several.
_SYSTEM, _PERSON = "(system)", "(person)"
_OURS = {"user", "request", "response", "messages", "session", "scenario", "turn", "score", "satisfaction", "candidate", "role"}  # fmt: skip


@dataclass
class Recognised:
    """What a file was taken for."""

    taken: dict[str, str]
    """Our column → their field, or in brackets what stands for one."""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scales: dict[str, str | None] = field(default_factory=dict)
    """By score and satisfaction, the scale of the ratings."""
    codes: dict[str, set[float]] = field(default_factory=dict)
    """By score and satisfaction, the numbers that stand for no answer."""
    turned: set[str] = field(default_factory=set)
    """Those of score and satisfaction whose lowest number is the best."""
    asked_scales: frozenset[str] = frozenset()
    """Those of score and satisfaction whose scale the user said."""
    language: str = "en"
    people: tuple[str, ...] = ()
    """Columns with the ratings of a person each."""
    wide: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By system, the columns of its replies and of their ratings."""
    role: str | None = None
    """Of a table of a message a row, the field that says who wrote it."""
    roles: dict[str, str | None] = field(default_factory=dict)
    is_signed: bool = False
    """Whether numbers below 0 prefer the first of a pair, and above 0 the second."""


def make_rows(flat: Sequence[tuple[str, Flat]], recognised: Recognised) -> list[Row]:
    """Return the rows of flat records, with their places: a row for each reply and rating, or for each conversation."""
    rows = [(place, _make_row(own, recognised)) for place, own in _spread(flat, recognised)]
    return _join_messages(rows, recognised) if recognised.role else [*rows]


def _spread(flat: Sequence[tuple[str, Flat]], recognised: Recognised) -> Iterator[tuple[str, Flat]]:
    """Yield the flat records, those of several annotators or systems in columns once for each."""
    response, score = recognised.taken.get("response", ""), recognised.taken.get("score", "")
    for place, own in flat:
        yield from ((place, {**own, _PERSON: path}) for path in recognised.people if path in own or recognised.role)
        for i, (system, (reply, rating)) in enumerate(recognised.wide.items()):
            if reply in own:
                yield place, {**own, response: own[reply], score: own.get(rating), REPLY: i, _SYSTEM: system}
        if not recognised.people and not recognised.wide:
            yield place, own


def _make_row(own: Flat, recognised: Recognised) -> dict[str, Any]:
    row: dict[str, Any] = {column: own[path] for column, path in recognised.taken.items() if path in own}
    if recognised.people:
        row |= {"user": own[_PERSON], "score": own.get(own[_PERSON])}
    if isinstance(talk := row.get("messages"), Conversation) and "user" not in row:
        row["user"] = talk.user
    row["user"] = str(row["user"]) if row.get("user") not in (None, "") else EVERYBODY
    row |= {column: str(row[column]) for column in ("session", "scenario", "assistant") if column in row}
    row |= {
        c: read_rating(row[c], recognised.scales.get(c), recognised.codes.get(c, ()))
        for c in ("score", "satisfaction")
        if c in row
    }
    row |= _compare(own, recognised) if "preferred" in recognised.taken else {}
    request, reply = row.get("request"), row.get("response")
    if isinstance(request, Conversation) and "preferred" not in recognised.taken:
        row["request"] = request.messages[-1]["content"]
    if isinstance(request, Several) and isinstance(reply, Several) and len(request.parts) == len(reply.parts):
        sides = (("user", request.parts), ("assistant", reply.parts))
        messages = [{"role": role, "content": parts[i]} for i in range(len(reply.parts)) for role, parts in sides]
        row |= {"messages": Conversation(tuple(messages)), "request": None, "response": None}
    row |= _converse(row, recognised) if "messages" in row and not recognised.role else {}
    row |= (
        {"role": recognised.roles[str(own[recognised.role]).lower()]}
        if recognised.role and recognised.role in own
        else {}
    )
    if REPLY in own and "response" in recognised.taken:
        row |= {"candidate": own.get(_SYSTEM) or row.get("assistant") or f"reply {own[REPLY] + 1}"}
    known = {
        *recognised.taken.values(),
        *recognised.people,
        *(path for pair in recognised.wide.values() for path in pair),
        recognised.role,
    }
    rest = {
        re.sub(r"\W+", "_", path).strip("_"): value
        for path, value in own.items()
        if path not in known | {_PERSON, _SYSTEM, REPLY} and not isinstance(value, Conversation)
    }
    others = {name: value for name, value in rest.items() if name and name not in row and name not in _OURS}
    whole = others | {name: value for name, value in row.items() if value is not None}
    return {name: str(value) if isinstance(value, Several) else value for name, value in whole.items()}


def _converse(row: dict[str, Any], recognised: Recognised) -> dict[str, Any]:
    """Return a conversation as messages, with what stands beside it and goes on with it at its end, and its rating."""
    scale = recognised.scales.get("score")
    messages = [{**m, "score": read_rating(m["score"], scale)} if "score" in m else m for m in row["messages"].messages]
    if row.get("request") and row.get("response"):
        messages.append({"role": "user", "content": str(row["request"])})
    if row.get("response"):
        messages.append({"role": "assistant", "content": str(row["response"])})
    made: dict[str, Any] = {
        "request": None,
        "response": None,
        "messages": [m for m in messages if m["role"] != "system"],
    }
    if row.get("score") is not None and messages[-1]["role"] == "assistant":
        messages[-1] |= {"score": row["score"]}
        made["score"] = None
    return made


def _compare(own: Flat, recognised: Recognised) -> dict[str, Any]:
    """Return two replies to one request and which was preferred; of two conversations, their last replies."""
    made: dict[str, Any] = {}
    if isinstance(asked := own.get(recognised.taken.get("request", "")), Conversation):
        made["request"] = asked.messages[-1]["content"]
    elif isinstance(asked, Several):
        made["request"] = asked.parts[-1]
    for side in ("response_a", "response_b"):
        if isinstance(talk := own.get(recognised.taken[side]), Conversation):
            last = {message["role"]: message["content"] for message in talk.messages}
            made |= {"request": last.get("user"), side: last.get("assistant")}
        elif isinstance(talk, Several):
            made[side] = talk.parts[-1]
    given = recognised.taken["preferred"]
    if given == CHOSEN:
        made["preferred"] = "a"
    elif given in own:
        made["preferred"] = _read_winner(own, own[given], recognised)
    else:  # "a: winner_model_a, b: winner_model_b", or one of the two
        sides = [side.split(": ", 1) for side in given.split(", ")]
        won = [side for side, path in sides if number_of(own.get(path)) == 1]
        made["preferred"] = won[0] if won else "tie" if len(sides) > 1 else "ab"[sides[0][0] == "a"]
    return made


def _read_winner(own: Flat, given: Any, recognised: Recognised) -> str:
    """Return a, b or tie: as a side, as the name of a field or model, or as a number below or above 0."""
    fields = [recognised.taken["response_a"], recognised.taken["response_b"]]
    if given in fields:
        return "ab"[fields.index(given)]
    word, *models = (
        str(value).strip().lower().replace("_", " ")
        for value in (given, *(own.get(recognised.taken.get(f"candidate_{side}", "")) for side in "ab"))
    )
    if word in models and models[0] != models[1]:
        return "ab"[models.index(word)]
    if (side := _read_one_or_two(given)) is not None:
        return side
    if recognised.is_signed and (number := number_of(given)) is not None:
        return "a" if number < 0 else "b" if number > 0 else "tie"
    return next((side for side in ("a", "b", "tie") if word in WORDS["pairs"][side]), word)


def _read_one_or_two(given: Any) -> str | None:
    """Return the side of a number from 1 (the first) to 2 (the second), as AlpacaEval writes how much one is preferred."""
    number = number_of(given)
    if isinstance(given, bool) or number is None or not 1 <= number <= 2 or str(given) in ("1", "2"):
        return None
    return "a" if number < 1.5 else "b" if number > 1.5 else "tie"


def _join_messages(rows: Sequence[tuple[str, dict[str, Any]]], recognised: Recognised) -> list[Row]:
    """Return a row a conversation from rows of a message; a rating is of the reply that it stands with or follows."""
    joined: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
    asks = [row for _, row in rows if row.get("role") == "user" and row["user"] != EVERYBODY]
    users = {} if recognised.people else {row.get("session", ""): row["user"] for row in asks}
    for place, row in rows:
        session = row.get("session", "")
        key = (users.get(session, row["user"]), session)
        if key not in joined:
            shared = {name: v for name, v in row.items() if name not in ("messages", "role", "score", "turn")}
            joined[key] = (place, {**shared, "user": key[0], "messages": []})
        messages = joined[key][1]["messages"]
        if (role := row.get("role", "user")) != "system":
            messages.append({"role": role, "content": str(row.get("messages", ""))})
        replies = [message for message in messages if message["role"] == "assistant"]
        if row.get("score") is not None and replies:
            replies[-1]["score"] = row["score"]
    return [*joined.values()]
