"""Candidates' replies and their scores in files: the published format and a plain one of ours.

Replies are read and written. Scores, of candidates' replies and of the recorded ones, raw and calibrated, are read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.corpus.reading import frame
from perslib.corpus.schema import KEYS, SCHEMA
from perslib.errors import DataError, Problem
from perslib.memory import turn_id
from perslib.replay.candidates import family_of
from perslib.replay.published_lines import (
    CONTEXTS,
    Misfit,
    Record,
    candidate_of,
    context_of,
    read_lines,
    sample_id,
    targets_of,
)
from perslib.replay.replies import ORIGINAL
from perslib.schemas import unfit

EMPTY = "empty reply"
#: How a reply came about, as far as a line says it under the names of our frame; published lines can carry it, too.
ORIGIN = [c for c in SCHEMA["replies"] if c not in (*KEYS["replies"], "response", "context", "error")]
_KINDS: dict[str, Any] = {"text": str, "integer": int, "real": (int, float)}


def read_replies(path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False) -> pd.DataFrame:
    """Candidates' replies from a JSONL file: the replies frame.

    Reads published response files (`candidate_model`, `candidate_response`, …; scored ones, too) and plain lines with
    candidate, user, scenario, session, turn, response. Of further keys the documented columns are kept (`ORIGIN`:
    backbone, family, temperature, seed, finish, …); all others are let be, gold scores and reasons among them. A family
    that is not said is the one that the candidate's name begins with. `records` are the turns of the user's that a line
    lists as shown.

    With a `corpus`, a line whose turn it lacks, or whose prefix or recorded reply is another, is an error; white space
    at the ends of messages does not count. What published programs leave in a file is read so:

    - a reply that stands twice: the last one counts; the others are listed in `.attrs["left_out"]`, counted in
      `.attrs["irregularities"]`;
    - one model in several contexts: the candidates `model`, `model (task)`, `model (tfidf)`, …;
    - an empty reply: no reply, and `error` says so;
    - a setting of another kind (a `prompt` that is a list): not taken, and counted;
    - half a character (a lone surrogate): read as U+FFFD, and counted.

    The name "original" is refused: it is that of the recorded replies, which `originals` takes from the corpus. Bad lines
    are an error that lists all of them; with `skip_bad` they are left out and listed.
    """

    def make(record: Record, odd: Counter[str]) -> Record:
        candidate = candidate_of(record)
        if candidate == ORIGINAL:
            what = f"{ORIGINAL!r} is the name of the recorded replies (perslib.replay.originals gives them)"
            raise Misfit(f"{what}; name this candidate otherwise")
        if "candidate_response" not in record and "response" not in record:
            raise Misfit("has no candidate_response or response")
        said, error = record.get("candidate_response", record.get("response")), None
        if said is not None and not isinstance(said, str):
            raise Misfit(f"the response is a {type(said).__name__}, expected text")
        if not said or not said.strip():
            odd["empty replies, kept as an error"] += 1
            why = record.get("error")
            said, error = None, why if isinstance(why, str) and why else EMPTY
        about = {"candidate": candidate, "family": family_of(candidate), **_origin(record, odd)}
        return {**about, "response": said, "error": error}

    rows, told = read_lines(path, corpus, skip_bad, KEYS["replies"], make)
    replies = coerce(frame(rows, list(SCHEMA["replies"])), "replies", Path(path).name)
    replies.attrs.update(told)
    return replies


def _origin(record: Record, odd: Counter[str]) -> Record:
    """How the reply came about, as far as the line says."""
    origin: Record = {"context": context_of(record)}
    snippets = record.get("dialogue_memory_top_k")
    if isinstance(snippets, int) and snippets > 0:
        origin["memory"] = f"{snippets} snippets"
    for column in ORIGIN:
        if (value := record.get(column)) is None:
            continue
        kind = SCHEMA["replies"][column].kind
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, _KINDS[kind]) and not isinstance(value, bool) and not any(unfit(value, "")):
            origin[column] = value
        else:
            odd[f"{column} that is no {kind}, not taken"] += 1
    listed = record.get("dialogue_memory_records")
    shown = [_source(r) for r in listed if isinstance(r, dict)] if isinstance(listed, list) else []
    if ids := [turn for turn in shown if turn]:
        origin["records"] = ids
    return origin


def _source(shown: Record) -> str | None:
    """The id of a turn that a candidate was shown; None where the line does not tell it."""
    scenario, session, turn = (shown.get(key) for key in ("source_task", "source_file", "turn_idx"))
    if not isinstance(scenario, str) or not isinstance(session, str) or not isinstance(turn, int):
        return None
    return turn_id(scenario, session.removesuffix(".json"), turn)


def write_replies(replies: pd.DataFrame, path: Path | str, corpus: Corpus, *, with_gold: bool = False) -> int:
    """Write replies in the published format, for other programs to read; returns how many were written.

    Replies that failed are not written, for the format has no place for an error. What the users said of the recorded
    replies is left out, unless `with_gold`: whoever generates or judges from such a file could see it. Our contexts
    without a published name keep ours. Which of the user's earlier turns a candidate in `tfidf` or `diverse` was shown
    stands in `dialogue_memory_records`, by their ids without the texts, where the replies have `records` (`generated`
    gives them). How a reply came about (`ORIGIN`) stands in further keys, which published programs let be.
    """
    replies = coerce(replies, "replies")
    answered = replies[replies["response"].notna()]
    gold = corpus.turns.set_index(TURN)[["score", "reason"]]
    records, problems = [], []
    for block, own in answered.groupby(BLOCK, sort=False):
        targets = targets_of(corpus, *block)
        for row in own.to_dict("records"):
            key = (row["user"], row["scenario"], row["session"], int(row["turn"]))
            if (target := targets.get(key[2:])) is None:
                problems.append(Problem("replies", f"{sample_id(*key)} is not in corpus {corpus.name!r}"))
                continue
            record = _record(row, key)
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


def _record(row: Mapping[str, Any], key: tuple[str, str, str, int]) -> Record:
    modes = {ours: published for published, ours in CONTEXTS.items()}
    (user, scenario, session, turn), context = key, row["context"]
    shown = _shown(user, row.get("records")) if context in ("tfidf", "diverse") else []
    record = {
        "sample_id": sample_id(*key),
        "user": user,
        "target_task": scenario,
        "target_file": f"{session}.json",
        "turn_idx": turn,
        "candidate_model": row["candidate"],
        "replay_context_mode": "recorded" if pd.isna(context) else modes.get(context, context),
        "selection_mode": "filter",
        "selection_score": None,
        "selection_reasons": [],
        "dialogue_memory_top_k": len(shown),
        "dialogue_memory_records": shown,
        "candidate_response": row["response"],
        **{column: row[column] for column in ORIGIN if not pd.isna(row[column])},
    }
    if candidate_of(record) != row["candidate"]:
        record["candidate_name"] = row["candidate"]
    return record


def _shown(user: str, records: Any) -> list[Record]:
    """Turns that a candidate was shown, from their ids, as published files list them."""
    found = []
    for turn in records if isinstance(records, tuple | list) else ():
        scenario, session, number = turn.rsplit("/", 2)
        memory = sample_id(user, scenario, session, int(number))
        source = {"source_task": scenario, "source_file": f"{session}.json", "turn_idx": int(number)}
        found.append({"memory_id": memory, "user": user, **source})
    return found


UNREADABLE = "no answer could be read (parse_ok is false); the score {score} in the file stands for none"
NO_SCORE = "the file gives no score"
#: Why a raw score stands in a calibrated file: a record that fell back carries no sign of the calibration at all.
NOT_SAID = "not said in the file"
_GENERIC = "generic_llm_judge:"


def read_scored(path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False) -> pd.DataFrame:
    """A judge's scores of candidates' replies from a published file, calibrated or not: the verdicts frame.

    `raw` is `pred_score_raw`, else `pred_score`. Where a line names a `calibration_method`, its `pred_score` stands in
    the column of that name (`reference_cdf`; the published rule for it is our `reference_cdf_pooled`), with the column
    `…_fallback` beside it. In a calibrated file, a line that names none fell back to its raw score.

    A score that stands for a failed call (`parse_ok` is false) and a missing one are unscored, and `error` says why.
    Checks against a `corpus`, repeated and bad lines are as in `read_replies`.
    """
    return _read_verdicts(path, corpus, skip_bad, of_candidates=True)


def read_predictions(
    path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False
) -> pd.DataFrame:
    """A published evaluator's or baseline's scores of the recorded replies: the verdicts frame, `candidate` missing.

    `judge` is the `baseline_name`, else "structured memory" or "no memory"; `backbone` the model behind it, missing for
    baselines that ask none. All else is as in `read_scored`.
    """
    return _read_verdicts(path, corpus, skip_bad, of_candidates=False)


def _read_verdicts(
    path: Path | str, corpus: Corpus | None, skip_bad: bool, *, of_candidates: bool
) -> pd.DataFrame:
    def make(record: Record, odd: Counter[str]) -> Record:
        name = None if corpus is None else corpus.name
        return {"corpus": name, "candidate": _whose(record, of_candidates), **_verdict(record)}

    rows, told = read_lines(path, corpus, skip_bad, KEYS["verdicts"], make)
    if unscored := sum(row["raw"] is None for row in rows):
        told["irregularities"]["unscored replies, kept with their error"] = unscored
    verdicts = frame(rows, [])
    calibrated = _calibrated(verdicts)
    verdicts = verdicts.drop(columns=["calibrated", "method"]).assign(**calibrated)
    verdicts = coerce(verdicts, "verdicts", Path(path).name)
    verdicts.attrs.update(told)
    return verdicts


def _whose(record: Record, of_candidates: bool) -> str | None:
    """The candidate; None where scores are of the recorded replies."""
    if not of_candidates:
        if "candidate_response" in record:
            raise Misfit("is on a candidate's reply; such files are read by read_scored")
        return None
    try:
        return candidate_of(record)
    except Misfit as misfit:
        raise Misfit(f"{misfit}; scores of recorded replies are read by read_predictions") from None


def _verdict(record: Record) -> Record:
    if "pred_score" not in record and "pred_score_raw" not in record:
        raise Misfit("has no pred_score")
    given, raw, expected = (
        _score(record, key) for key in ("pred_score", "pred_score_raw", "pred_score_float")
    )
    raw = given if raw is None else raw
    error = NO_SCORE if raw is None else None
    if record.get("parse_ok") is False:
        error = UNREADABLE.format(score="" if raw is None else f"{raw:g}")
    method = record.get("calibration_method")
    verdict = {**_judge(record), **_said(record), "error": error, "method": method}
    if error or raw is None:
        return {**verdict, "raw": None, "mode": "unscored", "calibrated": None}
    verdict |= {"raw": raw, "expected": expected, "satisfied": round(raw) >= 4}
    return {**verdict, "calibrated": given if method else None}


def _score(record: Record, key: str) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 5:
        return float(value)
    raise Misfit(f"{key} is {repr(value)[:40]}, expected a number from 1 to 5")


def _judge(record: Record) -> Record:
    """Which judge, the model behind it, its memory and its prompt, from whichever keys the program wrote."""
    model = record.get("judge_model") or record.get("model")
    baseline = record.get("baseline_name")
    backbone = None if model == baseline else str(model).removeprefix(_GENERIC) if model else None
    memory = record.get("judge_memory_model") or record.get("memory_model")
    remembers = bool(record.get("with_memory", memory not in (None, "none")))
    version = record.get("judge_memory_version") or record.get("memory_version")
    return {
        "judge": baseline or ("structured memory" if remembers else "no memory"),
        "backbone": backbone,
        "memory": f"{version or 'structured'} by {memory or 'a model not named'}" if remembers else None,
        "prompt": record.get("judge_turn_eval_prompt_version") or record.get("turn_eval_prompt_version"),
    }


def _said(record: Record) -> Record:
    given = {"reason": ("reason_prediction", "pred_reason"), "rationale": ("analysis", "spur_reason")}
    return {
        column: next((record[k] for k in keys if isinstance(record.get(k), str) and record[k]), None)
        for column, keys in given.items()
    }


def _calibrated(verdicts: pd.DataFrame) -> dict[str, pd.Series]:
    """Two columns for each method that the file names: the score, and why the raw one stands."""
    columns: dict[str, pd.Series] = {}
    raw = verdicts["raw"].astype("Float64")
    for method in verdicts["method"].dropna().unique():
        own = (verdicts["method"] == method) | raw.isna()
        columns[method] = verdicts["calibrated"].astype("Float64").where(own, raw).where(raw.notna())
        columns[f"{method}_fallback"] = pd.Series(NOT_SAID, verdicts.index, dtype="str").mask(own)
    return columns
