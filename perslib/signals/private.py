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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from perslib.corpus.uxbench_messages import Session
from perslib.signals.glance import arrow, seen
from perslib.signals.private_rules import RULES, Rule

_ANYTHING = "|".join(f"(?:{needs})" for needs in dict.fromkeys(rule.needs for rule in RULES))
_EVERYWHERE = ("NAME", "ACCOUNT")
_YEARS_OF_SHIFT = 10 * 365 * 86_400
Recogniser = Callable[[str], Iterable[str]]


class Hit(NamedTuple):
    """A piece of text that a rule takes for personal."""

    kind: str
    start: int
    end: int
    value: str


def hits(text: str, names: Recogniser | None = None, rules: Iterable[Rule] = RULES) -> list[Hit]:
    """What is personal in a text, from left to right, without overlaps; of two rules the earlier wins.

    `rules` are those that could hit, where `suspects` has been asked already.
    """
    found: list[Hit] = []
    for rule in rules:
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

    def __call__(self, text: str, rules: Iterable[Rule] = RULES) -> str:
        """The text with placeholders."""
        parts, last = [], 0
        for hit in hits(text, self.names, rules):
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


def suspects(texts: Sequence[str]) -> dict[int, list[Rule]]:
    """The places of texts in which a rule could hit, with those rules in their order; the others hold nothing of the kind."""
    told = arrow(texts)
    places = np.flatnonzero(seen(told, _ANYTHING))
    found: dict[int, list[Rule]] = {}
    if len(places):
        some = told.take(pa.array(places))
        needed = {needs: seen(some, needs) for needs in dict.fromkeys(rule.needs for rule in RULES)}
        for row, place in enumerate(places.tolist()):
            found[place] = [rule for rule in RULES if needed[rule.needs][row]]
    return found


def deidentified(
    session: Session,
    key: bytes | None = None,
    *,
    names: Recogniser | None = None,
    suspected: Mapping[int, Iterable[Rule]] | None = None,
) -> Session:
    """The session with placeholders; with a `key`, also its id and its times are no longer what they were.

    `suspected` are the places of messages to look at, and by which rules, where `suspects` has been asked already.
    """
    messages = session.messages
    if suspected is None:
        suspected = suspects([m.text for m in messages])
    replaced: dict[int, str] = {}
    placeholders = Placeholders(names)
    for i in range(len(messages)) if names else suspected:
        replaced[i] = placeholders(messages[i].text, suspected.get(i, ()))
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
    told = list(texts)
    return Counter(hit.kind for i, rules in suspects(told).items() for hit in hits(told[i], rules=rules))
