"""How sure a number is when users, not turns, were sampled.

Turns of one user resemble each other, so intervals come from resampling whole users (cluster bootstrap). A
resample is a column of weights, how often each user was drawn; a statistic that is a function of per-user sums
(means, correlations, everything read off a confusion table) needs one matrix product for all resamples:

    weights = resample_users(users)            # users × (1 + resamples), column 0 is the sample itself
    values = statistic(sums @ weights)         # sums: statistics × users
    estimate, (low, high) = values[0], interval(values[1:])

The same weights serve every judge and metric, so differences between judges are paired.

`holm` and `joint_sign_flip` correct the p-values of many tests; `wilson` is the interval of a share of independent
cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
RESAMPLES = 10_000
SEED = 42
#: With fewer users than this, resampling them says nothing: there are values, and no intervals.
FEWEST_USERS = 5


def floats(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Plain floats of any column, NaN where there is no value."""
    return pd.Series(scores).astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)


def resample_users(users: int, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """How often each user counts: one column a resample, column 0 being the sample itself (all ones).

    Each further column is multinomial and sums to the number of users.
    """
    weights = np.ones((users, 1 + resamples), dtype=np.int16)
    if users:
        rng = np.random.default_rng(seed)
        weights[:, 1:] = rng.multinomial(users, np.full(users, 1 / users), size=resamples).T
    return weights


class Resamples:
    """Units (users, cases) drawn with replacement: how often each counts in every resample, the sample itself first.

    >>> users = Resamples(["a", "a", "b", "c", "d", "e"], resamples=100)
    >>> found = users.estimate(users.mean([1, 2, 3, 4, 5, 6]), "score")
    >>> sorted(found)
    ['score', 'score_high', 'score_low']

    With fewer units than `FEWEST_USERS` there is the sample alone, and no interval.

    Parameters
    ----------
    unit : the unit of each row.
    resamples, seed, level : how many resamples, drawn by which seed, and the level of intervals.
    sort : whether units stand in alphabetical order instead of that of their first row; it decides which are drawn.
    """

    def __init__(
        self,
        unit: npt.ArrayLike,
        resamples: int = RESAMPLES,
        seed: int = SEED,
        level: float = LEVEL,
        *,
        sort: bool = False,
    ) -> None:
        self.group, self.names = pd.factorize(np.asarray(unit, dtype=object), sort=sort)
        few = len(self.names) < FEWEST_USERS
        self.weights = resample_users(len(self.names), 0 if few else resamples, seed).astype(float)
        self.level = level

    def __len__(self) -> int:
        return len(self.names)

    def total(self, values: npt.ArrayLike) -> Floats:
        """The sum of the values in each resample; missing ones add nothing."""
        return self.by_unit(values) @ self.weights

    def by_unit(self, values: npt.ArrayLike) -> Floats:
        """The sum of each unit's values."""
        weights = np.nan_to_num(np.asarray(values, dtype=float))
        return np.bincount(self.group, weights, len(self)).astype(float)

    def count(self, values: npt.ArrayLike) -> int:
        """How many units have a value."""
        return len(np.unique(self.group[np.isfinite(np.asarray(values, dtype=float))]))

    def mean(self, values: npt.ArrayLike) -> Floats:
        """The mean of the values in each resample; the sample's alone where too few units have one."""
        known, weights = np.isfinite(np.asarray(values, dtype=float)), self.weights_for(self.count(values))
        return ratio(self.by_unit(values) @ weights, self.by_unit(known) @ weights)

    def weights_for(self, units: int) -> Floats:
        """All weights, or those of the sample alone where so few units stand behind a number that it has no interval."""
        return self.weights if units >= FEWEST_USERS else self.weights[:, :1]

    def estimate(self, drawn: Floats, name: str = "value", *, p: bool = False) -> dict[str, float]:
        """Return `name`, `name_low`, `name_high`, and `name_p` of "it is zero" on request, from resampled values."""
        return estimate(drawn, name, p=p, level=self.level)


def estimate(drawn: Floats, name: str = "value", *, p: bool = False, level: float = LEVEL) -> dict[str, float]:
    """Return the sample's value with its interval from values that begin with it, and its p on request.

    They are called `name`, `name_low`, `name_high` and `name_p`.
    """
    low, high = interval(drawn[1:], level)
    found = {name: float(drawn[0]), f"{name}_low": low, f"{name}_high": high}
    return found | ({f"{name}_p": two_sided_p(drawn[1:])} if p else {})


def ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any], otherwise: float = np.nan) -> Floats:
    """Elementwise part / whole; missing, or `otherwise`, where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0)


def interval(samples: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Percentile interval of resampled values; missing where fewer than half of them are defined."""
    known = samples[np.isfinite(samples)]
    if len(known) * 2 <= len(samples):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def two_sided_p(differences: np.ndarray) -> float:
    """Two-sided bootstrap p of "no difference": twice the share of resampled differences beyond zero.

    p = 2 · min(#{d* ≤ 0} + 1, #{d* ≥ 0} + 1) / (B + 1), at most 1; it agrees with the percentile interval,
    and can never be smaller than 2 / (B + 1).
    """
    known = differences[np.isfinite(differences)]
    if len(known) * 2 <= len(differences):
        return float("nan")
    beyond = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return min(1.0, 2 * (beyond + 1) / (len(known) + 1))


