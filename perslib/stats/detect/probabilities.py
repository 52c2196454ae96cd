"""Judges that give a probability of "good": discrimination, calibration, thresholds, and when to say nothing.

    probability_metrics(gold, p_good)                  # AUROC, Brier score and its parts, ECE
    at_learned_threshold(gold, p_good, users)          # what a better threshold would bring, cross-validated
    fit_calibration("platt", logits, good)             # from log odds to probabilities
    fit_abstention(logits, good, users, alpha=0.1)     # sets of labels with a promise; elsewhere no verdict

All of it is learned on cases of users whom the model has not seen (UXBench, section 5: a judge's gain is mostly a
matter of where it draws the line, so the line is drawn on purpose). What could not be read counts as wrong, as in
`perslib.stats.detection`; Brier score, ECE and the curves describe the probabilities that were given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from perslib.corpus.schema import BAD, GOOD
from perslib.errors import DataError, NotEnough, Problem, UnknownName
from perslib.stats.calibrate.conformal import quantile_over_users
from perslib.stats.detect.detection import METRICS, count_verdicts, labels, misplace_unread
from perslib.stats.resample.resamples import SEED, Floats, floats

Bools = npt.NDArray[np.bool_]
BINS, FOLDS = 10, 10
#: The threshold of a judge that has learned none.
USUAL = 0.5


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

    - auroc: chance that a good case has a higher p than a bad one; auprc: average precision of finding bad ones; in both a
      case without a p is on the wrong side of all others
    - brier = mean (p − y)²; over bins of equal mass with mean p̄_b, share ȳ_b and weight w_b,
      reliability = Σ w_b (p̄_b − ȳ_b)², resolution = Σ w_b (ȳ_b − ȳ)², uncertainty = ȳ (1 − ȳ) (Murphy 1973; their sum
      reliability − resolution + uncertainty is the Brier score but for the spread of p within bins)
    - ece = Σ w_b |p̄_b − ȳ_b|
    """
    y, p = _known(gold, p_good)
    if not len(y):
        names = ("auroc", "auprc", "brier", "reliability", "resolution", "uncertainty", "ece")
        return {**dict.fromkeys(names, float("nan")), "reliability": 0.0, "resolution": 0.0, "cases": 0.0}
    g = labels(gold)
    known = ~np.isnan(g)
    good = g[known] == GOOD
    ranked = misplace_unread(good, floats(p_good)[known])
    both = 0 < good.sum() < len(good)
    predicted, shares, cases = calibration_bins(gold, p_good, bins).to_numpy(float).T
    weight, share = cases / len(y), float(y.mean())
    return {
        "auroc": float(roc_auc_score(good, ranked)) if both else float("nan"),
        "auprc": float(average_precision_score(~good, 1 - ranked)) if both else float("nan"),
        "brier": float(((p - y) ** 2).mean()),
        "reliability": float((weight * (predicted - shares) ** 2).sum()),
        "resolution": float((weight * (shares - share) ** 2).sum()),
        "uncertainty": share * (1 - share),
        "ece": float((weight * np.abs(predicted - shares)).sum()),
        "cases": float(len(y)),
    }


def calibration_bins(gold: npt.ArrayLike, p_good: npt.ArrayLike, bins: int = BINS) -> pd.DataFrame:
    """Mean p and share of good cases in bins of equal mass; cases of one p stay together. Columns: predicted, good, cases."""
    y, p = _known(gold, p_good)
    place = ((rankdata(p) - 0.5) / max(1, len(p)) * bins).astype(int)
    frame = pd.DataFrame({"predicted": p, "good": y}).groupby(place)
    return frame.mean().assign(cases=frame.size()).reset_index(drop=True)


