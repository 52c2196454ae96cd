"""Signal detection: how well a judge tells bad from good, apart from where it draws the line.

A judge that calls nearly everything good has a high `good_acc`, a low `bad_acc`, and an accuracy near one half,
though it may tell the two as well as any other. With "bad" as the signal, hit rate H = bad_acc and false-alarm
rate F = 1 − good_acc, the equal-variance model (Green & Swets 1966) takes these apart:

    d′ = Φ⁻¹(H) − Φ⁻¹(F)              sensitivity
    c  = −½ (Φ⁻¹(H) + Φ⁻¹(F))         criterion; above zero the judge is slow to say bad

and at the best threshold, c = 0, accuracy on a balanced set would be Φ(d′ / 2): an extrapolation along an assumed
ROC curve, not a measurement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Floats = npt.NDArray[np.float64]


class Detection(NamedTuple):
    """Sensitivity and criterion with their standard errors; accuracy as it is and at the best threshold."""

    d_prime: Floats
    d_prime_se: Floats
    criterion: Floats
    criterion_se: Floats
    accuracy: Floats
    at_best: Floats


def detection(
    bad_called_bad: npt.ArrayLike, bad: npt.ArrayLike, good_called_bad: npt.ArrayLike, good: npt.ArrayLike
) -> Detection:
    """From counts (also fractional ones, of rounded percentages), elementwise.

        SE(d′)² = H (1 − H) / (n_bad φ(z_H)²) + F (1 − F) / (n_good φ(z_F)²),   SE(c) = SE(d′) / 2

    Where a rate is 0 or 1 its Φ⁻¹ is infinite; there both counts get the log-linear correction (Hautus 1995),
    (x + w) / (n + 2w) with w the side's share of all cases: ½ and 1 where both sides have as many, and d′ = 0 for a
    judge that always says the same. Missing where a side has no case. `accuracy` is (H + 1 − F) / 2.
    """
    hits, signals, alarms, noise = (
        np.asarray(x, dtype=float) for x in (bad_called_bad, bad, good_called_bad, good)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        extreme = (hits <= 0) | (hits >= signals) | (alarms <= 0) | (alarms >= noise)
        of_signals, of_noise = signals / (signals + noise), noise / (signals + noise)
        hit = np.where(extreme, (hits + of_signals) / (signals + 2 * of_signals), hits / signals)
        alarm = np.where(extreme, (alarms + of_noise) / (noise + 2 * of_noise), alarms / noise)
        plain = (hits / signals + 1 - alarms / noise) / 2
    known = (signals > 0) & (noise > 0)
    hit, alarm = np.where(known, hit, np.nan), np.where(known, alarm, np.nan)
    z_hit, z_alarm = norm.ppf(hit), norm.ppf(alarm)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_hit = hit * (1 - hit) / (signals * norm.pdf(z_hit) ** 2)
        of_alarm = alarm * (1 - alarm) / (noise * norm.pdf(z_alarm) ** 2)
    error = np.sqrt(of_hit + of_alarm)
    d_prime = z_hit - z_alarm
    return Detection(
        d_prime,
        error,
        -(z_hit + z_alarm) / 2,
        error / 2,
        np.where(known, plain, np.nan),
        norm.cdf(d_prime / 2),
    )
