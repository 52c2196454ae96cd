"""Memories: what is kept of a user's past, and how it is found again."""

from perslib.memory.base import (
    MemorySystem,
    Statement,
    UserMemory,
    resolve_citations,
    score_counts,
    select_profile_fields,
    turns_by_id,
)
from perslib.memory.edited import Draft, EditedSystem, FixedSystem, read_draft, save_draft, saved_names
from perslib.memory.measured import MeasuredSystem
from perslib.memory.preferences import PreferenceMemory, parse_preference
from perslib.memory.registry import is_memory, make_memory, memory
from perslib.memory.retrieval import (
    ANCHORS,
    EPISODES,
    Anchor,
    Retrieval,
    TextForm,
    select_nearest,
    select_rated_turns,
    turn_id,
)
from perslib.memory.structured import ScoreCountSystem, Structured

__all__ = [
    "ANCHORS",
    "EPISODES",
    "Anchor",
    "Draft",
    "EditedSystem",
    "FixedSystem",
    "MeasuredSystem",
    "MemorySystem",
    "PreferenceMemory",
    "Retrieval",
    "ScoreCountSystem",
    "Statement",
    "Structured",
    "TextForm",
    "UserMemory",
    "is_memory",
    "make_memory",
    "memory",
    "parse_preference",
    "read_draft",
    "resolve_citations",
    "save_draft",
    "saved_names",
    "score_counts",
    "select_nearest",
    "select_profile_fields",
    "select_rated_turns",
    "turn_id",
    "turns_by_id",
]  # fmt: skip
