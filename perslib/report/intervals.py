"""How sure a mean or a correlation is when users, not turns, were sampled.

Turns of one user resemble each other, so intervals come from resampling whole users (cluster bootstrap).
Each statistic is a function of per-user sums, which makes thousands of resamples one matrix product.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

LEVEL = 0.95


def _weights(users: int, resamples: int, seed: int) -> np.ndarray:
    """How often each user is drawn in each resample; rows sum to the number of users."""
    draws = np.random.default_rng(seed).multinomial(users, np.full(users, 1 / users), size=resamples)
    return draws.astype(float)


def _quantiles(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval a column; missing where fewer than half of the resamples gave a value."""
    low, high = np.full(samples.shape[1], np.nan), np.full(samples.shape[1], np.nan)
    for j, column in enumerate(samples.T):
        known = column[np.isfinite(column)]
        if len(known) * 2 > len(column):
            low[j], high[j] = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return low, high


def mean_by(
    frame: pd.DataFrame, value: str, group: str, user: str = "user", resamples: int = 2000, seed: int = 42
) -> pd.DataFrame:
    """Mean of `value` a group with its 95 % interval over resampled users.

    Columns: the group, mean, low, high, turns, users. A group that one user alone stands for has no
    interval: nothing is known about how users differ.
    """
    known = frame[[user, group, value]].dropna()
    numbers = known[value].astype(float)
    sums = numbers.groupby([known[user], known[group]]).sum().unstack(fill_value=0.0)
    counts = numbers.groupby([known[user], known[group]]).size().unstack(fill_value=0)
    if sums.empty:
        return pd.DataFrame(columns=[group, "mean", "low", "high", "turns", "users"])
    weights = _weights(len(sums), resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = _quantiles((weights @ sums.to_numpy()) / (weights @ counts.to_numpy()))
    standing = (counts > 0).sum().to_numpy()
    alone = standing < 2
    total = counts.sum().to_numpy()
    return pd.DataFrame(
        {
            group: sums.columns,
            "mean": sums.sum().to_numpy() / total,
            "low": np.where(alone, np.nan, low),
            "high": np.where(alone, np.nan, high),
            "turns": total,
            "users": standing,
        }
    )


def correlation(
    x: pd.Series, y: pd.Series, user: pd.Series, resamples: int = 2000, seed: int = 42
) -> tuple[float, float, float]:
    """Pearson's r of x and y with its 95 % interval over resampled users; missing where it is undefined."""
    frame = pd.DataFrame({"x": x.astype(float), "y": y.astype(float)})
    moments = frame.assign(n=1.0, xx=frame.x**2, yy=frame.y**2, xy=frame.x * frame.y)
    by_user = moments.groupby(user.to_numpy())[["n", "x", "y", "xx", "yy", "xy"]].sum().to_numpy()
    if len(by_user) < 2:
        return float("nan"), float("nan"), float("nan")
    estimate = _pearson(by_user.sum(axis=0, keepdims=True))[0]
    samples = _pearson(_weights(len(by_user), resamples, seed) @ by_user)
    low, high = _quantiles(samples[:, None])
    return float(estimate), float(low[0]), float(high[0])


def _pearson(moments: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = moments.T
    spread = np.sqrt(np.clip(n * xx - x**2, 0, None) * np.clip(n * yy - y**2, 0, None))
    with np.errstate(invalid="ignore", divide="ignore"):
        r: np.ndarray = np.where(spread > 1e-9 * n**2, (n * xy - x * y) / spread, np.nan)
    return r
