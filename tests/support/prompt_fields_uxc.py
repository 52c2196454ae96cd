"""What the prompts that build UXBench's cases are given in tests, and what they answer."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, Any] = {
    "dialogue": [
        {"number": 0, "role": "user", "signals": "", "seconds": "", "text": "Plan two days in Bath."},
        {"number": 1, "role": "assistant", "signals": "complain", "seconds": "9", "text": "Bath is a city."},
        {"number": 2, "role": "user", "signals": "", "seconds": "30", "text": "That is no plan."},
    ],
    "candidates": "1",
    "cases": [
        {
            "number": 0,
            "reply": 1,
            "request": 0,
            "signal": "complain (strong)",
            "dimension": "task_incompleteness",
            "scenario": "decision_support",
            "explanation": "A plan was wanted.",
        }
    ],
    "conversation": [{"role": "user", "content": "Where to?"}, {"role": "assistant", "content": "Bath."}],
    "query": "Plan two days there.",
    "reply": "Bath is a city.",
    "after": "That is no plan.",
    "signal": "complain (strong)",
    "dimension": "task_incompleteness",
    "explanation": "A plan was wanted.",
}

_DIMENSIONS = {"bad": "task_incompleteness", "good": "practical_guidance"}
_AXES = ("completeness", "credibility", "representativeness", "severity", "fidelity")


def _mined(side: str) -> dict[str, Any]:
    return {
        "cases": [
            {
                "reply": 1,
                "shown_in": 2,
                "quote": "no plan",
                "dimension": _DIMENSIONS[side],
                "scenario": "decision_support",
                "sentiment": "explicit",
                "representativeness": "high",
                "confidence": 90,
                "explanation": "A plan was wanted.",
            }
        ]
    }


def _graded(side: str) -> dict[str, Any]:
    grades = dict.fromkeys(_AXES, 4)
    claims = {"mean": 4.0, "quality": "high", "dimension": _DIMENSIONS[side], "note": "Plain to see."}
    return {"grades": [{"case": 0, **grades, **claims}]}


CHECKED = {"objections": [], "needs_context": False, "needs_image": False, "verdict": "keep"}
ANSWERS: dict[str, dict[str, Any]] = {
    f"uxc_{step}_{side}": answer
    for side in ("bad", "good")
    for step, answer in (("mine", _mined(side)), ("grade", _graded(side)), ("check", CHECKED))
}
