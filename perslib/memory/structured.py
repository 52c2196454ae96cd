"""PersTurnBench's structured memory (section 3.2): what moves one user's scores, in statements that cite turns.

Which turns it is built from, and how much of each is shown: `published` is PersTurnBench's selection (appendix D): at
most eight sessions, 200 characters a message, three examples a score. `full` shows every session, with messages as long
as a budget of tokens allows, and leaves the earliest sessions of each scenario out only where even short messages are too
many. Of turns without scores the same are chosen; there are no examples then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus import Block
from perslib.errors import check_names
from perslib.llm import Answer, Ask
from perslib.llm.tokens import count_tokens
from perslib.memory.base import MemorySystem, Statement, UserMemory, make_counts_memory, select_profile_fields
from perslib.memory.retrieval import turn_id
from perslib.prompts import prompt

SESSION = ["scenario", "session"]
SESSIONS, TASK, MESSAGE, EXAMPLE_REQUEST, EXAMPLES = 8, 150, 200, 120, 3
#: Lengths of a message that `full` tries, from the longest.
LENGTHS = (2000, 1200, 800, 500, 300, 200, 120, 60)


@dataclass(frozen=True)
class PromptTurns:
    """Turns as a prompt shows them; turns are numbered from 1, `ids` are their names in that order."""

    sessions: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    ids: tuple[str, ...] = field(default=())

    @property
    def tokens(self) -> int:
        """Roughly how long this is."""
        texts = [t["request"] + t["response"] for s in self.sessions for t in s["turns"]]
        texts += [t["request"] + t["response"] for g in self.examples for t in g["turns"]]
        return sum(count_tokens(text) + 12 for text in texts)


def select_prompt_turns(rated: pd.DataFrame, evidence: str = "published", budget: int = 6000) -> PromptTurns:
    """Return the part of the turns that a memory is built from, cut to size."""
    check_names("evidence", evidence, ["published", "full"])
    if evidence == "published":
        return _cut(rated.merge(select_prompt_sessions(rated)), MESSAGE)
    for length in LENGTHS:
        whole = _cut(rated, length, examples=False)
        if whole.tokens <= budget:
            return whole
    # Even the shortest is too long: fewer sessions, the first of the scenario with the most left out first.
    sessions = rated[SESSION].drop_duplicates()
    while len(sessions) > 1 and whole.tokens > budget:
        own = sessions.groupby("scenario", sort=False)["session"]
        sessions = sessions.drop(own.head(1).index[own.size().argmax()])
        whole = _cut(rated.merge(sessions), LENGTHS[-1], examples=False)
    return whole


def select_prompt_sessions(rated: pd.DataFrame) -> pd.DataFrame:
    """Return all sessions if there are at most eight, else the first ones of each scenario, as many of each."""
    sessions = rated[SESSION].drop_duplicates()
    if len(sessions) <= SESSIONS:
        return sessions
    each = max(1, SESSIONS // sessions["scenario"].nunique())
    return sessions.groupby("scenario", sort=False).head(each).head(SESSIONS)


def _cut(rated: pd.DataFrame, length: int, *, examples: bool = True) -> PromptTurns:
    rows = list(enumerate(rated.to_dict("records"), 1))
    by_session: dict[tuple[str, str], list[tuple[int, dict[Any, Any]]]] = {}
    by_score: dict[int | None, list[tuple[int, dict[Any, Any]]]] = {}
    for number, row in rows:
        by_session.setdefault((row["scenario"], row["session"]), []).append((number, row))
        by_score.setdefault(_score(row), []).append((number, row))
    sessions = [
        {
            "task_name": scenario,
            "task": truncate_text(task, TASK) if isinstance(task := group[0][1]["task"], str) else "",
            "turns": [_turn(*one, length, length) for one in group],
        }
        for (scenario, _), group in by_session.items()
    ]
    groups = [
        {
            "score": score,
            "total": len(by_score[score]),
            "turns": [_turn(*one, EXAMPLE_REQUEST, MESSAGE) for one in by_score[score][:EXAMPLES]],
        }
        for score in range(5, 0, -1)
        if examples and score in by_score
    ]
    return PromptTurns(
        sessions, groups, tuple(turn_id(row["scenario"], row["session"], row["turn"]) for _, row in rows)
    )


def _score(row: dict[Any, Any]) -> int | None:
    return None if pd.isna(row["score"]) else int(row["score"])


def _turn(number: int, row: dict[Any, Any], request: int, response: int) -> dict[str, Any]:
    asked = "\n".join([*row["earlier"], *([row["request"]] if isinstance(row["request"], str) else [])])
    score = _score(row)
    reason = row["reason"] if score is not None and score <= 3 and isinstance(row["reason"], str) else None
    texts = {"request": truncate_text(asked, request), "response": truncate_text(row["response"], response)}
    return {"id": number, "score": score, "reason": reason, **texts}


def truncate_text(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis where something was cut off."""
    return text if len(text) <= most else text[:most] + "…"


