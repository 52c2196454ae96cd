"""What happens to a person of a synthetic PAL-Set: situations, device logs, and how dialogues run, as seeded draws.

Dialogues follow the grammar of Mem-PAL, Section 3 and Table 8:

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

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import chain
from typing import Literal, NamedTuple

from perslib.systems.mem_pal.world.people import SimulatedPerson
from perslib.worlds.chats.tasks import AWAKE, ORDER, details, ordinal
from perslib.worlds.lives import Dice

#: A situation is followed by a dialogue when a draw exceeds this, or when the last three were not.
DROP, DROPS_IN_A_ROW = 0.4, 3
QUERY_MONTH = 12
START_HOURS, END_HOURS = (7, 12), (12, 21)
#: How many solutions a topic of the history proposes, with their probabilities.
HISTORY_SOLUTIONS = {1: 0.2, 2: 0.4, 3: 0.4}
Part = Literal["history", "query"]


class Step(NamedTuple):
    """One turn: what user and assistant do, and which query (Q), need (N1 …) or solution (S1 …) it is about."""

    user: str
    user_about: str
    assistant: str
    assistant_about: str


def draw_steps(part: Part, needs: int, dice: Dice) -> tuple[list[Step], list[tuple[str, int]]]:
    """Return the turns of a topic, and the solutions in the order of their proposal: "pos" or "neg", number in that
    list.

    One of the needs or two, half each; solutions of both kinds in the history, liked ones alone in the query set.
    """
    needs = min(needs, 2) if dice.chance(0.5) else 1
    pool = [(side, i) for side in (("pos",) if part == "query" else ("pos", "neg")) for i in range(2)]
    m = dice.between(1, 2) if part == "query" else dice.choose_weighted(HISTORY_SOLUTIONS)
    solutions = dice.some(pool, m)
    steps = [Step("topic_inquiry", "Q", "requirement_prediction", "N1")]
    if needs == 2:
        steps.append(Step("requirement_confirmation", "N1", "requirement_prediction", "N2"))
    steps.append(Step("requirement_confirmation", f"N{needs}", "solution_proposal", "S1"))
    for k in range(1, m + 1):
        here = f"S{k}"
        if dice.chance(0.5):
            steps.append(Step("solution_discussion", here, "solution_discussion", here))
        then = ("solution_proposal", f"S{k + 1}") if k < m else ("feedback_response", here)
        steps.append(Step("solution_feedback", here, *then))
    return steps, solutions


def draw_parts(months: Sequence[int], dice: Dice) -> list[Part | None]:
    """Return for each situation, by the month of its end: the part that its dialogue belongs to, or None without one.

    Drawn anew for the whole user until a situation of December is followed by a dialogue.
    """
    while True:
        parts: list[Part | None] = []
        for month in months:
            dropped = next((i for i, part in enumerate(reversed(parts)) if part is not None), len(parts))
            is_kept = dice.random() > DROP or dropped == DROPS_IN_A_ROW
            parts.append(("query" if month == QUERY_MONTH else "history") if is_kept else None)
        if "query" in parts:
            return parts


def draw_hours(dice: Dice) -> tuple[int, int]:
    """Return the full hours at which a situation begins and ends; its dialogue takes place at the end."""
    return dice.between(*START_HOURS), dice.between(*END_HOURS)


YEAR = 2024
COUNT = {1: 0.02, 2: 0.53, 3: 0.45}  # requirements a situation raises
FEWEST_LOGS = 15


@dataclass(frozen=True)
class Raised:
    """A requirement that a situation raises: two of the needs that may stand behind it, with what speaks for them."""

    requirement_id: str
    query: str
    needs: tuple[str, str]
    evidences: tuple[tuple[str, ...], tuple[str, ...]]
    text: str
    lines: tuple[str, ...]
    """Log lines in the order of what people do."""


@dataclass(frozen=True)
class LifeSituation:
    """Some days of a life: what happened, which requirements came of it, and what the devices logged."""

    start: datetime
    end: datetime
    raised: tuple[Raised, ...]
    text: str
    logs: tuple[tuple[datetime, str], ...]

    @property
    def date(self) -> str:
        """The date of the end, by which files are keyed."""
        return f"{self.end:%Y-%m-%d}"


def make_situations(one: SimulatedPerson, seed: int) -> list[LifeSituation]:
    """Return four to six situations a month, none overlapping another, from the person's first month to December."""
    dice = Dice(seed, one.book.language, one.user, "months")
    situations: list[LifeSituation] = []
    before: set[str] = set()
    for month in range(one.first_month, 13):
        count = dice.between(4, 6)
        width = monthrange(YEAR, month)[1] // count
        for i in range(count):
            low = i * width + dice.between(0, 1)
            high = (i + 1) * width - 1 - dice.between(0, 1)
            begin, finish = draw_hours(dice)
            start, end = datetime(YEAR, month, 1 + low, begin), datetime(YEAR, month, 1 + high, finish)
            fresh = [key for key in one.themes if key not in before]
            keys = dice.some(fresh, dice.choose_weighted(COUNT))
            before = set(keys)
            raised = tuple(_raise_topic(one, key, dice, end.date()) for key in keys)
            logs = _logs(one, raised, start, end, dice)
            situations.append(LifeSituation(start, end, raised, _text(one, raised, start, end), logs))
    return situations


