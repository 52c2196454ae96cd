"""Two dialogues compared by several evaluations with the order swapped (Mem-PAL, section 5.5; FairEval)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perslib.errors import DataError, Problem

Outcome = Literal["win", "tie", "lose"]
RUNS = 6
_EXACT = 1e-9


@dataclass(frozen=True)
class Run:
    """One evaluation of a pair: `p1-2` is the second with our dialogue shown first, `p2-2` with it shown second."""

    id: str
    swapped: bool


def runs(number: int = RUNS) -> list[Run]:
    """An even number of evaluations, one half in either order."""
    if number < 2 or number % 2:
        raise DataError(Problem("runs", f"is {number}, expected an even number: one half in either order"))
    half = range(1, number // 2 + 1)
    return [Run(f"p{order}-{i}", order == 2) for order in (1, 2) for i in half]


def outcome(ours: Sequence[float], theirs: Sequence[float], tie_within: float = 0.0) -> Outcome:
    """Whose mean over the evaluations is higher.

    Sums are compared, so that equal means tie whatever their decimals; means no further apart than `tie_within` tie too.
    """
    if not ours or len(ours) != len(theirs):
        raise DataError(
            Problem("scores", f"{len(ours)} and {len(theirs)} of them, expected as many of ours as of theirs")
        )
    difference = math.fsum([*ours, *(-score for score in theirs)])
    if abs(difference) <= tie_within * len(ours) + _EXACT:
        return "tie"
    return "win" if difference > 0 else "lose"
