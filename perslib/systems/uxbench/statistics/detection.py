"""How well verdicts of good and bad agree with gold, and how well a judge tells the two apart (UXBench, section 4.1).

    measure_verdicts(verdicts)            # accuracy, d′ and criterion of each judge, with intervals
    detection(hits, bad, alarms, good)    # d′ and criterion from counts, also published ones
    compare_auroc(verdicts)               # AUROC of each judge, and how far the first is ahead of the others

A judge that calls nearly everything good has a high `good_acc`, a low `bad_acc`, and an accuracy near one half,
though it may tell the two as well as any other. With "bad" as the signal, hit rate H = bad_acc and false-alarm
rate F = 1 − good_acc, the equal-variance model (Green & Swets 1966) takes these apart:

    d′ = Φ⁻¹(H) − Φ⁻¹(F)              sensitivity
    c  = −½ (Φ⁻¹(H) + Φ⁻¹(F))         criterion; above zero the judge is slow to say bad

and at the best threshold, c = 0, accuracy on a balanced set would be Φ(d′ / 2): an extrapolation along an assumed
ROC curve, not a measurement.

Every metric is a function of eight counts, gold good or bad × called good, bad, neutral, or nothing that could be
read, so that all samples without one unit are one matrix product. One rule holds for all of them, d′, criterion and AUROC included: a verdict
that is neutral or could not be read is wrong, on a bad case a miss and on a good one a false alarm. Only the metrics
`…_read` leave out what could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from perslib.corpus.schema import BAD, GOOD, NEUTRAL
from perslib.errors import DataError, Problem, check_names
from perslib.stats.agreement.auroc import auroc_under
from perslib.stats.resample.leave_one_out import (
    Bools,
    Floats,
    Resamples,
    Scale,
    count_carriers,
    drop_if_few,
    estimate,
    floats,
    name_bounds,
    ratio,
)
from perslib.stats.resample.wilson import wilson


def check_labels(values: npt.ArrayLike | Sequence[object], classes: int = 2, place: str = "labels") -> Floats:
    """Return labels as floats, NaN where there is none; any other value is an error that names it and its row."""
    known = floats(pd.Series(values, dtype=object).where(lambda v: v.notna(), None))
    allowed = [BAD, GOOD] if classes == 2 else [BAD, NEUTRAL, GOOD]
    wrong = np.flatnonzero(~np.isnan(known) & ~np.isin(known, allowed))
    if len(wrong):
        raise DataError(
            Problem(f"{place} row {wrong[0]}", f"is {known[wrong[0]]:g}, expected one of {allowed}, or none"),
            "1 is good, −1 bad, 0 neutral (with classes=3).",
        )
    return known


# -- from counts ------------------------------------------------------------------------------------------------


class Detection(NamedTuple):
    """Sensitivity with its standard error, and criterion; accuracy as it is and at the best threshold."""

    d_prime: Floats
    d_prime_se: Floats
    criterion: Floats
    accuracy: Floats
    at_best: Floats


def detection(
    bad_called_bad: npt.ArrayLike, bad: npt.ArrayLike, good_called_bad: npt.ArrayLike, good: npt.ArrayLike
) -> Detection:
    """Compute d′ and criterion from counts (also fractional ones, of rounded percentages), elementwise.

        SE(d′)² = H (1 − H) / (n_bad φ(z_H)²) + F (1 − F) / (n_good φ(z_F)²),   SE(c) = SE(d′) / 2

    Where a rate is 0 or 1 its Φ⁻¹ is infinite; there both counts get the log-linear correction (Hautus 1995),
    (x + w) / (n + 2w) with w the side's share of all cases: ½ and 1 where both sides have as many, and d′ = 0 for a
    judge that always says the same. Missing where a side has no case. `accuracy` is (H + 1 − F) / 2.
    """
    called = np.array(np.broadcast_arrays(bad_called_bad, good_called_bad), dtype=float)
    n = np.array(np.broadcast_arrays(bad, good, called[0])[:2], dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = np.where((n > 0).all(axis=0), n, np.nan)
        weight = n / n.sum(axis=0)
        extreme = ((called <= 0) | (called >= n)).any(axis=0)
        rate = np.where(extreme, (called + weight) / (n + 2 * weight), called / n)
        z = norm.ppf(rate)
        error = np.sqrt((rate * (1 - rate) / (n * norm.pdf(z) ** 2)).sum(axis=0))
        accuracy = (called[0] / n[0] + 1 - called[1] / n[1]) / 2
    d_prime = z[0] - z[1]
    return Detection(d_prime, error, -(z[0] + z[1]) / 2, accuracy, norm.cdf(d_prime / 2))


def count_verdicts(gold: npt.ArrayLike, labels: npt.ArrayLike, group: npt.ArrayLike = 0, groups: int = 1) -> Floats:
    """Count cases by gold (good, bad) × called (good, bad, neutral, unread) × number of the group."""
    g, s = check_labels(gold, place="gold"), check_labels(labels, 3, place="said")
    if len(g) != len(s):
        raise DataError(Problem("said", f"has {len(s)} labels for {len(g)} cases"))
    called = np.select([s == GOOD, s == BAD, s == NEUTRAL], [0, 1, 2], 3)
    known = ~np.isnan(g)
    table = np.zeros((2, 4, groups))
    place = np.broadcast_to(np.asarray(group, dtype=int), g.shape)[known]
    np.add.at(table, ((g[known] == BAD).astype(int), called[known], place), 1)
    return table


def _accuracy(t: Floats) -> Floats:
    return ratio(t[0, 0] + t[1, 1], t.sum(axis=(0, 1)))


def _good(t: Floats) -> Floats:
    return ratio(t[0, 0], t[0].sum(axis=0))


def _bad(t: Floats) -> Floats:
    return ratio(t[1, 1], t[1].sum(axis=0))


def _f1(t: Floats, side: int) -> Floats:
    return ratio(2 * t[side, side], t[side].sum(axis=0) + t[:, side].sum(axis=0))


def _beyond_chance(t: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return n · (cases in agreement) − agreement by chance, this chance, and the spreads of gold and of what was
    called.
    """
    n, gold, called = t.sum(axis=(0, 1)), t.sum(axis=1), t.sum(axis=0)
    chance = (gold * called[:2]).sum(axis=0)
    spreads = (n**2 - (margin**2).sum(axis=0) for margin in (gold, called))
    return n * (t[0, 0] + t[1, 1]) - chance, n**2 - chance, *spreads


