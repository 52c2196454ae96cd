"""Ranks within a block, and the history distribution read off at a rank.

Raw scores take few values, so nearly every rank is shared, and the rule for ties decides much of the outcome.
The published program breaks ties by the number of the turn; since first replies are rated lower, that alone lets
a constant judge agree with people. The default here, `expected`, uses no position.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from perslib.calibrate.scale import SCORES, Floats, Ints
from perslib.errors import UnknownName

#: Tie rules without position: tied scores share one value, the one at their first (`min`), last (`max`) or middle
#: rank (`mid`), or the mean of the values at all their ranks (`expected`).
SharedTies = Literal["expected", "mid", "min", "max"]

#: Also those that tell tied scores apart: by the turn's number, as published, or by lot.
Ties = Literal["expected", "mid", "min", "max", "random", "turn_index"]


def shared_rule(ties: str) -> None:
    """Raise UnknownName unless this is a tie rule under which tied scores share a value."""
    if ties not in get_args(SharedTies):
        raise UnknownName("tie rule", ties, get_args(SharedTies))


def read_off(low: Ints, high: Ints, n: Ints, history: Floats, ties: str = "expected") -> Floats:
    """F⁻¹((r + ½) / n) with zero-based ranks r from `low` to `high` (tied) of `n`: PersTurnBench eq. (8).

    F is the distribution of `history`, one row of five counts an entry, and F⁻¹(q) the smallest s with F(s) ≥ q.
    """
    shared_rule(ties)
    cumulative = np.cumsum(history, axis=1)
    total = cumulative[:, -1:]
    # F(s) ≥ (r + ½)/n means (2r + 1)·total ≤ 2n·cumulative. Whole counts stay whole on both sides, and the
    # quotient below is exact wherever it is a whole number: floats decide as integers would.
    if ties == "expected":
        ranks_upto = np.floor((2 * n[:, None] * cumulative + total) / np.where(total > 0, 2 * total, 1))
        inside = np.clip(ranks_upto, low[:, None], high[:, None] + 1)
        inside[:, -1] = high + 1
        share = np.diff(inside, axis=1, prepend=low[:, None])
        return (share @ SCORES) / (high - low + 1)
    twice = {"min": 2 * low, "max": 2 * high, "mid": low + high}[ties] + 1
    reached = twice[:, None] * total <= 2 * n[:, None] * cumulative
    reached[:, -1] = True
    return SCORES[reached.argmax(axis=1)].astype(float)


def positions(scores: Floats, block: Ints, *keys: npt.NDArray) -> Ints:
    """Zero-based rank in the block, sorted by score, then by the keys in turn, then as given."""
    order = np.lexsort((*reversed(keys), scores, block))
    start = np.searchsorted(block[order], block[order])
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = np.arange(len(scores)) - start
    return ranks


def tied_positions(scores: Floats, block: Ints) -> tuple[Ints, Ints]:
    """First and last zero-based rank of those with the same score in the same block."""
    below, upto = below_and_upto(scores, block, scores, block)
    return below, upto - 1


def below_and_upto(scores: Floats, block: Ints, others: Floats, others_block: Ints) -> tuple[Ints, Ints]:
    """How many of the others of its block are smaller than each score, and how many not greater.

    These are also the first and the last rank the score could take if it alone joined them.
    """
    _, value = np.unique(np.concatenate([others, scores]), return_inverse=True)
    width = int(value.max(initial=0)) + 1  # block and value as one number, sorted by block first
    theirs = np.sort(others_block * width + value[: len(others)])
    mine = block * width + value[len(others) :]
    start = np.searchsorted(theirs, block * width)
    return np.searchsorted(theirs, mine) - start, np.searchsorted(theirs, mine, side="right") - start
