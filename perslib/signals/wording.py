"""Cue lists: what people say when they are pleased, displeased or done, one TOML file a language.

The files stand in `cues/`; a cue is a regular expression over lower-cased text, in which a space stands for any space.

Most texts contain nothing that a cue could match, and are done. A cue is spelled out into the literal texts that it can
match. Of each, the most telling pair of neighbouring characters (Chinese) or words (English) is a *trigger*; a text
without any trigger of a cue cannot match it.

Many texts are looked at in one pass (`seen`): what has nothing of a kind is looked at no closer. Arrow's regular
expressions are RE2's: an automaton that reads each byte once, however many alternatives a pattern has, some ten times
as fast as trying them with `re`. RE2 knows neither looking around nor Unicode in `\\w`, `\\d` and `\\s`; so a glance
asks for something looser than `re` looks for afterwards, never for something narrower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from re import _parser  # type: ignore[attr-defined]  # the tree that re itself compiles from; there is no other
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from perslib.paths import read_toml

LANGUAGES = ("zh", "en")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


def cues(lang: str) -> dict[str, Any]:
    """The cue file of a language."""
    return read_toml(__file__, f"cues/{lang}.toml")


def language(text: str) -> str:
    """zh where there is a Han character, else en."""
    return "en" if text.isascii() or not _HAN.search(text) else "zh"


def any_of(patterns: Iterable[str]) -> str:
    """A pattern that matches what one of these does."""
    return "(?:" + "|".join(p.replace(" ", r"\s+") for p in patterns) + ")"


Trigger = tuple[str, ...]
ANYTHING = "\0"
SPELLED_AT_MOST = 4_000


def spelled(pattern: str) -> set[str]:
    """The texts that a pattern matches, with `ANYTHING` for what is not literal; at most `SPELLED_AT_MOST` or an error."""
    return {re.sub("\0+", ANYTHING, text) for text in _sequence(_parser.parse(pattern))}


def _sequence(items: Any) -> list[str]:
    texts = [""]
    for operation, argument in items:
        parts = list(_one(str(operation), argument))
        texts = [text + part for text in texts for part in parts]
        if len(texts) > SPELLED_AT_MOST:
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


def arrow(texts: Sequence[str]) -> pa.Array:
    """Texts as Arrow takes them: a lone surrogate has no place in UTF-8 and becomes a question mark."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([t.encode("utf-8", "replace").decode() for t in texts], pa.string())


def seen(texts: pa.Array, pattern: str) -> np.ndarray:
    """Text by text whether a pattern of RE2 matches somewhere in it."""
    found: np.ndarray = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    return found


def either_case(pattern: str) -> str:
    """The pattern in letters of either case, as `re.IGNORECASE` has it: for that, the Turkish letters are an i too."""
    return f"(?i:{pattern.replace('i', '[iıİ]')})"
