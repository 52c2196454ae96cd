"""The judge: five axes from 1 to 5 a case; what follows from them is counted here, never taken from the model.

Mean, quality and whether a case passes are computed from the axes. The model states its own mean and quality as well:
how often they do not follow from its axes says how far it can be trusted with either (`Grades.claimed_rightly`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from perslib.llm import Steps
from perslib.memory.checked import Reading
from perslib.ux.construct.asking import Asking
from perslib.ux.construct.dialogue import shown
from perslib.ux.construct.mining import Mined
from perslib.ux.construct.rules import Rejection, quality, readable
from perslib.ux.construct.sources import Talk
from perslib.ux.construct.taxonomy import AXES

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


def graded(
    talk: Talk, cases: Sequence[Mined], asking: Asking
) -> Steps[tuple[list[tuple[Mined, Grades]], list[Rejection]]]:
    """The cases of one side of a session that pass, with their grades, and why the others do not.

    All are graded in one question; those that the answer leaves out are asked for again, by themselves.
    """
    given: dict[int, dict[str, Any]] = {}
    faults: tuple[str, ...] = ()
    for attempt in range(asking.rules.attempts):
        missing = [i for i in range(len(cases)) if i not in given]
        if not missing:
            break
        reading = yield from asking.put(_task(talk, [(i, cases[i]) for i in missing], asking, attempt))
        faults = reading.faults
        given |= reading.value or {}
    passed, rejected = [], []
    for i, case in enumerate(cases):
        if i not in given:
            rejected.append(Rejection("grade", "unread", case.candidate.case, "; ".join(faults)[:300]))
            continue
        grades = _counted(given[i], asking)
        if grades.quality in asking.rules.qualities and grades.mean >= asking.rules.least_mean:
            passed.append((case, grades))
        else:
            detail = f"{grades.quality}, mean {grades.mean:.1f}"
            rejected.append(Rejection("grade", "low", case.candidate.case, detail))
    return passed, rejected


def _task(talk: Talk, cases: Sequence[tuple[int, Mined]], asking: Asking, attempt: int) -> Any:
    turns = {c.candidate.reply_turn for _, c in cases}
    shown_cases = [
        {
            "number": i,
            "reply": c.candidate.reply_turn,
            "request": c.candidate.query_turn,
            "signal": f"{c.candidate.signal} ({c.candidate.strength})",
            "dimension": c.dimension,
            "scenario": c.scenario,
            "explanation": c.explanation,
        }
        for i, c in cases
    ]
    note = "依据清楚，" * 8 if asking.language == "zh" else "The signal is plain to see. " * 3
    usual = [
        {
            "case": i,
            **dict.fromkeys(AXES, 4),
            "mean": 4.0,
            "quality": "high",
            "dimension": c.dimension,
            "note": note,
        }
        for i, c in cases
    ]
    return asking.task(
        "grade",
        f"grade_{cases[0][1].candidate.side}",
        talk.key,
        _reader({i for i, _ in cases}),
        {"grades": usual},
        about=len(cases),
        draw=attempt,
        dialogue=shown(talk, turns, asking.rules),
        cases=shown_cases,
    )


def _reader(wanted: set[int]) -> Any:
    def read(data: Any) -> Reading[dict[int, dict[str, Any]]]:
        given: dict[int, dict[str, Any]] = {}
        twice = set()
        for said in data["grades"]:
            number = said["case"]
            if number in given and any(said[a] != given[number][a] for a in AXES):
                twice.add(number)
            given.setdefault(number, said)
        # Two different gradings of one case are none; a number that nobody asked for is nothing.
        return Reading({i: said for i, said in given.items() if i in wanted and i not in twice})

    return read


def _counted(said: dict[str, Any], asking: Asking) -> Grades:
    axes = {axis: int(said[axis]) for axis in AXES}
    mean, own = quality(axes, asking.rules)
    return Grades(
        axes,
        mean,
        own,
        float(said["mean"]),
        said["quality"],
        said["dimension"],
        readable(said["note"]).strip(),
    )
