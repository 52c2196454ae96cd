"""What a user message says by itself; `perslib.signals.reaction` compares it with earlier ones.

How a message closes what was talked about (giving up, acknowledging, thanking, wanting more) is read clause by clause.
It gives up only if every clause does; thanks and acknowledgements count as well where they come first and something
else is asked afterwards. Thanks after a request are mere politeness.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from perslib.signals.complaint import Complaint, complaint, complaints
from perslib.signals.fast import Patterns, loosened
from perslib.signals.model import Settings, Strength
from perslib.signals.similarity import COMPARED, Words, compared, words
from perslib.signals.wording import LANGUAGES, any_of, cues, language, simplified

CLOSES_WITHIN = 60
"""Characters of a message that are read for a closing; nobody takes longer to say that they are done."""
BRIEF = 24
"""Characters of a message that thanks at its end and does not merely ask politely."""
_KINDS = ("thanks", "praise", "dismiss", "resigned", "acknowledge", "more")
_CLAUSES = re.compile(r"[\w'’][\w \t'’]*")
_DRAWN_OUT = re.compile(r"(.)\1\1+")
_FIRST = re.compile(r"\W*([\w\s'’]*)")
_THANKING = re.compile("|".join(sign for lang in LANGUAGES for sign in cues(lang)["closing"]["thanking"]))
_LONGEST = {"zh": 16, "en": CLOSES_WITHIN}
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


class UserMessage(NamedTuple):
    """What a message says: its language, its complaint, how it closes the exchange, and what it asks."""

    lang: str
    blame: Complaint | None
    closed: Closing | None
    asks: Words
    again: bool
    """Whether it says that it says the same in other words."""


def read_message(text: str, settings: Settings) -> UserMessage:
    """Read one user message."""
    text = simplified(text)
    lang = language(compared(text))
    said = text.lower().replace("’", "'")
    every = complaints(lang)
    found = _hints(lang).found(said)
    closed = blame = None
    if len(every) in found or _DRAWN_OUT.search(said[:CLOSES_WITHIN]):
        closed = closing(text, lang)
    again = len(every) + 1 in found and _rephrasing(lang).search(text[:COMPARED].lower()) is not None
    if possible := [every[number] for number in found if number < len(every)]:
        blame = complaint(text, lang, settings, possible)
    return UserMessage(lang, blame, closed, words(text[closed.rest :] if closed else text), again)


@cache
def _hints(lang: str) -> Patterns:
    """Return patterns of what does more than ask: each cue of a complaint, closing, and saying the same again."""
    complaining = [loosened(cue.pattern.pattern) for cue in complaints(lang)]
    openings = [sign for each in {"en", lang} for kind in _KINDS for sign in _signs(each)[kind]]
    opens = rf"^[^\pL\pN_]*{loosened(any_of(openings))}\s*(?:[^\pL\pN_\s'’]|\z)"
    same = loosened(any_of(cues(lang)["again"]["rephrase"]))
    return Patterns([*complaining, f"{opens}|{_THANKING.pattern}", same])


@cache
def _rephrasing(lang: str) -> re.Pattern[str]:
    return re.compile(any_of(cues(lang)["again"]["rephrase"]))


def _signs(lang: str) -> dict[str, list[str]]:
    return {**cues(lang)["closing"], "more": cues(lang)["again"]["more"]}


def closing(text: str, lang: str) -> Closing | None:
    """Return what a message closes the exchange with, or None where it only asks."""
    cut, lowered = len(text) > CLOSES_WITHIN, text[:CLOSES_WITHIN].lower()
    start = _FIRST.match(lowered)
    first = _kind(start[1], lang) if start else None
    if first is None and (len(text) > BRIEF or not _THANKING.search(lowered)):
        return None  # most messages end here
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


@lru_cache(maxsize=1_024)
def _kind(clause: str, lang: str) -> str | None:
    """Return which list a clause is in; one in Latin letters is looked up in the English lists, wherever it stands."""
    clause = clause.rstrip()
    if lang == "zh" and clause.isascii():
        lang = "en"
    if len(clause) > _LONGEST[lang]:
        return None
    match = _closings(lang).fullmatch(clause)
    if match is None and _DRAWN_OUT.search(clause):
        match = _closings(lang).fullmatch(_DRAWN_OUT.sub(r"\1\1", clause))
    return match.lastgroup if match else None


@cache
def _closings(lang: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{any_of(_signs(lang)[kind])})" for kind in _KINDS))


# -- replies that were cut off ----------------------------------------------------------------------------


@cache
def _notice() -> tuple[re.Pattern[str], re.Pattern[str]]:
    whole = any_of(p for lang in LANGUAGES for p in cues(lang)["interrupted"]["whole"])
    tail = any_of(p for lang in LANGUAGES for p in cues(lang)["interrupted"]["tail"])
    return re.compile(rf"\W*{whole}\W*"), re.compile(rf"{tail}\s*$")


def interrupted(reply: str) -> bool:
    """Return whether a reply is empty, a notice that it was stopped or failed, or ends in one."""
    if len(reply) <= 80:
        text = reply.strip().lower()
        return not text or _notice()[0].fullmatch(text) is not None or _tailed(text)
    return _tailed(reply[-40:])


def _tailed(end: str) -> bool:
    return end.rstrip()[-1:] in _BRACKETS and _notice()[1].search(end.lower()) is not None