def reward_numbers(verdicts: pd.DataFrame) -> pd.Series:
    """All numbers of one judge's verdicts: AUROC, AUPRC, Brier with its parts, ECE, d′ and c of its threshold, abstention.

    `kept` is the share it does not abstain from, `kept_accuracy` how often it is right there; `kept_good_errors` and
    `kept_bad_errors` are the shares of all good and of all bad cases that are called the other without abstaining: what
    alpha bounds.
    """
    gold, said = labels(verdicts["gold"], place="gold"), labels(verdicts["said"], place="said")
    good, bad = gold == GOOD, gold == BAD
    found, table = probability_metrics(verdicts["gold"], verdicts["p_good"]), count_verdicts(gold, said)
    found |= {name: float(METRICS[name](table)[0]) for name in ("d_prime", "criterion", "balanced_accuracy")}
    if "abstains" in verdicts:
        kept = ~verdicts["abstains"].to_numpy(bool) & ~np.isnan(gold)
        wrong = kept & (said != gold)

        def share(part: Bools, whole: Bools) -> float:
            return float(part.sum() / whole.sum()) if whole.any() else float("nan")

        found |= {"kept": float(kept.sum() / max(1, (good | bad).sum()))}
        found |= {"kept_accuracy": 1 - share(wrong, kept)}
        found |= {"kept_good_errors": share(wrong & good, good), "kept_bad_errors": share(wrong & bad, bad)}
    return pd.Series(found)


def selective_risk(verdicts: pd.DataFrame, steps: int = 20) -> pd.DataFrame:
    """Error of the verdicts when only the surest are kept: coverage, cases, risk, and balanced risk (mean of both labels').

    Sure is what is far from the threshold (`sure`, of a judge that has none: |p − ½|). The mean of `risk` over coverages is
    the area under the risk–coverage curve (El-Yaniv & Wiener 2010).
    """
    gold, said = labels(verdicts["gold"], place="gold"), labels(verdicts["said"], place="said")
    p = floats(verdicts["p_good"])
    sure = floats(verdicts["sure"]) if "sure" in verdicts else np.abs(p - 0.5)
    known = np.flatnonzero(~np.isnan(gold) & ~np.isnan(said) & ~np.isnan(p))
    if not len(known):
        raise NotEnough("There is no case with a label, a verdict and a probability: label some of the judged replies.")
    order = known[np.argsort(-sure[known], kind="stable")]
    wrong = pd.Series((said != gold)[order], dtype=float)
    rows = []
    for n in sorted({max(1, round(len(order) * i / steps)) for i in range(1, steps + 1)}):
        sides = wrong[:n].groupby(gold[order[:n]]).mean()
        balanced = sides.mean() if len(sides) == 2 else np.nan
        rows.append({"coverage": n / len(order), "cases": n, "risk": wrong[:n].mean(), "balanced_risk": balanced})
    return pd.DataFrame(rows)


# -- thresholds ---------------------------------------------------------------------------------------------------


def at_learned_threshold(
    gold: npt.ArrayLike, p_good: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, seed: int = SEED
) -> float:
    """Balanced accuracy at the best threshold, cross-validated.

    What a judge gains here over its accuracy as it stands it had lost to its criterion alone. Thresholds are learned on
    the other folds; `groups` (users, say) stay in one fold. A case without a probability is wrong at any threshold;
    missing where no case has one.
    """
    g, p = labels(gold, place="gold"), floats(p_good)
    names = np.arange(len(g)) if groups is None else np.asarray(groups)
    known = ~np.isnan(g)
    good, p = g[known] == GOOD, p[known]
    group, found = pd.factorize(names[known])
    read = ~np.isnan(p)
    if not 0 < good.sum() < len(good) or not read.any():
        return float("nan")
    p = misplace_unread(good, p)
    fold = np.random.default_rng(seed).permutation(len(found))[group] % min(FOLDS, max(2, len(found)))
    called = np.zeros(len(good), dtype=bool)
    for one in np.unique(fold):
        own = fold == one
        called[own] = p[own] >= best_threshold(good[~own & read], p[~own & read])
    return float((called[good].mean() + (~called[~good]).mean()) / 2)


def best_threshold(good: Bools, p: Floats) -> float:
    """The p from which on to say good, for the greatest balanced accuracy; halfway between neighbouring values."""
    if not 0 < good.sum() < len(good):
        return USUAL
    ends = float(p.min()), float(np.nextafter(p.max(), np.inf))
    return _threshold(good, p, (1 / (~good).sum(), 1 / good.sum()), USUAL, ends)


