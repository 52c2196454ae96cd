"""How sure a number is when users, not turns, were sampled: each user is left out once.

A sample without one of its users is a column of weights, zero for that user and one for all others; a statistic that is a
function of per-user sums (means, correlations, everything read off a confusion table) needs one matrix product for all:

    weights = leave_out(users)                 # users × (1 + users), column 0 is the sample itself
    values = statistic(sums @ weights)         # sums: statistics × users
    low, high, p = interval(values)

With y the statistic on a scale where it is more nearly normal (atanh of a correlation, arcsin √ of a share, the logarithm of an
error), y₋ᵢ the same without user i, and dᵢ = mean(y₋) − y₋ᵢ:

    se² = (U − 1) / U · Σ dᵢ²,   K = (Σ dᵢ²)² / Σ dᵢ⁴,   df = 1.5 K within [1, U − 1],   y ± t(df) · se

K is how many users carry the variance. With few users, or few that matter, the interval is wide, as it has to be: coverage
is measured in `benchmarks/coverage.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

Floats = npt.NDArray[np.float64]
Scale = Literal["plain", "correlation", "share", "percent", "error"]
LEVEL = 0.95
FEWEST_USERS = 10
"""With fewer users there is no interval: those of some metrics would cover less than they promise."""
MOST_GROUPS = 500
"""Of more units, neighbours are left out together, in so many groups."""
_WORTH = 1.5
"""Degrees of freedom for each unit that carries the variance."""
_NOTHING = 1e-18

_SCALES: dict[Scale, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "plain": (np.asarray, np.asarray),
    "correlation": (lambda x: np.arctanh(np.clip(x, -0.9999, 0.9999)), np.tanh),
    "share": (lambda x: np.arcsin(np.sqrt(np.clip(x, 0, 1))), lambda y: np.sin(np.clip(y, 0, np.pi / 2)) ** 2),
    "percent": (
        lambda x: np.arcsin(np.sqrt(np.clip(x, 0, 100) / 100)),
        lambda y: 100 * np.sin(np.clip(y, 0, np.pi / 2)) ** 2,
    ),
    "error": (lambda x: np.log(np.maximum(x, 1e-12)), np.exp),
}


def leave_out(units: int) -> Floats:
    """Return how often each unit counts: all of them once, then all but one unit, or one group of many."""
    groups = min(units, MOST_GROUPS)
    weights = np.ones((units, 1 + groups))
    weights[np.arange(units), 1 + np.arange(units) * groups // max(units, 1)] = 0.0
    return weights


def interval(
    values: npt.ArrayLike, scale: Scale = "plain", *, units: int | None = None, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """Return the bounds of the interval of each row of values, and the two-sided p of "it is zero".

    Parameters
    ----------
    values : the sample's value and those with each unit left out, along the last axis.
    scale : what kind of number it is, which decides on what scale its interval is symmetric.
    units : how many of the units stand behind the number; leaving out another changes nothing. All, unless given.
    level : the level of the interval.

    All are missing below `FEWEST_USERS` units, and where the number is not defined without one of them, or the same
    without any.
    """
    forth, back = _SCALES[scale]
    with np.errstate(invalid="ignore"):
        y = forth(np.asarray(values, dtype=float))
    itself, without = y[..., 0], y[..., 1:]
    columns = without.shape[-1]
    n = columns if units is None else min(units, columns)
    nowhere = np.full(np.shape(itself), np.nan)
    if n < FEWEST_USERS:
        return nowhere, nowhere.copy(), nowhere.copy()
    absent = columns - n
    middle = (without.sum(axis=-1) - absent * itself) / n
    apart, of_absent = middle[..., None] - without, middle - itself
    squares = (apart**2).sum(axis=-1) - absent * of_absent**2
    fourths = (apart**4).sum(axis=-1) - absent * of_absent**4
    with np.errstate(invalid="ignore", divide="ignore"):
        is_known = squares > _NOTHING
        se = np.sqrt(np.where(is_known, (n - 1) / n * squares, np.nan))
        df = np.clip(_WORTH * squares**2 / fourths, 1, n - 1)
        reach = student.ppf((1 + level) / 2, df) * se
        p = 2 * student.sf(np.abs(itself) / se, df)
    return back(itself - reach), back(itself + reach), p


def estimate(
    values: npt.ArrayLike,
    name: str = "value",
    scale: Scale = "plain",
    *,
    units: int | None = None,
    p: bool = False,
    level: float = LEVEL,
) -> dict[str, float]:
    """Return the sample's value with its interval, and its p on request: `name`, `name_low`, `name_high`, `name_p`."""
    low, high, beyond = (float(found) for found in interval(values, scale, units=units, level=level))
    found = {name: float(np.asarray(values)[0]), f"{name}_low": low, f"{name}_high": high}
    return found | ({f"{name}_p": beyond} if p else {})


class Jackknife:
    """Units (users, cases), each left out in turn.

    >>> users = Jackknife(list("aabcdefghij"))
    >>> found = users.estimate_mean([1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3], "score")
    >>> sorted(found)
    ['score', 'score_high', 'score_low']

    Parameters
    ----------
    unit : the unit of each row.
    level : the level of intervals.
    """

    def __init__(self, unit: npt.ArrayLike, level: float = LEVEL) -> None:
        self.group, self.names = pd.factorize(np.asarray(unit, dtype=object))
        self.weights, self.level = leave_out(len(self.names)), level

    def __len__(self) -> int:
        return len(self.names)

    def sum_by_unit(self, values: npt.ArrayLike) -> Floats:
        """Return the sum of each unit's values; missing ones add nothing."""
        known = np.nan_to_num(np.asarray(values, dtype=float))
        return np.bincount(self.group, known, len(self)).astype(float)

    def total(self, values: npt.ArrayLike) -> Floats:
        """Return the sum of the values, and that without each unit."""
        return self.sum_by_unit(values) @ self.weights

    def count(self, values: npt.ArrayLike) -> int:
        """Count the units that have a value."""
        return len(np.unique(self.group[np.isfinite(np.asarray(values, dtype=float))]))

    def mean(self, values: npt.ArrayLike) -> Floats:
        """Return the mean of the values, and that without each unit."""
        return ratio(self.total(values), self.total(np.isfinite(np.asarray(values, dtype=float))))

    def estimate_mean(
        self, values: npt.ArrayLike, name: str = "value", scale: Scale = "plain", *, p: bool = False
    ) -> dict[str, float]:
        """Return the mean of the values with its interval: `name`, `name_low`, `name_high`, and `name_p` on request."""
        return self.estimate(self.mean(values), name, scale, units=self.count(values), p=p)

    def estimate(
        self,
        values: npt.ArrayLike,
        name: str = "value",
        scale: Scale = "plain",
        *,
        units: int | None = None,
        p: bool = False,
    ) -> dict[str, float]:
        """Return an estimate from a number and what it is without each unit: see `estimate`."""
        return estimate(values, name, scale, units=units, p=p, level=self.level)


def ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any], otherwise: float = np.nan) -> Floats:
    """Elementwise part / whole; missing, or `otherwise`, where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0)