def _mcc(t: Floats) -> Floats:
    """Return the Matthews correlation, with more than two categories as Gorodkin's R_K: cov(gold, said) / √(var · var)."""
    together, _, gold, called = _beyond_chance(t)
    return ratio(together, np.sqrt(gold * called))


def _detects(which: str) -> Callable[[Floats], Floats]:
    """Return a quantity of signal detection, where H is `bad_acc` and F is 1 − `good_acc`."""
    return lambda t: getattr(detection(t[1, 1], t[1].sum(axis=0), t[0, 1:].sum(axis=0), t[0].sum(axis=0)), which)


#: Metric → function of counts. `…_read` leave out what could not be read; how many escape into "neutral": `escapes`.
METRICS: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": _accuracy,
    "good_acc": _good,
    "bad_acc": _bad,
    "balanced_accuracy": lambda t: (_good(t) + _bad(t)) / 2,
    "positive_bias": lambda t: _good(t) - _bad(t),
    "macro_f1": lambda t: (_f1(t, 0) + _f1(t, 1)) / 2,
    "mcc": _mcc,
    "kappa": lambda t: ratio(*_beyond_chance(t)[:2]),
    "d_prime": _detects("d_prime"),
    "criterion": _detects("criterion"),
    "at_best": _detects("at_best"),
    "parse_rate": lambda t: ratio(t[:, :3].sum(axis=(0, 1)), t.sum(axis=(0, 1))),
    "accuracy_read": lambda t: _accuracy(t[:, :3]),
    "good_acc_read": lambda t: _good(t[:, :3]),
    "bad_acc_read": lambda t: _bad(t[:, :3]),
}
#: Metrics that are no shares.
_SCALES: dict[str, Scale] = {
    **dict.fromkeys(("positive_bias", "d_prime", "criterion"), "plain"),
    **dict.fromkeys(("mcc", "kappa"), "correlation"),
}
#: Metrics that all cases carry, whatever their class.
_OF_ANY_CLASS = ("accuracy", "accuracy_read", "parse_rate")
#: Shares of cases that are counted one by one, so that they have a Wilson interval, and the sides they are shares of.
_COUNTED = {"accuracy": (0, 1), "parse_rate": (0, 1), "good_acc": 0, "bad_acc": 1}


# -- of verdicts --------------------------------------------------------------------------------------------------


