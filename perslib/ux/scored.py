"""Judges that give a probability of "good": discrimination, calibration, and what a better threshold would bring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, roc_auc_score

from perslib.errors import DataError, Problem
from perslib.inference import SEED, floats
from perslib.ux.labels import BAD, GOOD, labels

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
