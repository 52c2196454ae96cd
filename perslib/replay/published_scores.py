"""Scores in published files: of candidates' replies and of the recorded ones, raw and calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.corpus.reading import frame
from perslib.corpus.schema import KEYS, SCHEMA
from perslib.errors import Problem
from perslib.replay.published_lines import Lines, Record, Turn, candidate_of

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
    return _read(Lines(Path(path), corpus, skip_bad), of_candidates=True)


def read_predictions(
    path: Path | str, corpus: Corpus | None = None, *, skip_bad: bool = False
) -> pd.DataFrame:
    """A published evaluator's or baseline's scores of the recorded replies: the verdicts frame, `candidate` missing.

    `judge` is the `baseline_name`, else "structured memory" or "no memory"; `backbone` the model behind it, missing for
    baselines that ask none. All else is as in `read_scored`.
    """
    return _read(Lines(Path(path), corpus, skip_bad), of_candidates=False)


def _read(lines: Lines, *, of_candidates: bool) -> pd.DataFrame:
    name = None if lines.corpus is None else lines.corpus.name
    rows: list[tuple[str, Record]] = []
    for place, record, turn in lines:
        verdict = _verdict(record, turn, place, of_candidates)
        if isinstance(verdict, Problem):
            lines.reject(verdict)
        else:
            rows.append((place, {"corpus": name, **verdict}))
    kept = lines.last_of_each(rows, KEYS["verdicts"])
    unscored = sum(row["raw"] is None for row in kept)
    lines.oddities.update({"unscored replies, kept with their error": unscored} if unscored else {})
    verdicts = frame(kept, [*SCHEMA["verdicts"], "calibrated", "method"])
    calibrated = _calibrated(verdicts)
    return lines.told(
        coerce(
            verdicts.drop(columns=["calibrated", "method"]).assign(**calibrated), "verdicts", lines.path.name
        )
    )


def _verdict(record: Record, turn: Turn, place: str, of_candidates: bool) -> Record | Problem:
    candidate: str | Problem | None = candidate_of(record, place) if of_candidates else None
    if isinstance(candidate, Problem):
        return Problem(place, f"{candidate.message}; scores of recorded replies are read by read_predictions")
    if not of_candidates and "candidate_response" in record:
        return Problem(place, "is on a candidate's reply; such files are read by read_scored")
    if "pred_score" not in record and "pred_score_raw" not in record:
        return Problem(place, "has no pred_score")
    scores: dict[str, float | None] = {}
    for key in ("pred_score", "pred_score_raw", "pred_score_float"):
        score = _score(record.get(key), key, place)
        if isinstance(score, Problem):
            return score
        scores[key] = score
    given = scores["pred_score"]
    raw = given if record.get("pred_score_raw") is None else scores["pred_score_raw"]
    error = NO_SCORE if raw is None else None
    if record.get("parse_ok") is False:
        error = UNREADABLE.format(score="" if raw is None else f"{raw:g}")
    method = record.get("calibration_method")
    verdict = {"candidate": candidate, **dict(zip(TURN, turn)), **_judge(record), **_said(record)}
    if error:
        return {
            **verdict,
            "raw": None,
            "mode": "unscored",
            "error": error,
            "calibrated": None,
            "method": method,
        }
    verdict |= {
        "raw": raw,
        "expected": scores["pred_score_float"],
        "satisfied": raw is not None and round(raw) >= 4,
        "error": None,
    }
    return {**verdict, "calibrated": given if method else None, "method": method}


def _score(value: Any, key: str, place: str) -> float | Problem | None:
    if value is None:
        return None
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
    return (
        number if 1 <= number <= 5 else Problem(place, f"{key} is {value!r}, expected a number from 1 to 5")
    )


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
