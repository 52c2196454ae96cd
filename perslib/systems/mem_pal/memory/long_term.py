"""Long-term memories: built session by session from device logs and dialogues, asked for what a query needs.

    store = memory.start(user)
    store = await memory.add_logs(store, session, ask)        the logs that led up to a dialogue
    recalled = memory.recall(store, session, query, "solution")  during that dialogue; `recall_within_budget` within a budget
    store = await memory.add_dialogue(store, session, ask)    once it is over
    store = await memory.build(user, sessions, ask)            all of that for a past, with every independence used

A store is a value: methods return a new one. `ask` is live, from the answer cache, or a test's (`perslib.llm.request`). Mem-PAL (section 3) serves session j with what was
learned from sessions before j and with the logs of j itself. `list_user_sessions` makes sessions of a corpus, `Space` finds
texts by nearness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem, check_names
from perslib.llm import Ask, Embedder, Request, embedder
from perslib.llm.embeddings import Kind, Vectors
from perslib.llm.tokens import count_tokens
from perslib.prompts import prompt, read_phrases
from perslib.text import check_language

#: What recalled text is for: saying what the user needs, proposing solutions, judging a reply, or answering freely.
Purpose = Literal["requirement", "solution", "judging", "reply"]


@dataclass(frozen=True)
class Log:
    """One line of a device log."""

    at: str
    """`YYYY-MM-DD HH:MM`"""
    content: str


@dataclass(frozen=True)
class Exchange:
    """One exchange: what the user said and what the assistant said to it."""

    user: str
    assistant: str


@dataclass(frozen=True)
class MemorySession:
    """The logs since the dialogue before, then one dialogue (empty while it has not begun)."""

    id: str
    at: str
    """When the dialogue takes place, `YYYY-MM-DD HH:MM:SS`."""
    logs: tuple[Log, ...] = ()
    turns: tuple[Exchange, ...] = ()

    def before(self) -> MemorySession:
        """Return the same session when its dialogue has not been held."""
        return replace(self, turns=())

    def exchanges(self) -> list[dict[str, str]]:
        """Return the turns as prompts show them."""
        return [dict(vars(turn)) for turn in self.turns]


@dataclass(frozen=True)
class MemoryPiece:
    """One thing recalled: where it comes from and what it says."""

    id: str
    field: str
    """background, situation, outline, principle, log, turn, dialogue, summary, record …"""
    text: str
    sessions: tuple[str, ...] = ()
    """Ids of the sessions it rests on."""
    turns: tuple[tuple[str, int], ...] = ()
    """(session, turn from 1) of the turns it rests on, where it is known more exactly than by session."""


@dataclass(frozen=True)
class Store:
    """The memory of one user. Systems extend it with what they keep; all of it is plain data."""

    user: str
    session_ids: tuple[str, ...] = ()
    """Ids of the sessions whose dialogue was heard, in order."""
    failed: tuple[str, ...] = ()
    """Pieces that a model did not give even when asked again, each with its place and reason."""


class LongTermMemory(ABC):
    """A way to remember a user over months."""

    name: str
    store_type: ClassVar[type[Store]] = Store
    """What it keeps of a user."""
    budget: int | None = None
    """Tokens of text, roughly counted, that it may hand over for a question; None: all that it recalls."""

    def start(self, user: str) -> Any:
        """Return the memory of a user of whom nothing is known."""
        return self.store_type(user)

    @abstractmethod
    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Take in the logs that lead up to a session's dialogue."""

    @abstractmethod
    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> Store:
        """Take in a dialogue that is over; its logs were heard before."""

    @abstractmethod
    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return what is shown of the memory for a query in a session whose logs were heard, most general first."""

    def recall_within_budget(
        self, store: Store, session: MemorySession, query: str, purpose: Purpose
    ) -> list[MemoryPiece]:
        """Return what it recalls, within its budget."""
        pieces = self.recall(store, session, query, purpose)
        return pieces if self.budget is None else cut_to_budget(pieces, self.budget)

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Get ready to be asked these: what takes time is done for all of them at once. `recall` works without it."""
        return None

    def general(self, store: Store) -> list[MemoryPiece]:
        """Return what a store says whatever is asked, as people want to read it; nothing where all of it is looked up."""
        return []

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> Store:
        """Return the memory after these sessions, in the order of time; systems override it where parts of it are
        independent.
        """
        store = self.start(user)
        for session in sessions:
            store = await self.add_logs(store, session, ask)
            store = await self.add_dialogue(store, session, ask)
        return store

    def _own(self, store: Store) -> Any:
        if not isinstance(store, self.store_type):
            raise DataError(f"This store is a {type(store).__name__}, not one of {self.name}: build it anew")
        return store


class PromptedMemory(LongTermMemory):
    """A memory that looks texts up by nearness and asks a model with the prompts of a language.

    `k` of each kind are looked up, by cosine similarity under `embedder`.
    """

    called: ClassVar[str]

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
        self.space = Space(embedder)
        self.name = name or self.called

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Make the queries' vectors, in one go."""
        self.space.vectors(queries, "query")

    def render(self, name: str, **fields: Any) -> Request:
        """Return a question of this memory."""
        return replace(prompt(name, self.language, self.prompts).render(**fields), seed=self.seed)


