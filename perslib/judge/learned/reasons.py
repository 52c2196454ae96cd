"""The reason that a user would give for a low score: this user's habit, and what this reply invites.

    log share of the reason among the user's own + WEIGHT · log odds that the reply's traits give it, over everybody's share

The user's own reasons are those of other scenarios, beside imaginary ones of everybody: as many as train users are alike
(`fit_strength`), so where nobody has habits the user's own count nothing. The odds come from multinomial logistic regression on
the traits of replies, under a strong penalty: a hundred reasons teach little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from perslib.corpus import TURN, Corpus
from perslib.judge.learned.explanation import Case
from perslib.judge.learned.mixed import Array
from perslib.stats import floats
from perslib.stats.calibrate.short_histories import STRONGEST, fit_strength

STRENGTH = 0.01
#: What a reply counts beside the habit; chosen by cross-validation over 42 people.
WEIGHT = 1.5
#: Reasons below which the most frequent one is all that can be said.
FEWEST = 20


class ReasonModel:
    """Traits of replies, and counts of the user's reasons elsewhere → a reason; taught by reasons of users for replies."""

    def __init__(self, traits: Array, reasons: Sequence[str], users: Sequence[str]):
        self.labels = np.array(sorted(set(reasons)), object)
        one = np.array(reasons, object)[:, None] == self.labels
        self._shares = one.mean(axis=0)
        self._weights, self._offsets = np.zeros((len(self.labels), traits.shape[1])), np.log(self._shares)
        self._imaginary = STRONGEST
        if len(reasons) >= FEWEST and len(set(reasons)) > 1:
            by_user = pd.DataFrame(one).groupby(np.array(users, object)).sum().to_numpy(float)
            self._imaginary = fit_strength(by_user, self._shares)
            model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(traits, list(reasons))
            both = len(model.classes_) == 2  # then the weights are those of the second alone
            self._weights = np.vstack([-model.coef_, model.coef_]) / 2 if both else model.coef_
            self._offsets = np.r_[-model.intercept_, model.intercept_] / 2 if both else model.intercept_

    def weigh(self, traits: Array, own: Array) -> tuple[Array, Array]:
        """Return what the habit and what the reply say for each reason, in log odds; `own` are counts by label, a row a reply or one for all."""
        counts = own + self._imaginary * self._shares
        fit = traits @ self._weights.T + self._offsets
        by_reply = fit - logsumexp(fit, axis=1, keepdims=True) - np.log(self._shares)
        return np.log(counts / counts.sum(axis=1, keepdims=True)), WEIGHT * by_reply

    def predict(self, traits: Array, own: Array) -> list[str]:
        """Return the most probable reason of each reply, if its score is low."""
        habit, by_reply = self.weigh(traits, own)
        return [str(reason) for reason in self.labels[(habit + by_reply).argmax(axis=1)]]


def count_reasons(turns: pd.DataFrame, labels: Iterable[str]) -> Array:
    """Return how often each reason was given for a score of 3 or less."""
    low = floats(turns["score"]) <= 3
    counts = Counter(turns["reason"].to_numpy(object)[low])
    return np.array([counts[label] for label in labels], float)


def read_reasons(case: Case, model: ReasonModel) -> tuple[Array, Array]:
    """Return what the model reads of the targets of a case: their traits, and the user's reasons elsewhere."""
    return np.hstack(case.targets.numbers), count_reasons(case.block.evidence, model.labels)[None]


def learn_reasons(train: Corpus, predicted: pd.DataFrame, traits: Array) -> ReasonModel | None:
    """Learn reasons from the low scores of train users."""
    given = predicted[TURN].merge(train.turns[[*TURN, "score", "reason"]], on=TURN, how="left")
    is_low = (given["reason"].notna() & (given["score"] <= 3)).to_numpy(bool)
    low = given[is_low]
    return None if low.empty else ReasonModel(traits[is_low], list(low["reason"]), list(low["user"]))
