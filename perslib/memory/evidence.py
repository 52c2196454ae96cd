"""Which of a user's turns a memory is built from, and how much of each is shown.

`published` is PersTurnBench's selection (appendix D): at most eight sessions, 200 characters a message, three
examples a score. `full` shows every session, with messages as long as a budget of tokens allows, and leaves the earliest sessions
of each scenario out only where even short messages are too many. Of turns without scores the same are chosen; there
are no examples then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from perslib.errors import UnknownName
from perslib.llm.estimate import tokens_of
from perslib.memory.retrieval import turn_id

SESSIONS, TASK, MESSAGE, EXAMPLE_REQUEST, EXAMPLES = 8, 150, 200, 120, 3
#: Lengths of a message that `full` tries, from the longest.
LENGTHS = (2000, 1200, 800, 500, 300, 200, 120, 60)
SESSION = ["scenario", "session"]


@dataclass(frozen=True)
class Shown:
    """Turns as a prompt shows them; turns are numbered from 1, `ids` are their names in that order."""

    sessions: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    ids: tuple[str, ...] = field(default=())

    @property
    def tokens(self) -> int:
        """Roughly how long this is."""
        texts = [t["request"] + t["response"] for s in self.sessions for t in s["turns"]]
        texts += [t["request"] + t["response"] for g in self.examples for t in g["turns"]]
        return sum(tokens_of(text) + 12 for text in texts)


def shown(rated: pd.DataFrame, evidence: str = "published", budget: int = 6000) -> Shown:
    """The part of the turns that a memory is built from, cut to size."""
    if evidence == "published":
        return _cut(rated[_in(rated, published_sessions(rated))], MESSAGE, MESSAGE)
    if evidence != "full":
        raise UnknownName("evidence", evidence, ["published", "full"])
    for length in LENGTHS:
        whole = _cut(rated, length, length, examples=False)
        if whole.tokens <= budget:
            return whole
    # Even the shortest is too long: fewer sessions, the first of the scenario with the most left out first.
    sessions = list(dict.fromkeys(zip(rated["scenario"], rated["session"])))
    while len(sessions) > 1 and whole.tokens > budget:
        most = Counter(scenario for scenario, _ in sessions).most_common(1)[0][0]
        sessions.remove(next(pair for pair in sessions if pair[0] == most))
        whole = _cut(rated[_in(rated, sessions)], LENGTHS[-1], LENGTHS[-1], examples=False)
    return whole


def published_sessions(rated: pd.DataFrame) -> list[tuple[str, str]]:
    """All sessions if there are at most eight, else the first ones of each scenario, as many of each."""
    sessions = list(dict.fromkeys(zip(rated["scenario"], rated["session"])))
    if len(sessions) <= SESSIONS:
        return sessions
    scenarios = list(dict.fromkeys(scenario for scenario, _ in sessions))
    each = max(1, SESSIONS // len(scenarios))
    first = [pair for s in scenarios for pair in [p for p in sessions if p[0] == s][:each]]
    return first[:SESSIONS]


def _in(rated: pd.DataFrame, sessions: Sequence[tuple[str, str]]) -> pd.Series:
    wanted = set(sessions)
    pairs = zip(rated["scenario"], rated["session"])
    return pd.Series([pair in wanted for pair in pairs], index=rated.index, dtype=bool)


def _cut(rated: pd.DataFrame, request: int, response: int, *, examples: bool = True) -> Shown:
    turns, ids = [], []
    for number, row in enumerate(rated.to_dict("records"), 1):
        asked = "\n".join([*row["earlier"], *([row["request"]] if isinstance(row["request"], str) else [])])
        ids.append(turn_id(row["scenario"], row["session"], row["turn"]))
        turns.append({"id": number, "whole": asked, "reply": row["response"], **_label(row), "row": row})
    by_session: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for turn in turns:
        by_session.setdefault((turn["row"]["scenario"], turn["row"]["session"]), []).append(turn)
    sessions = [
        {
            "task_name": scenario,
            "task": cut(told, TASK) if isinstance(told := group[0]["row"]["task"], str) else "",
            "turns": [_turn(t, request, response) for t in group],
        }
        for (scenario, _), group in by_session.items()
    ]
    groups = []
    for score in range(5, 0, -1) if examples else ():
        of_score = [t for t in turns if t["score"] == score]
        if of_score:
            first = [_turn(t, EXAMPLE_REQUEST, MESSAGE) for t in of_score[:EXAMPLES]]
            groups.append({"score": score, "total": len(of_score), "turns": first})
    return Shown(sessions, groups, tuple(ids))


def _label(row: dict[str, Any]) -> dict[str, Any]:
    if pd.isna(row["score"]):
        return {"score": None, "reason": None}
    score = int(row["score"])
    return {
        "score": score,
        "reason": row["reason"] if score <= 3 and isinstance(row["reason"], str) else None,
    }


def _turn(turn: dict[str, Any], request: int, response: int) -> dict[str, Any]:
    kept = {name: turn[name] for name in ("id", "score", "reason")}
    return {**kept, "request": cut(turn["whole"], request), "response": cut(turn["reply"], response)}


def cut(text: str, most: int) -> str:
    """The beginning of a text, with an ellipsis where something was cut off."""
    return text if len(text) <= most else text[:most] + "…"
