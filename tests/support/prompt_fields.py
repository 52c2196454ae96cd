"""Something to put into every placeholder that bundled prompts have, and an answer to every prompt."""

from __future__ import annotations

from typing import Any

import prompt_fields_h2 as h2
import prompt_fields_pal as pal
import prompt_fields_palsynth as synth
import prompt_fields_ux as ux
import prompt_fields_uxc as uxc

from perslib.prompts import Prompt

_TURN = {"id": 1, "request": "A gift?", "response": "A book, 12 pounds.", "score": 3, "reason": "other"}

FIELDS: dict[str, Any] = {
    "profile": {"gender": "Female", "age": 27, "personality": ["careful", "frugal"], "other_aspects": []},
    "memory": [
        {"id": "M1", "field": "scoring_style", "text": "Strict.", "task": None},
        {"id": "M2", "field": "four_vs_five_distinction", "text": "A 5 names prices.", "task": None},
        {"id": "M3", "field": "task_specific_observations", "text": "no coriander", "task": "recipe"},
    ],
    "about": "12 numbers; going by these traits alone, this user gives about 3.9",
    "written": True,
    "calibrated": True,
    "guarded": True,
    "average": 3.9333,
    "counts": [1, 2, 4, 14, 9],
    "scenario": "travel",
    "task": "Two days in Bath for 300 pounds.",
    "conversation": [
        {"role": "user", "content": "Where to?"},
        {"role": "assistant", "content": "Bath."},
        {"role": "user", "content": "Plan it."},
    ],
    "reply": "Take the train.",
    "examples": [{"context": "Eggs?", "response": "Fry them.", "score": 2, "reason": "other"}],
    "evidence": [{**_TURN, "id": "E1", "task": "a gift", "similarity": 0.4142}],
    "sessions": [{"task_name": "gift", "task": "for father", "turns": [_TURN]}],
    "conversations": [
        {"task_name": "gift", "task": "for father", "turns": [{"id": 1, "request": "Hm?", "response": "A hat."}]}
    ],
    "records": [
        {
            "id": 1,
            "scenario": "gift",
            "task": "for father",
            "turn": 2,
            "context": [{"role": "user", "content": "A gift?"}],
            "reply": "A book, 12 pounds.",
        }
    ],
    "label": "DSAT",
    "limit": 10,
    "rules": ["The reply names prices."],
    "sat_rules": ["The reply names prices."],
    "dsat_rules": ["The reply is vague."],
}
#: Values that choose words instead of being shown.
UNSEEN = pal.UNSEEN | synth.UNSEEN
_GROUPS = [{"score": 3, "total": 1, "turns": [_TURN]}]


def fields(prompt: Prompt, **other: Any) -> dict[str, Any]:
    """Values for the placeholders of one prompt, some replaced."""
    is_of_pal = prompt.name in pal.ANSWERS or prompt.name == "pal_lme_yes_no"
    own = h2.FIELDS if prompt.name.startswith("h2_") else pal.FIELDS if is_of_pal else {}
    own = synth.fields(prompt.name) if prompt.name.startswith("palsynth_") else own
    own = ux.FIELDS if prompt.name.startswith("ux_") else own
    own = uxc.FIELDS if prompt.name.startswith("uxc_") else own
    values = {**FIELDS, **({"examples": _GROUPS} if prompt.name == "memory_build" else {}), **own, **other}
    return {name: values[name] for name in prompt.placeholders}


def text(prompt: Prompt, **other: Any) -> str:
    """All that a model is given to read."""
    return "\n".join(message["content"] for message in prompt.render(**fields(prompt, **other)).messages)


_SAID = {"statement": "Names prices.", "turns": [1]}
_JUDGED = {"score": 2, "rationale": "No prices."}


def answer(prompt: Prompt) -> dict[str, Any]:
    """A good answer to a prompt that has a schema."""
    reasons = (prompt.schema or {})["properties"].get("reason", {}).get("enum", [""])
    verdict = {**_JUDGED, "reason": reasons[1]} if len(reasons) > 1 else {}
    answers: dict[str, dict[str, Any]] = {
        **h2.ANSWERS,
        **pal.ANSWERS,
        **ux.ANSWERS,
        **uxc.ANSWERS,
        **synth.answers(prompt),
        "judge_personal": {**verdict, "evidence": ["M2"]},
        "judge_episodic": {**verdict, "boundary_side": "dsat", "evidence_confidence": "medium"},
        "judge_episodic_boundary": {
            **verdict,
            "boundary_decision": "dsat",
            "boundary_confidence": "high",
            "score_refinement": "clear_dsat",
            "key_evidence_ids": ["E1"],
        },
        "memory_build": {
            "scoring_style": _SAID,
            "four_vs_five_distinction": _SAID,
            "three_vs_four_distinction": _SAID,
            "user_specific_requirements": [_SAID],
            "preferred_response_format": {"statement": "Nothing to be seen.", "turns": []},
            "task_specific_observations": [{"task_name": "gift", "observation": "Wants a shop.", "turns": [1]}],
        },
        "memory_unrated": {
            "user_specific_requirements": [_SAID],
            "preferred_response_format": {"statement": "Nothing to be seen.", "turns": []},
            "task_specific_observations": [{"task_name": "gift", "observation": "Wants a shop.", "turns": [1]}],
        },
        "spur_induce": {"rules": ["The reply is vague."]},
        "spur_reduce": {"rules": ["The reply is vague."]},
        "spur_score": {
            "sat_matches": [],
            "dsat_matches": [1],
            "prediction": "DSAT",
            "confidence": 0.8,
            "rationale": "It is vague.",
        },
    }
    return answers.get(prompt.name, verdict)
