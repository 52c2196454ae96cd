"""What was said, as vectors: (history, system turn) → features, instead of (s_t, a_t) (DEUS, section 4.2).

bow          counts of words on either side (of characters in Chinese); learns its words from training dialogues
embedded …   any embedder of `perslib.llm.embeddings`, both sides beside each other
next turn    a small network that has learned to tell the true next turn from another (extra `patience`)

For the last, the paper fine-tunes BERT over simulated dialogues; this is the same with a small network that learns
from nothing, so that no weights have to be had. Words of either side are added up as vectors, a hidden layer looks
at both sides and their product, and an output says whether this is what was said next. The hidden layer is the vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from perslib.errors import PerslibError
from perslib.llm.embeddings import Embedder, embedder
from perslib.patience.networks import seeded

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


HELD_OUT = 0.1


def words_of(text: str, language: str) -> list[str]:
    """Words and `[SEP]`; in Chinese, characters."""
    found: list[str] = re.findall(
        r"\[SEP\]|\w" if language == "zh" else r"\[SEP\]|\w+", text.lower().replace("[sep]", "[SEP]")
    )
    return found


class NextTurn:
    """Vectors of a network fitted to tell true next turns from random ones; `accuracy_` says how well it does.

    `accuracy_` is measured on held-out pairs, each beside one false turn, so guessing has 0.5.
    """

    name = "next turn"

    def __init__(
        self,
        language: str = "en",
        width: int = 96,
        epochs: int = 4,
        longest: int = 96,
        rate: float = 3e-3,
        seed: int = 42,
    ):
        self.language, self.width, self.epochs = language, width, epochs
        self.longest, self.rate, self.seed = longest, rate, seed

    def fit(self, pairs: Pairs) -> Self:
        """Learn words and network from true pairs; every one is set against a system turn from elsewhere."""
        counts = Counter(w for pair in pairs for side in pair for w in words_of(side, self.language))
        kept = [word for word, n in counts.most_common() if n > 1]
        self._place = {word: i for i, word in enumerate(kept, start=2)}  # 0 is padding, 1 an unknown word
        rng = np.random.default_rng(self.seed)
        shuffled = [pairs[i] for i in rng.permutation(len(pairs))]
        cut = max(1, round(HELD_OUT * len(pairs)))
        with seeded(self.seed) as torch:
            nn = torch.nn
            self._words: Any = nn.Embedding(len(self._place) + 2, self.width, padding_idx=0)
            self._hidden: Any = nn.Sequential(nn.Linear(3 * self.width, self.width), nn.Tanh())
            self._output: Any = nn.Linear(self.width, 1)
            self._train(torch, shuffled[cut:], rng)
            asked, true = _beside_false(shuffled[:cut], rng)
            with torch.no_grad():
                said = self._output(self._vectors(torch, asked))[:, 0].numpy() > 0
        self.accuracy_ = float((said == (true > 0)).mean())
        return self

    def encode(self, pairs: Pairs) -> np.ndarray:
        """The hidden layer for each pair, in entries between −1 and 1."""
        if not hasattr(self, "_hidden"):
            raise PerslibError(
                "This encoder has not learned anything yet: run its fit(pairs) on training dialogues."
            )
        with seeded(self.seed) as torch, torch.no_grad():
            found: np.ndarray = self._vectors(torch, pairs).numpy()
        return found

    def _train(self, torch: ModuleType, pairs: Pairs, rng: np.random.Generator) -> None:
        parts = torch.nn.ModuleList([self._words, self._hidden, self._output])
        adam = torch.optim.Adam(parts.parameters(), lr=self.rate)
        for _ in range(self.epochs):
            asked, true = _beside_false(pairs, rng)  # other false turns every time
            for some in np.array_split(rng.permutation(len(asked)), -(-len(asked) // 128)):
                logits = self._output(self._vectors(torch, [asked[i] for i in some]))[:, 0]
                wanted = torch.from_numpy(true[some])
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)
                adam.zero_grad()
                loss.backward()
                adam.step()

    def _vectors(self, torch: ModuleType, pairs: Pairs) -> Any:
        before, after = (self._side(torch, [pair[side] for pair in pairs]) for side in (0, 1))
        return self._hidden(torch.cat([before, after, before * after], dim=1))

    def _side(self, torch: ModuleType, texts: Sequence[str]) -> Any:
        """Words added up; the last ones of a long text, and padding is nothing."""
        rows = np.zeros((len(texts), self.longest), dtype=np.int64)
        for row, text in zip(rows, texts):
            found = [self._place.get(w, 1) for w in words_of(text, self.language)][-self.longest :]
            row[: len(found)] = found
        return (
            self._words(torch.from_numpy(rows[:, : max(1, int((rows > 0).sum(axis=1).max()))])).sum(dim=1) / 4
        )


def _beside_false(pairs: Pairs, rng: np.random.Generator) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Each pair, then each history with a system turn from elsewhere; 1 for true, 0 for false.

    A false turn that happens to be the same sentence would be a wrong label, and is left out.
    """
    other = rng.permutation(len(pairs))
    false = [(h, pairs[j][1]) for (h, true), j in zip(pairs, other) if pairs[j][1] != true]
    return [*pairs, *false], np.repeat([1.0, 0.0], [len(pairs), len(false)]).astype(np.float32)
