"""Calibrators learned from train users: ordinal, isotonic, tilted; and short histories shrunk.

    fitted = fit_ordinal(train, histories)      # verdicts of ONE judge on train users, with their gold scores
    fitted.transform(verdicts, histories)       # verdicts of the same judge on other users, without

`train` carries a column `gold`. It must hold train users only: gold of the users under test never goes in. Give
both calls histories of the same kind, shrunk ones if any (`Population`).

Ordinal calibration goes from a judge's score and the user's level to a distribution.

Proportional odds (cumulative logit):   P(gold ≤ k) = σ(θ_k − β · x),   θ_1 < θ_2 < θ_3 < θ_4

with x the judge's score and the mean of the user's history. β says how far the judge is to be trusted beside the
history; that of the judge's score is never negative, so that few train users cannot turn a judge upside down.
`fit_isotonic` keeps the index β · x and replaces the logistic shape by any shape that never falls.

Tilting calibrates distributions as distributions: a judge's probabilities, tempered and tilted to the user.

    log p'_k = a · log p_k + b · log h_k + c_k + const,    a, b ≥ 0

with p the judge's distribution and h the user's history distribution (shrunk, so that no score is impossible).
a < 1 tempers an overconfident judge, b says how far the history counts, c what the judge is wrong about for all
users alike. The likelihood of train users' scores is concave in (a, b, c): there is one best answer. Few train users
leave the distribution as it is: (a, b, c) are normal around (1, 0, 0).

Short histories are shrunk towards the population: no cliff at five turns, and a value for a user without any.

A user's score shares are taken as drawn from a Dirichlet distribution around the population's, so that a history
of counts n has the posterior mean

    (n + strength · shares) / (Σn + strength)

With `strength` imaginary turns of the population, a user without history has the population's distribution, and
one with a long history their own. The strength is estimated on train users by the likelihood of their counts
(Dirichlet-multinomial, empirical Bayes).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, gammaln, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from perslib.corpus import BLOCK, Corpus
from perslib.errors import DataError
from perslib.stats.calibrate.history import SCORES, Floats, Ints, history_mean, to_scale
from perslib.stats.calibrate.verdicts import COUNTS, JUDGED_BY, of_blocks, scores_of


class Fitted(ABC):
    """A calibrator learned from train users: verdicts to distributions over the scores 1 to 5."""

    name: str
    """Names the columns that `transform` adds."""

    @abstractmethod
    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5, one row a verdict; NaN where the judge gave no score."""

    def transform(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> pd.DataFrame:
        """The verdicts with `{name}_p1` … `{name}_p5` and `{name}`, their expected score (Float64)."""
        p = self.distribution(verdicts, histories)
        columns = {self.name: p @ SCORES} | {f"{self.name}_p{s}": p[:, s - 1] for s in SCORES}
        index = verdicts.index
        return verdicts.assign(**{c: pd.Series(pd.array(v, dtype="Float64"), index=index) for c, v in columns.items()})


def scored(train: pd.DataFrame, columns: list[str]) -> tuple[pd.DataFrame, Ints]:
    """Rows with gold and without a gap in `columns`, and their gold as 0 to 4; DataError where that is no train frame."""
    if missing := [c for c in ("gold", *BLOCK, *columns) if c not in train]:
        raise DataError(
            f"train frame: column {missing[0]!r} is missing",
            "Fit on the verdicts of train users with their scores joined in as `gold`.",
        )
    of_one_judge(train, "train frame")
    rows = train.dropna(subset=["gold", *columns])
    if rows.empty:
        raise DataError("train frame: no scored verdict with gold")
    return rows, to_scale(rows["gold"]).astype(np.int64) - 1


def of_one_judge(frame: pd.DataFrame, called: str) -> None:
    """Raise DataError where verdicts of several judges would be fitted as one."""
    who = [c for c in JUDGED_BY if c in frame]
    if who and len(frame[who].drop_duplicates()) > 1:
        raise DataError(f"{called}: verdicts of several judges", "Fit each judge apart.")


def level_of(verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """Mean score of the history of each verdict's user."""
    level = history_mean(of_blocks(verdicts, histories))
    if np.isnan(level).any():
        users = verdicts.loc[np.isnan(level), "user"].unique()
        raise DataError(
            f"user {users[0]!r} and {len(users) - 1} others have no history",
            "Shrink the histories first: fit_population(train).shrink(histories).",
        )
    return level


def score_and_level(verdicts: pd.DataFrame, histories: pd.DataFrame, score: str) -> Floats:
    """What the ordinal calibrators go by: the judge's score and the user's level, one row a verdict."""
    return np.column_stack([scores_of(verdicts, score), level_of(verdicts, histories)])


#: Weight of the penalty on β (in squared standard deviations of x) and on the offsets c: settles what the data leave open, no more.
RIDGE = 1e-3


@dataclass(frozen=True)
class ProportionalOdds(Fitted):
    """P(gold ≤ k) = σ(thresholds_k − slopes · (score, level))."""

    thresholds: Floats
    slopes: Floats
    score: str = "raw"
    name: str = "ordinal"

    def index(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """β · x: where each reply stands on the scale of logits."""
        return score_and_level(verdicts, histories, self.score) @ self.slopes

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5."""
        index = self.index(verdicts, histories)
        return np.diff(expit(self.thresholds - index[:, None]), axis=1, prepend=0, append=1)


def fit_ordinal(train: pd.DataFrame, histories: pd.DataFrame, *, score: str = "raw") -> ProportionalOdds:
    """Learn thresholds and slopes from train users (`perslib.stats.calibrate.fitted` says what `train` holds)."""
    rows, gold = scored(train, [score])
    thresholds, slopes = proportional_odds(score_and_level(rows, histories, score), gold)
    return ProportionalOdds(thresholds, slopes, score)


@dataclass(frozen=True)
class Isotonic(Fitted):
    """P(gold > k) as a step function, never falling, of the proportional-odds index."""

    odds: ProportionalOdds
    above: tuple[IsotonicRegression, ...]
    name: str = "isotonic"

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5."""
        index = self.odds.index(verdicts, histories)
        given = ~np.isnan(index)
        above = np.full((len(index), 4), np.nan)
        # Regressions of nested events on one order never cross, so all differences are probabilities.
        above[given] = np.column_stack([step.predict(index[given]) for step in self.above])
        return np.clip(-np.diff(above, axis=1, prepend=1, append=0), 0, 1)


def fit_isotonic(train: pd.DataFrame, histories: pd.DataFrame, *, score: str = "raw") -> Isotonic:
    """Learn the index by proportional odds, then a step function for each threshold."""
    odds = fit_ordinal(train, histories, score=score)
    rows, gold = scored(train, [score])
    index = odds.index(rows, histories)
    above = [IsotonicRegression(out_of_bounds="clip").fit(index, gold > k) for k in range(4)]
    return Isotonic(odds, tuple(above))


def proportional_odds(x: Floats, gold: Ints, rising: int = 1) -> tuple[Floats, Floats]:
    """Thresholds θ and slopes β of greatest likelihood, the first `rising` slopes not negative; gold is 0 to 4.

    Solved with x standardised and θ as a first threshold and logarithms of three gaps, so that they stay in order.
    """
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    z, n = (x - centre) / spread, len(x)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        beta, gaps = parameters[:-4], np.exp(parameters[-3:])
        theta = parameters[-4] + np.r_[0, np.cumsum(gaps)]
        cumulative = expit(theta - (z @ beta)[:, None])
        edges = np.column_stack([np.zeros(n), cumulative, np.ones(n)])
        upper, lower = edges[np.arange(n), gold + 1], edges[np.arange(n), gold]
        p = np.maximum(upper - lower, 1e-12)
        # d log p / dη = upper + lower − 1, as σ' = σ(1 − σ); and each θ moves the two scores beside it.
        slope = z.T @ (upper + lower - 1)
        density = cumulative * (1 - cumulative) / p[:, None]
        beside = (gold[:, None] == np.arange(4)) * 1.0 - (gold[:, None] == np.arange(1, 5))
        theta_slope = (density * beside).sum(axis=0)
        further = [theta_slope[k + 1 :].sum() * gaps[k] for k in range(3)]
        gradient = np.r_[slope, theta_slope.sum(), further]
        penalty = np.r_[RIDGE * beta, np.zeros(4)]
        return -np.log(p).sum() / n + RIDGE / 2 * float(beta @ beta), penalty - gradient / n

    shares = (np.bincount(gold, minlength=5) + 0.5) / (n + 2.5)
    logits = np.log(np.cumsum(shares)[:4] / (1 - np.cumsum(shares)[:4]))
    start = np.r_[np.zeros(z.shape[1]), logits[0], np.log([b - a for a, b in pairwise(logits)])]
    at_least = [0 if place < rising else None for place in range(z.shape[1])]
    bounds = [*((low, None) for low in at_least), (None, None), *[(-10, 5)] * 3]  # a score nobody gave closes its gap
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    beta = best[:-4] / spread
    theta = best[-4] + np.r_[0, np.cumsum(np.exp(best[-3:]))] + centre @ beta
    return theta, beta


P = [f"p{s}" for s in range(1, 6)]

#: Probabilities below this are taken as this: a judge's "impossible" is worth that much.
FLOOR = 1e-4


@dataclass(frozen=True)
class Tilted(Fitted):
    """Judge's distribution to the power `trust`, history's to the power `history`, times exp(`offsets`)."""

    trust: float
    history: float
    offsets: Floats
    name: str = "tilted"

    def distribution(self, verdicts: pd.DataFrame, histories: pd.DataFrame) -> Floats:
        """Probabilities of 1 to 5."""
        return self.tilt(*_given(verdicts, histories))

    def tilt(self, p: Floats, counts: Floats) -> Floats:
        """Probabilities of 1 to 5 from those of the judge and the counts of the history, both a row a verdict."""
        terms = _log_terms(p, counts)
        return softmax(terms @ np.array([self.trust, self.history]) + self.offsets, axis=1)


def fit_tilt(train: pd.DataFrame, histories: pd.DataFrame) -> Tilted:
    """Learn trust, weight of the history and offsets from train users' verdicts with p1 … p5 and gold."""
    rows, gold = scored(train, P)
    terms, hit = _log_terms(*_given(rows, histories)), np.eye(5)[gold]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        offsets = parameters[2:]
        log_p = log_softmax(terms @ parameters[:2] + offsets, axis=1)
        miss, off = np.exp(log_p) - hit, parameters - as_it_is
        gradient = np.r_[np.einsum("nk,nkj->j", miss, terms), miss.sum(axis=0)]
        return -log_p[np.arange(len(gold)), gold].sum() + float(off @ off) / 2, gradient + off

    as_it_is, bounds = np.r_[1.0, np.zeros(6)], [(0, None)] * 2 + [(None, None)] * 5
    best = minimize(loss, as_it_is, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Tilted(float(best[0]), float(best[1]), best[2:] - best[2:].mean())


def _given(verdicts: pd.DataFrame, histories: pd.DataFrame) -> tuple[Floats, Floats]:
    """What the judge gave, and the counts of the history; DataError where a user has none."""
    level_of(verdicts, histories)
    return verdicts[P].to_numpy(dtype=float, na_value=np.nan), of_blocks(verdicts, histories)


def _log_terms(p: Floats, counts: Floats) -> Floats:
    """log p and log h of the five scores: verdicts × scores × 2."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.log(np.maximum(np.stack([p, shares], axis=2), FLOOR))


#: Where the strength is sought, in turns. At the upper end all users are taken as alike.
WEAKEST, STRONGEST = 0.1, 10_000.0


@dataclass(frozen=True)
class Population:
    """Score shares of train users, and how many turns of history they are worth."""

    shares: tuple[float, ...]
    strength: float

    @property
    def imaginary(self) -> Floats:
        """How often the imaginary turns have 1 to 5."""
        return self.strength * np.array(self.shares)

    def shrink(self, histories: pd.DataFrame) -> pd.DataFrame:
        """The histories with the imaginary turns added: takes their place wherever histories are asked for.

        Calibrators fall back below five turns of history; with these, ask them for `min_history=0`.
        """
        return histories.assign(**(histories[COUNTS].astype(float) + self.imaginary))


def fit_population(train: Corpus) -> Population:
    """Shares and strength from the train users' ratings."""
    rated = train.turns.dropna(subset="score")
    if rated.empty:
        raise DataError(f"{train.name}: no rated turn to learn the population from")
    given = pd.crosstab(rated["user"], rated["score"].astype(int))
    counts = given.reindex(columns=range(1, 6), fill_value=0).to_numpy(dtype=float)
    # Every user weighs the same, however much they wrote; half a turn each keeps unused scores possible.
    smoothed = counts + 0.5 / len(counts)
    shares = (smoothed / smoothed.sum(axis=1, keepdims=True)).mean(axis=0)
    best = minimize_scalar(
        lambda log_strength: -log_likelihood(counts, shares, np.exp(log_strength)),
        bounds=(np.log(WEAKEST), np.log(STRONGEST)),
        method="bounded",
    )
    return Population(tuple(shares.tolist()), float(np.exp(best.x)))


def log_likelihood(counts: Floats, shares: Floats, strength: float) -> float:
    """Dirichlet-multinomial log-likelihood of the users' counts, up to what does not depend on the strength."""
    alpha, n = strength * shares, counts.sum(axis=1)
    within = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=1)
    return float((gammaln(strength) - gammaln(n + strength) + within).sum())
