"""Candidates' replies and their scores in files: the published format and a plain one of ours.

Replies are read and written. Scores, of candidates' replies and of the recorded ones, raw and calibrated, are read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import Corpus, Target, coerce
from perslib.corpus.reading import frame
from perslib.corpus.schema import KEYS, SCHEMA
from perslib.errors import DataError, Problem
from perslib.memory import turn_id
from perslib.replay import published_lines as lines
from perslib.replay.candidates import family_of
from perslib.replay.published_lines import Misfit, Record, field
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
        candidate, said, error = lines.candidate_of(record), field(record, "response"), None
        if candidate == ORIGINAL:
            what = f"{ORIGINAL!r} is the name of the recorded replies (perslib.replay.originals gives them)"
            raise Misfit(f"{what}; name this candidate otherwise")
        if not set(lines.NAMES["response"]) & set(record):
            raise Misfit("has no candidate_response or response")
        if said is not None and not isinstance(said, str):
            raise Misfit(f"the response is a {type(said).__name__}, expected text")
        if not said or not said.strip():
            odd["empty replies, kept as an error"] += 1
            why = record.get("error")
            said, error = None, why if isinstance(why, str) and why else EMPTY
        about = {"candidate": candidate, "family": family_of(candidate), **_origin(record, odd)}
        return {**about, "response": said, "error": error}

    rows, left_out, odd = lines.read_lines(path, make, KEYS["replies"], corpus, skip_bad=skip_bad)
    replies = coerce(frame(rows, list(SCHEMA["replies"])), "replies", Path(path).name)
    replies.attrs.update(left_out=list(map(str, left_out)), irregularities=dict(odd))
    return replies


def _origin(record: Record, odd: Counter[str]) -> Record:
    """How the reply came about, as far as the line says."""
    origin: Record = {"context": lines.context_of(record)}
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
    if ids := [id for shown in (listed if isinstance(listed, list) else []) if (id := _source(shown))]:
        origin["records"] = ids
    return origin


def _source(shown: Any) -> str | None:
    """The id of a turn that a candidate was shown; None where the line does not tell it."""
    match shown:
        case {"source_task": str(scenario), "source_file": str(session), "turn_idx": int(turn)}:
            return turn_id(scenario, session.removesuffix(".json"), turn)
    return None


def write_replies(replies: pd.DataFrame, path: Path | str, corpus: Corpus) -> int:
    """Write replies in the published format, for other programs to read; returns how many were written.

    Replies that failed are not written, for the format has no place for an error. What the users said of the recorded
    replies is left out, unless `with_gold`: whoever generates or judges from such a file could see it. Our contexts
    without a published name keep ours. Which of the user's earlier turns a candidate in `tfidf` or `diverse` was shown
    stands in `dialogue_memory_records`, by their ids without the texts, where the replies have `records` (`generated`
    gives them). How a reply came about (`ORIGIN`) stands in further keys, which published programs let be.
    """
    replies = coerce(replies, "replies")
    answered = replies[replies["response"].notna()].sort_values("candidate", kind="stable")
    targets = cache(partial(lines.targets_of, corpus))
    written, problems = [], []
    for row in answered.to_dict("records"):
        user, scenario, session, turn = key = (row["user"], row["scenario"], row["session"], int(row["turn"]))
        if (target := targets(user, scenario).get((session, turn))) is None:
            problems.append(Problem("replies", f"{lines.sample_id(*key)} is not in corpus {corpus.name!r}"))
            continue
        record = _record(row, key, target)
        written.append(json.dumps(record, ensure_ascii=False) + "\n")
    if problems:
        raise DataError(problems, "Write the replies with the corpus that they answer.")
    Path(path).write_text("".join(written), encoding="utf-8")
    return len(written)


def _record(row: Mapping[str, Any], key: lines.Turn, target: Target) -> Record:
    (user, scenario, session, turn), context = key, row["context"]
    modes = {ours: published for published, ours in lines.CONTEXTS.items()}
    shown = []
    for id in (row.get("records") or ()) if context in ("tfidf", "diverse") else ():
        task, file, number = id.rsplit("/", 2)
        source = {"source_task": task, "source_file": f"{file}.json", "turn_idx": int(number)}
        shown.append({"memory_id": lines.sample_id(user, task, file, int(number)), "user": user, **source})
    record = {
        "sample_id": lines.sample_id(*key),
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
        "task_context": target.task or "",
        "dialogue_prefix": list(target.prefix),
        "candidate_response": row["response"],
        "source_assistant_reply": target.response,
        "source_chat_model": target.assistant or "unknown",
        **{column: row[column] for column in ORIGIN if not pd.isna(row[column])},
    }
    if lines.candidate_of(record) != row["candidate"]:
        record["candidate_name"] = row["candidate"]
    return record


UNREADABLE = "no answer could be read (parse_ok is false); the score {score} in the file stands for none"
NO_SCORE = "the file gives no score"
#: Why a raw score stands in a calibrated file: a record that fell back carries no sign of the calibration at all.
NOT_SAID = "not said in the file"
_GENERIC = "generic_llm_judge:"


def read_scored(path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False) -> pd.DataFrame:
    """A judge's scores of candidates' replies from a published file, calibrated or not: the verdicts frame.

    `raw` is `pred_score_raw`, else `pred_score`. Where a line names a `calibration_method`, its `pred_score` stands in
    the column of that name (`reference_cdf`; the published rule for it is our `cdf_pooled`), with the column
    `…_fallback` beside it. In a calibrated file, a line that names none fell back to its raw score.

    A score that stands for a failed call (`parse_ok` is false) and a missing one are unscored, and `error` says why.
    Checks against a `corpus`, repeated and bad lines are as in `read_replies`.
    """
    return _read_verdicts(path, corpus, skip_bad, of_candidates=True)


def read_predictions(path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False) -> pd.DataFrame:
    """A published evaluator's or baseline's scores of the recorded replies: the verdicts frame, `candidate` missing.

    `judge` is the `baseline_name`, else "structured memory" or "no memory"; `backbone` the model behind it, missing for
    baselines that ask none. All else is as in `read_scored`.
    """
    return _read_verdicts(path, corpus, skip_bad, of_candidates=False)


def _read_verdicts(path: Path | str, corpus: Corpus | None, skip_bad: bool, *, of_candidates: bool) -> pd.DataFrame:
    def make(record: Record, odd: Counter[str]) -> Record:
        name = None if corpus is None else corpus.name
        return {"corpus": name, "candidate": _whose(record, of_candidates), **_verdict(record)}

    rows, left_out, odd = lines.read_lines(path, make, KEYS["verdicts"], corpus, skip_bad=skip_bad)
    if unscored := sum(row["raw"] is None for row in rows):
        odd["unscored replies, kept with their error"] = unscored
    verdicts = frame(rows, [])
    calibrated = _calibrated(verdicts)
    verdicts = verdicts.drop(columns=["calibrated", "method"]).assign(**calibrated)
    verdicts = coerce(verdicts, "verdicts", Path(path).name)
    verdicts.attrs.update(left_out=list(map(str, left_out)), irregularities=dict(odd))
    return verdicts


def _whose(record: Record, of_candidates: bool) -> str | None:
    """The candidate; None where scores are of the recorded replies."""
    if not of_candidates:
        if "candidate_response" in record:
            raise Misfit("is on a candidate's reply; such files are read by read_scored")
        return None
    try:
        return lines.candidate_of(record)
    except Misfit as misfit:
        raise Misfit(f"{misfit}; scores of recorded replies are read by read_predictions") from None


def _verdict(record: Record) -> Record:
    if not set(lines.NAMES["raw"]) & set(record):
        raise Misfit("has no pred_score")
    scores = {column: _score(record, column) for column in ("score", "raw", "expected")}
    raw, method = scores["raw"], record.get("calibration_method")
    said = {column: field(record, column) for column in ("reason", "rationale")}
    said = {column: text if isinstance(text, str) and text else None for column, text in said.items()}
    error = NO_SCORE if raw is None else None
    if record.get("parse_ok") is False:
        error = UNREADABLE.format(score="" if raw is None else f"{raw:g}")
    verdict = {**_judge(record), **said, "error": error, "method": method}
    if error or raw is None:
        return {**verdict, "raw": None, "mode": "unscored", "calibrated": None}
    verdict |= {"raw": raw, "expected": scores["expected"], "satisfied": round(raw) >= 4}
    return {**verdict, "calibrated": scores["score"] if method else None}


def _score(record: Record, column: str) -> float | None:
    value = field(record, column)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 5:
        return float(value)
    raise Misfit(f"{lines.NAMES[column][-1]} is {repr(value)[:40]}, expected a number from 1 to 5")


def _judge(record: Record) -> Record:
    """Which judge, the model behind it, its memory and its prompt, from whichever keys the program wrote."""
    model, baseline, memory = (field(record, "model"), record.get("baseline_name"), field(record, "memory_model"))
    remembers = bool(record.get("with_memory", memory not in (None, "none")))
    version = field(record, "memory_version") or "structured"
    return {
        "judge": baseline or ("structured memory" if remembers else "no memory"),
        "backbone": str(model).removeprefix(_GENERIC) if model and model != baseline else None,
        "memory": f"{version} by {memory or 'a model not named'}" if remembers else None,
        "prompt": field(record, "prompt"),
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
