"""Calibration of a candidate's scores by the judge's scores of the recorded replies (PersTurnBench, appendix D).

In a replay there is no whole block of new replies to rank, so the judge's scores of the block's recorded replies,
the reference, stand in for it. Arrays as in `perslib.stats.calibration`; `reference` and `reference_block` are the
recorded replies' scores and blocks, numbered alike. The raw score stands where a block has no reference.

To compare a candidate with the recorded replies, calibrate both here: a candidate that repeats them then ties
with them throughout, as it would not if the recorded ones went through the block calibrators.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perslib.stats.calibration import (
    MIN_HISTORY,
    Calibrated,
    Floats,
    Ints,
    SharedTies,
    below_and_upto,
    history_mean,
    history_obstacles,
    or_raw,
    positions,
    prepared,
    read_off,
    to_scale,
)


def reference_mean_shift(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_block: npt.ArrayLike,
    history: npt.ArrayLike,
    *,
    min_history: float = MIN_HISTORY,
) -> Calibrated:
    """Raw + (history mean − mean reference score), rounded and clipped."""
    scores, codes, counts = prepared(raw, block, history)
    others, others_block, n = _reference(reference, reference_block, counts)
    level = np.bincount(others_block, weights=others, minlength=len(counts)) / np.maximum(n, 1)
    shifted = to_scale(scores + (history_mean(counts) - level)[codes])
    lacks = history_obstacles(counts, codes, min_history)
    unusable = ~(np.isfinite(level) & (level > 0))[codes]
    return or_raw(shifted, scores, ("no reference", n[codes] == 0), *lacks, ("no finite mean", unusable))


def reference_cdf(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_block: npt.ArrayLike,
    history: npt.ArrayLike,
    *,
    ties: SharedTies = "expected",
    min_history: float = MIN_HISTORY,
) -> Calibrated:
    """The score's rank among the reference scores and itself, mapped to the user's history distribution.

    Each score is ranked alone: what other candidates or replies stand in the same table changes nothing. Its ranks
    run from #(reference < x) to #(reference ≤ x), of one more than there are reference scores.
    """
    scores, codes, counts = prepared(raw, block, history)
    others, others_block, n = _reference(reference, reference_block, counts)
    scored = np.flatnonzero(~np.isnan(scores))
    s, c = scores[scored], codes[scored]
    calibrated = np.full(len(scores), np.nan)
    low, high = below_and_upto(s, c, others, others_block)
    calibrated[scored] = read_off(low, high, n[c] + 1, counts[c], ties)
    lacks = history_obstacles(counts, codes, min_history)
    return or_raw(calibrated, scores, ("no reference", n[codes] == 0), *lacks)


def pooled_reference_cdf(
    raw: npt.ArrayLike,
    ids: npt.ArrayLike,
    block: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_ids: npt.ArrayLike,
    reference_block: npt.ArrayLike,
    history: npt.ArrayLike,
    *,
    min_history: float = MIN_HISTORY,
) -> Calibrated:
    """The published rule, for compatibility: all candidates' scores of a block are ranked with its reference.

    Ties go by sample id as text, the reference first. So a score depends on what else stands in the table, and
    `10.json` comes before `2.json`; `reference_cdf` has neither fault.
    """
    scores, codes, counts = prepared(raw, block, history)
    others = np.asarray(reference, dtype=float)
    kept, scored = np.flatnonzero(~np.isnan(others)), np.flatnonzero(~np.isnan(scores))
    pool = np.concatenate([others[kept], scores[scored]])
    pool_block = np.concatenate([np.asarray(reference_block, dtype=np.int64)[kept], codes[scored]])
    names = np.concatenate([np.asarray(reference_ids, dtype=str)[kept], np.asarray(ids, dtype=str)[scored]])
    is_target = np.arange(len(pool)) >= len(kept)
    rank = positions(pool, pool_block, names, is_target)
    n = np.bincount(pool_block, minlength=len(counts))[pool_block]
    mapped = read_off(rank, rank, n, counts[pool_block], "min")
    calibrated = np.full(len(scores), np.nan)
    calibrated[scored] = mapped[is_target]
    n_reference = np.bincount(pool_block[~is_target], minlength=len(counts))
    lacks = history_obstacles(counts, codes, min_history)
    return or_raw(calibrated, scores, ("no reference", n_reference[codes] == 0), *lacks)


def reference_transfer(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_calibrated: npt.ArrayLike,
    reference_block: npt.ArrayLike,
) -> Calibrated:
    """Each raw score becomes the mean calibrated score that it got on the block's recorded replies.

    A raw score that the reference lacks goes by the nearest that it has, the lower one of two; rounded, clipped.
    """
    scores, codes = np.asarray(raw, dtype=float), np.asarray(block, dtype=np.int64)
    others, became = np.asarray(reference, dtype=float), np.asarray(reference_calibrated, dtype=float)
    usable = ~np.isnan(others) & ~np.isnan(became)
    pairs = np.column_stack([np.asarray(reference_block)[usable], others[usable]])
    known, entry = np.unique(pairs, axis=0, return_inverse=True)
    mean = np.bincount(entry.ravel(), weights=became[usable]) / np.bincount(entry.ravel())
    calibrated, empty = np.full(len(scores), np.nan), np.ones(len(scores), dtype=bool)
    for i in np.unique(codes):
        here, there = codes == i, known[:, 0] == i
        if there.any():
            empty[here] = False
            # argmin takes the first of equals, and `known` ascends: the lower one of two.
            nearest = np.abs(known[there, 1][None, :] - scores[here][:, None]).argmin(axis=1)
            calibrated[here] = mean[there][nearest]
    return or_raw(to_scale(calibrated), scores, ("empty map", empty))


def _reference(reference: npt.ArrayLike, reference_block: npt.ArrayLike, counts: Floats) -> tuple[Floats, Ints, Ints]:
    """Scores and blocks of the scored recorded replies, and how many each block has."""
    others, codes, _ = prepared(reference, reference_block, counts)
    scored = ~np.isnan(others)
    return others[scored], codes[scored], np.bincount(codes[scored], minlength=len(counts))
