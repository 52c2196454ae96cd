"""Percentages of cases: their intervals, and whether two of them differ where only the percentages are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from perslib.inference import LEVEL, holm, wilson

Floats = npt.NDArray[np.float64]


def unpaired(
    a: npt.ArrayLike, n_a: npt.ArrayLike, b: npt.ArrayLike, n_b: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """z and two-sided p of "two shares are equal", from counts of successes, with the pooled variance.

    For cases that differ, or where only percentages were published. On the same cases a paired test sees more.
    """
    a, n_a, b, n_b = (np.asarray(v, dtype=float) for v in (a, n_a, b, n_b))
    pooled = (a + b) / (n_a + n_b)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(spread > 0, (a / n_a - b / n_b) / np.where(spread > 0, spread, 1.0), 0.0)
    return z, 2 * norm.sf(np.abs(z))


def rank_sets_of_shares(shares: pd.Series, n: int, level: float = LEVEL) -> pd.DataFrame:
    """The ranks that published percentages leave open: model → share in percent of `n` cases.

    All pairs are tested by `unpaired` and corrected together (Holm); best_rank = 1 + the number of models that are
    significantly better, worst_rank = k − the number that are significantly worse. On the same cases the truth is
    likely paired, with differences that are surer than these: the sets are on the wide side.

    Columns: model, percent, low, high (Wilson), rank, best_rank, worst_rank, tied_first; best first.
    """
    known = shares.dropna().sort_values(ascending=False, kind="stable")
    counts, k = known.to_numpy(float) / 100 * n, len(known)
    better = np.zeros((k, k), dtype=bool)
    if k > 1:
        one, other = np.array(list(combinations(range(k), 2))).T
        _, p = unpaired(counts[one], n, counts[other], n)
        better[one, other] = holm(p) <= 1 - level  # sorted: whoever stands first has the greater share
    low, high = wilson(counts, n, level)
    return pd.DataFrame(
        {
            "model": known.index,
            "percent": known.to_numpy(float),
            "low": 100 * low,
            "high": 100 * high,
            "rank": known.rank(method="min", ascending=False).astype(int).to_numpy(),
            "best_rank": 1 + better.sum(axis=0),
            "worst_rank": k - better.sum(axis=1),
            "tied_first": better.sum(axis=0) == 0,
        }
    )
