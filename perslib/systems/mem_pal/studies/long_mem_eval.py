"""LongMemEval's questions on preferences, answered from each memory (Mem-PAL, Table 4).

table = measure_preferences("longmemeval_oracle.json", model, judge)
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from perslib.llm import Backbone
from perslib.prompts import PromptSettings
from perslib.systems.mem_pal.bench.longmemeval import accuracies, answer_questions, read_questions
from perslib.systems.mem_pal.memory.baselines import ConditionMem, MemoryBank, RecurSum, Vanilla
from perslib.systems.mem_pal.memory.h2 import H2Dialogues
from perslib.systems.mem_pal.memory.long_term import LongTermMemory


def make_preference_memories(embedder: str = "auto") -> list[LongTermMemory]:
    """Return the rows of Table 4: no memory, three baselines, and H²Memory of dialogues alone, whole and by halves."""
    options: dict[str, Any] = {"embedder": embedder}
    return [
        Vanilla("en", logs=False, name="vanilla"),
        *(kind("en", embedder=embedder) for kind in (RecurSum, ConditionMem, MemoryBank)),
        H2Dialogues("en", **options),
        H2Dialogues("en", without="principles", name="H²Memory, outlines only", **options),
        H2Dialogues("en", without="outlines", name="H²Memory, principles only", **options),
    ]


def measure_preferences(
    path: str, model: Backbone, judge: Backbone, embedder: str = "auto", seed: int = 42
) -> pd.DataFrame:
    """Return the accuracy in per cent with its interval: columns of
    `perslib.systems.mem_pal.bench.longmemeval.accuracies`.
    """
    questions = read_questions(path)
    table = accuracies(
        answer_questions(make_preference_memories(embedder), questions, model, judge, PromptSettings("en", seed=seed))
    )
    return table.drop(columns="backbone")