_SINGLE = ("scoring_style", "three_vs_four_distinction", "four_vs_five_distinction")


class ScoreCountSystem(MemorySystem):
    """The user's score counts and mean, and no words: what a memory is worth before anything is written."""

    name = "scores"

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Count the scores."""
        return make_counts_memory(UserMemory, block, judged, self.name)[0]


class Structured(MemorySystem):
    """One call a block: style, the thresholds 3→4 and 4→5, requirements, format, observations by task.

    `evidence` is "published" (six to eight sessions, messages cut at 200 characters) or "full" (all sessions,
    within `budget` tokens). `max_tokens` bounds what is written. Counts and mean are always those of the whole history.
    From an unlabelled block it is what the user wants, without a word on scores: requirements, format, observations.
    """

    name = "structured"

    def __init__(
        self,
        language: str = "en",
        *,
        evidence: Literal["published", "full"] = "published",
        budget: int = 6000,
        profile: Literal["published", "all", "none"] = "published",
        max_tokens: int | None = None,
        seed: int | None = 42,
        prompts: str | Path | None = None,
        name: str = "structured",
    ):
        self.language, self.evidence, self.budget = language, evidence, budget
        self.profile, self.seed, self.prompts, self.name = profile, seed, prompts, name
        self.max_tokens = max_tokens

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Ask for the statements and check what they cite."""
        memory, known = make_counts_memory(UserMemory, block, judged, self.name)
        turns = known[known["score"].notna()] if block.labelled else block.evidence
        if turns.empty:
            return memory
        part = select_prompt_turns(turns, self.evidence, self.budget)
        fields: dict[str, Any] = {"conversations": part.sessions}
        if block.labelled:
            scores = {"average": memory.average, "counts": list(memory.counts)}
            fields = {**scores, "sessions": part.sessions, "examples": part.examples}
        asked = prompt("memory_build" if block.labelled else "memory_unrated", self.language, self.prompts)
        request = asked.render(profile=select_profile_fields(block.profile, self.profile), **fields)
        most = self.max_tokens or request.max_tokens
        (answer,) = await ask([replace(request, seed=self.seed, max_tokens=most)], "memory")
        statements = tuple(statements_of(answer, part.ids))
        problem = answer.error if answer.data is None else None if statements else "the model wrote nothing"
        return replace(memory, statements=statements, turns=part.ids, error=problem, prompt=request.prompt)


def statements_of(answer: Answer, ids: Sequence[str]) -> list[Statement]:
    """Return the statements in an answer to `memory_build` or `memory_unrated`; turn numbers become ids, others are
    marked unfounded.
    """
    written = answer.data or {}
    statements: list[tuple[str, str | None, dict[str, Any]]] = []
    for name in (*_SINGLE, "user_specific_requirements", "preferred_response_format"):
        items = written.get(name) or []
        statements += [(name, None, one) for one in (items if isinstance(items, list) else [items])]
    for note in written.get("task_specific_observations", []):
        items = {"statement": note["observation"], "turns": note["turns"]}
        statements.append(("task_specific_observations", note["task_name"], items))
    stated = [(f, task, s) for f, task, s in statements if s.get("statement", "").strip()]
    return [_statement(f"M{i}", f, task, s, ids) for i, (f, task, s) in enumerate(stated, 1)]


def _statement(id: str, field: str, task: str | None, statement: dict[str, Any], ids: Sequence[str]) -> Statement:
    named, cited = dict(enumerate(ids, 1)), dict.fromkeys(statement["turns"])
    turns = tuple(named[n] for n in cited if n in named)
    unfounded = tuple(str(n) for n in cited if n not in named)
    return Statement(id, field, statement["statement"].strip(), turns, task, unfounded)
