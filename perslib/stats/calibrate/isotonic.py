"""Isotonic calibration keeps the index β · x of `ordinal` and replaces the logistic shape by any shape that never falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from perslib.stats.calibrate.fitted import Fitted, prepare_training_rows
from perslib.stats.calibrate.ordinal import ProportionalOdds, fit_ordinal
from perslib.stats.calibrate.user_scale import Floats


@dataclass(frozen=True)
class Isotonic(Fitted):
    """P(gold > k) as a step function, never falling, of the proportional-odds index."""

    odds: ProportionalOdds
    above: tuple[IsotonicRegression, ...]
    name: str = "isotonic"

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Return probabilities of 1 to 5."""
        index = self.odds.index(verdicts, histories)
        given = ~np.isnan(index)
        above = np.full((len(index), 4), np.nan)
        # Regressions of nested events on one order never cross, so all differences are probabilities.
        above[given] = np.column_stack([step.predict(index[given]) for step in self.above])
        return np.clip(-np.diff(above, axis=1, prepend=1, append=0), 0, 1)


def fit_isotonic(train: pd.DataFrame, histories: pd.DataFrame, *, score: str = "raw") -> Isotonic:
    """Learn the index by proportional odds, then a step function for each threshold."""
    odds = fit_ordinal(train, histories, score=score)
    rows, gold = prepare_training_rows(train, [score])
    index = odds.index(rows, histories)
    above = [IsotonicRegression(out_of_bounds="clip").fit(index, gold > k) for k in range(4)]
    return Isotonic(odds, tuple(above))
