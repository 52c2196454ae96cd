"""Few ratings by people, many by a judge: intervals that use both and hold whatever the judge is worth.

Prediction-powered inference (Angelopoulos et al. 2023, Science; PPI++: arXiv 2311.01453, section 6) for a mean,
with users as the sampling unit. With gold Y and judged scores f on n labelled turns and judged scores f̃ on N
unlabelled ones,

    θ̂(λ) = mean(Y) − λ · (mean(f) − mean(f̃)),

so λ = 0 is the classical mean and a biased judge does no harm: its bias is on both sides. To first order θ̂ − θ
is a sum over users, one term from both parts together,

    a_c − λ b_c,   a_c = Σ (Y − Ȳ) / n,   b_c = Σ (f − mean f) / n − Σ (f̃ − mean f̃) / N   (turns of user c),

whose squares sum to the variance (sandwich), and the variance is least at λ = Σ a b / Σ b², clipped to [0, 1].
Users may stand in one part or in both: what they share is in the sum.

Assumed: users were drawn independently, and labelled turns were chosen at random among the judged ones, by users
or by turns. Labels asked for where the judge scored low break it.

    ppi_mean(gold, judged, judged_unlabelled, cluster=users, cluster_unlabelled=others)
    classical_mean(gold, cluster=users)    # which makes no use of the judge
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from perslib.errors import DataError
from perslib.stats.compare.power import check_share
from perslib.stats.resample.leave_one_out import LEVEL, Floats, Ints, floats

#: Labelled users from which there is an interval: it rests on a mean over users, which holds from five on.
FEWEST_LABELLED = 5


class MeanEstimate(NamedTuple):
    """A mean with its interval, and what it rests on."""

    value: float
    low: float
    high: float
    #: Weight of the judge: 0 is the classical estimate.
    lam: float
    #: Labelled turns.
    n: int
    #: Judged turns beyond them.
    N: int
    #: Users among the labelled turns; the interval's degrees of freedom come from them.
    clusters: int


class UserSums(NamedTuple):
    """What the turns of each user sum to: all that an estimate of a mean rests on. Users are the last axis."""

    #: Labelled turns, their gold and their judged scores.
    n: Floats
    gold: Floats
    judged: Floats
    #: Turns beyond them, and their judged scores.
    N: Floats
    judged_unlabelled: Floats


class PpiEstimates(NamedTuple):
    """Estimates from `UserSums`, and the users' terms a and b that they vary by."""

    value: Floats
    lam: Floats
    #: Square root of the variance, small samples allowed for.
    error: Floats
    #: Of Student's t; missing where there are fewer than FEWEST_LABELLED users.
    freedom: Floats

    def half(self, level: float = LEVEL) -> Floats:
        """Return half the width of the interval."""
        return np.asarray(stats.t.ppf((1 + level) / 2, self.freedom) * self.error)


def ppi_of_sums(sums: UserSums, lam: float | None = None) -> PpiEstimates:
    """Return `ppi_mean` of many samples at once: every axis but the last, which is users, is a sample of its own.

    `lam=0` is the classical mean. A tuned λ above 0 costs a degree of freedom.
    """
    n, N = (part.sum(axis=-1, keepdims=True) for part in (sums.n, sums.N))
    some = np.where(N > 0, N, 1.0)
    mean_y, mean_f = sums.gold.sum(-1, keepdims=True) / n, sums.judged.sum(-1, keepdims=True) / n
    mean_u = sums.judged_unlabelled.sum(-1, keepdims=True) / some
    a = (sums.gold - mean_y * sums.n) / n
    b = (sums.judged - mean_f * sums.n) / n - (sums.judged_unlabelled - mean_u * sums.N) / some
    spread = (b * b).sum(-1)
    helps = (spread > 1e-18) & (N[..., 0] > 0)
    weight = np.where(N[..., 0] > 0, 0.0 if lam is None else lam, 0.0)
    if lam is None:
        weight = np.where(helps, np.clip((a * b).sum(-1) / np.where(helps, spread, 1.0), 0, 1), 0.0)
    weight = np.broadcast_to(weight, spread.shape)
    clusters = (sums.n > 0).sum(-1)
    freedom = clusters - 1.0 - (weight > 0) * (lam is None)
    freedom = np.where(clusters >= FEWEST_LABELLED, freedom, np.nan)
    # What the fit of mean and λ took out of the squares is put back, as in a regression.
    squares = ((a - weight[..., None] * b) ** 2).sum(-1)
    value = mean_y[..., 0] - weight * (mean_f - mean_u)[..., 0]
    return PpiEstimates(value, weight, np.sqrt(squares * clusters / freedom), freedom)


