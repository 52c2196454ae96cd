"""Every memory system by its name: what studies, replays and the explorer take as a parameter.

memory("H²Memory", "zh")                        long-term memories, built session by session
memory("structured", "zh", evidence="full")     options go to the memory that has them
memory("edited: prices first", "en")            memories edited by hand; users without one have structured memory
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from perslib.errors import UnknownName
from perslib.memory.base import MemorySystem
from perslib.memory.baselines import baselines
from perslib.memory.edited import Edited
from perslib.memory.h2 import H2Memory
from perslib.memory.long import LongTermMemory
from perslib.memory.measured import Measured
from perslib.memory.remembering import Remembered
from perslib.memory.structured import Scores, Structured

#: What the names of memories edited by hand begin with.
EDITED = "edited:"
#: Memories that are built at once, without a model or an embedder.
FREE = ("measured", "scores")
_LONG = ("H²Memory", "turn-level RAG", "session-level RAG", "RecurSum", "ConditionMem", "MemoryBank")

_SYSTEMS: dict[str, Callable[..., MemorySystem]] = {
    "structured": Structured,
    "measured": lambda language, **options: Measured(language),
    "structured + measured": lambda language, **options: Measured(
        language, beside=Structured(language, **options)
    ),
    "scores": lambda language, **options: Scores(),
}
MEMORIES = (*_SYSTEMS, *_LONG)
#: What `memory` can be told; a memory takes what it has a use for, long-term ones the last two.
OPTIONS = ("evidence", "budget", "profile", "max_tokens", "seed", "prompts")


def memory(name: str, language: str = "en", **options: Any) -> MemorySystem:
    """The memory system of this name, prompts in this language; `options` are among `OPTIONS`, see `Structured`."""
    for option in options:
        if option not in OPTIONS:
            raise UnknownName("option of memories", option, OPTIONS)
    if name.startswith(EDITED):
        return Edited(name.removeprefix(EDITED).strip(), otherwise=Structured(language, **options))
    if name in _SYSTEMS:
        return _SYSTEMS[name](language, **options)
    if name not in MEMORIES:
        raise UnknownName("memory system", name, MEMORIES)
    own = {option: options[option] for option in ("seed", "prompts") if options.get(option) is not None}
    return Remembered(long_term(language, **own)[name], language)


def long_term(
    language: str = "en", *, seed: int = 42, prompts: str | Path | None = None
) -> dict[str, LongTermMemory]:
    """Mem-PAL's memories by their names, H²Memory first."""
    own: dict[str, Any] = {"seed": seed, "prompts": prompts}
    known: list[LongTermMemory] = [H2Memory(language, **own), *baselines(language, **own)]
    return {system.name: system for system in known}
