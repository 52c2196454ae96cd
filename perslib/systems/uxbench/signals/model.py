"""What is found in a log (signals, and how each reply was taken), and the settings that the rules go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True)
class SignalSettings:
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
    short: int = 40
    """Units; a longer message complains about the reply only where it says so."""
    ends: int = 120
    """Characters at either end of a longer message in which complaints are looked for."""
    complained: float = 0.5
    complained_weakly: float = 0.3
    reader: Literal["rules", "embeddings"] = "rules"
    """Who reads complaints, thanks and giving up: rules alone, or where they find none also a second reader by meaning."""
    names: Literal["rules", "models"] = "rules"
    """Who finds personal names and addresses: rules alone, or also two small models (extra `names`)."""
    topics_back: int = 2
    """Rounds after a negative signal within which a change of topic means that a question was abandoned."""


DEFAULT = SignalSettings()


Strength = Literal["explicit", "strong", "weak"]

#: Signals in the order in which they give a reply its primary label (UXBench, section 3, with skim last among those
#: that speak against a reply: it is the least specific).
NEGATIVE = ("dislike", "complain", "repeat", "rephrase", "dismiss", "skim", "abandon")
POSITIVE = ("like", "thanks")
NEUTRAL = ("ack", "parallel_request", "system_failure", "superseded", "continue", "no_followup")
PRECEDENCE = (*NEGATIVE, *POSITIVE, *NEUTRAL)
RANK = {signal: place for place, signal in enumerate(PRECEDENCE)}
#: Negative signals that a user expressed on purpose; reading too fast is none.
EXPRESSED = frozenset(NEGATIVE) - {"skim"}


class Signal(NamedTuple):
    """One thing that behaviour says of a reply, and where it says so.

    `at` is the index of the message that shows it, `start`/`end` the characters of that message; `back` the index of
    the earlier user message that a repeat or rephrase goes back to.
    """

    name: str
    score: float
    strength: Strength
    rule: str
    at: int
    start: int = 0
    end: int = 0
    back: int | None = None


class Reaction(NamedTuple):
    """How one reply was taken: all its signals, and what could be measured."""

    idx: int
    next: int | None
    lang: str
    primary: str
    signals: tuple[Signal, ...]
    superseded: bool = False
    interrupted: bool = False
    conflict: bool = False
    bad_clock: bool = False
    gap: float | None = None
    reading: float = 0.0
    n_chars: int = 0
    fraction: float | None = None
    left_after_negative: bool = False
    outcome: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its signals."""
        return tuple([signal.name for signal in self.signals])

    def score(self, name: str) -> float:
        """Return the score of a signal, 0 where it was not found."""
        return max((signal.score for signal in self.signals if signal.name == name), default=0.0)
