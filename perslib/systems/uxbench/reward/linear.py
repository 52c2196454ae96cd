"""The light reward models: a logistic regression on what is read of a case, its penalty chosen on unseen users.

WordBackend()                          the default, without any download: seconds for 17,000 cases on two cores
WordBackend(length=False)              the same, blind to how long anything is
WordBackend(views=("reply",))          an ablation: words of the reply alone, and the numbers
EmbeddingBackend()                       on sentence vectors of the workbench's own encoder, in process
EmbeddingBackend("openai", model="…")    any name that `perslib.llm.embeddings.embedder` knows, or anything with a name and `embed`

Tried and left out: punctuation of request and reply, how far the reply takes up words and numbers of request and
history, and cues in the user's earlier messages. Chosen on training users they moved the AUROC on held-out users of the
synthetic world by +0.005 [−0.005, 0.008] in English and by 0.000 [−0.006, 0.005] in Chinese.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold

from perslib.errors import PerslibError, UnknownName
from perslib.llm.embeddings import Embedder, embedder
from perslib.stats import SEED
from perslib.systems.uxbench.reward.features import DENSE, LENGTHS, BucketWeights, count_buckets, dense
from perslib.systems.uxbench.tasks.cases import Case, owners

Floats = npt.NDArray[np.float64]
#: Inverse penalties to choose from, by cross-validated log loss.
PENALTIES = (0.01, 0.1, 1.0)
FOLDS = 3
CHOOSE_ON = 4_000
"""Penalties are compared on so many cases; the model is learned from all."""


class Backend(Protocol):
    """What a reward model is made of: cases in, log odds of good out. All else is the same for every one.

    A shallow copy of a backend is another one like it: `fit` puts what it learns into new attributes.
    """

    name: str

    def fit(self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int) -> None:
        """Learn from labelled cases."""

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Return the log odds of good, before calibration; missing where there is none."""
        ...

    def explain(self, case: Case) -> pd.DataFrame:
        """Return what spoke for and against: part, feature, contribution (to the log odds), the strongest first."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return what makes another one like it, as JSON: `kind`, and arguments."""
        ...

    def write(self, folder: Path) -> dict[str, Any]:
        """Return what it has learned, as arrays; what is no array goes into the folder."""
        ...


def sort_contributions(parts: Sequence[tuple[str, str, float]]) -> pd.DataFrame:
    """Return contributions as `Backend.explain` gives them, the strongest first."""
    table = pd.DataFrame(parts, columns=["part", "feature", "contribution"])
    return table.sort_values("contribution", key=np.abs, ascending=False, kind="stable", ignore_index=True)


def _model(c: float) -> LogisticRegression:
    return LogisticRegression(C=c, max_iter=300, tol=1e-3)


