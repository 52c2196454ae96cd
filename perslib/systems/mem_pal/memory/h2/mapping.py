"""H²Memory's outlines as the official program looks up their clusters, to see what that changes.

Mem-PAL's program compares every user's history outlines with the centroids of the *last* user of the set (a loop takes
the place of the user it was called for), and reads this user's principles at the number found there. Most outlines so
recall another cluster's principle. `OfficialMapping` does the same with a memory; it is for comparison only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perslib.llm import Ask
from perslib.systems.mem_pal.memory.h2.store import H2Store
from perslib.systems.mem_pal.memory.h2.system import H2Memory
from perslib.systems.mem_pal.memory.long_term import LongTermMemory, MemoryPiece, MemorySession, Purpose, Store


class OfficialMapping(LongTermMemory):
    """A memory whose outlines of the history are found in clusters as the official program finds them.

    `last` is the last user of the set, with the sessions of the history.
    """

    store_type = H2Store

    def __init__(self, memory: H2Memory, last: tuple[str, Sequence[MemorySession]]):
        self.memory, self.last = memory, last
        self.name, self.language = f"{memory.name} (official mapping)", memory.language
        self.placed: dict[str, dict[str, int]] = {}
        """User → outline of the history → cluster."""
        self._centroids: np.ndarray | None = None

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> Store:
        """Return the memory as it is; on the side, where its outlines would be looked up."""
        if self._centroids is None:
            store = await self.memory.build(*self.last, ask)
            labels = np.array([outline.cluster for outline in store.outlines])
            points = self._points(store)
            self._centroids = np.stack([points[labels == c].mean(axis=0) for c in range(labels.max(initial=-1) + 1)])
        own: H2Store = await self.memory.build(user, sessions, ask)
        if own.outlines and len(self._centroids):
            far = np.linalg.norm(self._points(own)[:, None] - self._centroids[None], axis=2)
            self.placed[user] = {o.id: int(c) for o, c in zip(own.outlines, far.argmin(axis=1))}
        return own

    def _points(self, store: H2Store) -> np.ndarray:
        return np.asarray(self.memory.space.vectors([o.requirement for o in store.outlines]), dtype=float)

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Do as the memory does."""
        return await self.memory.add_logs(store, session, ask)

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Do as the memory does."""
        return await self.memory.add_dialogue(store, session, ask)

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Do as the memory does."""
        self.memory.prepare_queries(queries)

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return what the memory recalls where its outlines stand in those clusters."""
        own: Any = self._own(store)
        return self.memory.recall(own.with_clusters(self.placed.get(own.user, {})), session, query, purpose)

    def count_misplaced(self, store: Store) -> tuple[int, int]:
        """Return how many outlines of the history are looked up in another cluster than their own, and how many there
        are.
        """
        own: Any = self._own(store)
        placed = self.placed.get(own.user, {})
        known = [o for o in own.outlines if o.id in placed]
        return sum(placed[o.id] != o.cluster for o in known), len(known)
