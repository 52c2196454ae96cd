"""Complaints: weighted cues aimed at the reply, less what only looks like one.

    score = 1 − Π (1 − w_c)     over the classes c of cues found

A cue counts in full where it is aimed at the assistant: near a word for it or its answer, or at the start of a clause.
Elsewhere in a short message it counts half. What idioms, quotations, third persons and the speaker's own mistakes
("not bad", "my boss says it is useless", "I misread it") hold is blanked out before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from perslib.signals.model import Settings
from perslib.signals.outline import Laid, hashed
from perslib.signals.similarity import Words
from perslib.signals.wording import LANGUAGES, any_of, cues, pairs

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
    by_trigger: dict[tuple[str, ...], tuple[Cue, ...]]
    blockers: re.Pattern[str]
    referents: re.Pattern[str]
    fillers: re.Pattern[str]
    ends: re.Pattern[str]


@cache
def _language(lang: str) -> _Language:
    told = cues(lang)["complain"]
    by_trigger: dict[tuple[str, ...], list[Cue]] = {}
    for kind, entry in told["classes"].items():
        for number, text in enumerate(entry["cues"]):
            text = any_of([text])
            cue = Cue(kind, number, float(entry["weight"]), re.compile(text))
            for trigger in sorted(pairs(text, lang)):
                by_trigger.setdefault(trigger, []).append(cue)
    one = (r"\b{}\b" if lang == "en" else "{}").format
    return _Language(
        {trigger: tuple(found) for trigger, found in by_trigger.items()},
        re.compile(any_of(told["blockers"])),
        re.compile(one(any_of(told["referents"]))),
        re.compile(rf"(?:\W|{one(any_of(told['fillers']))})*"),
        re.compile(f"[{''.join(cues(each)['complain']['ends'] for each in LANGUAGES)}]"),
    )


def could_complain(told: Laid, han: np.ndarray) -> np.ndarray:
    """Which texts have a trigger in them: neighbouring characters where there are Han, else neighbouring words."""
    points, tokens = told.points, told.tokens
    first, second, pairs = _characters()
    a, b = first.take(points), second.take(points)
    place = np.flatnonzero((a[:-1] > 0) & (b[1:] > 0))
    place = place[pairs[a[place], b[place + 1]]]
    row = np.searchsorted(told.starts, place, "right") - 1
    in_chinese = np.bincount(row, minlength=len(han)) > 0
    alone, both = _words()
    place = np.concatenate([_among(tokens, alone), _among(_joined(tokens[:-1], tokens[1:]), both)])
    row = np.searchsorted(told.first, place, "right") - 1
    in_english = np.bincount(row, minlength=len(han)) > 0
    found: np.ndarray = np.where(han, in_chinese, in_english)
    return found


def _among(hashes: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Where a hash is one of some; most are ruled out by its upper half."""
    upper = np.zeros(1 << 16, bool)
    upper[some >> np.uint32(16)] = True
    place = np.flatnonzero(upper.take(hashes >> np.uint32(16)))
    return place[np.isin(hashes[place], some)]


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    mixed: np.ndarray = one * np.uint32(31) + other
    return mixed


@cache
def _words() -> tuple[np.ndarray, np.ndarray]:
    """The hashes of English triggers: of those of one word, and of those of two."""
    hashes = [np.array([hashed(word) for word in sign], np.uint32) for sign in _language("en").by_trigger]
    both = np.array([sign for sign in hashes if len(sign) == 2], np.uint32)
    return np.array([sign[0] for sign in hashes if len(sign) == 1], np.uint32), _joined(
        both[:, 0], both[:, 1]
    )


@cache
def _characters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Code unit → number of a first and of a second character of Chinese triggers, and which pairs of them are one."""
    signs = _language("zh").by_trigger
    first, second = np.zeros(1 << 16, np.uint16), np.zeros(1 << 16, np.uint16)
    second[:] = 1  # any character behind one that is a trigger by itself
    for table, place, begin in ((first, 0, 1), (second, 1, 2)):
        chars = sorted({sign[place] for sign in signs if len(sign) > place})
        table[[ord(char) for char in chars]] = np.arange(begin, begin + len(chars))
    pairs = np.zeros((int(first.max()) + 1, int(second.max()) + 1), bool)
    for sign in signs:
        pairs[first[ord(sign[0])], second[ord(sign[1])] if len(sign) > 1 else slice(1, None)] = True
    return first, second, pairs


def complaint(text: str, words: Words, settings: Settings) -> Complaint | None:
    """The complaint in a message, or None."""
    tokens: Sequence[str] = text.lower() if words.lang == "zh" else words.tokens
    found = _language(words.lang).by_trigger.keys() & {*pairwise(tokens), *((token,) for token in tokens)}
    return _complaint(text, words.lang, sorted(found), settings) if found else None


def _complaint(
    text: str, lang: str, found: Sequence[tuple[str, ...]], settings: Settings
) -> Complaint | None:
    by_trigger = _language(lang).by_trigger
    candidates = dict.fromkeys(chain.from_iterable(by_trigger[trigger] for trigger in found))
    windows, long = _windows(text, lang, settings)
    best: dict[str, tuple[float, Cue, int, int]] = {}
    for begin, window in windows:
        hits = [(cue, hit) for cue in candidates for hit in cue.pattern.finditer(window)]
        if not hits:
            continue
        blank = _language(lang).blockers.sub(lambda m: " " * len(m[0]), window)
        for cue, hit in hits:
            start, end = hit.span()
            if not cue.pattern.match(blank, start):
                continue
            weight = cue.weight * _aimed(cue, blank, start, end, lang, long)
            if weight > (best[cue.kind][0] if cue.kind in best else 0.0):
                best[cue.kind] = (weight, cue, begin + start, min(begin + end, len(text)))
    if not best:
        return None
    rest = 1.0
    for weight, *_ in best.values():
        rest *= 1 - weight
    _, cue, start, end = max(best.values(), key=lambda one: one[0])
    return Complaint(1 - rest, f"{lang}.complain.{cue.kind}.{cue.number}", start, end)


def _windows(text: str, lang: str, settings: Settings) -> tuple[list[tuple[int, str]], bool]:
    """The parts of a message in which complaints are looked for, lower-cased, and whether it is a long one."""
    size = len(text) if lang == "zh" else len(text.split(None, settings.short + 1))
    long = size > settings.short
    ends = settings.ends
    if long and len(text) > 2 * ends:
        parts = [(0, text[:ends]), (len(text) - ends, text[-ends:])]
    else:
        parts = [(0, text)]
    return [(begin, part.lower().replace("’", "'")) for begin, part in parts], long


def _aimed(cue: Cue, text: str, start: int, end: int, lang: str, long: bool) -> float:
    """1 where the cue is aimed at the reply, ½ where that is likely in a short message, 0 in a long one."""
    if cue.kind in AIMED:
        return 1.0
    near = _NEAR[lang]
    language = _language(lang)
    if language.referents.search(text, max(0, start - near), min(len(text), end + near)):
        return 1.0
    clause = max((m.end() for m in language.ends.finditer(text, 0, start)), default=0)
    opens = language.fillers.fullmatch(text, clause, start) is not None
    if opens and (not long or clause < near):
        return 1.0
    return 0.0 if long else 0.5
