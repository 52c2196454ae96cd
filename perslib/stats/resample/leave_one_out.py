"""How sure a number is when users, not turns, were sampled: each user is left out once.

Turns of one user resemble each other, so intervals come from whole users. A sample without one of its users is a column of
weights, zero for that user and one for all others; a statistic that is a function of per-user sums (means, correlations,
everything read off a confusion table) needs one matrix product for all of them:

    weights = leave_out(users)                 # users × (1 + users), column 0 is the sample itself
    values = statistic(sums @ weights)         # sums: statistics × users
    low, high, p = interval(values)

With y the statistic on a scale on which it is more nearly normal (atanh of a correlation, arcsin √ of a share, the logarithm of
an error), y₋ᵢ the same without user i, and dᵢ = mean(y₋) − y₋ᵢ over the U users whose absence changes it:

    se² = (U − 1) / U · Σ dᵢ²,   K = (Σ dᵢ²)² / Σ dᵢ⁴,   df = 1.5 K within [1, U − 1],   y ± t(df) · se

K is how many users carry the variance. Where few do, the interval is wide, as it has to be: `benchmarks/coverage.py`
measures how often it holds the truth. Nothing is drawn at random, so the same data give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Scale = Literal["plain", "score", "correlation", "share", "percent", "error"]
"""What kind of number it is; an interval stays within what such a number can be."""
LEVEL = 0.95
FLIPS, RESAMPLES = 10_000, 2000
SEED = 42
FEWEST_USERS = 10
"""With fewer users there are values, and no intervals: those would cover less than they promise."""
FEWEST_CARRIERS = 15
"""Units of the rarer class from which numbers on classes have an interval (`docs/method.md`, *How sure a number is*)."""
MOST_GROUPS = 500
"""More units are left out in so many groups of neighbours."""
FEWEST_FLIPPED = 5
"""Units from which the signs of differences are flipped: of fewer no p is small."""
_FREEDOM = 1.5
"""Degrees of freedom for each unit that carries the variance."""
_NOTHING = 1e-12
_SCALES: dict[Scale, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "plain": (np.asarray, np.asarray),
    "score": (np.asarray, lambda y: np.clip(y, 1, 5)),
    "correlation": (lambda x: np.arctanh(np.clip(x, -0.9999, 0.9999)), np.tanh),
    "share": (lambda x: np.arcsin(np.sqrt(np.clip(x, 0, 1))), lambda y: np.sin(np.clip(y, 0, np.pi / 2)) ** 2),
    "percent": (
        lambda x: np.arcsin(np.sqrt(np.clip(x, 0, 100) / 100)),
        lambda y: 100 * np.sin(np.clip(y, 0, np.pi / 2)) ** 2,
    ),
    "error": (lambda x: np.log(np.maximum(x, 1e-12)), np.exp),
}


def floats(scores: npt.ArrayLike | pd.DataFrame) -> Floats:
    """Return plain floats of any column, or of all columns of a frame, NaN where there is no value."""
    known = scores if isinstance(scores, pd.DataFrame) else pd.Series(scores)
    return known.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)


def leave_out(units: int) -> Floats:
    """Return how often each unit counts: all of them once, then all but one unit, or all but one group of many."""
    groups = min(units, MOST_GROUPS)
    weights = np.ones((units, 1 + groups))
    weights[np.arange(units), 1 + np.arange(units) * groups // max(units, 1)] = 0.0
    return weights


def interval(values: npt.ArrayLike, scale: Scale = "plain", level: float = LEVEL) -> tuple[Floats, Floats, Floats]:
    """Return the bounds of the interval of each row of values, and the two-sided p of "it is zero".

    Values are the sample's and those without each unit, along the last axis. Bounds and p are missing where fewer than
    `FEWEST_USERS` units make a difference, and where the number is not defined without one of them. A difference that is zero
    without anybody, too, is zero for sure: p = 1.
    """
    forth, back = _SCALES[scale]
    with np.errstate(invalid="ignore"):
        y = forth(np.asarray(values, dtype=float))
    itself, without = y[..., 0], y[..., 1:]
    counts = ~(np.abs(without - itself[..., None]) <= _NOTHING * np.maximum(1, np.abs(itself[..., None])))
    n = counts.sum(axis=-1)
    middle = np.divide((without * counts).sum(axis=-1), n, out=np.full(np.shape(itself), np.nan), where=n > 0)
    deviations = np.where(counts, middle[..., None] - without, 0.0)
    squares, fourths = (deviations**2).sum(axis=-1), (deviations**4).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where((n >= FEWEST_USERS) & (squares > _NOTHING**2), squares, np.nan)
        se = np.sqrt((n - 1) / n * squares)
        df = np.clip(_FREEDOM * squares**2 / fourths, 1, n - 1)
        reach = student.ppf((1 + level) / 2, df) * se
        p = 2 * student.sf(np.abs(itself) / se, df)
    is_zero = (np.abs(itself) <= _NOTHING) & (n == 0) & (without.shape[-1] >= FEWEST_USERS)  # the same for everybody
    return (
        np.where(is_zero, 0.0, back(itself - reach)),
        np.where(is_zero, 0.0, back(itself + reach)),
        np.where(is_zero, 1.0, p),
    )


def estimate(
    values: npt.ArrayLike, name: str = "value", scale: Scale = "plain", *, p: bool = False, level: float = LEVEL
) -> dict[str, float]:
    """Return the sample's value with its interval, and its p on request: `name`, `name_low`, `name_high`, `name_p`."""
    result = np.asarray(values)[0], *interval(values, scale, level)
    return dict(zip(name_bounds(name, p=p), map(float, result)))


