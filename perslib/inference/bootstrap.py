"""How sure a number is when users, not turns, were sampled.

Turns of one user resemble each other, so intervals come from resampling whole users (cluster bootstrap). A
resample is a column of weights, how often each user was drawn; a statistic that is a function of per-user sums
(means, correlations, everything read off a confusion table) needs one matrix product for all resamples:

    weights = resample_users(users)            # users × (1 + resamples), column 0 is the sample itself
    values = statistic(sums @ weights)         # sums: statistics × users
    estimate, (low, high) = values[0], interval(values[1:])

The same weights serve every judge and metric, so differences between judges are paired.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

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
    known = known[np.isfinite(known)]
    if not len(known):
        return float("nan")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(flips, len(known)))
    reached = np.abs(signs @ known) >= abs(known.sum()) * (1 - 1e-12)
    return float((reached.sum() + 1) / (flips + 1))


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

    Columns: the group, mean, low, high, turns, users. A group that fewer than `FEWEST_USERS` stand for has no
    interval: too little is known about how users differ.
    """
    known = frame[[user, group, value]].dropna()
    numbers = known[value].astype(float)
    sums = numbers.groupby([known[user], known[group]]).sum().unstack(fill_value=0.0)
    counts = numbers.groupby([known[user], known[group]]).size().unstack(fill_value=0)
    if sums.empty:
        return pd.DataFrame(columns=[group, "mean", "low", "high", "turns", "users"])
    weights = resample_users(len(sums), resamples, seed).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (sums.to_numpy().T @ weights) / (counts.to_numpy().T @ weights)
    standing = (counts > 0).sum().to_numpy()
    bounds = [interval(m[1:]) if n >= FEWEST_USERS else (np.nan, np.nan) for m, n in zip(means, standing)]
    low, high = np.array(bounds).T
    table = {group: sums.columns, "mean": means[:, 0], "low": low, "high": high}
    return pd.DataFrame({**table, "turns": counts.sum().to_numpy(), "users": standing})


def correlation(
    x: pd.Series, y: pd.Series, user: pd.Series, resamples: int = 2000, seed: int = SEED
) -> tuple[float, float, float]:
    """Pearson's r of x and y with its 95 % interval over resampled users; missing where it is undefined.

    Pairs that lack one of the two are left out. Below two users there is no r, below `FEWEST_USERS` no interval.
    """
    pairs = pd.DataFrame({"x": floats(x), "y": floats(y), "user": user.to_numpy()}).dropna(subset=["x", "y"])
    frame = pairs[["x", "y"]] - pairs[["x", "y"]].mean()
    moments = frame.assign(n=1.0, xx=frame.x**2, yy=frame.y**2, xy=frame.x * frame.y)
    by_user = moments.groupby(pairs["user"].to_numpy())[["n", "x", "y", "xx", "yy", "xy"]].sum().to_numpy()
    if len(by_user) < 2:
        return float("nan"), float("nan"), float("nan")
    known = len(by_user) >= FEWEST_USERS
    values = pearson(by_user.T @ resample_users(len(by_user), resamples if known else 0, seed))
    low, high = interval(values[1:]) if known else (float("nan"), float("nan"))
    return float(values[0]), low, high
