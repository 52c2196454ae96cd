"""What was said, as vectors: (history, system turn) → features, instead of (s_t, a_t) (DEUS, section 4.2).

bow          counts of words on either side (of characters in Chinese); learns its words from training dialogues
embedded …   any embedder of `perslib.llm.embeddings`, both sides beside each other
next turn    a small network fine-tuned to tell the true next turn from another (`next_turn`, extra `patience`)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from perslib.errors import PerslibError
from perslib.llm.embeddings import Embedder, embedder

Pairs = Sequence[tuple[str, str]]


class Encoder(Protocol):
    """Anything that makes one vector of what was said before and what the system then said."""

    @property
    def name(self) -> str:
        """What a card calls it."""

    def encode(self, pairs: Pairs) -> np.ndarray:
        """One row a pair (history, system turn)."""


class Bow:
    """How often each word occurs, in the history and in the system turn; words that occur in training."""

    name = "bow"

    def __init__(self, language: str = "en", words: int = 400):
        self.language, self.words = language, words
        self._sides: list[Any] = []

    def fit(self, pairs: Pairs) -> Self:
        """Learn the words of both sides, the most frequent ones."""
        from sklearn.feature_extraction.text import CountVectorizer

        how = (
            {"analyzer": "char", "ngram_range": (1, 2)}
            if self.language == "zh"
            else {"token_pattern": r"\w+"}
        )
        self._sides = [
            CountVectorizer(max_features=self.words, min_df=2, **how).fit([pair[side] for pair in pairs])
            for side in (0, 1)
        ]
        return self

    def encode(self, pairs: Pairs) -> np.ndarray:
        """Counts, at most 3 of a word, history first."""
        if not self._sides:
            raise PerslibError(
                "The bag of words knows no words yet: run its fit(pairs) on training dialogues."
            )
        counted = [side.transform([pair[i] for pair in pairs]) for i, side in enumerate(self._sides)]
        return np.minimum(sparse.hstack(counted).toarray(), 3).astype(np.float32)


class Embedded:
    """Vectors of an embedder, history and system turn beside each other.

    Its vectors have length one; entries are brought to variance one, as networks like them.
    """

    def __init__(self, model: Embedder | str = "embedded"):
        self.model = embedder(model) if isinstance(model, str) else model

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self.model.name

    def encode(self, pairs: Pairs) -> np.ndarray:
        """Both vectors of each pair; equal texts are embedded once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        place = {text: i for i, text in enumerate(texts)}
        vectors = self.model.embed(texts)
        vectors = vectors * np.sqrt(vectors.shape[1])
        sides = [vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1)]
        found: np.ndarray = np.hstack(sides).astype(np.float32)
        return found