def sign_flip(differences: np.ndarray, flips: int = RESAMPLES, seed: int = SEED) -> float:
    """Two-sided p of "the mean difference over users is zero", one difference a user.

    If the two judges do equally well, each user's difference is as likely to have the other sign, so the
    observed |mean| is compared with those after random flips; the sample itself counts among them.
    """
    known = np.asarray(differences, dtype=float)
    return float(joint_sign_flip(known[np.isfinite(known), None], flips, seed)[0])


def pearson(moments: np.ndarray) -> np.ndarray:
    """Pearson's r from Σ1, Σx, Σy, Σx², Σy², Σxy (rows of `moments`); missing where x or y does not vary.

    For the sake of accuracy, x and y should have been shifted to near zero.
    """
    n, x, y, xx, yy, xy = moments
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
        # What rounding leaves of nothing grows with the square of the distance from zero.
        least_x, least_y = 1e-12 * np.maximum(1, xx / n), 1e-12 * np.maximum(1, yy / n)
        varies = (spread_x > least_x) & (spread_y > least_y)
        r: np.ndarray = (xy / n - x * y / n**2) / np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
    return np.clip(r, -1.0, 1.0)


def mean_by(
    frame: pd.DataFrame, value: str, group: str, user: str = "user", resamples: int = 2000, seed: int = SEED
) -> pd.DataFrame:
    """Mean of `value` a group with its 95 % interval over resampled users.

    Columns: the group, mean, mean_low, mean_high, turns, users. A group that fewer than `FEWEST_USERS` stand for has no
    interval: too little is known about how users differ.
    """
    known = frame[[user, group, value]].dropna()
    users, rows = Resamples(known[user], resamples, seed, sort=True), []
    for name in known[group].sort_values().unique():
        values = known[value].astype(float).where(known[group] == name)
        about = {"turns": values.count(), "users": users.count(values)}
        rows.append({group: name, **users.estimate(users.mean(values), "mean"), **about})
    return pd.DataFrame(rows, columns=[group, "mean", "mean_low", "mean_high", "turns", "users"])


def correlation(
    x: pd.Series, y: pd.Series, user: pd.Series, resamples: int = 2000, seed: int = SEED
) -> tuple[float, float, float]:
    """Pearson's r of x and y with its 95 % interval over resampled users; missing where it is undefined.

    Pairs that lack one of the two are left out. Below two users there is no r, below `FEWEST_USERS` no interval.
    """
    pairs = pd.DataFrame({"x": floats(x), "y": floats(y), "user": user.to_numpy()}).dropna(subset=["x", "y"])
    users = Resamples(pairs["user"], resamples, seed, sort=True)
    if len(users) < 2:
        return float("nan"), float("nan"), float("nan")
    a, b = ((pairs[name] - pairs[name].mean()).to_numpy() for name in ("x", "y"))
    values = pearson(np.array([users.total(part) for part in (np.ones(len(a)), a, b, a * a, b * b, a * b)]))
    return float(values[0]), *interval(values[1:])


def holm(p: np.ndarray | pd.Series) -> np.ndarray:
    """Holm's step-down correction: p_(i) → max over j ≤ i of (m − j + 1) · p_(j), at most 1.

    Missing p-values stay missing and do not count as tests.
    """
    given = np.asarray(p, dtype=float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(given.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def joint_sign_flip(differences: np.ndarray, flips: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Sign-flip p of several mean differences at once (users × tests), adjusted for all of them.

    A flip turns all of a user's differences together, and each statistic |Σ d| / √Σ d² is compared with the
    largest of those not yet rejected (step-down maxT: Westfall & Young 1993; Romano & Wolf 2005). So what tests
    have in common is not paid for twice, and the least p is 1 / (flips + 1) however many there are. A missing
    difference adds nothing; a test without any is missing.
    """
    known = np.nan_to_num(np.asarray(differences, dtype=float))
    spread = np.sqrt((known**2).sum(axis=0))
    scaled = known / np.where(spread > 1e-12, spread, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(flips, len(known)))
    order = np.argsort(-observed, kind="stable")
    flipped = np.abs(signs @ scaled[:, order])
    largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    reached = (largest >= observed[order] * (1 - 1e-12)).sum(axis=0)
    adjusted = np.full(known.shape[1], np.nan)
    adjusted[order] = np.maximum.accumulate((reached + 1) / (flips + 1))
    adjusted[~np.isfinite(differences).any(axis=0)] = np.nan
    return adjusted


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Wilson's score interval of a share, elementwise: it stays in [0, 1] and holds for few cases and rare outcomes.

    (p + z²/2n ± z √(p (1 − p) / n + z² / 4n²)) / (1 + z² / n); missing without a case.
    """
    x, n = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    z = norm.ppf((1 + level) / 2)
    n = np.where(n > 0, n, np.nan)
    p = x / n
    middle, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.maximum(0, (middle - reach) / (1 + z**2 / n)), np.minimum(1, (middle + reach) / (1 + z**2 / n))


def with_wilson(frame: pd.DataFrame, column: str, n: npt.ArrayLike, level: float = LEVEL) -> pd.DataFrame:
    """Add Wilson's bounds `x_low` and `x_high` of a column `x` of percentages of `n` cases."""
    low, high = wilson(frame[column] / 100 * np.asarray(n), n, level)
    return frame.assign(**{f"{column}_low": 100 * low, f"{column}_high": 100 * high})
