"""Judges that give a probability of "good": discrimination, calibration, and what a better threshold would bring.

A reward model goes from log odds to probabilities, to verdicts, and to saying nothing where nothing can be promised.
All of that is learned on cases of users whom the model has not seen (UXBench, section 5: a judge's gain is mostly a
matter of where it draws the line, so the line is drawn on purpose).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from perslib.errors import DataError, NotEnough, Problem, UnknownName
from perslib.stats import SEED, floats
from perslib.ux.cases import BAD, GOOD, labels

Floats = npt.NDArray[np.float64]
BINS, FOLDS = 10, 10


def _known(gold: npt.ArrayLike, p_good: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Whether good, and the probability, of the cases that have both."""
    g, p = labels(gold, place="gold"), floats(p_good)
    if len(g) != len(p):
        raise DataError(Problem("p_good", f"has {len(p)} values for {len(g)} cases"))
    if len(out := np.flatnonzero((p < 0) | (p > 1))):
        raise DataError(Problem(f"p_good row {out[0]}", f"is {p[out[0]]:g}, expected a probability"))
    known = ~np.isnan(g) & ~np.isnan(p)
    return (g[known] == GOOD).astype(float), p[known]


def probability_metrics(gold: npt.ArrayLike, p_good: npt.ArrayLike, bins: int = BINS) -> dict[str, float]:
    """AUROC, AUPRC (bad is what is looked for), Brier score with its decomposition, and ECE.

    - auroc: chance that a good case has a higher p than a bad one; auprc: average precision of finding bad ones
    - brier = mean (p − y)²; over bins of equal mass with mean p̄_b, share ȳ_b and weight w_b,
      reliability = Σ w_b (p̄_b − ȳ_b)², resolution = Σ w_b (ȳ_b − ȳ)², uncertainty = ȳ (1 − ȳ) (Murphy 1973; their sum
      reliability − resolution + uncertainty is the Brier score but for the spread of p within bins)
    - ece = Σ w_b |p̄_b − ȳ_b|
    """
    y, p = _known(gold, p_good)
    both = 0 < y.sum() < len(y)
    table = reliability(gold, p_good, bins)
    weight = table["cases"].to_numpy(float) / max(1, len(y))
    apart = table["predicted"].to_numpy(float) - table["good"].to_numpy(float)
    share = float(y.mean()) if len(y) else float("nan")
    return {
        "auroc": float(roc_auc_score(y, p)) if both else float("nan"),
        "auprc": float(average_precision_score(1 - y, 1 - p)) if both else float("nan"),
        "brier": float(((p - y) ** 2).mean()) if len(y) else float("nan"),
        "reliability": float((weight * apart**2).sum()),
        "resolution": float((weight * (table["good"].to_numpy(float) - share) ** 2).sum()),
        "uncertainty": share * (1 - share),
        "ece": float((weight * np.abs(apart)).sum()) if len(y) else float("nan"),
        "cases": float(len(y)),
    }


def reliability(gold: npt.ArrayLike, p_good: npt.ArrayLike, bins: int = BINS) -> pd.DataFrame:
    """Mean p and share of good cases in bins of equal mass; cases of one p stay together. Columns: predicted, good, cases."""
    y, p = _known(gold, p_good)
    if not len(y):
        return pd.DataFrame({"predicted": [], "good": [], "cases": []}, dtype=float)
    place = ((rankdata(p) - 0.5) / len(p) * bins).astype(int)
    n = np.bincount(place)
    kept = n > 0
    means = [np.bincount(place, v)[kept] / n[kept] for v in (p, y)]
    return pd.DataFrame({"predicted": means[0], "good": means[1], "cases": n[kept]})


class Calibrated(NamedTuple):
    """Balanced accuracy as the judge stands, at thresholds learned on other cases, and the threshold of all cases."""

    raw: float
    calibrated: float
    threshold: float
    cases: int


def at_learned_threshold(
    gold: npt.ArrayLike,
    p_good: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    usual: float = 0.5,
    folds: int = FOLDS,
    seed: int = SEED,
) -> Calibrated:
    """Accuracy on the balanced set at the usual threshold, and cross-validated at the best one.

    The share that a judge gains here it had lost to its criterion alone. Thresholds are learned on the other folds;
    `groups` (users, say) stay in one fold.
    """
    g, p = labels(gold, place="gold"), floats(p_good)
    names = np.arange(len(g)) if groups is None else np.asarray(groups)
    known = ~np.isnan(g) & ~np.isnan(p)
    good, p = g[known] == GOOD, p[known]
    group, found = pd.factorize(names[known])
    if not 0 < good.sum() < len(good):
        return Calibrated(float("nan"), float("nan"), float("nan"), len(good))
    fold = np.random.default_rng(seed).permutation(len(found))[group] % min(folds, max(2, len(found)))
    called = np.zeros(len(good), dtype=bool)
    for one in np.unique(fold):
        own = fold == one
        called[own] = p[own] >= best_threshold(good[~own], p[~own], usual)
    return Calibrated(
        _balanced(good, p >= usual), _balanced(good, called), best_threshold(good, p, usual), len(good)
    )


def best_threshold(good: npt.NDArray[np.bool_], p: Floats, usual: float = 0.5) -> float:
    """The p from which on to say good, for the greatest balanced accuracy; halfway between neighbouring values."""
    if not 0 < good.sum() < len(good):
        return usual
    order = np.argsort(p, kind="stable")
    sorted_p, is_good = p[order], good[order]
    # Said good is all from place i on: balanced accuracy of each i that does not part equal values.
    above_good = np.r_[good.sum() - np.r_[0, np.cumsum(is_good)[:-1]], 0] / good.sum()
    below_bad = np.r_[0, np.cumsum(~is_good)] / (~good).sum()
    between = np.r_[True, sorted_p[1:] > sorted_p[:-1], True]
    value = np.where(between, above_good + below_bad, -1.0)
    best = np.flatnonzero(value >= value.max() - 1e-12)
    padded = np.r_[sorted_p[0], (sorted_p[1:] + sorted_p[:-1]) / 2, np.nextafter(sorted_p[-1], np.inf)]
    return float(padded[best[np.argmin(np.abs(padded[best] - usual))]])


def _balanced(good: npt.NDArray[np.bool_], called: npt.NDArray[np.bool_]) -> float:
    return float((called[good].mean() + (~called[~good]).mean()) / 2)


def verdict_of(p_good: npt.ArrayLike, threshold: float = 0.5) -> Floats:
    """Labels from probabilities: good from the threshold on, missing where there is none."""
    p = floats(p_good)
    return np.where(np.isnan(p), np.nan, np.where(p >= threshold, GOOD, BAD))


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
        raise NotEnough(
            "A reward model is calibrated on held-out good and bad cases, but {good} of {n} are good. Add "
            "labelled replies of other users (in code, or set calibration='none').",
            good=int(y.sum()),
            n=len(y),
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
