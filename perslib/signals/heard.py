"""All that user messages say by themselves; what they say of earlier ones is for `perslib.signals.reaction`.

How a message closes what was talked about (giving up, acknowledging, thanking, wanting more) is taken clause by clause.
It gives up only where every clause does; thanks and acknowledgements count as well where they come first and something
else is asked behind. Thanks behind a request are mere politeness.

Most messages only ask. Where many are heard at once, one glance over all of them tells which could do more; only those
are looked at closely. `tests/test_signals_properties.py` holds both ways to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from perslib.signals.complaint import Complaint, complaint, could_complain
from perslib.signals.model import Settings, Strength
from perslib.signals.outline import Outline, laid, outlines
from perslib.signals.similarity import AT_MOST, compared, taken_apart
from perslib.signals.wording import LANGUAGES, any_of, arrow, cues, language, seen, starts

CLOSES_WITHIN = 60
"""Characters of a message that are looked at; nobody takes longer to say that they are done."""
_KINDS = ("thanks", "praise", "dismiss", "resigned", "acknowledge", "more")
BRIEF = 24
"""Characters of a message that thanks at its end and does not merely ask politely."""
_CLAUSES = re.compile(r"[\w'’][\w \t'’]*")
_DRAWN_OUT = re.compile(r"(.)\1{2,}")
_FIRST = re.compile(r"\W*([\w\s'’]*)")
_THANKING = re.compile("|".join(sign for lang in LANGUAGES for sign in cues(lang)["closing"]["thanking"]))
_LONGEST = {"zh": 16, "en": CLOSES_WITHIN}
_BEGUN = 4
_BRACKETS = frozenset(")\uff09]\u3011")
_QUOTING = re.compile('[:\uff1a"“\u300c\u300a]')


class Closing(NamedTuple):
    """How a message closes what was talked about: `thanks`, `dismiss`, `ack` or `more`.

    Where something is asked as well, `rest` is the place at which that begins; else it is 0.
    """

    name: str
    score: float
    strength: Strength
    rule: str
    rest: int = 0


@cache
def _clause(lang: str) -> re.Pattern[str]:
    told = {**cues(lang)["closing"], "more": cues(lang)["again"]["more"]}
    return re.compile("|".join(f"(?P<{kind}>{any_of(told[kind])})" for kind in _KINDS))


@cache
def _starts(lang: str) -> frozenset[str]:
    """How a clause of the lists can begin, so that most need not be matched."""
    told = {**cues(lang)["closing"], "more": cues(lang)["again"]["more"]}
    return frozenset(start for kind in _KINDS for pattern in told[kind] for start in starts(pattern, _BEGUN))


def _can_begin(start: str, lang: str) -> bool:
    begun = _starts(lang)
    if start in begun or start[:3] in begun or start[:2] in begun or start[:1] in begun:
        return True
    return lang != "en" and start.isascii() and _can_begin(start, "en")


def closing(text: str, lang: str) -> Closing | None:
    """What a message closes the exchange with, or None where it only asks."""
    if (
        text[:1].isalnum()
        and not _can_begin(text[:_BEGUN].lower(), lang)
        and (len(text) > BRIEF or not _THANKING.search(text.lower()))
    ):
        return None  # most messages end here
    cut, lowered = len(text) > CLOSES_WITHIN, text[:CLOSES_WITHIN].lower()
    start = _FIRST.match(lowered)
    first = _kind(start[1], lang) if start else None
    if first is None and (len(text) > BRIEF or not _THANKING.search(lowered)):
        return None
    spans = [m.span() for m in _CLAUSES.finditer(lowered)]
    kinds = [_kind(lowered[begin:end], lang) for begin, end in spans]
    if cut:
        kinds[-1] = None  # nobody knows how it goes on
    opening = next((i for i, kind in enumerate(kinds) if kind is None), len(kinds))
    if opening < len(kinds):
        thankful = {"thanks", "praise"} & set(kinds[:opening])
        if kinds[-1] == "thanks" and not _QUOTING.search(text):
            return Closing("thanks", 0.5, "weak", f"{lang}.thanks", rest=spans[opening][0])
        if thankful or "acknowledge" in kinds[:opening]:
            name = "thanks" if thankful else "ack"
            return Closing(name, 0.5, "weak", f"{lang}.{name}.then", rest=spans[opening][0])
        return None
    if "thanks" in kinds:
        return Closing("thanks", 0.8, "weak", f"{lang}.thanks")
    if kinds == ["more"]:
        return Closing("more", 1.0, "weak", "more")
    if "more" in kinds:
        return None
    if "praise" in kinds:
        return Closing("thanks", 0.6, "weak", f"{lang}.praise")
    if "dismiss" in kinds:
        return Closing("dismiss", 0.9, "strong", f"{lang}.dismiss")
    if all(kind == "resigned" for kind in kinds):
        return Closing("dismiss", 0.4, "weak", f"{lang}.resigned")
    return Closing("ack", 1.0, "weak", f"{lang}.acknowledge")


def _kind(clause: str, lang: str) -> str | None:
    """Which list a clause is in; a clause in Latin letters is looked up in the English ones, wherever it stands."""
    clause = clause.rstrip()
    if lang == "zh" and clause.isascii():
        lang = "en"
    if len(clause) > _LONGEST[lang] or not _can_begin(clause[:_BEGUN], lang):
        return None
    pattern = _clause(lang)
    match = pattern.fullmatch(clause)
    if match is None and _DRAWN_OUT.search(clause):
        match = pattern.fullmatch(_DRAWN_OUT.sub(r"\1\1", clause))
    return match.lastgroup if match else None


# -- replies that were cut off ----------------------------------------------------------------------------


@cache
def _notice() -> tuple[re.Pattern[str], re.Pattern[str]]:
    whole = any_of(p for lang in LANGUAGES for p in cues(lang)["interrupted"]["whole"])
    tail = any_of(p for lang in LANGUAGES for p in cues(lang)["interrupted"]["tail"])
    return re.compile(rf"\W*{whole}\W*"), re.compile(rf"{tail}\s*$")


def interrupted(reply: str) -> bool:
    """Whether a reply is empty, a notice that it was stopped or failed, or ends in one."""
    if len(reply) <= 80:
        text = reply.strip().lower()
        return not text or _notice()[0].fullmatch(text) is not None or _tailed(text)
    return _tailed(reply[-40:])


def _tailed(end: str) -> bool:
    return end.rstrip()[-1:] in _BRACKETS and _notice()[1].search(end.lower()) is not None


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
