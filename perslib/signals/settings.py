"""What the rules go by; every number here is a decision, and can be another one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Thresholds of the signals (UXBench, section 3, gives their meaning and none of these numbers)."""

    rounds_back: int = 4
    """A user message is compared with those of so many rounds before it."""
    repeated: float = 0.90
    rephrased: float = 0.50
    rephrased_with_cue: float = 0.25
    skimmed: float = 0.15
    """Share of the reading time below which a reply was skimmed, strongly; weakly below `skimmed_weakly`."""
    skimmed_weakly: float = 0.30
    least_reading: float = 6.0
    """Seconds; a shorter reply is read at a glance."""
    typing_rate: float = 5.0
    """Characters a second; typing takes at most half of a gap."""
    generation_rate: float | None = None
    """Characters a second, where replies are timed when they start; None: when they are complete."""
    short: int = 40
    """Units; a longer message complains about the reply only where it says so."""
    ends: int = 120
    """Characters at either end of a longer message in which complaints are looked for."""
    complained: float = 0.5
    complained_weakly: float = 0.3
    topics_back: int = 2
    """Rounds after a negative signal within which a change of topic means that a question was abandoned."""


DEFAULT = Settings()
