r"""How long a text is to a reader.

    units(text) = n_cjk + n_words
    T(text)     = n_cjk / 8.3 + n_words / 6.7   seconds

n_cjk counts Han, Kana and Hangul characters, n_words runs of other letters and digits, after links and markup are taken
out; code counts a third. 8.3 characters and 6.7 words a second are fast silent reading (500 and 400 a minute).

Counting goes over many texts at once: they are laid end to end, each character is looked up in a table of classes, and
sums between the joints are the counts. That is what makes reading a log cheap; one text is the same with a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

CJK_A_SECOND = 8.3
WORDS_A_SECOND = 6.7
CODE_COUNTS = 1 / 3
_CJK, _WORD, _MARKUP = 1, 2, 4
_TABLE = 0x20000  # beyond are Han of the supplementary planes, or nothing that is read
_AT_ONCE = (
    32_768  # characters; more would be laid out in fresh memory from the system each time, at thrice the cost
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINKS = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}\)|https?://[!-~]+|<[a-zA-Z/][^<>]{0,300}>")


class Counts(NamedTuple):
    """Of many texts: CJK characters, words, and signs of markup."""

    cjk: np.ndarray
    words: np.ndarray
    markup: np.ndarray  # backticks, slashes, and brackets that can open a link or a tag


@cache
def _classes() -> np.ndarray:
    """Code point → bits of what it is."""
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
    """The counts of every text, taken in slices that stay small whatever the texts."""
    parts, begin, size = [], 0, 0
    for end, text in enumerate(texts, start=1):
        size += len(text)
        if size >= _AT_ONCE or end == len(texts):
            parts.append(_counted(texts[begin:end]))
            begin, size = end, 0
    if not parts:
        return Counts(*[np.zeros(0, np.uint32)] * len(Counts._fields))
    return Counts(*(np.concatenate(column) for column in zip(*parts)))


def _counted(texts: Sequence[str]) -> Counts:
    joined = "\n".join(texts) + "\n"  # the joint is of no class, so no run crosses it
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _classes().take(np.minimum(points, _TABLE))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
    starts = np.cumsum(lengths) - lengths

    word = kinds == _WORD
    word[1:] &= ~word[:-1]  # where one begins
    marks = (kinds == _CJK, word, kinds == _MARKUP)
    return Counts(*(np.add.reduceat(mark.view(np.uint8), starts, dtype=np.uint32) for mark in marks))


def reading_seconds(texts: Sequence[str], counted: Counts | None = None) -> np.ndarray:
    """T of every text."""
    counted = counted or counts(texts)
    cjk, words = counted.cjk.astype(float), counted.words.astype(float)
    for i in np.flatnonzero(counted.markup > 1).tolist():
        if "```" in texts[i] or "](" in texts[i] or "://" in texts[i] or "<" in texts[i]:
            cjk[i], words[i] = _as_read(texts[i])
    return cjk / CJK_A_SECOND + words / WORDS_A_SECOND


def _as_read(text: str) -> tuple[float, float]:
    """CJK characters and words of a text with code, links or tags."""
    code = "\n".join(_CODE.findall(text)) if "```" in text else ""
    rest = _LINKS.sub(r"\1", _CODE.sub(" ", text) if code else text)
    both = _counted([rest, code])
    return (
        float(both.cjk[0] + CODE_COUNTS * both.cjk[1]),
        float(both.words[0] + CODE_COUNTS * both.words[1]),
    )
