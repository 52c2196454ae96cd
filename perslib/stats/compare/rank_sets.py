"""The ranks that data leave open; rows, methods and units as of `perslib.stats.compare.paired`.

rank_sets(scores, unit=users)                    # for each column the ranks that the data do not rule out
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.stats.compare.paired import EXACT
from perslib.stats.resample.leave_one_out import FEWEST_FLIPPED, FLIPS, LEVEL, SEED, Bools, Floats, floats, ratio
from perslib.stats.resample.sign_flips import joint_sign_flip


def rank_sets(
    scores: pd.DataFrame,
    unit: npt.ArrayLike,
    *,
    weight: npt.ArrayLike | None = None,
    flips: int = FLIPS,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return for each column of rows × contenders the ranks that the data do not rule out, in the order of the columns.

    All paired differences of the units' means are tested at once (`joint_sign_flip`), so with probability `level` every
    contender's true rank is in its set (Mogstad, Romano, Shaikh & Wilhelm 2024). With fewer than five units nothing is
    ruled out.

    Parameters
    ----------
    scores : rows × contenders, missing where one was not tried.
    unit : what was sampled, a name for each row.
    weight : how much each row counts within its unit.
    flips, seed, level : how many flips of signs, drawn by which seed, and the level of the sets.

    Columns: contender, mean (of the units' means), rank, best_rank, worst_rank, tied_first.
    """
    group, names = pd.factorize(np.asarray(unit, dtype=object), sort=True)
    count = np.ones(len(group)) if weight is None else np.asarray(weight, dtype=float)
    values = floats(scores)

    def unit_means(of: Floats) -> Floats:
        known = np.isfinite(of)
        total, n = (
            np.column_stack([np.bincount(group, column, len(names)) for column in (count[:, None] * part).T])
            for part in (np.where(known, of, 0.0), known)
        )
        return ratio(total, n)

    k = values.shape[1]
    better = np.zeros((k, k), dtype=bool)
    if k > 1 and len(names) >= FEWEST_FLIPPED:
        one, other = np.array(list(combinations(range(k), 2))).T
        differences = unit_means(values[:, one] - values[:, other])
        differences[np.abs(differences) < EXACT] = 0.0
        sure = joint_sign_flip(differences, flips, seed) <= 1 - level + 1e-12
        sure &= np.isfinite(differences).sum(axis=0) >= FEWEST_FLIPPED
        up = np.nansum(differences, axis=0) > 0
        better[one, other], better[other, one] = sure & up, sure & ~up
    means = pd.DataFrame(unit_means(values), columns=scores.columns).mean()
    return ranks_left_open(means, better).rename_axis("contender").reset_index()


def ranks_left_open(means: pd.Series, better: Bools) -> pd.DataFrame:
    """Return the ranks that tests leave open: `better[i, j]` says that i is significantly better than j.

    best_rank = 1 + the number that are significantly better, worst_rank = k − the number that are significantly worse;
    tied_first: nobody is significantly better. What has no mean has no rank and is not among the k.

    Columns: mean, rank (as observed), best_rank, worst_rank, tied_first; indexed as the means.
    """
    ranked = means.notna().to_numpy()
    best, worst = 1 + better.sum(axis=0), int(ranked.sum()) - better.sum(axis=1)
    table = pd.DataFrame({"mean": means, "rank": means.rank(method="min", ascending=False).astype("Int64")})
    for name, ranks in (("best_rank", best), ("worst_rank", worst)):
        table[name] = pd.Series(ranks, means.index, dtype="Int64").where(ranked)
    return table.assign(tied_first=ranked & (best == 1))
