"""Judges that go by history: what the user, or the population, has scored before.

Nearly all never read the reply: they are the floor under every other judge. On the published test set the rounded mean
of a user's scores in other scenarios reaches a Pearson correlation of .356, the best evaluator of the paper .360;
whatever a judge gains by reading the reply shows only beside them. `history_baselines()` are PersTurnBench's (appendix
C.2), `controls()` the five that belong into every table of agreement.

`Nearest` looks at the reply: it is scored as the user scored the most similar replies in other scenarios.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from perslib.corpus import BLOCK, TURN, Block, Corpus, Target
from perslib.judge.base import Computed, Judge, JudgeInputs, Verdict, make_unfitted_error
from perslib.llm import Ask
from perslib.memory import ANCHORS, EPISODES, Anchor, Retrieval, TextForm

Scores = npt.NDArray[np.float64]
IMAGINARY = 10
"""So many scores of the population a user's level is drawn towards it by."""

#: How a real-valued score becomes a whole one; None leaves it as it is. The published history baselines
#: round half up (2.5 → 3), perslib's rule everywhere else is half to even (2.5 → 2).
Rounding = Literal["half up", "half even"] | None


def round_to_scale(scores: npt.ArrayLike, how: Rounding) -> Scores:
    """Return scores on the scale: rounded as asked, then clipped to 1–5; NaN stays NaN."""
    values = np.asarray(scores, float)
    if how is not None:
        values = np.floor(values + 0.5) if how == "half up" else np.rint(values)
    return np.clip(values, 1, 5)


def history_scores(block: Block) -> Scores:
    """Return the user's scores in the other scenarios, in the order of the evidence; unrated turns are left out."""
    return block.evidence["score"].dropna().to_numpy(float)


def majority(scores: Scores) -> float:
    """Return the most frequent score; of several, the lowest."""
    values, counts = np.unique(scores, return_counts=True)
    return float(values[counts.argmax()])


STATISTICS: dict[str, Callable[[Scores], float]] = {"mean": np.mean, "median": np.median, "majority": majority}


@dataclass(eq=False)
class _Statistic(Computed):
    """One number of known scores (one of `STATISTICS`) for all replies of the block; without scores, none."""

    statistic: str = "mean"
    rounded: Rounding = None
    of = ""

    def __post_init__(self) -> None:
        name = f"{self.of} {self.statistic}"
        self.name = name if self.rounded is None else f"{name}, rounded {self.rounded}"

    @abstractmethod
    def select_scores(self, block: Block) -> Scores:
        """Return the scores that count for this block."""

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return the same score for each target."""
        known = self.select_scores(block)
        value = float(round_to_scale(STATISTICS[self.statistic](known), self.rounded)) if len(known) else None
        return [value] * len(block)


# -- from the user's history ------------------------------------------------------------------------------

#: What verdicts say of a user without a history.
LACK = "the user has no rated turn in another scenario"
NO_HISTORY = Verdict(mode="computed", error=f"no score: {LACK}")


class UserStatistic(_Statistic):
    """Mean, median or majority of the user's scores in the other scenarios; `rounded="half up"` as published."""

    of = "user"
    lack = LACK
    inputs = JudgeInputs(history=True)

    def select_scores(self, block: Block) -> Scores:
        """Return the user's history."""
        return history_scores(block)


UserMean, UserMedian, UserMajority = (partial(UserStatistic, statistic) for statistic in STATISTICS)


class UserCdfByHash(Computed):
    """The user's score distribution dealt out over the replies in an order that has nothing to do with them.

    Targets are ordered by the SHA-1 of their published sample id; the i-th of n gets the sorted history's
    score at place ⌊(i + ½)/n · N⌋. Of all reply-blind judges the one with the user's own spread.
    """

    name = "user CDF by hash"
    lack = LACK
    inputs = JudgeInputs(history=True)

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return sorted history, read off at the targets' hashed places."""
        history, n = np.sort(history_scores(block)), len(block)
        if not len(history):
            return [None] * n
        ids = [f"{block.id}__{t.session}.json__turn_{t.turn}" for t in block]
        rank = np.argsort(np.argsort([hashlib.sha1(i.encode("utf-8", "surrogatepass")).hexdigest() for i in ids]))
        # In floating point, as published: a quotient may fall a hair short of the place that whole numbers reach.
        return list(history[((rank + 0.5) / n * len(history)).astype(int)])