class LinearBackend(ABC):
    """log odds of good = x · coef + intercept, where the subclass says what x is."""

    kind: ClassVar[str]
    name: str
    coef: Floats | None = None
    intercept = 0.0
    _mean: Floats
    _spread: Floats

    def __init__(self, length: bool, penalties: Sequence[float]):
        self.length, self.penalties = length, tuple(penalties)
        self.names = [name for name in DENSE if length or name not in LENGTHS]

    @abstractmethod
    def _learn(self, cases: Sequence[Case]) -> Any:
        """Learn vocabulary and scales from these cases; return their inputs."""

    @abstractmethod
    def _inputs(self, cases: Sequence[Case]) -> Any:
        """Return one row a case."""

    @abstractmethod
    def _parts(self, case: Case, pushes: Floats) -> list[tuple[str, str, float]]:
        """Return the part, feature and contribution, given x · coef of each column."""

    def fit(self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int = SEED) -> None:
        """Fit vocabulary, scales, penalty and weights to these cases; both labels weigh alike in sum."""
        x = self._learn(cases)
        balanced = weight * np.where(good, 0.5 / weight[good].sum(), 0.5 / weight[~good].sum()) * len(good)
        c = self.penalties[0]
        if len(self.penalties) > 1:
            c = self._choose_penalty(x, good, balanced, owners(cases).astype(str), seed)
        model = _model(c).fit(x, good, sample_weight=balanced)
        self.coef, self.intercept = model.coef_[0].astype(float), float(model.intercept_[0])

    def _choose_penalty(
        self, x: Any, good: npt.NDArray[np.bool_], weight: Floats, owner: npt.NDArray[np.str_], seed: int
    ) -> float:
        """Return the inverse penalty of least loss on users held out; a user's cases stay together."""
        some = np.sort(np.random.default_rng(seed).permutation(len(good))[:CHOOSE_ON])
        x, good, weight = x[some], good[some], weight[some]
        _, group = np.unique(owner[some], return_inverse=True)
        folds = min(FOLDS, len(np.unique(group)), int(good.sum()), int((~good).sum()))
        if folds < 2:
            return float(self.penalties[0])
        losses = np.zeros(len(self.penalties))
        splits = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(good, good, group)
        for train, test in splits:
            for i, c in enumerate(self.penalties if len(np.unique(good[train])) == 2 else ()):
                model = _model(c).fit(x[train], good[train], sample_weight=weight[train])
                p = model.predict_proba(x[test])[:, 1]
                loss = log_loss(good[test], p, sample_weight=weight[test], labels=[False, True])
                losses[i] += loss * len(test)
        return float(self.penalties[int(losses.argmin())])

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Return the log odds of good, one a case."""
        coef = self._check_fitted()
        if not len(cases):
            return np.zeros(0)
        return np.asarray(self._inputs(cases) @ coef, dtype=float).ravel() + self.intercept

    def explain(self, case: Case) -> pd.DataFrame:
        """Return what is in the case, by name, by the size of its contribution."""
        row = sparse.csr_array(self._inputs([case])).toarray()[0]
        return sort_contributions(self._parts(case, row * self._check_fitted()))

    def _numbers(self, cases: Sequence[Case]) -> Floats:
        return dense(cases)[:, [DENSE.index(name) for name in self.names]]

    def _check_fitted(self) -> Floats:
        if self.coef is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit first.")
        return self.coef

    def settings(self) -> dict[str, Any]:
        """Return how it was made."""
        return {"kind": self.kind, "length": self.length, "penalties": list(self.penalties)}

    def write(self, folder: Path) -> dict[str, Any]:
        """Return all weights, as arrays."""
        return {
            "coef": self._check_fitted(), "intercept": np.array(self.intercept), "mean": self._mean, "spread": self._spread,
        }  # fmt: skip

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return what `write` gave."""
        own = cls(**settings)
        own.coef, own.intercept = arrays["coef"], float(arrays["intercept"])
        own._mean, own._spread = arrays["mean"], arrays["spread"]
        return own


def _before(case: Case) -> str:
    """Return the user's last two messages before the request."""
    return "\n".join([m["content"] for m in case.history if m["role"] == "user"][-2:])


VIEWS: Mapping[str, Callable[[Case], str]] = {
    "query": lambda case: case.query,
    "reply": lambda case: case.reply,
    "before": _before,
}


