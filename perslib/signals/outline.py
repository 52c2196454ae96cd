"""Outlines of many texts, by which most pairs are told to be unlike without being taken apart.

Each token of a text (`perslib.signals.similarity`) sets one of 256 bits, by a hash. Of two texts with the bits A and B,
in which a and b tokens found their bit set already, no more than m = |A ∧ B| + min(a, b) tokens are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from perslib.signals.similarity import AT_MOST, most, polite, words

BITS = 256
_JOINT = "\0"
_OTHER, _WORD, _HAN, _ODD = 0, 1, 2, 3


class Outline(NamedTuple):
    """Bits of a text's tokens, how many tokens it has at least, and how many of them found their bit set."""

    bits: int
    least: int
    again: int


class Laid(NamedTuple):
    """Texts laid end to end, as they are compared."""

    points: np.ndarray  # code units
    starts: np.ndarray  # where texts begin
    odd: np.ndarray  # which texts are long, or have letters that change before they are compared
    first: np.ndarray  # the number of each text's first token, and how many tokens there are
    tokens: np.ndarray  # a hash of each token
    texts: list[str]


def laid(texts: Sequence[str]) -> Laid:
    """Some texts, at least one, lower-cased and without apostrophes."""
    joined = _JOINT.join(texts)
    if joined.count(_JOINT) >= len(texts):
        joined = _JOINT.join(text.replace(_JOINT, " ") for text in texts)
    joined = f"{joined}{_JOINT}".lower().replace("'", "").replace("’", "")
    points = np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), np.uint16)
    kinds = _kinds().take(points)
    ends = np.flatnonzero(points == ord(_JOINT))
    starts = np.append(0, ends[:-1] + 1)
    odd = np.logical_or.reduceat(kinds == _ODD, starts)
    odd |= np.fromiter(map(len, texts), np.int64, len(texts)) > AT_MOST
    begins = kinds == _WORD
    begins[1:] &= kinds[:-1] != _WORD
    at = np.flatnonzero(begins | (kinds == _HAN))
    first = np.searchsorted(at, np.append(starts, len(points)))
    return Laid(points, starts, odd, first, _hashes(points, kinds, at), joined.split(_JOINT)[:-1])


def hashed(token: str) -> int:
    """The hash of one token."""
    points = np.frombuffer(token.encode("utf-16-le"), np.uint16)
    return int(_hashes(points, _kinds().take(points), np.array([0]))[0])


def outlines(told: Laid) -> list[Outline | None]:
    """An outline of every text, None for an odd one."""
    many = np.diff(told.first)
    bits = told.tokens >> np.uint32(24)
    marks = np.zeros((len(many), BITS), bool)
    marks[np.repeat(np.arange(len(many)), many), bits] = True
    packed = np.packbits(marks, axis=1)
    again = many - np.bitwise_count(packed.view(np.uint64)).sum(axis=1)
    least = many - _left_out(bits, told.first)
    openings, _ = polite()
    raw, size = packed.tobytes(), BITS // 8
    return [
        None
        if odd
        else Outline(
            int.from_bytes(raw[i * size : (i + 1) * size]),
            max(n - _opening(next(p for p in openings if text.startswith(p))), 0)
            if text.startswith(openings)
            else n,
            twice,
        )
        for i, (text, odd, n, twice) in enumerate(
            zip(told.texts, told.odd.tolist(), least.tolist(), again.tolist())
        )
    ]


@cache
def limits(least: float) -> list[int]:
    """Number n of tokens of two texts → how many they can share and be less alike than `least`; -1 where none."""
    m = np.full(2 * AT_MOST + 1, -1)
    for n in range(2, len(m)):
        m[n] = max(m[n - 1] - 1, -1)
        while 2 * (m[n] + 1) < n and most(m[n] + 1, n) < least:
            m[n] += 1
    found: list[int] = m.tolist()
    return found


def _hashes(points: np.ndarray, kinds: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A sum over the characters of each token, mixed; `at` is where tokens begin."""
    if not len(at):
        return np.zeros(0, np.uint32)
    value = np.where((kinds == _WORD) | (kinds == _HAN), _values().take(points), np.uint32(0))
    return np.add.reduceat(value, at, dtype=np.uint32) * np.uint32(2_654_435_761)


def _left_out(bits: np.ndarray, first: np.ndarray) -> np.ndarray:
    """How many tokens at the end of each text may be left out because they only close a question."""
    closes = np.append(_closing()[bits], False)
    many = np.concatenate([[0], np.cumsum(closes[:-1])])
    last = closes[first[1:] - 1] & (first[1:] > first[:-1])
    return np.where(last, many[first[1:]] - many[first[:-1]], 0)


@cache
def _kinds() -> np.ndarray:
    """Code unit → part of a word, a Han character, a sign between them, or what outlines do not go into."""
    table = np.full(1 << 16, _ODD, np.uint8)
    table[: ord("\x7f")] = _OTHER
    signs = (0xA0, *range(0x2010, 0x2028), *range(0x3000, 0x3003), *range(0x3008, 0x301C))
    full_width = (*range(0xFF01, 0xFF10), *range(0xFF1A, 0xFF21))
    table[[*signs, *full_width]] = _OTHER
    for point in (*range(ord("0"), ord("9") + 1), *range(ord("a"), ord("z") + 1)):
        table[point] = _WORD
    for point in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000)):
        if chr(point).isalnum():
            table[point] = _HAN
    return table


@cache
def _values() -> np.ndarray:
    return np.random.default_rng(42).integers(1, 1 << 32, 1 << 16, dtype=np.uint32)


@cache
def _closing() -> np.ndarray:
    """The bits of the tokens that close a question."""
    marked = np.zeros(BITS, bool)
    marked[[hashed(token) >> 24 for token in polite()[1]]] = True
    return marked


@cache
def _opening(said: str) -> int:
    """The tokens of an opening, which may be left out."""
    return len(words(f"x {said} x").tokens) - 2  # at the end of a text "please" would count as its closing