# -- from train users -------------------------------------------------------------------------------------


def list_training_blocks(
    train: Corpus, has_history: bool = True, min_sessions: int | None = None
) -> Iterator[tuple[Block, list[Target], Scores]]:
    """Yield the train users' blocks, with a rated history or of all; of each, the rated targets and their scores.

    `min_sessions` says how many sessions a user needs in other scenarios, if not as many as those to be judged.
    """
    known = train.turns.dropna(subset=["score"]).set_index(TURN)["score"].astype(float).to_dict()
    for block in train.blocks(min_history_sessions=min_sessions):
        scores = [known.get((block.user, block.scenario, t.session, t.turn)) for t in block]
        targets = [target for target, score in zip(block, scores) if score is not None]
        if targets and (len(history_scores(block)) or not has_history):
            yield block, targets, np.array([score for score in scores if score is not None])


def train_scores(train: Corpus) -> dict[str, Scores]:
    """Return scenario → scores of the train users' target replies (those of scenarios that make a block)."""
    turns = train.turns.dropna(subset=["score"])
    usable = pd.MultiIndex.from_tuples(train.block_ids(), names=BLOCK)
    turns = turns[pd.MultiIndex.from_frame(turns[BLOCK]).isin(usable)]
    return {str(s): part.to_numpy(float) for s, part in turns.groupby("scenario")["score"]}


class TrainStatistic(Computed):
    """Knows what train users scored in each scenario."""

    lack = "no train user has rated a reply"
    inputs = JudgeInputs(train=True)
    learned: dict[str, Scores] | None = None

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Keep the train users' scores by scenario."""
        self.learned = train_scores(train)

    def select_scores(self, block: Block) -> Scores:
        """Return the scores of all scenarios."""
        if self.learned is None:
            raise make_unfitted_error(self)
        return np.concatenate([*self.learned.values(), []])


class PopulationStatistic(TrainStatistic, _Statistic):
    """Mean or majority of all train users' scores: a constant that fits the corpus."""

    of = "global"


class TaskStatistic(PopulationStatistic):
    """The same of the target's scenario; one that no train user rated gets the number of all."""

    of = "task"
    inputs = JudgeInputs(train=True, task=True)

    def select_scores(self, block: Block) -> Scores:
        """Return the scores of the scenario."""
        everything = super().select_scores(block)
        return (self.learned or {}).get(block.scenario, everything)


# -- controls ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Constant(Computed):
    """The same score for every reply of every user. What it reaches after a calibration, the calibration did."""

    score: float = 4

    def __post_init__(self) -> None:
        self.name = f"constant {self.score:g}"

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return the constant."""
        return [self.score] * len(block)


@dataclass(eq=False)
class Random(TrainStatistic):
    """A score drawn for each reply, as often as train users gave it.

    The draw hangs on seed, user, session and turn alone: the same in every run, whatever else is judged.
    """

    seed: int = 42
    name = "random"

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return one draw a target."""
        pool = np.sort(self.select_scores(block))
        return [float(pool[self._draw(target) % len(pool)]) if len(pool) else None for target in block]

    def _draw(self, target: Target) -> int:
        key = "\0".join([str(self.seed), target.user, target.scenario, target.session, str(target.turn)])
        return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])


