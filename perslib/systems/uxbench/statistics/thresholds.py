"""Where "good" begins: thresholds of a probability, learned on cases of users whom the model has not seen.

    at_learned_threshold(gold, p_good, users)          # what a better threshold would bring, cross-validated

A judge's gain is mostly a matter of where it draws the line (UXBench, section 5), so the line is drawn on purpose.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus.schema import BAD, GOOD
from perslib.stats.resample.leave_one_out import SEED, Bools, Floats, floats
from perslib.systems.uxbench.statistics.detection import check_labels, misplace_unread

#: Parts of the units: the threshold of each is that of the others.
FOLDS = 10
#: The threshold of a judge that has learned none.
USUAL = 0.5


def at_learned_threshold(
    gold: npt.ArrayLike, p_good: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, seed: int = SEED
) -> float:
    """Return the balanced accuracy at the best threshold, cross-validated.

    What a judge gains here over its accuracy as it stands it had lost to its criterion alone. Thresholds are learned on
    the other folds; `groups` (users, say) stay in one fold. A case without a probability is wrong at any threshold;
    missing where no case has one.
    """
    g, p = check_labels(gold, place="gold"), floats(p_good)
    names = np.arange(len(g)) if groups is None else np.asarray(groups)
    known = ~np.isnan(g)
    good, p = g[known] == GOOD, p[known]
    group, number = pd.factorize(names[known])
    read = ~np.isnan(p)
    if not 0 < good.sum() < len(good) or not read.any():
        return float("nan")
    p = misplace_unread(good, p)
    fold = np.random.default_rng(seed).permutation(len(number))[group] % min(FOLDS, max(2, len(number)))
    called = np.zeros(len(good), dtype=bool)
    for one in np.unique(fold):
        own = fold == one
        called[own] = p[own] >= best_threshold(good[~own & read], p[~own & read])
    return float((called[good].mean() + (~called[~good]).mean()) / 2)


def best_threshold(good: Bools, p: Floats) -> float:
    """Return the p from which on to say good, for the greatest balanced accuracy; halfway between neighbouring values, of equally good
    places the one nearest to one half.
    """
    if not 0 < good.sum() < len(good):
        return USUAL
    order = np.argsort(p, kind="stable")
    q, y = p[order], good[order]
    # With the first i cases called bad: their good ones are refused, the bad ones of the rest are passed.
    passed, refused = (~y).sum() - np.r_[0, np.cumsum(~y)], np.r_[0, np.cumsum(y)]
    wrong = passed / (~y).sum() + refused / y.sum()
    between = np.r_[True, q[1:] > q[:-1], True]
    places = np.r_[q[0], (q[1:] + q[:-1]) / 2, np.nextafter(q[-1], np.inf)]
    best = np.flatnonzero(between & (wrong <= wrong[between].min() + 1e-12))
    return float(places[best[np.argmin(np.abs(places[best] - USUAL))]])


def verdict_of(p_good: npt.ArrayLike, threshold: float = 0.5) -> Floats:
    """Return labels from probabilities: good from the threshold on, missing where there is none."""
    p = floats(p_good)
    return np.where(np.isnan(p), np.nan, np.where(p >= threshold, GOOD, BAD))