def cut_to_budget(pieces: Sequence[MemoryPiece], budget: int) -> list[MemoryPiece]:
    """Return pieces up to a budget of tokens, in their order: the first of each field in turn, then the second, and so
    on.

    Of the logs at hand, which stand in the order of time, the last come first. The piece that crosses the budget is cut.
    """
    fields: dict[str, list[int]] = {}
    for i, piece in enumerate(pieces):
        fields.setdefault(piece.field, []).append(i)
    fields.get("log", []).reverse()
    within: dict[int, MemoryPiece] = {}
    for i in chain.from_iterable(zip_longest(*fields.values())):
        if i is not None and budget > 0:
            text = pieces[i].text
            while (tokens := count_tokens(text)) > budget:
                text = text[: min(len(text) - 1, len(text) * budget // tokens)]
            within[i] = replace(pieces[i], text=text)
            budget -= tokens
    return [within[i] for i in sorted(within)]


def list_user_sessions(corpus: Corpus, user: str, part: str | None = None) -> list[MemorySession]:
    """Return the sessions of a user in the order of time, each with the device logs that led up to it.

    `part` keeps the sessions of one scenario: in a PAL-Set, "history" or "query". A session whose id another
    scenario of the user has too is called `scenario/session`. Logs that no session follows are not heard.
    """
    corpus.profile(user)
    if part is not None:
        check_names("part", part, corpus.scenarios)
    own = _in_time(corpus.sessions[corpus.sessions["user"] == user], user)
    is_shared = own["session"].duplicated(keep=False)
    groups = corpus.turns[corpus.turns["user"] == user].groupby(["scenario", "session"], sort=False)
    turns: dict[Any, tuple[Exchange, ...]] = {key: make_exchanges(own) for key, own in groups}
    logs = logs_by_session(corpus.events[corpus.events["user"] == user])
    sessions = []
    for scenario, session, started, shared in zip(own["scenario"], own["session"], own["started_at"], is_shared):
        if part in (None, scenario):
            sessions.append(
                MemorySession(
                    id=f"{scenario}/{session}" if shared else session,
                    at="" if pd.isna(started) else f"{started:%Y-%m-%d %H:%M:%S}",
                    logs=logs.get((scenario, session), ()),
                    turns=turns.get((scenario, session), ()),
                )
            )
    return sessions


def _in_time(own: pd.DataFrame, user: str) -> pd.DataFrame:
    """Return sessions by their start, else by their position; one of the two has to be there for all."""
    for column in ("started_at", "position"):
        if own[column].notna().all():
            return own.sort_values(column, kind="stable")
    raise DataError(
        Problem(f"sessions of {user}", "have neither a start nor a position throughout"),
        "A memory hears sessions in the order of time: give started_at or position for every session.",
    )


def make_exchanges(
    turns: pd.DataFrame, trailing: Iterable[str] = (), ratings_in: str | None = None
) -> tuple[Exchange, ...]:
    """Return the turns of a session; messages that got no reply of their own stand before the next.

    With a language, each rating is told as the beginning of what the user says next.
    """
    talk: list[Exchange] = []
    before: list[str] = []
    rows = zip(*(turns[c] for c in ("request", "earlier", "response", "score", "reason")))
    for request, earlier, response, score, reason in rows:
        asked = [*before, *earlier, *([request] if isinstance(request, str) else [])]
        talk.append(Exchange("\n".join(asked), response))
        before = [] if ratings_in is None or pd.isna(score) else [_rating(int(score), reason, ratings_in)]
    last = [*before, *trailing]
    return (*talk, Exchange("\n".join(last), "")) if last else tuple(talk)


def _rating(score: int, reason: Any, language: str) -> str:
    words = read_phrases("rating", language)
    because = words["because"].format(reason=reason) if isinstance(reason, str) and score <= 3 else ""
    return words["said"].format(score=score, reason=because)


def logs_by_session(events: pd.DataFrame) -> dict[tuple[str, str], tuple[Log, ...]]:
    """Return the logs of a user that led up to each session, by scenario and session, in the order of time."""
    own = events[events["session"].notna() & events["scenario"].notna()].sort_values("at", kind="stable")
    by_session: dict[tuple[str, str], list[Log]] = {}
    for scenario, session, at, content in zip(*(own[c] for c in ("scenario", "session", "at", "content"))):
        when = "" if pd.isna(at) else f"{at:%Y-%m-%d %H:%M}"
        by_session.setdefault((scenario, session), []).append(Log(when, content))
    return {key: tuple(logs) for key, logs in by_session.items()}


KEPT = 50_000
"""Vectors held in memory, so that looking up a thousand queries reads each text once."""


class Space:
    """An embedder whose vectors stay at hand; by default the one that runs on this machine."""

    def __init__(self, model: Embedder | str | None = None):
        self._model = model
        self._known: dict[tuple[Kind, str], np.ndarray] = {}

    @property
    def model(self) -> Embedder:
        """The embedder, loaded when it is first needed."""
        if self._model is None or isinstance(self._model, str):
            self._model = embedder(self._model or "auto")
        return self._model

    def vectors(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """Return one row a text."""
        missing = [text for text in dict.fromkeys(texts) if (kind, text) not in self._known]
        if len(self._known) + len(missing) > KEPT:
            self._known.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._known |= {(kind, t): v for t, v in zip(missing, self.model.embed(missing, kind))}
        return np.stack([self._known[kind, text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def nearest(self, query: str, texts: Sequence[str], k: int) -> list[int]:
        """Return places of the k texts nearest to a query, the nearest first."""
        if not texts:
            return []
        return nearest(self.vectors([query], "query")[0], self.vectors(texts), k)


def nearest(query: Vectors, rows: Vectors, k: int) -> list[int]:
    """Return places of the k rows with the greatest cosine to the query; of equals the first."""
    length = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosine = (rows @ query) / np.where(length > 0, length, 1)
    return [int(i) for i in np.argsort(-np.round(cosine, 6), kind="stable")[:k]]
