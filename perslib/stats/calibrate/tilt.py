"""Tilting calibrates distributions as distributions: a judge's probabilities, tempered and tilted to the user.

    log p'_k = a · log p_k + b · log h_k + c_k + const,    a, b ≥ 0

with p the judge's distribution and h the user's history distribution (shrunk, so that no score is impossible).
a < 1 tempers an overconfident judge, b says how far the history counts, c what the judge is wrong about for all
users alike. The likelihood of train users' scores is concave in (a, b, c): there is one best answer. Few train users
leave the distribution as it is: (a, b, c) are normal around (1, 0, 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from perslib.stats.calibrate.fitted import Fitted, level_of, prepare_training_rows
from perslib.stats.calibrate.user_scale import Floats
from perslib.stats.calibrate.verdicts import of_blocks
from perslib.stats.resample.leave_one_out import floats

P = [f"p{s}" for s in range(1, 6)]

#: Probabilities below this are taken as this: a judge's "impossible" is worth that much.
FLOOR = 1e-4


@dataclass(frozen=True)
class Tilted(Fitted):
    """Judge's distribution to the power `trust`, history's to the power `history`, times exp(`offsets`)."""

    trust: float
    history: float
    offsets: Floats
    name: str = "tilted"

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Return probabilities of 1 to 5."""
        return self.tilt(*_read_inputs(verdicts, histories))

    def tilt(self, p: Floats, counts: Floats) -> Floats:
        """Return probabilities of 1 to 5 from those of the judge and the counts of the history, both a row a verdict."""
        terms = _log_terms(p, counts)
        return softmax(terms @ np.array([self.trust, self.history]) + self.offsets, axis=1)


def fit_tilt(train: pd.DataFrame, histories: pd.DataFrame) -> Tilted:
    """Learn trust, weight of the history and offsets from train users' verdicts with p1 … p5 and gold."""
    rows, gold = prepare_training_rows(train, P)
    terms, hit = _log_terms(*_read_inputs(rows, histories)), np.eye(5)[gold]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        offsets = parameters[2:]
        log_p = log_softmax(terms @ parameters[:2] + offsets, axis=1)
        miss, off = np.exp(log_p) - hit, parameters - as_it_is
        gradient = np.r_[np.einsum("nk,nkj->j", miss, terms), miss.sum(axis=0)]
        return -log_p[np.arange(len(gold)), gold].sum() + float(off @ off) / 2, gradient + off

    as_it_is, bounds = np.r_[1.0, np.zeros(6)], [(0, None)] * 2 + [(None, None)] * 5
    best = minimize(loss, as_it_is, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Tilted(float(best[0]), float(best[1]), best[2:] - best[2:].mean())


def _read_inputs(verdicts: pd.DataFrame, histories: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return what the judge gave, and the counts of the history; DataError where a user has none."""
    level_of(verdicts, histories)
    return floats(verdicts[P]), of_blocks(verdicts, histories)


def _log_terms(p: Floats, counts: Floats) -> Floats:
    """Return log p and log h of the five scores: verdicts × scores × 2."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.log(np.maximum(np.stack([p, shares], axis=2), FLOOR))
