"""Drawing cases so that every one has a known chance, and the released splits made of them.

Cases are drawn systematically (Madow 1949): every so many in an order that keeps dimensions, and within them scenarios and
lengths, together and is random otherwise. So each cell gets its due, rounded up or down, and a case's chance is exact; a
population's mean is then estimated by weighing each case by 1 / `inclusion` (Horvitz and Thompson 1952). The published
programs take the best-graded cases instead; such a set has only easy ones.

`write_splits` writes them as files in the format of the released splits, which `perslib import uxbench` reads back.

task1_judge_bad, task1_judge_good   a reply to judge
task2_eval                          a request whose reply was rejected on purpose, without that reply
task3_recovery                      a failed reply and the complaint that followed

A case is in one split only. `inclusion` is its chance of being drawn, for estimates about the cases it was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem, UnknownName
from perslib.stats import SEED
from perslib.systems.uxbench.construction.rules import to_json_data
from perslib.systems.uxbench.construction.taxonomy import AXES, label_id
from perslib.systems.uxbench.loaders.uxbench import SPLITS
from perslib.systems.uxbench.published import read_ux_table
from perslib.systems.uxbench.signals.text_patterns import count_characters

#: Units (Chinese characters or words) of a request at which a length bin ends.
LENGTHS = (12, 30, 80)
STRATA = ("scenario", "length")


def systematic(cells: pd.Series, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Draw n places, each with the chance n / N, so that each cell gets its due, rounded up or down."""
    order = np.lexsort((rng.random(len(cells)), cells))
    every = len(cells) / max(n, 1)
    return np.sort(order[np.floor((np.arange(n) + rng.random()) * every).astype(int)])


