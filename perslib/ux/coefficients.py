"""Agreement of several raters or judges beyond chance.

Each coefficient answers the question somewhat differently. κ and α take the raters' own shares for chance, so that
where nearly all cases are of one kind they are low though the raters hardly ever differ; Gwet's AC1 is not (Gwet 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata, tiecorrect
from sklearn.metrics import cohen_kappa_score

from perslib.errors import DataError, Problem, UnknownName
from perslib.palbench.kappa import fleiss

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def cohen(one: Sequence[object], other: Sequence[object]) -> float:
    """Cohen's κ of two raters over the items that both rated; missing where either rates nothing or chance is all.

    κ = (p_o − p_e) / (1 − p_e).
    """
    both = pd.DataFrame({"one": list(one), "other": list(other)}).dropna()
    if both.empty or len(pd.unique(both.to_numpy().ravel())) < 2:
        return float("nan")
    return float(cohen_kappa_score(both["one"].astype(str), both["other"].astype(str)))


def counted(ratings: pd.DataFrame, categories: Sequence[object] | None = None) -> npt.NDArray[np.float64]:
    """Items × categories, how many raters chose each, from items × raters; missing ratings are not counted."""
    names = sorted(pd.unique(ratings.stack().dropna())) if categories is None else list(categories)
    return np.column_stack([(ratings == name).sum(axis=1).to_numpy(float) for name in names])


def gwet(counts: npt.ArrayLike) -> float:
    """Gwet's AC1 of a table items × categories that counts raters; items with fewer than two ratings give no pair.

    AC1 = (p_a − p_e) / (1 − p_e),  p_e = Σ π_k (1 − π_k) / (q − 1), with π_k the mean share of category k over items
    and q the number of categories (Gwet 2008).
    """
    table = np.asarray(counts, dtype=float)
    raters = table.sum(axis=1)
    if table.ndim != 2 or table.shape[1] < 2 or not (raters >= 2).any():
        return float("nan")
    paired, of = table[raters >= 2], raters[raters >= 2]
    agreed = float(((paired * (paired - 1)).sum(axis=1) / (of * (of - 1))).mean())
    share = (table[raters > 0] / raters[raters > 0, None]).mean(axis=0)
    by_chance = float((share * (1 - share)).sum() / (table.shape[1] - 1))
    return (agreed - by_chance) / (1 - by_chance)


def krippendorff(ratings: pd.DataFrame, level: Level = "nominal") -> float:
    """Krippendorff's α of items × raters, ratings missing where a rater did not rate.

    α = 1 − D_o / D_e: disagreement within items over that of all ratings paired at random, weighed by how far apart
    two categories are: δ² = [c ≠ k], (ranks between them)², or (c − k)² for nominal, ordinal and interval ratings
    (Krippendorff 2011). Missing where no item has two ratings, or all ratings are equal.
    """
    if level not in LEVELS:
        raise UnknownName("level of measurement", level, LEVELS)
    names = sorted(pd.unique(ratings.stack().dropna()))
    table = counted(ratings, names)
    raters = table.sum(axis=1)
    table, raters = table[raters >= 2], raters[raters >= 2]
    coincidence = np.einsum("ij,ik,i->jk", table, table, 1 / (raters - 1)) if len(table) else np.zeros((0, 0))
    coincidence[np.diag_indices_from(coincidence)] -= (
        (table / (raters - 1)[:, None]).sum(axis=0) if len(table) else 0
    )
    total = coincidence.sum(axis=0)
    apart = _distances(names, total, level) if len(table) else coincidence
    expected = float((np.outer(total, total) * apart).sum() / (total.sum() - 1)) if len(table) else 0.0
    return 1 - float((coincidence * apart).sum()) / expected if expected > 0 else float("nan")


def _distances(names: list[object], total: npt.NDArray[np.float64], level: Level) -> npt.NDArray[np.float64]:
    """δ² of every two categories."""
    if level == "nominal":
        return 1 - np.eye(len(names))
    if level == "ordinal":  # a category stands in the middle of the ratings that are of it
        at = np.cumsum(total) - total / 2
    else:
        try:
            at = np.array([float(name) for name in names])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise DataError(
                Problem("ratings", "are no numbers"), 'Take level="nominal" or number them.'
            ) from None
    return (at[:, None] - at) ** 2


def kendall_w(rankings: pd.DataFrame) -> float:
    """Kendall's W of items × judges: 1 where all judges rank the items alike, 0 where they have nothing in common.

    W = 12 S / (m² (n³ − n) − m Σ T), with S the squared deviations of the items' rank sums, T = Σ (t³ − t) over the
    ties of each judge. `rankings` may hold any scores that order the items; items that a judge left out are dropped.
    """
    known = rankings.dropna()
    n, m = known.shape
    if n < 2 or m < 2:
        return float("nan")
    ranks = np.column_stack([rankdata(known[c].to_numpy(float)) for c in known])
    tied = sum((1 - tiecorrect(ranks[:, j])) * (n**3 - n) for j in range(m))
    sums = ranks.sum(axis=1)
    possible = m**2 * (n**3 - n) - m * tied
    return float(12 * ((sums - sums.mean()) ** 2).sum() / possible) if possible > 0 else float("nan")


def raters_agreement(ratings: pd.DataFrame, level: Level = "nominal") -> dict[str, float]:
    """All that applies to items × raters at once: share of equal pairs, Fleiss κ, Krippendorff α, Gwet AC1.

    Fleiss κ wants the same number of ratings of every item, so it goes by the items that all rated.
    """
    table = counted(ratings)
    n = table.sum(axis=1)
    rated = n >= 2
    pairs = (table * (table - 1)).sum(axis=1)[rated] / (n * (n - 1))[rated]
    whole = counted(ratings.dropna(), sorted(pd.unique(ratings.stack().dropna())))
    return {
        "equal": float(pairs.mean()) if rated.any() else float("nan"),
        "fleiss": fleiss(whole),
        "krippendorff": krippendorff(ratings, level),
        "ac1": gwet(table),
        "items": float(rated.sum()),
    }
