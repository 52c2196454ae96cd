"""What all baselines keep and share, and those that only look things up (Mem-PAL, Table 2).

They keep the sessions that were heard, show the logs at hand, and look earlier logs up; retrieval baselines also look up
earlier turns or whole dialogues. A store is a value, so what can be looked up in it is laid out once, for the first query.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from perslib.llm import Ask
from perslib.llm.embeddings import Vectors, unit
from perslib.prompts import read_phrases
from perslib.systems.mem_pal.memory.long_term import (
    Exchange,
    Log,
    MemoryPiece,
    MemorySession,
    PromptedMemory,
    Purpose,
    Space,
    Store,
)


@dataclass(frozen=True)
class PieceIndex:
    """Pieces in the order of their sessions, and a vector of length one for each."""

    pieces: Sequence[MemoryPiece]
    places: np.ndarray
    """Which session of the store each belongs to."""
    rows: Vectors

    def before(self, place: int) -> int:
        """Return how many pieces belong to sessions before this one."""
        return int(np.searchsorted(self.places, place))


S = TypeVar("S", bound="SessionStore")
Unit = tuple[int, MemoryPiece, str]
"""What can be looked up: the place of a session, a piece, and the text it is found by."""
Units = Callable[[], Iterable[Unit]]


@dataclass(frozen=True)
class SessionStore(Store):
    """The sessions as they were heard; one without turns has its dialogue still to come."""

    sessions: tuple[MemorySession, ...] = ()
    shelves: dict[tuple[Space, str], PieceIndex] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was laid out to be looked up; a store that heard more begins without any."""

    def place(self, session: str) -> int:
        """Return where a session stands; behind all others if it was not heard of. What stands before it may be
        recalled.
        """
        return next((i for i, one in enumerate(self.sessions) if one.id == session), len(self.sessions))

    def with_logs(self: S, session: MemorySession) -> S:
        """Return the store with a session whose dialogue is still to come."""
        place = self.place(session.id)
        turns = self.sessions[place].turns if place < len(self.sessions) else ()
        return self._with(place, replace(session, turns=turns))

    def with_dialogue(self: S, session: MemorySession) -> S:
        """Return the store with a session that is over."""
        session_ids = self.session_ids if session.id in self.session_ids else (*self.session_ids, session.id)
        return replace(self._with(self.place(session.id), session), session_ids=session_ids)

    def _with(self: S, place: int, session: MemorySession) -> S:
        return replace(self, sessions=(*self.sessions[:place], session, *self.sessions[place + 1 :]))


class Baseline(PromptedMemory):
    """A memory that shows the logs of the session at hand, and of earlier ones what it has a way to find.

    A query in a session is served with what stands before it, even if later sessions have been heard.
    """

    store_type: ClassVar[type[SessionStore]] = SessionStore
    looks_up: ClassVar[bool] = True
    """Whether what is recalled depends on the query; where it does not, nobody need think of one."""

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Return the store with the logs of this session, as they are."""
        return self._own(store).with_logs(session)

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> Any:
        """Return the store with the dialogue of this session, and what the method makes of it."""
        known = self._own(store)
        if session.id in known.session_ids:
            return known
        return await self.learn(known.with_dialogue(session), [session], ask)

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> Any:
        """Return the store of all these sessions, learned at once."""
        session_ids = tuple(session.id for session in sessions)
        return await self.learn(self.store_type(user, session_ids, sessions=tuple(sessions)), sessions, ask)

    async def learn(self, known: Any, sessions: Sequence[MemorySession], ask: Ask) -> Any:
        """Return the store with what the method makes of these sessions, which it holds already; here nothing."""
        return known

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Make the queries' vectors, in one go."""
        if self.looks_up:
            super().prepare_queries(queries)

    # -- for those that look things up ------------------------------------------------------------------------

    def find_pieces(
        self, store: SessionStore, session: MemorySession, query: str, kind: str, units: Units
    ) -> list[MemoryPiece]:
        """Return the pieces of earlier sessions on a shelf that are nearest to the query; `units` as in `shelf`."""
        shelf = self.shelf(store, kind, units)
        return self.nearest(shelf, query, np.arange(shelf.before(store.place(session.id))))

    def shelf(self, store: SessionStore, kind: str, units: Units) -> PieceIndex:
        """Return what of this kind can be looked up: `units` are the place of a session, a piece, and the text it is
        found by.
        """
        key = (self.space, kind)
        if key not in store.shelves:
            laid = list(units())
            places = np.array([place for place, _, _ in laid], dtype=int)
            rows = unit(self.space.vectors([text for _, _, text in laid]))
            store.shelves[key] = PieceIndex([piece for _, piece, _ in laid], places, rows)
        return store.shelves[key]

    def nearest(self, shelf: PieceIndex, query: str, among: np.ndarray) -> list[MemoryPiece]:
        """Return the k pieces with the greatest cosine to the query among those at these numbers (rising); of equals
        the first.
        """
        vector = unit(self.space.vectors([query], "query"))[0]
        if not len(among):
            return []
        # einsum works in this thread; `@` would wake BLAS's threads for each query, which on long shelves takes many times as long.
        cosine = np.round(np.einsum("ij,j->i", shelf.rows[: among[-1] + 1], vector), 6)[among]
        return [shelf.pieces[among[i]] for i in np.argsort(-cosine, kind="stable")[: self.k]]

    def old_logs(self, store: SessionStore, session: MemorySession, query: str) -> list[MemoryPiece]:
        """Return the logs of earlier sessions that are nearest to the query."""

        # A session that is at hand is seldom over: its logs are shown as they are, and nobody looks among them.
        last = len(store.sessions) - 1
        before = last if store.place(session.id) == last else last + 1

        def logs() -> Iterator[Unit]:
            for place, s in enumerate(store.sessions[:before]):
                for i, log in enumerate(s.logs):
                    yield place, _log(s, i, log, "past_log"), log.content

        return self.find_pieces(store, session, query, f"logs of {before}", logs)

    def add_logs_to_pieces(
        self, store: SessionStore, session: MemorySession, query: str, pieces: Sequence[MemoryPiece]
    ) -> list[MemoryPiece]:
        """Return what was found, then the earlier logs nearest to the query and the logs at hand."""
        return [*pieces, *self.old_logs(store, session, query), *logs_of(session)]

    def turn(self, session: MemorySession, number: int, turn: Exchange) -> MemoryPiece:
        """Return one exchange of an earlier dialogue, with its day; turns count from 1."""
        text = f"[{session.at[:10]}] {self.format_exchange(turn)}" if session.at else self.format_exchange(turn)
        return MemoryPiece(f"{session.id}/turn_{number}", "turn", text, (session.id,), ((session.id, number),))

    def format_exchange(self, turn: Exchange) -> str:
        """Return what both said."""
        phrase: str = read_phrases("exchange", self.language)["said"]
        return phrase.format(user=turn.user, assistant=turn.assistant)


