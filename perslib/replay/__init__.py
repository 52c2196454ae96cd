"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.names import ORIGINAL
from perslib.replay.published import read_replies, write_replies
from perslib.replay.published_scores import read_predictions, read_scored
from perslib.replay.published_selection import hard_set
from perslib.replay.scoring import judged_by_themselves, on_reference, reference, scored
from perslib.replay.set_profile import profiles, set_profile
from perslib.replay.sets import stratified_set

__all__ = [
    "ORIGINAL",
    "hard_set",
    "judged_by_themselves",
    "on_reference",
    "profiles",
    "read_predictions",
    "read_replies",
    "read_scored",
    "reference",
    "scored",
    "set_profile",
    "stratified_set",
    "write_replies",
]
