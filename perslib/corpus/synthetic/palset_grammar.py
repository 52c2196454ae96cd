"""How a PAL-Set is laid out in time and how its dialogues run (Mem-PAL, Section 3 and Table 8), as seeded draws.

    topic      := open need2? first_proposal solution(1) … solution(m)
    open       := (topic_inquiry Q, requirement_prediction N1)
    need2      := (requirement_confirmation N1, requirement_prediction N2)         with two needs
    proposal   := (requirement_confirmation Nn, solution_proposal S1)
    solution k := (solution_discussion Sk, solution_discussion Sk)?
                  (solution_feedback Sk, solution_proposal Sk+1 | feedback_response Sm)

So a topic of n needs and m solutions takes 1 + n + m turns and one for each discussion. The paper lets a discussion
follow on a feedback; as in the authors' programs, it is the next proposal or the closing response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perslib.corpus.synthetic.draws import Dice

#: A situation is followed by a dialogue when a draw exceeds this, or when the last three were not.
DROP, DROPS_IN_A_ROW = 0.4, 3
QUERY_MONTH = 12
START_HOURS, END_HOURS = (7, 12), (12, 21)
#: How many solutions a topic of the history proposes, with their probabilities.
HISTORY_SOLUTIONS = {1: 0.2, 2: 0.4, 3: 0.4}
Part = Literal["history", "query"]


@dataclass(frozen=True)
class Step:
    """One turn: what user and assistant do, and which query (Q), need (N1 …) or solution (S1 …) it is about."""

    user: str
    user_about: str
    assistant: str
    assistant_about: str


@dataclass(frozen=True)
class Plan:
    """What a topic's dialogue goes through, drawn before anything is said."""

    needs: int
    solutions: tuple[tuple[str, int], ...]
    """("pos" or "neg", number in that list), in the order of their proposal."""
    discussed: tuple[bool, ...]

    def steps(self) -> list[Step]:
        """The turns of the topic."""
        last = f"N{self.needs}"
        steps = [Step("topic_inquiry", "Q", "requirement_prediction", "N1")]
        if self.needs == 2:
            steps.append(Step("requirement_confirmation", "N1", "requirement_prediction", "N2"))
        steps.append(Step("requirement_confirmation", last, "solution_proposal", "S1"))
        for k, is_discussed in enumerate(self.discussed, start=1):
            here = f"S{k}"
            if is_discussed:
                steps.append(Step("solution_discussion", here, "solution_discussion", here))
            if k < len(self.solutions):
                steps.append(Step("solution_feedback", here, "solution_proposal", f"S{k + 1}"))
            else:
                steps.append(Step("solution_feedback", here, "feedback_response", here))
        return steps


def draw_plan(part: Part, needs: int, dice: Dice) -> Plan:
    """One or two needs, half each; solutions: of both kinds in the history, liked ones alone in the query set."""
    n = min(needs, 2) if dice.chance(0.5) else 1
    if part == "query":
        pool = [("pos", 0), ("pos", 1)]
        m = dice.between(1, 2)
    else:
        pool = [(side, i) for side in ("pos", "neg") for i in range(2)]
        m = dice.weighted(HISTORY_SOLUTIONS)
    return Plan(n, tuple(dice.some(pool, m)), tuple(dice.chance(0.5) for _ in range(m)))


def draw_parts(months: Sequence[int], dice: Dice) -> list[Part | None]:
    """For each situation, by the month of its end: the part that its dialogue belongs to, or None without one.

    Drawn anew for the whole user until a situation of December is followed by a dialogue.
    """
    if QUERY_MONTH not in months:
        raise ValueError("no situation ends in December, so there can be no query session")
    while True:
        parts: list[Part | None] = []
        for month in months:
            dropped = next((i for i, part in enumerate(reversed(parts)) if part is not None), len(parts))
            kept = dice.random() > DROP or dropped == DROPS_IN_A_ROW
            parts.append(("query" if month == QUERY_MONTH else "history") if kept else None)
        if "query" in parts:
            return parts


def draw_hours(dice: Dice) -> tuple[int, int]:
    """The full hours at which a situation begins and ends; its dialogue takes place at the end."""
    return dice.between(*START_HOURS), dice.between(*END_HOURS)
