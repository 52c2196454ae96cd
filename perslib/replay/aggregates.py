"""What each candidate reached (PersTurnBench, Table 8): averages, satisfied and dissatisfied shares, distribution.

Beside the bare rank, the ranks of each candidate that the data leave open; and, where people rated some of the
replies, means of all that the judge rated, powered by both.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.replay.replies import ORIGINAL
from perslib.replay.scores import (
    EXACT,
    SCORE,
    Floats,
    Scores,
    aligned,
    by_judge,
    divided,
    enough,
    mean_over,
    user_means,
    with_bounds,
)
from perslib.stats import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    Estimate,
    classical_mean,
    joint_sign_flip,
    ppi_mean,
    resample_users,
    to_scale,
)
from perslib.stats.power import proper_share

#: From here on a user counts as satisfied.
SATISFIED = 4


def summary(
    verdicts: pd.DataFrame,
    score: str = SCORE,
    *,
    inclusion: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """One row a judge, backbone and candidate.

    - candidate; turns (scored), unscored (judged without a score: in no average, and counted here), users, tasks,
      blocks (a block is one user's turns in one scenario)
    - micro, the mean over turns; user_macro, task_macro, block_macro, the means of the users', scenarios' and
      blocks' means
    - sat, dsat: shares of turns at 4 and above, 3 and below, after rounding by `perslib.stats.to_scale`, so
      that every scored turn is one of the two
    - each of these six with …_low and …_high, a percentile interval over resampled users (from five users on)
    - n1 … n5: how many scores round to 1 … 5; share1 … share5: the share of turns they stand for

    With `inclusion`, the replay set the turns were drawn in, every mean and share weighs a turn by the inverse of
    its probability (Hájek): within groups, that is; users, scenarios and blocks count alike. n1 … n5 stay counts.
    """
    proper_share("level", level)
    rows = []
    for of in by_judge(verdicts, score, inclusion):
        weights = resample_users(of.users, resamples, seed).astype(float)
        for place, candidate in enumerate(of.candidates):
            rows.append({**of.judged_by, "candidate": candidate, **_row(of, place, weights, level)})
    return pd.DataFrame(rows)


def _row(of: Scores, place: int, weights: Floats, level: float) -> dict[str, Any]:
    score = of.score[:, place]
    known = np.isfinite(score)
    whole = to_scale(score)
    turns, total = of.cells(of.weight * known), of.cells(np.where(known, of.weight * score, 0))
    satisfied = of.cells(of.weight * (known & (whole >= SATISFIED)))
    blocks, by_block = turns > 0, divided(total, turns)
    present, by_user = blocks.any(axis=1), divided(total.sum(axis=1), turns.sum(axis=1))
    sums = np.vstack(
        [
            [turns.sum(axis=1), total.sum(axis=1), satisfied.sum(axis=1)],
            [present, np.nan_to_num(by_user), blocks.sum(axis=1), np.nan_to_num(by_block).sum(axis=1)],
            turns.T,
            total.T,
        ]
    )
    drawn = sums @ enough(weights, int(present.sum()))
    n, s, sat, users, of_users, cells, of_cells = drawn[:7]
    tasks, of_tasks = np.split(drawn[7:], 2)
    values = {
        "micro": divided(s, n),
        "user_macro": divided(of_users, users),
        "task_macro": mean_over(divided(of_tasks, tasks)),
        "block_macro": divided(of_cells, cells),
        "sat": divided(sat, n),
        "dsat": divided(n - sat, n),
    }
    counts = {
        "turns": int(known.sum()),
        "unscored": int((of.judged[:, place] & ~known).sum()),
        "users": int(present.sum()),
        "tasks": int(blocks.any(axis=0).sum()),
        "blocks": int(blocks.sum()),
    }
    bounds = {k: v for name, drawn in values.items() for k, v in with_bounds(name, drawn, level).items()}
    by_score = {s: whole == s for s in range(1, 6)}
    shares = {
        f"share{s}": of.weight[at].sum() / of.weight[known].sum() for s, at in by_score.items() if known.any()
    }
    return {**counts, **bounds, **{f"n{s}": int(at.sum()) for s, at in by_score.items()}, **shares}


def official_interval(
    user_means: Mapping[str, float] | pd.Series, seed: int = SEED, resamples: int = 1000
) -> tuple[float, float]:
    """The published 95 % interval of the user macro, number for number.

    `random.Random(seed).choice` over the sorted users, as many as there are, `resamples` times; of the sorted
    means those at 2.5 % and 97.5 % (places 25 and 975 of 1,000).
    """
    means = pd.Series(user_means, dtype=float).dropna()
    users = sorted(means.index)
    if not users:
        return float("nan"), float("nan")
    of, chance = dict(zip(means.index, means.tolist(), strict=True)), random.Random(seed)
    drawn = sorted(sum(of[chance.choice(users)] for _ in users) / len(users) for _ in range(resamples))
    return drawn[int(0.025 * resamples)], drawn[int(0.975 * resamples)]


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
    (`perslib.stats.joint_sign_flip`). So with probability `level` every candidate's true rank is in its set
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


def prediction_powered(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    score: str = SCORE,
    *,
    other: str | None = None,
    gold: str = "score",
    level: float = LEVEL,
) -> pd.DataFrame:
    """Each candidate's mean score by people, with the judge's help: `perslib.stats.ppi_mean`, clustered by user.

    `labels` holds people's scores in the column `gold` by candidate and the keys of a turn (without `candidate`, as in
    the turns of a corpus, they are on the recorded replies); which replies were rated must have been left to chance.
    With `other`, the mean difference to that candidate, on the turns where both were judged, takes the mean's place.

    Columns: judge, backbone, candidate, other, labelled and unlabelled (judged replies or pairs), users (with
    labels), left_out (labels on replies that this judge did not see), classical (labels alone) and powered (both),
    each with …_low and …_high, lam (the weight given to the judge; near 0 where it knows nothing).
    """
    proper_share("level", level)
    rows = []
    for of in by_judge(verdicts, score):
        known = aligned(labels, gold, of)
        seen = _counts(labels, gold, of.candidates)
        for place, candidate in enumerate(of.candidates):
            if candidate != other:
                matched = int((np.isfinite(known[:, place]) & of.judged[:, place]).sum())
                about = {**of.judged_by, "candidate": candidate, "other": other}
                rows.append(
                    about | _powered(of, known, place, other, level) | {"left_out": seen[place] - matched}
                )
    return pd.DataFrame(rows)


def _powered(of: Scores, known: Floats, place: int, other: str | None, level: float) -> dict[str, Any]:
    gold, judged, asked = known[:, place], of.score[:, place], of.judged[:, place]
    if other is not None:
        to = of.column(other)
        gold, judged, asked = gold - known[:, to], judged - of.score[:, to], asked & of.judged[:, to]
    labelled = asked & np.isfinite(gold)
    rest = asked & ~labelled
    if labelled.any():
        few, many = of.user[labelled], of.user[rest]
        alone = classical_mean(gold[labelled], cluster=few, level=level)
        parts = (gold[labelled], judged[labelled], judged[rest])
        both = ppi_mean(*parts, cluster=few, cluster_unlabelled=many, level=level)
    else:
        alone = both = Estimate(np.nan, np.nan, np.nan, np.nan, 0, int(rest.sum()), 0)
    return {
        "labelled": both.n,
        "unlabelled": both.N,
        "users": both.clusters,
        **{"classical": alone.value, "classical_low": alone.low, "classical_high": alone.high},
        **{"powered": both.value, "powered_low": both.low, "powered_high": both.high, "lam": both.lam},
    }


def _counts(labels: pd.DataFrame, gold: str, candidates: list[str]) -> list[int]:
    """How many labels each candidate has in all."""
    rated = labels.dropna(subset=gold)
    names = rated["candidate"] if "candidate" in rated else pd.Series(ORIGINAL, rated.index)
    names = names.astype("str").fillna(ORIGINAL)
    return [int((names == c).sum()) for c in candidates]
