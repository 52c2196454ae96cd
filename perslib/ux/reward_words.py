"""The default reward model, without any download: words and numbers of request, reply and what went before.

Its head, `Linear`, is a logistic regression with the penalty chosen on users it has not seen.

Words()                  seconds for 17,000 cases on two cores
Words(length=False)      the same, blind to how long anything is
Words(views=("reply",))  an ablation: words of the reply alone, and the numbers

Tried and left out: punctuation of request and reply, how far the reply takes up words and numbers of request and
history, and cues in the user's earlier messages. Chosen on training users they moved the AUROC on held-out users of the
synthetic world by +0.005 [−0.005, 0.008] in English and by 0.000 [−0.006, 0.005] in Chinese.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold

from perslib.errors import PerslibError, UnknownName
from perslib.stats import SEED
from perslib.ux.cases import Case, owners
from perslib.ux.reward_features import DENSE, LENGTHS, Weighted, counted, dense

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


WEIGHTS = "weights.npz"


def explained(parts: Sequence[tuple[str, str, float]]) -> pd.DataFrame:
    """Contributions as `Backend.explain` gives them, the strongest first."""
    table = pd.DataFrame(parts, columns=["part", "feature", "contribution"])
    return table.sort_values("contribution", key=np.abs, ascending=False, kind="stable", ignore_index=True)


class Backend(Protocol):
    """What a reward model is made of: cases in, log odds of good out. All else is the same for every one."""

    name: str

    def fit(self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int) -> None:
        """Learn from labelled cases."""

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Log odds of good, before calibration; missing where there is none."""
        ...

    def explain(self, case: Case) -> pd.DataFrame:
        """What spoke for and against: part, feature, contribution (to the log odds), the strongest first."""
        ...

    def settings(self) -> dict[str, Any]:
        """What makes another one like it, as JSON: `kind`, and arguments."""
        ...

    def write(self, folder: Path) -> None:
        """What it has learned, into this folder."""


def _before(case: Case) -> str:
    """The user's last two messages before the request."""
    return "\n".join([m["content"] for m in case.history if m["role"] == "user"][-2:])


VIEWS: Mapping[str, Callable[[Case], str]] = {
    "query": lambda case: case.query,
    "reply": lambda case: case.reply,
    "before": _before,
}


class Words:
    """TF-IDF of query, reply and the user's messages before, each apart, with dense features; logistic regression."""

    kind = "words"

    def __init__(
        self,
        *,
        views: Sequence[str] = tuple(VIEWS),
        length: bool = True,
        features: int = 30_000,
        penalties: Sequence[float] = PENALTIES,
    ):
        for view in views:
            if view not in VIEWS:
                raise UnknownName("view of a case", view, VIEWS)
        self.views, self.length, self.features = tuple(views), length, features
        self.penalties = tuple(penalties)
        self.name = "reward" if length else "reward, blind to length"
        self._model: Linear | None = None

    def fit(
        self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int = SEED
    ) -> None:
        """Vocabulary, scales, penalty and weights, from these cases."""
        counts = {view: counted([VIEWS[view](c) for c in cases]) for view in self.views}
        self._words = {view: Weighted.learned(found, self.features) for view, found in counts.items()}
        numbers = self._dense(cases)
        self._mean, self._spread = numbers.mean(axis=0), numbers.std(axis=0).clip(0.05)
        x = self._joined([self._words[view](found) for view, found in counts.items()], numbers)
        self._model = Linear.fit(x, good, weight, owners(cases).tolist(), penalties=self.penalties, seed=seed)

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Log odds of good, one a case."""
        model = self._fitted()
        return model(self._inputs(cases)) if len(cases) else np.zeros(0)

    def explain(self, case: Case) -> pd.DataFrame:
        """Every number and every run of words that is in the case, by the size of its contribution."""
        model = self._fitted()
        row = sparse.coo_array(self._inputs([case]))
        ends = np.cumsum([len(self._words[view].buckets) for view in self.views])
        names: dict[int, tuple[str, str]] = {}
        for view, end in zip(self.views, ends.tolist()):
            start = end - len(self._words[view].buckets)
            of_view = self._words[view].named(VIEWS[view](case))
            names |= {start + i: (view, runs) for i, runs in of_view.items()}
        first = int(ends[-1]) if len(ends) else 0
        names |= {first + i: ("numbers", name) for i, name in enumerate(self._names)}
        parts = [
            (*names[j], float(v) * float(model.coef[j])) for j, v in zip(row.coords[1].tolist(), row.data)
        ]
        return explained(parts)

    @property
    def _names(self) -> list[str]:
        return [name for name in DENSE if self.length or name not in LENGTHS]

    def _dense(self, cases: Sequence[Case]) -> Floats:
        found = dense(cases)
        return found if self.length else found[:, [name not in LENGTHS for name in DENSE]]

    def _inputs(self, cases: Sequence[Case]) -> sparse.csr_array:
        words = [self._words[view](counted([VIEWS[view](c) for c in cases])) for view in self.views]
        return self._joined(words, self._dense(cases))

    def _joined(self, words: Sequence[sparse.csr_array], numbers: Floats) -> sparse.csr_array:
        # Numbers stand beside rows of length one: a third of a standard deviation is the size of a word that matters.
        scaled = sparse.csr_array(((numbers - self._mean) / self._spread).clip(-4, 4) / 3)
        joined: sparse.csr_array = sparse.hstack([*words, scaled], format="csr")
        return joined

    def _fitted(self) -> Linear:
        if self._model is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit(cases) first.")
        return self._model

    # -- kept ------------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """How it was made."""
        given = {"views": list(self.views), "length": self.length, "features": self.features}
        return {"kind": self.kind, **given, "penalties": list(self.penalties)}

    def write(self, folder: Path) -> None:
        """All weights, as arrays: no code is stored, none is run on loading."""
        model = self._fitted()
        arrays: dict[str, Any] = {"coef": model.coef, "intercept": np.array([model.intercept, model.c])}
        for view, words in self._words.items():
            arrays |= {f"{view}.buckets": words.buckets, f"{view}.idf": words.idf}
        np.savez_compressed(folder / WEIGHTS, mean=self._mean, spread=self._spread, **arrays)

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        """What `write` wrote."""
        own = cls(**settings)
        with np.load(folder / WEIGHTS) as stored:
            own._words = {v: Weighted(stored[f"{v}.buckets"], stored[f"{v}.idf"]) for v in own.views}
            own._mean, own._spread = stored["mean"], stored["spread"]
            intercept, c = stored["intercept"].tolist()
            own._model = Linear(stored["coef"], intercept, c)
        return own
