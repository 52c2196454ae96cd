"""What a judge of good and bad gets right (UXBench, section 4.1), and how well it tells them apart.

A judge that calls nearly everything good has a high `good_acc`, a low `bad_acc`, and an accuracy near one half,
though it may tell the two as well as any other. With "bad" as the signal, hit rate H = bad_acc and false-alarm
rate F = 1 − good_acc, the equal-variance model (Green & Swets 1966) takes these apart:

    d′ = Φ⁻¹(H) − Φ⁻¹(F)              sensitivity
    c  = −½ (Φ⁻¹(H) + Φ⁻¹(F))         criterion; above zero the judge is slow to say bad

and at the best threshold, c = 0, accuracy on a balanced set would be Φ(d′ / 2): an extrapolation along an assumed
ROC curve, not a measurement.

All of it is computed from counts, so that resampling is one product. A judge's cases are eight counts: gold good or bad
× called good, bad, neutral, or nothing that could be read. Every metric is a function of these counts, also of hundreds
of resampled ones at once. What could not be read is wrong; the metrics of what was read stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from perslib.errors import DataError, Problem, UnknownName
from perslib.stats import FEWEST_USERS, LEVEL, RESAMPLES, SEED, interval, resample_users, wilson
from perslib.ux.cases import BAD, GOOD, NEUTRAL, labels

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


def counts(gold: Sequence[object], said: Sequence[object], groups: Sequence[object] | None = None) -> Floats:
    """gold (good, bad) × called (good, bad, neutral, unread) × group: how many cases of each; one group unless they are named."""
    g, s = labels(gold, place="gold"), labels(said, 3, place="said")
    if len(g) != len(s):
        raise DataError(Problem("said", f"has {len(s)} labels for {len(g)} cases"))
    group, names = pd.factorize(np.zeros(len(g)) if groups is None else np.asarray(groups, dtype=object))
    table = np.zeros((2, 4, max(1, len(names))))
    called = np.select([s == GOOD, s == BAD, s == NEUTRAL], [0, 1, 2], 3)
    known = ~np.isnan(g)
    np.add.at(table, ((g[known] == BAD).astype(int), called[known], group[known]), 1)
    return table


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)


def _accuracy(t: Floats) -> Floats:
    return _share(t[0, 0] + t[1, 1], t.sum(axis=(0, 1)))


def _good(t: Floats) -> Floats:
    return _share(t[0, 0], t[0].sum(axis=0))


def _bad(t: Floats) -> Floats:
    return _share(t[1, 1], t[1].sum(axis=0))


def _macro_f1(t: Floats) -> Floats:
    """Mean over both sides of 2 TP / (cases + calls)."""
    called = t.sum(axis=0)
    of = [_share(2 * t[i, i], t[i].sum(axis=0) + called[i]) for i in (0, 1)]
    return (of[0] + of[1]) / 2


def _square(t: Floats) -> Floats:
    """Gold × called with the same categories on both sides; nothing is neutral or unread in gold."""
    return np.concatenate([t, np.zeros((2, *t.shape[1:]))])


def _mcc(t: Floats) -> Floats:
    """Matthews correlation, with more than two categories as Gorodkin's R_K: cov(gold, said) / √(var · var)."""
    square = _square(t)
    n, right = square.sum(axis=(0, 1)), np.trace(square)
    gold, called = square.sum(axis=1), square.sum(axis=0)
    spread = (n**2 - (gold**2).sum(axis=0)) * (n**2 - (called**2).sum(axis=0))
    return _share(n * right - (gold * called).sum(axis=0), np.sqrt(spread))


def _kappa(t: Floats) -> Floats:
    """Cohen's κ."""
    square = _square(t)
    n = square.sum(axis=(0, 1))
    by_chance = (square.sum(axis=1) * square.sum(axis=0)).sum(axis=0)
    return _share(n * np.trace(square) - by_chance, n**2 - by_chance)


def _read_only(t: Floats) -> Floats:
    """The same without what could not be read."""
    return t * np.array([1, 1, 1, 0])[None, :, None]


def _of_decided(which: str) -> Callable[[Floats], Floats]:
    """A quantity of signal detection over cases called good or bad."""
    return lambda t: getattr(detection(t[1, 1], t[1, :2].sum(axis=0), t[0, 1], t[0, :2].sum(axis=0)), which)


def _neutral(side: int) -> Callable[[Floats], Floats]:
    return lambda t: _share(t[side, 2], t[side].sum(axis=0))


