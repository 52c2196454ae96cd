"""Candidates' replies in files: the published format and a plain one of ours, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.corpus.reading import frame
from perslib.corpus.schema import KEYS, SCHEMA
from perslib.errors import DataError, Problem
from perslib.replay.published_lines import (
    CONTEXTS,
    Lines,
    Record,
    candidate_of,
    context_of,
    sample_id,
    targets_of,
)

EMPTY = "empty reply"


def read_replies(path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False) -> pd.DataFrame:
    """Candidates' replies from a JSONL file: the replies frame.

    Reads published response files (`candidate_model`, `candidate_response`, …; scored ones, too) and plain lines with
    candidate, user, scenario, session, turn, response. Further keys are let be, gold scores and reasons among them.
    With a `corpus`, a line whose turn it lacks, or whose prefix or recorded reply is another, is an error; white space
    at the ends of messages does not count. What published programs leave in a file is read so:

    - a reply that stands twice: the last one counts; the others are listed in `.attrs["left_out"]`, counted in
      `.attrs["irregularities"]`;
    - one model in several contexts: the candidates `model`, `model (task)`, `model (tfidf)`, …;
    - an empty reply: no reply, and `error` says so.

    Bad lines are an error that lists all of them; with `skip_bad` they are left out and listed.
    """
    lines = Lines(Path(path), corpus, skip_bad)
    rows = []
    for place, record, turn in lines:
        candidate = candidate_of(record, place)
        said = record.get("candidate_response", record.get("response"))
        if isinstance(candidate, Problem):
            lines.reject(candidate)
        elif "candidate_response" not in record and "response" not in record:
            lines.reject(Problem(place, "has no candidate_response or response"))
        elif said is not None and not isinstance(said, str):
            lines.reject(Problem(place, f"the response is a {type(said).__name__}, expected text"))
        else:
            key = {"candidate": candidate, **dict(zip(TURN, turn))}
            rows.append((place, {**key, **_reply(said, record, lines), "context": context_of(record)}))
    kept = lines.last_of_each(rows, KEYS["replies"])
    return lines.told(coerce(frame(kept, list(SCHEMA["replies"])), "replies", lines.path.name))


def _reply(said: str | None, record: Record, lines: Lines) -> Record:
    snippets = record.get("dialogue_memory_top_k")
    memory = f"{snippets} snippets" if isinstance(snippets, int) and snippets > 0 else None
    if said and said.strip():
        return {"response": said, "memory": memory, "error": None}
    lines.oddities["empty replies, kept as an error"] += 1
    why = record.get("error")
    return {"response": None, "memory": memory, "error": why if isinstance(why, str) and why else EMPTY}


def write_replies(replies: pd.DataFrame, path: Path | str, corpus: Corpus, *, with_gold: bool = False) -> int:
    """Write replies in the published format, for other programs to read; returns how many were written.

    Replies that failed are not written, for the format has no place for an error. What the users said of the recorded
    replies is left out, unless `with_gold`: whoever generates or judges from such a file could see it. Our contexts
    without a published name keep ours; which memories a candidate was shown is not in our frames, so the list is empty.
    """
    replies = coerce(replies, "replies")
    answered = replies[replies["response"].notna()]
    gold = corpus.turns.set_index(TURN)[["score", "reason"]]
    records, problems = [], []
    for block, own in answered.groupby(["user", "scenario"], sort=False):
        targets = targets_of(corpus, *block)
        for row in own.to_dict("records"):
            key = (row["user"], row["scenario"], row["session"], int(row["turn"]))
            if (target := targets.get(key[2:])) is None:
                problems.append(Problem("replies", f"{sample_id(*key)} is not in corpus {corpus.name!r}"))
                continue
            record = _record(row["candidate"], row["context"], key, row["response"])
            record["task_context"] = target.task or ""
            record["dialogue_prefix"] = list(target.prefix)
            record["source_assistant_reply"] = target.response
            record["source_chat_model"] = target.assistant or "unknown"
            if with_gold:
                score, reason = gold.loc[key]
                record["gold_score"] = None if pd.isna(score) else int(score)
                record["gold_reason"] = None if pd.isna(reason) else reason
            records.append((row["candidate"], record))
    if problems:
        raise DataError(problems, "Write the replies with the corpus that they answer.")
    lines = [
        json.dumps(record, ensure_ascii=False) + "\n" for _, record in sorted(records, key=lambda r: r[0])
    ]
    Path(path).write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _record(candidate: str, context: Any, key: tuple[str, str, str, int], response: str) -> Record:
    modes = {ours: published for published, ours in CONTEXTS.items()}
    user, scenario, session, turn = key
    return {
        "sample_id": sample_id(*key),
        "user": user,
        "target_task": scenario,
        "target_file": f"{session}.json",
        "turn_idx": turn,
        "candidate_model": candidate,
        "replay_context_mode": "recorded" if pd.isna(context) else modes.get(context, context),
        "selection_mode": "filter",
        "selection_score": None,
        "selection_reasons": [],
        "dialogue_memory_top_k": 0,
        "dialogue_memory_records": [],
        "candidate_response": response,
    }
