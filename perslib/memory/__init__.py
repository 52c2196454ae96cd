"""Memories: what is kept of a user's past, and how it is found again."""

from perslib.memory.base import MemorySystem, Statement, UserMemory, profile_shown, resolved, score_counts, turns_by_id
from perslib.memory.edited import Draft, Edited, Given, read_draft, save_draft, saved_names
from perslib.memory.measured import Measured
from perslib.memory.preferences import PreferenceMemory, understand
from perslib.memory.registry import is_memory, make_memory, memory
from perslib.memory.retrieval import ANCHORS, EPISODES, Anchor, Retrieval, TextForm, chosen, rated, turn_id
from perslib.memory.structured import Scores, Structured

__all__ = [
    "ANCHORS", "EPISODES", "Anchor", "Draft", "Edited", "Given", "Measured", "MemorySystem",
    "PreferenceMemory", "Retrieval", "Scores", "Statement", "Structured", "TextForm", "UserMemory", "chosen", "is_memory",
    "make_memory", "memory", "profile_shown", "rated", "read_draft", "resolved", "save_draft", "saved_names",
    "score_counts", "turn_id", "turns_by_id", "understand",
]  # fmt: skip
