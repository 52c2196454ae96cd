"""The scale of scores, the one rounding rule, and what a calibrator returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SCORES: Ints = np.arange(1, 6)

#: Fewer history turns than this say too little about a user's scale (PersTurnBench, appendix D).
MIN_HISTORY = 5

Why = Literal[
    "no history", "short history", "single prediction", "no reference", "no finite mean", "empty map"
]


@dataclass(frozen=True)
class Calibrated:
    """Calibrated scores; `fallback` says entry by entry why the raw score stands, "" where it does not.

    An unscored reply (NaN) stays NaN and is no fallback.
    """

    scores: Floats
    fallback: npt.NDArray[np.str_]

    def counts(self) -> dict[str, int]:
        """How often each fallback was taken."""
        reasons, times = np.unique(self.fallback[self.fallback != ""], return_counts=True)
        return {str(reason): int(n) for reason, n in zip(reasons, times)}


def to_scale(scores: npt.ArrayLike) -> Floats:
    """Rounded half to even and clipped to 1–5: the one rounding rule of perslib. NaN stays NaN."""
    return np.clip(np.rint(np.asarray(scores, dtype=float)), 1, 5)


def or_raw(calibrated: Floats, raw: Floats, *obstacles: tuple[Why, npt.NDArray[np.bool_]]) -> Calibrated:
    """The calibrated scores, but the raw ones on the scale where an obstacle stands; the first one counts."""
    fallback = np.full(len(raw), "", dtype=f"<U{max(len(why) for why, _ in obstacles)}")
    for why, stands in reversed(obstacles):
        fallback[stands & ~np.isnan(raw)] = why
    scores = np.where(fallback != "", to_scale(raw), calibrated)
    return Calibrated(np.where(np.isnan(raw), np.nan, scores), fallback)


def history_obstacles(
    history: Floats, block: Ints, least: float
) -> tuple[tuple[Why, npt.NDArray[np.bool_]], ...]:
    """What a block's history can lack, for each of its entries."""
    total = history.sum(axis=1)[block]
    return ("no history", total <= 0), ("short history", total < least)
