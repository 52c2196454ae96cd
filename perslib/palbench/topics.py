"""What PAL-Bench asks about and how: topics of query sessions, the people they belong to, what a simulated user knows,
how questions are put, and what they take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.llm import Answer, Ask, Method
from perslib.llm.types import changed
from perslib.memory.long import LongTermMemory, Piece, Purpose, Session, Store, sessions_of


@dataclass(frozen=True)
class Topic:
    """One thing a user asks for in a query session, and what would please this user."""

    user: str
    session: str
    name: str
    """`topic-1` … within the session"""
    query: str
    """What the user says."""
    needs: tuple[str, ...]
    """What the user leaves unsaid."""
    requirement: str
    """Both together, in full."""
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    candidates: tuple[str, ...]
    labels: tuple[str, ...]
    """pos, neg or neu of each candidate."""

    @property
    def id(self) -> str:
        """`0000_sample30_topic-2`: how template files name it. Users may share a session's name: `key` tells all apart."""
        return f"{self.session}_{self.name}"

    @property
    def key(self) -> dict[str, str]:
        """What tells it from every other, as columns."""
        return {"user": self.user, "session": self.session, "topic": self.name}

    @property
    def numbered(self) -> dict[str, str]:
        """The candidates as S1, S2, … in their order, never shuffled."""
        return {f"S{i}": text for i, text in enumerate(self.candidates, start=1)}

    @property
    def feedback(self) -> dict[str, str]:
        """Label of each numbered candidate."""
        return dict(zip(self.numbered, self.labels, strict=True))


@dataclass(frozen=True)
class Scene:
    """What a simulated user and a judge of dialogues know beyond the topic; empty where no file says it."""

    topic: Topic
    profile: Mapping[str, Any] = field(default_factory=dict)
    situation: str = ""
    evidences: tuple[tuple[str, ...], ...] = ()
    """For each need, the experiences behind it."""
    likes: str = ""
    dislikes: str = ""
    """Lasting preferences in requirements of this kind."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Solution → why the user would take it well or badly."""

    @property
    def needs(self) -> list[dict[str, Any]]:
        """As prompts show them."""
        behind = [*self.evidences, *[()] * len(self.topic.needs)]
        return [{"need": need, "evidences": list(why)} for need, why in zip(self.topic.needs, behind)]

    @property
    def preferences(self) -> list[dict[str, str]]:
        """As prompts show them."""
        sides = (("pos", self.likes), ("neg", self.dislikes))
        return [{"feedback": side, "text": text} for side, text in sides if text]

    @property
    def solutions(self) -> list[dict[str, str]]:
        """As prompts show them."""
        sides = (("pos", self.topic.positive), ("neg", self.topic.negative))
        return [
            {"feedback": side, "text": text, "reason": self.reasons.get(text, "")}
            for side, texts in sides
            for text in texts
        ]


@dataclass(frozen=True)
class Person:
    """A user: the past that is remembered, the sessions that are asked about, and their topics."""

    user: str
    history: tuple[Session, ...]
    query: tuple[Session, ...]
    scenes: tuple[Scene, ...]
    language: str = "en"

    def of(self, session: Session) -> list[Scene]:
        """The topics of a query session."""
        return [scene for scene in self.scenes if scene.topic.session == session.id]


def people(corpus: Corpus, users: Sequence[str] | None = None) -> list[Person]:
    """The users of a corpus that have query sessions with topics."""
    if "topics" not in corpus.extras:
        raise DataError(
            Problem(f"corpus {corpus.name}", "has no topics to ask about"),
            "PAL-Bench runs on a PAL-Set: `perslib import palset`, or the synthetic one.",
        )
    chosen = list(corpus.users["user"]) if users is None else list(users)
    scenes = _Scenes(corpus)
    found = []
    for user in chosen:
        parts = [tuple(sessions_of(corpus, user, part)) for part in ("history", "query")]
        own = scenes.of(user, {session.id for session in parts[1]})
        if own:
            found.append(Person(user, parts[0], parts[1], tuple(own), corpus.language))
    return found


def shortened(
    person: Person, *, history: int = 0, query: int = 0, logs: int = 0, turns: int = 0, topics: int = 0
) -> Person:
    """The person with fewer months: of each kind at most so many, 0 leaves all.

    `history` keeps the last sessions before the query sessions, `query` the first of these, `logs` the last logs of a
    session (those nearest to its dialogue), `turns` the first of a dialogue, `topics` the first of a query session.
    """

    def cut(session: Session) -> Session:
        return replace(session, logs=session.logs[-logs:], turns=session.turns[: turns or None])

    asked = person.query[: query or None]
    kept = [scene for session in asked for scene in person.of(session)[: topics or None]]
    return replace(
        person,
        history=tuple(map(cut, person.history[-history:])),
        query=tuple(map(cut, asked)),
        scenes=tuple(kept),
    )