def cheapest_threshold(good: Bools, p: Floats, cost: tuple[float, float]) -> float:
    """The p from which on to say good so that errors cost least.

    `cost` is what a bad reply called good costs, and a good one called bad. Of equal thresholds the one that is nearest to
    passed / (passed + refused), where calibrated probabilities would have it.
    """
    known = ~np.isnan(p)
    return _threshold(good[known], p[known], cost, cost[0] / sum(cost), (0.0, float(np.nextafter(1.0, 2.0))))


def _threshold(good: Bools, p: Floats, cost: tuple[float, float], usual: float, ends: tuple[float, float]) -> float:
    """The cheapest of the places that do not part equal values; of equally cheap ones the nearest to the usual."""
    order = np.argsort(p, kind="stable")
    q, y = p[order], good[order]
    # With the first i cases called bad: their good ones are refused, the bad ones of the rest are passed.
    passed, refused = (~y).sum() - np.r_[0, np.cumsum(~y)], np.r_[0, np.cumsum(y)]
    paid = cost[0] * passed + cost[1] * refused
    between = np.r_[True, q[1:] > q[:-1], True]
    places = np.r_[ends[0], (q[1:] + q[:-1]) / 2, ends[1]]
    best = np.flatnonzero(between & (paid <= paid[between].min() + 1e-12))
    return float(places[best[np.argmin(np.abs(places[best] - usual))]])


def verdict_of(p_good: npt.ArrayLike, threshold: float = 0.5) -> Floats:
    """Labels from probabilities: good from the threshold on, missing where there is none."""
    p = floats(p_good)
    return np.where(np.isnan(p), np.nan, np.where(p >= threshold, GOOD, BAD))


# -- calibration --------------------------------------------------------------------------------------------------

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
        """Probabilities; missing where the log odds are."""
        s = np.asarray(logits, dtype=float)
        if self.kind == "isotonic":
            return np.where(np.isnan(s), np.nan, np.interp(s, self.x, self.y))
        return np.asarray(expit(self.a * s + self.b))


def fit_calibration(kind: Kind, logits: Floats, good: Bools, weight: Floats | None = None) -> Calibration:
    """Fit a calibration of this kind; labels are drawn in a little, as Platt does: (N + 1) / (N + 2)."""
    if kind not in get_args(Kind):
        raise UnknownName("calibration", kind, get_args(Kind))
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
    found = minimize(loss, [1.0, 0.0][: len(terms)], jac=True, bounds=bounds, method="L-BFGS-B").x
    return Calibration(kind, *found.tolist())


# -- abstention -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Abstention:
    """Split conformal sets of the two labels, each label by itself, over users.

    The set of a case holds `good` if −s ≤ `good_misfit`, and `bad` if s ≤ `bad_misfit`, s being its log odds. Of good cases
    of a new user a share of at least 1 − alpha has `good` in its set, and so for bad ones, whatever the model, as long as
    users are exchangeable. It is an average over users. A verdict stands where the set holds one label only; elsewhere the
    model abstains.
    """

    alpha: float = 0.1
    good_misfit: float = float("inf")
    bad_misfit: float = float("inf")
    users: int = 0

    def sets(self, logits: Floats) -> tuple[Bools, Bools]:
        """Whether good, and bad, is in the set of each case; both where there is no score."""
        s = np.asarray(logits, dtype=float)
        return ~(-s > self.good_misfit), ~(s > self.bad_misfit)


def fit_abstention(logits: Floats, good: Bools, owner: npt.NDArray[np.object_], alpha: float = 0.1) -> Abstention:
    """Fit misfits that keep the promise of `Abstention` to cases of users that the model has not seen."""
    if not 0 < alpha < 1:
        raise DataError(Problem("alpha", f"is {alpha}, expected a share between 0 and 1 such as 0.1"))
    known = ~np.isnan(logits)
    bounds = [
        quantile_over_users(sign * logits[known & side], owner[known & side], alpha)
        for sign, side in ((-1.0, good), (1.0, ~good))
    ]
    return Abstention(alpha, bounds[0], bounds[1], len(set(owner[known].tolist())))
