"""Probabilities of "good", calibrated on cases of users whom the model has not seen.

fit_calibration(logits, good)             # from log odds to probabilities
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from perslib.stats.resample.leave_one_out import Bools, Floats


@dataclass(frozen=True)
class Calibration:
    """P(good) = σ(a s + b) of log odds s, a ≥ 0 (Platt 1999)."""

    a: float = 1.0
    b: float = 0.0

    def __call__(self, logits: Floats) -> Floats:
        """Return probabilities; missing where the log odds are."""
        return np.asarray(expit(self.a * np.asarray(logits, dtype=float) + self.b))


def fit_calibration(logits: Floats, good: Bools, weight: Floats | None = None) -> Calibration:
    """Fit slope and shift; labels are drawn in a little, as Platt does: (N + 1) / (N + 2)."""
    known = ~np.isnan(logits)
    s, y = np.asarray(logits, dtype=float)[known], np.asarray(good, dtype=bool)[known]
    w = (np.ones(len(good)) if weight is None else np.asarray(weight, dtype=float))[known]
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    terms = np.stack([s, np.ones(len(s))])

    def loss(at: Floats) -> tuple[float, Floats]:
        z = at @ terms
        return float(w @ (np.logaddexp(0, z) - target * z)) / len(s), terms @ (w * (expit(z) - target)) / len(s)

    bounds = [(0.0, None), (None, None)]
    return Calibration(*minimize(loss, [1.0, 0.0], jac=True, bounds=bounds, method="L-BFGS-B").x.tolist())