def _raise_topic(one: SimulatedPerson, key: str, dice: Dice, last: date) -> Raised:
    theme = one.themes[key]
    slot = details(one.life, one.book, dice, last.day)
    slot["job"] = one.words.PERSON.format(**slot)
    slot["d"] = ordinal((last + timedelta(days=dice.between(1, 3))).day, one.book.language)

    def fill_pattern(pattern: str) -> str:
        return pattern.format(**slot | {"n": dice.between(3, 9)})

    needs, causes, evidences = [], [], []
    for phrase, (need, cause, line) in zip(one.words.HEARD, dice.some(theme["needs"], 2)):
        why = fill_pattern(cause)
        pair = (fill_pattern(line), one.words.MESSAGE.format(p=slot["p"], cause=why))
        needs.append(need)
        causes.append(one.book.finish(phrase.format(cause=why)))
        evidences.append(tuple(map(one.book.capital, pair)))
    usual = [theme["logs"][i] for i in ORDER]
    chosen = sorted(dice.some(range(len(usual)), dice.between(3, 5)))
    lines = [one.book.capital(fill_pattern(usual[i])) for i in chosen]
    for line in chain(*evidences):
        lines.insert(dice.between(1, len(lines)), line)
    query, text = dice.pick(theme["queries"]), one.book.join_sentences([fill_pattern(theme["scene"]), *causes])
    return Raised(key, query, (needs[0], needs[1]), (evidences[0], evidences[1]), text, tuple(lines))


def _text(one: SimulatedPerson, raised: tuple[Raised, ...], start: datetime, end: datetime) -> str:
    days = [one.words.DAY.format(day=at.day, month=one.words.MONTHS[at.month - 1]) for at in (start, end)]
    times = one.words.TIMES.format(start=days[0], end=days[1])
    return one.book.join_sentences([times, *(r.text for r in raised)])


def _logs(
    one: SimulatedPerson, raised: tuple[Raised, ...], start: datetime, end: datetime, dice: Dice
) -> tuple[tuple[datetime, str], ...]:
    """Return the lines of all requirements, interleaved, with everyday lines between, at different waking minutes."""
    waiting = [list(r.lines) for r in raised]
    own = sum(map(len, waiting))
    everyday = dice.some(one.words.ROUTINE, max(FEWEST_LOGS, own + dice.between(0, 4)) - own)
    friend = dice.pick(one.life.friends)
    waiting.append([one.book.capital(line.format(p=friend, n=dice.between(2, 9))) for line in everyday])
    lines = []
    while any(waiting):
        lines.append(dice.pick([queue for queue in waiting for _ in queue]).pop(0))
    return tuple(zip(_minutes(start, end, len(lines), dice), lines))


def _minutes(start: datetime, end: datetime, count: int, dice: Dice) -> list[datetime]:
    days = (end.date() - start.date()).days
    minutes: set[datetime] = set()
    while len(minutes) < count:
        midnight = datetime.combine(start.date(), time()) + timedelta(days=dice.between(0, days))
        at = midnight + timedelta(minutes=dice.between(*AWAKE))
        if start <= at < end:
            minutes.add(at)
    return sorted(minutes)
