"""A line of a released split as a session and a case (UXBench, section 4 and its data card)."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perslib.corpus.reading import unfit
from perslib.corpus.uxbench_records import Session, Unreadable, plain, session

#: Name of a split's file, without what follows, → the split.
SPLITS = {
    "uxbench_task1_judge_bad": "task1_judge_bad",
    "uxbench_task1_judge_good": "task1_judge_good",
    "uxbench_task2_eval": "task2_eval",
    "uxbench_task3_recovery": "task3_recovery",
}
#: What annotators and models noted about a case; kept as columns where it is there.
ANNOTATIONS = (
    *("difficulty", "severity_tier", "overall_quality", "judge_average", "signal_type", "signal_confidence"),
    *("representativeness", "sentiment", "confidence", "needs_context", "needs_image", "is_duplicate"),
    *("explanation", "praise_snippet", "qa_verdict", "qa_notes", "failure_dimension_raw"),
    *("gpt51_verdict", "gpt52_verdict", "gemini_verdict"),
)
#: Annotations that are objects or lists; kept as JSON.
NESTED = ("judge_scores", "judge_audit", "qa_issues", "selected_turn_indices", "dislike_turn_id")


def split_of(path: Path) -> str | None:
    """The split that a file's name says it holds."""
    names = [path.stem, path.parent.name] if path.suffix in (".jsonl", ".parquet") else []
    for name in names:
        for start, split in SPLITS.items():
            if name.startswith((start, split)):
                return split
    return None


def split_session(record: Any, split: str, place: str) -> tuple[Session, dict[str, Any]]:
    """The conversation of a case, and the case in the columns of `perslib.ux`."""
    if not isinstance(record, Mapping):
        raise Unreadable("not an object")
    if fault := next(unfit(dict(record), place), None):
        raise Unreadable(fault.message)
    task = split.split("_")[0]
    history, query, reply, complaint, notes = {
        "task1": _judge, "task2": _eval, "task3": _recovery,
    }[task](record)  # fmt: skip
    if not query:
        raise Unreadable("no query")
    gold = _gold(record, split) if task != "task2" else None
    clicked = {1: {"is_liked": 1}, -1: {"is_unliked": 1}}.get(gold or 0, {})
    said = [*history, {"role": "user", "message": query}]
    said += [{"role": "assistant", "message": reply, **clicked}] if reply else []
    said += [{"role": "user", "message": complaint}] if complaint else []
    said = [{k: v for k, v in m.items() if k != "turn_index"} for m in said]
    about = {k: record[k] for k in ("user", "user_id", "user_profile", "scenario") if k in record}
    one = session({"cid": record.get("cid"), "history": said, **about}, name=place)
    shown = [{"role": m.role, "content": m.text} for m in one.messages[: len(history)]]
    return one._replace(notes=(*one.notes, *notes)), {
        "case": _word(record.get("case_id")) or _case_id(split, str(record.get("cid")), query, reply),
        "task": split,
        "cid": one.cid,
        "query": query,
        "history": tuple(shown),
        "reply": plain(reply),
        "complaint": complaint,
        "gold": gold,
        "dimension": _word(record.get("failure_dimension") or record.get("success_dimension")),
        **{k: _annotation(record[k]) for k in ANNOTATIONS if k in record},
        **{k: json.dumps(record[k], ensure_ascii=False, default=str) for k in NESTED if k in record},
    }


Parts = tuple[list[dict[str, Any]], str, str, str, list[str]]


def _judge(record: Mapping[str, Any]) -> Parts:
    query = record.get("source_query")
    asked = _said(query) if isinstance(query, Mapping) else _word(query)
    return _messages(record.get("selected_history")), asked, _word(record.get("agent_response_full")), "", []


def _eval(record: Mapping[str, Any]) -> Parts:
    """`messages` is what is sent; the query is its last message, or is added where it is not."""
    query = _word(record.get("query"))
    sent = _messages(record.get("messages")) or _messages(record.get("history"))
    notes = []
    if sent and sent[-1].get("role") == "user" and (not query or _said(sent[-1]).strip() == query.strip()):
        query = query or _said(sent[-1])
        sent = sent[:-1]
    elif sent and record.get("messages"):
        notes.append("messages that do not end with the query, which was added")
    return sent, query, "", "", notes


def _recovery(record: Mapping[str, Any]) -> Parts:
    """The failed reply and the complaint may stand at the end of the history already; they are said once."""
    history = _messages(record.get("history"))
    failed, complaint = _word(record.get("failed_response")), _word(record.get("user_complaint"))
    notes = []
    for role, text in (("user", complaint), ("assistant", failed)):
        if history and history[-1].get("role") == role and _said(history[-1]).strip() == text.strip():
            history = history[:-1]
            notes = ["history that already holds the failed reply or the complaint"]
    query = ""
    if history and history[-1].get("role") == "user":
        query, history = _said(history[-1]), history[:-1]
    return history, query, failed, complaint, notes


def _messages(value: Any) -> list[dict[str, Any]]:
    """A list of messages, also one written as text, in JSON or as Python prints it."""
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
        raise Unreadable("history is not a list")
    return [dict(m) for m in value if isinstance(m, Mapping)]


def _said(message: Mapping[str, Any]) -> str:
    return _word(message.get("message") or message.get("content"))


def _word(value: Any) -> str:
    return "" if value is None else str(value)


def _annotation(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def _gold(record: Mapping[str, Any], split: str) -> int:
    """1 or -1 as the record says; where it does not, as its file does."""
    given = record.get("ground_truth")
    if str(given) in ("1", "-1", "1.0", "-1.0"):
        return int(float(given))  # type: ignore[arg-type]
    return 1 if split.endswith("good") else -1


def _case_id(split: str, cid: str, query: str, reply: str) -> str:
    """A key that stays: of split, session, request and reply, for one session can give several cases."""
    text = "\0".join((split, cid, query, reply))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