def measure_verdicts(
    frame: pd.DataFrame, *, metrics: Sequence[str] = tuple(METRICS), unit: str = "case"
) -> pd.DataFrame:
    """Measure how well verdicts agree with gold, one row a judge and metric.

    Parameters
    ----------
    frame : columns judge, gold (1, −1), said (1, −1, 0, or missing where the answer could not be read), and `unit`.
    metrics : names in `perslib.systems.uxbench.statistics.detection.METRICS`.
    unit : what was sampled: the case, or the user where one user has several.

    Columns: judge, metric, value, value_low, value_high (over units), wilson_low, wilson_high (of
    plain shares, cases taken as independent), cases, unread, units.
    """
    check_names("metric", metrics, METRICS)
    if missing := [c for c in ("judge", "gold", "said", unit) if c not in frame]:
        raise DataError(Problem("verdicts", f"has no column {', '.join(missing)}"))
    rows: list[dict[str, Any]] = []
    for judge, own in frame.groupby("judge", sort=False, dropna=False):
        units = Resamples(own[unit])
        table = count_verdicts(own["gold"], own["said"], units.group, len(units))
        drawn, whole = table @ units.weights, table.sum(axis=2)
        is_good = own["gold"] > 0
        is_right = np.sign(floats(own["said"])) == np.sign(floats(own["gold"]))
        carriers = count_carriers(is_good, own[unit], is_good == is_right)
        about = {"cases": int(whole.sum()), "unread": int(whole[:, 3].sum()), "units": len(units)}
        for name in metrics:
            values = METRICS[name](drawn) if name in _OF_ANY_CLASS else drop_if_few(METRICS[name](drawn), carriers)
            row = units.estimate(values, scale=_SCALES.get(name, "share"))
            n = whole[_COUNTED[name], :].sum() if name in _COUNTED else np.nan
            low, high = wilson(row["value"] * n, n)
            bounds = {"wilson_low": float(low), "wilson_high": float(high)}
            rows.append({"judge": judge, "metric": name, **row, **bounds, **about})
    return pd.DataFrame(rows)


def escapes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return three classes: of the cases of either side, how many are right, escape into neutral, are missed, or
    unread.

    Columns: judge, side (good, bad), cases, right, neutral, missed, unread, and the share of each in percent.
    """
    rows = []
    for judge, own in frame.groupby("judge", sort=False):
        for i, (side, n) in enumerate(zip(("good", "bad"), count_verdicts(own["gold"], own["said"])[..., 0])):
            counts = dict(zip(("right", "neutral", "missed", "unread"), n[[i, 2, 1 - i, 3]].astype(int)))
            rows.append({"judge": judge, "side": side, "cases": int(n.sum()), **counts})
    table = pd.DataFrame(rows)
    percents = 100 * table.iloc[:, 3:].div(table["cases"].where(table["cases"] > 0), axis=0)
    return table.join(percents.add_suffix("_percent"))


# -- of scores ----------------------------------------------------------------------------------------------------


def compare_auroc(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Compute AUROC of each judge, with intervals over users, and how far the first judge is ahead of each; one row a
    judge.

    `verdicts` has columns judge, case, user, gold, p_good; only cases that all judges were shown count. A probability that
    is missing puts its case on the wrong side of all others; a judge that gives none has no AUROC.

    Columns: judge, cases, users, auroc, auroc_low, auroc_high, and ahead (AUROC of the first judge less this one's) with
    ahead_low, ahead_high and ahead_p.
    """
    if verdicts.duplicated(["judge", "case"]).any():
        raise DataError(Problem("verdicts", "has two verdicts of a judge on a case"))
    names = list(dict.fromkeys(verdicts["judge"]))
    row = verdicts.assign(row=np.arange(len(verdicts))).pivot(index="case", columns="judge", values="row")[names]
    row = row[row.notna().all(axis=1)].astype(int)
    about = verdicts.drop_duplicates("case").set_index("case").loc[row.index]
    gold, p = check_labels(about["gold"], place="gold"), floats(verdicts["p_good"])[row.to_numpy()]
    known, is_mute = ~np.isnan(gold), np.isnan(p).all(axis=0)
    p = misplace_unread(gold == GOOD, p)
    users = Resamples(about["user"].where(about["user"] != "", row.index.to_series())[known])
    drawn = [auroc_under(gold[known] == GOOD, of, users.group, users.weights) for of in p[known].T]
    drawn = [np.where(mute, np.nan, own) for mute, own in zip(is_mute, drawn)]
    rows = []
    for name, own in zip(names, drawn):
        row = {"judge": name, "cases": int(known.sum()), "users": len(users), **estimate(own, "auroc", "share")}
        rows.append(row if own is drawn[0] else row | estimate(drawn[0] - own, "ahead", p=True))
    return pd.DataFrame(rows).reindex(columns=[*rows[0], *name_bounds("ahead", p=True)])


def misplace_unread(good: Bools, p: Floats) -> Floats:
    """Put what could not be read on the wrong side of all probabilities: good cases below them, bad ones above."""
    lost = np.where(good, -1.0, 2.0)
    return np.where(np.isnan(p), lost if p.ndim == 1 else lost[:, None], p)
