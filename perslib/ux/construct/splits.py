"""Cases as files in the format of the released splits, which `perslib import uxbench` reads back.

task1_judge_bad, task1_judge_good   a reply to judge
task2_eval                          a request whose reply was rejected on purpose, without that reply
task3_recovery                      a failed reply and the complaint that followed

A case is in one split only. `inclusion` is its chance of being drawn, for estimates about the cases it was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus.uxbench_cases import SPLITS
from perslib.errors import DataError, Problem, UnknownName
from perslib.ux.construct.rules import plain
from perslib.ux.construct.sampling import Sample, matched, sampled
from perslib.ux.construct.taxonomy import AXES

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
