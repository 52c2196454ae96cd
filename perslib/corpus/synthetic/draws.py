"""Random draws that are the same bytes on every Python and every machine.

Everything is built from `random.Random(text).random()`, whose stream is guaranteed from version to version,
and from additions and multiplications, which IEEE 754 fixes; no libm function takes part in a draw, and floats
are never added by `sum`, whose rounding changed in Python 3.12 (`math.fsum` is exact everywhere).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
_FINE = 1 << 32


class Dice:
    """A stream of draws named by its key: `Dice(seed, user, "life")` never disturbs another stream."""

    def __init__(self, *key: object):
        self.random = random.Random("/".join(str(part) for part in key)).random

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """A real number from low to high."""
        return low + (high - low) * self.random()

    def normal(self, mean: float = 0.0, sd: float = 1.0) -> float:
        """Approximately Gaussian: twelve uniform draws added up (Irwin–Hall), in whole numbers to be exact."""
        total = sum(int(self.random() * _FINE) for _ in range(12))
        return mean + sd * (total / _FINE - 6.0)

    def pick(self, things: Sequence[T]) -> T:
        """One of the things, each as likely."""
        return things[int(self.random() * len(things))]

    def some(self, things: Sequence[T], n: int) -> list[T]:
        """n different things (or all there are), in random order."""
        pool = list(things)
        n = min(n, len(pool))
        for i in range(n):
            j = self.between(i, len(pool) - 1)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """One key, with probability proportional to its weight."""
        left = self.random() * math.fsum(weights.values())
        for thing, weight in weights.items():
            left -= weight
            if left < 0:
                return thing
        return thing
