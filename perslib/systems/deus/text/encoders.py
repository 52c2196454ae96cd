"""What was said, as vectors: (history, system turn) → features, instead of (s_t, a_t) (DEUS, section 4.2).

bow          counts of words on either side (of characters in Chinese); learns its words from training dialogues
embedded …   any embedder of `perslib.llm.embeddings`, both sides beside each other
next turn    a small network that has learned to tell the true next turn from another

For the last, the paper fine-tunes BERT over simulated dialogues; this is the same with a small network that learns
from nothing, so that no weights have to be downloaded. Words of either side become a vector by a truncated singular
value decomposition of their counts, a hidden layer sees both sides and their product, and an output says whether this is
what was said next. The hidden layer is the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from perslib.errors import PerslibError
from perslib.llm.embeddings import Embedder, embedder

Pairs = Sequence[tuple[str, str]]


class Encoder(Protocol):
    """Anything that makes one vector of what was said before and what the system then said."""

    @property
    def name(self) -> str:
        """What a card calls it."""

    def encode(self, pairs: Pairs) -> np.ndarray:
        """Return one row a pair (history, system turn)."""


class Bow:
    """How often each word occurs, in the history and in the system turn; words that occur in training."""

    name = "bow"

    def __init__(self, language: str = "en", words: int = 400):
        self.language, self.words = language, words
        self._sides: list[Any] = []

    def fit(self, pairs: Pairs) -> Self:
        """Learn the words of both sides, the most frequent ones."""
        from sklearn.feature_extraction.text import CountVectorizer

        how = {"analyzer": "char", "ngram_range": (1, 2)} if self.language == "zh" else {"token_pattern": r"\w+"}
        self._sides = [
            CountVectorizer(max_features=self.words, min_df=2, **how).fit([pair[side] for pair in pairs])
            for side in (0, 1)
        ]
        return self

    def encode(self, pairs: Pairs) -> np.ndarray:
        """Return counts, at most 3 of a word, history first."""
        if not self._sides:
            raise PerslibError("The bag of words knows no words yet: run its fit(pairs) on training dialogues.")
        counted = [side.transform([pair[i] for pair in pairs]) for i, side in enumerate(self._sides)]
        return np.minimum(sparse.hstack(counted).toarray(), 3).astype(np.float32)


class EmbeddingEncoder:
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
        """Return both vectors of each pair; equal texts are embedded once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        place = {text: i for i, text in enumerate(texts)}
        vectors = self.model.embed(texts)
        vectors = vectors * np.sqrt(vectors.shape[1])
        sides = [vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1)]
        encoded: np.ndarray = np.hstack(sides).astype(np.float32)
        return encoded


HELD_OUT = 0.1


class NextTurn:
    """Vectors of a network fitted to tell true next turns from random ones; `accuracy_` says how well it does.

    `accuracy_` is measured on held-out pairs, each beside one false turn, so guessing has 0.5.
    """

    name = "next turn"

    def __init__(self, language: str = "en", width: int = 96, epochs: int = 8, rate: float = 3e-3, seed: int = 42):
        self.language, self.width = language, width
        self.epochs, self.rate, self.seed = epochs, rate, seed

    def fit(self, pairs: Pairs) -> Self:
        """Learn words and network from true pairs; every one is set against a system turn from elsewhere."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline

        rng = np.random.default_rng(self.seed)
        pairs = [pairs[i] for i in rng.permutation(len(pairs))]
        token = r"\[sep\]|\w" if self.language == "zh" else r"\[sep\]|\w+"
        counter = CountVectorizer(token_pattern=token, min_df=2)
        self._network = MLPClassifier(
            (self.width,), activation="tanh", batch_size=128, learning_rate_init=self.rate, random_state=self.seed
        )
        with threadpool_limits(1):
            counts = counter.fit_transform([text for pair in pairs for text in pair])
            reduced = TruncatedSVD(min(self.width, counts.shape[1]), random_state=self.seed).fit(counts)
            self._words = make_pipeline(counter, reduced)
            sides, cut = self._sides(pairs), max(1, round(HELD_OUT * len(pairs)))
            for _ in range(self.epochs):  # other false turns every time
                self._network.partial_fit(*_beside_false(pairs[cut:], sides[:, cut:], rng), classes=(0, 1))
            self.accuracy_ = float(self._network.score(*_beside_false(pairs[:cut], sides[:, :cut], rng)))
        return self

    def encode(self, pairs: Pairs) -> np.ndarray:
        """Return the hidden layer for each pair, in entries between −1 and 1."""
        if not hasattr(self, "_network"):
            raise PerslibError("This encoder has not learned anything yet: run its fit(pairs) on training dialogues.")
        inputs = _both(*self._sides(pairs))
        vectors: np.ndarray = np.tanh(inputs @ self._network.coefs_[0] + self._network.intercepts_[0])
        return vectors.astype(np.float32)

    def _sides(self, pairs: Pairs) -> np.ndarray:
        return np.stack([self._words.transform([pair[side] for pair in pairs]) for side in (0, 1)])


def _both(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.hstack([before, after, before * after])


def _beside_false(pairs: Pairs, sides: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair, then each history with a system turn from elsewhere; 1 for true, 0 for false.

    A false turn that happens to be the same sentence would be a wrong label, and is left out.
    """
    other = rng.permutation(len(pairs))
    wrong = np.array([pairs[j][1] != true for (_, true), j in zip(pairs, other)])
    (before, after), false = sides, sides[1][other[wrong]]
    inputs = np.vstack([_both(before, after), _both(before[wrong], false)])
    return inputs, np.repeat([1, 0], [len(pairs), len(false)])
