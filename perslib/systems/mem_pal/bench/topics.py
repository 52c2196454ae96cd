"""What PAL-Bench asks about: topics of query sessions, the people they belong to, and what a simulated user knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.systems.mem_pal.memory.long_term import MemorySession, list_user_sessions

#: What tells a topic from every other.
TOPIC = ("user", "session", "topic")


@dataclass(frozen=True)
class BenchTopic:
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
        return dict(zip(TOPIC, (self.user, self.session, self.name)))

    @property
    def numbered_candidates(self) -> dict[str, str]:
        """The candidates as S1, S2, … in their order, never shuffled."""
        return {f"S{i}": text for i, text in enumerate(self.candidates, start=1)}

    @property
    def feedback(self) -> dict[str, str]:
        """Label of each numbered candidate."""
        return dict(zip(self.numbered_candidates, self.labels, strict=True))


@dataclass(frozen=True)
class Scene:
    """What a simulated user and a judge of dialogues know beyond the topic; empty where no file says it."""

    topic: BenchTopic
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
class BenchUser:
    """A user: the past that is remembered, the sessions that are asked about, and their topics."""

    user: str
    history: tuple[MemorySession, ...]
    query: tuple[MemorySession, ...]
    scenes: tuple[Scene, ...]
    language: str = "en"

    def of(self, session: MemorySession) -> list[Scene]:
        """Return the topics of a query session."""
        return [scene for scene in self.scenes if scene.topic.session == session.id]


def list_bench_users(corpus: Corpus) -> list[BenchUser]:
    """Return the users of a corpus that have query sessions with topics."""
    if "topics" not in corpus.extras:
        raise DataError(
            Problem(f"corpus {corpus.name}", "has no topics to ask about"),
            "PAL-Bench runs on a PAL-Set: `perslib import palset`, or the synthetic one.",
        )
    scenes, users = _scenes(corpus), []
    for user in corpus.users["user"]:
        history, query = (tuple(list_user_sessions(corpus, user, part)) for part in ("history", "query"))
        ids = {session.id for session in query}
        if own := tuple(scene for scene in scenes if scene.topic.user == user and scene.topic.session in ids):
            users.append(BenchUser(user, history, query, own, corpus.language))
    return users


def _scenes(corpus: Corpus) -> list[Scene]:
    """Return all topics of a PAL-Set, each with what the other files say of it."""

    def rows_by(name: str, *by: str) -> dict[Any, list[dict[str, Any]]]:
        rows: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for row in corpus.extras.get(name, pd.DataFrame()).to_dict("records"):
            rows[tuple(row[key] for key in by)].append(row)
        return rows

    situations, likings = rows_by("situations", *TOPIC[:2]), rows_by("preferences", "user", "requirement_id")
    needs, reasons = rows_by("needs", *TOPIC), rows_by("solution_preferences", *TOPIC)
    profiles = {user: corpus.profile(user) for user in corpus.users["user"]}
    scenes = []
    for row in corpus.extras["topics"].to_dict("records"):
        parts = [row["user_query"], tuple(row["implicit_needs"]), row["requirement"]]
        solutions = [tuple(row[key]) for key in ("pos", "neg", "candidates", "labels")]
        topic = BenchTopic(*(row[key] for key in TOPIC), *parts, *solutions)
        key = tuple(topic.key.values())
        liking = likings.get((topic.user, row.get("requirement_id")), [{}])[0]
        behind = {need["need"]: tuple(need["evidences"]) for need in needs.get(key, [])}
        scene = Scene(
            topic,
            profile=profiles[topic.user],
            situation=situations.get(key[:2], [{}])[0].get("situation", ""),
            evidences=tuple(behind.get(need, ()) for need in topic.needs),
            likes=liking.get("pos", ""),
            dislikes=liking.get("neg", ""),
            reasons={r["solution"]: r["reason"] for r in reasons.get(key, [])},
        )
        scenes.append(scene)
    return scenes


def shorten_history(
    person: BenchUser, *, history: int = 0, query: int = 0, logs: int = 0, topics: int = 0
) -> BenchUser:
    """Return the person with fewer months: of each kind at most so many, 0 leaves all.

    `history` keeps the last sessions before the query sessions, `query` the first of these, `logs` the last logs of a
    session (those nearest to its dialogue), `topics` the first of a query session.
    """

    def cut(session: MemorySession) -> MemorySession:
        return replace(session, logs=session.logs[-logs:])

    asked = person.query[: query or None]
    scenes = [scene for session in asked for scene in person.of(session)[: topics or None]]
    return replace(
        person, history=tuple(map(cut, person.history[-history:])), query=tuple(map(cut, asked)), scenes=tuple(scenes)
    )
