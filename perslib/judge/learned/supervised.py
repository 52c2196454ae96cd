"""A light supervised judge: what train users scored, learned from the words of the reply and the user's history.

The "supervised" row of an agreement table in every install. One turn is

    TF-IDF of the characters of request and reply  +  count, mean and distribution of the user's scores in other scenarios,

learned in the cross-scenario form in which it is applied: a train user's history never holds the scenario of
the turn that is learned from. `perslib.judge.tuned.bert` learns from the same with a pretrained encoder.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn.model_selection import GroupKFold

from perslib.corpus import Block, Corpus, Target
from perslib.errors import NotEnough
from perslib.judge.base import Judge, JudgeInputs, Verdict, make_unfitted_error
from perslib.judge.baselines import NO_HISTORY, Scores, history_scores, list_training_blocks
from perslib.judge.taught import Kept, sample_teachers
from perslib.llm import Ask
from perslib.memory.ngrams import count_ngrams, multiply_rows, weigh_ngrams
from perslib.memory.retrieval import weigh_rows

#: Penalties that ridge chooses from, by cross-validation over train users.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Turns of train users that teach it: the work grows with their square.
LESSONS = 2_000
#: Lengths of the n-grams that are weighed: letters, pairs and triples in Chinese, parts of words elsewhere.
SIZES = {"zh": (1, 2, 3), "en": (3, 5)}


def no_lessons(judge: Judge, train: Corpus) -> NotEnough:
    """Return what is missing where there are no `lessons`."""
    return NotEnough(
        "Judge {judge!r} learns from train users' rated replies, but {corpus} has no rated reply of a user "
        "with rated turns in another scenario, so there is nothing to learn. Add scores from 1 to 5 in "
        "several scenarios.",
        judge=judge.name,
        corpus=train.name,
    )


def summarize_history(scores: Scores) -> list[float]:
    """Return a history in seven numbers: log(1 + count), mean, and the shares of the scores 1 to 5."""
    return [np.log1p(len(scores)), scores.mean(), *((scores == s).mean() for s in range(1, 6))]


def distribution(exceed: Scores) -> Scores:
    """Return P(1 … 5) from P(> 1 … > 4), one row a turn; a P that rises with the score is brought down first."""
    return -np.diff(np.minimum.accumulate(exceed, axis=1), axis=1, prepend=1, append=0)


class Supervised(Judge):
    """Learned from train users' replies and histories by ridge regression, its penalty by cross-validation over users."""

    name = "supervised"
    inputs = JudgeInputs(reply=True, history=True, train=True)

    def __init__(self) -> None:
        self._weights: Scores | None = None

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn characters, scales and weights from the train users' blocks."""
        stored = Kept(self, train)
        if stored.recall():
            return
        taken = list(list_training_blocks(sample_teachers(train, LESSONS)))
        if not taken:
            raise no_lessons(self, train)
        texts = [_text(t) for _, targets, _ in taken for t in targets]
        numbers = [summarize_history(history_scores(block)) for block, targets, _ in taken for _ in targets]
        users = [block.user for block, targets, _ in taken for _ in targets]
        self._sizes = SIZES.get(train.language, SIZES["en"])
        self._mean, spread = np.mean(numbers, axis=0), np.std(numbers, axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        counts = [count_ngrams(texts, size) for size in self._sizes]
        self._idf = [weigh_ngrams(own) for own in counts]
        inputs, scores = self._inputs(counts, numbers), np.concatenate([scores for *_, scores in taken])
        shared = multiply_rows(inputs)
        share = _learn(shared, scores, _choose_penalty(shared, scores, users))
        self._weights = inputs.T @ share
        self._usual = float(scores.mean() - inputs.mean(axis=0) @ self._weights)
        stored.store()

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return one verdict a target; without a rated history, unscored."""
        if self._weights is None:
            raise make_unfitted_error(self)
        history, texts = history_scores(block), [_text(t) for t in block]
        if not len(history):
            return [NO_HISTORY] * len(block)
        if not texts:
            return []
        counts = [count_ngrams(texts, size) for size in self._sizes]
        scores = self._inputs(counts, [summarize_history(history)] * len(texts)) @ self._weights + self._usual
        return [Verdict(raw=float(score), mode="computed") for score in np.clip(scores, 1, 5)]

    def _inputs(self, counts: Sequence[sparse.csr_array], numbers: list[list[float]]) -> sparse.csr_array:
        rows = [weigh_rows(own, idf, sublinear=True) for own, idf in zip(counts, self._idf)]
        scaled = sparse.csr_array((np.array(numbers) - self._mean) / self._spread)
        inputs: sparse.csr_array = sparse.hstack([*rows, scaled], format="csr")
        return inputs


def _learn(shared: Scores, scores: Scores, penalty: float) -> Scores:
    """Return each lesson's share in the weights of ridge regression with an intercept; `shared` are products of
    lessons.
    """
    means = shared.mean(axis=0)
    centred = shared - means - means[:, None] + means.mean() + penalty * np.eye(len(shared))
    share = cho_solve(cho_factor(centred, lower=True, overwrite_a=True), scores - scores.mean())
    return np.asarray(share - share.mean())


def _choose_penalty(shared: Scores, scores: Scores, users: Sequence[str]) -> float:
    """Return the penalty with the least squared error for users that it did not learn from; the third for a single
    user.
    """
    if (folds := min(5, len(set(users)))) < 2:
        return PENALTIES[2]
    errors = np.zeros(len(PENALTIES))
    for known, unseen in GroupKFold(folds).split(shared, scores, users):
        own = shared[np.ix_(known, known)]
        other = shared[np.ix_(unseen, known)] - own.mean(axis=0)
        for place, penalty in enumerate(PENALTIES):
            predicted = scores[known].mean() + other @ _learn(own, scores[known], penalty)
            errors[place] += np.mean((predicted - scores[unseen]) ** 2)
    return PENALTIES[int(errors.argmin())]


def _text(target: Target) -> str:
    return f"{target.request or ''}\n{target.response}"
