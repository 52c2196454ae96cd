"""Replies unlike all that people rated: what a judge learned from ratings says nothing of these.

    unlike = Rated(corpus).name_differences(replies["response"])    # "" or in what each is unlike: "words, length"

A reply is unlike where a number of it lies outside the range of all but a few of the rated replies: its length, its share of
letters and digits, how varied its words are, and how many of its words, and of its pairs of neighbouring words, occur in a
rated reply. Of a rated reply, a word must occur in a reply to another user, so that all are counted alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from perslib.corpus import Corpus
from perslib.memory.features import tokens
from perslib.stats.resamples import Floats

FEATURES = ("length", "letters", "variety", "words", "word pairs")
#: Share of rated replies that may lie outside the range at either end.
TAIL = 0.001
_READ = 200  # words that variety is counted over
_SEVERAL = object()


class Rated:
    """The replies that users rated, or all recorded ones where nobody rated any."""

    def __init__(self, corpus: Corpus) -> None:
        turns = corpus.turns
        rated = turns[turns["score"].notna()] if turns["score"].notna().any() else turns
        read = [tokens(text) for text in rated["response"]]
        #: The user to whom a word or pair was written, or that there are several.
        self._known: dict[object, object] = {}
        for user, parts in zip(rated["user"], read):
            for part in {*parts, *pairwise(parts)}:
                self._known[part] = user if self._known.get(part, user) == user else _SEVERAL
        measured = np.array([self._measure(*row) for row in zip(rated["response"], read, rated["user"])])
        self.low, self.high = np.quantile(measured, [TAIL, 1 - TAIL], axis=0, method="nearest")

    def name_differences(self, replies: Iterable[str | None]) -> list[str]:
        """Return for each reply in what it is unlike the rated ones, or "" where it is like them, or is none."""
        named = []
        for text in replies:
            if not isinstance(text, str):
                named.append("")
                continue
            values = self._measure(text, tokens(text), None)
            outside = (values < self.low) | (values > self.high)
            named.append(", ".join(name for name, is_outside in zip(FEATURES, outside) if is_outside))
        return named

    def _measure(self, text: str, parts: list[str], user: object) -> Floats:
        """The features of a reply; of a rated one, what only this user was told is not known."""
        pairs, written = list(pairwise(parts)), "".join(text.split())
        known = [
            np.mean([self._known.get(part, user) != user for part in own]) if own else 0.0 for own in (parts, pairs)
        ]
        letters = sum(map(str.isalnum, written)) / max(len(written), 1)
        variety = len(set(parts[:_READ])) / max(len(parts[:_READ]), 1)
        return np.array([np.log1p(len(parts)), letters, variety, *known])