@dataclass(eq=False)
class NoTextControl(Computed):
    """What train users teach of the user's level, the turn number and the assistant: all that helps without a text.

    Ridge regression on the mean of the user's scores in other scenarios, drawn towards everybody's, and on names; without
    any such score the turn and the assistant alone. An evaluator has to pass this one before its reading of replies is
    worth anything.
    """

    name = "level, turn, assistant"
    inputs = JudgeInputs(history=True, train=True)
    lack = TrainStatistic.lack
    model: Pipeline | None = field(default=None, init=False, repr=False)

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn about ten numbers."""
        taken = list(list_training_blocks(train, has_history=False))
        if taken:
            scores = np.concatenate([scores for *_, scores in taken])
            self.mean = float(scores.mean())
            facts = [fact for block, targets, _ in taken for fact in self._facts(block, targets)]
            ridge = RidgeCV((1.0, 3.0, 10.0, 30.0, 100.0))
            self.model = make_pipeline(DictVectorizer(sparse=False), StandardScaler(), ridge).fit(facts, scores)

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return one prediction a target."""
        if self.model is None:
            return [None] * len(block)
        scores: Sequence[float] = np.clip(self.model.predict(self._facts(block, block)), 1, 5) if len(block) else []
        return scores

    def _facts(self, block: Block, targets: Iterable[Target]) -> list[dict[str, Any]]:
        history = history_scores(block)
        level = (history.sum() + IMAGINARY * self.mean) / (len(history) + IMAGINARY)
        return [{"level": level, "turn": str(min(t.turn, 5)), "assistant": t.assistant or ""} for t in targets]


def controls(seed: int = 42) -> list[Judge]:
    """Return the five that every table of agreement carries: constant 4, random, user mean, user median, level with
    place.
    """
    return [Constant(4), Random(seed), UserMean(), UserMedian(), NoTextControl()]


def history_baselines(rounded: Rounding = None) -> list[Judge]:
    """Return PersTurnBench's baselines without a reply; `rounded="half up"` gives the published scores."""
    return [
        PopulationStatistic("mean", rounded),
        PopulationStatistic("majority"),
        TaskStatistic("mean", rounded),
        TaskStatistic("majority"),
        UserMean(rounded),
        UserMedian(rounded),
        UserMajority(),
        UserCdfByHash(),
    ]


class Nearest(Judge):
    """Mean score of the k most similar rated turns; the verdict cites them.

    Weighted: Σ w·score / Σ w with w = max(cosine, 0) + 0.001, the "nearest-history score" of PersTurnBench's
    Table 2 (k = 6 over `EPISODES`). Plain: the nearest-turn baselines of its appendix C.2 (k = 1 and 3 over
    `ANCHORS`). The published code gives a block without history a 4; here it stays unscored.
    """

    def __init__(self, k: int = 6, weighted: bool = True, form: TextForm | None = None, rounded: Rounding = None):
        self.k, self.weighted, self.rounded = k, weighted, rounded
        form = form or (EPISODES if weighted else ANCHORS)
        self.inputs = JudgeInputs(reply=True, task=form is not ANCHORS, history=True)
        words = [f"nearest {k}" if k > 1 else "nearest", weighted and "weighted", rounded and f"rounded {rounded}"]
        self.name = ", ".join(word for word in words if word)
        self._retrieval = Retrieval(form)

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one verdict a target, citing the turns its score is the mean of."""
        return [self._verdict(anchors) for anchors in self._retrieval.anchors(block, self.k)]

    def _verdict(self, anchors: Sequence[Anchor]) -> Verdict:
        if not anchors:
            return NO_HISTORY
        weights = [max(a.similarity, 0) + 0.001 if self.weighted else 1 for a in anchors]
        mean = np.average([a.score for a in anchors], weights=weights)
        score = float(round_to_scale(mean, self.rounded))
        return Verdict(raw=score, evidence=tuple(a.id for a in anchors), mode="computed")


def nearest_baselines(rounded: Rounding = None) -> list[Judge]:
    """Return three judges by the nearest rated turns: six of them weighted, one, and three; `rounded="half even"` gives the published scores."""
    return [Nearest(6, True, rounded=rounded), Nearest(1, False, rounded=rounded), Nearest(3, False, rounded=rounded)]
