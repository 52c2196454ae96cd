"""The quantile of people's scores from few of them and a judge: what half, or a tenth, of all turns do not exceed.

An interval for the q-quantile holds every θ that is not ruled out (Angelopoulos et al. 2023, section "Quantile
estimation"): with the share of turns up to θ estimated as a mean is (`ppi_mean` of 1{Y ≤ θ}, with λ of its own at
each θ and users as the sampling unit),

    F̂(θ) = mean 1{Y ≤ θ} − λ · (mean 1{f ≤ θ} − mean 1{f̃ ≤ θ}),

θ stays in as long as F̂(θ) + t·s ≥ q and F̂(θ⁻) − t·s⁻ ≤ q. It is the q-quantile if F(θ⁻) ≤ q ≤ F(θ); so ties do no
harm: on a scale from 1 to 5 the interval may be a single score, and is the more often right the further q lies from
the steps of F.

s is the error that F̂ has *if the share is q*: the sandwich's, times √(q (1 − q) / p (1 − p)) with p the share among the
labels, as in Wilson's interval; so a score that nobody gave is not taken for impossible. Where all labels lie on one
side of θ, s is that of a share q of as many labels, times the design effect that users have at the other θ.

A judge helps here only if its scores are on people's scale: what counts is which side of θ they lie on. One that sees
everything but says 3 where people say 4 narrows a mean and no median; calibrate it first (`perslib.calibrate`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from perslib.inference.bootstrap import LEVEL
from perslib.inference.power import proper_share
from perslib.inference.prediction_powered import (
    Estimate,
    Floats,
    Numbers,
    Turns,
    UserSums,
    labelled_and_not,
    ppi_of_sums,
)

#: Counts held at a time, users × values.
_AT_A_TIME = 4_000_000
_ROUNDING = 1e-12


class Shares(NamedTuple):
    """The estimated share of turns up to each of some scores."""

    value: Floats
    lam: Floats
    #: What it would be if the share were q.
    error: Floats
    freedom: Floats
    #: The error where all labels lie on one side.
    beyond: float


def ppi_quantile(
    gold: Numbers,
    judged: Numbers,
    judged_unlabelled: Numbers,
    q: float = 0.5,
    *,
    cluster: npt.ArrayLike | None = None,
    cluster_unlabelled: npt.ArrayLike | None = None,
    level: float = LEVEL,
    lam: float | None = None,
) -> Estimate:
    """The q-quantile over turns of what people would say on all of them; arguments as for `ppi_mean`.

    The value is the least score up to which the estimated share reaches q; `lam` is the judge's weight there. An end
    of the interval is infinite where the labels cannot rule out that the quantile lies beyond all that was seen.
    """
    proper_share("level", level)
    proper_share("q", q)
    turns = labelled_and_not(gold, judged, judged_unlabelled, cluster, cluster_unlabelled)
    scores = np.unique(np.concatenate([turns.gold, turns.judged, turns.judged_unlabelled]))
    found = _shares(turns, scores, q, lam)
    low = high = np.nan
    if np.isfinite(found.freedom).all():
        # Below the least score the share is 0.
        share, error = np.r_[0.0, found.value], np.r_[found.beyond, found.error]
        reach = error * stats.t.ppf((1 + level) / 2, np.r_[found.freedom[0], found.freedom])
        edges = np.r_[-np.inf, scores, np.inf]
        low = edges[np.argmax(share + reach >= q - _ROUNDING)]
        high = edges[1 + np.flatnonzero(share - reach <= q + _ROUNDING)[-1]]
    at = int(np.argmax(found.value >= q - _ROUNDING))
    return turns.estimate(scores[at], low, high, found.lam[at])


def classical_quantile(
    gold: Numbers,
    judged: Numbers | None = None,
    judged_unlabelled: Numbers | None = None,
    q: float = 0.5,
    *,
    cluster: npt.ArrayLike | None = None,
    cluster_unlabelled: npt.ArrayLike | None = None,
    level: float = LEVEL,
    lam: float | None = None,
) -> Estimate:
    """The q-quantile of the gold scores alone: what `ppi_quantile` has to beat, with its arguments."""
    others = None if cluster is None else np.array([])
    return ppi_quantile(gold, gold, [], q, cluster=cluster, cluster_unlabelled=others, level=level)


def _shares(turns: Turns, scores: Floats, q: float, lam: float | None) -> Shares:
    """The shares of turns up to each score."""
    places = tuple(np.searchsorted(scores, own) for own in turns[:3])
    users = (turns.user, turns.user, turns.user_unlabelled)
    ones = turns.sums(*(np.ones(len(own)) for own in turns[:3]))
    count = len(ones.n)
    wide = max(1, _AT_A_TIME // count)
    before = [np.zeros((1, count)) for _ in places]
    found = []
    for start in range(0, len(scores), wide):
        width = min(wide, len(scores) - start)
        up_to = []
        for i, (place, user) in enumerate(zip(places, users)):
            here = (place >= start) & (place < start + width)
            cells = (place[here] - start) * count + user[here]
            counts = np.bincount(cells, minlength=width * count).reshape(width, count)
            up_to.append(before[i] + np.cumsum(counts, axis=0))
            before[i] = up_to[i][-1:]
        sums = UserSums(ones.n, up_to[0], up_to[1], ones.N, up_to[2])
        powered = ppi_of_sums(sums, lam)
        p = up_to[0].sum(-1) / len(turns.gold)
        found.append((*powered, p * (1 - p), ppi_of_sums(sums, lam=0).error))
    share, weight, error, freedom, spread, alone = (np.concatenate(part) for part in zip(*found))
    at_q = q * (1 - q)
    varies = spread > 1e-12
    scaled = error * np.sqrt(at_q / np.where(varies, spread, 1.0))
    if varies.any():
        beyond = np.sqrt(at_q * (alone[varies] ** 2).sum() / spread[varies].sum())
    else:  # all labels are the same: turns of a user are as alike as can be
        beyond = np.sqrt(at_q * (ones.n**2).sum()) / len(turns.gold)
    return Shares(share, weight, np.where(varies, scaled, beyond), freedom, float(beyond))
