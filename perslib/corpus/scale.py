"""The scale of people's ratings, and its map to 1–5, the scale of all judges.

A `score` of a corpus is always a whole number from 1 to 5; `given` is the rating on the scale of the data. The map is
linear from the lowest rating (1) to the border between dissatisfied and satisfied (3½), and from there to the highest
rating (5). So ratings keep their order, and metrics of dissatisfaction use the border of the scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError

Floats: TypeAlias = npt.NDArray[np.float64]
#: The border between 3 and 4.
BORDER = 3.5
_FORM = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")
#: Scales with names of their own.
NAMED = {"thumbs": "0-1", "stars": "1-5", "percent": "0-100"}
#: What may be read off the data: the highest rating seen, so that a code for "no rating" is not taken for one.
ENDS = (1, 6, 7, 10, 100)


@dataclass(frozen=True)
class Scale:
    """A scale from the lowest to the highest rating; without a stated border, the scale is divided as 3½ divides 1–5."""

    low: float = 1
    high: float = 5
    dissatisfied: float | None = None
    """The highest rating of somebody who is not satisfied."""
    step: float = 1
    """Between two ratings; 0 where any number is one."""
    is_turned: bool = False
    """Of ratings to be read: whether the lowest number is the best. What was read is turned round."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise DataError(f"scale {self}: the lowest rating stands first, as in 1-10")
        if self.dissatisfied is not None and not self.low <= self.dissatisfied < self.high:
            remedy = "It is the highest rating of somebody who is not satisfied."
            raise DataError(f"scale {self}: {self.dissatisfied:g} cannot divide it", remedy)

    @classmethod
    def parse(cls, text: str, dissatisfied: float | None = None) -> Scale:
        """Parse `1-100`, `0..10`, `thumbs` (0 or 1), `stars` (1-5) or `percent` (0-100); of `6-1` the lowest number is the best."""
        if not (match := _FORM.fullmatch(NAMED.get(text.strip().lower(), text))):
            raise DataError(f"{text!r} is no scale", f"Write it as 1-10, or one of {', '.join(NAMED)}.")
        first, last = float(match[1]), float(match[2])
        return cls(min(first, last), max(first, last), dissatisfied, is_turned=first > last)

    @classmethod
    def guess(cls, ratings: Iterable[float]) -> Scale | None:
        """Return the scale of these ratings if it is plain; None if they may be on several."""
        seen = sorted(set(ratings))
        if not seen or seen[-1] not in ENDS or seen[0] < 0 or (seen[-1] == 1 and seen[0] != 0):
            return None
        return cls(0 if seen[0] < 1 else 1, seen[-1]).with_step(seen)

    def with_step(self, ratings: Iterable[float]) -> Scale:
        """Return the scale in whole numbers, halves or any numbers, as these ratings are."""
        values = np.asarray(list(ratings), float)
        steps = (step for step in (1, 0.5) if not (values / step % 1).any())
        return replace(self, step=next(steps, 0))

    def spell(self) -> str:
        """Return what `parse` reads: `1-10`, or `6-1` where the lowest number is the best."""
        ends = (self.high, self.low) if self.is_turned else (self.low, self.high)
        return "-".join(f"{end:g}" for end in ends)

    def as_dict(self) -> dict[str, Any]:
        """Return what a card holds of it."""
        return {name: value for name, value in vars(self).items() if name != "is_turned"}

    @property
    def is_five(self) -> bool:
        """Return whether ratings are the scores themselves."""
        return self.low == 1 and self.high == 5 and self.dissatisfied in (None, 3)

    @property
    def border(self) -> float:
        """Return the rating between dissatisfied and satisfied."""
        if self.dissatisfied is None:
            return self.low + (self.high - self.low) * (BORDER - 1) / 4
        return self.dissatisfied + (max(self.step, 1e-6 * (self.high - self.low))) / 2

    def to_five(self, ratings: npt.ArrayLike) -> Floats:
        """Map ratings to 1–5."""
        return np.interp(np.asarray(ratings, float), (self.low, self.border, self.high), (1, BORDER, 5))

    def from_five(self, scores: npt.ArrayLike) -> Floats:
        """Map scores on 1–5, such as a judge's, to this scale."""
        return np.interp(np.asarray(scores, float), (1, BORDER, 5), (self.low, self.border, self.high))

    def score(self, rating: float) -> int:
        """Return the whole score of a rating (halves to even)."""
        return int(np.rint(self.to_five(rating)))

    @property
    def highest_dissatisfied(self) -> float:
        """Return the highest rating that counts as dissatisfied or neutral, in whole steps."""
        return float(np.ceil(self.border / self.step - 1) * self.step) + 0.0 if self.step else self.border

    def __str__(self) -> str:
        return f"{self.low:g}–{self.high:g}"


FIVE = Scale()


def find_corpus_scale(meta: dict[str, Any], *names: str) -> Scale:
    """Return the first of these scales in a corpus's `meta`, otherwise the scale of replies."""
    return next((Scale(**meta[name]) for name in (*names, "scale") if name in meta), FIVE)


def gold_of(turns: pd.DataFrame, scale: Scale) -> pd.Series:
    """Return the scores, as precise as people's ratings: 3.4 for a rating between two whole scores."""
    if turns["given"].isna().all():
        return turns["score"]
    exact = pd.Series(scale.to_five(turns["given"].to_numpy(float, na_value=np.nan)), index=turns.index)
    return exact.where(turns["given"].notna(), turns["score"].astype("Float64")).astype("Float64")
