"""What all baselines keep: the sessions that were heard; and what they share: logs shown, earlier logs looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from perslib.errors import UnknownName
from perslib.llm import Embedder, Request, asks_nothing
from perslib.llm.embeddings import Vectors, unit
from perslib.memory.baselines.shelf import Shelf, Shelves
from perslib.memory.h2.space import Space
from perslib.memory.long import Log, LongTermMemory, Piece, Purpose, Session, Store, Turn
from perslib.prompts import prompt

S = TypeVar("S", bound="Past")
SAID = {"zh": ("用户：", "助手："), "en": ("User: ", "Assistant: ")}


@dataclass(frozen=True)
class Past(Store):
    """The sessions as they were heard; one without turns has its dialogue still to come."""

    sessions: tuple[Session, ...] = ()

    def place(self, session: str) -> int:
        """Where a session stands; behind all others if it was not heard of. What stands before it may be recalled."""
        return next((i for i, one in enumerate(self.sessions) if one.id == session), len(self.sessions))

    def with_logs(self: S, session: Session) -> S:
        """With a session whose dialogue is still to come."""
        place = self.place(session.id)
        turns = self.sessions[place].turns if place < len(self.sessions) else ()
        return self._with(place, replace(session, turns=turns))

    def with_dialogue(self: S, session: Session) -> S:
        """With a session that is over."""
        heard = self.heard if session.id in self.heard else (*self.heard, session.id)
        return replace(self._with(self.place(session.id), session), heard=heard)

    def _with(self: S, place: int, session: Session) -> S:
        return replace(self, sessions=(*self.sessions[:place], session, *self.sessions[place + 1 :]))


class Baseline(LongTermMemory):
    """A memory that shows the logs of the session at hand, and of earlier ones what it has a way to find.

    `k` of each kind are looked up by cosine similarity under `embedder`, the same as for H²Memory. A query in a session
    is served with what stands before it, even if later sessions have been heard.
    """

    called: ClassVar[str]
    kept: ClassVar[type[Store]] = Past
    looks_up: ClassVar[bool] = True
    """Whether what is recalled depends on the query; where it does not, nobody need think of one."""

    def __init__(
        self,
        language: str = "en",
        *,
        embedder: Embedder | str | None = None,
        k: int = 3,
        seed: int = 42,
        prompts: str | Path | None = None,
        name: str | None = None,
    ):
        if language not in SAID:
            raise UnknownName("language", language, SAID)
        self.language, self.k, self.seed, self.prompts = language, k, seed, prompts
        self.space, self.shelves = Space(embedder), Shelves()
        self.name = name or self.called

    @asks_nothing
    def hear_logs(self, store: Store, session: Session) -> Store:
        """The logs, as they are."""
        return self._own(store).with_logs(session)

    @asks_nothing
    def hear_dialogue(self, store: Store, session: Session) -> Store:
        """The dialogue, as it is."""
        return self._own(store).with_dialogue(session)

    def look_up(self, queries: Sequence[str]) -> None:
        """Their vectors, in one go."""
        if self.looks_up:
            self.space.vectors(queries, "query")

    # -- for those that look things up ------------------------------------------------------------------------

    def found(
        self, store: Past, session: Session, query: str, kind: str, make: Callable[[], Shelf]
    ) -> list[Piece]:
        """The pieces of earlier sessions on a shelf that are nearest to the query."""
        shelf = self.shelves.of(store, kind, make)
        among = np.arange(shelf.before(store.place(session.id)))
        return shelf.nearest(self.asked(query), self.k, among)

    def asked(self, query: str) -> Vectors:
        """The vector of a query."""
        vector: Vectors = unit(self.space.vectors([query], "query"))[0]
        return vector

    def shelf(self, pieces: Sequence[tuple[int, Piece]], texts: Sequence[str]) -> Shelf:
        """Pieces with the places of their sessions, found by these texts."""
        places = np.array([place for place, _ in pieces], dtype=int)
        return Shelf([piece for _, piece in pieces], places, unit(self.space.vectors(texts)))

    def old_logs(self, store: Past, session: Session, query: str) -> list[Piece]:
        """The logs of earlier sessions that are nearest to the query."""

        # A session that is at hand is seldom over: its logs are shown as they are, and nobody looks among them.
        places = len(store.sessions)
        before = places - 1 if store.place(session.id) == places - 1 else places

        def make() -> Shelf:
            earlier = store.sessions[:before]
            known = [(j, s, i, log) for j, s in enumerate(earlier) for i, log in enumerate(s.logs)]
            pieces = [(j, _log(s, i, log, "past_log")) for j, s, i, log in known]
            return self.shelf(pieces, [log.content for *_, log in known])

        return self.found(store, session, query, f"logs of {before}", make)

    def turn(self, session: Session, number: int, turn: Turn) -> Piece:
        """One exchange of an earlier dialogue, with its day; turns count from 1."""
        text = f"[{session.at[:10]}] {self.said(turn)}" if session.at else self.said(turn)
        return Piece(f"{session.id}/turn_{number}", "turn", text, (session.id,), ((session.id, number),))

    def said(self, turn: Turn) -> str:
        """What both said."""
        user, assistant = SAID[self.language]
        return f"{user}{turn.user}\n{assistant}{turn.assistant}"

    def render(self, name: str, **values: Any) -> Request:
        """A question of this memory."""
        return replace(prompt(name, self.language, self.prompts).render(**values), seed=self.seed)


def logs_of(session: Session) -> list[Piece]:
    """All logs of a session, by their time."""
    return [_log(session, i, log, "log") for i, log in in_time(session.logs)]


def in_time(logs: Sequence[Log]) -> list[tuple[int, Log]]:
    """Logs and their places by their time; equal times stay in their order."""
    return sorted(enumerate(logs), key=lambda one: one[1].at)


def turns_of(sessions: Sequence[Session]) -> Iterator[tuple[int, Session, int, Turn]]:
    """All turns of some sessions, with the place of their session; counted from 1 in each."""
    return (
        (place, s, n, turn) for place, s in enumerate(sessions) for n, turn in enumerate(s.turns, start=1)
    )


def _log(session: Session, place: int, log: Log, field: str) -> Piece:
    return Piece(f"{session.id}/log_{place}", field, f"[{log.at}] {log.content}", (session.id,))


class Vanilla(Baseline):
    """No memory: nothing at all, or with `logs` all logs of the session at hand."""

    looks_up = False

    def __init__(self, language: str = "en", *, logs: bool = True, name: str | None = None):
        super().__init__(language, name=name or f"vanilla ({'with' if logs else 'without'} log)")
        self.logs = logs

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """The logs, or nothing."""
        return logs_of(session) if self.logs else []
