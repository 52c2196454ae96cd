"""Topic outlines (Mem-PAL, M_T): what a dialogue was about, topic by topic, and each requirement made concrete.

A requirement as it was said (r) leaves out what both sides knew. It is refined (r̂) with the three situations of the
same session that are nearest to it, and with the background of their aspects; r̂ takes its place from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from perslib.llm import Steps
from perslib.memory.checked import Question, Reading, checked, failures
from perslib.memory.h2.log_graph import Render
from perslib.memory.h2.space import Space
from perslib.memory.h2.store import Chapter, Outline, Situation, Solution, State
from perslib.memory.long import Session

Outlines = tuple[tuple[Outline, ...], tuple[str, ...]]
"""Outlines, and what failed."""


def outline(session: Session, render: Render) -> Steps[Outlines]:
    """The topics of a session's dialogue; none for one without turns, or where nothing was required."""
    if not session.turns:
        return (), ()
    turns = [{"turn": n, "user": t.user, "assistant": t.assistant} for n, t in enumerate(session.turns, 1)]
    read = partial(read_outlines, session=session.id, turns=len(turns))
    question = Question(f"{session.id}: outlines", render("h2_outline", turns=turns), read)
    (reading,) = yield from checked([question])
    return tuple(reading.value or ()), failures([question], [reading])


def read_outlines(data: Any, session: str, turns: int) -> Reading[list[Outline]]:
    """The topics; together they should cover every turn once, in order. Wrong spans are named and cut to size."""
    kept: list[Outline] = []
    wrong: list[str] = []
    next_turn = 1
    for said in data["outlines"]:
        first, last = said["first_turn"], said["last_turn"]
        if first != next_turn or not first <= last <= turns:
            wrong.append(f"a topic runs from turn {first} to {last}, expected to begin at {next_turn}")
        next_turn = last + 1
        if not (requirement := said["requirement"].strip()):
            wrong.append("a requirement is empty")
            continue
        if not said["preference"].strip():
            wrong.append("a preference is empty")
        low, high = sorted(min(max(turn, 1), turns) for turn in (first, last))
        solutions = tuple(
            Solution(s["solution"].strip(), s["user_feedback"].strip(), s["feedback_type"])
            for s in said["solutions"]
            if s["solution"].strip()
        )
        id = f"{session}_topic{len(kept)}"
        kept.append(Outline(id, (low, high), requirement, requirement, solutions, said["preference"].strip()))
    if data["outlines"] and next_turn != turns + 1:
        wrong.append(f"the topics end at turn {next_turn - 1} of {turns}")
    return Reading(kept, tuple(wrong))


def refine(
    chapter: Chapter, outlines: Sequence[Outline], space: Space, k: int, render: Render
) -> Steps[Outlines]:
    """The outlines with their requirements refined, all at once; as they were said where no logs were heard."""
    if not chapter.situations or not outlines:
        return tuple(outlines), ()
    questions = [_refinement(chapter, one, space, k, render) for one in outlines]
    readings = yield from checked(questions)
    refined = [replace(o, requirement=r.value or o.requirement) for o, r in zip(outlines, readings)]
    return tuple(refined), failures(questions, readings)


def nearest_situations(
    situations: Sequence[Situation], text: str, space: Space, k: int
) -> list[tuple[int, Situation]]:
    """The k situations nearest to a text, with their places."""
    found = space.nearest(text, [s.text for s in situations], k)
    return [(i, situations[i]) for i in found]


def behind(situations: Sequence[Situation], state: State) -> list[tuple[str, str]]:
    """What is known of the aspects of these situations: (aspect, sentence), in the order they first come up."""
    aspects = dict.fromkeys(aspect for situation in situations for aspect in situation.aspects)
    return [(aspect, state[aspect]) for aspect in aspects if state.get(aspect)]


def _refinement(chapter: Chapter, one: Outline, space: Space, k: int, render: Render) -> Question[str]:
    near = [s for _, s in nearest_situations(chapter.situations, one.stated, space, k)]
    request = render(
        "h2_refine",
        background=[{"aspect": a, "text": text} for a, text in behind(near, chapter.background)],
        situations=[situation.text for situation in near],
        requirement=one.stated,
    )

    def read(data: Any) -> Reading[str]:
        said = data["requirement"].strip()
        return Reading(said) if said else Reading(None, ("the requirement is empty",))

    return Question(f"{one.id}: refinement", request, read)
