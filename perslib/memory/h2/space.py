"""Texts by nearness: cosine similarity under an embedder, exact, with the earlier of equals first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perslib.llm import Embedder, embedder
from perslib.llm.embeddings import Kind, Vectors

KEPT = 50_000
"""Vectors held in memory, so that looking up a thousand queries reads each text once."""


class Space:
    """An embedder whose vectors stay at hand; by default the one that runs on this machine."""

    def __init__(self, model: Embedder | str | None = None):
        self._model = model
        self._known: dict[tuple[Kind, str], np.ndarray] = {}

    @property
    def model(self) -> Embedder:
        """The embedder, loaded when it is first needed."""
        if self._model is None or isinstance(self._model, str):
            self._model = embedder(self._model or "auto")
        return self._model

    def vectors(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """One row a text."""
        missing = [text for text in dict.fromkeys(texts) if (kind, text) not in self._known]
        if len(self._known) + len(missing) > KEPT:
            self._known.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._known |= {(kind, t): v for t, v in zip(missing, self.model.embed(missing, kind))}
        return (
            np.stack([self._known[kind, text] for text in texts]) if texts else np.zeros((0, 0), np.float32)
        )

    def nearest(self, query: str, texts: Sequence[str], k: int) -> list[int]:
        """Places of the k texts nearest to a query, the nearest first."""
        if not texts:
            return []
        return nearest(self.vectors([query], "query")[0], self.vectors(texts), k)


def nearest(query: Vectors, rows: Vectors, k: int) -> list[int]:
    """Places of the k rows with the greatest cosine to the query; of equals the first."""
    length = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosine = (rows @ query) / np.where(length > 0, length, 1)
    return [int(i) for i in np.argsort(-np.round(cosine, 6), kind="stable")[:k]]
