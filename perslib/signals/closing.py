"""How a message closes what was talked about: giving up, acknowledging, thanking, or wanting more of the same.

A message is taken clause by clause. It gives up only where every clause does; thanks and acknowledgements count as well
where they come first and something else is asked behind. Thanks behind a request are mere politeness.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from perslib.signals import triggers
from perslib.signals.model import Strength
from perslib.signals.wording import LANGUAGES, any_of, cues

AT_MOST = 60
"""Characters of a message that are looked at; nobody takes longer to say that they are done."""
_KINDS = ("thanks", "praise", "dismiss", "resigned", "acknowledge", "more")
BRIEF = 24
"""Characters of a message that thanks at its end and does not merely ask politely."""
_CLAUSES = re.compile(r"[\w'’][\w \t'’]*")
_DRAWN_OUT = re.compile(r"(.)\1{2,}")
_FIRST = re.compile(r"\W*([\w\s'’]*)")
_THANKING = re.compile("谢|thank|thx|ty|cheers|appreciat")
_LONGEST = {"zh": 16, "en": AT_MOST}
_BEGUN = 4
_BRACKETS = frozenset(")）]】")
_QUOTING = re.compile('[:："“「《]')


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
    return frozenset(
        start for kind in _KINDS for pattern in told[kind] for start in triggers.starts(pattern, _BEGUN)
    )


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
    cut, lowered = len(text) > AT_MOST, text[:AT_MOST].lower()
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