#: Metric → function of counts. `neutral_…` say how many of a side escape into "neutral" (three classes).
METRICS: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": _accuracy,
    "good_acc": _good,
    "bad_acc": _bad,
    "balanced": lambda t: (_good(t) + _bad(t)) / 2,
    "positive_bias": lambda t: _good(t) - _bad(t),
    "macro_f1": _macro_f1,
    "mcc": _mcc,
    "kappa": _kappa,
    "d_prime": _of_decided("d_prime"),
    "criterion": _of_decided("criterion"),
    "at_best": _of_decided("at_best"),
    "parse_rate": lambda t: _share(t[:, :3].sum(axis=(0, 1)), t.sum(axis=(0, 1))),
    "accuracy_read": lambda t: _accuracy(_read_only(t)),
    "good_acc_read": lambda t: _good(_read_only(t)),
    "bad_acc_read": lambda t: _bad(_read_only(t)),
    "neutral_good": _neutral(0),
    "neutral_bad": _neutral(1),
}
#: What is a share of cases that are counted one by one, so that it has a Wilson interval: (of which side, of what).
_COUNTED = {
    "accuracy": None,
    "good_acc": 0,
    "bad_acc": 1,
    "neutral_good": 0,
    "neutral_bad": 1,
    "parse_rate": None,
}


def judged(
    frame: pd.DataFrame,
    *,
    metrics: Sequence[str] = tuple(METRICS),
    by: str | Sequence[str] | None = "judge",
    unit: str = "case",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """How well verdicts agree with gold: one row a judge (or whatever `by` names; None for all at once) and metric.

    `frame` has columns gold (1, −1), said (1, −1, 0, or missing where the answer could not be read) and `unit`, what
    was sampled: the case, or the user where one user has several. Columns: the group, metric, value, low, high (units
    resampled, from five on), wilson_low, wilson_high (of plain shares, cases taken as independent), cases, unread, units.
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise UnknownName("metric", unknown[0], METRICS)
    if missing := [c for c in ("gold", "said", unit) if c not in frame]:
        raise DataError(Problem("verdicts", f"has no column {', '.join(missing)}"))
    names = [by] if isinstance(by, str) else list(by or [])
    groups = frame.groupby(names, sort=False, dropna=False) if names else [((), frame)]
    rows: list[dict[str, Any]] = []
    for key, own in groups:
        table = counts(own["gold"], own["said"], own[unit])
        units = table.shape[2]
        drawn = table @ resample_users(units, resamples if units >= FEWEST_USERS else 0, seed).astype(float)
        whole = table.sum(axis=2, keepdims=True)
        about = {"cases": int(whole.sum()), "unread": int(whole[:, 3].sum()), "units": units}
        for name in metrics:
            found = METRICS[name](drawn)
            low, high = interval(found[1:], level)
            value = float(found[0])
            bounds = _wilson(name, value, whole, level)
            rows.append(
                {
                    **dict(zip(names, key, strict=True)),
                    **{"metric": name, "value": value, "low": low, "high": high},
                    **{"wilson_low": bounds[0], "wilson_high": bounds[1], **about},
                }
            )
    return pd.DataFrame(rows)


def _wilson(name: str, value: float, whole: Floats, level: float) -> tuple[float, float]:
    if name not in _COUNTED:
        return float("nan"), float("nan")
    side = _COUNTED[name]
    n = float(whole.sum() if side is None else whole[side].sum())
    low, high = wilson(value * n, n, level)
    return float(low), float(high)


def escapes(frame: pd.DataFrame, by: str = "judge") -> pd.DataFrame:
    """Three classes: of the cases of either side, how many are right, escape into neutral, are missed, or unread.

    Columns: the group, side (good, bad), cases, right, neutral, missed, unread, and the share of each in percent.
    """
    rows = []
    for key, own in frame.groupby(by, sort=False):
        table = counts(own["gold"], own["said"]).sum(axis=2)
        for i, side in enumerate(("good", "bad")):
            n = int(table[i].sum())
            outcome = {
                "right": table[i, i],
                "neutral": table[i, 2],
                "missed": table[i, 1 - i],
                "unread": table[i, 3],
            }
            percent = {f"{k}_percent": 100 * v / n if n else float("nan") for k, v in outcome.items()}
            rows.append(
                {by: key, "side": side, "cases": n, **{k: int(v) for k, v in outcome.items()}, **percent}
            )
    return pd.DataFrame(rows)
