"""Grading cases, and checking them.

The judge gives five axes from 1 to 5 a case; what follows from them is counted here, never taken from the model.

Mean, quality and whether a case passes are computed from the axes. The model states its own mean and quality as well:
how often they do not follow from its axes says how far it can be trusted with either (`Grades.claimed_rightly`).

Quality assurance fails closed: a case is in only where every checker, read without doubt, says so.

rejected   every checker rejects it
doubtful   a checker doubts or objects, or checkers differ; such cases are for people (`perslib.systems.uxbench.construction.review`)
unread     an answer of a checker could not be used
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import ParsedReply
from perslib.prompts import PromptSettings
from perslib.stats import krippendorff
from perslib.systems.uxbench.construction.mining import MinedCase
from perslib.systems.uxbench.construction.questions import QuestionSettings, select_messages
from perslib.systems.uxbench.construction.rules import Rejection, clip_middle, quality, replace_half_characters
from perslib.systems.uxbench.construction.sources import FilteredSession
from perslib.systems.uxbench.construction.taxonomy import AXES, OBJECTIONS

ROUNDING = 0.11
"""A stated mean may be rounded to one decimal."""


class Grades(NamedTuple):
    """A case's axes, what follows from them, and what the model claimed."""

    axes: dict[str, int]
    mean: float
    quality: str
    claimed_mean: float
    claimed_quality: str
    dimension: str
    """The dimension that the judge would have chosen."""
    note: str

    @property
    def claimed_rightly(self) -> bool:
        """Whether the model's mean and quality follow from its own axes."""
        return abs(self.claimed_mean - self.mean) <= ROUNDING and self.claimed_quality == self.quality


async def grade_cases(
    talk: FilteredSession, cases: Sequence[MinedCase], asking: QuestionSettings, ask: Ask
) -> tuple[list[tuple[MinedCase, Grades]], list[Rejection]]:
    """Return the cases of one side of a session that pass, with their grades, and why the others do not.

    All are graded in one question; those that the answer leaves out are asked for again, by themselves.
    """
    given: dict[int, dict[str, Any]] = {}
    faults: tuple[str, ...] = ()
    for attempt in range(asking.rules.attempts):
        missing = {i: case for i, case in enumerate(cases) if i not in given}
        if not missing:
            break
        reading = await _grade(talk, missing, asking, attempt, ask)
        faults = reading.faults
        given |= reading.value or {}
    passed, rejected = [], []
    for i, case in enumerate(cases):
        if i not in given:
            rejected.append(Rejection("grade", "unread", case.candidate.case, "; ".join(faults)[:300]))
            continue
        grades = _read_grades(given[i], asking)
        if grades.quality in asking.rules.qualities and grades.mean >= asking.rules.least_mean:
            passed.append((case, grades))
        else:
            detail = f"{grades.quality}, mean {grades.mean:.1f}"
            rejected.append(Rejection("grade", "low", case.candidate.case, detail))
    return passed, rejected


async def _grade(
    talk: FilteredSession, cases: Mapping[int, MinedCase], asking: QuestionSettings, attempt: int, ask: Ask
) -> ParsedReply[dict[int, dict[str, Any]]]:
    """Return one question about these cases; what is graded twice and differently counts as not graded."""
    described = [
        {
            **{"number": i, "reply": case.candidate.reply_turn, "request": case.candidate.query_turn},
            **{"signal": f"{case.candidate.signal} ({case.candidate.strength})", "dimension": case.dimension},
            **{"scenario": case.scenario, "explanation": case.explanation},
        }
        for i, case in cases.items()
    ]

    def read(data: Any) -> ParsedReply[dict[int, dict[str, Any]]]:
        given: dict[int, dict[str, Any]] = {}
        twice = set()
        for grade in data["grades"]:
            first = given.setdefault(grade["case"], grade)
            twice |= {grade["case"]} if any(grade[axis] != first[axis] for axis in AXES) else set()
        return ParsedReply({i: grade for i, grade in given.items() if i in cases and i not in twice})

    first = next(iter(cases.values())).candidate
    return await asking.put(
        ask,
        f"grade_{first.side}",
        talk.key,
        read,
        about=len(cases),
        draw=attempt,
        dialogue=select_messages(talk, {case.candidate.reply_turn for case in cases.values()}, asking.rules),
        cases=described,
    )


def _read_grades(answer: dict[str, Any], asking: QuestionSettings) -> Grades:
    axes = {axis: int(answer[axis]) for axis in AXES}
    mean, own = quality(axes, asking.rules)
    note = replace_half_characters(answer["note"]).strip()
    return Grades(axes, mean, own, float(answer["mean"]), answer["quality"], answer["dimension"], note)


class Check(NamedTuple):
    """What one checker says of a case; `verdict` is keep, doubt, reject, or none where it could not be read."""

    verdict: str | None
    objections: tuple[str, ...] = ()
    needs_context: bool = False
    needs_image: bool = False
    fault: str = ""


async def check_case(case: MinedCase, ask: Ask, asking: QuestionSettings) -> Check:
    """Return one checker's opinion of a case."""
    own = case.candidate
    history = PromptSettings(characters=asking.rules.dialogue // 4).cut_history(own.history)
    texts: dict[str, Any] = {
        name: clip_middle(getattr(own, name), asking.rules.shown) for name in ("query", "reply", "after")
    }
    reading = await asking.put(
        ask,
        f"check_{own.side}",
        own.case,
        _read,
        conversation=history,
        **texts,
        signal=f"{own.signal} ({own.strength})",
        dimension=case.dimension,
        explanation=case.explanation,
    )
    return reading.value or Check(None, fault="; ".join(reading.faults)[:300])


def _read(data: Any) -> ParsedReply[Check]:
    objections = tuple(o for o in OBJECTIONS if o in data["objections"])
    return ParsedReply(Check(data["verdict"], objections, data["needs_context"], data["needs_image"]))


def find_objection(checks: Sequence[Check]) -> tuple[str, str] | None:
    """Return the reason for which a case is not in, with a detail; None where all checkers keep it without objection."""
    verdicts = [c.verdict for c in checks]
    objections = ", ".join(dict.fromkeys(o for c in checks for o in c.objections))
    if not checks or None in verdicts:
        return "unread", "; ".join(c.fault for c in checks if c.fault)
    if all(v == "reject" for v in verdicts):
        return "rejected", objections
    if any(v != "keep" for v in verdicts) or objections:
        return "doubtful", objections or ", ".join(str(v) for v in verdicts)
    return None


def checkers_agreement(checks: Mapping[str, Sequence[Check]]) -> float:
    """Return Krippendorff's α of the checkers' verdicts over all cases; missing with one checker."""
    table = pd.DataFrame([[c.verdict for c in own] for own in checks.values()], dtype=object)
    return krippendorff(table) if table.shape[1] > 1 else float("nan")
