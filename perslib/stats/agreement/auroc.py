"""How well scores part good cases from bad ones, under many weights of users at once."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from perslib.stats.resample.leave_one_out import Bools, Floats, Ints, ratio

#: Columns of weights under which AUROC is computed together.
AT_ONCE = 200
#: Up to as many users AUROC counts pairs of users.
FEW_USERS = 300


def auroc_under(good: Bools, p: Floats, user: Ints, weights: Floats) -> Floats:
    """Compute AUROC under each column of user weights: of all pairs of a good and a bad case, how many are in order;
    ties count half.

    Both ways are exact. Of few users, the pairs of each two are counted once and weighed (measured:
    `benchmarks/intervals.py`); of many, the bad weight below every good case is a running sum.
    """
    scores, level = np.unique(p, return_inverse=True)
    above, below = (  # scores × users
        csr_array((np.ones(side.sum()), (level[side], user[side])), shape=(len(scores), len(weights)))
        for side in (good, ~good)
    )
    if few := len(weights) <= FEW_USERS:
        pairs = above.T @ _below(below.toarray())
    areas = []
    for begin in range(0, weights.shape[1], AT_ONCE):
        part = weights[:, begin : begin + AT_ONCE].astype(float)
        ordered = part * (pairs @ part) if few else (above @ part) * _below(below @ part)
        areas.append(ratio(ordered.sum(axis=0), (above.sum(axis=0) @ part) * (below.sum(axis=0) @ part)))
    return np.concatenate(areas)


def _below(bad: Floats) -> Floats:
    """Return how many bad cases lie below each score; those at it count half."""
    return np.cumsum(bad, axis=0) - bad / 2
