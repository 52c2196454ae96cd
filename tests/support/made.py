"""Small corpora and releases that tests make themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus

TRAVEL, GIFT, RECIPE, SKILL = "旅行规划", "礼物准备", "菜谱规划", "技能学习规划"


def message(role: str, content: str, score: Any = None, reason: str | None = None) -> dict[str, Any]:
    """One message of a PersTurnBench session."""
    labels = {"satisfaction": score, "reason": reason}
    return {"role": role, "content": content} | {k: v for k, v in labels.items() if v is not None}


def session(*history: dict[str, Any], **further: Any) -> dict[str, Any]:
    """One session file of the PersTurnBench release."""
    profile = {"gender": "Female", "age": 30, "personality": ["calm"]}
    base = {"history": list(history), "task_context": "a task", "task_type": "x", "chat_model": "m", "profile": profile}
    return base | further


def simple_session(score: Any = "4", **further: Any) -> dict[str, Any]:
    """A session of one exchange with this score."""
    reason = "不够细致" if str(score) in "123" else None
    return session(message("user", "问题"), message("assistant", "回答", score, reason), **further)


def write_release(root: Path, sessions: dict[tuple[str, str, str], Any]) -> Path:
    """Write {(user, scenario, file stem): session} as the release lays it out; strings and bytes go in as they are."""
    for (user, scenario, stem), content in sessions.items():
        file = root / "data" / user / scenario / f"{stem}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
    return root


def tiny_corpus() -> Corpus:
    """Two users, three scenarios, everything the schema knows of at least once."""
    users = pd.DataFrame({"user": ["ada", "bo"], "profile": [{"age": 30, "personality": ["calm"]}, {}]})
    keys = ["user", "scenario", "session"]
    sessions = pd.DataFrame(
        [
            ("ada", "travel", "0", "Three days in Lisbon", "aster", 0),
            ("ada", "gift", "0", "A gift for a sister", "brook", 1),
            ("ada", "gift", "1", "A farewell gift", "aster", 2),
            ("bo", "travel", "0", "A weekend by train", "brook", 0),
        ],
        columns=[*keys, "task", "assistant", "position"],
    ).assign(trailing=[("thanks!",), (), (), ()], satisfaction=[4.5, None, 3.0, None])
    turns = pd.DataFrame(
        [
            ("ada", "travel", "0", 0, "Plan it", "A plan", 4, None, None),
            ("ada", "travel", "0", 1, "Cheaper?", "A cheaper plan", 2, "insufficient detail", "dislike"),
            ("ada", "gift", "0", 0, "Ideas?", "A book", 5, None, "like"),
            ("ada", "gift", "1", 0, "Ideas please", "A mug", 3, "other", None),
            ("bo", "travel", "0", 0, "Where to?", "To the sea", 4, None, None),
        ],
        columns=[*keys, "turn", "request", "response", "score", "reason", "feedback"],
    )
    turns["earlier"] = [(), ("Hm.",), (), (), ()]
    turns["asked_at"] = pd.Timestamp("2026-01-01 10:00") + pd.to_timedelta(range(5), unit="h")
    events = pd.DataFrame(
        {"user": ["ada"], "session": ["0"], "at": ["2026-01-01 09:00"], "kind": ["Web Search"], "content": ["Lisbon"]}
    )
    extras = {"truth": pd.DataFrame({"user": ["ada", "bo"], "weights": [[0.5, 0.5], [1.0, 0.0]]})}
    return Corpus("tiny", "en", users, sessions, turns, events, extras, {"scenarios": ["gift", "travel"]})


def shortened(corpus: Corpus, sessions: int, turns: int = 100) -> Corpus:
    """The corpus with at most so many sessions a scenario and turns a session, and the candidates' replies to these."""
    kept = corpus.sessions[corpus.sessions.groupby(["user", "scenario"]).cumcount() < sessions].reset_index(drop=True)
    left = corpus.turns[corpus.turns["turn"] < turns].merge(kept[SESSION])
    replies = corpus.extras["candidates"].merge(left[TURN])
    return replace(corpus, sessions=kept, turns=left, extras={**corpus.extras, "candidates": replies})
