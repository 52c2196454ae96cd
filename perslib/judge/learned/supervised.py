"""A light supervised judge: what train users scored, learned from the words of the reply and the user's history.

The "supervised" row of an agreement table in every install. One turn is

    TF-IDF of request and reply  +  count, mean and distribution of the user's scores in other scenarios,

learned in the cross-scenario form in which it is applied: a train user's history never holds the scenario of
the turn that is learned from. `perslib.judge.tuned.bert` learns from the same with a pretrained encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import StandardScaler

from perslib.corpus import Block, Corpus, Target
from perslib.errors import NotEnough
from perslib.judge.base import Judge, Sees, Verdict, unfitted
from perslib.judge.history import NO_HISTORY, Scores, history_scores, lessons
from perslib.llm import Ask

#: Penalties that ridge chooses from, by cross-validation over train users.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Terms that are weighed, the most frequent.
FEATURES = 20_000


def no_lessons(judge: Judge, train: Corpus) -> NotEnough:
    """What is missing where there are no `lessons`."""
    return NotEnough(
        "Judge {judge!r} learns from train users' rated replies, but {corpus} has no rated reply of a user "
        "with rated turns in another scenario, so there is nothing to learn. Add scores from 1 to 5 in "
        "several scenarios.",
        judge=judge.name,
        corpus=train.name,
    )


def summary(scores: Scores) -> list[float]:
    """A history in seven numbers: log(1 + count), mean, and the shares of the scores 1 to 5."""
    return [np.log1p(len(scores)), scores.mean(), *((scores == s).mean() for s in range(1, 6))]


def distribution(exceed: Scores) -> Scores:
    """P(1 … 5) from P(> 1 … > 4), one row a turn; a P that rises with the score is brought down first."""
    return -np.diff(np.minimum.accumulate(exceed, axis=1), axis=1, prepend=1, append=0)


class Supervised(Judge):
    """Learned from train users' replies and histories by ridge regression, its penalty by cross-validation over users."""

    name = "supervised"
    sees = Sees(reply=True, history=True, train=True)

    def __init__(self) -> None:
        self._model: RidgeCV | None = None

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Learn words, scales and weights from the train users' blocks."""
        taken = list(lessons(train))
        if not taken:
            raise no_lessons(self, train)
        texts = [_text(t) for _, targets, _ in taken for t in targets]
        numbers = [summary(history_scores(block)) for block, targets, _ in taken for _ in targets]
        users = [block.user for block, targets, _ in taken for _ in targets]
        self._words, self._scale = _words(train.language), StandardScaler().fit(numbers)
        inputs = self._inputs(self._words.fit_transform(texts), numbers)
        scores = np.concatenate([scores for *_, scores in taken])
        if (folds := min(5, len(set(users)))) > 1:
            splits = list(GroupKFold(folds).split(inputs, scores, users))
            self._model = RidgeCV(PENALTIES, cv=splits, scoring="neg_mean_squared_error")
        else:
            self._model = RidgeCV([10.0], cv=None)
        self._model.fit(inputs, scores)

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """One verdict a target; without a rated history, unscored."""
        if self._model is None:
            raise unfitted(self)
        history, texts = history_scores(block), [_text(t) for t in block]
        if not len(history):
            return [NO_HISTORY] * len(block)
        if not texts:
            return []
        found = self._model.predict(self._inputs(self._words.transform(texts), [summary(history)] * len(texts)))
        return [Verdict(raw=float(score), mode="computed") for score in np.clip(found, 1, 5)]

    def _inputs(self, words: sparse.csr_array, numbers: list[list[float]]) -> sparse.csr_array:
        scaled = sparse.csr_array(self._scale.transform(numbers))
        inputs: sparse.csr_array = sparse.hstack([words, scaled], format="csr")
        return inputs


def _text(target: Target) -> str:
    return f"{target.request or ''}\n{target.response}"


def _words(language: str) -> Any:
    """Chinese is written without blanks: letters and their pairs and triples. Otherwise words and word parts."""
    if language == "zh":
        return TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=True, max_features=FEATURES)
    words = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True, max_features=FEATURES // 2)
    parts = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, max_features=FEATURES // 2)
    return FeatureUnion([("words", words), ("parts", parts)])
