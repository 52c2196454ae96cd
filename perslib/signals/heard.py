"""All that a user message says by itself; what it says of earlier ones is for `perslib.signals.reaction`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from perslib.signals.closing import Closing, closing
from perslib.signals.complaint import Complaint, complaint
from perslib.signals.settings import Settings
from perslib.signals.similarity import AT_MOST, Words, words
from perslib.signals.wording import any_of, cues

KEPT = 4_096
"""So many different messages are remembered: people say thanks in few ways, and ask again what they asked."""


class Heard(NamedTuple):
    """A message: its language, its complaint, how it closes the exchange, and the words of what it asks."""

    lang: str
    blame: Complaint | None
    closed: Closing | None
    asks: Words
    again: bool
    """Whether it says that it says the same in other words."""


@cache
def hearing(settings: Settings) -> Callable[[str], Heard]:
    """The function that hears a message under these settings, and remembers."""
    remembered = lru_cache(maxsize=KEPT)(lambda text: _heard(text, settings))

    def hear(text: str) -> Heard:
        return remembered(text) if len(text) <= AT_MOST else _heard(text, settings)

    return hear


def _heard(text: str, settings: Settings) -> Heard:
    own = words(text)
    blame = complaint(text, own, settings)
    closed = closing(text, own)
    asks = words(text[closed.rest :]) if closed is not None and closed.rest else own
    return Heard(own.lang, blame, closed, asks, _in_other_words(own.lang, text))


def _in_other_words(lang: str, text: str) -> bool:
    return _rephrasing(lang).search(text[:AT_MOST].lower()) is not None


@cache
def _rephrasing(lang: str) -> re.Pattern[str]:
    return re.compile(any_of(cues(lang)["again"]["rephrase"]))
