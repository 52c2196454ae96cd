"""Rank sets: the ranks of each candidate that the data leave open, rather than one bare rank."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from perslib.inference import FEWEST_USERS, LEVEL, RESAMPLES, SEED, joint_sign_flip
from perslib.replay.aggregates import summary
from perslib.replay.scores import EXACT, SCORE, Scores, by_judge, user_means


def rank_sets(
    verdicts: pd.DataFrame,
    score: str = SCORE,
    *,
    inclusion: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """For each candidate the ranks that the data do not rule out, ordered by user macro (a judge after another).

    best_rank = 1 + the number of candidates that are significantly better, worst_rank = k − the number that are
    significantly worse, where all k (k − 1) / 2 paired differences of the user macro are tested at once
    (`perslib.inference.joint_sign_flip`). So with probability `level` every candidate's true rank is in its set
    (Mogstad, Romano, Shaikh & Wilhelm 2024). tied_first: nobody is significantly better. A candidate without any
    score has no rank, is not tied for first, and is not among the k.

    Columns: judge, backbone, candidate, rank (by user macro as observed), best_rank, worst_rank, tied_first,
    user_macro with its interval, turns, unscored, users. With fewer than five users nothing is ruled out.
    """
    shown = ["user_macro", "user_macro_low", "user_macro_high", "turns", "unscored", "users"]
    means = summary(verdicts, score, inclusion=inclusion, resamples=resamples, seed=seed, level=level)
    parts, done = [], 0
    for of in by_judge(verdicts, score, inclusion):
        several = len(of.candidates)
        own = means.iloc[done : done + several].reset_index(drop=True)
        done += several
        beats = _beats(of, 1 - level, resamples, seed)
        own["rank"] = own["user_macro"].rank(method="min", ascending=False).astype("Int64")
        ranked = own["rank"].notna()
        best, worst = 1 + beats.sum(axis=0), int(ranked.sum()) - beats.sum(axis=1)
        own["best_rank"] = pd.Series(best, dtype="Int64").where(ranked)
        own["worst_rank"] = pd.Series(worst, dtype="Int64").where(ranked)
        own["tied_first"] = ranked & (best == 1)
        kept = [*of.judged_by, "candidate", "rank", "best_rank", "worst_rank", "tied_first", *shown]
        parts.append(own[kept].sort_values("user_macro", ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _beats(of: Scores, alpha: float, flips: int, seed: int) -> np.ndarray:
    """Who is significantly better than whom, on the turns both have a score on: [i, j] says i is better than j."""
    k = len(of.candidates)
    beats = np.zeros((k, k), dtype=bool)
    if k < 2 or of.users < FEWEST_USERS:
        return beats
    one, other = np.array(list(combinations(range(k), 2))).T
    differences = user_means(replace(of, score=of.score[:, one] - of.score[:, other]))
    differences[np.abs(differences) < EXACT] = 0.0
    sure = joint_sign_flip(differences, flips, seed) <= alpha + 1e-12
    sure &= np.isfinite(differences).sum(axis=0) >= FEWEST_USERS
    up = np.nansum(differences, axis=0) > 0
    beats[one, other], beats[other, one] = sure & up, sure & ~up
    return beats
