"""A raw interaction log: its records as sessions, and logs in blocks, so that none is too large.

What is odd in a record is survived and named, what is broken says why.

    {"cid": …, "history": [{"turn_index", "role", "message" or "content", "create_time", "is_unliked", "is_liked"}, …]}

`history` may be a JSON string that holds the list; a flag a number, a text or a boolean (UXBench's log format). A reply
of a search product may be a JSON object with `content`, a list of typed items, and `marks`. Text items are joined; where
there are none, the texts of the marks or of the object itself are taken; a reply of pictures only becomes a placeholder.

Messages and sessions are named tuples rather than frozen dataclasses: equally unchangeable, and made in a third of the
time, which is what reading a log mostly consists of.

JSON Lines hold a session a line; a block is a run of lines. Parquet holds a session a row, its messages in `history`,
or a message a row, consecutive rows of one `cid` being a session; a block is a run of rows that cuts no session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from perslib.corpus.reading import seconds, truth
from perslib.errors import DataError, Problem

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


ROLES = {"user": "user", "assistant": "assistant", "human": "user", "ai": "assistant", "bot": "assistant"}


class Unreadable(ValueError):
    """Why a record is no session: a short reason that can be counted."""


def session(record: Any, *, raw: bool = False, name: str = "") -> Session:
    """A session from a record; `raw` keeps the payload of a reply in `extra["raw_message"]`."""
    if not isinstance(record, Mapping):
        raise record if isinstance(record, Unreadable) else Unreadable("not an object")
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


# -- logs in blocks -----------------------------------------------------------------------------------------

AT_ONCE = 4 << 20
"""Bytes of JSON Lines, about, in a block."""
ROWS = 512
LONGEST = 64 << 20
"""Bytes; a longer line is no session, and is skipped without ever being held in memory."""
_LINES = (".jsonl", ".ndjson", ".json")
Source: TypeAlias = str | Path | pd.DataFrame


class Block(NamedTuple):
    """Whole sessions as they stand in a log; `first` is the number of its first line, or session, from 1."""

    place: str
    first: int
    data: bytes | pa.Table
    too_long: int = 0
    """The number of a line that was skipped because it is too long; such a block holds nothing else."""


def blocks(source: Source, *, size: int = AT_ONCE, rows: int = ROWS, longest: int = LONGEST) -> Iterator[Block]:
    """The blocks of a file, of a folder's files in the order of their names, or of a frame."""
    if isinstance(source, pd.DataFrame):
        yield from _of_tables(_slices(source, rows), "frame")
        return
    for file in _files(Path(source)):
        if file.suffix == ".parquet":
            yield from _of_tables(_batches(file, rows), file.name)
        else:
            yield from _of_lines(file, size, longest)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(Problem(str(path), "does not exist"), "Give a .jsonl or .parquet log, or a folder of them.")
    files = sorted(f for f in path.iterdir() if f.suffix in (*_LINES, ".parquet")) if path.is_dir() else [path]
    if not files or any(f.suffix not in (*_LINES, ".parquet") for f in files):
        raise DataError(Problem(str(path), "is no .jsonl or .parquet log, nor a folder that holds any"))
    return files


# -- lines ------------------------------------------------------------------------------------------------


def _of_lines(file: Path, size: int, longest: int) -> Iterator[Block]:
    number, rest, skipping = 1, b"", False
    with file.open("rb") as stream:
        while read := stream.read(size):
            if skipping:
                end = read.find(b"\n")
                if end < 0:
                    continue
                read, number, skipping = read[end + 1 :], number + 1, False
            read = rest + read
            end = read.rfind(b"\n") + 1
            whole, rest = read[:end], read[end:]
            if whole:
                yield Block(file.name, number, whole)
                number += whole.count(b"\n")
            if len(rest) > longest:
                yield Block(file.name, number, b"", too_long=number)
                rest, skipping = b"", True
    if rest:
        yield Block(file.name, number, rest)


# -- rows -------------------------------------------------------------------------------------------------