def p_of_correlation(value: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, level: float = LEVEL) -> Floats:
    """Return the two-sided p of "it is zero" for correlations with these intervals."""
    z, first, last = (np.arctanh(np.clip(np.asarray(end, float), -0.9999, 0.9999)) for end in (value, low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * student.sf(np.abs(z) / (last - first) * 2 * student.ppf((1 + level) / 2, np.inf), np.inf)
    return np.where(last > first, p, np.nan)


def count_to_settle(units: int, estimate: float, low: float, high: float) -> int | None:
    """Return how many units like these would settle an estimate whose interval holds zero; None for another, or one of zero."""
    half = (high - low) / 2
    if not np.isfinite(half) or not estimate or not low <= 0 <= high:
        return None
    return int(np.ceil(units * (half / abs(estimate)) ** 2))


def name_bounds(name: str, *, p: bool = False) -> list[str]:
    """Name the columns of an estimate: its value, its bounds, and its p on request."""
    return [name, f"{name}_low", f"{name}_high", *([f"{name}_p"] if p else [])]


def count_carriers(is_one: npt.ArrayLike, unit: npt.ArrayLike, is_judged: npt.ArrayLike | None = None) -> int:
    """Count the units that have a row of the class, and those that have one of the other; return the smaller number.

    With `is_judged`, what a judge says of the class, rows count that are judged rightly: these few carry κ and F1.
    """
    sides = np.asarray(is_one, dtype=bool)
    judged = sides if is_judged is None else np.asarray(is_judged, dtype=bool)
    both = (sides & judged, ~sides & ~judged)
    return min(pd.Series(np.asarray(unit, dtype=object)[side]).nunique() for side in both)


def drop_if_few(values: Floats, carriers: int) -> Floats:
    """Return the values, or the sample's alone where too few units carry the rarer class for an interval."""
    return values if carriers >= FEWEST_CARRIERS else values[..., :1]


class Resamples:
    """Units (users, cases), each left out in turn.

    >>> users = Resamples(list("aabcdefghij"))
    >>> found = users.estimate(users.mean([1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3]), "score")
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
        """Return the mean of the values, and that without each unit.

        A unit of the very mean counts, too: where its absence changes nothing, the last digits say that it was there.
        """
        is_known = np.isfinite(np.asarray(values, dtype=float))
        means = ratio(self.total(values), self.total(is_known))
        is_same = np.abs(means - means[:1]) <= _NOTHING * np.maximum(1, np.abs(means[:1]))
        were_there = (self.sum_by_unit(is_known) > 0) @ (1 - self.weights) > 0
        return np.where(is_same & were_there & ~np.all(is_same), means + 1e-10 * np.maximum(1, np.abs(means)), means)

    def correlate(self, x: Floats, y: Floats) -> Floats:
        """Return Pearson's r of two columns without gaps, and that without each unit."""
        a, b = x - x.mean(), y - y.mean()
        return pearson_from_moments(
            np.array([self.total(part) for part in (np.ones(len(a)), a, b, a * a, b * b, a * b)])
        )

    def estimate(
        self, values: npt.ArrayLike, name: str = "value", scale: Scale = "plain", *, p: bool = False
    ) -> dict[str, float]:
        """Return an estimate from a number and what it is without each unit: see `estimate`."""
        return estimate(values, name, scale, p=p, level=self.level)


def resample_users(users: int, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Return how often each user counts in samples drawn with replacement, the sample itself first.

    For what moves in steps, such as a ranking: leaving one user out hardly ever changes it. Fewer than `FEWEST_USERS` are not
    resampled.
    """
    resamples = resamples if users >= FEWEST_USERS else 0
    weights = np.ones((users, 1 + resamples))
    if resamples:
        rng = np.random.default_rng(seed)
        weights[:, 1:] = rng.multinomial(users, np.full(users, 1 / users), size=resamples).T
    return weights


def ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any], otherwise: float = np.nan) -> Floats:
    """Return elementwise part / whole; missing, or `otherwise`, where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0)


def pearson_from_moments(moments: Floats) -> Floats:
    """Return Pearson's r from Σ1, Σx, Σy, Σx², Σy², Σxy (rows of `moments`); missing where x or y does not vary.

    For the sake of accuracy, x and y should have been shifted to near zero.
    """
    n, x, y, xx, yy, xy = moments
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
        # What rounding leaves of nothing grows with the square of the distance from zero.
        least_x, least_y = 1e-12 * np.maximum(1, xx / n), 1e-12 * np.maximum(1, yy / n)
        varies = (spread_x > least_x) & (spread_y > least_y)
        r: Floats = (xy / n - x * y / n**2) / np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
    return np.clip(r, -1.0, 1.0)


def mean_by(frame: pd.DataFrame, value: str, group: str, user: str = "user", scale: Scale = "plain") -> pd.DataFrame:
    """Compute the mean of `value` in each group with its 95 % interval over users.

    Columns: the group, mean, mean_low, mean_high, turns, users.
    """
    known, rows = frame[[user, group, value]].dropna(), []
    for name, own in known.groupby(group, sort=True, observed=True):
        users = Resamples(own[user])
        about = {"turns": len(own), "users": len(users)}
        rows.append({group: name, **users.estimate(users.mean(own[value].astype(float)), "mean", scale), **about})
    return pd.DataFrame(rows, columns=[group, *name_bounds("mean"), "turns", "users"])


def correlation(x: pd.Series, y: pd.Series, user: pd.Series) -> tuple[float, float, float]:
    """Return Pearson's r of x and y with its 95 % interval over users; missing where it is undefined.

    Pairs that lack one of the two are left out. Below two users there is no r, below `FEWEST_USERS` no interval.
    """
    pairs = pd.DataFrame({"x": floats(x), "y": floats(y), "user": user.to_numpy()}).dropna(subset=["x", "y"])
    users = Resamples(pairs["user"])
    if len(users) < 2:
        return float("nan"), float("nan"), float("nan")
    values = users.correlate(pairs["x"].to_numpy(), pairs["y"].to_numpy())
    r, low, high = users.estimate(values, scale="correlation").values()
    return r, low, high
