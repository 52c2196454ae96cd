"""How many users and turns it takes to tell two candidates apart.

Differences on the same turns, d = μ + user + turn, vary between users (σ_b²) and within them (σ_w²). The mean
over U users' means of m turns each has variance (σ_b² + σ_w² / m) / U: further turns of the same users help only
with the second part. The components are those of the one-way analysis of variance (method of moments, unequal
group sizes as in Searle, Casella & McCulloch 1992, section 3.6), and the power is that of the t test over users.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from perslib.errors import DataError, Problem, check_names
from perslib.stats.resample.leave_one_out import LEVEL

TURNS_PER_USER = (1, 2, 3, 5, 10)
#: From here on Student's t is the normal distribution.
_MANY = 10_000
#: A difference that takes more users than this is not going to be found.
_MOST = 10**9


class Components(NamedTuple):
    """What paired differences vary by: variance between users, and within them from turn to turn."""

    #: Mean over users of their mean differences.
    difference: float
    between: float
    within: float
    users: int
    turns: int


def check_share(name: str, value: float) -> None:
    """Refuse a level or a power that is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise DataError(
            Problem(name, f"{value:g} is not between 0 and 1"), "Give a share: 0.95 says 95 %; 1 is out of reach."
        )


def estimate_components(differences: pd.DataFrame) -> Components:
    """Return the variance components of a frame with columns `user` and `difference`, one row a turn.

    With MSB, MSW the mean squares between and within U users of n_u turns, N in all:

        σ_w² = MSW,   σ_b² = max(0, (MSB − MSW) / n₀),   n₀ = (N − Σ n_u² / N) / (U − 1).

    Where no user has two turns the components cannot be told apart: all is between, and no number of further
    turns a user is promised to help. Missing differences stay out.
    """
    check_names("column of the differences", ("user", "difference"), differences)
    judged_by = [c for c in ("judge", "backbone") if c in differences]
    if judged_by and len(differences[judged_by].drop_duplicates()) > 1:
        raise DataError("The differences are of several judges", "Take one judge's at a time.")
    known = differences[["user", "difference"]].dropna()
    by_user = known["difference"].astype(float).groupby(known["user"])
    sizes, means = by_user.size().to_numpy(float), by_user.mean().to_numpy(float)
    users, turns = len(sizes), int(sizes.sum())
    if users < 2:
        raise DataError(
            f"There are differences of {users} user{'s' * (users != 1)}",
            "How users differ takes two of them, better twenty: compare the candidates on turns of further users, or "
            "give users_needed the Components of an earlier comparison.",
        )
    grand = (sizes * means).sum() / turns
    between = (sizes * (means - grand) ** 2).sum() / (users - 1)
    typical = (turns - (sizes**2).sum() / turns) / (users - 1)
    off = known["difference"].astype(float) - by_user.transform("mean")
    within = float((off**2).sum() / max(1, turns - users))
    return Components(float(means.mean()), max(0.0, float((between - within) / typical)), within, users, turns)


def power_of(
    users: int, turns: float, *, difference: float, between: float, within: float, level: float = LEVEL
) -> float:
    """Return the chance that so many users with so many turns each show this difference (two-sided t test over users).

    P(|T| > t) for T noncentral with U − 1 degrees of freedom and noncentrality |δ| √U / √(σ_b² + σ_w² / m).
    """
    check_share("level", level)
    if users < 2:
        return float("nan")
    spread = between + within / turns
    if spread <= 0:
        return float(difference != 0)
    shift = abs(difference) * np.sqrt(users / spread)
    if users > _MANY:
        z = stats.norm.ppf((1 + level) / 2)
        return float(stats.norm.sf(z - shift) + stats.norm.cdf(-z - shift))
    critical = stats.t.ppf((1 + level) / 2, users - 1)
    # The far tail is at most Φ(−shift); scipy loses its way where that is next to nothing.
    far = stats.nct.cdf(-critical, users - 1, shift) if shift < 5 else 0.0
    return float(stats.nct.sf(critical, users - 1, shift) + far)


def users_needed(
    differences: pd.DataFrame | Components,
    *,
    to_detect: float | None = None,
    power: float = 0.8,
    level: float = LEVEL,
    turns_per_user: Sequence[int] = TURNS_PER_USER,
) -> pd.DataFrame:
    """Return how many users with how many turns each it takes to tell two candidates apart.

    `differences` has columns `user` and `difference` (see `perslib.replay.list_turn_differences`), or is what
    `components` made of it. `to_detect` is the difference to find; the observed one by default, which is itself
    uncertain and, where it was picked for being large, too large.

    Columns, one row a number of turns a user: turns_per_user, users (missing where no number suffices: no
    difference to find, or one so small that 10⁹ users would miss it), turns (of all users), power (reached with them), difference, between, within.
    """
    check_share("power", power)
    components = differences if isinstance(differences, Components) else estimate_components(differences)
    target = components.difference if to_detect is None else to_detect
    rows = []
    for turns in turns_per_user:
        about = {"difference": target, "between": components.between, "within": components.within}
        users = _fewest(turns, power, level, **about)
        reached = np.nan if users is None else power_of(users, turns, level=level, **about)
        total = None if users is None else users * turns
        rows.append({"turns_per_user": turns, "users": users, "turns": total, "power": reached, **about})
    return pd.DataFrame(rows).astype({"users": "Int64", "turns": "Int64"})


def _fewest(turns: int, power: float, level: float, **about: float) -> int | None:
    """Return fewest users that reach the power, found by halving: more users never have less."""
    if not abs(about["difference"]) >= 1e-12:  # none, or unknown
        return None
    fewest = bisect_left(range(_MOST), power, lo=2, key=lambda n: power_of(n, turns, level=level, **about))
    return fewest if fewest < _MOST else None
