r"""What is here only for speed; `tests/signals/test_signals_properties.py` compares each part with a plain way to the same result.

`Patterns` says in one pass over a text which of many regular expressions can match it. Most messages contain nothing
that a cue matches, and trying hundreds of cues with `re` costs more than all the rest of mining. RE2 joins the patterns
into one automaton that reads each byte once; only those that it finds are tried with `re`. RE2 has no lookarounds, and
its `\w` and `\s` are ASCII: so it is given a looser pattern than `re` (`loosened`), never a narrower one.

`counts` counts characters and words of many texts: they are joined, each character is looked up in a table of classes,
and sums between the joints are the counts.

`common_subsequence` does a whole row of the usual table at a time, in the bits of one number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import re2

_LOOKS_AROUND = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)")
_LOOSER = {r"\w": r"[\w\x{80}-\x{10ffff}]", r"\s": r"[\s\v\x1c-\x1f\x{80}-\x{10ffff}]", r"\b": "", "$": "", "^": ""}
_AT_MOST = re.compile(r"\{(\d+),\d+\}")
_STRICT = re.compile(r"\\[wsb]|(?<!\\)\$|(?<![\[\\])\^")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MEMORY = 64 << 20
"""Bytes for the automaton's states, which are made as texts need them."""


def loosened(pattern: str) -> str:
    """Return a pattern of RE2 that matches wherever that of `re` does: without lookarounds, edges, and counts that end."""
    pattern = _AT_MOST.sub(r"{\1,}", _LOOKS_AROUND.sub("", pattern))  # each step would be a state
    return _STRICT.sub(lambda found: _LOOSER[found[0]], pattern)


class Patterns:
    """Many patterns of RE2 that are looked for at once."""

    def __init__(self, patterns: Iterable[str]):
        options = re2.Options()
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found(self, text: str) -> list[int]:
        """Return the numbers of the patterns that match somewhere in a text, in order."""
        try:
            data = text.encode()
        except UnicodeEncodeError:  # a lone surrogate has no place in UTF-8
            data = _SURROGATES.sub("\ufffd", text).encode()
        found = self._set.Match(data)
        return sorted(found) if found else []


_CJK, _WORD, _MARKUP = 1, 2, 4
_TABLE = 0x20000  # beyond are Han of the supplementary planes, or nothing that is read
_AT_ONCE = 32_768
"""Characters; more need fresh memory from the system each time, at three times the cost."""


class Counts(NamedTuple):
    """Of many texts: CJK characters, words, and signs of markup."""

    cjk: np.ndarray
    words: np.ndarray
    markup: np.ndarray  # backticks, slashes, and brackets that can open a link or a tag


@cache
def _classes() -> np.ndarray:
    """Return code point → its class."""
    table = np.zeros(_TABLE + 1, np.uint8)
    for point in range(_TABLE):
        if chr(point).isalnum():
            table[point] = _WORD
    for first, last in ((0x3040, 0x312F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)):
        table[first : last + 1] = _CJK
    for first, last in ((0x1100, 0x11FF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F)):
        table[first : last + 1] = _CJK
    table[[0x3005, 0x3007, _TABLE]] = _CJK
    for chars, kind in (("'’", _WORD), ("`[</", _MARKUP)):  # an apostrophe joins: don't is one word
        table[[ord(char) for char in chars]] = kind
    table.flags.writeable = False
    return table


def counts(texts: Sequence[str]) -> Counts:
    """Count characters, words and markup of every text."""
    parts = [np.zeros((3, 0), np.uint32)]
    begin = size = 0
    for end, text in enumerate(texts, start=1):
        size += len(text)
        if size >= _AT_ONCE or end == len(texts):
            parts.append(_counts_of(texts[begin:end]))
            begin, size = end, 0
    return Counts(*np.concatenate(parts, axis=1))


def _counts_of(texts: Sequence[str]) -> np.ndarray:
    joined = "\n".join(texts) + "\n"  # the joint is of no class, so no run crosses it
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _classes().take(points, mode="clip")
    starts = np.cumsum([0, *map(len, texts[:-1])]) + np.arange(len(texts))
    word = kinds == _WORD
    word[1:] &= ~word[:-1]  # where one begins
    marks = np.stack((kinds == _CJK, word, kinds == _MARKUP)).view(np.uint8)
    found: np.ndarray = np.add.reduceat(marks, starts, axis=1, dtype=np.uint32)
    return found


def common_subsequence(x: tuple[str, ...], y: tuple[str, ...]) -> int:
    """Return the length of the longest common subsequence.

    Hyyrö's recurrence: V ← (V + (V ∧ M)) ∨ (V ∧ ¬M), M the places where x has the token; zeros of V count.
    """
    where: dict[str, int] = {}
    for i, token in enumerate(x):
        where[token] = where.get(token, 0) | (1 << i)
    everywhere = (1 << len(x)) - 1
    row = everywhere
    for token in y:
        if match := where.get(token):
            both = row & match
            row = ((row + both) | (row - both)) & everywhere
    return len(x) - row.bit_count()
