"""What a construction will take, before it starts: its stages gone through with answers of the usual length."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.llm import Backbone, QueuedRequest, dry_run
from perslib.llm.ledger import Spending
from perslib.prompts import read_phrases
from perslib.systems.uxbench.construction.pipeline import construct
from perslib.systems.uxbench.construction.rules import Rules
from perslib.systems.uxbench.construction.sources import FilteredSession, read_filtered_sessions
from perslib.systems.uxbench.construction.taxonomy import AXES, DIMENSIONS, SCENARIOS
from perslib.systems.uxbench.loaders.logs import Source


def estimate_construction(
    source: Source | Corpus | Sequence[FilteredSession],
    *,
    miner: Backbone,
    judge: Backbone | None = None,
    checkers: Sequence[Backbone] = (),
    language: str = "zh",
    rules: Rules | None = None,
    prompts: str | Path | None = None,
    every: int = 1,
) -> pd.DataFrame:
    """Estimate what the models are asked at most, if they keep every candidate: calls, tokens and cost, a row a stage.

    It is a dry run of the construction with answers of the usual length. Re-asks come on top, what the answer cache has
    goes off. Where there are many sessions, each `every`-th is gone through and counted for all; sessions that `talks`
    has read already may stand for their source.
    """
    if every < 1:
        raise DataError(Problem("every", f"is {every}, expected 1 or more"))
    rules = rules or Rules()
    is_read = isinstance(source, Sequence) and not isinstance(source, str)
    sessions: list[FilteredSession] = list(source) if is_read else read_filtered_sessions(source, rules, [])  # type: ignore[arg-type]
    stages = {"mine": [miner], "grade": [judge or miner], "check": list(checkers) or [judge or miner]}
    usual = partial(make_usual_answer, language)
    dry = {stage: [dry_run(model, usual=usual) for model in models] for stage, models in stages.items()}
    models: dict[str, Any] = {"miner": dry["mine"][0], "judge": dry["grade"][0], "checkers": dry["check"]}
    construct(sessions[::every], **models, language=language, rules=rules, prompts=prompts, progress=False)
    scale = len(sessions) / max(1, len(sessions[::every]))
    rows = []
    for stage, asked in dry.items():
        spent = sum((one.ledger.total for one in asked), Spending())
        counts = [round(scale * n) for n in (spent.calls, spent.tokens_in, spent.tokens_out)]
        rows.append((stage, *counts, None if spent.cost is None else scale * spent.cost))
    columns = ["stage", "calls", "tokens_in", "tokens_out", "cost"]
    return pd.DataFrame(rows, columns=columns).set_index("stage")


def make_usual_answer(language: str, question: QueuedRequest) -> dict[str, Any]:
    """Make the answer of a model that keeps every candidate, in texts of the usual length."""
    fields = question.request.shown or {}
    texts = read_phrases("stand_in", language)
    step, _, side = (question.request.prompt or "").partition("@")[0].partition("uxc_")[2].partition("_")
    match step:
        case "mine":
            replies = map(int, fields["candidates"].split(", "))
            return {"cases": [_mine(reply, side, fields["dialogue"], texts["explanation"]) for reply in replies]}
        case "grade":
            grades = {**dict.fromkeys(AXES, 4), "mean": 4.0, "quality": "high", "note": texts["note"]}
            return {
                "grades": [
                    {"case": case["number"], **grades, "dimension": case["dimension"]} for case in fields["cases"]
                ]
            }
    return {"verdict": "keep", "objections": [], "needs_context": False, "needs_image": False}


def _mine(reply: int, side: str, dialogue: Sequence[dict[str, Any]], explanation: str) -> dict[str, Any]:
    """Return a miner's label of a reply, with the user's next words as what shows it."""
    later = (line for line in dialogue if line["number"] > reply and line["role"] == "user")
    nothing: dict[str, Any] = {"number": 0, "text": ""}
    after = next(later, nothing)
    return {
        "reply": reply,
        "shown_in": after["number"],
        "quote": after["text"][:30],
        "dimension": DIMENSIONS[side][0],
        "scenario": SCENARIOS[0],
        "sentiment": "implicit",
        "representativeness": "medium",
        "confidence": 80,
        "explanation": explanation,
    }
