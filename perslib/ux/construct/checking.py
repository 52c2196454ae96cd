"""Quality assurance that fails closed: a case is in only where every checker, read without doubt, says so.

rejected   every checker rejects it
doubtful   a checker doubts or objects, or checkers differ; such cases are for people (`perslib.ux.construct.review`)
unread     an answer of a checker could not be used
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from perslib.llm import Steps
from perslib.memory.checked import Reading
from perslib.ux.asking import Form
from perslib.ux.coefficients import krippendorff
from perslib.ux.construct.asking import Asking
from perslib.ux.construct.mining import Mined
from perslib.ux.construct.rules import clipped
from perslib.ux.construct.taxonomy import OBJECTIONS


class Check(NamedTuple):
    """What one checker says of a case; `verdict` is keep, doubt, reject, or none where it could not be read."""

    verdict: str | None
    objections: tuple[str, ...] = ()
    needs_context: bool = False
    needs_image: bool = False
    fault: str = ""


def checked(case: Mined, asking: Asking) -> Steps[Check]:
    """One checker's opinion of a case."""
    own = case.candidate
    history = Form(characters=asking.rules.dialogue // 4).shown(own.history)
    usual = {"verdict": "keep", "objections": [], "needs_context": False, "needs_image": False}
    task = asking.task(
        "check",
        f"check_{own.side}",
        own.case,
        _read,
        usual,
        conversation=history,
        query=clipped(own.query, asking.rules.shown),
        reply=clipped(own.reply, asking.rules.shown),
        after=clipped(own.after, asking.rules.shown),
        signal=f"{own.signal} ({own.strength})",
        dimension=case.dimension,
        explanation=case.explanation,
    )
    reading = yield from asking.put(task)
    return reading.value or Check(None, fault="; ".join(reading.faults)[:300])


def _read(data: Any) -> Reading[Check]:
    objections = tuple(o for o in OBJECTIONS if o in data["objections"])
    return Reading(Check(data["verdict"], objections, data["needs_context"], data["needs_image"]))


def why_not(checks: Sequence[Check]) -> tuple[str, str] | None:
    """The reason for which a case is not in, with a detail; None where all checkers keep it without objection."""
    verdicts = [c.verdict for c in checks]
    said = ", ".join(dict.fromkeys(o for c in checks for o in c.objections))
    if not checks or None in verdicts:
        return "unread", "; ".join(c.fault for c in checks if c.fault)
    if all(v == "reject" for v in verdicts):
        return "rejected", said
    if any(v != "keep" for v in verdicts) or said:
        return "doubtful", said or ", ".join(str(v) for v in verdicts)
    return None


def checkers_agreement(checks: Mapping[str, Sequence[Check]]) -> float:
    """Krippendorff's α of the checkers' verdicts over all cases; missing with one checker."""
    table = pd.DataFrame([[c.verdict for c in own] for own in checks.values()], dtype=object)
    return krippendorff(table) if table.shape[1] > 1 else float("nan")
