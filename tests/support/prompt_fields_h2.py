"""Something to put into the placeholders of H²Memory's prompts, and an answer to each of them."""

from __future__ import annotations

from typing import Any

_LOGS = [
    {"id": 3, "at": "2024-03-02 09:10", "content": "searched for knee pain", "caused_by": [], "follows": []},
    {"id": 4, "at": "2024-03-02 09:40", "content": "booked a doctor", "caused_by": [3], "follows": [2]},
]
_SITUATION = {"situation": "Her knee hurts and she saw a doctor.", "aspects": ["health"]}

FIELDS: dict[str, Any] = {
    "logs": _LOGS,
    "first": 3,
    "last": 4,
    "background": [{"aspect": "health", "text": "She used to run daily."}],
    "since": "2024-01-01 ~ 2024-02-20",
    "situations": ["Her knee hurts."],
    "days": "2024-03-02 ~ 2024-03-09",
    "turns": [{"turn": 1, "user": "What sport is there?", "assistant": "Try swimming."}],
    "requirement": "A sport that suits her.",
    "requirements": ["A sport for a bad knee.", "A stretch at the desk."],
    "general_requirement": "exercise within limits",
    "principle": "Likes short routines and no gyms.",
    "preferences": ["Likes swimming.", "Turned down the gym."],
}

ANSWERS: dict[str, dict[str, Any]] = {
    "h2_relations": {"relations": [{"log": 4, "caused_by": [3], "follows": []}]},
    "h2_situation": _SITUATION,
    "h2_background": {"updates": [{"aspect": "health", "text": "Her knee keeps her from running."}]},
    "h2_outline": {
        "outlines": [
            {
                "first_turn": 1,
                "last_turn": 1,
                "requirement": "A sport that suits her.",
                "solutions": [
                    {"solution": "Swimming", "user_feedback": "Fine.", "feedback_type": "pos"},
                    {"solution": "A gym", "user_feedback": "Too dear.", "feedback_type": "neg"},
                ],
                "preference": "Likes water, not gyms.",
            }
        ]
    },
    "h2_refine": {"requirement": "A sport that spares a sore knee."},
    "h2_requirement": {"general_requirement": "exercise within limits"},
    "h2_requirement_update": {"adjust": False, "general_requirement": "exercise within limits"},
    "h2_principle": {"principle": "Likes short routines and no gyms."},
    "h2_principle_update": {"adjust": True, "principle": "Likes short routines in water."},
}
