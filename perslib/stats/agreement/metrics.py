"""The metrics of PersTurnBench (sections 4.2 and 5), each a function of weighted sums.

One rounding rule holds for all of them: where a metric needs a whole score, the score is rounded half to even
and clipped to 1–5 (`perslib.stats.to_scale`), and the user counts as satisfied (SAT) iff the rounded score
is 4 or 5, else as dissatisfied (DSAT). A correlation with scores that do not vary is missing. Where a class is
empty, its rate is missing; precision, recall and F1 without a case are 0.

`pu_` metrics are computed a user and averaged with the number of turns as weight; `wc_` metrics are computed
from gold and scores less each user's own mean, `wb_` less the mean of each block (a user in a scenario). All leave
out what comes from users' different levels. Only `wb_` leaves out all that a history says: a user's mean over the
*other* scenarios is low where this scenario's scores are high, so within users it goes against the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from perslib.errors import check_names
from perslib.stats.agreement.auroc import auroc_under
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.agreement_sums import AgreementSums, WeightedSums
from perslib.stats.resample.leave_one_out import Bools, Floats, Scale, drop_if_few, ratio
from perslib.stats.resample.leave_one_out import pearson_from_moments as correlate_moments

Measure = Callable[[WeightedSums], Floats]

#: Fewest turns of a user from which a correlation or κ of that user is taken.
FEWEST_TURNS = 3
_LARGEST_R = 0.9999


# Errors and correlations of the scores as they are


def pearson(r: WeightedSums) -> Floats:
    """Return Pearson's r."""
    return correlate_moments(r.moments[:6])


def mae(r: WeightedSums) -> Floats:
    """Return Σ|s − g| / n."""
    return ratio(r.moments[6], r.moments[0])


def rmse(r: WeightedSums) -> Floats:
    """Return √(Σ(s − g)² / n)."""
    return np.sqrt(ratio(r.moments[7], r.moments[0]))


def _midranks(counts: Floats) -> Floats:
    """Return the midrank of each value less the mean rank, from how often each value occurs."""
    ranks: Floats = np.cumsum(counts, axis=0) - counts / 2 - counts.sum(axis=0) / 2
    return ranks


def _rank_correlation(table: Floats) -> Floats:
    gold, score = table.sum(axis=1), table.sum(axis=0)
    a, b = _midranks(gold), _midranks(score)
    together = (a * (table * b).sum(axis=1)).sum(axis=0)
    spread = (gold * a**2).sum(axis=0) * (score * b**2).sum(axis=0)
    return np.clip(together / np.sqrt(np.where(spread > 0, spread, np.nan)), -1, 1)


def spearman(r: WeightedSums) -> Floats:
    """Return Pearson's r of midranks, ranked anew under each column of weights.

    If the tables are coarse, all values are moved by what that changes in the sample itself.
    """
    values = np.concatenate([_rank_correlation(table) for table in r.tables()])
    if not r.sums.coarse:
        return values
    (itself,) = WeightedSums(r.sums, np.ones((r.sums.users, 1))).tables()
    a, b = (rankdata(part) - (len(r.sums) + 1) / 2 for part in (r.sums.gold, r.sums.score))
    exact = ratio(np.array([a @ b]), np.array([np.sqrt((a @ a) * (b @ b))]))
    return values + exact - _rank_correlation(itself)


def auc(r: WeightedSums) -> Floats:
    """Return P(score of a satisfied turn > score of a dissatisfied one), ties counting half."""
    return auroc_under(to_scale(r.sums.gold) >= 4, r.sums.score, r.sums.user, r.weights)


# What is read off the confusion of gold with rounded score

_GOLD, _SCORE = (axis.reshape(25).astype(float) for axis in np.indices((5, 5)) + 1)
_SAT_GOLD, _SAT_SCORE = _GOLD >= 4, _SCORE >= 4
_RIGHT = _SAT_GOLD == _SAT_SCORE


def qwk(r: WeightedSums) -> Floats:
    """Return quadratically weighted κ on 1–5: 1 − Σ(i − j)² O_ij / Σ(i − j)² E_ij, E from the margins."""
    counts = r.confusion
    n, gold, score = counts.sum(axis=0), _GOLD @ counts, _SCORE @ counts
    squares = (_GOLD**2 + _SCORE**2) @ counts
    expected = n * squares - 2 * gold * score
    observed = n * (((_GOLD - _SCORE) ** 2) @ counts)
    return 1 - ratio(observed, expected)


def _count(r: WeightedSums, cells: Bools) -> Floats:
    """Return how many turns are in these cells."""
    counts: Floats = r.confusion[cells].sum(axis=0)
    return counts