def add_bins(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the cases with `length` (bin of the request's units) and `rounds` (bin of the messages before it)."""
    counted = count_characters(list(cases["query"]))
    length = np.searchsorted(LENGTHS, counted.cjk + counted.words, side="left")
    before = np.array([len(h) for h in cases["history"]], dtype=int)
    names = [f"≤{LENGTHS[0]}", *(f"{a + 1}–{b}" for a, b in pairwise(LENGTHS)), f">{LENGTHS[-1]}"]
    rounds = np.select([before == 0, before <= 2, before <= 6], ["first", "second", "3rd–4th"], "later")
    return cases.assign(length=[names[i] for i in length], rounds=rounds)


def one_a_session(cases: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return one case of every session, drawn; `chance` is 1 over the number of its cases."""
    order = cases.iloc[rng.permutation(len(cases))]
    chance = 1 / cases.groupby("talk")["case"].transform("size").astype(float)
    return cases.assign(chance=chance).loc[order.drop_duplicates("talk").index.sort_values()]


def sample_cases(cases: pd.DataFrame, n: int, *, seed: int = SEED) -> pd.DataFrame:
    """Draw n cases, or all, stratified by dimension and by `STRATA` within; a session gives one case at most.

    Columns: those of the cases, length, rounds, inclusion (the chance of having been drawn).
    """
    rng = np.random.default_rng(seed)
    frame = one_a_session(add_bins(cases.reset_index(drop=True)), rng)
    n = min(n, len(frame))
    drawn = frame.iloc[systematic(_cells(frame, ["dimension", *STRATA]), n, rng)]
    return _set_inclusion(drawn, drawn["chance"] * n / max(1, len(frame)))


def sample_matched_cases(
    cases: pd.DataFrame, n: int, *, by: Sequence[str] = ("length", "rounds"), seed: int = SEED
) -> pd.DataFrame:
    """Draw n cases of either side with equal distributions of request length and place in the session.

    In the published set good requests are half as long again as bad ones, so that a judge of nothing but length does
    better than chance. In each cell as many of the larger side are drawn as the smaller has; of these pairs n are drawn.
    Columns as of `sampled`.
    """
    rng = np.random.default_rng(seed)
    frame = one_a_session(add_bins(cases.reset_index(drop=True)), rng)
    frame = frame.iloc[rng.permutation(len(frame))].assign(cell=lambda table: _cells(table, by))
    of_side = frame.groupby(["cell", "side"])["case"]
    sizes = of_side.size().unstack(fill_value=0).reindex(columns=["bad", "good"], fill_value=0)
    pairs = frame["cell"].map(sizes.min(axis=1))
    frame["chance"] *= pairs / of_side.transform("size")
    frame = frame[of_side.cumcount() < pairs].sort_values("cell", kind="stable")
    bad, good = (frame[frame["side"] == side] for side in ("bad", "good"))
    n = min(n, len(bad))
    places = systematic(bad["cell"], n, rng)
    drawn = pd.concat([bad.iloc[places], good.iloc[places]]).drop(columns="cell")
    return _set_inclusion(drawn, drawn["chance"] * n / max(1, len(bad)))


def _cells(frame: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    return frame.groupby(list(by), dropna=False).ngroup()


def _set_inclusion(drawn: pd.DataFrame, inclusion: pd.Series) -> pd.DataFrame:
    return drawn.drop(columns="chance").assign(inclusion=inclusion).sort_index().reset_index(drop=True)


VERSION = 1
#: Cases of the released splits (UXBench, Table 2).
RELEASED = {"task1_judge_bad": 1000, "task1_judge_good": 1000, "task2_eval": 4900, "task3_recovery": 500}
#: Signals by which users reject a reply on purpose.
ON_PURPOSE = ("dislike", "complain")


def splits(cases: pd.DataFrame, sizes: Mapping[str, int] | None = None, *, seed: int = 42) -> dict[str, pd.DataFrame]:
    """Return the four splits, no case in two of them, Task 1 with equal lengths and places on both sides.

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

    def sample_side(pool: pd.DataFrame, name: str) -> pd.DataFrame:
        return sample_cases(pool, wanted[name], seed=seed)

    made = {"task3_recovery": sample_side(bad[bad["complaint"] != ""], "task3_recovery")}
    left = bad[~bad["talk"].isin(made["task3_recovery"]["talk"])]
    each = min(wanted["task1_judge_bad"], wanted["task1_judge_good"])
    both = sample_matched_cases(pd.concat([left, good]), each, seed=seed)
    made |= {f"task1_judge_{side}": both[both["side"] == side] for side in ("bad", "good")}
    left = left[~left["talk"].isin(made["task1_judge_bad"]["talk"])]
    rejected = left["signals"].map(lambda names: bool(set(names) & set(ON_PURPOSE)))
    made["task2_eval"] = sample_side(left[rejected.astype(bool)], "task2_eval")
    return {name: made[name].reset_index(drop=True) for name in RELEASED}


def count_unused(cases: pd.DataFrame, made: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Count the cases that `splits` left out of all splits, by side and reason."""
    wanted, drawn = _sizes(cases), pd.concat(list(made.values()))
    left = cases[~cases["case"].isin(drawn["case"])]
    is_full = len(made["task1_judge_bad"]) >= min(wanted["task1_judge_bad"], wanted["task1_judge_good"])
    is_rejected = left["signals"].map(lambda names: bool(set(names) & set(ON_PURPOSE))).astype(bool)
    fits_more = (left["side"] == "bad") & (is_rejected | (left["complaint"] != ""))
    reasons = [
        "another case of the same session is in a split",
        "the splits that could take it are full; their sizes are in proportion to the release's",
        "no case of the other side has as long a request at the same place in its session",
    ]
    chosen = np.select([left["talk"].isin(drawn["talk"]), fits_more | is_full], reasons[:2], reasons[2])
    return pd.Series(chosen, left.index, dtype="str").groupby([left["side"], chosen]).size()


def _sizes(cases: pd.DataFrame) -> dict[str, int]:
    """Return the sizes of the release, scaled down to the bad cases there are."""
    there = int((cases["side"] == "bad").sum())
    of_bad = sum(n for name, n in RELEASED.items() if name != "task1_judge_good")
    scale = min(1.0, there / of_bad)
    return {name: int(np.ceil(n * scale)) for name, n in RELEASED.items()}


def write_splits(folder: str | Path, made: Mapping[str, pd.DataFrame]) -> Path:
    """Write each split that has cases as JSON Lines under the release's names; what stood there is replaced."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, cases in made.items():
        if name not in SPLITS:
            raise UnknownName("split", name, SPLITS)
        file = folder / f"{SPLITS[name]}.jsonl"
        file.unlink(missing_ok=True)
        if len(cases):
            lines = [
                json.dumps(to_json_data(record(row, name)), ensure_ascii=False) for row in cases.to_dict("records")
            ]
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")
    return folder


def record(row: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return a case as a line of its split."""
    head = {
        "cid": row["cid"],
        "case_id": row["case"],
        **({"user": row["user"]} if row["user"] else {}),
        "scenario": row["scenario"],
        "inclusion": float(row["inclusion"]) if "inclusion" in row else None,
        "schema_version": VERSION,
    }
    messages = [{"role": m["role"], "content": m["content"]} for m in row["history"]]
    asked = {"role": "user", "content": row["query"]}
    if split == "task2_eval":
        return {**head, "messages": [*messages, asked], "query": row["query"], "history": messages}
    if split == "task3_recovery":
        failed = {"failed_response": row["reply"], "user_complaint": row["complaint"]}
        return {**head, "history": [*messages, asked], **failed, "failure_dimension": row["dimension"]}
    side = row["side"]
    return {
        **head,
        "selected_history": [
            {"turn_index": m["turn_index"], "role": m["role"], "message": m["content"]} for m in row["history"]
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
        **{name: row[name] for name in ("signal_confidence", "representativeness", "sentiment", "confidence")},
        **{name: row[name] for name in ("explanation", "needs_context", "needs_image")},
        "is_duplicate": False,
        "qa_verdict": "keep",
        "qa_issues": [],
        "dislike_turn_id" if side == "bad" else "like_turn_id": row["reply_turn"],
    }


#: Split as imported → split in the published tables.
PUBLISHED = {"task1_judge_bad": "judge_bad", "task1_judge_good": "judge_good", "task2_eval": "eval", "task3_recovery": "recovery"}  # fmt: skip


def split_statistics(cases: pd.DataFrame) -> pd.DataFrame:
    """Describe imported splits as the paper's Table 2 does, its numbers beside.

    A turn is a user message up to the request. Columns: split, instances, multi_turn (percent), turns, query_characters,
    response_characters, each with what is published under `…_published`.
    """
    turns = cases["history"].map(lambda history: 1 + sum(message["role"] == "user" for message in history))
    reply = cases["reply"].str.len()
    each = pd.DataFrame(
        {
            "split": cases["task"].map(PUBLISHED),
            "multi_turn": 100.0 * (cases["history"].str.len() > 0),
            "turns": turns,
            "query_characters": cases["query"].str.len(),
            "response_characters": reply.where((reply > 0) & cases["task"].str.startswith("task1")),
        }
    )
    table = each.groupby("split", sort=False).mean()
    table.insert(0, "instances", each["split"].value_counts())
    there = read_ux_table("table2").set_index("split").add_suffix("_published")
    ordered = [name for column in table for name in (column, f"{column}_published")]
    return table.join(there)[ordered].reset_index()


def dimension_shares(cases: pd.DataFrame) -> pd.DataFrame:
    """Count what good and bad cases of Task 1 were annotated with, beside the paper's Table 7.

    Columns: side, dimension (our id; other where a label is not known), cases, percent, percent_published. No row for a
    side without annotations.
    """
    sides = cases["gold"].map({1: "good", -1: "bad"}).where(cases["task"].str.startswith("task1"))
    known = cases.assign(side=sides)[(cases["dimension"] != "") & sides.notna()]
    known = known.assign(dimension=[label_id(name, side) for name, side in zip(known["dimension"], known["side"])])
    counted = known.groupby(["side", "dimension"]).size().rename("cases")
    there = read_ux_table("table7").set_index(["side", "dimension"])["cases"] / 10
    table = pd.concat([counted, there.rename("percent_published")], axis=1).reset_index()
    table = table[table["side"].isin(known["side"])].fillna({"cases": 0}).astype({"cases": int})
    table.insert(3, "percent", 100 * table["cases"] / table.groupby("side")["cases"].transform("sum"))
    return table.sort_values(["side", "cases"], ascending=[True, False], kind="stable", ignore_index=True)
