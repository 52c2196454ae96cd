"""Candidates' replies and their scores in files: the published format and a plain one of ours.

Replies are read and written. Scores, of candidates' replies and of the recorded ones, raw and calibrated, are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus import TURN, Corpus, Target, coerce
from perslib.corpus.schema import KEYS, SCHEMA
from perslib.memory import turn_id
from perslib.replay.candidates import family_of
from perslib.replay.published_lines import CONTEXTS, PublishedLine, Record, keep_last, read_lines, sample_id, targets_of
from perslib.replay.replies import known_turns
from perslib.schemas import find_unstorable

EMPTY = "empty reply"
#: How a reply came about, as far as a line says it under the names of our frame; published lines can carry it, too.
ORIGIN = [c for c in SCHEMA["replies"] if c not in (*KEYS["replies"], "response", "context", "error")]
_KINDS: dict[str, Any] = {"text": str, "integer": int, "real": (int, float)}


def read_replies(path: Path | str, corpus: Corpus | None = None) -> pd.DataFrame:
    """Return Candidates' replies from a JSONL file: the replies frame.

    Reads published response files (`candidate_model`, `candidate_response`, …; scored ones, too) and plain lines with
    candidate, user, scenario, session, turn, response. Of further keys the documented columns are kept (`ORIGIN`:
    backbone, family, temperature, seed, finish, …), where they hold what the column does (no `prompt` that is a list);
    all others are let be, gold scores and reasons among them. A family that is not said is the one that the candidate's
    name begins with. `records` are the turns of the user's that a line lists as shown.

    With a `corpus`, a line whose turn it lacks, or whose prefix or recorded reply is another, is an error; white space
    at the ends of messages does not count. What published programs leave in a file is read so:

    - a reply that stands twice: the last one counts; the others are listed in `.attrs["left_out"]`;
    - one model in several contexts: the candidates `model`, `model (task)`, `model (tfidf)`, …;
    - an empty reply: no reply, and `error` says so;
    - half a character (a lone surrogate): read as U+FFFD.

    The name "original" is refused: it is that of the recorded replies, which `originals` takes from the corpus. Bad lines
    are an error that lists all of them.
    """
    lines, rows = read_lines(path, "reply", corpus), []
    for line in lines:
        response, candidate = line.fields["response"], _whose(line)
        missing = not response or not response.strip()
        why = line.record.get("error")
        error = (why if isinstance(why, str) and why else EMPTY) if missing else None
        about = {"candidate": candidate, "family": family_of(candidate), **_origin(line)}
        rows.append({**about, "response": None if missing else response, "error": error})
    latest = keep_last(rows, lines, KEYS["replies"])
    replies = coerce(latest, "replies", Path(path).name)
    replies.attrs = latest.attrs
    return replies


def _whose(line: PublishedLine) -> str:
    """Return whose reply it is; a name in `candidate_name`, a key of ours, stays as it is."""
    name: str = line.fields["candidate"]
    return name if line.record.get("candidate_name") else _candidate(name, _context(line))


def _candidate(name: str, context: str) -> str:
    """Return the model, and with it the context where that is more than prefix (`model (tfidf)`).

    Published files of one model in several contexts all name the model alone, and would be taken for one candidate. A
    name that says the context already stays (`model · tfidf`).
    """
    has_context = context in ("prefix", "recorded") or name.endswith((f" ({context})", f" · {context}"))
    return name if has_context else f"{name} ({context})"


def _context(line: PublishedLine) -> str:
    """Return what the candidate was shown beside the prefix; "recorded" where the line does not say."""
    mode = line.fields.get("context")
    return CONTEXTS.get(mode, mode) if isinstance(mode, str) and mode else "recorded"


def _origin(line: PublishedLine) -> Record:
    """Return how the reply came about, as far as the line says."""
    origin: Record = {"context": _context(line)}
    snippets = line.record.get("dialogue_memory_top_k")
    if isinstance(snippets, int) and snippets > 0:
        origin["memory"] = f"{snippets} snippets"
    for column in ORIGIN:
        value, kind = line.record.get(column), SCHEMA["replies"][column].kind
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, _KINDS[kind]) and not isinstance(value, bool) and not any(find_unstorable(value, "")):
            origin[column] = value
    listed = line.record.get("dialogue_memory_records")
    if ids := [id for shown in (listed if isinstance(listed, list) else []) if (id := _source(shown))]:
        origin["records"] = ids
    return origin


def _source(shown: Any) -> str | None:
    """Return the id of a turn that a candidate was shown; None where the line does not tell it."""
    match shown:
        case {"source_task": str(scenario), "source_file": str(session), "turn_idx": int(turn)}:
            return turn_id(scenario, session.removesuffix(".json"), turn)
    return None


def write_replies(replies: pd.DataFrame, path: Path | str, corpus: Corpus) -> int:
    """Write replies in the published format, for other programs to read; returns how many were written.

    Replies that failed are not written, for the format has no place for an error. What the users said of the recorded
    replies is left out: whoever generates or judges from such a file could see it. Our contexts
    without a published name keep ours. Which of the user's earlier turns a candidate in `tfidf` or `diverse` was shown
    stands in `dialogue_memory_records`, by their ids without the texts, where the replies have `records` (`generated`
    gives them). How a reply came about (`ORIGIN`) stands in further keys, which published programs let be.
    """
    replies = coerce(replies, "replies")
    answered = replies[replies["response"].notna()].sort_values("candidate", kind="stable")
    known_turns(corpus, answered[TURN].drop_duplicates())
    targets = cache(partial(targets_of, corpus))
    with Path(path).open("w", encoding="utf-8") as file:
        for row in answered.to_dict("records"):
            target = targets(row["user"], row["scenario"])[row["session"], int(row["turn"])]
            file.write(json.dumps(_record(row, target), ensure_ascii=False) + "\n")
    return len(answered)


def _record(row: Mapping[str, Any], target: Target) -> Record:
    user, context = target.user, "recorded" if pd.isna(row["context"]) else row["context"]
    modes = {ours: published for published, ours in CONTEXTS.items()}
    shown = []
    for id in (row.get("records") or ()) if context in ("tfidf", "diverse") else ():
        task, file, number = id.rsplit("/", 2)
        source = {"source_task": task, "source_file": f"{file}.json", "turn_idx": int(number)}
        shown.append({"memory_id": sample_id(user, task, file, int(number)), "user": user, **source})
    record = {
        "sample_id": sample_id(user, target.scenario, target.session, target.turn),
        "user": user,
        "target_task": target.scenario,
        "target_file": f"{target.session}.json",
        "turn_idx": target.turn,
        "candidate_model": row["candidate"],
        "replay_context_mode": modes.get(context, context),
        "selection_mode": "filter",
        "selection_score": None,
        "selection_reasons": [],
        "dialogue_memory_top_k": len(shown),
        "dialogue_memory_records": shown,
        "task_context": target.task or "",
        "dialogue_prefix": list(target.prefix),
        "candidate_response": row["response"],
        "source_assistant_reply": target.response,
        "source_chat_model": target.assistant or "unknown",
        **{column: row[column] for column in ORIGIN if not pd.isna(row[column])},
    }
    if _candidate(row["candidate"], context) != row["candidate"]:
        record["candidate_name"] = row["candidate"]
    return record


UNREADABLE = "no answer could be read (parse_ok is false); the score {score} in the file stands for none"
NO_SCORE = "the file gives no score"
#: Why a raw score stands in a calibrated file: a record that fell back carries no sign of the calibration at all.
NOT_SAID = "not said in the file"
_GENERIC = "generic_llm_judge:"


def read_scored(path: Path | str, corpus: Corpus | None = None) -> pd.DataFrame:
    """Return a judge's scores of candidates' replies from a published file, calibrated or not: the verdicts frame.

    `raw` is `pred_score_raw`, else `pred_score`. Where a line names a `calibration_method`, its `pred_score` stands in
    the column of that name (`reference_cdf`; the published rule for it is our `cdf_pooled`), with the column
    `…_fallback` beside it. In a calibrated file, a line that names none fell back to its raw score.

    A score that stands for a failed call (`parse_ok` is false) and a missing one are unscored, and `error` says why.
    Checks against a `corpus`, repeated and bad lines are as in `read_replies`.
    """
    return _read_verdicts(path, corpus, "score")


def read_predictions(path: Path | str, corpus: Corpus | None = None) -> pd.DataFrame:
    """Return a published evaluator's or baseline's scores of the recorded replies: the verdicts frame, `candidate`
    missing.

    `judge` is the `baseline_name`, else "structured memory" or "no memory"; `backbone` the model behind it, missing for
    baselines that ask none. All else is as in `read_scored`.
    """
    return _read_verdicts(path, corpus, "prediction")


def _read_verdicts(path: Path | str, corpus: Corpus | None, kind: Literal["score", "prediction"]) -> pd.DataFrame:
    lines = read_lines(path, kind, corpus)
    of = [_whose(line) if kind == "score" else None for line in lines]
    name = None if corpus is None else corpus.name
    rows = [{"corpus": name, "candidate": whose, **_verdict(line)} for whose, line in zip(of, lines)]
    verdicts = keep_last(rows, lines, KEYS["verdicts"])
    raw, calibrated, method = verdicts["raw"].astype("Float64"), verdicts.pop("calibrated"), verdicts.pop("method")
    for known in method.dropna().unique():  # the score, and why the raw one stands
        own = (method == known) | raw.isna()
        verdicts[known] = calibrated.astype("Float64").where(own, raw).where(raw.notna())
        verdicts[f"{known}_fallback"] = pd.Series(NOT_SAID, verdicts.index, dtype="str").mask(own)
    return coerce(verdicts, "verdicts", Path(path).name)


def _verdict(line: PublishedLine) -> Record:
    judgement = line.fields
    raw, method = judgement["raw"], line.record.get("calibration_method")
    error = NO_SCORE if raw is None else None
    if line.record.get("parse_ok") is False:
        error = UNREADABLE.format(score="" if raw is None else f"{raw:g}")
    texts = {column: judgement.get(column) for column in ("reason", "rationale")}
    texts = {column: text if isinstance(text, str) and text else None for column, text in texts.items()}
    verdict = {**_judge(line), **texts, "error": error, "method": method, "calibrated": None, "raw": None}
    if error:
        return {**verdict, "mode": "unscored"}
    scores = {
        "raw": raw,
        "expected": judgement.get("expected"),
        "calibrated": judgement.get("given") if method else None,
    }
    return {**verdict, **scores, "satisfied": round(raw) >= 4}


def _judge(line: PublishedLine) -> Record:
    """Return which judge, the model behind it, its memory and its prompt, from whichever keys the program wrote."""
    judgement = line.fields
    model, baseline, memory = judgement.get("model"), line.record.get("baseline_name"), judgement.get("memory_model")
    remembers = bool(line.record.get("with_memory", memory not in (None, "none")))
    version = judgement.get("memory_version") or "structured"
    return {
        "judge": baseline or ("structured memory" if remembers else "no memory"),
        "backbone": str(model).removeprefix(_GENERIC) if model and model != baseline else None,
        "memory": f"{version} by {memory or 'a model not named'}" if remembers else None,
        "prompt": judgement.get("prompt"),
    }
