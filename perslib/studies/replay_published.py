"""Published score files on the replay page: aggregated as by their authors, and compared turn by turn.

A comparison of published candidates with the recorded replies needs two files: the scores of candidates' replies
(`read_scored`), and the same judge's scores of the recorded ones (`read_predictions`). The two are calibrated
differently, the first by reference and the second by block. So even a candidate that repeats the recorded replies wins
and loses some turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import DataError, Problem
from perslib.judge.scope import split_names
from perslib.replay import (
    ORIGINAL,
    compare_candidate_scores,
    official_interval,
    read_predictions,
    read_scored,
    summarize_candidates,
)
from perslib.stats import SEED

SCORE_KEYS = ["judge", "backbone", "candidate"]
#: Calibration of candidates' replies → the calibration that published files of the recorded replies have instead.
RECORDED_CALIBRATIONS = {"reference_cdf": "cdf", "reference_mean_shift": "mean_shift", "raw": "raw"}


def aggregate_scores(files: str, corpus: Corpus) -> pd.DataFrame:
    """Return published score files aggregated as by their authors: one row per file, judge and candidate.

    The score is the calibrated one if the file has one. Columns: file, score, and those of `summarize_candidates`, without intervals
    except the published one of user_macro (user_macro_low, user_macro_high).
    """
    parts = []
    for name, score, verdicts in _read_scores(files, corpus):
        summaries = summarize_candidates(verdicts, score)
        of_user = verdicts.groupby([*SCORE_KEYS, "user"], dropna=False)[score].mean().reset_index()
        by_candidate = of_user.groupby(SCORE_KEYS, dropna=False, sort=False)
        means = (
            by_candidate.get_group(key).set_index("user")[score] for key in map(tuple, summaries[SCORE_KEYS].to_numpy())
        )
        summaries[["user_macro_low", "user_macro_high"]] = [official_interval(user_means) for user_means in means]
        parts.append(summaries.assign(file=Path(name).name, score=score))
    return pd.concat(parts, ignore_index=True)


def compare_scores(files: str, predictions: str, corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Return comparisons of every two candidates of published files on their common turns, by `against`.

    With `predictions`, files of the same judge's scores of the recorded replies, every candidate is first compared with
    the recorded replies. If both sides have the calibration it is used for both, otherwise its replacement
    (`RECORDED_CALIBRATIONS`); `score` names the calibration, or the two. p is corrected within these comparisons, and within the
    pairs.
    """
    recorded = [(name, read_predictions(name, corpus)) for name in split_names(predictions)]
    candidate_scores = [
        _select_scores(verdicts, score).assign(by=score) for _, score, verdicts in _read_scores(files, corpus)
    ]
    tables = []
    for score, of_candidates in pd.concat(candidate_scores, ignore_index=True).groupby("by", sort=False):
        for label, originals in _match_recorded(recorded, score, of_candidates):
            both = pd.concat([of_candidates.merge(originals[SCORE_KEYS[:2]].drop_duplicates()), originals])
            compared = compare_candidate_scores(both.reset_index(drop=True), ORIGINAL, score="score", seed=seed)
            tables.append(compared.assign(score=label))
        tables.append(compare_candidate_scores(of_candidates, None, score="score", seed=seed).assign(score=score))
    return pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True)


def _read_scores(files: str, corpus: Corpus) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield each file with each of its calibrations, or with its raw scores if it has none."""
    for name in split_names(files):
        verdicts = read_scored(name, corpus)
        calibrated = [c for c in verdicts if f"{c}_fallback" in verdicts]
        for score in calibrated or ["raw"]:
            yield name, score, verdicts


def _select_scores(verdicts: pd.DataFrame, column: str) -> pd.DataFrame:
    return verdicts[[*SCORE_KEYS, *TURN]].assign(score=verdicts[column])


def _match_recorded(
    files: list[tuple[str, pd.DataFrame]], score: str, candidates: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the scores of the recorded replies to compare with, and the name of the score on both sides.

    Raise DataError if a file lacks the score, or if it is by another judge.
    """
    judges = candidates[SCORE_KEYS[:2]].drop_duplicates()
    for name, verdicts in files:
        place, instead = Path(name).name, RECORDED_CALIBRATIONS.get(score, score)
        column = next((c for c in (score, instead) if c in verdicts), None)
        if column is None:
            raise DataError(
                Problem(place, f"has no scores {instead} that could be compared with {score}"),
                "Give the calibrated file of predictions, or candidates' files without calibration.",
            )
        by_same_judge = verdicts.merge(judges, on=SCORE_KEYS[:2])
        if by_same_judge.empty:
            by, others = _name_judges(verdicts), _name_judges(judges)
            raise DataError(
                Problem(place, f"is by {by}, while the candidates were scored by {others}"),
                "Give predictions by the judge that scored the candidates, or no predictions.",
            )
        label = score if column == score else f"{score} / {column}"
        yield label, _select_scores(by_same_judge, column).assign(candidate=ORIGINAL)


def _name_judges(verdicts: pd.DataFrame) -> str:
    named = verdicts[SCORE_KEYS[:2]].drop_duplicates().to_numpy()
    return " and ".join(" of ".join(str(n) for n in names if not pd.isna(n)) for names in named)
