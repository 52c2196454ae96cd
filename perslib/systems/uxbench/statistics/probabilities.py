"""Judges that give a probability of "good": discrimination, calibration in bins, and the risk of what is kept.

    probability_metrics(gold, p_good)                  # AUROC, Brier score and its parts, ECE

What could not be read counts as wrong, as in `perslib.systems.uxbench.statistics.detection`; Brier score, ECE and the curves describe
the probabilities that were given.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

from perslib.corpus.schema import BAD, GOOD
from perslib.errors import DataError, NotEnough, Problem
from perslib.stats.agreement.reliability import BINS, calibration_bins
from perslib.stats.resample.leave_one_out import Bools, Floats, floats
from perslib.systems.uxbench.statistics.detection import METRICS, check_labels, count_verdicts, misplace_unread


def _select_complete(gold: npt.ArrayLike, p_good: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return whether good, and the probability, of the cases that have both."""
    g, p = check_labels(gold, place="gold"), floats(p_good)
    if len(g) != len(p):
        raise DataError(Problem("p_good", f"has {len(p)} values for {len(g)} cases"))
    if len(out := np.flatnonzero((p < 0) | (p > 1))):
        raise DataError(Problem(f"p_good row {out[0]}", f"is {p[out[0]]:g}, expected a probability"))
    known = ~np.isnan(g) & ~np.isnan(p)
    return (g[known] == GOOD).astype(float), p[known]


def probability_metrics(gold: npt.ArrayLike, p_good: npt.ArrayLike, bins: int = BINS) -> dict[str, float]:
    """Return AUROC, AUPRC (bad is what is looked for), Brier score with its decomposition, and ECE.

    - auroc: chance that a good case has a higher p than a bad one; auprc: average precision of finding bad ones; in both a
      case without a p is on the wrong side of all others
    - brier = mean (p − y)²; over bins of equal mass with mean p̄_b, share ȳ_b and weight w_b,
      reliability = Σ w_b (p̄_b − ȳ_b)², resolution = Σ w_b (ȳ_b − ȳ)², uncertainty = ȳ (1 − ȳ) (Murphy 1973; their sum
      reliability − resolution + uncertainty is the Brier score but for the spread of p within bins)
    - ece = Σ w_b |p̄_b − ȳ_b|
    """
    y, p = _select_complete(gold, p_good)
    if not len(y):
        names = ("auroc", "auprc", "brier", "reliability", "resolution", "uncertainty", "ece")
        return {**dict.fromkeys(names, float("nan")), "reliability": 0.0, "resolution": 0.0, "cases": 0.0}
    g = check_labels(gold)
    known = ~np.isnan(g)
    good = g[known] == GOOD
    ranked = misplace_unread(good, floats(p_good)[known])
    both = 0 < good.sum() < len(good)
    predicted, shares, cases = calibration_bins(y, p, bins).to_numpy(float).T
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


def reward_numbers(verdicts: pd.DataFrame) -> pd.Series:
    """Return all numbers of one judge's verdicts: AUROC, AUPRC, Brier with its parts, ECE, d′ and c of its threshold,
    abstention.

    `kept` is the share it does not abstain from, `kept_accuracy` how often it is right there; `kept_good_errors` and
    `kept_bad_errors` are the shares of all good and of all bad cases that are called the other without abstaining: what
    alpha bounds.
    """
    gold, labels = check_labels(verdicts["gold"], place="gold"), check_labels(verdicts["said"], place="said")
    good, bad = gold == GOOD, gold == BAD
    metrics, table = probability_metrics(verdicts["gold"], verdicts["p_good"]), count_verdicts(gold, labels)
    metrics |= {name: float(METRICS[name](table)[0]) for name in ("d_prime", "criterion", "balanced_accuracy")}
    if "abstains" in verdicts:
        is_decided = ~verdicts["abstains"].to_numpy(bool) & ~np.isnan(gold)
        wrong = is_decided & (labels != gold)

        def share(part: Bools, whole: Bools) -> float:
            return float(part.sum() / whole.sum()) if whole.any() else float("nan")

        metrics["kept"] = float(is_decided.sum() / max(1, (good | bad).sum()))
        metrics["kept_accuracy"] = 1 - share(wrong, is_decided)
        metrics |= {"kept_good_errors": share(wrong & good, good), "kept_bad_errors": share(wrong & bad, bad)}
    return pd.Series(metrics)


def selective_risk(verdicts: pd.DataFrame, steps: int = 20) -> pd.DataFrame:
    """Return the error of the verdicts when only the surest are kept: coverage, cases, risk, and balanced risk (mean of
    both labels').

    Sure is what is far from the threshold (`sure`, of a judge that has none: |p − ½|). The mean of `risk` over coverages is
    the area under the risk–coverage curve (El-Yaniv & Wiener 2010).
    """
    gold, labels = check_labels(verdicts["gold"], place="gold"), check_labels(verdicts["said"], place="said")
    p = floats(verdicts["p_good"])
    sure = floats(verdicts["sure"]) if "sure" in verdicts else np.abs(p - 0.5)
    known = np.flatnonzero(~np.isnan(gold) & ~np.isnan(labels) & ~np.isnan(p))
    if not len(known):
        raise NotEnough("There is no case with a label, a verdict and a probability: label some of the judged replies.")
    order = known[np.argsort(-sure[known], kind="stable")]
    wrong = pd.Series((labels != gold)[order], dtype=float)
    rows = []
    for n in sorted({max(1, round(len(order) * i / steps)) for i in range(1, steps + 1)}):
        sides = wrong[:n].groupby(gold[order[:n]]).mean()
        balanced = sides.mean() if len(sides) == 2 else np.nan
        rows.append({"coverage": n / len(order), "cases": n, "risk": wrong[:n].mean(), "balanced_risk": balanced})
    return pd.DataFrame(rows)
