"""PersTurnBench's structured memory (section 3.2): what moves one user's scores, in statements that cite turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from perslib.corpus import Block
from perslib.llm import Answer, Ask, Steps, asks_nothing
from perslib.memory.base import MemorySystem, Statement, UserMemory, profile_shown, score_counts
from perslib.memory.evidence import shown
from perslib.prompts import prompt

_SINGLE = ("scoring_style", "three_vs_four_distinction", "four_vs_five_distinction")


class Scores(MemorySystem):
    """The user's score counts and mean, and no words: what a memory is worth before anything is written."""

    name = "scores"

    @asks_nothing
    def build(self, block: Block, judged: pd.DataFrame | None = None) -> UserMemory:
        """Count the scores."""
        return _counted(block, judged, self.name)[0]


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

    def build(self, block: Block, judged: pd.DataFrame | None = None) -> Steps[UserMemory]:
        """Ask for the statements and check what they cite."""
        memory, rated = _counted(block, judged, self.name)
        turns = rated if block.labelled else block.evidence
        if turns.empty:
            return memory
        part = shown(turns, self.evidence, self.budget)
        profile = profile_shown(block.profile, self.profile)
        if block.labelled:
            request = prompt("memory_build", self.language, self.prompts).render(
                profile=profile,
                average=memory.average,
                counts=list(memory.counts),
                sessions=part.sessions,
                examples=part.examples,
            )
        else:
            request = prompt("memory_unrated", self.language, self.prompts).render(
                profile=profile, conversations=part.sessions
            )
        most = self.max_tokens or request.max_tokens
        (answer,) = yield Ask([replace(request, seed=self.seed, max_tokens=most)], "memory")
        statements = tuple(statements_of(answer, part.ids))
        problem = answer.error if answer.data is None else None if statements else "the model wrote nothing"
        return replace(memory, statements=statements, turns=part.ids, error=problem, prompt=request.prompt)


def statements_of(answer: Answer, ids: Sequence[str]) -> list[Statement]:
    """The statements in an answer to `memory_build` or `memory_unrated`; turn numbers become ids, others are marked unfounded."""
    written = answer.data or {}
    found: list[tuple[str, str | None, dict[str, Any]]] = []
    found += [(name, None, written.get(name) or {}) for name in _SINGLE]
    found += [("user_specific_requirements", None, s) for s in written.get("user_specific_requirements", [])]
    found += [("preferred_response_format", None, written.get("preferred_response_format") or {})]
    for note in written.get("task_specific_observations", []):
        said = {"statement": note["observation"], "turns": note["turns"]}
        found.append(("task_specific_observations", note["task_name"], said))
    kept = [(f, task, s) for f, task, s in found if s.get("statement", "").strip()]
    return [_statement(f"M{i}", f, task, s, ids) for i, (f, task, s) in enumerate(kept, 1)]


def _statement(id: str, field: str, task: str | None, said: dict[str, Any], ids: Sequence[str]) -> Statement:
    named, cited = dict(enumerate(ids, 1)), dict.fromkeys(said["turns"])
    turns = tuple(named[n] for n in cited if n in named)
    unfounded = tuple(str(n) for n in cited if n not in named)
    return Statement(id, field, said["statement"].strip(), turns, task, unfounded)


def _counted(block: Block, judged: pd.DataFrame | None, system: str) -> tuple[UserMemory, pd.DataFrame]:
    """A memory with counts alone, and the rated turns behind it; replies judged since count too."""
    known = block.evidence if judged is None else pd.concat([block.evidence, judged], ignore_index=True)
    rated = known[known["score"].notna()]
    update = "" if judged is None else f"with {len(judged)} judged replies"
    return UserMemory(block.user, block.scenario, system, score_counts(rated), update=update), rated
