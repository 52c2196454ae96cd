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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from perslib.errors import DataError
from perslib.inference.bootstrap import FEWEST_USERS, LEVEL, floats

Numbers = npt.ArrayLike


class Estimate(NamedTuple):
    """A mean with its interval, and what it rests on."""

    value: float
    low: float
    high: float
    #: Weight of the judge: 0 is the classical mean.
    lam: float
    #: Labelled turns.
    n: int
    #: Judged turns beyond them.
    N: int
    #: Users among the labelled turns; the interval's degrees of freedom come from them.
    clusters: int


def ppi_mean(
    gold: Numbers,
    judged: Numbers,
    judged_unlabelled: Numbers,
    *,
    cluster: npt.ArrayLike | None = None,
    cluster_unlabelled: npt.ArrayLike | None = None,
    level: float = LEVEL,
    lam: float | None = None,
) -> Estimate:
    """Mean over turns of what people would say on all of them, from gold on a few and a judge on these and others.

    `judged_unlabelled` are the judged turns without gold; `cluster` and `cluster_unlabelled` name each turn's
    user (without them every turn stands for itself). `lam` fixes λ; else it is tuned, which costs a degree of
    freedom. Student's t with (labelled users − 1) degrees of freedom; no interval below FEWEST_USERS users.

    Where the judge left a turn unscored (NaN) it predicts the mean of its other scores: any prediction keeps
    the interval valid, and no label is thrown away.
    """
    y = _gold(gold)
    f, unlabelled = floats(judged), floats(judged_unlabelled)
    if len(f) != len(y):
        raise DataError(f"{len(y)} gold scores, but {len(f)} judged ones", "Give one of each a turn.")
    if (cluster is None) != (cluster_unlabelled is None):
        raise DataError("The users of one part only are given", "Give cluster and cluster_unlabelled.")
    both = np.concatenate([f, unlabelled])
    both = np.where(np.isnan(both), np.nanmean(both) if np.isfinite(both).any() else 0.0, both)
    f, unlabelled = both[: len(f)], both[len(f) :]
    users = _users(cluster, cluster_unlabelled, len(y), len(unlabelled))
    if not len(unlabelled):
        return _estimate(y.mean(), users, (y - y.mean()) / len(y), len(y), 0, 0.0, level)

    deviation = np.concatenate([(f - f.mean()) / len(f), -(unlabelled - unlabelled.mean()) / len(unlabelled)])
    own = np.concatenate([(y - y.mean()) / len(y), np.zeros(len(unlabelled))])
    a, b = np.bincount(users, own), np.bincount(users, deviation)
    tuned = lam is None
    if lam is None:
        lam = float(np.clip(a @ b / (b @ b), 0, 1)) if b @ b > 1e-18 else 0.0
    value = y.mean() - lam * (f.mean() - unlabelled.mean())
    influence = own - lam * deviation
    return _estimate(
        value, users, influence, len(y), len(unlabelled), lam, level, spent=int(tuned and lam > 0)
    )


def classical_mean(gold: Numbers, *, cluster: npt.ArrayLike | None = None, level: float = LEVEL) -> Estimate:
    """The mean of the gold scores alone, with the same kind of interval: what `ppi_mean` has to beat."""
    y = _gold(gold)
    users = _users(cluster, None if cluster is None else [], len(y), 0)
    return _estimate(y.mean(), users, (y - y.mean()) / len(y), len(y), 0, 0.0, level)


def ppi_difference(
    gold: Numbers,
    gold_other: Numbers,
    judged: Numbers,
    judged_other: Numbers,
    judged_unlabelled: Numbers,
    judged_other_unlabelled: Numbers,
    *,
    cluster: npt.ArrayLike | None = None,
    cluster_unlabelled: npt.ArrayLike | None = None,
    level: float = LEVEL,
    lam: float | None = None,
) -> Estimate:
    """By how much one candidate satisfies more than another on the same turns: `ppi_mean` of the differences."""
    return ppi_mean(
        _difference(gold, gold_other),
        _difference(judged, judged_other),
        _difference(judged_unlabelled, judged_other_unlabelled),
        cluster=cluster,
        cluster_unlabelled=cluster_unlabelled,
        level=level,
        lam=lam,
    )


def classical_difference(
    gold: Numbers, gold_other: Numbers, *, cluster: npt.ArrayLike | None = None, level: float = LEVEL
) -> Estimate:
    """The mean difference of the gold scores alone: what `ppi_difference` has to beat."""
    return classical_mean(_difference(gold, gold_other), cluster=cluster, level=level)


def _estimate(
    value: float,
    users: npt.NDArray[np.int64],
    influence: npt.NDArray[np.float64],
    n: int,
    unlabelled: int,
    lam: float,
    level: float,
    spent: int = 0,
) -> Estimate:
    clusters = len(np.unique(users[:n]))
    half = np.nan
    if clusters >= FEWEST_USERS:
        freedom = clusters - 1 - spent
        # What the fit of mean and λ took out of the squares is put back, as in a regression.
        variance = (np.bincount(users, influence) ** 2).sum() * clusters / freedom
        half = stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variance)
    return Estimate(
        float(value), float(value - half), float(value + half), float(lam), n, unlabelled, clusters
    )


def _gold(scores: Numbers) -> npt.NDArray[np.float64]:
    gold = floats(scores)
    if not len(gold):
        raise DataError("There is no gold score", "Without labels the judge's own mean is all there is.")
    if missing := int(np.isnan(gold).sum()):
        raise DataError(
            f"{missing} of {len(gold)} gold scores are missing",
            "A turn without gold is an unlabelled one: pass it among judged_unlabelled.",
        )
    return gold


def _difference(one: Numbers, other: Numbers) -> npt.NDArray[np.float64]:
    a, b = floats(one), floats(other)
    if len(a) != len(b):
        raise DataError(f"{len(a)} scores of one candidate, {len(b)} of the other", "Give the same turns.")
    return a - b


def _users(
    cluster: npt.ArrayLike | None, cluster_unlabelled: npt.ArrayLike | None, n: int, unlabelled: int
) -> npt.NDArray[np.int64]:
    """A number for each turn's user, labelled turns first."""
    if cluster is None or cluster_unlabelled is None:
        return np.arange(n + unlabelled)
    names = pd.concat([pd.Series(cluster, dtype=object), pd.Series(cluster_unlabelled, dtype=object)])
    if len(names) != n + unlabelled or len(pd.Series(cluster)) != n:
        raise DataError(
            f"{len(names)} users are named for {n + unlabelled} turns", "Name one user for every turn."
        )
    if names.isna().any():
        raise DataError(f"{int(names.isna().sum())} turns have no user", "Name one user for every turn.")
    return pd.factorize(names)[0].astype(np.int64)
