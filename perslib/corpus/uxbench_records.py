"""One record of a raw interaction log as a session; what is odd is survived and named, what is broken says why.

    {"cid": …, "history": [{"turn_index", "role", "message" or "content", "create_time", "is_unliked", "is_liked"}, …]}

`history` may be a JSON string that holds the list; a flag a number, a text or a boolean (UXBench's log format).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perslib.corpus.uxbench_messages import NOTHING, Message, Session
from perslib.corpus.uxbench_payload import plain
from perslib.corpus.uxbench_times import seconds, truth

ROLES = {"user": "user", "assistant": "assistant", "human": "user", "ai": "assistant", "bot": "assistant"}


class Unreadable(ValueError):
    """Why a record is no session: a short reason that can be counted."""


def session(record: Any, *, raw: bool = False, name: str = "") -> Session:
    """A session from a record; `raw` keeps the payload of a reply in `extra["raw_message"]`."""
    if not isinstance(record, Mapping):
        raise Unreadable("not an object")
    notes: list[str] = []
    history = listed(record.get("history", record.get("messages")))
    cid = record.get("cid")
    if cid is None or cid == "":
        notes.append("no cid")
        cid = name
    messages: list[Message] = []
    ordered, last = True, -1
    for item in history:
        if not isinstance(item, Mapping):
            notes.append("message that is not an object")
            continue
        place = item.get("turn_index")
        if type(place) is not int or place <= last:
            ordered = False
        else:
            last = place
        messages.append(message(item, len(messages), notes, raw))
    if not messages:
        raise Unreadable("no message")
    if not ordered:
        messages = _reindexed(history, messages, notes)
    meta = {k: v for k, v in record.items() if k not in ("cid", "history", "messages")}
    return Session(str(cid), tuple(messages), meta or NOTHING, tuple(notes))


def listed(history: Any) -> list[Any]:
    """The list of messages, which may come as a JSON string."""
    if isinstance(history, str):
        try:
            history = json.loads(history)
        except (ValueError, RecursionError):
            raise Unreadable("history is a text that holds no JSON") from None
    if history is None:
        raise Unreadable("no history")
    if not isinstance(history, list | tuple):
        raise Unreadable("history is not a list")
    return list(history)


def message(item: Mapping[str, Any], idx: int, notes: list[str], raw: bool = False) -> Message:
    """One message; a text under `message` or `content`, whichever is not empty."""
    get = item.get
    text = get("message") or get("content") or ""
    if type(text) is not str:
        notes.append("text that is not a string")
        text = json.dumps(text, ensure_ascii=False, default=str)
    role = get("role")
    if role != "user" and role != "assistant":
        role = ROLES.get(role.lower(), role) if isinstance(role, str) else "unknown"
        if role not in ("user", "assistant"):
            notes.append("unknown role")
    time = get("create_time")
    t = None if time is None else seconds(time)
    if t is None and time is not None:
        notes.append("unreadable time")
    feedback, extra = 0, NOTHING
    if role == "assistant":
        feedback = button(item)
        if feedback < 0 and truth(get("is_liked")):
            extra = {"both": True}
        if text[:1] == "{" or "[](@" in text:
            was, text = text, plain(text)
            extra = {**extra, "raw_message": was} if raw else extra
    return Message(idx, role, text, t, feedback, len(text), extra)


def button(item: Mapping[str, Any]) -> int:
    """-1 for a thumb down, 1 for a thumb up, 0 for neither; both on one reply count as down."""
    get = item.get
    if get("is_unliked") and truth(get("is_unliked")):
        return -1
    feedback = get("feedback")
    if feedback in (-1, "-1", "dislike"):
        return -1
    liked = truth(get("is_liked")) or truth(get("liked")) or feedback in (1, "1", "like")
    return 1 if liked else 0


def _reindexed(history: list[Any], messages: list[Message], notes: list[str]) -> list[Message]:
    """Messages in the order of `turn_index` where all of them have one of their own, else as they stand."""
    given = [item.get("turn_index") for item in history if isinstance(item, Mapping)]
    places = [p for p in given if type(p) is int]
    if len(places) == len(given) == len(set(places)):
        notes.append("messages out of order")
        order = sorted(range(len(places)), key=places.__getitem__)
        return [messages[i]._replace(idx=new) for new, i in enumerate(order)]
    if any(p is not None for p in given):
        notes.append("turn_index missing or duplicated")
    return messages
