"""A reward model on sentence vectors: a frozen encoder of any kind, and a logistic regression on top.

Embedded()                             the workbench's own encoder, in process
Embedded("openai", model="…")          any name that `perslib.llm.embeddings.embedder` knows
Embedded(made)                         anything with a name and `embed`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import PerslibError
from perslib.llm.embeddings import Embedder, embedder
from perslib.stats import SEED
from perslib.ux.cases import Case, owners
from perslib.ux.reward_features import DENSE, LENGTHS, dense
from perslib.ux.reward_words import PENALTIES, VIEWS, WEIGHTS, Floats, Linear, explained

PARTS = ("query", "reply", "before", "together")


class Embedded:
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
        self.encoder, self.overrides = encoder, overrides
        self.length, self.penalties = length, tuple(penalties)
        self.name = f"reward on {encoder if isinstance(encoder, str) else encoder.name}"
        self._opened: Embedder | None = None
        self._model: Linear | None = None

    def fit(
        self, cases: Sequence[Case], good: npt.NDArray[np.bool_], weight: Floats, seed: int = SEED
    ) -> None:
        """Scales, penalty and weights; the encoder stays as it is."""
        raw = self._raw(cases)
        self._mean, self._spread = raw.mean(axis=0), raw.std(axis=0).clip(1e-3)
        x = self._scaled(raw)
        self._model = Linear.fit(x, good, weight, owners(cases).tolist(), penalties=self.penalties, seed=seed)

    def logits(self, cases: Sequence[Case]) -> Floats:
        """Log odds of good, one a case."""
        model = self._fitted()
        return model(self._scaled(self._raw(cases))) if len(cases) else np.zeros(0)

    def explain(self, case: Case) -> pd.DataFrame:
        """The numbers by name; of vectors, whose elements mean nothing by themselves, the sum of each part."""
        model = self._fitted()
        pushes = self._scaled(self._raw([case]))[0] * model.coef
        names = [n for n in DENSE if self.length or n not in LENGTHS]
        wide = (len(pushes) - len(names)) // len(PARTS)
        rows = [("vectors", part, pushes[i * wide : (i + 1) * wide].sum()) for i, part in enumerate(PARTS)]
        rows += [("numbers", n, v) for n, v in zip(names, pushes[len(PARTS) * wide :])]
        return explained(rows)

    def _raw(self, cases: Sequence[Case]) -> Floats:
        if self._opened is None:
            given = self.encoder
            self._opened = embedder(given, **self.overrides) if isinstance(given, str) else given
        # An empty text has no direction; a space stands for it.
        query, reply, before = (
            np.asarray(
                self._opened.embed(
                    [VIEWS[v](c) or " " for c in cases], "passage" if v == "reply" else "query"
                ),
                dtype=float,
            )
            for v in ("query", "reply", "before")
        )
        numbers = dense(cases)
        if not self.length:
            numbers = numbers[:, [n not in LENGTHS for n in DENSE]]
        return np.column_stack([query, reply, before, query * reply, numbers])

    def _scaled(self, raw: Floats) -> Floats:
        scaled: Floats = ((raw - self._mean) / self._spread).clip(-4, 4) / 10
        return scaled

    def _fitted(self) -> Linear:
        if self._model is None:
            raise PerslibError("This reward model has not learned anything yet: run its fit(cases) first.")
        return self._model

    def another(self) -> Embedded:
        """One like it that has learned nothing, with the same encoder."""
        made = Embedded(self.encoder, length=self.length, penalties=self.penalties, **self.overrides)
        made._opened = self._opened
        return made

    def settings(self) -> dict[str, Any]:
        """How it was made; an encoder that was handed over goes by its name."""
        named = self.encoder if isinstance(self.encoder, str) else self.encoder.name
        given = {"encoder": named, "length": self.length, "penalties": list(self.penalties)}
        return {"kind": self.kind, **given, **self.overrides}

    def write(self, folder: Path) -> None:
        """The weights on top of the encoder, which is not stored."""
        model = self._fitted()
        if not isinstance(self.encoder, str) or self.encoder in ("tfidf", "auto"):
            raise PerslibError(
                f"The encoder {self.settings()['encoder']!r} cannot be found again by its name, so what rests on it "
                "cannot be saved: give one by name, 'embedded' for example."
            )
        ends = np.array([model.intercept, model.c])
        np.savez_compressed(
            folder / WEIGHTS, mean=self._mean, spread=self._spread, coef=model.coef, ends=ends
        )

    @classmethod
    def read(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        """What `write` wrote."""
        own = cls(**settings)
        with np.load(folder / WEIGHTS) as stored:
            own._mean, own._spread = stored["mean"], stored["spread"]
            intercept, c = stored["ends"].tolist()
            own._model = Linear(stored["coef"], intercept, c)
        return own
