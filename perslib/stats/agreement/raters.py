"""Agreement of raters beyond chance.

    raters_agreement(ratings)      # items × raters: share of equal pairs, Fleiss κ, Krippendorff α, Gwet AC1
    cohen(one, other)              # Cohen's κ of two raters; cohen_under: under each column of user weights

Each coefficient answers the question somewhat differently. κ and α take the raters' own shares for chance, so that
where nearly all cases are of one kind they are low though the raters hardly ever differ; Gwet's AC1 is not (Gwet 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import cohen_kappa_score

from perslib.errors import DataError, Problem, check_names
from perslib.stats.resample.leave_one_out import FEWEST_USERS, Floats, Ints, Resamples, floats, ratio

Level = Literal["nominal", "ordinal", "interval"]


def cohen(one: Sequence[object], other: Sequence[object]) -> float:
    """Return Cohen's κ of two raters over the items that both rated; missing where either rates nothing or chance is
    all.

    κ = (p_o − p_e) / (1 − p_e).
    """
    both = pd.DataFrame({"one": list(one), "other": list(other)}).dropna()
    if both.empty or len(pd.unique(both.to_numpy().ravel())) < 2:
        return float("nan")
    return float(cohen_kappa_score(both["one"].astype(str), both["other"].astype(str)))


def cohen_under(one: npt.NDArray[Any], other: npt.NDArray[Any], units: Resamples) -> Floats:
    """Return Cohen's κ of two raters who rated every row, under each column of the units' weights; missing where chance
    is all.
    """
    n, equal = units.total(np.ones(len(one))), units.total(one == other)
    chance = sum(units.total(one == name) * units.total(other == name) for name in {*one, *other})
    return ratio(n * equal - chance, n**2 - chance)


def count_ratings(ratings: pd.DataFrame) -> Floats:
    """Count for each item how many raters chose each category, from items × raters; missing ratings do not count."""
    names = sorted(pd.unique(ratings.stack().dropna()))
    return np.column_stack([(ratings == name).sum(axis=1).to_numpy(float) for name in names])


def fleiss(counts: npt.ArrayLike) -> float:
    """Return Fleiss' κ of a table items × categories that counts how many raters chose each category.

    κ = (P̄ − P_e) / (1 − P_e), with P̄ the mean share of agreeing pairs of raters and P_e = Σ (share of category)².
    Missing where it is undefined: no item, one rater, or only one category ever chosen.
    """
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not len(table):
        return float("nan")
    raters = table.sum(axis=1)
    if (raters != raters[0]).any() or raters[0] < 2:
        return float("nan")
    observed = float(((table**2).sum(axis=1) - raters).mean() / (raters[0] * (raters[0] - 1)))
    expected = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")


def gwet(counts: npt.ArrayLike) -> float:
    """Return Gwet's AC1 of a table items × categories that counts raters; items with fewer than two ratings give no
    pair.

    AC1 = (p_a − p_e) / (1 − p_e),  p_e = Σ π_k (1 − π_k) / (q − 1), with π_k the mean share of category k over items
    and q the number of categories (Gwet 2008).
    """
    table = np.asarray(counts, dtype=float)
    raters = table.sum(axis=1)
    if table.ndim != 2 or table.shape[1] < 2 or not (raters >= 2).any():
        return float("nan")
    share = (table[raters > 0] / raters[raters > 0, None]).mean(axis=0)
    by_chance = float((share * (1 - share)).sum() / (table.shape[1] - 1))
    return (_equal_pairs(table) - by_chance) / (1 - by_chance)


def _equal_pairs(table: Floats) -> float:
    """Return the share of a item's pairs of ratings that are equal, averaged over items with two ratings or more."""
    raters = table.sum(axis=1)
    table, raters = table[raters >= 2], raters[raters >= 2]
    if not len(table):
        return float("nan")
    return float(((table * (table - 1)).sum(axis=1) / (raters * (raters - 1))).mean())


def krippendorff(ratings: pd.DataFrame, level: Level = "nominal") -> float:
    """Return Krippendorff's α of items × raters, ratings missing where a rater did not rate.

    α = 1 − D_o / D_e: disagreement within items over that of all ratings paired at random, weighed by how far apart
    two categories are: δ² = [c ≠ k], (ranks between them)², or (c − k)² for nominal, ordinal and interval ratings
    (Krippendorff 2011). Missing where no item has two ratings, or all ratings are equal.
    """
    check_names("level of measurement", level, get_args(Level))
    rated = ratings[ratings.notna().sum(axis=1) >= 2]
    names = sorted(pd.unique(rated.stack().dropna()))
    if len(names) < 2:
        return float("nan")
    counts = count_ratings(rated)
    weighed = counts / (counts.sum(axis=1, keepdims=True) - 1)
    pairs = weighed.T @ counts - np.diag(weighed.sum(axis=0))
    chosen = pairs.sum(axis=0)
    places = np.cumsum(chosen) - chosen / 2
    if level == "interval":
        try:
            places = floats(names)
        except (TypeError, ValueError):
            raise DataError(Problem("ratings", "are no numbers"), 'Take level="nominal" or number them.') from None
    distances = 1 - np.eye(len(names)) if level == "nominal" else np.subtract.outer(places, places) ** 2
    return float(1 - (chosen.sum() - 1) * (pairs * distances).sum() / (chosen @ distances @ chosen))


def raters_agreement(ratings: pd.DataFrame) -> dict[str, float]:
    """Return all that applies to items × raters at once: share of equal pairs, Fleiss κ, Krippendorff α, Gwet AC1.

    Fleiss κ wants the same number of ratings of every item, so it goes by the items that all rated.
    """
    table = count_ratings(ratings)
    complete = ratings.notna().to_numpy().all(axis=1)
    return {
        "equal": _equal_pairs(table),
        "fleiss": fleiss(table[complete]),
        "krippendorff": krippendorff(ratings),
        "ac1": gwet(table),
        "items": float((table.sum(axis=1) >= 2).sum()),
    }


def find_panels(user: npt.NDArray[Any], shared: Ints) -> Ints:
    """Return the panel of each choice: people are in one who share a panel, or two replies, themselves or by way of others.

    Where that leaves fewer panels than an interval needs, each person is one.
    """
    people, n = pd.factorize(user)[0], len(set(user))
    size = n + int(shared.max(initial=-1)) + 1
    _, label = connected_components(
        coo_matrix((np.ones(len(people)), (people, n + shared)), shape=(size, size)), directed=False
    )
    panels = np.asarray(pd.factorize(label[people])[0])
    return panels if panels.max(initial=0) + 1 >= FEWEST_USERS else people
