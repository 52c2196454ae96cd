"""Calibration of a judge's scores on a user's own scale, block by block (PersTurnBench, section 3.4).

Flat arrays, one entry a judged reply: `raw` the judge's score, `block` the number of its (user, scenario), and
`history` one row a block: how often the user gave 1 to 5 in the other scenarios. All blocks are done at once.
Unscored replies (NaN) stay so and take no part in means and ranks. Where a history has fewer than five turns or
a block fewer than two scores, the raw score stands, rounded and clipped.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from perslib.calibrate.ranks import Ties, positions, read_off, tied_positions
from perslib.calibrate.scale import (
    MIN_HISTORY,
    SCORES,
    Calibrated,
    Floats,
    Ints,
    history_obstacles,
    or_raw,
    to_scale,
)
from perslib.errors import UnknownName


def mean_shift(
    raw: npt.ArrayLike, block: npt.ArrayLike, history: npt.ArrayLike, *, min_history: float = MIN_HISTORY
) -> Calibrated:
    """Raw + (history mean − mean raw of the block), rounded and clipped: PersTurnBench eq. (6) and (7)."""
    scores, codes, counts = prepared(raw, block, history)
    scored = ~np.isnan(scores)
    n = np.bincount(codes[scored], minlength=len(counts))
    level = np.bincount(codes[scored], weights=scores[scored], minlength=len(counts)) / np.maximum(n, 1)
    shifted = to_scale(scores + (history_mean(counts) - level)[codes])
    lacks = history_obstacles(counts, codes, min_history)
    return or_raw(shifted, scores, *lacks, ("single prediction", n[codes] < 2))


def cdf(
    raw: npt.ArrayLike,
    block: npt.ArrayLike,
    history: npt.ArrayLike,
    *,
    ties: Ties = "expected",
    turn: npt.ArrayLike | None = None,
    seed: int = 0,
    draws: int = 1,
    min_history: float = MIN_HISTORY,
) -> Calibrated:
    """The score's rank in its block, mapped to the user's history distribution: PersTurnBench eq. (8).

    `turn` breaks the ties of `turn_index`, the published rule. `random` gives whole numbers in one draw; the mean
    of several `draws` is real-valued and tends to what `expected` computes at once.
    """
    if ties not in get_args(Ties):
        raise UnknownName("tie rule", ties, get_args(Ties))
    scores, codes, counts = prepared(raw, block, history)
    scored = np.flatnonzero(~np.isnan(scores))
    s, c = scores[scored], codes[scored]
    n = np.bincount(c, minlength=len(counts))

    def told_apart(key: npt.NDArray) -> Floats:
        rank = positions(s, c, key)
        return read_off(rank, rank, n[c], counts[c], "min")

    if ties == "random":
        lots = [np.random.default_rng(seed + draw).random(len(s)) for draw in range(draws)]
        mapped = np.mean([told_apart(lot) for lot in lots], axis=0)
    elif ties == "turn_index":
        if turn is None:
            raise ValueError("ties='turn_index' needs the turns' numbers: pass turn=")
        mapped = told_apart(np.asarray(turn, dtype=np.int64)[scored])
    else:
        mapped = read_off(*tied_positions(s, c), n[c], counts[c], ties)
    calibrated = np.full(len(scores), np.nan)
    calibrated[scored] = mapped
    lacks = history_obstacles(counts, codes, min_history)
    return or_raw(calibrated, scores, *lacks, ("single prediction", n[codes] < 2))


def prepared(raw: npt.ArrayLike, block: npt.ArrayLike, history: npt.ArrayLike) -> tuple[Floats, Ints, Floats]:
    """The three arrays, checked: a row of five counts for every block."""
    scores, codes = np.asarray(raw, dtype=float), np.asarray(block, dtype=np.int64)
    counts = np.asarray(history, dtype=float)
    if counts.ndim != 2 or counts.shape[1] != len(SCORES):
        raise ValueError(f"history has shape {counts.shape}, expected one row of five counts a block")
    if scores.shape != codes.shape:
        raise ValueError(f"{len(scores)} scores but {len(codes)} blocks: give each score its block's number")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(counts):
        raise ValueError(f"block numbers must lie in 0–{len(counts) - 1}: history has {len(counts)} rows")
    return scores, codes, counts


def history_mean(counts: Floats) -> Floats:
    """Mean score of each history; NaN for an empty one."""
    total = counts.sum(axis=1)
    return np.where(total > 0, counts @ SCORES / np.where(total > 0, total, 1), np.nan)
