"""Short histories are shrunk towards the population: no cliff at five turns, and a value for a user without any.

A user's score shares are taken as drawn from a Dirichlet distribution around the population's, so that a history
of counts n has the posterior mean

    (n + strength · shares) / (Σn + strength)

With `strength` imaginary turns of the population, a user without history has the population's distribution, and
one with a long history their own. The strength is estimated on train users by the likelihood of their counts
(Dirichlet-multinomial, empirical Bayes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from perslib.corpus import Corpus
from perslib.errors import DataError
from perslib.stats.calibrate.user_scale import Floats
from perslib.stats.calibrate.verdicts import COUNTS

#: Where the strength is sought, in turns. At the upper end all users are taken as alike.
WEAKEST, STRONGEST = 0.1, 10_000.0


@dataclass(frozen=True)
class HistoryPrior:
    """Score shares of train users, and how many turns of history they are worth."""

    shares: tuple[float, ...]
    strength: float

    @property
    def imaginary(self) -> Floats:
        """How often the imaginary turns have 1 to 5."""
        return self.strength * np.array(self.shares)

    def shrink(self, histories: pd.DataFrame) -> pd.DataFrame:
        """Return the histories with the imaginary turns added: takes their place wherever histories are asked for.

        Calibrators fall back below five turns of history; with these, ask them for `min_history=0`.
        """
        return histories.assign(**(histories[COUNTS].astype(float) + self.imaginary))


def fit_population(train: Corpus) -> HistoryPrior:
    """Return shares and strength from the train users' ratings."""
    rated = train.turns.dropna(subset="score")
    if rated.empty:
        raise DataError(f"{train.name}: no rated turn to learn the population from")
    given = pd.crosstab(rated["user"], rated["score"].astype(int))
    counts = given.reindex(columns=range(1, 6), fill_value=0).to_numpy(dtype=float)
    # Every user weighs the same, however much they wrote; half a turn each keeps unused scores possible.
    smoothed = counts + 0.5 / len(counts)
    shares = (smoothed / smoothed.sum(axis=1, keepdims=True)).mean(axis=0)
    return HistoryPrior(tuple(shares.tolist()), fit_strength(counts, shares))


def fit_strength(counts: Floats, shares: Floats) -> float:
    """Return how many imaginary turns of these shares users are worth whose counts these are; many where users are alike."""
    best = minimize_scalar(
        lambda log_strength: -log_likelihood(counts, shares, np.exp(log_strength)),
        bounds=(np.log(WEAKEST), np.log(STRONGEST)),
        method="bounded",
    )
    return float(np.exp(best.x))


def log_likelihood(counts: Floats, shares: Floats, strength: float) -> float:
    """Return Dirichlet-multinomial log-likelihood of the users' counts, up to what does not depend on the strength."""
    alpha, n = strength * shares, counts.sum(axis=1)
    within = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=1)
    return float((gammaln(strength) - gammaln(n + strength) + within).sum())
