"""Ordinal calibration goes from a judge's score and the user's level to a distribution.

Proportional odds (cumulative logit):   P(gold ≤ k) = σ(θ_k − β · x),   θ_1 < θ_2 < θ_3 < θ_4

with x the judge's score and the mean of the user's history. β says how far the judge is to be trusted beside the
history; that of the judge's score is never negative, so that few train users cannot turn a judge upside down.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

from perslib.stats.calibrate.fitted import Fitted, prepare_training_rows, score_and_level
from perslib.stats.calibrate.user_scale import Floats, Ints

#: Weight of the penalty on β (in squared standard deviations of x) and on the offsets c: settles what the data leave open, no more.
RIDGE = 1e-3


@dataclass(frozen=True)
class ProportionalOdds(Fitted):
    """P(gold ≤ k) = σ(thresholds_k − slopes · (score, level))."""

    thresholds: Floats
    slopes: Floats
    score: str = "raw"
    name: str = "ordinal"

    def index(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Return β · x: where each reply stands on the scale of logits."""
        return score_and_level(verdicts, histories, self.score) @ self.slopes

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Return probabilities of 1 to 5."""
        return ordinal_probabilities(self.thresholds, self.index(verdicts, histories))


def ordinal_probabilities(thresholds: Floats, index: Floats) -> Floats:
    """Return P(1 … 5) from the thresholds θ and the indices β · x, one row an index."""
    return np.diff(expit(thresholds - index[:, None]), axis=1, prepend=0, append=1)


def fit_ordinal(train: pd.DataFrame, histories: pd.DataFrame, *, score: str = "raw") -> ProportionalOdds:
    """Learn thresholds and slopes from train users (`perslib.stats.calibrate.fitted` says what `train` holds)."""
    rows, gold = prepare_training_rows(train, [score])
    thresholds, slopes = proportional_odds(score_and_level(rows, histories, score), gold)
    return ProportionalOdds(thresholds, slopes, score)


def proportional_odds(x: Floats, gold: Ints, rising: int = 1) -> tuple[Floats, Floats]:
    """Return thresholds θ and slopes β of greatest likelihood, the first `rising` slopes not negative; gold is 0 to 4.

    Solved with x standardised and θ as a first threshold and logarithms of three gaps, so that they stay in order.
    """
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    z, n = (x - centre) / spread, len(x)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        beta, gaps = parameters[:-4], np.exp(parameters[-3:])
        theta = parameters[-4] + np.r_[0, np.cumsum(gaps)]
        cumulative = expit(theta - (z @ beta)[:, None])
        edges = np.column_stack([np.zeros(n), cumulative, np.ones(n)])
        upper, lower = edges[np.arange(n), gold + 1], edges[np.arange(n), gold]
        p = np.maximum(upper - lower, 1e-12)
        # d log p / dη = upper + lower − 1, as σ' = σ(1 − σ); and each θ moves the two scores beside it.
        slope = z.T @ (upper + lower - 1)
        density = cumulative * (1 - cumulative) / p[:, None]
        residuals = (gold[:, None] == np.arange(4)) * 1.0 - (gold[:, None] == np.arange(1, 5))
        theta_slope = (density * residuals).sum(axis=0)
        further = [theta_slope[k + 1 :].sum() * gaps[k] for k in range(3)]
        gradient = np.r_[slope, theta_slope.sum(), further]
        penalty = np.r_[RIDGE * beta, np.zeros(4)]
        return -np.log(p).sum() / n + RIDGE / 2 * float(beta @ beta), penalty - gradient / n

    shares = (np.bincount(gold, minlength=5) + 0.5) / (n + 2.5)
    logits = np.log(np.cumsum(shares)[:4] / (1 - np.cumsum(shares)[:4]))
    start = np.r_[np.zeros(z.shape[1]), logits[0], np.log([b - a for a, b in pairwise(logits)])]
    at_least = [0 if place < rising else None for place in range(z.shape[1])]
    bounds = [*((low, None) for low in at_least), (None, None), *[(-10, 5)] * 3]  # a score nobody gave closes its gap
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    beta = best[:-4] / spread
    theta = best[-4] + np.r_[0, np.cumsum(np.exp(best[-3:]))] + centre @ beta
    return theta, beta
