"""What the prompts of UXBench are given in tests, and what they answer."""

from __future__ import annotations

from typing import Any

_TALK = [{"role": "user", "content": "Where to?"}, {"role": "assistant", "content": "Bath."}]

FIELDS: dict[str, Any] = {
    "conversation": _TALK,
    "query": "Plan two days there.",
    "reply": "Take the train.",
    "three": True,
    "examples": [
        {"conversation": _TALK[:1], "query": "Eggs?", "reply": "Fry them.", "verdict": "good"},
        {"conversation": [], "query": "Soup?", "reply": "No.", "verdict": "bad"},
    ],
    "first": "The Roman baths first.",
    "second": "A walk first.",
    "failed": "Bath is a city in England.",
    "complaint": "I asked for a plan.",
    "groups": [
        {"name": "knowledge_qa", "about": "wants to know", "domains": [{"name": "travel", "about": "places to go"}]}
    ],
}

_REPLY = {"reply": "Day one: the baths. Day two: a walk."}
ANSWERS: dict[str, dict[str, Any]] = {
    "ux_judge": {"verdict": "bad"},
    "ux_judge_cot": {"reason": "No plan.", "verdict": "bad"},
    "ux_judge_user": {
        "familiarity": "little",
        "goal": "a weekend",
        "mood": "keen",
        "expectation": "two days",
        "verdict": "bad",
    },
    "ux_prefer": {"better": "1"},
    "ux_recovery_cot": {"thoughts": "A plan was wanted.", **_REPLY},
    "ux_recovery_failure": {"failure": "intent_misunderstanding", **_REPLY},
    "ux_recovery_critique": {"critique": "No plan.", **_REPLY},
    "ux_topic": {"scenario": "private_daily_life", "domain": "travel"},
    "ux_strategy": {"all": ["direct_fix"], "primary": "direct_fix"},
}
