"""Every memory by its name: what studies, replays and the explorer take as a parameter.

    make_memory("H²Memory", "zh")                        long-term memories, built session by session
    make_memory("structured", "zh", evidence="full")     options go to the memory that has them
    make_memory("edited: prices first", "en")            edited by hand; users without one have structured memory

`@memory("name")` adds one of your own, a `MemorySystem` (docs/extend.md).
"""

from __future__ import annotations

from typing import Any

from perslib.errors import check_names
from perslib.memory.base import MemorySystem
from perslib.memory.edited import EditedSystem
from perslib.memory.measured import MeasuredSystem
from perslib.memory.structured import ScoreCountSystem, Structured
from perslib.registry import Registry

#: What the names of memories edited by hand begin with.
EDITED = "edited:"
#: Memories that are built at once, without a model or an embedder.
FREE = ("measured", "preferences", "scores")
#: What `make_memory` can be told; a memory takes what it has a use for.
OPTIONS = ("evidence", "budget", "profile", "max_tokens", "seed", "prompts", "embedder")

memory: Registry[MemorySystem] = Registry("memory", "perslib.judge.learned.preferences")
"""The memories that have a name; `@memory("name")` registers one."""


memory("structured")(Structured)
memory("measured")(MeasuredSystem)


@memory("structured + measured")
def _both(language: str, embedder: Any = None, **options: Any) -> MemorySystem:
    return MeasuredSystem(language, leading_system=Structured(language, **options))


memory("scores")(ScoreCountSystem)


def is_memory(name: str) -> bool:
    """Return whether a memory goes by this name; memories edited by hand do."""
    return name in memory or name.startswith(EDITED)


def make_memory(name: str, language: str = "en", **options: Any) -> MemorySystem:
    """Make the memory system of this name, prompts in this language; `options` are among `OPTIONS`, see `Structured`."""
    check_names("option of memories", options, OPTIONS)
    embedder = options.pop("embedder", None)
    if name.startswith(EDITED):
        return EditedSystem(name.removeprefix(EDITED).strip(), otherwise=Structured(language, **options))
    return memory.make(name, language=language, embedder=embedder, **options)
