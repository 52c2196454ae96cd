"""A mixed model of scores: what moves everybody's score, and what moves this user's.

    score = μ + shared(turn) + own(user, turn) + session + noise

`shared` and `own` are Gaussian processes over the same groups of features, each group with its own variance s_g
and o_g, so that a turn i and a turn j have the covariance

    Σ_g s_g K_g(i, j) + [same user] Σ_g o_g K_g(i, j) + τ [same session] + σ² [i = j]

with K_g = Z_g Z_g' / |g| for numbers, equality for names, the cosine for texts, and 1 for the level. The
variances maximise the marginal likelihood of the train users' scores. For a new user the rated turns of the
history say where the user's own level, slopes and tastes differ from the population's, and shrink towards it where
they say little; without a history the population's prediction remains.

The work grows with the cube of the train users' turns. Beyond `EXACT_TO`, `STAND_FOR_ALL` of them, u, evenly spread over the users,
stand for the others (PITC, Quiñonero-Candela & Rasmussen 2005): turns of different users share K_iu K_uu⁻¹ K_uj, turns
of one user what they share in full. All scores count, and the work grows with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

Array = np.ndarray

# Whether every number of a large matrix is finite need not be asked each time it is used.
cholesky, solve_triangular = (partial(f, check_finite=False) for f in (linalg.cholesky, linalg.solve_triangular))

# Matrices of about a thousand rows: threads of linear algebra cost more here than they save, many times more on
# a busy machine.
one_thread = threadpool_limits.wrap(limits=1, user_api="blas")

# Variances are drawn towards small values: with twenty users, chance alone finds groups that seem to matter.
# Two are not: some people are stricter than others, even where a few train users look alike; and a text is a thousand
# words that each say little, where a number says at once what it says.
PRIOR_MEAN, PRIOR_LEVEL, PRIOR_TEXT, PRIOR_SPREAD = np.log(0.002), np.log(0.05), np.log(0.05), 1.5
START_NOISE = np.log(0.4)
STEPS = 15
EXACT_TO, STAND_FOR_ALL = 2_000, 1_000
JITTER = 1e-6
AT_ONCE = 1_000


@dataclass(frozen=True)
class EncodedTurns:
    """Turns as the model sees them: numbers by group, the reply's text, whose they are and where."""

    numbers: Sequence[Array]
    text: csr_matrix
    user: Array
    assistant: Array
    scenario: Array
    session: Array

    def __len__(self) -> int:
        return len(self.user)

    @cached_property
    def by_term(self) -> csr_matrix:
        """For each term the turns that have it: what is looked up for a few turns among many."""
        return self.text.T.tocsr()

    def take(self, rows: Array) -> EncodedTurns:
        """Return these rows only."""
        parts = (self.text, self.user, self.assistant, self.scenario, self.session)
        return EncodedTurns([z[rows] for z in self.numbers], *(part[rows] for part in parts))


def kernels(a: EncodedTurns, b: EncodedTurns) -> Iterator[Array]:
    """Yield k_g between two sets of turns, one a group: numbers, assistant, scenario, text."""
    yield from (x @ y.T / max(x.shape[1], 1) for x, y in zip(a.numbers, b.numbers))
    yield from ((x[:, None] == y).astype(float) for x, y in ((a.assistant, b.assistant), (a.scenario, b.scenario)))
    yield np.ascontiguousarray((b.text @ a.by_term).toarray().T)


@dataclass(frozen=True)
class Variances:
    """Variance components: one a group for everybody, one a group for the user, the user's level, session, noise."""

    shared: Array
    own: Array
    level: float
    session: float
    noise: float

    @classmethod
    def of(cls, log: Array) -> Variances:
        """Return the variances in the vector that is optimised: shared, own, level, session, noise."""
        v, groups = np.exp(log), (len(log) - 3) // 2
        return cls(v[:groups], v[groups : 2 * groups], v[-3], v[-2], v[-1])

    def everybody(self, kernels: Iterable[Array]) -> Array:
        """Return the covariance of turns of different users."""
        return np.asarray(sum(v * k for v, k in zip(self.shared, kernels)))

    def covariance(self, a: EncodedTurns, b: EncodedTurns, kernels: Sequence[Array]) -> Array:
        """Return the covariance of scores without noise."""
        own = sum((v * k for v, k in zip(self.own, kernels)), np.full_like(kernels[0], self.level))
        same = a.user[:, None] == b.user[None, :]
        together = same & (a.session[:, None] == b.session[None, :])
        return self.everybody(kernels) + same * own + self.session * together


