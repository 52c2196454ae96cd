"""Messages that ask for nothing: giving up, acknowledging, thanking, or wanting more of the same.

A message is taken clause by clause; it closes only where every clause does. Thanks count in the first or last clause
whatever else is said.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from perslib.signals.model import Strength
from perslib.signals.similarity import Words
from perslib.signals.wording import LANGUAGES, any_of, cues

AT_MOST = 60
"""Characters; nobody takes longer to say that they are done."""
_KINDS = ("thanks", "praise", "dismiss", "resigned", "acknowledge", "more")
_BETWEEN = re.compile(r"[^\w\s'’]+|\n+")
_DRAWN_OUT = re.compile(r"(.)\1{2,}")
_FIRST = re.compile(r"\W*([\w\s'’]*)")
_THANKING = ("谢", "thank", "thx", "ty", "cheers", "appreciat")
_LONGEST = {"zh": 16, "en": AT_MOST}
_QUOTING = re.compile('[:："“「《]')


class Closing(NamedTuple):
    """What a message without a request is: `thanks`, `dismiss`, `ack` or `more`."""

    name: str
    score: float
    strength: Strength
    rule: str
    whole: bool = True


@cache
def _clause(lang: str) -> re.Pattern[str]:
    told = {**cues(lang)["closing"], "more": cues(lang)["again"]["more"]}
    return re.compile("|".join(f"(?P<{kind}>{any_of(told[kind])})" for kind in _KINDS))


def closing(text: str, words: Words) -> Closing | None:
    """What closes the exchange, or None where something is asked."""
    return _closing(text, words.lang) if len(text) <= AT_MOST and words.tokens else None


@lru_cache(maxsize=4_096)
def _closing(text: str, lang: str) -> Closing | None:
    lowered = text.lower()
    start = _FIRST.match(lowered)
    first = _kind(start[1], lang) if start else None
    if first is None and not any(sign in lowered for sign in _THANKING):
        return None  # most messages end here
    lowered = _DRAWN_OUT.sub(r"\1\1", lowered.replace("’", "'"))
    clauses = [clause for part in _BETWEEN.split(lowered) if (clause := part.strip())]
    kinds = [_kind(clause, lang) for clause in clauses]
    whole = None not in kinds
    if "thanks" in (kinds[0], kinds[-1]) and not _QUOTING.search(text):
        return Closing("thanks", 0.8 if whole else 0.5, "weak", f"{lang}.thanks", whole)
    if len(kinds) == 1 and kinds[0] == "more":
        return Closing("more", 1.0, "weak", "more")
    if not whole or "more" in kinds:
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
    if lang != "en" and clause.isascii() and (match := _clause("en").fullmatch(clause)):
        return match.lastgroup
    if len(clause) > _LONGEST[lang]:
        return None
    match = _clause(lang).fullmatch(clause)
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
    return _tailed(reply[-40:].lower())


def _tailed(end: str) -> bool:
    return end.rstrip()[-1:] in tuple(")）]】") and _notice()[1].search(end) is not None
