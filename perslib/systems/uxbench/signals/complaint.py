"""Complaints: weighted cues aimed at the reply, less what only looks like one.

    score = 1 − Π (1 − w_c)     over the classes c of cues found

A cue counts in full where it is aimed at the assistant: near a word for it or its answer, or at the start of a clause.
Elsewhere in a short message it counts half. What idioms, quotations, third persons and the speaker's own mistakes
("not bad", "my boss says it is useless", "I misread it") hold is blanked out before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from perslib.systems.uxbench.signals.model import SignalSettings
from perslib.systems.uxbench.signals.wording import LANGUAGES, any_of, cues

#: Classes whose cues name the assistant's conduct by themselves.
AIMED = frozenset({"off_topic", "not_understood", "repeating", "meta_demand"})
_NEAR = {"zh": 12, "en": 40}


class Cue(NamedTuple):
    """One pattern of one class."""

    kind: str
    number: int
    weight: float
    pattern: re.Pattern[str]


class Complaint(NamedTuple):
    """How much of a complaint a message is, by which rule, and where."""

    score: float
    rule: str
    start: int
    end: int


class _Language(NamedTuple):
    cues: tuple[Cue, ...]
    blockers: re.Pattern[str]
    referents: re.Pattern[str]
    fillers: tuple[re.Pattern[str], ...]
    """All in one, and each of them, as long as it can be and as short."""
    ends: re.Pattern[str]


@cache
def _language(lang: str) -> _Language:
    lists = cues(lang)["complain"]
    cut = r"(?<!\w){}" if lang == "en" else "{}"  # no part of a longer word
    languages = [
        Cue(kind, number, float(entry["weight"]), re.compile(cut.format(any_of([text]))))
        for kind, entry in lists["classes"].items()
        for number, text in enumerate(entry["cues"])
    ]
    one = (r"\b{}\b" if lang == "en" else "{}").format
    fillers = lists["fillers"]
    shortest = [filler.replace("?", "??").replace("(??:", "(?:") for filler in fillers if "?" in filler]
    return _Language(
        tuple(languages),
        re.compile(any_of(lists["blockers"])),
        re.compile(one(any_of(lists["referents"]))),
        tuple(map(re.compile, [rf"\W|{one(any_of(fillers))}", r"\W", *(one(any_of([f])) for f in fillers + shortest)])),
        re.compile(f"[{''.join(cues(each)['complain']['ends'] for each in LANGUAGES)}]"),
    )


def complaints(lang: str) -> tuple[Cue, ...]:
    """Return all cues of a language."""
    return _language(lang).cues


def complaint(
    text: str, lang: str, settings: SignalSettings, possible: Iterable[Cue], blocked: bool = True
) -> Complaint | None:
    """Return the complaint in a message, or None; it holds no cues but the `possible` ones, and no blocker unless
    `blocked`.
    """
    language = _language(lang)
    windows, long = _windows(text, lang, settings)
    best: dict[str, tuple[float, Cue, int, int]] = {}
    for begin, window in windows:
        hits = [(cue, hit) for cue in possible for hit in cue.pattern.finditer(window)]
        if not hits:
            continue
        blank = language.blockers.sub(lambda m: " " * len(m[0]), window) if blocked else window
        for cue, hit in hits:
            start, end = hit.span()
            if blocked and not cue.pattern.match(blank, start):
                continue
            weight = cue.weight * _weigh_aim(cue, blank, start, end, lang, long)
            if weight > (best[cue.kind][0] if cue.kind in best else 0.0):
                best[cue.kind] = (weight, cue, begin + start, min(begin + end, len(text)))
    if not best:
        return None
    rest = 1.0
    for weight, *_ in best.values():
        rest *= 1 - weight
    _, cue, start, end = max(best.values(), key=lambda one: one[0])
    return Complaint(1 - rest, f"{lang}.complain.{cue.kind}.{cue.number}", start, end)


def _windows(text: str, lang: str, settings: SignalSettings) -> tuple[list[tuple[int, str]], bool]:
    """Return the parts of a message in which complaints are looked for, lower-cased, and whether it is a long one."""
    size = len(text) if lang == "zh" else len(text.split(None, settings.short + 1))
    long = size > settings.short
    ends = settings.ends
    if long and len(text) > 2 * ends:
        parts = [(0, text[:ends]), (len(text) - ends, text[-ends:])]
    else:
        parts = [(0, text)]
    return [(begin, part.lower().replace("’", "'")) for begin, part in parts], long


def _weigh_aim(cue: Cue, text: str, start: int, end: int, lang: str, long: bool) -> float:
    """Return 1 where the cue is aimed at the reply, ½ where that is likely in a short message, 0 in a long one."""
    if cue.kind in AIMED:
        return 1.0
    near = _NEAR[lang]
    language = _language(lang)
    if language.referents.search(text, max(0, start - near), min(len(text), end + near)):
        return 1.0
    clause = max((m.end() for m in language.ends.finditer(text, 0, start)), default=0)
    opens = _only_fillers(text, clause, start, language.fillers)
    if opens and (not long or clause < near):
        return 1.0
    return 0.0 if long else 0.5


def _only_fillers(text: str, begin: int, end: int, fillers: tuple[re.Pattern[str], ...]) -> bool:
    """Return whether nothing but fillers stands there.

    Step by step, each place once: one pattern for all of it would try every way to divide it, and there are exponentially many.
    """
    reached, places = {begin}, [begin]
    while places:
        place = places.pop()
        if place == end:
            return True
        if fillers[0].match(text, place, end):
            ends = {match.end() for one in fillers[1:] if (match := one.match(text, place, end))} - reached
            reached |= ends
            places += ends
    return False
