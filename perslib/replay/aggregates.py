"""What each candidate reached (PersTurnBench, Table 8): averages, satisfied and dissatisfied shares, distribution."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from perslib.calibrate import to_scale
from perslib.inference import LEVEL, RESAMPLES, SEED, resample_users
from perslib.inference.power import proper_share
from perslib.replay.scores import SCORE, Floats, Scores, by_judge, divided, enough, mean_over, with_bounds

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
    - sat, dsat: shares of turns at 4 and above, 3 and below, after rounding by `perslib.calibrate.to_scale`, so
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
