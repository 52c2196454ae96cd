"""What a memory is: statements about one user, each with the turns it rests on, and the scores as they were.

    memory = await system.build(block, ask)     see perslib.llm.request
    memory.recall(target)                       what a judge of this reply is shown

Counts and mean come from the data, never from what a model wrote. `resolve_citations` finds again what a verdict cites; `RecordingSystem`
is a system that notes every memory that another one builds, and what building it took.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, ClassVar, Literal, TypeVar

import pandas as pd

from perslib.corpus import Block, Corpus, Target
from perslib.errors import check_names
from perslib.llm import Answer, Ask, Request
from perslib.memory.retrieval import turn_id
from perslib.registry import Registry

#: The fields of a profile that PersTurnBench shows to memory builders and judges.
PUBLISHED_PROFILE = ("gender", "age", "occupation", "background", "personality", "daily_interests")


Counts = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Statement:
    """One thing a memory says of its user."""

    id: str
    """How judges cite it: M1, M2 …"""
    field: str
    """What it is about: scoring_style, three_vs_four_distinction, …"""
    text: str
    turns: tuple[str, ...] = ()
    """Ids (`scenario/session/turn`) of the turns it rests on."""
    task: str | None = None
    """The kind of task that it holds for, where it is about one."""
    unfounded: tuple[str, ...] = ()
    """What was cited for it and is no turn that the model was shown."""
    trait: str | None = None
    """The trait of replies that it is about, where it is about one (`perslib.memory.preferences`)."""
    points: float | None = None
    """What the trait is worth to the user beyond what it is worth to everybody, in points of score."""
    points_low: float | None = None
    points_high: float | None = None


@dataclass(frozen=True)
class UserMemory:
    """The memory of one user for one block."""

    user: str
    scenario: str
    system: str
    counts: Counts
    """How many of the user's rated turns in the other scenarios scored 1 to 5."""
    statements: tuple[Statement, ...] = ()
    turns: tuple[str, ...] = ()
    """Ids of the turns it was built from."""
    update: str = ""
    """How it changes while the block is judged; empty when it is fixed."""
    error: str | None = None
    """Why there are no statements, where there should be."""
    prompt: str | None = None
    saved_as: ClassVar[str] = ""
    """Under which name a draft keeps what `to_json` gives beside the statements; empty: nothing."""

    def to_json(self) -> dict[str, Any]:
        """Return what `saved_memory[saved_as]` makes a memory of again, as plain data."""
        return {}

    @property
    def average(self) -> float:
        """Mean of the user's scores; NaN without any."""
        total = sum(self.counts)
        return sum(s * n for s, n in zip(range(1, 6), self.counts)) / total if total else float("nan")

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known of how the user scores."""
        return not sum(self.counts) and not self.statements

    @property
    def state(self) -> str:
        """The memory in a word, and what is wrong with it: what verdicts record."""
        lack = "no rated history" if self.is_empty else self.error and f"scores only: {self.error}"
        return ", ".join(part for part in (self.system, self.update, lack) if part)

    def select_statements(self, target: Target) -> tuple[Statement, ...]:
        """Return the statements that bear on this reply: here, all."""
        return self.statements

    def recall(self, target: Target) -> list[dict[str, Any]] | str:
        """Return what a judge of this reply is shown."""
        return [{"id": s.id, "field": s.field, "text": s.text, "task": s.task} for s in self.select_statements(target)]

    def list_cited_turns(self, target: Target) -> tuple[str, ...]:
        """Return ids of the turns that what is shown for this reply rests on."""
        return tuple(dict.fromkeys(turn for statement in self.select_statements(target) for turn in statement.turns))

    def describe_target(self, target: Target) -> str | None:
        """Return what the memory says of this very reply, where it says anything; shown after the reply."""
        return None

    def with_statements(self, statements: Sequence[Statement]) -> UserMemory:
        """Return the same memory saying this instead."""
        return replace(self, statements=tuple(statements))

    def scale(self, statement: Statement, by: float) -> Statement:
        """Return the statement so many times as strong (negative: turned round); one without points stays as it is."""
        return statement

    def explain_effect(self, statement: Statement) -> str:
        """Return how a statement that a person wrote is understood, where that matters."""
        return ""


#: What a memory kept in a file is more than its statements: `make(memory of the statements, what `to_json` gave)`, by `saved_as`.
saved_memory: Registry[UserMemory] = Registry("kind of saved memory")


class MemorySystem(ABC):
    """A way to build memories."""

    name: str
    learns = False
    """Whether it has to learn from train users before it builds."""

    async def fit(self, train: Corpus, ask: Ask) -> None:  # noqa: B027 - most memories have nothing to learn
        """Learn from train users; the default has nothing to learn."""

    @abstractmethod
    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the memory of a block's user, from its evidence and from replies `judged` since, if any."""


