"""The learned evaluator: a mixed model of scores, made a distribution by an ordinal regression and the user's history.

Three stages, all learned from train users in the cross-scenario form in which they are applied:

1. `perslib.judge.learned.mixed` predicts a score from the turn's features (`perslib.memory.features`), from its text, and from
   how this user's rated turns in other scenarios depart from what the population would have said.
2. Proportional odds over that prediction give the probabilities of 1–5. They are fitted on predictions for train users
   who were held out of stage 1, so they know how far stage 1 is to be trusted. Another judge's verdicts can join here:
   then that judge is asked about every turn of the train users as well. By itself this judge asks no model.
3. `perslib.stats.fit_tilt` gives the distribution the shape of the user's own: somebody whose history knows 2 and 5 only
   is not expected to give a 3.

Few train users say little, so there are priors. Stage 1's says that users differ in their level and that hardly anything
else matters: the prediction starts from the user's mean, shrunk towards everybody's. Stage 3's says that the distribution
stays as it is. No stage can turn a prediction, or advice, upside down.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfVectorizer

from perslib.corpus import TURN, Block, Corpus
from perslib.errors import FEW_TRAIN_USERS, FewTrainUsers, NotEnough
from perslib.judge.base import Judge, Sees, Verdict, unfitted
from perslib.judge.learned.mixed import Population, Turns, estimate
from perslib.llm import Ask
from perslib.memory.features import FEATURES, Said, read, said_by, said_in, tokens
from perslib.stats import fit_population, fit_tilt, floats, histories
from perslib.stats.calibrate.history import SCORES
from perslib.stats.calibrate.ordinal import probabilities, proportional_odds
from perslib.stats.calibrate.tilt import P

FOLDS = 5
TURNS_AT_MOST = 1_500
"""Variances are estimated on train users with about so many turns together: the work grows with the cube."""
KEPT = 2_000
"""So many turns' projections are remembered, so that the blocks of one user share them."""

Array = np.ndarray


