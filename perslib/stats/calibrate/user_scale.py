"""Calibration of a judge's scores on a user's own scale, block by block (PersTurnBench, section 3.4).

Raw scores take few values, so nearly every rank is shared, and the rule for ties decides much of the outcome.
The published program breaks ties by the number of the turn; since first replies are rated lower, that alone lets
a constant judge agree with people. The default here, `expected`, uses no position.

Flat arrays, one entry a judged reply: `raw` the judge's score, `block` the number of its (user, scenario), and
`history` one row a block: how often the user gave 1 to 5 in the other scenarios. All blocks are done at once.
Unscored replies (NaN) stay so and take no part in means and ranks. Where a history has fewer than five turns or
a block fewer than two scores, the raw score stands, rounded and clipped.

In a replay there is no whole block of new replies to rank, so the judge's scores of the block's recorded replies, the
`reference`, stand in for it (appendix D). To compare a candidate with the recorded replies, calibrate both by the
reference: a candidate that repeats them then ties with them throughout, as it would not if the recorded ones were
calibrated by their own block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from perslib.errors import check_names
from perslib.stats.resample.leave_one_out import Bools, Floats, Ints

SCORES: Ints = np.arange(1, 6)

#: Fewer history turns than this say too little about a user's scale (PersTurnBench, appendix D).
MIN_HISTORY = 5

#: Why a raw score stands, and where it does.
Obstacle = tuple[str, Bools]
#: The judge's scores of the recorded replies, and their blocks, numbered like those of the scores to be calibrated.
Reference = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True)
class CalibratedScores:
    """Calibrated scores; `fallback` says entry by entry why the raw score stands, "" where it does not.

    An unscored reply (NaN) stays NaN and is no fallback.
    """

    scores: Floats
    fallback: npt.NDArray[np.str_]


def to_scale(scores: npt.ArrayLike) -> Floats:
    """Return the scores rounded half to even and clipped to 1–5: the one rounding rule of perslib. NaN stays NaN."""
    return np.clip(np.rint(np.asarray(scores, dtype=float)), 1, 5)


def _or_raw(calibrated: Floats, raw: Floats, *obstacles: Obstacle) -> CalibratedScores:
    """Return the calibrated scores, but the raw ones on the scale where an obstacle stands; the first one counts."""
    fallback = np.full(len(raw), "", dtype=f"<U{max(len(why) for why, _ in obstacles)}")
    for why, stands in reversed(obstacles):
        fallback[stands & ~np.isnan(raw)] = why
    scores = np.where(fallback != "", to_scale(raw), calibrated)
    return CalibratedScores(np.where(np.isnan(raw), np.nan, scores), fallback)


#: Tie rules without position: tied scores share one value, the one at their first (`min`), last (`max`) or middle
#: rank (`mid`), or the mean of the values at all their ranks (`expected`).
SharedTies = Literal["expected", "mid", "min", "max"]

#: Also the published rule, which orders tied scores by the turn's number.
Ties = Literal[SharedTies, "turn_index"]


def read_off(low: Ints, high: Ints, n: Ints, history: Floats, ties: str = "expected") -> Floats:
    """Return f⁻¹((r + ½) / n) with zero-based ranks r from `low` to `high` (tied) of `n`: PersTurnBench eq. (8).

    F is the distribution of `history`, one row of five counts an entry, and F⁻¹(q) the smallest s with F(s) ≥ q.
    """
    check_names("tie rule", ties, get_args(SharedTies))
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


def below_and_upto(scores: Floats, block: Ints, others: Floats, others_block: Ints) -> tuple[Ints, Ints]:
    """Return how many of the others of its block are smaller than each score, and how many not greater.

    These are also the first and the last rank the score could take if it alone joined them.
    """
    _, value = np.unique(np.concatenate([others, scores]), return_inverse=True)
    width = int(value.max(initial=0)) + 1  # block and value as one number, sorted by block first
    theirs = np.sort(others_block * width + value[: len(others)])
    mine = block * width + value[len(others) :]
    start = np.searchsorted(theirs, block * width)
    return np.searchsorted(theirs, mine) - start, np.searchsorted(theirs, mine, side="right") - start


def mean_shift(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    history: npt.ArrayLike,
    reference: Reference | None = None,
    *,
    min_history: float = MIN_HISTORY,
) -> CalibratedScores:
    """Return raw + (history mean − mean raw of the block, or of its reference), rounded: PersTurnBench eq. (6) and (7)."""
    scores, codes, counts = _make_arrays(raw, block, history)
    scored, of_block, n = _select_scored(reference or (scores, codes), len(counts))
    level = np.bincount(of_block, weights=scored, minlength=len(counts)) / np.maximum(n, 1)
    shifted = to_scale(scores + (history_mean(counts) - level)[codes])
    return _or_raw(shifted, scores, *_obstacles(counts, codes, n, reference is not None, min_history))


def cdf(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    history: npt.ArrayLike,
    reference: Reference | None = None,
    *,
    ties: Ties = "expected",
    turn: npt.ArrayLike | None = None,
    min_history: float = MIN_HISTORY,
) -> CalibratedScores:
    """Return the score's rank in its block, mapped to the user's history distribution: PersTurnBench eq. (8).

    With a reference each score is ranked alone among the block's reference scores and itself: what other candidates or
    replies stand in the same table changes nothing. Its ranks run from #(reference < x) to #(reference ≤ x).

    `turn` breaks the ties of `turn_index`, the published rule, which no reference has. Over random orders of the turns
    its mean tends to what `expected` computes at once.
    """
    by_turn, is_own = ties == "turn_index" and reference is None, reference is None
    if by_turn and turn is None:
        raise ValueError("ties='turn_index' needs the turns' numbers: pass turn=")
    scores, codes, counts = _make_arrays(raw, block, history)
    scored = ~np.isnan(scores)
    s, c = scores[scored], codes[scored]
    if by_turn:
        s = np.argsort(np.lexsort((np.asarray(turn)[scored], s))).astype(float)  # no two are equal any more
    scored_ones, of_block, n = _select_scored(reference or (s, c), len(counts))
    low, high = below_and_upto(s, c, scored_ones, of_block)
    calibrated = np.full(len(scores), np.nan)
    # In its own block a score is among those that it is ranked with.
    calibrated[scored] = read_off(low, high - is_own, n[c] + (not is_own), counts[c], "min" if by_turn else ties)
    return _or_raw(calibrated, scores, *_obstacles(counts, codes, n, not is_own, min_history))


def _make_arrays(raw: npt.ArrayLike, block: npt.ArrayLike, history: npt.ArrayLike) -> tuple[Floats, Ints, Floats]:
    """Return scores, block numbers and counts of five scores a block as arrays."""
    return np.asarray(raw, dtype=float), np.asarray(block, dtype=np.int64), np.asarray(history, dtype=float)


def _select_scored(reference: Reference, blocks: int) -> tuple[Floats, Ints, Ints]:
    """Return the scores that there are, their blocks, and how many each block has."""
    scores, codes = np.asarray(reference[0], dtype=float), np.asarray(reference[1], dtype=np.int64)
    scored = ~np.isnan(scores)
    return scores[scored], codes[scored], np.bincount(codes[scored], minlength=blocks)


def _obstacles(history: Floats, block: Ints, n: Ints, is_reference: bool, least: float) -> tuple[Obstacle, ...]:
    """Return what can be lacking for each entry: history, and scores of the block, of which there are `n`."""
    total = history.sum(axis=1)[block]
    lacks = ("no history", total <= 0), ("short history", total < least)
    if is_reference:
        return ("no reference", n[block] == 0), *lacks
    return *lacks, ("single prediction", n[block] < 2)


def history_mean(counts: Floats) -> Floats:
    """Return the mean score of each history; NaN for an empty one."""
    total = counts.sum(axis=1)
    return np.where(total > 0, counts @ SCORES / np.where(total > 0, total, 1), np.nan)
