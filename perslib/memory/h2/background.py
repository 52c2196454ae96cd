"""The background (Mem-PAL, M_B): one sentence each on work, health, family and leisure, rewritten session by session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perslib.llm import Steps
from perslib.memory.checked import Question, Reading, checked, failures
from perslib.memory.h2.log_graph import Render
from perslib.memory.h2.store import ASPECTS, Chapter, Situation, State

EMPTY: State = dict.fromkeys(ASPECTS, "")


def update(
    earlier: Sequence[Chapter],
    session: str,
    days: tuple[str, str],
    situations: Sequence[Situation],
    render: Render,
) -> Steps[tuple[State, tuple[str, ...]]]:
    """The background after a session's situations, which took place between these days, and what failed.

    Only the aspects that the model lists are replaced; where it fails, and where nothing happened, all stay.
    """
    state = earlier[-1].background if earlier else EMPTY
    if not situations:
        return state, ()
    request = render(
        "h2_background",
        background=[{"aspect": aspect, "text": text} for aspect, text in state.items()],
        since=f"{_start(earlier) or days[0]} ~ {(earlier[-1].at[:10] if earlier else '') or days[0]}",
        situations=[situation.text for situation in situations],
        days=" ~ ".join(days),
    )
    question = Question(f"{session}: background", request, _read)
    (reading,) = yield from checked([question])
    return {**state, **(reading.value or {})}, failures([question], [reading])


def _start(earlier: Sequence[Chapter]) -> str | None:
    """The day of the user's first log."""
    return next((chapter.first_log[:10] for chapter in earlier if chapter.first_log), None)


def _read(data: Any) -> Reading[State]:
    new: State = {}
    wrong = []
    for said in data["updates"]:
        if said["aspect"] in new:
            wrong.append(f"{said['aspect']} is given twice")
        elif not said["text"].strip():
            wrong.append(f"{said['aspect']} is empty")
        else:
            new[said["aspect"]] = said["text"].strip()
    return Reading(new, tuple(wrong))
