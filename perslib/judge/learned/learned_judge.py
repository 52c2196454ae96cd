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
stays as it is. No stage can turn a prediction, or a panel's score, upside down.

Stage 1 is linear in what it knows, so a score can be taken apart without a remainder: `explain` does.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfVectorizer

from perslib.corpus import TURN, Block, Corpus
from perslib.errors import FEW_TRAIN_USERS, FewTrainUsers, NotEnough
from perslib.judge.base import Judge, JudgeInputs, Verdict, make_unfitted_error, sum_spent
from perslib.judge.learned.explanation import Case, Explanation, Wording, cap_stubs, explain_case
from perslib.judge.learned.mixed import EncodedTurns, MixedModel, Parts, Variances, estimate_variances
from perslib.judge.learned.reasons import ReasonModel, learn_reasons, read_reasons
from perslib.judge.taught import Kept, sample_teachers
from perslib.llm import Ask
from perslib.memory import features
from perslib.memory.features import FEATURES, KINDS, NAMES, TurnContext, measure_traits, read_block_turns, tokens
from perslib.stats import fit_population, fit_tilt, floats, histories
from perslib.stats.calibrate.ordinal import ordinal_probabilities, proportional_odds
from perslib.stats.calibrate.short_histories import HistoryPrior
from perslib.stats.calibrate.tilt import P, Tilted
from perslib.stats.calibrate.user_scale import SCORES

FOLDS = 5
TURNS_AT_MOST = 1_500
"""Variances are estimated on train users with about so many turns together: the work grows with the cube."""
TINY, LEAST_STRETCH = 1e-5, 0.05
KEPT = 2_000
"""So many turns' projections are remembered, so that the blocks of one user share them."""

Array = np.ndarray


