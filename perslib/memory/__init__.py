"""Memories: what is kept of a user's past, and how it is found again."""

from perslib.memory.retrieval import (
    ANCHORS,
    EPISODES,
    Anchor,
    Retrieval,
    TextForm,
    chosen,
    rated,
    turn_id,
)

__all__ = ["ANCHORS", "EPISODES", "Anchor", "Retrieval", "TextForm", "chosen", "rated", "turn_id"]