def _batches(file: Path, rows: int) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as parquet:
            for batch in parquet.iter_batches(batch_size=rows):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise DataError(Problem(str(file), f"is no readable Parquet file: {error}")) from error


def _slices(frame: pd.DataFrame, rows: int) -> Iterator[pa.Table]:
    for begin in range(0, len(frame), rows):
        yield pa.Table.from_pandas(frame.iloc[begin : begin + rows], preserve_index=False)


def _of_tables(tables: Iterator[pa.Table], place: str) -> Iterator[Block]:
    """The tables, each ending where a session ends."""
    number, held = 1, None
    for table in tables:
        if "history" in table.column_names or "messages" in table.column_names:
            yield Block(place, number, table)
            number += len(table)
            continue
        if "cid" not in table.column_names or "role" not in table.column_names:
            raise DataError(
                Problem(place, f"has the columns {', '.join(table.column_names)}"),
                "A log has a column `history` (a session a row) or the columns `cid` and `role` (a message a row).",
            )
        table = table if held is None else pa.concat_tables([held, table], promote_options="permissive")
        cids = table["cid"].to_pylist()
        begin = len(cids) - 1
        while begin > 0 and cids[begin - 1] == cids[-1]:
            begin -= 1
        held = table.slice(begin)
        if begin:
            yield Block(place, number, table.slice(0, begin))
            number += 1 + sum(one != other for one, other in pairwise(cids[:begin]))
    if held is not None:
        yield Block(place, number, held)


class Reject(NamedTuple):
    """A record that is no session: where it stands, and why."""

    place: str
    reason: str


def read(block: Block, longest: int = LONGEST) -> Iterator[tuple[int, Session | Reject]]:
    """Number and session, or number and reject, of every record of a block."""
    for number, record in records(block, longest):
        place = f"{block.place}:{number}"
        try:
            yield number, session(record, name=place)
        except Unreadable as error:
            yield number, Reject(place, str(error))


def sessions(source: Source, rejected: list[Reject] | None = None, *, longest: int = LONGEST) -> Iterator[Session]:
    """The sessions of a log one by one; what is none is added to `rejected`."""
    for block in blocks(source, longest=longest):
        for _, one in read(block, longest):
            if isinstance(one, Session):
                yield one
            elif rejected is not None:
                rejected.append(one)


def records(block: Block, longest: int = LONGEST) -> Iterator[tuple[int, Any]]:
    """Number and record of every line or row of a block; `Unreadable` in place of a record that cannot be read."""
    if block.too_long:
        yield block.too_long, Unreadable(f"line longer than {longest} bytes")
        return
    if isinstance(block.data, bytes):
        lines = block.data.split(b"\n")
        for i, line in enumerate(lines):
            if line.strip():
                yield block.first + i, _parsed(line, longest, torn=i == len(lines) - 1)
        return
    rows = _rows(block.data)
    if "history" in block.data.column_names or "messages" in block.data.column_names:
        yield from enumerate(rows, start=block.first)
        return
    named = zip(block.data.column("cid").to_pylist(), rows)
    for i, (cid, messages) in enumerate(groupby(named, key=lambda row: row[0])):
        yield block.first + i, {"cid": cid, "history": [message for _, message in messages]}


def _rows(data: pa.Table | pa.RecordBatch) -> list[Any]:
    """The rows; `Unreadable` where one holds a date that Python does not have."""
    try:
        rows: list[Any] = data.to_pylist()
    except (OverflowError, ValueError):
        if len(data) == 1:
            return [Unreadable("a value out of range")]
        return [row for i in range(len(data)) for row in _rows(data.slice(i, 1))]
    return rows


def _parsed(line: bytes, longest: int, torn: bool) -> Any:
    if len(line) > longest:
        return Unreadable(f"line longer than {longest} bytes")
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Unreadable("torn last line" if torn else "not UTF-8")
    except RecursionError:
        return Unreadable("nested too deeply")
    except ValueError:
        return Unreadable("torn last line" if torn else "not JSON")