def logs_of(session: MemorySession) -> list[MemoryPiece]:
    """Return all logs of a session, by their time."""
    return [_log(session, i, log, "log") for i, log in in_time(session.logs)]


def in_time(logs: Sequence[Log]) -> list[tuple[int, Log]]:
    """Return logs and their places by their time; equal times stay in their order."""
    return sorted(enumerate(logs), key=lambda one: one[1].at)


def _log(session: MemorySession, place: int, log: Log, field: str) -> MemoryPiece:
    return MemoryPiece(f"{session.id}/log_{place}", field, f"[{log.at}] {log.content}", (session.id,))


class Vanilla(Baseline):
    """No memory: nothing at all, or with `logs` all logs of the session at hand."""

    looks_up = False

    def __init__(self, language: str = "en", *, logs: bool = True, name: str | None = None):
        super().__init__(language, name=name or f"vanilla ({'with' if logs else 'without'} log)")
        self.logs = logs

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return the logs, or nothing."""
        return logs_of(session) if self.logs else []


class UnitRetrieval(Baseline):
    """Shows the units of earlier sessions that are nearest to the query, earlier logs, and the logs at hand."""

    @abstractmethod
    def units(self, past: Any) -> Iterator[Unit]:
        """Return all units of a store, in the order of their sessions."""

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return units, earlier logs, current logs."""
        past = self._own(store)
        near = self.find_pieces(past, session, query, self.called, partial(self.units, past))
        return self.add_logs_to_pieces(past, session, query, near)


class TurnRetrieval(UnitRetrieval):
    """Turn-level RAG: a unit is one exchange."""

    called = "turn-level RAG"

    def units(self, past: SessionStore) -> Iterator[Unit]:
        """Yield the turns."""
        for place, s in enumerate(past.sessions):
            for n, turn in enumerate(s.turns, start=1):
                yield place, self.turn(s, n, turn), self.format_exchange(turn)


class SessionRetrieval(UnitRetrieval):
    """Session-level RAG: a unit is a whole dialogue. Its vector is that of its text, which encoders cut if it is too long."""

    called = "session-level RAG"

    def units(self, past: SessionStore) -> Iterator[Unit]:
        """Yield the dialogues."""
        for place, s in enumerate(past.sessions):
            if s.turns:
                text = "\n".join(map(self.format_exchange, s.turns))
                dated = f"[{s.at[:10]}]\n{text}" if s.at else text
                turns = tuple((s.id, n) for n in range(1, len(s.turns) + 1))
                yield place, MemoryPiece(f"{s.id}/dialogue", "dialogue", dated, (s.id,), turns), text