class _Scenes:
    """The extras of a PAL-Set, looked up by user, session and topic."""

    def __init__(self, corpus: Corpus):
        self.corpus = corpus
        where = ["user", "session", "topic"]
        self.topics = self._groups("topics", ["user"])
        self.situations = self._groups("situations", ["user", "session"])
        self.preferences = self._groups("preferences", ["user", "requirement_id"])
        self.needs = self._groups("needs", where)
        self.reasons = self._groups("solution_preferences", where)

    def _groups(self, name: str, by: list[str]) -> dict[Any, list[dict[str, Any]]]:
        frame = self.corpus.extras.get(name, pd.DataFrame(columns=by))
        groups: dict[Any, list[dict[str, Any]]] = {}
        for row in frame.to_dict("records"):
            groups.setdefault(tuple(row[key] for key in by), []).append(row)
        return groups

    def of(self, user: str, sessions: set[str]) -> list[Scene]:
        """The scenes of a user's topics in these sessions."""
        profile = self.corpus.profile(user)
        rows = [row for row in self.topics.get((user,), []) if row["session"] in sessions]
        return [self._scene(row, profile) for row in rows]

    def _scene(self, row: dict[str, Any], profile: Mapping[str, Any]) -> Scene:
        topic = Topic(
            user=row["user"],
            session=row["session"],
            name=row["topic"],
            query=row["user_query"],
            needs=tuple(row["implicit_needs"]),
            requirement=row["requirement"],
            positive=tuple(row["pos"]),
            negative=tuple(row["neg"]),
            candidates=tuple(row["candidates"]),
            labels=tuple(row["labels"]),
        )
        key = (topic.user, topic.session, topic.name)
        situation = self.situations.get(key[:2], [{}])[0]
        liking = self.preferences.get((topic.user, row.get("requirement_id")), [{}])[0]
        behind = {need["need"]: tuple(need["evidences"]) for need in self.needs.get(key, [])}
        return Scene(
            topic=topic,
            profile=profile,
            situation=situation.get("situation", ""),
            evidences=tuple(behind.get(need, ()) for need in topic.needs),
            likes=liking.get("pos", ""),
            dislikes=liking.get("neg", ""),
            reasons={r["solution"]: r["reason"] for r in self.reasons.get(key, [])},
        )


T = TypeVar("T")


@dataclass(frozen=True)
class Spent:
    """What some answers took, also those read from the cache: `seconds` one after another, `cost` as priced."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost: float | None = None

    def and_for(self, answers: Sequence[Answer]) -> Spent:
        """With further answers."""
        costs = [c for c in (self.cost, *(a.cost for a in answers)) if c is not None]
        return Spent(
            self.calls + len(answers),
            self.tokens_in + sum(a.tokens_in for a in answers),
            self.tokens_cached + sum(a.tokens_cached for a in answers),
            self.tokens_out + sum(a.tokens_out for a in answers),
            self.seconds + sum(a.seconds for a in answers),
            sum(costs) if costs else None,
        )

    def row(self) -> dict[str, Any]:
        """As columns."""
        return asdict(self)


async def counted(method: Method[T], ask: Ask, stage: str | None = None) -> tuple[T, Spent]:
    """What a method returns and what its answers took; its questions under another line of the ledger, if named."""
    heard: list[Answer] = []
    value = await method(changed(ask, hear=heard.extend, stage=stage))
    return value, Spent().and_for(heard)


@runtime_checkable
class Reflects(Protocol):
    """A memory that may ask a model whether what it found suffices."""

    async def reflected(
        self, store: Store, session: Session, query: str, purpose: Purpose, ask: Ask
    ) -> list[Piece]:
        """What is recalled in the end."""
        ...


@runtime_checkable
class Strengthens(Protocol):
    """A memory that keeps better what was recalled."""

    def recalled(self, store: Store, pieces: Sequence[Piece], at: str) -> Store:
        """The memory once these pieces were recalled."""
        ...


async def looked_up(
    memory: LongTermMemory, store: Store, session: Session, query: str, purpose: Purpose, ask: Ask
) -> list[Piece]:
    """What a memory recalls, with the reflection of those that reflect."""
    if isinstance(memory, Reflects):
        return await memory.reflected(store, session, query, purpose, ask)
    return memory.recall(store, session, query, purpose)


def blocks(pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """Pieces as prompts show them: together by field, fields and pieces in the order they were recalled."""
    fields: dict[str, list[str]] = {}
    for piece in pieces:
        fields.setdefault(piece.field, []).append(piece.text)
    return [{"field": field, "texts": texts} for field, texts in fields.items()]
