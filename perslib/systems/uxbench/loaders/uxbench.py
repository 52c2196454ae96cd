"""Interaction logs as UXBench has them (Hong et al., 2026): raw logs, and the four released splits.

A raw log holds a session per line, or in Parquet a session or a message per row (`perslib.systems.uxbench.loaders.log_records`).
It has no ratings. The users' behaviour is in the times and in `feedback`, and `perslib.systems.uxbench.signals` reads it.

A released split holds a case per line: the conversation so far, a request, and what is to be judged (Task 1), answered
(Task 2) or repaired (Task 3). Its cases are in `extras["cases"]`, in the columns that `perslib.systems.uxbench` takes, with their
gold labels and annotations. The same conversations are turns; all except the reply to judge have `leads`. A gold label
is the annotators' decision and not a click of the user: `feedback` has only the buttons in a record's messages.

Users are not identified unless a record has a `user`: each dialogue counts as a user. Records that are not sessions are
left out and counted, whatever `skip_bad` is, because a log is never complete. A file without any readable record is an
error.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus.files.reading import ImportResult, Rows, is_too_deep
from perslib.corpus.files.records import read_each
from perslib.errors import DataError, Problem
from perslib.paths import read_toml
from perslib.schemas import find_unstorable
from perslib.systems.uxbench.loaders.log_records import (
    LogSession,
    Message,
    UnreadableRecord,
    extract_reply_text,
    get_field,
    session,
)
from perslib.systems.uxbench.loaders.logs import LogBlock, first_record, read_block_records, read_log_blocks

REMEDY = (
    "Give a released split (uxbench_task….jsonl), a raw log (.jsonl or .parquet, with `history` and `cid`), "
    "or a folder of such files."
)
_HAN = re.compile("[\u3400-\u9fff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = read_toml(__file__, "names.toml")["uxbench"]
#: Split → the name of its file, without what follows.
SPLITS: dict[str, str] = _NAMES["splits"]
ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
#: What annotators and models noted about a case; kept as columns where it is there.
ANNOTATIONS: list[str] = _NAMES["annotations"]
#: Annotations that are objects or lists; kept as JSON.
NESTED: list[str] = _NAMES["nested"]


def split_of(path: Path) -> str | None:
    """Return the split that a file's name states, or None."""
    names = [path.stem, path.parent.name] if path.suffix in (".jsonl", ".parquet") else []
    splits = (split for name in names for split, stem in SPLITS.items() if name.startswith((stem, split)))
    return next(splits, None)


def looks_like(path: Path) -> bool:
    """Return whether a file, or one of a folder, is a released split by its name, or a raw log by its first line."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return any(split_of(file) is not None or _is_raw(file) for file in files)


def _is_raw(file: Path) -> bool:
    """Return whether the first line of a file has the fields of UXBench's logs."""
    first = first_record(file) if file.suffix == ".jsonl" and file.is_file() else None
    return isinstance(first, Mapping) and {"cid", "history"} <= first.keys()


def read(path: Path, *, skip_bad: bool = False, name: str | None = None) -> ImportResult:
    """Read splits or raw logs; see `perslib import uxbench`."""
    reading = _Log(skip_bad=True)
    for file in _files(path):
        split = split_of(file)
        lines = (line for block in read_log_blocks(file) for line in _lines(block))
        read_each(lines, reading, None, partial(_take, split=split, reading=reading), sessions=0)
    reading.note("records that are no session, left out", len(reading.rejected))
    reasons = Counter(one.reason for one in reading.rejected)
    reading.problems = [Problem(str(path), f"{n} records: {why}") for why, n in reasons.most_common(10)]
    extras = {"cases": pd.DataFrame(reading.cases)} if reading.cases else {}
    nothing = Problem(str(path), "holds no session")
    reading.finish({"kind": "uxbench"}, name or path.stem, reading.language(), nothing, REMEDY, extras=extras)
    reading.lost = len(reading.rejected)
    return reading


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(f for f in path.iterdir() if f.suffix in ENDINGS)
    if not files:
        raise DataError(Problem(str(path), "holds no .jsonl and no .parquet file"), REMEDY)
    splits = [f for f in files if split_of(f)]
    return splits or files