class LearnedJudge(Judge):
    """Scores and their probabilities from the user's history, the reply, the request and where they stand.

    `beside`, another judge, gives the ordinal stage two more features: that judge's expected (else raw) score, and
    whether it is missing. Advice that goes against the scores of the train users counts nothing. Without a history
    the population's prediction is given. With few train users it may add little to controls; below ten, `fit` warns
    (`FewTrainUsers`). A user among the train users is judged with what their labels taught, so
    keep train and test users apart.

    After `fit`, `held_out` holds verdicts on the train users' scored turns, gold beside them, each by a first
    stage that knew nothing of its user: what `perslib.stats.fit_thresholds` and its kin are fitted on.
    """

    held_out: pd.DataFrame

    name = "learned"
    sees = Sees(reply=True, task=True, history=True, train=True)

    def __init__(self, beside: Judge | None = None, *, name: str | None = None):
        self.beside = beside
        self._population: Population | None = None
        if beside is not None:
            self.name = f"learned + {beside.name}"
            self.sees = Sees(**{name: own or vars(beside.sees)[name] for name, own in vars(self.sees).items()})
        self.name = name or self.name

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Both stages, from the scored turns of these users."""
        scored = train.turns.dropna(subset="score")[[*TURN, "score"]].rename(columns={"score": "gold"})
        if scored.empty:
            raise NotEnough(
                "Judge {judge!r} learns from replies that train users scored, but {corpus} has no turn that they "
                "scored. Add scores from 1 to 5; likes and dislikes are not scores.",
                judge=self.name,
                corpus=train.name,
            )
        found = (await self._replies(train, ask)).merge(scored, on=TURN)
        said, gold = list(found["said"]), found["gold"].to_numpy(float)
        heard_scores = _scores(found["heard"])
        self._usual = float(np.nanmean(heard_scores)) if np.isfinite(heard_scores).any() else float(gold.mean())
        if (users := scored["user"].nunique()) < FEW_TRAIN_USERS:
            few = FewTrainUsers(
                "The judge “{judge}” learns from few train users ({users}, fewer than {least}), so it may add little to what "
                "is known without the reply. Compare it with the controls of page 01, or give it more train users.",
                judge=self.name,
                users=users,
                least=FEW_TRAIN_USERS,
            )
            warnings.warn(few, stacklevel=2)
        self._read = Reading(said)
        turns = self._read(found["user"].to_numpy(object), said)
        some = _some_users(turns.user)
        self._population = Population(turns, gold, estimate(turns.take(some), gold[some]))
        self._known: dict[Said, Array] = {}
        predicted = _held_out(turns, gold, self._population)
        x = np.column_stack([predicted, self._advice(found["heard"])])
        # More of a good prediction, or of good advice, is never worse.
        self._thresholds, self._slopes = proportional_odds(x, gold.astype(int) - 1, rising=2)
        self._everybody = fit_population(train)
        past = self._everybody.shrink(histories(train))
        shaped = _with_p(found.drop(columns=["said", "heard"]), self._shaped(x))
        self._tilt = fit_tilt(shaped, past)
        self.held_out = _with_p(shaped, self._tilt.distribution(shaped, past))

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """A verdict with a full distribution for every target."""
        if self._population is None:
            raise unfitted(self)
        population = self._population
        past, present = said_in(block)
        scores = floats(block.evidence["score"])
        rated = np.flatnonzero(~np.isnan(scores))
        past = [past[i] for i in rated]
        history, targets = (self._read(np.repeat(block.user, len(s)), s) for s in (past, present))
        predicted = population.predict(
            targets,
            self._tied(population, present, targets),
            history,
            self._tied(population, past, history),
            scores[rated],
        )
        heard = await self._heard([block], ask)
        shaped = self._shaped(np.column_stack([predicted, self._advice(heard)]))
        counts = np.bincount(scores[rated].astype(int), minlength=6)[1:] + self._everybody.imaginary
        p = self._tilt.tilt(shaped, np.tile(counts, (len(block), 1)))
        expected = p @ SCORES
        return [
            replace(
                v, raw=float(e), expected=float(e), p=tuple(map(float, row)), mode="computed", error=None,
                reason=None, rationale=None, evidence=(),  # they spoke for another score
            )
            for v, e, row in zip(heard, expected, p)
        ]  # fmt: skip

    async def _replies(self, train: Corpus, ask: Ask) -> pd.DataFrame:
        """Every reply to train users: the keys of its turn, as it was said, and what the judge beside this one says."""
        blocks = [b for b in train.blocks(min_history_sessions=0) if len(b)]
        turns = pd.concat([b.targets[TURN] for b in blocks], ignore_index=True)
        heard = await self._heard(blocks, ask, train)
        return turns.assign(said=[said_by(target) for b in blocks for target in b], heard=heard)

    async def _heard(self, blocks: Sequence[Block], ask: Ask, train: Corpus | None = None) -> list[Verdict]:
        """What the judge beside this one says of each target, block after block; empty verdicts without one."""
        if self.beside is None:
            return [Verdict()] * sum(map(len, blocks))
        if train is not None:
            await self.beside.fit(train, ask)
        said = await asyncio.gather(*(self.beside.judge(block, ask) for block in blocks))
        return [verdict for verdicts in said for verdict in verdicts]

    def _advice(self, heard: Iterable[Verdict]) -> Array:
        """Features for the ordinal stage: the score that was heard, and whether there was none."""
        scores = _scores(heard)
        missing = np.isnan(scores)
        return np.column_stack([np.where(missing, self._usual, scores), missing])[:, : 2 * bool(self.beside)]

    def _shaped(self, x: Array) -> Array:
        """Stage 2: probabilities of 1–5 from the prediction and the advice, one row a turn."""
        return probabilities(self._thresholds, x @ self._slopes)

    def _tied(self, population: Population, said: Sequence[Said], turns: Turns) -> Array:
        """Projections on the train users, computed once a turn although a turn is in several blocks."""
        new = np.array([i for i, s in enumerate(said) if s not in self._known], dtype=int)
        if len(self._known) + len(new) > KEPT:
            self._known, new = {}, np.arange(len(said))
        self._known |= zip((said[i] for i in new), population.project(turns.take(new)))
        return np.array([self._known[s] for s in said]).reshape(len(said), len(population.turns))


def _with_p(turns: pd.DataFrame, p: Array) -> pd.DataFrame:
    """The turns with p1 … p5 and the expected score."""
    return turns.assign(**dict(zip(P, p.T)), raw=p @ SCORES, expected=p @ SCORES)


def _scores(heard: Iterable[Verdict]) -> Array:
    return np.array([v.raw if v.expected is None else v.expected for v in heard], dtype=float)  # None is NaN


class Reading:
    """From turns as they were said to turns as the model sees them: scale and vocabulary of the train users."""

    def __init__(self, said: Sequence[Said]):
        numbers = np.array([read(s) for s in said])
        self._mean, self._spread = numbers.mean(0), numbers.std(0).clip(0.05)
        self._words = TfidfVectorizer(analyzer=_terms, sublinear_tf=True, min_df=3 if len(said) > 100 else 1).fit(
            [s.reply for s in said]
        )
        self._counted: dict[str, csr_matrix] = {}
        self._ends = np.cumsum([len(group) for group in FEATURES.values()])[:-1]

    def __call__(self, user: Array, said: Sequence[Said]) -> Turns:
        """These turns of these users, one a row."""
        numbers = np.array([read(s) for s in said]).reshape(len(said), len(self._mean))
        scaled = ((numbers - self._mean) / self._spread).clip(-4, 4)
        assistant, scenario = (np.array([getattr(s, n) for s in said], object) for n in ("assistant", "scenario"))
        session = np.array([f"{s.scenario}/{s.session}" for s in said], object)
        text = self._text([s.reply for s in said])
        return Turns(np.split(scaled, self._ends, axis=1), text, user, assistant, scenario, session)

    def _text(self, replies: Sequence[str]) -> csr_matrix:
        """Term weights, counted once a reply although a turn is in several blocks."""
        if not replies:
            return csr_matrix((0, len(self._words.vocabulary_)))
        new = [r for r in dict.fromkeys(replies) if r not in self._counted]
        if len(self._counted) + len(new) > KEPT:
            self._counted, new = {}, list(dict.fromkeys(replies))
        if new:
            self._counted |= zip(new, self._words.transform(new))
        return vstack([self._counted[r] for r in replies], format="csr")


def _terms(text: str) -> list[str]:
    """Tokens and neighbouring pairs of tokens."""
    found = tokens(text)
    return found + [f"{a} {b}" for a, b in pairwise(found)]


def _some_users(user: Array) -> Array:
    """Turns of the first users, in the order given, that together have about TURNS_AT_MOST."""
    names, first, size = np.unique(user, return_index=True, return_counts=True)
    order = np.argsort(first)
    taken = names[order][np.cumsum(size[order]) - size[order] < TURNS_AT_MOST]
    return np.flatnonzero(np.isin(user, taken))


def _held_out(turns: Turns, gold: Array, whole: Population) -> Array:
    """Stage 1's prediction for every turn, learned without its user, from the user's other scenarios.

    Only μ is that of all train users. Without a generous user it would be lower, without a strict one higher: of few
    users, the predictions would rise where the scores fall.
    """
    mean = np.empty(len(gold))
    users, scenario = np.unique(turns.user), turns.scenario
    for fold in np.array_split(users, min(FOLDS, len(users))):
        is_theirs = np.isin(turns.user, fold)
        rest, theirs = np.flatnonzero(~is_theirs), np.flatnonzero(is_theirs)
        population = Population(turns.take(rest), gold[rest], whole.variances, whole.mean) if len(rest) else whole
        tied, row = population.project(turns.take(theirs)), np.cumsum(is_theirs) - 1
        for user in fold:
            for name in np.unique(scenario[turns.user == user]):
                at = np.flatnonzero((turns.user == user) & (scenario == name))
                past = np.flatnonzero((turns.user == user) & (scenario != name))
                tied_at, tied_past = tied[row[at]], tied[row[past]]
                mean[at] = population.predict(turns.take(at), tied_at, turns.take(past), tied_past, gold[past])
    return mean
