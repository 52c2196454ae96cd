"""Methods compared on the same rows: paired differences, and the ranks that they leave open.

    compare_paired(scores, unit=users)               # every two columns of rows × methods
    compare_paired(scores, unit=users, base="none")  # every other column against one
    rank_sets(scores, unit=users)                    # for each column the ranks that the data do not rule out
    rank_sets_of_shares(percents, n=500)             # the same where only percentages were published

Rows are what all methods were tried on (turns, cases, samples), missing where one was not; units are what was
sampled (users, or the rows themselves).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom, norm

from perslib.errors import DataError, Problem, UnknownName
from perslib.stats.resample.resamples import (
    FEWEST_FLIPPED,
    FLIPS,
    LEVEL,
    SEED,
    Floats,
    Resamples,
    estimate,
    holm,
    joint_sign_flip,
    ratio,
    sign_flip,
    with_wilson,
)

Test = Literal["t", "sign flip", "mcnemar"]
MOST_FLIPPED = 1000
"""Units up to which signs are flipped: beyond, the t says the same and costs less."""
#: Differences that are smaller are rounding.
EXACT = 1e-9


def compare_paired(
    scores: pd.DataFrame,
    unit: npt.ArrayLike | None = None,
    *,
    base: Any = None,
    tests: Sequence[Test] = ("sign flip",),
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Compare every two columns of rows × methods on the rows that both have, or every other one with `base`.

    Parameters
    ----------
    scores : rows × methods, missing where a method was not tried.
    unit : what was sampled, a name for each row; the row itself where none is given.
    base : the column that all others are compared with: it is `b` in every pair.
    tests : how p is found: the signs of units' totals flipped, the t of the interval, or McNemar's exact test for scores
        of 0 and 1. The first is `difference_p`, a further one has its name added: `difference_p_mcnemar`.
    seed, level : which flips of signs are drawn, and the level of intervals.

    Columns: a, b, rows (common), units, ahead and behind (rows where a has more, and less), difference (mean of a less b),
    difference_low, difference_high, difference_p, difference_p_holm (corrected over all pairs).
    """
    values = scores.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    names = np.arange(len(values)) if unit is None else np.asarray(unit, dtype=object)
    if len(names) != len(values):
        raise DataError(Problem("unit", f"names {len(names)} units for {len(values)} rows"))
    if base is not None and base not in scores:
        raise UnknownName("column to compare with", str(base), map(str, scores.columns))
    drawn = Resamples(names, level)
    columns = list(scores.columns)
    pairs = (
        combinations(range(len(columns)), 2)
        if base is None
        else ((i, columns.index(base)) for i, name in enumerate(columns) if name != base)
    )
    rows = []
    for i, j in pairs:
        apart = values[:, i] - values[:, j]
        about = {"a": columns[i], "b": columns[j], "rows": int(np.isfinite(apart).sum()), "units": drawn.count(apart)}
        about |= {"ahead": int((apart > EXACT).sum()), "behind": int((apart < -EXACT).sum())}
        means = drawn.mean(apart)
        p = {_column(test, tests): _p(test, apart, means, drawn, seed) for test in tests}
        rows.append({**about, **drawn.estimate(means, "difference"), **p})
    kinds = [_column(test, tests) for test in tests]
    bounds = ["difference", "difference_low", "difference_high"]
    table = pd.DataFrame(rows, columns=["a", "b", "rows", "units", "ahead", "behind", *bounds, *kinds])
    return table.assign(**{f"{kind}_holm": holm(table[kind].to_numpy(float)) for kind in kinds})


def _column(test: Test, tests: Sequence[Test]) -> str:
    return "difference_p" if test == tests[0] else f"difference_p_{test.replace(' ', '_')}"


def _p(test: Test, apart: Floats, means: Floats, drawn: Resamples, seed: int) -> float:
    if test == "mcnemar":
        return mcnemar(int((apart > 0).sum()), int((apart < 0).sum()))
    if test == "t" or len(drawn) > MOST_FLIPPED:
        return estimate(means, p=True)["value_p"]
    there = drawn.by_unit(np.isfinite(apart)) > 0
    return sign_flip(drawn.by_unit(apart)[there], seed=seed) if there.sum() >= FEWEST_FLIPPED else float("nan")


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of McNemar's test: of the rows that one alone gets right, half should be either's."""
    n = only_a + only_b
    return min(1.0, 2 * float(binom.cdf(min(only_a, only_b), n, 0.5))) if n else 1.0


def rank_sets(
    scores: pd.DataFrame,
    unit: npt.ArrayLike,
    *,
    weight: npt.ArrayLike | None = None,
    flips: int = FLIPS,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """For each column of rows × contenders the ranks that the data do not rule out, in the order of the columns.

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
    values = scores.to_numpy(dtype=float, na_value=np.nan)

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
        apart = unit_means(values[:, one] - values[:, other])
        apart[np.abs(apart) < EXACT] = 0.0
        sure = joint_sign_flip(apart, flips, seed) <= 1 - level + 1e-12
        sure &= np.isfinite(apart).sum(axis=0) >= FEWEST_FLIPPED
        up = np.nansum(apart, axis=0) > 0
        better[one, other], better[other, one] = sure & up, sure & ~up
    means = pd.DataFrame(unit_means(values), columns=scores.columns).mean()
    return ranks_left_open(means, better).rename_axis("contender").reset_index()


def ranks_left_open(means: pd.Series, better: npt.NDArray[np.bool_]) -> pd.DataFrame:
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


def compare_unpaired(
    a: npt.ArrayLike, n_a: npt.ArrayLike, b: npt.ArrayLike, n_b: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Compute z and two-sided p of "two shares are equal", from counts of successes, with the pooled variance.

    For cases that differ, or where only percentages were published. On the same cases a paired test sees more.
    """
    a, n_a, b, n_b = (np.asarray(v, dtype=float) for v in (a, n_a, b, n_b))
    pooled = (a + b) / (n_a + n_b)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    apart = a / n_a - b / n_b
    z = np.divide(apart, spread, out=np.zeros(np.shape(spread)), where=spread > 0)
    return z, 2 * norm.sf(np.abs(z))


def rank_sets_of_shares(shares: pd.Series, n: int, level: float = LEVEL) -> pd.DataFrame:
    """The ranks that published percentages leave open: model → share in percent of `n` cases.

    All pairs are tested by `compare_unpaired` and corrected together (Holm). On the same cases the truth is likely paired,
    with differences that are surer than these: the sets are on the wide side.

    Columns: model, percent, percent_low, percent_high (Wilson), rank, best_rank, worst_rank, tied_first; best first.
    """
    known = shares.dropna().astype(float).sort_values(ascending=False, kind="stable")
    counts, k = known.to_numpy() / 100 * n, len(known)
    better = np.zeros((k, k), dtype=bool)
    if k > 1:
        one, other = np.array(list(combinations(range(k), 2))).T
        p = compare_unpaired(counts[one], n, counts[other], n)[1]
        better[one, other] = holm(p) <= 1 - level  # sorted: the first of a pair has the greater share
    table = with_wilson(known.rename("percent").to_frame(), "percent", n, level)
    table = table.join(ranks_left_open(known, better).drop(columns="mean"))
    return table.rename_axis("model").reset_index()