class WordBackend(LinearBackend):
    """TF-IDF of query, reply and the user's messages before, each apart, with dense features."""

    kind = "words"

    def __init__(
        self,
        *,
        views: Sequence[str] = tuple(VIEWS),
        length: bool = True,
        features: int = 30_000,
        penalties: Sequence[float] = PENALTIES,
    ):
        if unknown := [view for view in views if view not in VIEWS]:
            raise UnknownName("view of a case", unknown[0], VIEWS)
        super().__init__(length, penalties)
        self.views, self.features = tuple(views), features
        self.name = "reward" if length else "reward, blind to length"

    def _learn(self, cases: Sequence[Case]) -> Any:
        counts = self._counts(cases)
        self._words = {view: BucketWeights.fit(texts, self.features) for view, texts in counts.items()}
        numbers = self._numbers(cases)
        self._mean, self._spread = numbers.mean(axis=0), numbers.std(axis=0).clip(0.05)
        return self._join_features(counts, numbers)

    def _inputs(self, cases: Sequence[Case]) -> Any:
        return self._join_features(self._counts(cases), self._numbers(cases))

    def _counts(self, cases: Sequence[Case]) -> dict[str, Any]:
        return {view: count_buckets([VIEWS[view](case) for case in cases]) for view in self.views}

    def _join_features(self, counts: Mapping[str, Any], numbers: Floats) -> Any:
        # Numbers stand beside rows of length one: a third of a standard deviation is the size of a word that matters.
        scaled = sparse.csr_array(((numbers - self._mean) / self._spread).clip(-4, 4) / 3)
        words = [self._words[view](texts) for view, texts in counts.items()]
        return sparse.hstack([*words, scaled], format="csr")

    def _parts(self, case: Case, pushes: Floats) -> list[tuple[str, str, float]]:
        parts, start = [], 0
        for view, words in self._words.items():
            named = words.name_buckets(VIEWS[view](case))
            parts += [(view, runs, float(pushes[start + column])) for column, runs in named.items()]
            start += len(words.buckets)
        return parts + [("numbers", n, float(v)) for n, v in zip(self.names, pushes[start:]) if v]

    def settings(self) -> dict[str, Any]:
        """Return how it was made."""
        return {**super().settings(), "views": list(self.views), "features": self.features}

    def write(self, folder: Path) -> dict[str, Any]:
        """Return all weights, as arrays."""
        arrays = super().write(folder)
        for view, words in self._words.items():
            arrays |= {f"{view}.buckets": words.buckets, f"{view}.idf": words.idf}
        return arrays

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return what `write` gave."""
        own = super().read(folder, settings, arrays)
        own._words = {view: BucketWeights(arrays[f"{view}.buckets"], arrays[f"{view}.idf"]) for view in own.views}
        return own


class EmbeddingBackend(LinearBackend):
    """Vectors of query q, reply r and the user's messages before, and q · r by element, with dense features."""

    kind = "embedded"

    def __init__(
        self,
        encoder: str | Embedder = "embedded",
        *,
        length: bool = True,
        penalties: Sequence[float] = PENALTIES,
        **overrides: Any,
    ):
        super().__init__(length, penalties)
        self.encoder, self.overrides = encoder, overrides
        self.name = f"reward on {encoder if isinstance(encoder, str) else encoder.name}"
        self._opened: Embedder | None = None

    def _learn(self, cases: Sequence[Case]) -> Any:
        raw = self._raw(cases)
        self._mean, self._spread = raw.mean(axis=0), raw.std(axis=0).clip(1e-3)
        return self._scale(raw)

    def _inputs(self, cases: Sequence[Case]) -> Any:
        return self._scale(self._raw(cases))

    def _raw(self, cases: Sequence[Case]) -> Floats:
        if self._opened is None:
            given = self.encoder
            self._opened = embedder(given, **self.overrides) if isinstance(given, str) else given
        # An empty text has no direction; a space stands for it.
        texts = {view: [see(case) or " " for case in cases] for view, see in VIEWS.items()}
        query, reply, before = (
            np.asarray(self._opened.embed(of, "passage" if view == "reply" else "query"), dtype=float)
            for view, of in texts.items()
        )
        return np.column_stack([query, reply, before, query * reply, self._numbers(cases)])

    def _scale(self, raw: Floats) -> Floats:
        scaled: Floats = ((raw - self._mean) / self._spread).clip(-4, 4) / 10
        return scaled

    def _parts(self, case: Case, pushes: Floats) -> list[tuple[str, str, float]]:
        """Return the numbers by name; of vectors, whose elements mean nothing by themselves, the sum of each part."""
        vectors, numbers = np.split(pushes, [-len(self.names)])
        sums = zip((*VIEWS, "together"), np.split(vectors, len(VIEWS) + 1))
        return [
            *(("vectors", part, float(own.sum())) for part, own in sums),
            *(("numbers", name, float(push)) for name, push in zip(self.names, numbers)),
        ]

    def settings(self) -> dict[str, Any]:
        """Return how it was made; an encoder that was handed over goes by its name."""
        named = self.encoder if isinstance(self.encoder, str) else self.encoder.name
        return {**super().settings(), "encoder": named, **self.overrides}

    def write(self, folder: Path) -> dict[str, Any]:
        """Return the weights on top of the encoder, which is not stored."""
        if not isinstance(self.encoder, str) or self.encoder in ("tfidf", "auto"):
            raise PerslibError(
                f"The encoder {self.settings()['encoder']!r} cannot be found again by its name, so what rests on it "
                "cannot be saved: give one by name, 'embedded' for example."
            )
        return super().write(folder)