def _lines(block: LogBlock) -> Iterator[tuple[str, Any, Any]]:
    """Yield place and record of every line or row of a block."""
    for number, record in read_block_records(block):
        place = f"{block.place}:{number}"
        wrong = (
            str(record) if isinstance(record, UnreadableRecord) else "nested too deeply" if is_too_deep(record) else ""
        )
        yield place, Problem(place, wrong) if wrong else record, None


def _take(record: Any, place: str, split: str | None, reading: _Log) -> None:
    """Take in the session of a record, and its case where it comes from a split."""
    try:
        reading.take(*(split_session(record, split, place) if split else (session(record, name=place), {})))
    except UnreadableRecord as error:
        raise DataError(Problem(place, str(error))) from error


@dataclass
class _Log(ImportResult):
    """A log as it is read."""

    cases: Rows = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    positions: Counter[str] = field(default_factory=Counter)

    def take(self, one: LogSession, case: Mapping[str, Any]) -> None:
        """Take in one session, with its case where there is one."""
        for note in one.notes:
            self.note(note)
        meta = one.meta
        user = get_field(meta, "user") or None
        user = self._own("", one.cid) if user is None else _text(str(user))
        self.profiles.setdefault(user, _profile(meta.get("user_profile")))
        scenario = _text(str(meta.get("scenario") or case.get("scenario") or "all"))
        where = {"user": user, "scenario": scenario, "session": self._own(f"{user}\0{scenario}\0", one.cid)}
        first = next((m.t for m in one.messages if m.t is not None), None)
        about = {"position": self.positions[user], "started_at": _time(first)}
        assistant = get_field(meta, "assistant")
        about["assistant"] = _text(assistant) if isinstance(assistant, str) and assistant else None
        self.positions[user] += 1
        rows, _ = self.add({**where, **about}, map(_split_message, one.messages), unasked={"asked_at": None})
        if case:
            judged = len(rows) - 1 if case["reply"] and rows else None
            self.cases.append({**case, **where, "turn": judged})
            for row in rows:
                row["leads"] = row["turn"] != judged

    def _own(self, space: str, name: str) -> str:
        """Return the name, with a number if it occurred before: a `cid` is not unique."""
        name = _text(name)
        self.names[space + name] += 1
        times = self.names[space + name]
        if times == 1:
            return name
        self.note("cid seen before, numbered", int(space == ""))
        return self._own(space, f"{name}#{times}")

    def language(self) -> str:
        """Return the language of most user messages."""
        texts = [text for row in self.turns for text in (*row["earlier"], row["request"]) if text is not None]
        texts += [text for row in self.sessions for text in row["trailing"]]
        return "zh" if 2 * sum(bool(_HAN.search(text)) for text in texts) >= len(texts) else "en"


def _split_message(message: Message) -> tuple[str, str, dict[str, Any]]:
    """Return role and text of a message, and the columns of its reply."""
    if message.role != "assistant":
        return message.role, _text(message.text), {"asked_at": _time(message.t)}
    feedback = {1: "like", -1: "dislike"}.get(message.feedback)
    return message.role, _text(message.text), {"answered_at": _time(message.t), "feedback": feedback}


def _time(seconds: float | None) -> pd.Timestamp | None:
    if seconds is None:
        return None
    try:
        return pd.Timestamp(seconds, unit="s")
    except (ValueError, OverflowError):
        return None


