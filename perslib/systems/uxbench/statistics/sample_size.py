"""How many cases it takes to find a difference of two shares."""

from __future__ import annotations

from math import ceil

from scipy.stats import norm

from perslib.errors import DataError, Problem
from perslib.stats.compare.power import proper_share
from perslib.stats.resample.leave_one_out import LEVEL


def cases_needed(
    difference: float, *, share: float = 0.5, correlation: float = 0.5, power: float = 0.8, level: float = LEVEL
) -> int:
    """Compute how many cases it takes to find a paired difference of two shares, `difference` in percentage points.

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
        raise DataError(Problem("difference", "is 0, which no number of cases shows"), "Say how many points matter.")
    z = norm.ppf((1 + level) / 2) + norm.ppf(power)
    variance = 2 * share * (1 - share) * (1 - correlation)
    return ceil(z**2 * variance / (difference / 100) ** 2)
