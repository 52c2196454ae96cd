"""What the prompts of PAL-Bench and of the memories it compares are given in tests, and what they answer."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, Any] = {
    "summary": "Works in shifts.",
    "at": "2024-11-03 18:00:00",
    "turns": [{"user": "Late again.", "assistant": "A lunch box?"}],
    "logs": [{"at": "2024-11-02 09:30", "content": "searched for lunch boxes"}],
    "found": ["when on night shift → eats cold meals"],
    "days": [{"at": "2024-11-03", "text": "came for a lunch box"}],
    "query": "What can I eat at work?",
    "blocks": [{"field": "log", "texts": ["bought a thermos", "called a doctor"]}],
    "requirement": "Warm meals on night shift, easy on the stomach.",
    "candidates": [{"id": "S1", "text": "A thermos of porridge."}, {"id": "S2", "text": "A vending machine."}],
    "needs": [{"need": "easy on the stomach", "evidences": ["saw a doctor"]}],
    "prediction": "Wants something warm.",
    "rubric": "Works at night and has a weak stomach.",
    "by": "preference",
    "answer": "Take porridge in a thermos to your shift.",
    "situation": "Night shifts began, the stomach aches.",
    "preferences": [{"feedback": "pos", "text": "Home-made food."}, {"feedback": "neg", "text": "Delivery."}],
    "solutions": [
        {"feedback": "pos", "text": "Cook porridge.", "reason": "it is warm"},
        {"feedback": "neg", "text": "Order in.", "reason": "too greasy"},
    ],
    "turn": 3,
    "action": "solution_discussion",
    "first": [{"role": "user", "content": "Hungry."}, {"role": "assistant", "content": "Porridge?"}],
    "second": [{"role": "user", "content": "Tired."}, {"role": "assistant", "content": "Sleep?"}],
}
#: Values that choose words instead of being shown.
UNSEEN = {"pos", "neg", "log", "solution_discussion", "preference"}

_WRITTEN = {"recursum_dialogue": "summary", "recursum_logs": "summary", "memorybank_day": "summary"}
_WRITTEN |= {"memorybank_events": "summary", "memorybank_portrait": "portrait"}
_WRITTEN |= {"memorybank_personality": "insight", "pal_requirement": "requirement", "pal_summary": "requirement"}
_WRITTEN |= {"pal_solution": "solution", "pal_user": "content", "pal_assistant": "content"}
_JUDGED = {
    "analysis": {"assistant_1": "Vague.", "assistant_2": "Specific.", "overall": "The second."},
    "scores": {"assistant_1": 4, "assistant_2": 7.5},
}
ANSWERS: dict[str, dict[str, Any]] = {
    **{name: {key: "Warm meals."} for name, key in _WRITTEN.items()},
    "conditionmem_records": {"records": [{"condition": "on night shift", "content": "eats cold meals"}]},
    "pal_selection": {"analysis": "Warm.", "selected_solutions": ["S1", "S2"]},
    "pal_lme_answer": {"answer": "Porridge in a thermos."},
    "pal_lme_grade": {"analysis": "Warm and easy.", "right": True},
    "pal_grade": {"analysis": "One in part.", "score": 0.5},
    "pal_judge_requirement": _JUDGED,
    "pal_judge_preference": _JUDGED,
}