def _text(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _profile(value: Any) -> dict[str, Any]:
    """Return the user's profile; `interest_tags`, a text with commas, becomes a list."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if not isinstance(value, Mapping):
        return {}
    profile = dict(value)
    if isinstance(tags := profile.get("interest_tags"), str):
        profile["interest_tags"] = [tag.strip() for tag in re.split("[,\uff0c]", tags) if tag.strip()]
    return profile


# -- cases of the released splits (UXBench, section 4 and its data card) -------------------------------------


def split_session(record: Any, split: str, place: str) -> tuple[LogSession, dict[str, Any]]:
    """Return the conversation of a case, and the case in the columns of `perslib.systems.uxbench`."""
    if not isinstance(record, Mapping):
        raise record if isinstance(record, UnreadableRecord) else UnreadableRecord("not an object")
    if fault := next(find_unstorable(dict(record), place), None):
        raise UnreadableRecord(fault.message)
    task = split.split("_")[0]
    history, query, reply, complaint, notes = {
        "task1": _judge, "task2": _eval, "task3": _recovery,
    }[task](record)  # fmt: skip
    if not query:
        raise UnreadableRecord("no query")
    gold = _gold(record, split) if task != "task2" else None
    messages = [*history, {"role": "user", "message": query}]
    messages += [{"role": "assistant", "message": reply}] if reply else []
    messages += [{"role": "user", "message": complaint}] if complaint else []
    messages = [{k: v for k, v in m.items() if k != "turn_index"} for m in messages]
    about = {k: record[k] for k in ("user", "user_id", "user_profile", "scenario", "assistant", "model") if k in record}
    one = session({"cid": record.get("cid"), "history": messages, **about}, name=place)
    shown = [{"role": m.role, "content": m.text} for m in one.messages[: len(history)]]
    return one._replace(notes=(*one.notes, *notes)), {
        "case": _word(record.get("case_id")) or _case_id(split, str(record.get("cid")), query, reply),
        "task": split,
        "cid": one.cid,
        "query": query,
        "history": tuple(shown),
        "reply": extract_reply_text(reply),
        "complaint": complaint,
        "gold": gold,
        "dimension": _word(record.get("failure_dimension") or record.get("success_dimension")),
        **{k: _annotation(record[k]) for k in ANNOTATIONS if k in record},
        **{k: json.dumps(record[k], ensure_ascii=False, default=str) for k in NESTED if k in record},
    }


Parts = tuple[list[dict[str, Any]], str, str, str, list[str]]


def _judge(record: Mapping[str, Any]) -> Parts:
    query = record.get("source_query")
    asked = _read_message_text(query) if isinstance(query, Mapping) else _word(query)
    return _messages(record.get("selected_history")), asked, _word(record.get("agent_response_full")), "", []


def _eval(record: Mapping[str, Any]) -> Parts:
    """Split a case of UX Eval: `messages` is what is sent; the query is its last message, or is added if it is not."""
    query = _word(record.get("query"))
    sent = _messages(record.get("messages")) or _messages(record.get("history"))
    notes = []
    if sent and sent[-1].get("role") == "user" and (not query or _read_message_text(sent[-1]).strip() == query.strip()):
        query = query or _read_message_text(sent[-1])
        sent = sent[:-1]
    elif sent and record.get("messages"):
        notes.append("messages that do not end with the query, which was added")
    return sent, query, "", "", notes


def _recovery(record: Mapping[str, Any]) -> Parts:
    """Split a case of UX Recovery: the failed reply and the complaint may already end the history; they are used once."""
    history = _messages(record.get("history"))
    failed, complaint = _word(record.get("failed_response")), _word(record.get("user_complaint"))
    notes = []
    messages = [(one.get("role"), _read_message_text(one).strip()) for one in history[-2:]]
    held = 0
    if messages == [("assistant", failed.strip()), ("user", complaint.strip())]:
        held = 2
    elif messages[-1:] == [("assistant", failed.strip())]:
        held = 1
    elif messages[-1:] == [("user", complaint.strip())] and messages[0][0] == "user" and len(messages) == 2:
        held = 1  # a complaint in the words of the query, which is the last message alone, is no part of the history
    if held:
        history, notes = history[:-held], ["history that already holds the failed reply or the complaint"]
    query = ""
    if history and history[-1].get("role") == "user":
        query, history = _read_message_text(history[-1]), history[:-1]
    return history, query, failed, complaint, notes


def _messages(value: Any) -> list[dict[str, Any]]:
    """Return a list of messages, which may be a text of JSON or of Python's own form."""
    if isinstance(value, str):
        for parse in (json.loads, ast.literal_eval):
            try:
                value = parse(value)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    if value is None or value == "":
        return []
    if not isinstance(value, list | tuple):
        raise UnreadableRecord("history is not a list")
    return [dict(m) for m in value if isinstance(m, Mapping)]


def _read_message_text(message: Mapping[str, Any]) -> str:
    return _word(message.get("message") or message.get("content"))


def _word(value: Any) -> str:
    return "" if value is None else str(value)


def _annotation(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def _gold(record: Mapping[str, Any], split: str) -> int:
    """Return 1 or -1 as the record states; otherwise as the name of its file states."""
    given = record.get("ground_truth")
    if str(given) in ("1", "-1", "1.0", "-1.0"):
        return int(float(given))  # type: ignore[arg-type]
    return 1 if split.endswith("good") else -1


def _case_id(split: str, cid: str, query: str, reply: str) -> str:
    """Return a stable key of split, session, request and reply, because one session can have several cases."""
    text = "\0".join((split, cid, query, reply))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
