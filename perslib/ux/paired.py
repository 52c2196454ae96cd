"""Judges or models on the same cases: paired tests, and the ranks that the data leave open."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom

from perslib.errors import DataError, Problem
from perslib.inference import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    holm,
    interval,
    joint_sign_flip,
    resample_users,
    two_sided_p,
)

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
    values, group, n = _table(outcomes, units)
    weights = resample_users(n, resamples if n >= FEWEST_USERS else 0, seed).astype(float)
    rows = []
    for i, j in combinations(range(values.shape[1]), 2):
        a, b = values[:, i], values[:, j]
        common = ~np.isnan(a) & ~np.isnan(b)
        apart = np.where(common, a - b, 0.0)
        total, cases = (np.bincount(group, x, n) @ weights for x in (apart, common.astype(float)))
        found = np.divide(total, cases, out=np.full(cases.shape, np.nan), where=cases > 0)
        low, high = interval(found[1:], level) if n >= FEWEST_USERS else (np.nan, np.nan)
        only_a, only_b = (int((s * apart > 0).sum()) for s in (1, -1))
        rows.append(
            {
                **{"a": outcomes.columns[i], "b": outcomes.columns[j], "cases": int(common.sum())},
                **{
                    "only_a": only_a,
                    "only_b": only_b,
                    "difference": float(found[0]),
                    "low": low,
                    "high": high,
                },
                "p": two_sided_p(found[1:]) if n >= FEWEST_USERS else np.nan,
                "p_mcnemar": mcnemar(only_a, only_b),
            }
        )
    names = ["a", "b", "cases", "only_a", "only_b", "difference", "low", "high", "p", "p_mcnemar"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(p_holm=holm(table["p"]), p_mcnemar_holm=holm(table["p_mcnemar"]))


def rank_sets(
    outcomes: pd.DataFrame,
    units: npt.ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """For each column of cases × contenders the ranks that the data do not rule out.

    best_rank = 1 + the number of contenders that are significantly better, worst_rank = k − the number significantly
    worse; all paired differences are tested at once by flipping the signs of a unit's differences together
    (`perslib.inference.joint_sign_flip`), so that with probability `level` every true rank is in its set (Mogstad,
    Romano, Shaikh & Wilhelm 2024). Columns: contender, share, low, high, cases, rank, best_rank, worst_rank,
    tied_first; best first.
    """
    values, group, n = _table(outcomes, units)
    k = values.shape[1]
    tried = ~np.isnan(values)
    sums, cases = (
        np.column_stack([np.bincount(group, x[:, j], n) for j in range(k)])
        for x in (np.nan_to_num(values), tried.astype(float))
    )
    weights = resample_users(n, resamples if n >= FEWEST_USERS else 0, seed).astype(float)
    drawn_cases = cases.T @ weights
    drawn = np.divide(
        sums.T @ weights, drawn_cases, out=np.full(drawn_cases.shape, np.nan), where=drawn_cases > 0
    )
    bounds = [interval(row[1:], level) if n >= FEWEST_USERS else (np.nan, np.nan) for row in drawn]
    beats = np.zeros((k, k), dtype=bool)
    if k > 1 and n >= FEWEST_USERS:
        one, other = np.array(list(combinations(range(k), 2))).T
        apart = np.nan_to_num(values[:, one] - values[:, other])
        by_unit = np.column_stack([np.bincount(group, column, n) for column in apart.T])
        sure = joint_sign_flip(by_unit, resamples, seed) <= 1 - level + 1e-12
        up = by_unit.sum(axis=0) > 0
        beats[one, other], beats[other, one] = sure & up, sure & ~up
    share = pd.Series(drawn[:, 0])
    table = pd.DataFrame(
        {
            "contender": list(outcomes.columns),
            "share": share,
            "low": [low for low, _ in bounds],
            "high": [high for _, high in bounds],
            "cases": tried.sum(axis=0),
            "rank": share.rank(method="min", ascending=False).astype("Int64"),
            "best_rank": 1 + beats.sum(axis=0),
            "worst_rank": k - beats.sum(axis=1),
            "tied_first": beats.sum(axis=0) == 0,
        }
    )
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def separability(table: pd.DataFrame) -> float:
    """Share of neighbours in a ranking whose intervals do not overlap; `table` has low and high, best first."""
    low, high = table["low"].to_numpy(float), table["high"].to_numpy(float)
    return float((low[:-1] > high[1:]).mean()) if len(table) > 1 else float("nan")


def _table(outcomes: pd.DataFrame, units: npt.ArrayLike | None) -> tuple[Floats, npt.NDArray[np.intp], int]:
    values = outcomes.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    names = np.arange(len(values)) if units is None else np.asarray(units, dtype=object)
    if len(names) != len(values):
        raise DataError(Problem("units", f"names {len(names)} for {len(values)} cases"))
    group, found = pd.factorize(names)
    return values, group, len(found)