def _invert(lower: Array) -> Array:
    """Return the inverse of the matrix with this Cholesky factor."""
    inverse, _ = dpotri(lower, lower=1)
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


@one_thread
def estimate_variances(turns: EncodedTurns, scores: Array) -> Variances:
    """Return variances of largest marginal likelihood (with a log-normal prior), μ by least squares."""
    n, products = len(turns), np.stack(list(kernels(turns, turns))).reshape(-1, len(turns) ** 2)
    # What is a user's own is seen in pairs of the user's turns alone, a few of all.
    same = np.flatnonzero(turns.user[:, None] == turns.user[None, :])
    own_found, together = products[:, same], (turns.session[:, None] == turns.session[None, :]).ravel()[same]

    def loss(log: Array) -> tuple[float, Array]:
        v = Variances.of(log)
        covariance = v.shared @ products
        covariance[same] += v.own @ own_found + v.level + v.session * together
        covariance[:: n + 1] += v.noise
        lower = cholesky(covariance.reshape(n, n), lower=True)
        inverse = _invert(lower)
        weights = inverse.sum(axis=0)
        residual = scores - weights @ scores / weights.sum()
        alpha = inverse @ residual
        slope = (inverse - np.outer(alpha, alpha)).ravel()
        of_user = slope[same]
        d = np.r_[products @ slope, own_found @ of_user, of_user.sum(), of_user @ together, slope[:: n + 1].sum()]
        off = (log - prior) / PRIOR_SPREAD
        off[-1] = 0.0
        value = 0.5 * residual @ alpha + np.log(np.diag(lower)).sum() + 0.5 * off @ off
        return value, 0.5 * np.exp(log) * d + off / PRIOR_SPREAD

    prior = np.full(2 * len(products) + 3, PRIOR_MEAN)
    prior[-3], prior[len(products) - 1] = PRIOR_LEVEL, PRIOR_TEXT
    start = np.r_[prior[:-1], START_NOISE]
    bounds = [(np.log(1e-6), np.log(10.0))] * len(start)
    bounds[-1] = (np.log(1e-2), np.log(10.0))
    found_best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    return Variances.of(found_best.x)


@dataclass(frozen=True)
class _Summary:
    """What the turns have to do with those that stand for all: their covariance, and this and the scores whitened."""

    shared: Array
    whitened: Array


