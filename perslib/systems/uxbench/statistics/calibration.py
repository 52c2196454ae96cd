"""Probabilities of "good", calibrated on cases of users whom the model has not seen.

fit_calibration("platt", logits, good)             # from log odds to probabilities
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from perslib.errors import NotEnough, check_names
from perslib.stats.resample.leave_one_out import Bools, Floats

Kind = Literal["platt", "temperature", "isotonic", "none"]


@dataclass(frozen=True)
class Calibration:
    """P(good) of log odds s.

    - none         σ(s)
    - temperature  σ(a s)
    - platt        σ(a s + b) (Platt 1999), a ≥ 0
    - isotonic     the best rising function, linear between the places `x` with values `y`
    """

    kind: Kind = "none"
    a: float = 1.0
    b: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()

    def __call__(self, logits: Floats) -> Floats:
        """Return probabilities; missing where the log odds are."""
        s = np.asarray(logits, dtype=float)
        if self.kind == "isotonic":
            return np.where(np.isnan(s), np.nan, np.interp(s, self.x, self.y))
        return np.asarray(expit(self.a * s + self.b))


def fit_calibration(kind: Kind, logits: Floats, good: Bools, weight: Floats | None = None) -> Calibration:
    """Fit a calibration of this kind; labels are drawn in a little, as Platt does: (N + 1) / (N + 2)."""
    check_names("calibration", kind, get_args(Kind))
    known = ~np.isnan(logits)
    s, y = np.asarray(logits, dtype=float)[known], np.asarray(good, dtype=bool)[known]
    w = (np.ones(len(good)) if weight is None else np.asarray(weight, dtype=float))[known]
    if kind == "none":
        return Calibration()
    if not 0 < y.sum() < len(y):
        raise NotEnough(
            "A reward model is calibrated on held-out good and bad cases, but {good} of {n} are good. Add "
            "labelled replies of other users (in code, or set calibration='none').",
            good=int(y.sum()),
            n=len(y),
        )
    if kind == "isotonic":
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(s, y, sample_weight=w)
        return Calibration(kind, x=tuple(curve.X_thresholds_.tolist()), y=tuple(curve.y_thresholds_.tolist()))
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    terms = np.stack([s, np.ones(len(s))])[: 1 + (kind == "platt")]

    def loss(at: Floats) -> tuple[float, Floats]:
        z = at @ terms
        return float(w @ (np.logaddexp(0, z) - target * z)) / len(s), terms @ (w * (expit(z) - target)) / len(s)

    bounds = [(0.0, None), (None, None)][: len(terms)]
    solution = minimize(loss, [1.0, 0.0][: len(terms)], jac=True, bounds=bounds, method="L-BFGS-B").x
    return Calibration(kind, *solution.tolist())
