"""What a log is made of, and what is found in it: messages, sessions, signals.

Messages and findings are named tuples rather than frozen dataclasses: equally unchangeable, and made in a third of the
time, which is what reading a log mostly consists of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Strength = Literal["explicit", "strong", "weak"]
NOTHING: Mapping[str, Any] = MappingProxyType({})

#: Signals in the order in which they give a reply its primary label (UXBench, section 3, with skim last among those
#: that speak against a reply: it is the least specific).
NEGATIVE = ("dislike", "complain", "repeat", "rephrase", "dismiss", "skim", "abandon")
POSITIVE = ("like", "thanks")
NEUTRAL = ("ack", "parallel_request", "system_failure", "superseded", "continue", "no_followup")
PRECEDENCE = (*NEGATIVE, *POSITIVE, *NEUTRAL)
RANK = {signal: place for place, signal in enumerate(PRECEDENCE)}
#: Negative signals that a user expressed on purpose; reading too fast is none.
EXPRESSED = frozenset(NEGATIVE) - {"skim"}


class Message(NamedTuple):
    """One utterance; `n_chars` is its length before anything was replaced in it."""

    idx: int
    role: str
    text: str
    t: float | None = None
    feedback: int = 0
    n_chars: int = 0
    extra: Mapping[str, Any] = NOTHING


class Session(NamedTuple):
    """One dialogue; `notes` names what was odd in its record and survived."""

    cid: str
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = NOTHING
    notes: tuple[str, ...] = ()


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
        return tuple(signal.name for signal in self.signals)

    def score(self, name: str) -> float:
        """The score of a signal, 0 where it was not found."""
        return max((signal.score for signal in self.signals if signal.name == name), default=0.0)
