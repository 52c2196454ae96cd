"""The memories that judges were shown, noted while they judge: for what they cite, and for what building them took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy

import pandas as pd

from perslib.judge.asking.settings import AskingJudge
from perslib.judge.base import Judge
from perslib.memory import UserMemory
from perslib.memory.base import BuildRecord, Key, RecordingSystem

#: (judge, user, scenario) → the memory that the judge was shown.
Memories = Mapping[tuple[str, str, str], UserMemory]


def note_memories(judge: Judge) -> tuple[Judge, Mapping[Key, BuildRecord]]:
    """Return the same judge, and where the memories that it builds will stand."""
    judge = copy(judge)
    if not isinstance(judge, AskingJudge) or judge.memory is None:
        return judge, {}
    judge.memory = noting = RecordingSystem(judge.memory)
    return judge, noting.notes


def collect_memories(
    judges: Iterable[Judge], evaluate_one: Callable[[Judge], pd.DataFrame]
) -> tuple[pd.DataFrame, Memories]:
    """Return the verdicts of all judges, in one frame, and the memories behind them."""
    memories: dict[tuple[str, str, str], UserMemory] = {}
    frames = []
    for judge, notes in map(note_memories, judges):
        frames.append(evaluate_one(judge))
        memories |= {(judge.name, user, scenario): note.memory for (user, scenario, _), note in notes.items()}
    return pd.concat(frames, ignore_index=True), memories
