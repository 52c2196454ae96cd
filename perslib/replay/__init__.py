"""Replay: what candidate models would have answered, scored by a frozen judge of each user (PersTurnBench, section 5)."""

from perslib.replay.names import ORIGINAL

__all__ = ["ORIGINAL"]
