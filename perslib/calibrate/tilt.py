"""Distributions calibrated as distributions: a judge's probabilities, tempered and tilted to the user.

    log p'_k = a · log p_k + b · log h_k + c_k + const

with p the judge's distribution and h the user's history distribution (shrunk, so that no score is impossible).
a < 1 tempers an overconfident judge, b says how far the history counts, c what the judge is wrong about for all
users alike. The likelihood of train users' scores is concave in (a, b, c): there is one best answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from perslib.calibrate.fitted import Fitted, level_of, scored
from perslib.calibrate.frames import of_blocks
from perslib.calibrate.scale import Floats

P = [f"p{s}" for s in range(1, 6)]

#: Probabilities below this are taken as this: a judge's "impossible" is worth that much.
FLOOR = 1e-4

#: Weight of the penalty on c, which is otherwise open up to a constant.
RIDGE = 1e-3


@dataclass(frozen=True)
class Tilted(Fitted):
    """Judge's distribution to the power `trust`, history's to the power `history`, times exp(`offsets`)."""

    trust: float
    history: float
    offsets: Floats
    name: str = "tilted"

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5."""
        terms = _log_terms(verdicts, histories)
        return softmax(terms @ np.array([self.trust, self.history]) + self.offsets, axis=1)


def fit_tilt(train: pd.DataFrame, histories: pd.DataFrame) -> Tilted:
    """Learn trust, weight of the history and offsets from train users' verdicts with p1 … p5 and gold."""
    part = scored(train, P)
    terms = _log_terms(part.rows, histories)
    rows = np.arange(len(terms))
    hit = np.eye(5)[part.gold]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        offsets = parameters[2:]
        log_p = log_softmax(terms @ parameters[:2] + offsets, axis=1)
        miss = np.exp(log_p) - hit
        gradient = np.r_[np.einsum("nk,nkj->j", miss, terms), miss.sum(axis=0)] / len(rows)
        penalty = RIDGE * np.r_[0, 0, offsets]
        return -log_p[rows, part.gold].mean() + RIDGE / 2 * float(offsets @ offsets), gradient + penalty

    best = minimize(loss, np.r_[1.0, np.zeros(6)], jac=True, method="L-BFGS-B").x
    return Tilted(float(best[0]), float(best[1]), best[2:] - best[2:].mean())


def _log_terms(verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """log p and log h of the five scores: verdicts × scores × 2."""
    level_of(verdicts, histories)  # says which user has no history
    own = of_blocks(verdicts, histories)
    shares = own / own.sum(axis=1, keepdims=True)
    p = verdicts[P].to_numpy(dtype=float, na_value=np.nan)
    return np.log(np.maximum(np.stack([p, shares], axis=2), FLOOR))