def ppi_mean(
    gold: npt.ArrayLike,
    judged: npt.ArrayLike,
    judged_unlabelled: npt.ArrayLike,
    *,
    cluster: npt.ArrayLike | None = None,
    cluster_unlabelled: npt.ArrayLike | None = None,
    level: float = LEVEL,
    lam: float | None = None,
) -> MeanEstimate:
    """Return the mean over turns of what people would say on all of them, from gold on a few and a judge on these and
    others.

    `judged_unlabelled` are the judged turns without gold; `cluster` and `cluster_unlabelled` name each turn's
    user (without them every turn stands for itself). `lam` fixes λ; else it is tuned, which costs a degree of
    freedom. Student's t with (labelled users − 1) degrees of freedom; no interval below FEWEST_LABELLED users.

    Where the judge left a turn unscored (NaN) it predicts the mean of its other scores: any prediction keeps
    the interval valid, and no label is thrown away.
    """
    check_share("level", level)
    y, f = _gold(gold), floats(judged)
    n = len(y)
    if len(f) != n:
        raise DataError(f"{n} gold scores, but {len(f)} judged ones", "Give one of each a turn.")
    f = np.concatenate([f, floats(judged_unlabelled)])
    scored = np.isfinite(f)
    f = np.where(scored, f, f[scored].mean() if scored.any() else 0.0)
    user = _users(cluster, cluster_unlabelled, n, len(f) - n)

    def by_user(part: slice, values: Floats) -> Floats:
        return np.bincount(user[part], values, user.max() + 1).astype(np.float64)

    few, rest = slice(n), slice(n, None)
    sums = (by_user(few, v) for v in (np.ones(n), y, f[few]))
    estimated = ppi_of_sums(UserSums(*sums, *(by_user(rest, v) for v in (np.ones(len(f) - n), f[rest]))), lam)
    value, half = float(estimated.value), float(estimated.half(level))
    users = len(np.unique(user[few]))
    return MeanEstimate(value, value - half, value + half, float(estimated.lam), n, len(f) - n, users)


def classical_mean(gold: npt.ArrayLike, *, cluster: npt.ArrayLike | None = None, level: float = LEVEL) -> MeanEstimate:
    """Return the mean of the gold scores alone, with the same kind of interval: what `ppi_mean` has to beat."""
    others = None if cluster is None else np.array([])
    return ppi_mean(gold, gold, [], cluster=cluster, cluster_unlabelled=others, level=level)


def ppi_difference(
    gold: npt.ArrayLike,
    gold_other: npt.ArrayLike,
    judged: npt.ArrayLike,
    judged_other: npt.ArrayLike,
    judged_unlabelled: npt.ArrayLike,
    judged_other_unlabelled: npt.ArrayLike,
    **options: Any,
) -> MeanEstimate:
    """Estimate by how much one candidate satisfies more than another on the same turns: `ppi_mean` of the differences.

    `options` are those of `ppi_mean`.
    """
    of_gold = _difference(gold, gold_other)
    of_judged = _difference(judged, judged_other), _difference(judged_unlabelled, judged_other_unlabelled)
    return ppi_mean(of_gold, *of_judged, **options)


def _gold(scores: npt.ArrayLike) -> Floats:
    gold = floats(scores)
    if not len(gold):
        raise DataError("There is no gold score", "Without labels the judge's own mean is all there is.")
    if missing := int((~np.isfinite(gold)).sum()):
        raise DataError(
            f"{missing} of {len(gold)} gold scores are missing",
            "A turn without gold is an unlabelled one: pass it among judged_unlabelled.",
        )
    return gold


def _difference(one: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    a, b = floats(one), floats(other)
    if len(a) != len(b):
        raise DataError(f"{len(a)} scores of one candidate, {len(b)} of the other", "Give the same turns.")
    return a - b


def _users(cluster: npt.ArrayLike | None, cluster_unlabelled: npt.ArrayLike | None, n: int, unlabelled: int) -> Ints:
    """Return a number for each turn's user, labelled turns first."""
    if (cluster is None) != (cluster_unlabelled is None):
        raise DataError("The users of one part only are given", "Give cluster and cluster_unlabelled.")
    if cluster is None or cluster_unlabelled is None:
        return np.arange(n + unlabelled)
    names = pd.concat([pd.Series(cluster, dtype=object), pd.Series(cluster_unlabelled, dtype=object)])
    if len(names) != n + unlabelled or len(pd.Series(cluster)) != n:
        raise DataError(f"{len(names)} users are named for {n + unlabelled} turns", "Name one user for every turn.")
    if names.isna().any():
        raise DataError(f"{int(names.isna().sum())} turns have no user", "Name one user for every turn.")
    return pd.factorize(names)[0].astype(np.int64)
