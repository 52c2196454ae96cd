"""What the prompts of PAL-Set synthesis are given in tests, and what they answer."""

from __future__ import annotations

from typing import Any

from perslib.prompts import Prompt

FIELDS: dict[str, Any] = {
    "profile": {"name": "Ida Reed", "age": 41, "occupation": "A nurse.", "personality": {"Openness": "high"}},
    "count": 7,
    "example": {"name": "Leo", "occupation": "A baker."},
    "months": ["2024-11", "2024-12"],
    "timeline": [{"month": "2024-11", "events": "Night shifts began."}],
    "types": [{"id": "work-1", "text": "Getting through night shifts"}],
    "events": "The ward was short of people.",
    "earlier": [{"start": "2024-10-02 08:00", "end": "2024-10-09 18:00", "situation": "A cold went round."}],
    "first": "2024-11-03",
    "last": "2024-11-30",
    "situation": "Three nights in a row.",
    "start": "2024-11-04 07:00",
    "end": "2024-11-08 19:00",
    "experience": "On Monday there was no break.",
    "topics": [
        {
            "id": "work-1",
            "user_query": "So tired lately.",
            "needs": ["eat warm at night"],
            "requirement": "Warm food on night shifts.",
        }
    ],
    "requirement": "Warm food on night shifts.",
    "likings": {"pos": "Home-made food.", "neg": "Deliveries."},
    "candidates": [{"id": "S1", "text": "A thermos of porridge."}],
    "turns": [
        {
            "user": "Topic Inquiry",
            "user_about": "T1 Q",
            "assistant": "Requirement Prediction",
            "assistant_about": "T1 N1",
        }
    ],
    "knows_all": True,
}
DIALOGUE_TOPICS = [
    {
        "id": "T1",
        "user_query": "So tired lately.",
        "requirement": "Warm food on night shifts.",
        "needs": [{"id": "N1", "text": "eat warm at night"}],
        "solutions": [{"id": "S1", "text": "Porridge.", "feedback": "pos", "reason": "it is warm"}],
    }
]
SESSION = {
    "situations": FIELDS["earlier"],
    "topics": DIALOGUE_TOPICS,
    "turns": [{"id": "U1", "role": "user", "action": "Topic Inquiry", "about": "T1 Q", "text": "Why am I so tired?"}],
    "logs": [{"id": "L1", "at": "2024-11-04 08:15", "type": "Web Search", "text": "tired; two pages"}],
    "wrong": [{"id": "L1", "what": "contradicts: there is no phone"}],
}
#: Values that are translated.
UNSEEN = {"high"}

_LEVELS = dict.fromkeys(("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism"), "low")
_TOLD = dict.fromkeys(("occupation", "health", "family", "hobbies"), "Told.")
_NEEDS = [{"need": n, "evidences": ["seen"]} for n in ("eat warm", "sleep")]
_PICKS = [{"id": f"S{i}", "reason": "warm"} for i in range(1, 5)]
ANSWERS: dict[str, dict[str, Any]] = {
    "palsynth_profiles": {"people": [{"name": "Ann", "gender": "female", "age": 30, **_TOLD, "personality": _LEVELS}]},
    "palsynth_timeline": {"months": [{"month": "2024-11", "events": "Night shifts."}]},
    "palsynth_requirements": {a: ["a", "b", "c", "d"] for a in ("work", "health", "family", "leisure")},
    "palsynth_preferences": {"preferences": [{"id": "work-1", "analysis": "Frugal.", "pos": "Cheap.", "neg": "Dear."}]},
    "palsynth_situations": {
        "situations": [
            {"start": "2024-11-03", "end": "2024-11-08", "requirement_ids": ["work-1"], "situation": "Nights."}
        ]
    },
    "palsynth_experience": {"experience": "On Monday …"},
    "palsynth_frameworks": {
        "topics": [{"id": "work-1", "user_query": "Tired.", "needs": _NEEDS, "requirement": "Warm food."}]
    },
    "palsynth_candidates": {"topics": [{"id": "work-1", "solutions": [f"Way {i}." for i in range(8)]}]},
    "palsynth_verdicts": {"analysis": "Frugal.", "pos": _PICKS[:2], "neg": _PICKS[2:]},
    "palsynth_check": {"violations": [{"id": "L1", "kind": "contradiction", "what": "There is no phone."}]},
    "palsynth_dialogue": {"turns": [{"turn": 1, "user": "Tired.", "assistant": "Cold food?"}]},
}


def fields(name: str) -> dict[str, Any]:
    """Values for one of the prompts; a dialogue is shown its topics with more in them, as are those who correct it."""
    if name in ("palsynth_check", "palsynth_repair"):
        return FIELDS | SESSION
    return FIELDS | ({"topics": DIALOGUE_TOPICS} if name == "palsynth_dialogue" else {})


def answers(prompt: Prompt) -> dict[str, dict[str, Any]]:
    """Good answers by name; types of logs are called otherwise in each language."""
    if prompt.name not in ("palsynth_logs", "palsynth_repair"):
        return ANSWERS
    kind = (prompt.schema or {})["properties"]["logs"]["items"]["properties"]["type"]["enum"][0]
    if prompt.name == "palsynth_repair":
        return {prompt.name: {"logs": [{"id": "L1", "type": kind, "text": "a; b"}], "turns": []}}
    entry = {"at": "2024-11-04 08:15", "event": "shopping", "type": kind, "content": "a thermos"}
    return {"palsynth_logs": {"logs": [entry]}}
