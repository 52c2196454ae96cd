"""Near duplicates among many texts: an exact hash first, then MinHash with bands.

The share of equal MinHash values of two sets of character 5-grams estimates their Jaccard similarity; texts that agree
in one of the bands are compared, the others are not alike enough to look at (Broder 1997).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import numpy as np

GRAM = 5
BANDS, ROWS = 16, 4
AT_MOST = 4_000
_MASK = np.uint64((1 << 32) - 1)


class Duplicates:
    """Remembers what it has seen; memory grows by about a kilobyte a text that was new."""

    def __init__(self, alike: float, seed: int = 42):
        self.alike = alike
        draw = np.random.default_rng(seed)
        self._a = draw.integers(1, 1 << 31, BANDS * ROWS, dtype=np.uint64)
        self._b = draw.integers(0, 1 << 31, BANDS * ROWS, dtype=np.uint64)
        self._exact: set[bytes] = set()
        self._bands: dict[tuple[int, bytes], list[int]] = {}
        self._signatures: list[np.ndarray] = []

    def __call__(self, texts: Sequence[str]) -> str | None:
        """`duplicate`, `near_duplicate`, or None for what is new, which is remembered."""
        text = "\n".join(texts)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest in self._exact:
            return "duplicate"
        self._exact.add(digest)
        signature = self.signature(text[:AT_MOST])
        keys = [(i, part.tobytes()) for i, part in enumerate(signature.reshape(BANDS, ROWS))]
        near = {other for key in keys for other in self._bands.get(key, ())}
        if any(float((signature == self._signatures[other]).mean()) >= self.alike for other in near):
            return "near_duplicate"
        for key in keys:
            self._bands.setdefault(key, []).append(len(self._signatures))
        self._signatures.append(signature)
        return None

    def signature(self, text: str) -> np.ndarray:
        """The smallest of (a·h + b) mod 2³² over the grams' hashes h, for each a and b."""
        grams = {text[i : i + GRAM] for i in range(max(1, len(text) - GRAM + 1))}
        hashes = np.array(sorted(zlib.crc32(g.encode("utf-8", "surrogatepass")) for g in grams), np.uint64)
        return (((hashes[:, None] * self._a + self._b) >> np.uint64(16)) & _MASK).min(axis=0)