def _rate(part: Bools, whole: Bools, otherwise: float = 0.0) -> Measure:
    """Return the share of the turns in the cells `whole` that are in the cells `part` of these, too."""
    return lambda r: ratio(_count(r, part & whole), _count(r, whole), otherwise)


accuracy = _rate(_RIGHT, np.ones_like(_RIGHT), np.nan)


def kappa(r: WeightedSums) -> Floats:
    """Return Cohen's κ of satisfied against dissatisfied."""
    n, gold, score = r.confusion.sum(axis=0), _count(r, _SAT_GOLD), _count(r, _SAT_SCORE)
    chance = gold * score + (n - gold) * (n - score)
    return 1 - ratio(n**2 - n * _count(r, _RIGHT), n**2 - chance)


def _f1(gold: Bools, score: Bools) -> Measure:
    """Return F1 of a class, from the cells where users and those where scores are of it."""
    return lambda r: ratio(2 * _count(r, gold & score), _count(r, gold) + _count(r, score), 0.0)


f1_sat, f1_dsat = _f1(_SAT_GOLD, _SAT_SCORE), _f1(~_SAT_GOLD, ~_SAT_SCORE)


def f1_macro(r: WeightedSums) -> Floats:
    """Return the mean of both classes' F1."""
    return (f1_sat(r) + f1_dsat(r)) / 2


# Averages over users


def _of_users(values: Floats, r: WeightedSums) -> Floats:
    """Return the mean of one value a user, weighted by turns, over the users that have one."""
    there = np.isfinite(values) & (r.sums.turns > 0)
    weight = np.where(there, r.sums.turns, 0).astype(float)
    return ratio((weight * np.where(there, values, 0.0)) @ r.weights, weight @ r.weights)


def pu_pearson(r: WeightedSums) -> Floats:
    """Return the tanh of the mean of atanh(r_u), r_u clipped to ±0.9999; users with < 3 turns or no variance left out."""
    of_user = pearson(r.sums.each_user).clip(-_LARGEST_R, _LARGEST_R)
    enough = r.sums.turns >= FEWEST_TURNS
    return np.tanh(_of_users(np.where(enough, np.arctanh(of_user), np.nan), r))


def pu_rmse(r: WeightedSums) -> Floats:
    """Return the mean of the users' RMSE."""
    return _of_users(rmse(r.sums.each_user), r)


def pu_kappa(r: WeightedSums) -> Floats:
    """Return the mean of the users' QWK; users with < 3 turns or one gold value left out."""
    each = r.sums.each_user
    varied = (each.confusion.reshape(5, 5, -1).sum(axis=1) > 0).sum(axis=0) > 1
    enough = varied & (r.sums.turns >= FEWEST_TURNS)
    return _of_users(np.where(enough, qwk(each), np.nan), r)


def _over_mixed_users(measure: Measure) -> Measure:
    """Return the mean over the users who were satisfied at times and dissatisfied at others."""

    def measure_pooled(r: WeightedSums) -> Floats:
        satisfied = _count(r.sums.each_user, _SAT_GOLD)
        mixed = (satisfied > 0) & (satisfied < r.sums.turns)
        return _of_users(np.where(mixed, measure(r.sums.each_user), np.nan), r)

    return measure_pooled


def _of(other: str, measure: Measure) -> Measure:
    """Return the metric of other gold and scores that are made of these (see `AgreementSums`): within_users,
    within_blocks, of_ranks, ….
    """
    return lambda r: measure(WeightedSums(getattr(r.sums, other), r.weights))


