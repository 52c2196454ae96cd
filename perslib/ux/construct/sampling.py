"""Drawing cases so that every one has a known chance: strata, exact inclusion probabilities, one seed.

Among the dimensions sizes are shared out by largest remainders under a floor and a cap; within a dimension cases are
drawn systematically, cell by cell of scenario and length and in random order within each, with probabilities in
proportion to their weights (Madow 1949). So π_i = n w_i / Σ w holds exactly, Σ π = n, and no small cell is shut out. A population's mean is then estimated by weighing each case by 1/π
(Horvitz and Thompson 1952). The published programs take the best-graded cases instead; such a set has only easy ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.inference import SEED
from perslib.signals.length import counts

#: Units (Chinese characters or words) of a request at which a length bin ends.
LENGTHS = (12, 30, 80)
STRATA = ("scenario", "length")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Drawn cases, with `inclusion` (their chance) and `weight` (1 / inclusion), and how large each stratum was."""

    cases: pd.DataFrame
    strata: pd.DataFrame
    """Columns: the strata's names, `cases` that could be drawn, `drawn`."""


def apportioned(sizes: Sequence[int], n: int, floor: int = 0, cap: float = 1.0) -> list[int]:
    """How many of n go to each stratum: in proportion to its size, at least `floor`, at most a share `cap` of n.

    No stratum gets more than it has. Where n cannot hold all floors they are lowered alike; where caps leave some of n
    over, less than n is drawn. Σ clip(λ s, low, high) = n is solved for λ; the rest goes by largest remainders.
    """
    have = np.asarray(sizes, dtype=int)
    if n < 0 or floor < 0 or not 0 < cap <= 1:
        raise DataError(
            Problem("n, floor, cap", f"are {n}, {floor}, {cap}; expected ≥ 0, ≥ 0, and in (0, 1]")
        )
    high = np.minimum(have, max(1, int(cap * n))) if n else np.zeros_like(have)
    while floor and np.minimum(floor, high).sum() > n:
        floor -= 1
    low = np.minimum(floor, high)
    n = min(n, int(high.sum()))
    if not len(have) or not have.sum() or not n:
        return [0] * len(have)
    least, most = 0.0, 1.0  # at λ = 1 every stratum gives what it may
    for _ in range(100):
        middle = (least + most) / 2
        least, most = (least, middle) if np.clip(middle * have, low, high).sum() >= n else (middle, most)
    quota = np.clip(most * have, low, high)
    share = np.floor(quota + 1e-9).astype(int)
    order = np.lexsort((np.arange(len(have)), -(quota - share)))
    for i in [i for i in order if share[i] < high[i]][: n - int(share.sum())]:
        share[i] += 1
    return [int(s) for s in share]


def inclusion(weights: npt.ArrayLike, n: int) -> Floats:
    """π_i = n w_i / Σ w, with those that would exceed 1 taken for certain and the rest shared among the others."""
    w = np.asarray(weights, dtype=float)
    if n > len(w) or not np.isfinite(w).all() or (w <= 0).any():
        raise DataError(Problem("weights", f"expected {n} or more of them, all above 0"))
    certain = np.zeros(len(w), dtype=bool)
    while True:
        chance = np.ones(len(w))
        rest = ~certain
        if rest.any():
            chance[rest] = (n - certain.sum()) * w[rest] / w[rest].sum()
        beyond = rest & (chance >= 1)
        if not beyond.any():
            return chance
        certain |= beyond


def systematic(
    chance: Floats, rng: np.random.Generator, cells: pd.Series | None = None
) -> npt.NDArray[np.int64]:
    """A draw with these inclusion probabilities: points at u, u + 1, … on their running sum, in random order.

    With `cells`, the order keeps a cell together, so that each gets what is its due, rounded up or down.
    """
    order = rng.permutation(len(chance))
    if cells is not None:
        place = rng.permutation(cells.nunique())[cells.to_numpy(int)[order]]
        order = order[np.argsort(place, kind="stable")]
    total = round(float(chance.sum()))
    ends = np.cumsum(chance[order])
    ends[-1:] = total  # what rounding took from the sum
    points = np.arange(total) + rng.random()
    return np.sort(order[np.searchsorted(ends, points, side="right")])


