"""A folder in the format of PRISM, with what is awkward in the published one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KINDS = ("unguided", "values guided", "controversy guided")


def reply(turn: int, number: int, model: str, score: int, chosen: bool, text: str | None = None) -> dict[str, Any]:
    said = text if text is not None else f'Reply of {model}, "{score}"\nto turn {turn}'
    about = {"model_name": model, "model_provider": "p", "score": score, "if_chosen": chosen, "within_turn_id": number}
    return {"turn": turn, "role": "model", "content": said, **about}


def conversation(key: str, user: str, kind: str, replies: list[dict[str, Any]]) -> dict[str, Any]:
    history: list[dict[str, Any]] = []
    for turn in sorted({one["turn"] for one in replies}):
        history.append({"turn": turn, "role": "user", "content": f"Question {turn} of {key}: ¿qué opinas?"})
        history += [one for one in replies if one["turn"] == turn]
    about = {"conversation_id": key, "user_id": user, "conversation_type": kind, "conversation_turns": 1}
    rated = {"values": None, "fluency": 80} if key == "c0" else None
    return {
        **about,
        "conversation_history": history,
        "performance_attributes": rated,
        "open_feedback": 'fine, "thanks"',
    }


def utterances(own: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {m["turn"]: m["content"] for m in own["conversation_history"] if m["role"] == "user"}
    about = {c: own[c] for c in ("user_id", "conversation_id", "conversation_type")}
    return [
        {**about, "turn": m["turn"], "user_prompt": asked[m["turn"]], "model_response": m["content"]}
        | {c: m[c] for c in ("model_name", "score", "if_chosen", "within_turn_id")}
        for m in own["conversation_history"]
        if m["role"] == "model"
    ]


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    awkward = [
        reply(0, 0, "x", 70, True), reply(0, 1, "y", 70, False), reply(0, 2, "z", 5, False, "EMPTY STRING"),
        reply(1, 0, "x", 40, False), reply(1, 1, "x", 90, True),
    ]  # fmt: skip
    talks = [conversation("c0", "user0", KINDS[0], awkward)]
    for n in range(1, 6):
        four = [reply(0, i, m, 10 * n + 10 * i, i == 2) for i, m in enumerate("wxyz"[: 3 + n % 2])]
        talks.append(conversation(f"c{n}", f"user{n % 2}", KINDS[n % 3], four))
    survey = [{"user_id": u, "system_string": "Be brief", "age": "25-34"} for u in ("user0", "user1", "user9")]
    files = {
        "survey": survey,
        "conversations": talks[:-1],  # c5 is among the utterances only, c1 only here
        "utterances": [row for own in talks if own["conversation_id"] != "c1" for row in utterances(own)],
    }
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
        )
    return folder
