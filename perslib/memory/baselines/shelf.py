"""What can be looked up in a store, laid out once: a store is a value, so its vectors are stacked for the first query."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from perslib.llm.embeddings import Vectors
from perslib.memory.long import Piece, Store

SHELVES = 512
"""Shelves kept at hand, the ones used last."""


@dataclass(frozen=True)
class Shelf:
    """Pieces in the order of their sessions, and a vector of length one for each."""

    pieces: Sequence[Piece]
    places: np.ndarray
    """Which session of the store each belongs to."""
    rows: Vectors

    def before(self, place: int) -> int:
        """How many pieces belong to sessions before this one."""
        return int(np.searchsorted(self.places, place))

    def nearest(self, query: Vectors, k: int, among: np.ndarray) -> list[Piece]:
        """The k pieces with the greatest cosine to the query among those at these numbers (rising); of equals the first."""
        if not len(among):
            return []
        cosine = np.round(self.rows[: among[-1] + 1] @ query, 6)[among]
        return [self.pieces[among[i]] for i in np.argsort(-cosine, kind="stable")[:k]]


class Shelves:
    """The shelves of the stores that were asked last."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[int, str], tuple[weakref.ref[Store], Shelf]] = OrderedDict()

    def of(self, store: Store, kind: str, make: Callable[[], Shelf]) -> Shelf:
        """The shelf of this kind of a store."""
        key = (id(store), kind)
        if key in self._made and self._made[key][0]() is store:
            self._made.move_to_end(key)
            return self._made[key][1]
        self._made[key] = (weakref.ref(store), make())
        while len(self._made) > SHELVES:
            self._made.popitem(last=False)
        return self._made[key][1]
