"""From log odds to probabilities, to verdicts, and to saying nothing where nothing can be promised.

All of it is learned on cases of users whom the model has not seen (UXBench, section 5: a judge's gain is mostly a matter
of where it draws the line, so the line is drawn on purpose).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from perslib.errors import DataError, Problem, UnknownName

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Kind = Literal["platt", "temperature", "isotonic", "none"]
KINDS: tuple[Kind, ...] = ("platt", "temperature", "isotonic", "none")


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
        """Probabilities; missing where the log odds are."""
        s = np.asarray(logits, dtype=float)
        if self.kind == "isotonic":
            return np.where(np.isnan(s), np.nan, np.interp(s, self.x, self.y))
        return np.asarray(expit(self.a * s + self.b))


def calibrated(kind: Kind, logits: Floats, good: Bools, weight: Floats | None = None) -> Calibration:
    """The calibration of this kind that fits best; labels are drawn in a little, as Platt does: (N + 1) / (N + 2)."""
    if kind not in KINDS:
        raise UnknownName("calibration", kind, KINDS)
    known = ~np.isnan(logits)
    s, y = np.asarray(logits, dtype=float)[known], np.asarray(good, dtype=bool)[known]
    w = (np.ones(len(good)) if weight is None else np.asarray(weight, dtype=float))[known]
    if kind == "none":
        return Calibration()
    if not 0 < y.sum() < len(y):
        raise DataError(
            Problem("held-out cases", f"{int(y.sum())} of {len(y)} with a score are good"),
            "Calibration needs good and bad ones: hold out more users, or set calibration='none'.",
        )
    if kind == "isotonic":
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(s, y, sample_weight=w)
        return Calibration(kind, x=tuple(curve.X_thresholds_.tolist()), y=tuple(curve.y_thresholds_.tolist()))
    ends = (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2)
    target = np.where(y, *ends)
    shift = kind == "platt"

    def loss(v: Floats) -> tuple[float, Floats]:
        z = v[0] * s + (v[1] if shift else 0.0)
        off = w * (expit(z) - target)
        slope = [off @ s, off.sum()] if shift else [off @ s]
        return float(w @ (np.logaddexp(0, z) - target * z)) / len(s), np.array(slope) / len(s)

    bounds = [(0.0, None), (None, None)][: 1 + shift]
    found = minimize(loss, [1.0, 0.0][: 1 + shift], jac=True, bounds=bounds, method="L-BFGS-B").x
    return Calibration(kind, float(found[0]), float(found[1]) if shift else 0.0)


def cheapest_threshold(good: Bools, p: Floats, cost: tuple[float, float]) -> float:
    """The p from which on to say good so that errors cost least.

    `cost` is what a bad reply called good costs, and a good one called bad. Of equal thresholds the one that is nearest to
    passed / (passed + refused), where calibrated probabilities would have it.
    """
    passed, refused = cost
    usual = passed / (passed + refused)
    known = ~np.isnan(p)
    order = np.argsort(p[known], kind="stable")
    q, y = p[known][order], good[known][order]
    # With the first i cases called bad: their good ones are refused, the bad ones of the rest are passed.
    paid = refused * np.r_[0, np.cumsum(y)] + passed * np.r_[(~y).sum() - np.r_[0, np.cumsum(~y)]]
    between = np.r_[True, q[1:] > q[:-1], True]
    places = np.r_[0.0, (q[1:] + q[:-1]) / 2, np.nextafter(1.0, 2.0)]
    best = np.flatnonzero(between & (paid <= paid[between].min() + 1e-12))
    return float(places[best[np.argmin(np.abs(places[best] - usual))]])


@dataclass(frozen=True)
class Abstention:
    """Split conformal sets of the two labels, each label by itself, over users.

    The set of a case holds `good` if −s ≤ `good_misfit`, and `bad` if s ≤ `bad_misfit`, s being its log odds. Of good cases
    of a new user a share of at least 1 − alpha has `good` in its set, and so for bad ones, whatever the model, as long as
    users are exchangeable: K calibration users share K / (K + 1) of the weight, the rest lies at infinity. It is an average
    over users. A verdict stands where the set holds one label only; elsewhere the model abstains.
    """

    alpha: float = 0.1
    good_misfit: float = float("inf")
    bad_misfit: float = float("inf")
    users: int = 0

    def sets(self, logits: Floats) -> tuple[Bools, Bools]:
        """Whether good, and bad, is in the set of each case; both where there is no score."""
        s = np.asarray(logits, dtype=float)
        return ~(-s > self.good_misfit), ~(s > self.bad_misfit)


def abstention(logits: Floats, good: Bools, owner: npt.NDArray[np.object_], alpha: float = 0.1) -> Abstention:
    """Misfits that keep the promise of `Abstention`, from cases of users that the model has not seen."""
    if not 0 < alpha < 1:
        raise DataError(Problem("alpha", f"is {alpha}, expected a share between 0 and 1 such as 0.1"))
    known = ~np.isnan(logits)
    bounds = [
        _bound(sign * logits[known & side], owner[known & side], alpha)
        for sign, side in ((-1.0, good), (1.0, ~good))
    ]
    return Abstention(alpha, bounds[0], bounds[1], len(set(owner[known].tolist())))


def _bound(misfit: Floats, owner: npt.NDArray[np.object_], alpha: float) -> float:
    """The (1 − alpha)-quantile, users weighing alike and one more at infinity."""
    if not len(misfit):
        return float("inf")
    _, user, cases = np.unique(owner.astype(str), return_inverse=True, return_counts=True)
    order = np.argsort(misfit, kind="stable")
    reached = np.cumsum(1 / cases[user][order]) / (len(cases) + 1)
    place = int(np.searchsorted(reached, 1 - alpha - 1e-12))
    return float(misfit[order][place]) if place < len(order) else float("inf")