def binned(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases with `length` (bin of the request's units) and `rounds` (bin of the messages before it)."""
    counted = counts(list(cases["query"]))
    length = np.searchsorted(LENGTHS, counted.cjk + counted.words, side="left")
    before = np.array([len(h) for h in cases["history"]], dtype=int)
    names = [f"≤{LENGTHS[0]}", *(f"{a + 1}–{b}" for a, b in pairwise(LENGTHS)), f">{LENGTHS[-1]}"]
    rounds = np.select([before == 0, before <= 2, before <= 6], ["first", "second", "3rd–4th"], "later")
    return cases.assign(length=[names[i] for i in length], rounds=rounds)


def one_a_session(cases: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """One case of every session, drawn; `chance` is 1 over the number of its cases."""
    order = cases.iloc[rng.permutation(len(cases))]
    chance = 1 / cases.groupby("talk")["case"].transform("size").astype(float)
    return cases.assign(chance=chance).loc[order.drop_duplicates("talk").index.sort_values()]


def sampled(
    cases: pd.DataFrame,
    n: int,
    *,
    within: Sequence[str] = STRATA,
    floor: int = 5,
    cap: float = 0.4,
    weight: str | None = None,
    per_session: bool = True,
    seed: int = SEED,
) -> Sample:
    """n cases, stratified by dimension (at least `floor`, at most a share `cap` of n each) and by cells `within` these.

    `weight` names a column by which cases are the likelier to be drawn. With `per_session` a session gives one case at
    most: which one is drawn first, and its chance is part of `inclusion`.
    """
    rng = np.random.default_rng(seed)
    frame = binned(cases.reset_index(drop=True))
    frame = one_a_session(frame, rng) if per_session else frame.assign(chance=1.0)
    groups = [own for _, own in frame.groupby("dimension", sort=True)]
    drawn = []
    for own, share in zip(groups, apportioned([len(own) for own in groups], n, floor, cap), strict=True):
        chance = inclusion(np.ones(len(own)) if weight is None else own[weight].to_numpy(float), share)
        cells = own.groupby(list(within), dropna=False).ngroup() if within else None
        drawn.append(own.assign(inclusion=own["chance"] * chance).iloc[systematic(chance, rng, cells)])
    found = _put_together(drawn, frame)
    return Sample(found, _strata(frame, found, ["dimension", *within]))


def matched(
    cases: pd.DataFrame,
    n: int,
    *,
    by: Sequence[str] = ("length", "rounds"),
    per_session: bool = True,
    seed: int = SEED,
) -> Sample:
    """n cases of either side with equal distributions of request length and place in the session.

    In the published set good requests are half as long again as bad ones, so that a judge of nothing but length does
    better than chance.
    """
    rng = np.random.default_rng(seed)
    frame = binned(cases.reset_index(drop=True))
    frame = one_a_session(frame, rng) if per_session else frame.assign(chance=1.0)
    sizes = frame.groupby([*by, "side"]).size().unstack("side", fill_value=0)
    sizes = sizes.reindex(columns=["bad", "good"], fill_value=0)
    shares = apportioned([int(s) for s in sizes.min(axis=1)], n)
    drawn = []
    for name, share in zip(sizes.index, shares, strict=True):
        cell_of = name if isinstance(name, tuple) else (name,)  # of one column a group's name is its value
        of_cell = (frame[list(by)] == list(cell_of)).all(axis=1)
        for side in ("bad", "good") if share else ():
            cell = frame[of_cell & (frame["side"] == side)]
            chance = np.full(len(cell), share / len(cell))
            chosen = cell.iloc[systematic(chance, rng)]
            drawn.append(chosen.assign(inclusion=chosen["chance"] * share / len(cell)))
    found = _put_together(drawn, frame)
    return Sample(found, _strata(frame, found, [*by, "side"]))


def _strata(frame: pd.DataFrame, found: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    cases, drawn = (one.groupby(by, dropna=False).size() for one in (frame, found))
    table = pd.DataFrame({"cases": cases, "drawn": drawn.reindex(cases.index, fill_value=0)})
    return table.reset_index()


def _put_together(drawn: list[pd.DataFrame], frame: pd.DataFrame) -> pd.DataFrame:
    found = pd.concat(drawn) if drawn else frame.iloc[:0].assign(inclusion=pd.Series(dtype=float))
    found = found.drop(columns="chance").sort_index().reset_index(drop=True)
    return found.assign(weight=1 / found["inclusion"])
