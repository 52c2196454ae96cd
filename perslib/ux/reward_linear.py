"""A logistic regression with its penalty chosen on users it has not seen: the head of the light reward models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold

Floats = npt.NDArray[np.float64]
#: Inverse penalties to choose from, by cross-validated log loss.
PENALTIES = (0.01, 0.1, 1.0)
FOLDS = 3
CHOOSE_ON = 4_000
"""Penalties are compared on so many cases; the model is learned from all."""


@dataclass(frozen=True)
class Linear:
    """log odds of good = x · coef + intercept."""

    coef: Floats
    intercept: float
    c: float

    def __call__(self, x: Any) -> Floats:
        """Log odds, one a row."""
        return np.asarray(x @ self.coef, dtype=float).ravel() + self.intercept

    @classmethod
    def fit(
        cls,
        x: Any,
        good: npt.NDArray[np.bool_],
        weight: Floats,
        owner: Sequence[Any],
        *,
        penalties: Sequence[float] = PENALTIES,
        seed: int,
    ) -> Self:
        """Both labels weigh alike in sum; owners (users) are kept together when penalties are compared."""
        balanced = weight * np.where(good, 0.5 / weight[good].sum(), 0.5 / weight[~good].sum()) * len(good)
        _, group = np.unique(np.asarray(owner, dtype=str), return_inverse=True)
        c = _chosen(x, good, balanced, group, penalties, seed) if len(penalties) > 1 else penalties[0]
        model = _model(c).fit(x, good, sample_weight=balanced)
        return cls(model.coef_[0].astype(float), float(model.intercept_[0]), float(c))


def _model(c: float) -> LogisticRegression:
    return LogisticRegression(C=c, max_iter=300, tol=1e-3)


def _chosen(
    x: Any,
    good: npt.NDArray[np.bool_],
    weight: Floats,
    group: npt.NDArray[np.intp],
    penalties: Sequence[float],
    seed: int,
) -> float:
    some = np.sort(np.random.default_rng(seed).permutation(len(good))[:CHOOSE_ON])
    x, good, weight, group = x[some], good[some], weight[some], group[some]
    folds = min(FOLDS, len(np.unique(group)), int(good.sum()), int((~good).sum()))
    if folds < 2:
        return float(penalties[0])
    splits = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(good, good, group)
    losses = np.zeros(len(penalties))
    for train, test in splits:
        if len(np.unique(good[train])) < 2:
            continue
        for i, c in enumerate(penalties):
            p = _model(c).fit(x[train], good[train], sample_weight=weight[train]).predict_proba(x[test])[:, 1]
            losses[i] += log_loss(good[test], p, sample_weight=weight[test], labels=[False, True]) * len(test)
    return float(penalties[int(losses.argmin())])
