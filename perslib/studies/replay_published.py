"""Published score files on the replay page: aggregated as their authors do, and compared turn by turn.

A published comparison with the recorded replies takes two files: the scores of candidates' replies (`read_scored`), and
the same judge's scores of the recorded ones (`read_predictions`). The two are calibrated differently, the one by
reference and the other by block, so that even a candidate that repeats the recorded replies wins and loses some turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import DataError, Problem
from perslib.replay import (
    ORIGINAL,
    against,
    all_pairs,
    official_interval,
    read_predictions,
    read_scored,
    summary,
)
from perslib.report.tables import with_interval
from perslib.stats import SEED
from perslib.studies.extent import listed

WHO = ["judge", "backbone", "candidate"]
#: Calibration of candidates' replies → the one that published files of the recorded replies have in its place.
OF_RECORDED = {"reference_cdf": "cdf", "reference_mean_shift": "mean_shift", "raw": "raw"}


def aggregated(files: str, corpus: Corpus) -> pd.DataFrame:
    """Published score files, aggregated as their authors do: one row a file, judge and candidate.

    The score is the calibrated one where the file has one. Columns: file, candidate, judge, score, turns, micro,
    user_macro with the published bootstrap interval, task_macro, block_macro, dsat, n1 … n5.
    """
    parts = []
    for name, score, verdicts in _scores_in(files, corpus):
        found = summary(verdicts, score, resamples=0)
        means = verdicts.groupby([*WHO, "user"], dropna=False)[score].mean()
        of = means.reset_index().groupby(WHO, dropna=False, sort=False)
        bounds = [
            official_interval(of.get_group(tuple(key)).set_index("user")[score].dropna())
            for key in found[WHO].itertuples(index=False)
        ]
        macro = [with_interval(v, *b) for v, b in zip(found["user_macro"], bounds)]
        parts.append(found.assign(file=Path(name).name, score=score, user_macro=macro))
    about = ["file", "candidate", "judge", "backbone", "score", "turns"]
    means_of = ["micro", "user_macro", "task_macro", "block_macro", "dsat"]
    return pd.concat(parts, ignore_index=True)[[*about, *means_of, *(f"n{s}" for s in range(1, 6))]]


def compared(files: str, predictions: str, corpus: Corpus, seed: int = SEED) -> pd.DataFrame:
    """Every two candidates of published files on their common turns, by `against` and `all_pairs`.

    With `predictions`, files of the same judge's scores of the recorded replies, every candidate is compared with those
    first. Where both sides have the calibration it is taken for both, else the one that stands in its place
    (`OF_RECORDED`); `score` names it, or the two. p is corrected within these comparisons, and within the pairs.
    """
    recorded = [(name, read_predictions(name, corpus)) for name in listed(predictions)]
    by_score: dict[str, list[pd.DataFrame]] = {}
    for _, score, verdicts in _scores_in(files, corpus):
        by_score.setdefault(score, []).append(_scores(verdicts, score))
    tables = []
    for score, parts in by_score.items():
        of_candidates = pd.concat(parts, ignore_index=True)
        for label, originals in _recorded(recorded, score, of_candidates):
            both = pd.concat([of_candidates.merge(originals[WHO[:2]].drop_duplicates()), originals])
            found = against(both.reset_index(drop=True), ORIGINAL, score="score", seed=seed)
            tables.append(found.assign(score=label))
        tables.append(all_pairs(of_candidates, score="score", seed=seed).assign(score=score))
    return pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True)


def _scores_in(files: str, corpus: Corpus) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Each file with each of its calibrations, or its raw scores where it has none."""
    for name in listed(files):
        verdicts = read_scored(name, corpus)
        calibrated = [c for c in verdicts if f"{c}_fallback" in verdicts]
        for score in calibrated or ["raw"]:
            yield name, score, verdicts


def _scores(verdicts: pd.DataFrame, column: str) -> pd.DataFrame:
    return verdicts[[*WHO, *TURN]].assign(score=verdicts[column])


def _recorded(
    files: list[tuple[str, pd.DataFrame]], score: str, candidates: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The scores of the recorded replies to compare with, and what those of both sides are called."""
    judges = candidates[WHO[:2]].drop_duplicates()
    for name, verdicts in files:
        place = Path(name).name
        column = next((c for c in (score, OF_RECORDED.get(score)) if c in verdicts), None)
        if column is None:
            raise DataError(
                Problem(
                    place, f"has no scores under {OF_RECORDED.get(score, score)}, to compare {score} with"
                ),
                "Give the calibrated file of predictions, or candidates' files without calibration.",
            )
        own = verdicts.merge(judges, on=WHO[:2])
        if own.empty:
            said, scored = (
                " and ".join(map(_judge, f[WHO[:2]].drop_duplicates().to_numpy())) for f in (verdicts, judges)
            )
            raise DataError(
                Problem(place, f"is by {said}, while the candidates were scored by {scored}"),
                "Give the predictions of the judge that scored the candidates, or none.",
            )
        yield (
            score if column == score else f"{score} / {column}",
            _scores(own, column).assign(candidate=ORIGINAL),
        )


def _judge(names: list[str]) -> str:
    return " of ".join(str(n) for n in names if not pd.isna(n))
