"""The memories that Mem-PAL compares H²Memory with (section 4), behind the same protocol.

    memories = baselines("zh", embedder="embedded")

The paper names them and says in a line each what is shown; how the three memory methods work is taken from their own
papers, and what is inferred is said where it is done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perslib.llm import Embedder
from perslib.memory.baselines.memorybank import Bank, MemoryBank
from perslib.memory.baselines.past import Baseline, Past, SessionRetrieval, TurnRetrieval, Vanilla
from perslib.memory.baselines.written import ConditionMem, Records, RecurSum, Summaries

__all__ = [
    "Bank", "Baseline", "ConditionMem", "MemoryBank", "Past", "Records", "RecurSum",
    "SessionRetrieval", "Summaries", "TurnRetrieval", "Vanilla", "baselines",
]  # fmt: skip


def baselines(
    language: str = "en",
    *,
    embedder: Embedder | str | None = None,
    k: int = 3,
    seed: int = 42,
    prompts: str | Path | None = None,
) -> list[Baseline]:
    """All seven, in the order of Table 2."""
    looking: dict[str, Any] = {"embedder": embedder, "k": k, "seed": seed, "prompts": prompts}
    return [
        Vanilla(language, logs=False),
        Vanilla(language),
        TurnRetrieval(language, **looking),
        SessionRetrieval(language, **looking),
        RecurSum(language, **looking),
        ConditionMem(language, **looking),
        MemoryBank(language, **looking),
    ]
