"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.names import ORIGINAL
from perslib.replay.scoring import judged_by_themselves, on_reference, reference, scored

__all__ = [
    "ORIGINAL",
    "judged_by_themselves",
    "on_reference",
    "reference",
    "scored",
]
