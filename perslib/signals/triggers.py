"""What a text must contain for a cue to match: most texts contain nothing of the kind, and are done.

A cue is spelled out into the literal texts that it can match. Of each, the most telling pair of neighbouring characters
(Chinese) or words (English) is a *trigger*; a text without any trigger of a cue cannot match it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from re import _parser  # type: ignore[attr-defined]  # the tree that re itself compiles from; there is no other
from typing import Any

from perslib.signals.wording import cues

Trigger = tuple[str, ...]
ANYTHING = "\0"
AT_MOST = 4_000


def spelled(pattern: str) -> set[str]:
    """The texts that a pattern matches, with `ANYTHING` for what is not literal; at most `AT_MOST` or an error."""
    return {re.sub("\0+", ANYTHING, text) for text in _sequence(_parser.parse(pattern))}


def _sequence(items: Any) -> list[str]:
    texts = [""]
    for operation, argument in items:
        parts = list(_one(str(operation), argument))
        texts = [text + part for text in texts for part in parts]
        if len(texts) > AT_MOST:
            raise ValueError("a cue that stands for too many texts")
    return texts


def _one(operation: str, argument: Any) -> Iterator[str]:
    if operation == "LITERAL":
        yield chr(argument)
    elif operation == "IN" and all(str(kind) == "LITERAL" for kind, _ in argument):
        yield from (chr(point) for _, point in argument)
    elif operation == "IN" and _gap(argument):
        yield " "
    elif operation == "BRANCH":
        for branch in argument[1]:
            yield from _sequence(branch)
    elif operation == "SUBPATTERN":
        yield from _sequence(argument[3])
    elif operation in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = argument
        texts = _sequence(inner)
        if least == 0:
            yield ""
        yield from texts if most == 1 or texts == [" "] else (text + ANYTHING for text in texts)
    elif operation in ("ASSERT", "ASSERT_NOT", "AT"):
        yield ""
    else:
        yield ANYTHING


def starts(pattern: str, length: int = 2) -> set[str]:
    """The first characters, up to `length`, of what a pattern matches; shorter where what follows is not literal."""
    return {start.split(ANYTHING)[0] for start in _begun(_parser.parse(pattern), length)}


def _begun(items: Any, length: int) -> set[str]:
    texts = {""}
    for operation, argument in items:
        if all(len(text) >= length or ANYTHING in text for text in texts):
            break
        parts = _begun_one(str(operation), argument, length)
        texts = {
            text if len(text) >= length or ANYTHING in text else (text + part)[:length]
            for text in texts
            for part in parts
        }
    return texts


def _begun_one(operation: str, argument: Any, length: int) -> set[str]:
    if operation == "BRANCH":
        return {text for branch in argument[1] for text in _begun(branch, length)}
    if operation == "SUBPATTERN":
        return _begun(argument[3], length)
    if operation in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = argument
        texts = _begun(inner, length)
        texts = texts if most == 1 else {text + ANYTHING for text in texts}
        return texts | {""} if least == 0 else texts
    return set(_one(operation, argument))


def _gap(kinds: Any) -> bool:
    return all(str(kind) in ("CATEGORY_SPACE", "CATEGORY_NOT_WORD") for _, kind in kinds)


@cache
def common(lang: str) -> dict[str, float]:
    """How common the characters or words are that are in every other text; the others tell more."""
    return {token: 1 / (10 + rank) for rank, token in enumerate(cues(lang)["common"])}


def pairs(pattern: str, lang: str) -> set[Trigger]:
    """Neighbouring tokens, two where there are two, of which one is in every text that the pattern matches."""
    often = common(lang)
    found: set[Trigger] = set()
    for text in spelled(pattern):
        runs = _runs(text, lang)
        both: list[Trigger] = [pair for run in runs for pair in pairwise(run)]
        both = both or [(token,) for run in runs for token in run]
        if not both:
            raise ValueError(f"nothing is certain to be in what the cue {pattern!r} matches")
        found.add(
            min(both, key=lambda pair: (sum(often.get(t, 0.0) for t in pair), -sum(map(len, pair)), pair))
        )
    return found


def _runs(text: str, lang: str) -> list[list[str]]:
    """The tokens of a spelled-out text, in runs that nothing unknown interrupts."""
    if lang == "zh":
        return [list(part) for part in text.split(ANYTHING)]
    runs: list[list[str]] = [[]]
    for piece in text.replace("-", " ").replace("'", "").split(" "):
        if ANYTHING in piece:  # a word of which only a part is known
            runs.append([])
        else:
            runs[-1] += re.findall("[a-z0-9]+", piece)
    return runs