class LearnedJudge(Judge):
    """Scores and their probabilities from the user's history, the reply, the request and where they stand.

    Each judge of the `panel` gives the ordinal stage two more features: its expected (else raw) score, and whether that
    is missing. Judges that learn are taught without the users whose turns they judge. Scores that go against those of the
    train users count nothing. Without a history the population's prediction is given. With few train users it may add
    little to controls; below ten, `fit` warns (`FewTrainUsers`). A user among the train users is judged with what their
    labels taught, so keep train and test users apart.

    After `fit`, `held_out` holds verdicts on the train users' scored turns, gold beside them, each by a first
    stage that knew nothing of its user: what `perslib.stats.fit_thresholds` and its kin are fitted on.
    """

    held_out: pd.DataFrame

    name = "learned"
    inputs = JudgeInputs(reply=True, task=True, history=True, train=True)

    def __init__(self, panel: Sequence[Judge] = (), *, name: str | None = None):
        self.panel = tuple(panel)
        self._population: MixedModel | None = None
        self.name = name or " + ".join(["learned", *(judge.name for judge in self.panel)])
        marks = [vars(sees) for sees in (type(self).inputs, *(judge.inputs for judge in self.panel))]
        self.inputs = JudgeInputs(**{mark: any(seen[mark] for seen in marks) for mark in marks[0]})

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Fit both stages, from the scored turns of these users."""
        train = sample_teachers(train)
        scored = train.turns.dropna(subset="score")[[*TURN, "score"]].rename(columns={"score": "gold"})
        if scored.empty:
            raise NotEnough(
                "Judge {judge!r} learns from replies that train users scored, but {corpus} has no turn that they "
                "scored. Add scores from 1 to 5; likes and dislikes are not scores.",
                judge=self.name,
                corpus=train.name,
            )
        _warn_of_few(self.name, scored["user"].nunique())
        stored = None if self.panel else Kept(self, train, _MADE_OF)  # a panel asks anew
        if stored and stored.recall():
            return
        replies = features.read_corpus_turns(train)[[*TURN, "said"]]
        merged = (await self._teach_panel(train, replies, ask)).merge(scored, on=TURN)
        given_labels, gold = list(merged["said"]), merged["gold"].to_numpy(float)
        given = np.stack(merged["panel"])
        counts = np.isfinite(given).sum(axis=0)
        self._usual = np.where(counts, np.nansum(given, axis=0) / counts.clip(1), gold.mean())
        self.reading = TurnEncoder(given_labels)
        turns = self.reading(merged["user"].to_numpy(object), given_labels)
        some = _some_users(turns.user)
        self._population = MixedModel(turns, gold, estimate_variances(turns.take(some), gold[some]))
        self._known: dict[TurnContext, Array] = {}
        predicted = _hold_out(turns, gold, self._population, self.predict_held_out)
        self._population.forget_turns()
        x = self._with_panel(predicted, given)
        # More of a good prediction, or of a good judge's score, is never worse.
        self._thresholds, self._slopes = proportional_odds(x, gold.astype(int) - 1, rising=1 + len(self.panel))
        self._everybody = fit_population(train)
        past = self._everybody.shrink(histories(train))
        shaped = _with_p(merged.drop(columns=["said", "panel"]), self._predict_shape(x))
        self._tilt = fit_tilt(shaped, past)
        self.held_out = _with_p(shaped, self._tilt.distribution(shaped, past))
        self._wording = Wording(train.language, self.reading.terms)
        self.reasons = learn_reasons(train, merged, np.hstack(turns.numbers))
        if stored:
            stored.store()

    @property
    def population(self) -> MixedModel:
        """What the train users taught; an error before `fit`."""
        if self._population is None:
            raise make_unfitted_error(self)
        return self._population

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return a verdict with a full distribution for every target."""
        case = self.read_case(block)
        answers, given = await self.ask_panel(block, ask)
        parts = await self.take_apart(case, ask)
        p = cap_stubs(case, self._finish(case, self._with_panel(parts.prediction, given))[1])
        parts = self._in_points_of_score(parts)
        why = zip(self._wording.rationales(case, parts), self._find_reasons(case))
        return [
            replace(
                _merge(row), raw=float(e), expected=float(e), p=tuple(map(float, chances)), mode="computed",
                reason=reason if round(e) <= 3 else None, rationale=rationale, evidence=cited,
            )
            for row, e, chances, ((rationale, cited), reason) in zip(answers, p @ SCORES, p, why)
        ]  # fmt: skip

    async def explain(self, block: Block, ask: Ask) -> Explanation:
        """Take the verdicts on a block apart, without a remainder: see `Explanation`."""
        case = self.read_case(block)
        parts = await self.take_apart(case, ask)
        _, given = await self.ask_panel(block, ask)
        shapes = self._finish(case, self._with_panel(parts.prediction, given))
        shaped, final, capped = (p @ SCORES for p in (*shapes, cap_stubs(case, shapes[1])))
        parts = self._in_points_of_score(parts)
        stages = {"panel": shaped - parts.prediction} if self.panel else {}
        no_reply = {"no reply": capped - final} if (capped < final).any() else {}
        return explain_case(case, parts, {**stages, "own shape": final - shaped, **no_reply})

    async def list_parts(self, block: Block, ask: Ask) -> Parts:
        """Return what the verdicts on a block are made of before the panel and the user's own shape, in points of
        score.
        """
        return self._in_points_of_score(await self.take_apart(self.read_case(block), ask))

    def _in_points_of_score(self, parts: Parts) -> Parts:
        """Return the parts stretched to what they do to the expected score, around that of the mean prediction.

        The second stage goes by the sum of the parts alone, so each has the share of its effect that it has of the sum.
        """
        off = parts.prediction - parts.mean
        ends = np.r_[parts.mean, parts.mean + np.where(np.abs(off) < TINY, TINY, off)]
        expected = (
            self._predict_shape(self._with_panel(ends, np.full((len(ends), len(self.panel)), self._usual))) @ SCORES
        )
        return parts.stretch(float(expected[0]), (expected[1:] - expected[0]) / (ends[1:] - ends[0]))

    @property
    def stretch(self) -> float:
        """How many points of score a point of the first stage's prediction is worth, around the mean."""
        at = self.population.mean + np.array([-0.1, 0.1])
        low, high = self._predict_shape(self._with_panel(at, np.full((2, len(self.panel)), self._usual))) @ SCORES
        return max(float(high - low) / 0.2, LEAST_STRETCH)

    async def take_apart(self, case: Case, ask: Ask) -> Parts:
        """Return the first stage's predictions, in parts."""
        return self.population.explain(*case.inputs)

    def predict_held_out(self, population: MixedModel, *given: Any) -> Array:
        """Return the first stage's predictions for a train user, by a population without that user."""
        return population.predict(*given)

    def read_case(self, block: Block) -> Case:
        """Read the replies of a block and the rated turns of its user, with what ties both to the train users."""
        population = self.population
        past, present = read_block_turns(block)
        is_rated = block.evidence["score"].notna().to_numpy()
        past = [turn for turn, rated in zip(past, is_rated) if rated]
        history, targets = (self.reading(np.repeat(block.user, len(s)), s) for s in (past, present))
        scores = floats(block.evidence["score"])[is_rated]
        tied = (self._tie(population, turns, contexts) for turns, contexts in ((targets, present), (history, past)))
        return Case(block, present, past, targets, next(tied), history, next(tied), scores)

    def _find_reasons(self, case: Case) -> list[str | None]:
        """Return the reason for each target, should its score be low; none where train users gave none."""
        if self.reasons is None:
            return [None] * len(case.block)
        return [*self.reasons.predict(*read_reasons(case, self.reasons))]

    def _finish(self, case: Case, x: Array) -> tuple[Array, Array]:
        """Return the probabilities of 1–5 after the second and after the third stage."""
        shaped = self._predict_shape(x)
        counts = np.bincount(case.scores.astype(int), minlength=6)[1:] + self._everybody.imaginary
        return shaped, self._tilt.tilt(shaped, np.tile(counts, (len(shaped), 1)))

    async def _teach_panel(self, train: Corpus, replies: pd.DataFrame, ask: Ask) -> pd.DataFrame:
        """Let the panel learn, and return the train users' replies with its scores (`panel`), a number a judge.

        A judge that learns gives them without having been taught by the user.
        """
        if not self.panel:
            return replies.assign(panel=[np.empty(0)] * len(replies))
        blocks = [block for block in train.blocks(min_history_sessions=0) if len(block)]
        users = np.array([block.user for block in blocks])
        everybody = np.unique(users)
        given = [np.full((len(block), len(self.panel)), np.nan) for block in blocks]
        for column, judge in enumerate(self.panel):
            for fold in np.array_split(everybody, FOLDS) if judge.inputs.train else [everybody]:
                held_out, teachers = copy(judge), np.setdiff1d(everybody, fold) if judge.inputs.train else everybody
                if not len(teachers):
                    continue
                await held_out.fit(train.of_users(teachers), ask)
                theirs = np.flatnonzero(np.isin(users, fold))
                answers = await asyncio.gather(*(held_out.judge(blocks[i], ask) for i in map(int, theirs)))
                for i, verdicts in zip(theirs, answers):
                    given[i][:, column] = [verdict.score for verdict in verdicts]
            await judge.fit(train, ask)
        scores = pd.concat([block.targets[TURN] for block in blocks]).assign(panel=list(np.concatenate(given)))
        return replies.merge(scores, on=TURN)

    async def ask_panel(self, block: Block, ask: Ask) -> tuple[list[tuple[Verdict, ...]], Array]:
        """Return the panel's verdicts on each target, and their scores, a column a judge."""
        answers = await asyncio.gather(*(judge.judge(block, ask) for judge in self.panel))
        by_target: list[tuple[Verdict, ...]] = list(zip(*answers)) if answers else [()] * len(block)
        scores = np.array([[verdict.score for verdict in verdicts] for verdicts in by_target], float)  # None is NaN
        return by_target, scores.reshape(len(block), len(answers))

    def expect(self, case: Case, predictions: Array, given: Array) -> Array:
        """Return the scores that follow from these predictions of the first stage and these scores of the panel."""
        return self._finish(case, self._with_panel(predictions, given))[1] @ SCORES

    def _with_panel(self, predicted: Array, given: Array) -> Array:
        """Return features of the ordinal stage: the prediction, the panel's scores, and which of these are missing."""
        missing = np.isnan(given)
        return np.column_stack([predicted, np.where(missing, self._usual, given), missing])

    def _predict_shape(self, x: Array) -> Array:
        """Return the stage 2's probabilities of 1–5 from the prediction and the panel, one row a turn."""
        return ordinal_probabilities(self._thresholds, x @ self._slopes)

    def _tie(self, population: MixedModel, turns: EncodedTurns, contexts: Sequence[TurnContext]) -> Array:
        """Return projections on the train users, computed once a turn although a turn is in several blocks."""
        new = np.array([i for i, s in enumerate(contexts) if s not in self._known], dtype=int)
        if len(self._known) + len(new) > KEPT:
            self._known, new = {}, np.arange(len(contexts))
        if len(new):
            self._known |= zip((contexts[i] for i in new), population.project(turns.take(new)))
        return np.array([self._known[s] for s in contexts]).reshape(len(contexts), len(population.turns))


