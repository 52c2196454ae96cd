"""The memories that Mem-PAL compares H²Memory with (section 4), behind the same protocol.

    memories = baselines("zh", embedder="embedded")

The paper names them and says in a line each what is shown; how the three memory methods work is taken from their own
papers, and what is inferred is said where it is done.
"""

from __future__ import annotations

from typing import Any

from perslib.systems.mem_pal.memory.baselines.memorybank import Bank, MemoryBank
from perslib.systems.mem_pal.memory.baselines.session_store import (
    Baseline,
    SessionRetrieval,
    SessionStore,
    TurnRetrieval,
    Vanilla,
)
from perslib.systems.mem_pal.memory.baselines.summaries import ConditionMem, Records, RecurSum, Summaries

__all__ = [
    "Bank", "Baseline", "ConditionMem", "MemoryBank", "Records", "RecurSum", "SessionRetrieval", "SessionStore",
    "Summaries", "TurnRetrieval", "Vanilla", "baselines",
]  # fmt: skip


def baselines(language: str = "en", **options: Any) -> list[Baseline]:
    """Return all seven, in the order of Table 2; `options` are those of
    `perslib.systems.mem_pal.memory.long_term.PromptedMemory`.
    """
    kinds = (TurnRetrieval, SessionRetrieval, RecurSum, ConditionMem, MemoryBank)
    return [Vanilla(language, logs=False), Vanilla(language), *(kind(language, **options) for kind in kinds)]
