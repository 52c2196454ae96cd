"""All that user messages say by themselves; what they say of earlier ones is for `perslib.signals.reaction`.

Most messages only ask. Where many are heard at once, one glance over all of them tells which could do more; only those
are looked at closely. `tests/test_signals_properties.py` holds both ways to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from perslib.signals.closing import Closing, closing
from perslib.signals.complaint import Complaint, complaint, could_complain
from perslib.signals.glance import arrow, seen
from perslib.signals.outline import Outline, laid, outlines
from perslib.signals.settings import Settings
from perslib.signals.similarity import AT_MOST, compared, taken_apart
from perslib.signals.wording import LANGUAGES, any_of, cues, language

MANY = 64
"""Messages from which a glance over all of them costs less than it saves."""


class Heard(NamedTuple):
    """A message: its language, its complaint, how it closes the exchange, and what it asks."""

    lang: str
    blame: Complaint | None
    closed: Closing | None
    asks: str
    again: bool
    """Whether it says that it says the same in other words."""
    outline: Outline | None = None


def heard(texts: Sequence[str], settings: Settings) -> list[Heard]:
    """What every message says."""
    each = list(dict.fromkeys(texts))
    langs = [language(compared(text)) for text in each]
    if len(each) < MANY:
        found = {text: _heard(text, lang, settings) for text, lang in zip(each, langs)}
        return [found[text] for text in texts]
    told = laid(each)
    chinese = np.array([lang == "zh" for lang in langs])
    says = told.odd | could_complain(told, chinese) | seen(arrow(told.texts), _rephrases())
    found = {
        text: _heard(text, lang, settings, says, outline)
        for text, lang, says, outline in zip(each, langs, says.tolist(), outlines(told))
    }
    partly = [(text, one.asks) for text, one in found.items() if one.asks is not text]
    if partly:
        for (text, _), outline in zip(partly, outlines(laid([asks for _, asks in partly]))):
            found[text] = found[text]._replace(outline=outline)
    return [found[text] for text in texts]


def _heard(
    text: str, lang: str, settings: Settings, says: bool = True, outline: Outline | None = None
) -> Heard:
    """What one message says; it is searched for complaints and the like where it `says` more than to ask."""
    closed = closing(text, lang)
    if closed is not None and (outline is None or outline.least < 1) and not taken_apart(text).tokens:
        closed = None
    asks = text
    if closed is not None and closed.rest:
        asks, outline = text[closed.rest :], None
    if not says:
        return Heard(lang, None, closed, asks, False, outline)
    own = taken_apart(text)
    again = _in_other_words(own.lang, text)
    return Heard(own.lang, complaint(text, own, settings), closed, asks, again, outline)


def _in_other_words(lang: str, text: str) -> bool:
    return _rephrasing(lang).search(text[:AT_MOST].lower()) is not None


@cache
def _rephrasing(lang: str) -> re.Pattern[str]:
    return re.compile(any_of(cues(lang)["again"]["rephrase"]))


@cache
def _rephrases() -> str:
    """The cues of both languages as RE2 has to have them to match wherever `re` does, without apostrophes."""
    told = any_of(
        cue.replace("'?", "").replace("'", "")
        for lang in LANGUAGES
        for cue in cues(lang)["again"]["rephrase"]
    )
    return told.replace(r"\s+", "[^0-9a-z]+")
