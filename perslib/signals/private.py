"""De-identification by rules, before anything else is computed or kept (UXBench, section 3).

    deidentified(session, key)   texts with `[PHONE_1]` for what is personal, the same number for the same thing
                                 throughout the session; cid as a keyed digest; times shifted, gaps kept
    audit(texts)                 how often each rule hits; never what it hit

A rule is a pattern and, where there is one, a check: the digits of an identity card or a bank card have to add up.
Names are found by what introduces them, and then everywhere in the session. What goes by one text only cannot know
that "the tall one from the third floor" is a person; give `names` a recogniser where that matters.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from perslib.corpus.uxbench_messages import Session
from perslib.signals.length import Counts, counts
from perslib.signals.private_rules import RULES, Rule

#: Figures that rules ask for as they ask for words (`Rule.needs`): how they are found, and of which character there are
#: at least so many where they are.
_SIGNS = (
    (" 0000000", re.compile(r"\d(?:[ ()-]{0,2}\d){6}"), "", 0),
    (" 0.0.0", re.compile(r"\d\.\d{1,3}\.\d"), ".", 3),
    (" 0.0000", re.compile(r"\d\.\d{4}"), ".", 2),
    (" f:f:f:f:f:", re.compile(r"(?:[0-9A-Fa-f]{1,4}:){5}"), ":", 5),
    (" 00:00:00:", re.compile(r"(?:[0-9A-Fa-f]{2}:){3}"), ":", 5),
    (" 00:00:00:", re.compile(r"(?:[0-9A-Fa-f]{2}-){3}"), "-", 5),
)
_EVERYWHERE = ("NAME", "ACCOUNT")
_YEARS_OF_SHIFT = 10 * 365 * 86_400
_LATIN_CUES = tuple(
    cue.encode()
    for cue in (
        *(" ave", " avenue", " drive", " lane", " rd.", " road", " st.", " street"),
        *("::", "birthday", "born", "boulevard", "call me", "dob", "dr. ", "key="),
        *("mr.", "mrs.", "ms.", "name is", "name's", "order", "passport", "password="),
        *("plate", "qq", "secret=", "telegram", "token=", "tracking", "wechat", "whatsapp"),
    )
)
Recogniser = Callable[[str], Iterable[str]]


class Hit(NamedTuple):
    """A piece of text that a rule takes for personal."""

    kind: str
    start: int
    end: int
    value: str


def hits(text: str, names: Recogniser | None = None) -> list[Hit]:
    """What is personal in a text, from left to right, without overlaps; of two rules the earlier wins."""
    found: list[Hit] = []
    signs = [s for s, pattern, char, least in _SIGNS if text.count(char) >= least and pattern.search(text)]
    lowered = text.lower() + "".join(signs)
    for rule in RULES:
        if not any(need in lowered for need in rule.needs):
            continue
        for match in rule.pattern.finditer(text):
            start, end = match.span(rule.group)
            if start < end and (rule.check is None or rule.check(match[rule.group])):
                found.append(Hit(rule.kind, start, end, _same(rule, match[rule.group])))
    for name in names(text) if names else ():
        found += [Hit("NAME", m.start(), m.end(), name) for m in re.finditer(re.escape(name), text)]
    kept: list[Hit] = []
    for hit in found:
        if all(hit.end <= other.start or other.end <= hit.start for other in kept):
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.start)


def _same(rule: Rule, value: str) -> str:
    """What makes two mentions one: digits without the signs between them, letters without case."""
    if rule.kind in ("PHONE", "CARD", "ID"):
        return (
            re.sub(r"[^\dX]", "", value.upper())[-11:]
            if rule.kind == "PHONE"
            else re.sub(r"\W", "", value.upper())
        )
    return value.casefold()


class Placeholders:
    """The placeholders of one session: the same thing, the same number."""

    def __init__(self, names: Recogniser | None = None):
        self.names = names
        self.numbers: dict[tuple[str, str], str] = {}
        self.known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text with placeholders."""
        parts, last = [], 0
        for hit in hits(text, self.names):
            parts += [text[last : hit.start], self._placeholder(hit, text[hit.start : hit.end])]
            last = hit.end
        return "".join([*parts, text[last:]])

    def _placeholder(self, hit: Hit, shown: str) -> str:
        key = hit.kind, hit.value
        if key not in self.numbers:
            number = sum(kind == hit.kind for kind, _ in self.numbers) + 1
            self.numbers[key] = f"[{hit.kind}_{number}]"
        if hit.kind in _EVERYWHERE and len(shown) > 1:
            self.known[shown] = self.numbers[key]
        return self.numbers[key]

    def mentions(self, text: str) -> str:
        """The text with placeholders for names and accounts that were introduced elsewhere in the session."""
        for shown, placeholder in self.known.items():
            if shown in text:
                edge = r"\b" if shown.isascii() else ""
                text = re.sub(f"{edge}{re.escape(shown)}{edge}", placeholder, text)
        return text


def suspects(texts: Sequence[str], counted: Counts | None = None) -> list[int]:
    """The texts in which a rule could hit; the others hold nothing that any rule begins with."""
    counted = counted or counts(texts)
    sign = (
        (counted.numbers > 0)
        | (counted.at > 0)
        | (counted.points > 2)
        | (counted.colons > 4)
        | (counted.cues > 0)
    )
    latin = np.flatnonzero(~sign & (counted.words > 1))
    found = [i for i in latin.tolist() if _latin(texts[i])]
    return sorted([*np.flatnonzero(sign).tolist(), *found])


def _latin(text: str) -> bool:
    """Whether one of the cues in Latin letters is in a text; what is between its Latin letters does not matter."""
    letters = text.encode("ascii", "ignore").lower()
    return any(cue in letters for cue in _LATIN_CUES)


def deidentified(
    session: Session,
    key: bytes | None = None,
    *,
    names: Recogniser | None = None,
    suspected: Iterable[int] | None = None,
) -> Session:
    """The session with placeholders; with a `key`, also its id and its times are no longer what they were.

    `suspected` are the places of messages to look at, where `suspects` has been asked already.
    """
    messages = session.messages
    if suspected is None:
        suspected = range(len(messages)) if names else suspects([m.text for m in messages])
    replaced: dict[int, str] = {}
    placeholders = Placeholders(names)
    for i in suspected:
        replaced[i] = placeholders(messages[i].text)
    if placeholders.known:
        replaced = {i: placeholders.mentions(replaced.get(i, m.text)) for i, m in enumerate(messages)}
    cid, shift = session.cid, 0.0
    if key is not None:
        digest = hmac.new(key, cid.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        cid, shift = digest.hex()[:24], float(int.from_bytes(digest[24:], "big") % _YEARS_OF_SHIFT)
    if not replaced and key is None:
        return session
    done = tuple(
        m._replace(
            text=replaced.get(i, m.text),
            t=None if m.t is None else m.t - shift,
            extra={k: v for k, v in m.extra.items() if k != "raw_message"} if m.extra else m.extra,
        )
        for i, m in enumerate(messages)
    )
    return session._replace(cid=cid, messages=done)


def audit(texts: Iterable[str]) -> Counter[str]:
    """Hits a kind over all texts; what was hit is not kept."""
    return Counter(hit.kind for text in texts for hit in hits(text))