#: Every metric by its name.
METRICS: dict[str, Measure] = {
    "pearson": pearson,  # Pearson's r
    "spearman": spearman,  # Spearman's ρ
    "mae": mae,  # mean absolute error
    "rmse": rmse,  # root of the mean squared error
    "qwk": qwk,  # quadratically weighted κ of rounded scores
    "accuracy": accuracy,  # share of turns rightly placed at or below the boundary 3 | 4
    "f1_macro": f1_macro,  # mean of F1-SAT and F1-DSAT
    "f1_sat": f1_sat,  # F1 of satisfied turns
    "f1_dsat": f1_dsat,  # F1 of dissatisfied turns
    "precision_sat": _rate(_SAT_GOLD, _SAT_SCORE),  # share of turns judged satisfied that are
    "recall_sat": _rate(_SAT_SCORE, _SAT_GOLD),  # share of satisfied turns judged so
    "precision_dsat": _rate(~_SAT_GOLD, ~_SAT_SCORE),  # share of turns judged dissatisfied that are
    "recall_dsat": _rate(~_SAT_SCORE, ~_SAT_GOLD),  # share of dissatisfied turns judged so
    "kappa": kappa,  # Cohen's κ of satisfied against dissatisfied
    "auc": auc,  # chance that a satisfied turn is scored above a dissatisfied one
    "false_sat": _rate(_SAT_SCORE, ~_SAT_GOLD, np.nan),  # FalseSAT: share of dissatisfied turns judged satisfied
    "false_dsat": _rate(~_SAT_SCORE, _SAT_GOLD, np.nan),  # FalseDSAT: share of satisfied turns judged dissatisfied
    "pu_pearson": pu_pearson,  # Pearson's r a user, pooled by Fisher's z
    "pu_spearman": _of("of_ranks", pu_pearson),  # Spearman's ρ a user, pooled by Fisher's z
    "pu_kappa": pu_kappa,  # quadratically weighted κ a user, averaged
    "pu_mae": mae,  # mean absolute error a user, averaged (equal to mae)
    "pu_rmse": pu_rmse,  # root of the mean squared error a user, averaged
    "pu_accuracy": _over_mixed_users(accuracy),  # accuracy a user with both classes, averaged
    "pu_f1_dsat": _over_mixed_users(f1_dsat),  # F1-DSAT a user with both classes, averaged
    "pu_auc": _over_mixed_users(auc),  # AUC a user with both classes, averaged
    "wb_pearson": _of("within_blocks", pearson),  # Pearson's r less the mean of each block
    "wc_pearson": _of("within_users", pearson),  # Pearson's r less each user's level
    "wc_spearman": _of("within_users", spearman),  # Spearman's ρ less each user's level
    "wc_mae": _of("within_users", mae),  # mean absolute error less each user's level
    "wc_rmse": _of("within_users", rmse),  # root mean squared error less each user's level
    "wc_boundary": _of("centred_boundary", pearson),  # Pearson's r of being satisfied, less each user's level
}
#: Errors: the smaller, the better.
LOWER_IS_BETTER = frozenset(("mae", "rmse", "false_sat", "false_dsat", "pu_mae", "pu_rmse", "wc_mae", "wc_rmse"))


def interval_scale(name: str) -> Scale:
    """Return what kind of number a metric is, for its interval."""
    prefix, _, base = name.partition("_")
    base = base if prefix in ("pu", "wb", "wc") else name
    if base in ("pearson", "spearman", "qwk", "kappa", "boundary"):
        return "correlation"
    return "error" if base in ("mae", "rmse") else "share"


FEWEST_OF_CLASSES, FEWEST_OF_GAINS = 30, 50
"""Users from which shares of turns on the right side of the boundary, and gains in QWK, have an interval; and gains in such
shares. Fewer users carry these, and intervals cover too rarely (`benchmarks/coverage.py`)."""


def check_users(name: str, values: Floats, carriers: tuple[int, int], *, is_gain: bool = False) -> Floats:
    """Return a metric's values, or the sample's alone where too few users are there for an interval of this metric.

    `carriers` counts the users who have a turn of the rarer class, satisfied or not, and those for whom the judge finds one.
    """
    of_classes = (interval_scale(name) == "share" or name == "kappa") and not name.startswith("pu_") and name != "auc"
    fewest = FEWEST_OF_CLASSES if of_classes or (is_gain and name == "qwk") else 0
    if of_classes and is_gain:
        fewest = FEWEST_OF_GAINS
    if of_classes or name == "qwk":
        values = drop_if_few(values, carriers[0] if name == "qwk" else carriers[1])
    return values[..., :1] if values.shape[-1] - 1 < fewest else values


def measure_under(sums: AgreementSums, metrics: Iterable[str], weights: Floats) -> dict[str, Floats]:
    """Return each metric under each column of user weights; column 0 is the sample itself."""
    names = list(metrics)
    check_names("metric", names, METRICS)
    if not len(sums):
        return dict.fromkeys(names, np.full(weights.shape[1], np.nan))
    under = WeightedSums(sums, weights.astype(float))
    return {name: METRICS[name](under) for name in names}


def measure(
    gold: Floats | pd.Series,
    score: Floats | pd.Series,
    user: Floats | pd.Series | None = None,
    metrics: Iterable[str] = tuple(METRICS),
    scenario: Floats | pd.Series | None = None,
) -> pd.Series:
    """Return the metrics of these scores; turns without gold or without score are left out.

    Without `user`, all turns count as one user's; without `scenario`, all turns of a user as one block.
    """
    of = {"user": user, "scenario": scenario}
    columns = {"gold": np.asarray(gold, float), "score": np.asarray(score, float)}
    frame = pd.DataFrame(columns).assign(**{k: 0 if v is None else np.asarray(v) for k, v in of.items()}).dropna()
    sums = AgreementSums.of(frame.assign(block=frame.groupby(list(of)).ngroup()))
    measured = measure_under(sums, metrics, np.ones((sums.users, 1)))
    return pd.Series({name: float(v[0]) for name, v in measured.items()})