def _warn_of_few(judge: str, users: int) -> None:
    if users < FEW_TRAIN_USERS:
        few = FewTrainUsers(
            "The judge “{judge}” learns from few train users ({users}, fewer than {least}), so it may add little to what "
            "is known without the reply. Compare it with the controls of page 01, or give it more train users.",
            judge=judge,
            users=users,
            least=FEW_TRAIN_USERS,
        )
        warnings.warn(few, stacklevel=3)


def _with_p(turns: pd.DataFrame, p: Array) -> pd.DataFrame:
    """Return the turns with p1 … p5 and the expected score."""
    return turns.assign(**dict(zip(P, p.T)), raw=p @ SCORES, expected=p @ SCORES)


def _merge(answers: Sequence[Verdict]) -> Verdict:
    """Return what the panel's answers took together and, of a single judge, where its answer is; no score of its own."""
    one = answers[0] if len(answers) == 1 else Verdict()
    return Verdict(memory=one.memory, prompt=one.prompt, asked=one.asked, **sum_spent(answers))


class TurnEncoder:
    """From turns as they were said to turns as the model sees them: scale and vocabulary of the train users."""

    def __init__(self, contexts: Sequence[TurnContext]):
        numbers = np.array([measure_traits(s) for s in contexts])
        self._mean, self._spread = numbers.mean(0), numbers.std(0).clip(0.05)
        least = 3 if len(contexts) > 100 else 1
        self._words = TfidfVectorizer(**_TEXTS, min_df=least).fit([s.reply for s in contexts])
        self.terms: list[str] = list(self._words.get_feature_names_out())
        self._counted: dict[str, csr_matrix] = {}
        self._ends = np.cumsum([len(group) for group in FEATURES.values()])[:-1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_counted": {}, "_words": self._words.idf_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _words=TfidfVectorizer(**_TEXTS, vocabulary=state["terms"]))
        self._words.idf_ = state["_words"]

    def __call__(self, user: Array, contexts: Sequence[TurnContext]) -> EncodedTurns:
        """Return these turns of these users, one a row."""
        numbers = np.array([measure_traits(s) for s in contexts]).reshape(len(contexts), len(self._mean))
        scaled = self.scale(numbers)
        assistant, scenario = (np.array([getattr(s, n) for s in contexts], object) for n in ("assistant", "scenario"))
        session = np.array([f"{s.scenario}/{s.session}" for s in contexts], object)
        text = self._text([s.reply for s in contexts])
        return EncodedTurns(np.split(scaled, self._ends, axis=1), text, user, assistant, scenario, session)

    def scale(self, values: Array, places: Array | slice | int = slice(None)) -> Array:
        """Return values of the traits at these places, all by default, as the model sees them."""
        return np.asarray(((values - self._mean[places]) / self._spread[places]).clip(-4, 4))

    def usual(self, trait: str) -> tuple[float, float]:
        """Return mean and standard deviation of a trait among the train users' replies."""
        i = NAMES.index(trait)
        return float(self._mean[i]), float(self._spread[i])

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return low and high value of each trait: a standard deviation below and above the mean; of a mark, absent and
        present.
        """
        ranges = {}
        for name, mean, spread in zip(NAMES, self._mean, self._spread):
            low = mean - spread if KINDS[name] == "times" else max(mean - spread, 0.0)
            high = min(mean + spread, 1.0) if KINDS[name] == "share" else mean + spread
            ranges[name] = (0.0, 1.0) if KINDS[name] == "mark" else (float(low), float(high))
        return ranges

    def width(self, trait: str) -> float:
        """Return how far a trait goes from low to high, as the model sees it; 1 for what is no number."""
        if trait not in NAMES:
            return 1.0
        low, high = (self.scale(np.array(end), NAMES.index(trait)) for end in self.ranges()[trait])
        return float(high - low)

    def _text(self, replies: Sequence[str]) -> csr_matrix:
        """Return the term weights, counted once a reply although a turn is in several blocks."""
        if not replies:
            return csr_matrix((0, len(self._words.vocabulary_)))
        new = [r for r in dict.fromkeys(replies) if r not in self._counted]
        if len(self._counted) + len(new) > KEPT:
            self._counted, new = {}, list(dict.fromkeys(replies))
        if new:
            self._counted |= zip(new, self._words.transform(new))
        return vstack([self._counted[r] for r in replies], format="csr")


def split_terms(text: str) -> list[str]:
    """Return tokens and neighbouring pairs of tokens."""
    words = tokens(text)
    return words + [f"{a} {b}" for a, b in pairwise(words)]


_TEXTS: dict[str, Any] = {"analyzer": split_terms, "sublinear_tf": True}
#: What a learned judge is made of, beside arrays and plain values.
_MADE_OF = (MixedModel, EncodedTurns, Variances, TurnEncoder, HistoryPrior, Tilted, Wording, ReasonModel)


def _some_users(user: Array) -> Array:
    """Return turns of the first users, in the order given, that together have about TURNS_AT_MOST."""
    names, first, size = np.unique(user, return_index=True, return_counts=True)
    order = np.argsort(first)
    taken = names[order][np.cumsum(size[order]) - size[order] < TURNS_AT_MOST]
    return np.flatnonzero(np.isin(user, taken))


def _hold_out(turns: EncodedTurns, gold: Array, whole: MixedModel, predict: Callable[..., Array]) -> Array:
    """Return stage 1's prediction for every turn, learned without its user, from the user's other scenarios.

    Only μ is that of all train users. Without a generous user it would be lower, without a strict one higher: of few
    users, the predictions would rise where the scores fall.
    """
    mean = np.empty(len(gold))
    users, scenario = np.unique(turns.user), turns.scenario
    for fold in np.array_split(users, min(FOLDS, len(users))):
        is_theirs = np.isin(turns.user, fold)
        population, tied = whole.leave_out(turns, gold, np.flatnonzero(is_theirs))
        row = np.cumsum(is_theirs) - 1
        for user in fold:
            for name in np.unique(scenario[turns.user == user]):
                at = np.flatnonzero((turns.user == user) & (scenario == name))
                past = np.flatnonzero((turns.user == user) & (scenario != name))
                tied_at, tied_past = tied[row[at]], tied[row[past]]
                mean[at] = predict(population, turns.take(at), tied_at, turns.take(past), tied_past, gold[past])
    return mean
