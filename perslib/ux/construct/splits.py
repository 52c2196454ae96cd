"""Drawing cases so that every one has a known chance: strata, exact inclusion probabilities, one seed.

Among the dimensions sizes are shared out by largest remainders under a floor and a cap; within a dimension cases are
drawn systematically, cell by cell of scenario and length and in random order within each, with probabilities in
proportion to their weights (Madow 1949). So π_i = n w_i / Σ w holds exactly, Σ π = n, and no small cell is shut out. A
population's mean is then estimated by weighing each case by 1/π (Horvitz and Thompson 1952). The published programs
take the best-graded cases instead; such a set has only easy ones.

`write_splits` writes them as files in the format of the released splits, which `perslib import uxbench` reads back.

task1_judge_bad, task1_judge_good   a reply to judge
task2_eval                          a request whose reply was rejected on purpose, without that reply
task3_recovery                      a failed reply and the complaint that followed

A case is in one split only. `inclusion` is its chance of being drawn, for estimates about the cases it was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.corpus.uxbench import SPLITS
from perslib.errors import DataError, Problem, UnknownName
from perslib.signals.length import counts
from perslib.stats import SEED
from perslib.ux.construct.rules import plain
from perslib.ux.construct.taxonomy import AXES

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


VERSION = 1
#: Cases of the released splits (UXBench, Table 2).
RELEASED = {"task1_judge_bad": 1000, "task1_judge_good": 1000, "task2_eval": 4900, "task3_recovery": 500}
#: Signals by which users reject a reply on purpose.
ON_PURPOSE = ("dislike", "complain")
_FILES = {split: stem for stem, split in SPLITS.items()}


def splits(
    cases: pd.DataFrame, sizes: Mapping[str, int] | None = None, *, seed: int = 42
) -> dict[str, pd.DataFrame]:
    """The four splits, no case in two of them, Task 1 with equal lengths and places on both sides.

    Recovery comes first, for it needs complaints, then Task 1, then Task 2 from the bad cases that are left. Without
    `sizes` they are those of the release, or smaller in the same proportions where there are fewer bad cases.
    `inclusion` is the chance within a split's own draw, from what the splits before it left.
    """
    sizes = _sizes(cases) if sizes is None else sizes
    if unknown := set(sizes) - set(RELEASED):
        raise UnknownName("split", min(unknown), RELEASED)
    wanted = {name: int(sizes.get(name, 0)) for name in RELEASED}
    if min(wanted.values()) < 0:
        raise DataError(Problem("sizes", f"are {dict(sizes)}, expected 0 or more"))
    bad, good = (cases[cases["side"] == side] for side in ("bad", "good"))

    def drawn(pool: pd.DataFrame, name: str) -> pd.DataFrame:
        return sampled(pool, wanted[name], floor=1, cap=1.0, seed=seed).cases

    made = {"task3_recovery": drawn(bad[bad["complaint"] != ""], "task3_recovery")}
    left = bad[~bad["talk"].isin(made["task3_recovery"]["talk"])]
    each = min(wanted["task1_judge_bad"], wanted["task1_judge_good"])
    both: Sample = matched(pd.concat([left, good]), each, seed=seed)
    made |= {f"task1_judge_{side}": both.cases[both.cases["side"] == side] for side in ("bad", "good")}
    left = left[~left["talk"].isin(made["task1_judge_bad"]["talk"])]
    rejected = left["signals"].map(lambda names: bool(set(names) & set(ON_PURPOSE)))
    made["task2_eval"] = drawn(left[rejected.astype(bool)], "task2_eval")
    return {name: made[name].reset_index(drop=True) for name in RELEASED}


def _sizes(cases: pd.DataFrame) -> dict[str, int]:
    """The sizes of the release, scaled down to the bad cases there are."""
    there = int((cases["side"] == "bad").sum())
    of_bad = sum(n for name, n in RELEASED.items() if name != "task1_judge_good")
    scale = min(1.0, there / of_bad)
    return {name: int(np.ceil(n * scale)) for name, n in RELEASED.items()}


def write_splits(folder: str | Path, made: Mapping[str, pd.DataFrame]) -> Path:
    """Write each split that has cases as JSON Lines under the release's names; what stood there is replaced."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, cases in made.items():
        if name not in _FILES:
            raise UnknownName("split", name, _FILES)
        file = folder / f"{_FILES[name]}.jsonl"
        file.unlink(missing_ok=True)
        if len(cases):
            lines = [
                json.dumps(plain(record(row, name)), ensure_ascii=False) for row in cases.to_dict("records")
            ]
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")
    return folder


def record(row: Mapping[str, Any], split: str) -> dict[str, Any]:
    """A case as a line of its split."""
    head = {
        "cid": row["cid"],
        "case_id": row["case"],
        **({"user": row["user"]} if row["user"] else {}),
        "scenario": row["scenario"],
        "inclusion": float(row["inclusion"]) if "inclusion" in row else None,
        "schema_version": VERSION,
    }
    said = [{"role": m["role"], "content": m["content"]} for m in row["history"]]
    asked = {"role": "user", "content": row["query"]}
    if split == "task2_eval":
        return {**head, "messages": [*said, asked], "query": row["query"], "history": said}
    if split == "task3_recovery":
        failed = {"failed_response": row["reply"], "user_complaint": row["complaint"]}
        return {**head, "history": [*said, asked], **failed, "failure_dimension": row["dimension"]}
    side = row["side"]
    return {
        **head,
        "selected_history": [
            {"turn_index": m["turn_index"], "role": m["role"], "message": m["content"]}
            for m in row["history"]
        ],
        "source_query": {"turn_index": row["query_turn"], "message": row["query"]},
        "agent_response_full": row["reply"],
        "ground_truth": row["gold"],
        "failure_dimension" if side == "bad" else "success_dimension": row["dimension"],
        **({"severity_tier": row["severity_tier"]} if side == "bad" else {"praise_snippet": row["quote"]}),
        "overall_quality": row["quality"],
        "judge_average": row["mean"],
        "judge_scores": {axis: row[f"axis_{axis}"] for axis in AXES},
        "signal_type": row["signal"],
        **{
            name: row[name] for name in ("signal_confidence", "representativeness", "sentiment", "confidence")
        },
        **{name: row[name] for name in ("explanation", "needs_context", "needs_image")},
        "is_duplicate": False,
        "qa_verdict": "keep",
        "qa_issues": [],
        "dislike_turn_id" if side == "bad" else "like_turn_id": row["reply_turn"],
    }
