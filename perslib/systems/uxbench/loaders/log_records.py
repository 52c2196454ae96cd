"""A raw interaction log: its records as sessions (`perslib.systems.uxbench.loaders.logs` reads files of them).

Irregularities in a record are noted, and the record is read; a broken record is refused with the reason.

    {"cid": …, "history": [{"turn_index", "role", "message" or "content", "create_time", "is_unliked", "is_liked"}, …]}

`history` may be a JSON string with the list; a flag may be a number, a text or a boolean (UXBench's log format). A
reply of a search product may be a JSON object with `content`, a list of typed items, and `marks`. Text items are
joined. Without text items, the texts of the marks or of the object itself are taken. A reply of pictures only becomes a
placeholder.

Messages and sessions are named tuples rather than frozen dataclasses: equally immutable, and made in a third of the
time, which is most of the time of reading a log.

Common other names of fields are known (`NAMES`). Content may come in parts, as in chat APIs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from perslib.corpus.files.reading import truth
from perslib.corpus.files.times import parse_seconds
from perslib.paths import read_toml

_LOG = read_toml(__file__, "names.toml")["log"]
#: Other names of fields, tried where the first is not there.
NAMES: dict[str, list[str]] = _LOG["fields"]
#: Who speaks, by the names that logs give them.
ROLES = {name: role for role, names in _LOG["roles"].items() for name in names}
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Message(NamedTuple):
    """A message; `n_chars` is its length before any replacement; `is_both`: liked and disliked."""

    idx: int
    role: str
    text: str
    t: float | None = None
    feedback: int = 0
    n_chars: int = 0
    is_both: bool = False


class LogSession(NamedTuple):
    """A dialogue; `notes` names the irregularities of its record."""

    cid: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = NOTHING
    notes: tuple[str, ...] = ()


PICTURE = "[image]"
_MARKER = re.compile(r"\[\]\(@[^()\s=]{1,80}=[^()]{0,400}\)")
_PICTURES = {"image", "imageGuid"}
_SEARCHES = {"searchGuid"}
_KEYS = ("traceID", "content", "marks")


def extract_reply_text(text: str) -> str:
    """Return the text of a reply: the text of a payload, or any other text without inline markers."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and any(key in value for key in _KEYS):
            text = _read_content(value)
    return _MARKER.sub("", text) if "[](@" in text else text


def _read_content(payload: dict[str, Any]) -> str:
    content = payload.get("content")
    if isinstance(content, str) and content.strip():
        return content
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    texts = [text for item in items for text in _texts(item)]
    if not texts:
        marks = payload.get("marks")
        marks = [m for m in marks if isinstance(m, dict)] if isinstance(marks, list) else []
        texts = [m["content"] for m in marks if isinstance(m.get("content"), str) and m["content"].strip()]
    if not texts:
        texts = [payload[k] for k in ("text", "msg") if isinstance(payload.get(k), str) and payload[k]][:1]
    if not texts and any(item.get("type") in _PICTURES for item in items):
        return PICTURE
    return "\n".join(texts)


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


class UnreadableRecord(ValueError):
    """The reason why a record is not a session, short enough to be counted."""


def session(record: Any, *, name: str = "") -> LogSession:
    """Return the session of a record; raise UnreadableRecord if the record is not one."""
    if not isinstance(record, Mapping):
        raise record if isinstance(record, UnreadableRecord) else UnreadableRecord("not an object")
    notes: list[str] = []
    history = read_message_list(get_field(record, "history"))
    cid = get_field(record, "cid")
    if cid is None or cid == "" or isinstance(cid, list | dict):
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
        messages.append(message(item, len(messages), notes))
    if not messages:
        raise UnreadableRecord("no message")
    if not ordered:
        messages = _sort_by_index(history, messages, notes)
    meta = {k: v for k, v in record.items() if k not in ("cid", "history", "messages")}
    return LogSession(str(cid), tuple(messages), meta or NOTHING, tuple(notes))


def get_field(record: Mapping[str, Any], field: str) -> Any:
    """Return the value of a record under a field's name, or under another common name."""
    value = record.get(field)
    if value is None:
        value = next((record[name] for name in NAMES[field] if record.get(name) is not None), None)
    return value


def _join_parts(parts: list[Any]) -> str | None:
    """Return the text of content in parts; None for other content."""
    if not all(isinstance(part, str | Mapping) for part in parts):
        return None
    texts = [part if isinstance(part, str) else part.get("text", "") for part in parts]
    joined = "\n".join(text for text in texts if isinstance(text, str) and text)
    return joined or (
        PICTURE if any("image" in str(part.get("type")) for part in parts if isinstance(part, Mapping)) else None
    )


def read_message_list(history: Any) -> list[Any]:
    """Return the list of messages, which may be a JSON string; raise UnreadableRecord if it is neither."""
    if isinstance(history, str):
        try:
            history = json.loads(history)
        except (ValueError, RecursionError):
            raise UnreadableRecord("history is a text that holds no JSON") from None
    if history is None:
        raise UnreadableRecord("no history")
    if not isinstance(history, list | tuple):
        raise UnreadableRecord("history is not a list")
    return list(history)


def message(item: Mapping[str, Any], idx: int, notes: list[str]) -> Message:
    """Return one message; its text is under `message` or `content`, whichever is not empty."""
    get = item.get
    text = get("message") or get("content") or get_field(item, "message") or ""
    if type(text) is list:
        text = _join_parts(text) or text
    if type(text) is not str:
        notes.append("text that is not a string")
        text = json.dumps(text, ensure_ascii=False, default=str)
    role = get("role") or get_field(item, "role")
    if role != "user" and role != "assistant":
        role = ROLES.get(role.lower(), role) if isinstance(role, str) else "unknown"
        if role not in ("user", "assistant"):
            notes.append("unknown role")
    time = get_field(item, "create_time")
    time = None if time == "" else time
    t = None if time is None else parse_seconds(time)
    if t is None and time is not None:
        notes.append("unreadable time")
    feedback, is_both = 0, False
    if role == "assistant":
        feedback = read_feedback(item)
        is_both = feedback < 0 and truth(get("is_liked"))
        if text[:1] == "{" or "[](@" in text:
            text = extract_reply_text(text)
    return Message(idx, role, text, t, feedback, len(text), is_both)


def read_feedback(item: Mapping[str, Any]) -> int:
    """Return -1 for a dislike, 1 for a like, 0 for neither; both on one reply count as a dislike."""
    get = item.get
    if get("is_unliked") and truth(get("is_unliked")):
        return -1
    feedback = get_field(item, "feedback")
    if isinstance(feedback, str):
        feedback = feedback.strip().lower()
    if feedback in _LOG["down"]:
        return -1
    liked = truth(get("is_liked")) or truth(get("liked")) or feedback in _LOG["up"]
    return 1 if liked else 0


def _sort_by_index(history: list[Any], messages: list[Message], notes: list[str]) -> list[Message]:
    """Return messages in the order of `turn_index` if each has its own index, otherwise as they stand."""
    given = [item.get("turn_index") for item in history if isinstance(item, Mapping)]
    places = [p for p in given if type(p) is int]
    if len(places) == len(given) == len(set(places)):
        notes.append("messages out of order")
        order = sorted(range(len(places)), key=places.__getitem__)
        return [messages[i]._replace(idx=new) for new, i in enumerate(order)]
    if any(p is not None for p in given):
        notes.append("turn_index missing or duplicated")
    return messages
