"""Table 4: preferences that dialogues show, asked about in LongMemEval's questions."""

from __future__ import annotations

import pandas as pd

from perslib.llm import Backbone
from perslib.memory.baselines import ConditionMem, MemoryBank, RecurSum, Vanilla
from perslib.memory.h2 import H2Dialogues
from perslib.memory.long import LongTermMemory
from perslib.palbench import Form
from perslib.palbench.longmemeval import accuracies, answered, read_questions
from perslib.studies.notes import Note
from perslib.studies.pal_bench_published import LONGMEMEVAL

MISSING: Note = {
    "en": "LongMemEval is not bundled. With a file of its release, `-p longmemeval=longmemeval_s.json` asks its questions "
    "on preferences here (Table 4); each takes a memory of its own of some fifty dialogues.",
    "zh": "LongMemEval 数据不随本项目附带。若有其发布的文件，加上 `-p longmemeval=longmemeval_s.json`，"
    "就会在此就其偏好类问题提问（表 4）；每个问题都要为约五十段对话建一份记忆。",
}


def memories(embedder: str = "auto") -> list[LongTermMemory]:
    """The rows of Table 4: no memory, three rivals, and H²Memory of dialogues alone, whole and by halves."""
    options = {"embedder": embedder}
    return [
        Vanilla("en", logs=False, name="vanilla"),
        *(kind("en", embedder=embedder) for kind in (RecurSum, ConditionMem, MemoryBank)),
        H2Dialogues("en", **options),
        H2Dialogues("en", without="principles", name="H²Memory, outlines only", **options),
        H2Dialogues("en", without="outlines", name="H²Memory, principles only", **options),
    ]


def preferences(
    path: str, model: Backbone, judge: Backbone, embedder: str = "auto", seed: int = 42
) -> pd.DataFrame:
    """Accuracy in per cent with its interval, and as published (30 questions, other models)."""
    questions = read_questions(path)
    table = accuracies(answered(memories(embedder), questions, model, judge, Form("en", seed=seed)))
    return table.assign(pal_published=table["method"].map(LONGMEMEVAL)).drop(columns="backbone")
