"""What H²Memory keeps of a user (Mem-PAL, section 3): situations, background, topic outlines, principles.

All of it is text and small numbers. Vectors are not kept: a cluster's centroid is the mean of its outlines' vectors,
which the embedder gives again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from perslib.systems.mem_pal.loaders.palset_records import ASPECTS
from perslib.systems.mem_pal.memory.long_term import Store

#: How a user took a solution.
FEEDBACK = ("pos", "neg", "others")

State = dict[str, str]
"""Aspect → its sentence, empty where nothing is known."""
EMPTY: State = dict.fromkeys(ASPECTS, "")


@dataclass(frozen=True)
class Relation:
    """What a log goes back to, by the places of earlier logs of its session."""

    log: int
    caused_by: tuple[int, ...] = ()
    follows: tuple[int, ...] = ()


@dataclass(frozen=True)
class LogSituation:
    """What some related logs are about (M_G)."""

    text: str
    aspects: tuple[str, ...] = ()
    logs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Solution:
    """What was proposed, and how the user took it."""

    text: str
    reaction: str
    """The user's feedback in words."""
    feedback: str
    """pos, neg or others."""


@dataclass(frozen=True)
class Outline:
    """A topic of a dialogue (M_T): what was required, what was proposed, what it shows of the user's preferences."""

    id: str
    turns: tuple[int, int]
    """First and last turn, from 1."""
    requirement: str
    """As refined, r̂."""
    stated: str
    """As it was in the dialogue, r."""
    solutions: tuple[Solution, ...] = ()
    preference: str = ""
    cluster: int | None = None
    """The place of its principle; None before principles were learned."""


@dataclass(frozen=True)
class SessionRecord:
    """All that a session added."""

    session: str
    at: str
    first_log: str | None = None
    relations: tuple[Relation, ...] = ()
    situations: tuple[LogSituation, ...] = ()
    background: State = field(default_factory=EMPTY.copy)
    """The background once this session's logs were heard (M_B)."""
    outlines: tuple[Outline, ...] = ()


@dataclass(frozen=True)
class Principle:
    """A kind of requirement (γ) and what this user prefers there (ρ), from a cluster of outlines (M_P)."""

    requirement: str
    preference: str


@dataclass(frozen=True)
class Snapshot:
    """The principles as they stood after a session's dialogue."""

    after: str
    """Its id; empty where principles were learned before any session was heard."""
    principles: tuple[Principle, ...]


@dataclass(frozen=True)
class H2Store(Store):
    """The memory of one user."""

    chapters: tuple[SessionRecord, ...] = ()
    """In the order of time."""
    snapshots: tuple[Snapshot, ...] = ()
    """One when principles were first learned, one after each dialogue since."""

    @property
    def principles(self) -> tuple[Principle, ...]:
        """As they stand now."""
        return self.snapshots[-1].principles if self.snapshots else ()

    @property
    def outlines(self) -> list[Outline]:
        """Of all dialogues, in order."""
        return [outline for chapter in self.chapters for outline in chapter.outlines]

    def place(self, session: str) -> int:
        """Return where a session stands among the chapters; behind them all if it is new."""
        names = [chapter.session for chapter in self.chapters]
        return names.index(session) if session in names else len(names)

    def principles_before(self, place: int) -> tuple[Principle, ...]:
        """Return the principles as they stood just before the session at this place; none before they were first
        learned.
        """
        before = {"", *(chapter.session for chapter in self.chapters[:place])}
        known = [snapshot for snapshot in self.snapshots if snapshot.after in before]
        return known[-1].principles if known else ()

    def with_clusters(self, cluster: Mapping[str, int]) -> H2Store:
        """Return the same with these outlines, by their ids, in these clusters; others keep theirs."""
        chapters = (
            replace(c, outlines=tuple(replace(o, cluster=cluster.get(o.id, o.cluster)) for o in c.outlines))
            for c in self.chapters
        )
        return replace(self, chapters=tuple(chapters))
