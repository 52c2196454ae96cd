r"""What is here only for speed; `tests/systems/uxbench/test_signals_properties.py` compares each part with a plain way to the same result.

`Patterns` says in one pass over a text which of many regular expressions can match it. Most messages contain nothing
that a cue matches, and trying hundreds of cues with `re` costs more than all the rest of mining. RE2 joins the patterns
into one automaton that reads each byte once; only those that it finds are tried with `re`. RE2 has no lookarounds, and
its `\w` and `\s` are ASCII: so it is given a looser pattern than `re` (`loosen_pattern`), never a narrower one.

`counts` counts characters and words of many texts: they are joined, each character is looked up in a table of classes,
and sums between the joints are the counts. Finding them with `re` takes twenty times as long, and mining twice as long.
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


def loosen_pattern(pattern: str) -> str:
    """Return a pattern of RE2 that matches wherever that of `re` does: without lookarounds, edges, and counts that end."""
    pattern = _AT_MOST.sub(r"{\1,}", _LOOKS_AROUND.sub("", pattern))  # each step would be a state
    return _STRICT.sub(lambda match: _LOOSER[match[0]], pattern)


class Patterns:
    """Many patterns of RE2 that are looked for at once."""

    def __init__(self, patterns: Iterable[str]):
        options = re2.Options()
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def find_matches(self, text: str) -> list[int]:
        """Return the numbers of the patterns that match somewhere in a text, in order."""
        try:
            data = text.encode()
        except UnicodeEncodeError:  # a lone surrogate has no place in UTF-8
            data = _SURROGATES.sub("\ufffd", text).encode()
        matches = self._set.Match(data)
        return sorted(matches) if matches else []


_CJK_SIGNS = (
    "\u1100-\u11ff\u3005\u3007\u3040-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000"
)
_CJK, _WORD, _MARKUP = 1, 2, 3
#: Class → the characters in it; an apostrophe joins: don't is one word.
_SIGNS = {_CJK: f"[{_CJK_SIGNS}]+", _WORD: f"(?:[^\\W_{_CJK_SIGNS}]|['’])+", _MARKUP: "[`[</]"}
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
    every = "".join(map(chr, range(_TABLE + 1)))
    for kind, signs in _SIGNS.items():
        for run in re.finditer(signs, every):
            table[slice(*run.span())] = kind
    table.flags.writeable = False
    return table


def count_characters(texts: Sequence[str]) -> Counts:
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
    counts: np.ndarray = np.add.reduceat(marks, starts, axis=1, dtype=np.uint32)
    return counts
