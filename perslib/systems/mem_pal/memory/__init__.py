"""Memories that grow session by session, by name: each is a memory system like any other, as `LongTermSystem` makes it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from perslib.memory.registry import memory
from perslib.registry import select_options
from perslib.systems.mem_pal.memory.baselines import (
    ConditionMem,
    MemoryBank,
    RecurSum,
    SessionRetrieval,
    TurnRetrieval,
    Vanilla,
)
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.memory.long_term import LongTermMemory
from perslib.systems.mem_pal.memory.long_term_system import LongTermSystem

#: What a long-term memory can be told of what `make_memory` can.
OPTIONS = ("seed", "prompts", "embedder")


#: Long-term memories by name, those of others too: pages 05 and 09 take them by it.
LONG_TERM: dict[str, Callable[..., LongTermMemory]] = {}


def long_term(name: str) -> partial[Any]:
    """Register the `LongTermMemory` that follows under this name: `@long_term("mine")`."""
    return partial(_register, name)


def _register(name: str, kind: Callable[..., LongTermMemory]) -> Callable[..., LongTermMemory]:
    def make(language: str, **options: Any) -> LongTermSystem:
        given = {option: options[option] for option in OPTIONS if options.get(option) is not None}
        return LongTermSystem(kind(language, **select_options(kind, given)), language)

    make.looks_up = getattr(kind, "looks_up", True)  # type: ignore[attr-defined]
    memory(name)(make)
    LONG_TERM[name] = kind
    return kind


for _name, _kind in {
    "H²Memory": H2Memory,
    "vanilla (with log)": Vanilla,
    "turn-level RAG": TurnRetrieval,
    "session-level RAG": SessionRetrieval,
    "RecurSum": RecurSum,
    "ConditionMem": ConditionMem,
    "MemoryBank": MemoryBank,
}.items():
    long_term(_name)(_kind)

#: Those that come with perslib.
BUILT_IN = frozenset(LONG_TERM)
