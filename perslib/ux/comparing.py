"""Comparing raters, judges or models: agreement beyond chance, paired tests, shares, and how many cases it takes.

Each coefficient of agreement answers the question somewhat differently. κ and α take the raters' own shares for chance,
so that where nearly all cases are of one kind they are low though the raters hardly ever differ; Gwet's AC1 is not
(Gwet 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import ceil
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom, norm
from sklearn.metrics import cohen_kappa_score

from perslib.errors import DataError, Problem, UnknownName
from perslib.palbench.measures import fleiss
from perslib.stats import (
    LEVEL,
    RESAMPLES,
    SEED,
    holm,
    interval,
    resample_units,
    resampled_mean,
    two_sided_p,
    wilson,
)
from perslib.stats.power import proper_share

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


Floats = npt.NDArray[np.float64]


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided p of McNemar's test: of the cases that one alone gets right, half should be either's."""
    n = only_a + only_b
    return min(1.0, 2 * float(binom.cdf(min(only_a, only_b), n, 0.5))) if n else 1.0


def paired_differences(
    outcomes: pd.DataFrame,
    units: npt.ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Every two columns of cases × contenders (1 right or good, 0 not, missing: not tried) on their common cases.

    Columns: a, b, cases, only_a, only_b, difference (share of a less share of b), low, high (units resampled together;
    the case unless `units` names them), p (bootstrap), p_mcnemar, and both corrected over all pairs (Holm).
    """
    values = outcomes.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    names = np.arange(len(values)) if units is None else np.asarray(units, dtype=object)
    if len(names) != len(values):
        raise DataError(Problem("units", f"names {len(names)} for {len(values)} cases"))
    group, weights = resample_units(names, resamples, seed)
    rows = []
    for i, j in combinations(range(values.shape[1]), 2):
        a, b = values[:, i], values[:, j]
        common = ~np.isnan(a) & ~np.isnan(b)
        apart = np.where(common, a - b, 0.0)
        found = resampled_mean(apart[common], group[common], weights)
        low, high = interval(found[1:], level)
        only_a, only_b = (int((s * apart > 0).sum()) for s in (1, -1))
        rows.append(
            {
                **{"a": outcomes.columns[i], "b": outcomes.columns[j], "cases": int(common.sum())},
                **{"only_a": only_a, "only_b": only_b},
                **{"difference": float(found[0]), "low": low, "high": high},
                "p": two_sided_p(found[1:]),
                "p_mcnemar": mcnemar(only_a, only_b),
            }
        )
    columns = ["a", "b", "cases", "only_a", "only_b", "difference", "low", "high", "p", "p_mcnemar"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=holm(table["p"]), p_mcnemar_holm=holm(table["p_mcnemar"]))


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


def cases_needed(
    difference: float,
    *,
    share: float = 0.5,
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = LEVEL,
) -> int:
    """Cases for a paired difference of two shares, `difference` in percentage points.

    On one case each is right (1) or not (0), both with probability p near `share`, and correlated by ρ over cases,
    so that a difference has variance 2 p (1 − p) (1 − ρ), and

        n = (z_{(1+level)/2} + z_power)² · 2 p (1 − p) (1 − ρ) / δ²

    3 points at p = .5, ρ = .5 and 80 % power take 2,181 cases. `correlation=0` is for different cases, n each.
    """
    for name, value in (("power", power), ("level", level), ("share", share)):
        proper_share(name, value)
    if not -1 <= correlation < 1:
        raise DataError(Problem("correlation", f"is {correlation:g}, expected −1 to below 1"))
    if difference == 0:
        raise DataError(
            Problem("difference", "is 0, which no number of cases shows"), "Say how many points matter."
        )
    z = norm.ppf((1 + level) / 2) + norm.ppf(power)
    variance = 2 * share * (1 - share) * (1 - correlation)
    return ceil(z**2 * variance / (difference / 100) ** 2)
