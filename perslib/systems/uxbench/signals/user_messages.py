"""What a user message says by itself; `perslib.systems.uxbench.signals.reaction` compares it with earlier ones.

How a message closes what was talked about (giving up, acknowledging, thanking, wanting more) is read clause by clause.
It gives up only if every clause does; thanks and acknowledgements count as well where they come first and something
else is asked afterwards. Thanks after a request are mere politeness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from perslib.systems.uxbench.signals.complaint import Complaint, complaint, complaints
from perslib.systems.uxbench.signals.model import SignalSettings, Strength
from perslib.systems.uxbench.signals.similarity import COMPARED, ComparedText, cut_middle, tokenize_request
from perslib.systems.uxbench.signals.text_patterns import Patterns, loosen_pattern
from perslib.systems.uxbench.signals.wording import LANGUAGES, any_of, cues, language, to_simplified

if TYPE_CHECKING:
    from perslib.systems.uxbench.signals.second_reader import MessageSignal

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
    asks: ComparedText
    again: bool
    """Whether it says that it says the same in other words."""
    meant: MessageSignal | None = None
    """What a second reader makes of it, where the rules find no complaint, thanks or giving up."""


def read_messages(texts: Iterable[str], settings: SignalSettings) -> dict[str, UserMessage]:
    """Read user messages, equal ones once.

    Every step is done for all of them before the next: so what it looks up stays in the processor's cache.
    """
    every = list(dict.fromkeys(texts))
    plain = [to_simplified(text) for text in every]
    langs = [language(cut_middle(text)) for text in plain]
    closed = [closing(text, lang) if _may_close(text, lang) else None for text, lang in zip(plain, langs)]
    lowered = [text.lower().replace("’", "'") for text in plain]
    matches = [_find_cues(lang).find_matches(text) for text, lang in zip(lowered, langs)]
    blames = [_blame(*one, settings) if one[-1] else None for one in zip(plain, lowered, langs, matches)]
    again = [0 in own and _says_again(text, lang) for text, lang, own in zip(plain, langs, matches)]
    asks = [tokenize_request(text[one.rest :] if one else text) for text, one in zip(plain, closed)]
    meant: list[MessageSignal | None] = [None] * len(every)
    if settings.reader == "embeddings":
        from perslib.systems.uxbench.signals.second_reader import read_again

        silent = [text for text, blame, close in zip(plain, blames, closed) if _is_silent(blame, close, settings)]
        found_again = read_again(silent)
        meant = [found_again.get(text) for text in plain]
    return dict(zip(every, map(UserMessage, langs, blames, closed, asks, again, meant)))


def _is_silent(blame: Complaint | None, closed: Closing | None, settings: SignalSettings) -> bool:
    return (blame is None or blame.score < settings.complained) and (closed is None or closed.name == "more")


def _may_close(text: str, lang: str) -> bool:
    head = text[:CLOSES_WITHIN].lower()
    return bool(_closers(lang).find_matches(head)) or _DRAWN_OUT.search(head) is not None


def _blame(text: str, lowered: str, lang: str, matches: list[int], settings: SignalSettings) -> Complaint | None:
    """Return the complaint in a message in which these of `_find_cues` were found."""
    every = complaints(lang)
    possible = [every[number - 1] for number in matches if number]
    return complaint(text, lang, settings, possible, bool(_blockers(lang).find_matches(lowered))) if possible else None


def _says_again(text: str, lang: str) -> bool:
    return _rephrasing(lang).search(text[:COMPARED].lower()) is not None


# Patterns that are looked for together share one automaton, whose states combine what each of them waits for and are made
# when a text first needs them. All of these in one took 8.9 µs for a message that was never seen; apart they take 3.


@cache
def _closers(lang: str) -> Patterns:
    """Return a pattern of what opens a message that closes, or thanks somewhere in it."""
    openings = [sign for each in {"en", lang} for kind in _KINDS for sign in _signs(each)[kind]]
    opens = rf"^[^\pL\pN_]*{loosen_pattern(any_of(openings))}\s*(?:[^\pL\pN_\s'’]|\z)"
    return Patterns([f"{opens}|{_THANKING.pattern}"])


@cache
def _find_cues(lang: str) -> Patterns:
    """Return patterns of saying the same again, and of each cue of a complaint."""
    same = any_of(cues(lang)["again"]["rephrase"])
    return Patterns(map(loosen_pattern, [same, *(cue.pattern.pattern for cue in complaints(lang))]))


@cache
def _blockers(lang: str) -> Patterns:
    """Return a pattern of what only looks like a complaint."""
    return Patterns([loosen_pattern(any_of(cues(lang)["complain"]["blockers"]))])


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


def is_interrupted(reply: str) -> bool:
    """Return whether a reply is empty, a notice that it was stopped or failed, or ends in one."""
    if len(reply) <= 80:
        text = reply.strip().lower()
        return not text or _notice()[0].fullmatch(text) is not None or _has_tail(text)
    return _has_tail(reply[-40:])


def _has_tail(end: str) -> bool:
    return end.rstrip()[-1:] in _BRACKETS and _notice()[1].search(end.lower()) is not None
