"""One record of a raw interaction log as a session; what is odd is survived and named, what is broken says why.

    {"cid": …, "history": [{"turn_index", "role", "message" or "content", "create_time", "is_unliked", "is_liked"}, …]}

`history` may be a JSON string that holds the list; a flag a number, a text or a boolean (UXBench's log format). A reply
of a search product may be a JSON object with `content`, a list of typed items, and `marks`. Text items are joined; where
there are none, the texts of the marks or of the object itself are taken; a reply of pictures only becomes a placeholder.

Messages and sessions are named tuples rather than frozen dataclasses: equally unchangeable, and made in a third of the
time, which is what reading a log mostly consists of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Message(NamedTuple):
    """One utterance; `n_chars` is its length before anything was replaced in it."""

    idx: int
    role: str
    text: str
    t: float | None = None
    feedback: int = 0
    n_chars: int = 0
    extra: Mapping[str, Any] = NOTHING


class Session(NamedTuple):
    """One dialogue; `notes` names what was odd in its record and survived."""

    cid: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = NOTHING
    notes: tuple[str, ...] = ()


PICTURE = "[image]"
_MARKER = re.compile(r"\[\]\(@[^()\s=]{1,80}=[^()]{0,400}\)")
_PICTURES = {"image", "imageGuid"}
_SEARCHES = {"searchGuid"}
_KEYS = ("traceID", "content", "marks")


def plain(text: str) -> str:
    """The text of a reply: a payload's text, and any other text without inline markers."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            text = _said(value)
    return _MARKER.sub("", text) if "[](@" in text else text


def _said(payload: dict[str, Any]) -> str:
    content = payload.get("content")
    if isinstance(content, str) and content.strip():
        return content
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    found = [text for item in items for text in _texts(item)]
    if not found:
        marks = payload.get("marks")
        marks = [m for m in marks if isinstance(m, dict)] if isinstance(marks, list) else []
        found = [m["content"] for m in marks if isinstance(m.get("content"), str) and m["content"].strip()]
    if not found:
        found = [payload[k] for k in ("text", "msg") if isinstance(payload.get(k), str) and payload[k]][:1]
    if not found and any(item.get("type") in _PICTURES for item in items):
        return PICTURE
    return "\n".join(found)


def _texts(item: dict[str, Any]) -> Iterator[str]:
    kind = item.get("type")
    if kind in _PICTURES or kind in _SEARCHES:
        return  # what a picture or a search was asked for is not what the user read
    inner = item.get("contents")
    for part in [item, *(inner if isinstance(inner, list) else [])]:
        if isinstance(part, dict):
            text = next((part[k] for k in ("msg", "content") if isinstance(part.get(k), str)), "")
            if text.strip():
                yield text


_EPOCH = datetime(1970, 1, 1)
_MILLISECONDS_FROM = 1e11  # seconds would be the year 5138, milliseconds are 1973
_YES = {"1", "true", "yes", "y", "t"}


def seconds(value: Any) -> float | None:
    """Seconds since 1970 of `2026-01-31 08:00:00`, ISO 8601 with or without zone, or epoch s/ms; None if unreadable.

    A time without a zone counts as if it were UTC: only differences within a session are used.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return _loose(value)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _epoch(value)
    else:
        return None
    try:
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - _EPOCH).total_seconds()
    except (OverflowError, ValueError):
        return None  # a zone that leads out of the calendar; a missing time that is typed as one


def _loose(text: str) -> float | None:
    text = text.strip().replace("/", "-")
    try:
        return _epoch(float(text))
    except ValueError:
        pass
    try:
        return seconds(datetime.fromisoformat(text))
    except ValueError:
        return None


def _epoch(number: float) -> float | None:
    if not 0 < number < 1e300:
        return None  # of hundreds of digits, infinite, or no number
    return float(number) / 1000 if number > _MILLISECONDS_FROM else float(number)


def truth(value: Any) -> bool:
    """Whether a flag is set, written as a number, a text or a boolean; what says nothing is not set."""
    if isinstance(value, str):
        return value.strip().lower() in _YES
    return value in (True, 1)


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
