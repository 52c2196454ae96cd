"""Whole scores from real-valued ones: four thresholds learned on train users in place of rounding.

An expected score keeps to the middle of the scale; rounded, it is hardly ever 3 or less, and a measure that wants
whole scores (quadratic kappa, F1 of dissatisfaction) sees nothing in it. Thresholds change no order and read no
reply: they only decide where on the judge's own scale the whole scores begin.
They are those of the greatest quadratic kappa with the train users' scores. A threshold of −∞ leaves a score unused: nothing lies below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.stats.calibrate.fitted import prepare_training_rows
from perslib.stats.calibrate.user_scale import SCORES, Floats, Ints
from perslib.stats.calibrate.verdicts import scores_of

#: Thresholds are sought among this many quantiles of the train scores.
QUANTILES = 100

_COST = (SCORES[:, None] - SCORES) ** 2


@dataclass(frozen=True)
class Thresholds:
    """The whole score is 1 + the number of thresholds that the column lies above."""

    column: str
    above: Floats

    def transform(self, verdicts: pd.DataFrame, name: str | None = None) -> pd.DataFrame:
        """Return the verdicts with the whole scores as column `{column}_whole`; missing where unscored."""
        values = scores_of(verdicts, self.column)
        whole = np.where(np.isnan(values), np.nan, 1.0 + (values[:, None] > self.above).sum(axis=1))
        return verdicts.assign(**{name or f"{self.column}_whole": pd.Series(whole, verdicts.index, "Float64")})


def fit_thresholds(train: pd.DataFrame, column: str) -> Thresholds:
    """Learn the thresholds of a column from train users (`perslib.stats.calibrate.fitted` says what `train` holds)."""
    rows, gold = prepare_training_rows(train, [column])
    values = scores_of(rows, column)
    return Thresholds(column, _of_best_kappa(values, gold, _of_equal_shares(values, gold)))


def _of_equal_shares(values: Floats, gold: Ints) -> Floats:
    """Return thresholds below which lies the same share of replies as of gold; the nearest share where scores are tied."""
    levels, times = np.unique(values, return_counts=True)
    reached = np.r_[0, np.cumsum(times)] / len(values)
    wanted = np.cumsum(np.bincount(gold, minlength=5))[:4] / len(gold)
    nearest = np.abs(reached[:, None] - wanted).argmin(axis=0)
    return np.r_[-np.inf, levels][nearest]


def _of_best_kappa(values: Floats, gold: Ints, start: Floats) -> Floats:
    """Return one threshold moved at a time, to where kappa is greatest, until none moves."""
    levels = np.quantile(values, np.linspace(0, 1, QUANTILES + 1), method="inverted_cdf")
    levels = np.unique(np.concatenate([[-np.inf], levels, start]))
    # upto[i, k]: how many replies with gold k + 1 lie at or below level i.
    reached = np.searchsorted(levels, values)
    cells = np.bincount(reached * 5 + gold, minlength=5 * len(levels)).reshape(-1, 5)
    upto = np.cumsum(cells, axis=0)
    place = np.searchsorted(levels, start)
    best = _kappa(upto, place)
    moved = True
    while moved:
        moved = False
        for k in range(4):
            low = place[k - 1] if k > 0 else 0
            high = place[k + 1] if k < 3 else len(levels) - 1
            for candidate in range(low, high + 1):
                tried = np.r_[place[:k], candidate, place[k + 1 :]]
                if (kappa := _kappa(upto, tried)) > best + 1e-9:
                    best, place, moved = kappa, tried, True
    return levels[place]


def _kappa(upto: Ints, place: Ints) -> float:
    """Return quadratic weighted kappa of gold and the whole scores that thresholds at these levels give."""
    confusion = np.diff(upto[np.r_[place, -1]], axis=0, prepend=0)
    by_chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) / confusion.sum()
    expected = (_COST * by_chance).sum()
    return float(1 - (_COST * confusion).sum() / expected) if expected else 0.0
