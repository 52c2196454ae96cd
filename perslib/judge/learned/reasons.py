"""The reason that a user would give for a low score: learned from the reasons of train users and this user's own.

Multinomial logistic regression on the traits of the reply and on the shares of the reasons that the user gave in other
scenarios, drawn towards everybody's. The penalty is strong: a hundred reasons teach little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from perslib.corpus import TURN, Corpus
from perslib.judge.learned.mixed import Array
from perslib.stats import floats

#: So many of everybody's reasons are added to the user's own.
IMAGINARY = 10.0
STRENGTH = 0.01
#: Reasons below which the most frequent one is all that can be said.
FEWEST = 20


class ReasonModel:
    """Traits of replies, and counts of the user's reasons elsewhere → a reason."""

    def __init__(self, traits: Array, own: Array, reasons: Sequence[str], labels: Sequence[str]):
        self.labels = np.array(labels, object)
        self._shares = np.array([np.mean(np.array(reasons, object) == label) for label in labels])
        self._known, self._weights, self._offsets = self.labels, np.empty((0, 0)), np.empty(0)
        if len(reasons) >= FEWEST and len(set(reasons)) > 1:
            inputs = np.hstack([traits, self._weigh(own)])
            model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(inputs, list(reasons))
            both = len(model.classes_) == 2  # then the weights are those of the second alone
            self._known = np.array(model.classes_, object)
            self._weights = np.vstack([-model.coef_, model.coef_]) if both else model.coef_
            self._offsets = np.r_[-model.intercept_, model.intercept_] if both else model.intercept_

    def predict(self, traits: Array, own: Array) -> list[str]:
        """Return the most probable reason of each reply, if its score is low; `own` are counts a reply, by label."""
        if not len(self._weights) or not len(traits):
            return [str(self.labels[self._shares.argmax()])] * len(traits)
        fit = np.hstack([traits, self._weigh(own)]) @ self._weights.T + self._offsets
        return [str(reason) for reason in self._known[fit.argmax(axis=1)]]

    def _weigh(self, own: Array) -> Array:
        counts = own + IMAGINARY * self._shares
        return np.log(counts / counts.sum(axis=1, keepdims=True) + 1e-3)


def count_reasons(turns: pd.DataFrame, labels: Iterable[str]) -> Array:
    """Return how often each reason was given for a score of 3 or less."""
    low = floats(turns["score"]) <= 3
    counts = Counter(turns["reason"].to_numpy(object)[low])
    return np.array([counts[label] for label in labels], float)


def learn_reasons(train: Corpus, predicted: pd.DataFrame, traits: Array) -> ReasonModel | None:
    """Learn reasons from the low scores of train users; the user's own are those of other scenarios."""
    given = predicted[TURN].merge(train.turns[[*TURN, "score", "reason"]], on=TURN, how="left")
    is_low = (given["reason"].notna() & (given["score"] <= 3)).to_numpy(bool)
    low = given[is_low]
    if low.empty:
        return None
    labels = sorted(low["reason"].unique())
    one = (low["reason"].to_numpy(object)[:, None] == np.array(labels, object)).astype(float)
    counts = pd.DataFrame(one, index=low.index)
    own = counts.groupby(low["user"]).transform("sum") - counts.groupby([low["user"], low["scenario"]]).transform("sum")
    return ReasonModel(traits[is_low], own.to_numpy(), list(low["reason"]), labels)
