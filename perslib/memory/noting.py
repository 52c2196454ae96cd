"""A memory system as another, that notes something of every memory it builds: the memory itself, or what it took.

Where judging is spread over other processes each has a copy of its own, and what the copies note is lost with them. So
`perslib.judge.evaluate` has the notes handed over beside the verdicts, and gives them to the one that stayed at home.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import pandas as pd

from perslib.corpus import Block
from perslib.memory.base import MemorySystem

#: User, scenario, and how many judged replies the memory was built with beside the evidence.
Key = tuple[str, str, int]
N = TypeVar("N")


class Noting(MemorySystem, Generic[N]):
    """`build` is the heir's: it builds as `system` does and puts a note under the key of what it built."""

    def __init__(self, system: MemorySystem):
        self.system, self.name = system, system.name
        self.notes: dict[Key, N] = {}

    def key(self, block: Block, judged: pd.DataFrame | None) -> Key:
        """What a note stands under."""
        return block.user, block.scenario, 0 if judged is None else len(judged)

    def handed_over(self) -> dict[Key, N]:
        """The notes since they were last handed over; they are here no more."""
        return {key: self.notes.pop(key) for key in list(self.notes)}

    def __getstate__(self) -> dict[str, Any]:
        """A copy for another process starts without notes."""
        return {**self.__dict__, "notes": {}}