def select_profile_fields(profile: Mapping[str, Any], fields: Literal["published", "all", "none"]) -> dict[str, Any]:
    """Return the part of a profile that is shown: the published six fields, all, or none."""
    check_names("part of the profile", fields, ["published", "all", "none"])
    if fields == "none":
        return {}
    return {k: v for k, v in profile.items() if fields == "all" or k in PUBLISHED_PROFILE}


def score_counts(evidence: pd.DataFrame) -> Counts:
    """Return how many rated turns have each score."""
    scores = evidence["score"].dropna().astype(int)
    return as_counts((scores == s).sum() for s in range(1, 6))


def as_counts(numbers: Iterable[int]) -> Counts:
    """Take five numbers as counts of the scores 1 to 5."""
    one, two, three, four, five = map(int, numbers)
    return one, two, three, four, five


M = TypeVar("M", bound=UserMemory)


def make_counts_memory(
    kind: type[M], block: Block, judged: pd.DataFrame | None, system: str, **more: Any
) -> tuple[M, pd.DataFrame]:
    """Return a memory with the user's score counts alone, and the turns behind it; replies judged since count too."""
    known = block.evidence if judged is None else pd.concat([block.evidence, judged], ignore_index=True)
    update = "" if judged is None else f"with {len(judged)} judged replies"
    return kind(block.user, block.scenario, system, score_counts(known), update=update, **more), known


@dataclass(frozen=True)
class Citations:
    """A verdict's citations, resolved."""

    statements: tuple[Statement | str, ...]
    """In the order of citing; by its name alone what is neither a statement nor a turn."""
    turns: dict[str, dict[Any, Any]]
    """By their ids, rows of the evidence: the cited ones, and those that cited statements rest on."""


def turns_by_id(block: Block) -> dict[str, dict[Any, Any]]:
    """Return the rows of a block's evidence by the ids under which they are cited."""
    keys = zip(block.evidence["scenario"], block.evidence["session"], block.evidence["turn"], strict=True)
    return dict(zip((turn_id(*key) for key in keys), block.evidence.to_dict("records"), strict=True))


def resolve_citations(cited: Iterable[str], block: Block, memory: UserMemory | None = None) -> Citations:
    """Return what these names stand for in the block's evidence and the memory; ids of statements in either case."""
    statements = {s.id: s for s in memory.statements} if memory else {}
    turns = turns_by_id(block)
    citations: list[Statement | str] = []
    behind: list[str] = []
    for name in dict.fromkeys(cited):
        if statement := statements.get(name.strip().upper()):
            citations.append(statement)
            behind += statement.turns
        elif name in turns:
            behind.append(name)
        else:
            citations.append(name)
    return Citations(tuple(citations), {name: turns[name] for name in dict.fromkeys(behind) if name in turns})


#: User, scenario, and how many judged replies the memory was built with beside the evidence.
Key = tuple[str, str, int]


@dataclass(frozen=True)
class BuildRecord:
    """What a memory says, and what building it took; not what it looks things up in, which takes megabytes a user."""

    memory: UserMemory
    answers: list[Answer]
    """Without their texts."""
    seconds: float
    """Time spent on computing, while no question was open: counting, comparing, embedding."""


class OnAnother(MemorySystem):
    """A system that builds on another one, and learns where that learns."""

    def __init__(self, system: MemorySystem, name: str = ""):
        self.system, self.name, self.learns = system, name or system.name, system.learns

    async def fit(self, train: Corpus, ask: Ask) -> None:
        """Let the other system learn."""
        await self.system.fit(train, ask)


class RecordingSystem(OnAnother):
    """A system that notes of every memory that another one builds what it is and what it took."""

    def __init__(self, system: MemorySystem):
        super().__init__(system)
        self.notes: dict[Key, BuildRecord] = {}

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the system's own memory."""
        answered: list[Answer] = []
        seconds, begun, open_ = 0.0, perf_counter(), 0

        async def noting(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
            nonlocal seconds, begun, open_
            seconds += 0 if open_ else perf_counter() - begun
            open_ += 1
            answers = await ask(requests, stage, rank)
            open_ -= 1
            begun = perf_counter()
            answered.extend(a.with_(text="", raw="", reasoning="", data=None, logprobs=None) for a in answers)
            return answers

        memory = await self.system.build(block, noting, judged)
        key = block.user, block.scenario, 0 if judged is None else len(judged)
        plain = UserMemory(**{part.name: getattr(memory, part.name) for part in fields(UserMemory)})
        self.notes[key] = BuildRecord(plain, answered, seconds + perf_counter() - begun)
        return memory

    def handed_over(self) -> dict[Key, BuildRecord]:
        """Return the notes since they were last handed over; they are here no more."""
        return {key: self.notes.pop(key) for key in list(self.notes)}

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy for another process starts without notes."""
        return {**self.__dict__, "notes": {}}
