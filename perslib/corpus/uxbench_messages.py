"""What an interaction log is made of: messages and sessions.

They are named tuples rather than frozen dataclasses: equally unchangeable, and made in a third of the time, which is
what reading a log mostly consists of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})


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
