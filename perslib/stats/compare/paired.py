"""Methods compared on the same rows: paired differences with their intervals and tests.

    compare_paired(scores, unit=users)               # every two columns of rows × methods
    compare_paired(scores, unit=users, base="none")  # every other column against one

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
from scipy.stats import binom

from perslib.errors import DataError, Problem, check_names
from perslib.stats.resample.leave_one_out import (
    FEWEST_FLIPPED,
    LEVEL,
    SEED,
    Floats,
    Resamples,
    estimate,
    floats,
    name_bounds,
)
from perslib.stats.resample.sign_flips import holm, sign_flip

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
    values = floats(scores)
    names = np.arange(len(values)) if unit is None else np.asarray(unit, dtype=object)
    if len(names) != len(values):
        raise DataError(Problem("unit", f"names {len(names)} units for {len(values)} rows"))
    if base is not None:
        check_names("column to compare with", str(base), scores)
    drawn = Resamples(names, level)
    columns = list(scores.columns)
    pairs = (
        combinations(range(len(columns)), 2)
        if base is None
        else ((i, columns.index(base)) for i, name in enumerate(columns) if name != base)
    )
    rows = []
    for i, j in pairs:
        differences = values[:, i] - values[:, j]
        about = {
            "a": columns[i],
            "b": columns[j],
            "rows": int(np.isfinite(differences).sum()),
            "units": drawn.count(differences),
        }
        about |= {"ahead": int((differences > EXACT).sum()), "behind": int((differences < -EXACT).sum())}
        means = drawn.mean(differences)
        p = {_column(test, tests): _p(test, differences, means, drawn, seed) for test in tests}
        rows.append({**about, **drawn.estimate(means, "difference"), **p})
    kinds = [_column(test, tests) for test in tests]
    about_pair = ["a", "b", "rows", "units", "ahead", "behind"]
    table = pd.DataFrame(rows, columns=[*about_pair, *name_bounds("difference"), *kinds])
    return table.assign(**{f"{kind}_holm": holm(table[kind].to_numpy(float)) for kind in kinds})


def _column(test: Test, tests: Sequence[Test]) -> str:
    return "difference_p" if test == tests[0] else f"difference_p_{test.replace(' ', '_')}"


def _p(test: Test, differences: Floats, means: Floats, drawn: Resamples, seed: int) -> float:
    if test == "mcnemar":
        return mcnemar(int((differences > 0).sum()), int((differences < 0).sum()))
    if test == "t" or len(drawn) > MOST_FLIPPED:
        return estimate(means, p=True)["value_p"]
    there = drawn.sum_by_unit(np.isfinite(differences)) > 0
    return (
        sign_flip(drawn.sum_by_unit(differences)[there], seed=seed) if there.sum() >= FEWEST_FLIPPED else float("nan")
    )


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of McNemar's test: of the rows that one alone gets right, half should be either's."""
    n = only_a + only_b
    return min(1.0, 2 * float(binom.cdf(min(only_a, only_b), n, 0.5))) if n else 1.0