class MixedModel:
    """What the train users' scores say of any turn of somebody else, and, with a history, of this user's."""

    @one_thread
    def __init__(self, turns: EncodedTurns, scores: Array, variances: Variances, mean: float | None = None):
        self.turns, self.variances = turns, variances
        self._mixing: Array | None = None
        self._summary: _Summary | None = None
        known = np.column_stack([np.ones(len(turns)), scores])
        if len(turns) > EXACT_TO:
            self._summary = self._summarise(turns, known)
            self._settle(self._summary.whitened, mean)
            return
        self._lower = self._factor(turns)
        ones, scaled = (solve_triangular(self._lower, column, lower=True) for column in known.T)
        self.mean = float(ones @ scaled / (ones @ ones)) if mean is None else mean
        self._weights = scaled - self.mean * ones

    def _factor(self, turns: EncodedTurns, explained: Array | float = 0.0) -> Array:
        """Return the Cholesky factor of the covariance of scores, less what is explained already."""
        covariance = self.variances.covariance(turns, turns, list(kernels(turns, turns))) - explained
        return np.asarray(cholesky(covariance + self.variances.noise * np.eye(len(turns)), lower=True))

    def _summarise(self, turns: EncodedTurns, known: Array) -> _Summary:
        """Let some turns stand for all; `known` has a column of ones and one of scores."""
        self.turns = turns.take(np.linspace(0, len(turns) - 1, STAND_FOR_ALL).astype(int))
        self._lower = cholesky(
            self.variances.everybody(kernels(self.turns, self.turns)) + JITTER * np.eye(STAND_FOR_ALL), lower=True
        )
        shared, whitened = np.empty((len(turns), STAND_FOR_ALL)), np.empty((len(turns), STAND_FOR_ALL + 2))
        for rows in np.array_split(np.arange(len(turns)), -(-len(turns) // AT_ONCE)):
            shared[rows] = self.variances.everybody(kernels(self.turns, turns.take(rows))).T
        for user in np.unique(turns.user):
            rows = np.flatnonzero(turns.user == user)
            tied = solve_triangular(self._lower, shared[rows].T, lower=True).T
            lower = self._factor(turns.take(rows), tied @ tied.T)
            whitened[rows] = solve_triangular(lower, np.hstack([tied, known[rows]]), lower=True)
        return _Summary(shared, whitened)

    def _settle(self, whitened: Array, mean: float | None) -> None:
        """Take what some turns' scores say of everybody; each user's turns are whitened among themselves."""
        among = np.eye(STAND_FOR_ALL + 2)
        among[-2:, -2:] = 0.0
        for rows in np.array_split(np.arange(len(whitened)), max(1, -(-len(whitened) // AT_ONCE))):
            among += whitened[rows].T @ whitened[rows]
        inverse, seen = _invert(cholesky(among[:-2, :-2], lower=True)), among[:-2, -2:]
        (ones, with_scores), _ = among[-2:, -2:] - seen.T @ inverse @ seen
        self.mean = float(with_scores / ones) if mean is None else mean
        mixing = cholesky((1 + JITTER) * np.eye(STAND_FOR_ALL) - inverse, lower=True)
        self._weights = solve_triangular(mixing, inverse @ (seen @ [-self.mean, 1.0]), lower=True)
        self._mixing = solve_triangular(self._lower, mixing, lower=True, trans=1)

    @one_thread
    def leave_out(self, turns: EncodedTurns, scores: Array, rows: Array) -> tuple[MixedModel, Array]:
        """Return what the other turns' scores say, around the same mean, and what ties these rows to them.

        `turns` and `scores` are those that it was made of. Where turns stand for all, it needs no kernel anew.
        """
        rest = np.setdiff1d(np.arange(len(turns)), rows)
        if not len(rest):
            return self, self.project(turns.take(rows))
        if self._summary is None:
            others = MixedModel(turns.take(rest), scores[rest], self.variances, self.mean)
            return others, others.project(turns.take(rows))
        others = copy(self)
        others._settle(self._summary.whitened[rest], self.mean)
        return others, self._summary.shared[rows] @ others._mixing

    def forget_turns(self) -> None:
        """Forget what only `leave_out` needs of turns for which others stand."""
        self._summary = None

    @one_thread
    def project(self, turns: EncodedTurns) -> Array:
        """Return what ties each turn to the train users' turns, one row a turn: L⁻¹ k(train, turn)."""
        if len(turns) > AT_ONCE:
            parts = np.array_split(np.arange(len(turns)), -(-len(turns) // AT_ONCE))
            return np.vstack([self.project(turns.take(rows)) for rows in parts])
        shared = self.variances.everybody(kernels(self.turns, turns))
        if self._mixing is not None:
            return np.asarray(shared.T @ self._mixing)
        return np.asarray(solve_triangular(self._lower, shared, lower=True)).T

    @one_thread
    def predict(
        self, targets: EncodedTurns, tied: Array, history: EncodedTurns, tied_history: Array, scores: Array
    ) -> Array:
        """Return expected scores of the targets given the train users' scores and the user's history."""
        expected = self.mean + tied @ self._weights
        if not len(history):
            return expected
        among, surprise = self.solve_history(history, tied_history, scores)
        return expected + self._between(targets, tied, history, tied_history) @ np.linalg.solve(among, surprise)

    @one_thread
    def explain(
        self, targets: EncodedTurns, tied: Array, history: EncodedTurns, tied_history: Array, scores: Array
    ) -> Parts:
        """Take the expected scores apart, by group and trait and by the rated turns of the history."""
        v = self.variances
        among, surprise = self.solve_history(history, tied_history, scores)
        inverse = np.linalg.inv(among)
        weights, n = inverse @ surprise, len(targets)
        of_train = self._weights - tied_history.T @ weights
        if self._mixing is None:
            of_train = solve_triangular(self._lower, of_train, lower=True, trans=1)
        else:
            of_train = self._mixing @ of_train
        given = (self.turns, of_train), (history, weights)
        words = [turns.text.T @ projected for turns, projected in given]
        from_train, from_user = (weigh(targets, *projected, of_history) for projected, of_history in zip(given, words))
        terms = v.shared[-1] * words[0] + (v.shared[-1] + v.own[-1]) * words[1]
        together = (targets.user[:, None] == history.user) & (targets.session[:, None] == history.session)
        return Parts(
            mean=self.mean,
            everybody=[s * (t + u) for s, t, u in zip(v.shared, from_train, from_user)],
            own=[o * u for o, u in zip(v.own, from_user)],
            level=np.full(n, v.level * weights.sum()),
            session=v.session * together @ weights,
            terms=targets.text.multiply(terms).tocsr(),
            population=self.mean + tied @ self._weights,
            turns=self._between(targets, tied, history, tied_history) @ inverse * surprise,
        )

    def solve_history(self, history: EncodedTurns, tied: Array, scores: Array) -> tuple[Array, Array]:
        """Return the covariance of a history's scores, less what train users explain, and by how much the scores differ
        from what train users say."""
        among = self._between(history, tied, history, tied) + self.variances.noise * np.eye(len(history))
        return among, scores - self.mean - tied @ self._weights

    def _between(self, targets: EncodedTurns, tied: Array, history: EncodedTurns, tied_history: Array) -> Array:
        """Return the covariance of the targets' scores with the history's, less what train users explain."""
        parts = list(kernels(targets, history))
        return self.variances.covariance(targets, history, parts) - tied @ tied_history.T


@dataclass(frozen=True)
class Parts:
    """Predictions taken apart. Mean, everybody, own, level and session add up to them; so do population and turns."""

    mean: float
    everybody: list[Array]
    """What everybody likes: an array a group, a row a target, a column a trait; names and texts have one column."""
    own: list[Array]
    """Where this user differs from everybody, in the same form."""
    level: Array
    """How much higher this user scores any reply."""
    session: Array
    terms: csr_matrix
    """What the words of the text group say by themselves: a row a target, a column a term."""
    population: Array
    """What train users alone say of each target."""
    turns: Array
    """What each rated turn of the history adds to it: a row a target, a column a turn."""
    evidence: Sequence[str] | None = None
    """Names of the columns of `turns` where these are no turns but statements."""

    def stretch(self, mean: float, by: Array) -> Parts:
        """Return the parts around another mean, each target's so many times as large."""
        column = by[:, None]
        return replace(
            self,
            mean=mean,
            everybody=[column * group for group in self.everybody],
            own=[column * group for group in self.own],
            level=by * self.level,
            session=by * self.session,
            terms=self.terms.multiply(column).tocsr(),
            population=mean + by * (self.population - self.mean),
            turns=column * self.turns,
        )

    @property
    def prediction(self) -> Array:
        """The expected score of each target."""
        traits = sum(group.sum(axis=1) for group in (*self.everybody, *self.own))
        return self.mean + traits + self.level + self.session


def weigh(a: EncodedTurns, b: EncodedTurns, weights: Array, words: Array) -> list[Array]:
    """Return Σ_j K_g(i, j) w_j over the turns j of `b` for each turn i of `a`, an array a group, its columns by trait;
    `words` are the terms of `b` under these weights."""
    numbers = [x * (y.T @ weights) / max(x.shape[1], 1) for x, y in zip(a.numbers, b.numbers)]
    names = [(x[:, None] == y) @ weights for x, y in ((a.assistant, b.assistant), (a.scenario, b.scenario))]
    return [*numbers, *(column[:, None] for column in (*names, a.text @ words))]
