"""What all baselines keep and share, and those that only look things up (Mem-PAL, Table 2).

They keep the sessions that were heard, show the logs at hand, and look earlier logs up; retrieval baselines also look up
earlier turns or whole dialogues. A store is a value, so what can be looked up in it is laid out once, for the first query.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from perslib.llm import Ask, Embedder, Request
from perslib.llm.embeddings import Vectors, unit
from perslib.memory.long import Log, LongTermMemory, Piece, Purpose, Session, Space, Store, Turn
from perslib.prompts import phrases, prompt
from perslib.text import check_language

SHELVES = 512
"""Shelves kept at hand, the ones used last."""


@dataclass(frozen=True)
class Shelf:
    """Pieces in the order of their sessions, and a vector of length one for each."""

    pieces: Sequence[Piece]
    places: np.ndarray
    """Which session of the store each belongs to."""
    rows: Vectors

    def before(self, place: int) -> int:
        """How many pieces belong to sessions before this one."""
        return int(np.searchsorted(self.places, place))

    def nearest(self, query: Vectors, k: int, among: np.ndarray) -> list[Piece]:
        """The k pieces with the greatest cosine to the query among those at these numbers (rising); of equals the first."""
        if not len(among):
            return []
        # einsum works in this thread; `@` would wake BLAS's threads for each query, which on long shelves takes many times as long.
        cosine = np.round(np.einsum("ij,j->i", self.rows[: among[-1] + 1], query), 6)[among]
        return [self.pieces[among[i]] for i in np.argsort(-cosine, kind="stable")[:k]]


class Shelves:
    """The shelves of the stores that were asked last."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[int, str], tuple[weakref.ref[Store], Shelf]] = OrderedDict()

    def of(self, store: Store, kind: str, make: Callable[[], Shelf]) -> Shelf:
        """The shelf of this kind of a store."""
        key = (id(store), kind)
        if key in self._made and self._made[key][0]() is store:
            self._made.move_to_end(key)
            return self._made[key][1]
        self._made[key] = (weakref.ref(store), make())
        while len(self._made) > SHELVES:
            self._made.popitem(last=False)
        return self._made[key][1]


S = TypeVar("S", bound="Past")


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
        self.language, self.k, self.seed, self.prompts = check_language(language), k, seed, prompts
        self.space, self.shelves = Space(embedder), Shelves()
        self.name = name or self.called

    async def hear_logs(self, store: Store, session: Session, ask: Ask) -> Store:
        """The logs, as they are."""
        return self._own(store).with_logs(session)

    async def hear_dialogue(self, store: Store, session: Session, ask: Ask) -> Store:
        """The dialogue, as it is."""
        return self._own(store).with_dialogue(session)

    def look_up(self, queries: Sequence[str]) -> None:
        """Their vectors, in one go."""
        if self.looks_up:
            self.space.vectors(queries, "query")

    # -- for those that look things up ------------------------------------------------------------------------

    def found(self, store: Past, session: Session, query: str, kind: str, make: Callable[[], Shelf]) -> list[Piece]:
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

    def shown(self, store: Past, session: Session, query: str, found: Sequence[Piece]) -> list[Piece]:
        """What was found, then the earlier logs nearest to the query and the logs at hand."""
        return [*found, *self.old_logs(store, session, query), *logs_of(session)]

    def turn(self, session: Session, number: int, turn: Turn) -> Piece:
        """One exchange of an earlier dialogue, with its day; turns count from 1."""
        text = f"[{session.at[:10]}] {self.said(turn)}" if session.at else self.said(turn)
        return Piece(f"{session.id}/turn_{number}", "turn", text, (session.id,), ((session.id, number),))

    def said(self, turn: Turn) -> str:
        """What both said."""
        said: str = phrases("exchange", self.language)["said"]
        return said.format(user=turn.user, assistant=turn.assistant)

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
    return ((place, s, n, turn) for place, s in enumerate(sessions) for n, turn in enumerate(s.turns, start=1))


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


class TurnRetrieval(Baseline):
    """Turn-level RAG: a unit is one exchange."""

    called = "turn-level RAG"

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Turns, earlier logs, current logs."""
        past = self._own(store)

        def make() -> Shelf:
            turns = list(turns_of(past.sessions))
            pieces = [(place, self.turn(s, n, turn)) for place, s, n, turn in turns]
            return self.shelf(pieces, [self.said(turn) for *_, turn in turns])

        return self.shown(past, session, query, self.found(past, session, query, "turns", make))


class SessionRetrieval(Baseline):
    """Session-level RAG: a unit is a whole dialogue.

    Its vector is that of its text, which encoders cut where it is too long, or with `mean_of_turns` the mean of the
    vectors of its turns.
    """

    called = "session-level RAG"

    def __init__(self, *args: object, mean_of_turns: bool = False, **options: object):
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.mean_of_turns = mean_of_turns

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Dialogues, earlier logs, current logs."""
        past = self._own(store)
        found = self.found(past, session, query, "dialogues", lambda: self._dialogues(past))
        return self.shown(past, session, query, found)

    def _dialogues(self, past: Past) -> Shelf:
        known = [(place, s) for place, s in enumerate(past.sessions) if s.turns]
        texts = ["\n".join(self.said(turn) for turn in s.turns) for _, s in known]
        pieces = [
            (
                place,
                Piece(
                    f"{s.id}/dialogue",
                    "dialogue",
                    f"[{s.at[:10]}]\n{text}" if s.at else text,
                    (s.id,),
                    tuple((s.id, n) for n in range(1, len(s.turns) + 1)),
                ),
            )
            for (place, s), text in zip(known, texts, strict=True)
        ]
        shelf = self.shelf(pieces, [] if self.mean_of_turns else texts)
        if not known or not self.mean_of_turns:
            return shelf
        each = self.space.vectors([self.said(turn) for _, s in known for turn in s.turns])
        starts = np.cumsum([0, *(len(s.turns) for _, s in known)])[:-1]
        return replace(shelf, rows=unit(np.add.reduceat(each, starts, axis=0)))
