"""LongMemEval's questions, answered from each memory within one budget of text (Mem-PAL's Table 4 and all other kinds).

answers = answer_all_kinds("longmemeval_s.json", model, judge, budget=1000, limit=70)
compare_kinds(answers)
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from perslib.llm import Backbone
from perslib.prompts import PromptSettings
from perslib.systems.mem_pal.bench.longmemeval import (
    GRADINGS,
    KINDS,
    accuracies,
    answer_questions,
    draw_questions,
    read_questions,
)
from perslib.systems.mem_pal.memory.baselines import (
    ConditionMem,
    MemoryBank,
    RecurSum,
    SessionRetrieval,
    TurnRetrieval,
    Vanilla,
)
from perslib.systems.mem_pal.memory.exported import ExportedMemory
from perslib.systems.mem_pal.memory.h2 import H2Dialogues
from perslib.systems.mem_pal.memory.long_term import LongTermMemory


def make_dialogue_memories(embedder: str = "auto", budget: int | None = None) -> list[LongTermMemory]:
    """Return memories of dialogues alone: none, turns and sessions looked up, three baselines, and H²Memory, whole and by
    halves; each hands over at most `budget` tokens.
    """
    options: dict[str, Any] = {"embedder": embedder}
    memories: list[LongTermMemory] = [
        Vanilla("en", logs=False, name="vanilla"),
        *(kind("en", **options) for kind in (TurnRetrieval, SessionRetrieval, RecurSum, ConditionMem, MemoryBank)),
        H2Dialogues("en", **options),
        H2Dialogues("en", without="principles", name="H²Memory, outlines only", **options),
        H2Dialogues("en", without="outlines", name="H²Memory, principles only", **options),
    ]
    for memory in memories:
        memory.budget = budget
    return memories


def answer_all_kinds(
    path: str,
    model: Backbone,
    judge: Backbone,
    embedder: str = "auto",
    seed: int = 42,
    *,
    budget: int | None = None,
    limit: int = 0,
    grading: str = GRADINGS[0],
    exported: str = "",
) -> pd.DataFrame:
    """Return the graded answers from every memory to a file's questions, or to `limit` of them from all kinds alike:
    columns of `perslib.systems.mem_pal.bench.longmemeval.answer_questions`.

    `exported` is the path of what a memory system of one's own wrote (`ExportedMemory`), the id of a question in the place of a
    user; it answers beside the others.
    """
    questions = draw_questions(read_questions(path), limit, seed)
    memories = make_dialogue_memories(embedder, budget)
    if exported:
        own = ExportedMemory("en", path=exported, embedder=embedder)
        own.budget = budget
        memories = [own, *memories]
    return answer_questions(memories, questions, model, judge, PromptSettings("en", seed=seed), grading)


def compare_kinds(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy in percent of every memory over all questions, and by kind.

    Columns: method, accuracy, evidence, and each kind that was asked, with bounds; failed. `evidence` is the mean percent
    of the sessions with the answer of which the memory handed over something.
    """
    wide = accuracies(answers).drop(columns=["backbone", "questions"]).set_index("method")
    by_kind = accuracies(answers, by_kind=True).set_index("method")
    for kind in KINDS:
        own = by_kind[by_kind["kind"] == kind]
        if len(own):
            name = f"{kind} ({own['questions'].iloc[0]})"
            for end in ("", "_low", "_high"):
                wide[f"{name}{end}"] = own[f"accuracy{end}"]
    return wide[[*wide.columns.drop("failed"), "failed"]].reset_index()
