"""Long-term memories as evidence: `LongTermSystem(H2Memory())` is a memory system like any other.

    Personal(LongTermSystem(H2Memory()))        a judge that knows the user from months of logs and dialogues
    context(LongTermSystem(H2Memory()))         a candidate that does

A block's evidence becomes sessions in the order of time, each with the device logs that led up to it; where labels may
be seen, a rating is told as what the user says next, so that no reply can forge one. For a target the memory is asked
with the user's last message, and hears the logs that led up to the target's session.

Where a memory looks things up, each text of a user is embedded once, whichever block it first stands in, and kept in
the answer cache; the questions of a block go together. What that takes is the embedder's time: with the embedded one
about a millisecond of a processor for a Chinese character, half a minute for all that a user of the sample was told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

import pandas as pd

from perslib.corpus import Block, Target
from perslib.llm import Ask
from perslib.memory.base import MemorySystem, Statement, UserMemory, make_counts_memory, saved_memory
from perslib.memory.retrieval import turn_id
from perslib.prompts import read_phrases
from perslib.systems.mem_pal.memory.long_term import (
    LongTermMemory,
    MemoryPiece,
    MemorySession,
    Purpose,
    Store,
    logs_by_session,
    make_exchanges,
)
from perslib.text import check_language


@dataclass(frozen=True)
class RecallMemory(UserMemory):
    """What a long-term memory knows of a user; each target is shown what is recalled for it."""

    saved_as = "recalled"

    language: str = "en"
    purpose: Purpose = "judging"
    long: LongTermMemory | None = field(default=None, repr=False)
    store: Store | None = field(default=None, repr=False)
    here: Mapping[str, tuple[Store, MemorySession]] = field(default_factory=dict, repr=False)
    """The target scenario's sessions that logs led up to, and the memory once it heard them."""
    pieces: Mapping[str, Statement] = field(default_factory=dict, repr=False)
    """Piece → the statement that was made of it."""
    at_hand: Mapping[tuple[str, str], tuple[MemoryPiece, ...]] = field(default_factory=dict, repr=False)
    """Session and question → what was recalled there: all that is left of the system in a memory from a file."""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Session, as pieces name it → ids of its turns; pieces count them from 1."""

    def select_statements(self, target: Target) -> tuple[Statement, ...]:
        """Return the pieces for this target in their order, as far as their statements stand, then statements of one's
        own.
        """
        if self.long is None and _place(target) not in self.at_hand:
            return self.statements
        known = {s.id: s for s in self.statements}
        of_pieces = {s.id for s in self.pieces.values()}
        fresh = (id for n in count(1) if (id := f"M{n}") not in known.keys() | of_pieces)
        statements: list[Statement] = []
        for piece in self.recall_pieces(target):
            made = self.pieces.get(piece.id)
            if made is None:
                statements.append(Statement(next(fresh), piece.field, piece.text, _rests(piece, self.ids)))
            elif now := known.get(made.id):  # else a person took it out; where they changed it, their words count
                text = piece.text if now.text == made.text else now.text
                statements.append(replace(now, field=piece.field, text=text))
        return (*statements, *(s for s in self.statements if s.id not in of_pieces))

    def recall(self, target: Target) -> list[dict[str, Any]]:
        """Return the statements for this target; their fields as a judge may read them."""
        named = read_phrases("parts", self.language)
        return [
            {"id": s.id, "field": named.get(s.field, s.field), "text": s.text, "task": None}
            for s in self.select_statements(target)
        ]

    def recall_pieces(self, target: Target) -> Sequence[MemoryPiece]:
        """Return what the memory recalls for the user's last message."""
        if _place(target) in self.at_hand:
            return self.at_hand[_place(target)]
        if self.long is None or self.store is None:
            return []
        unheard = (self.store, MemorySession(f"{target.scenario}/{target.session}", ""))
        store, session = self.here.get(target.session, unheard)
        return self.long.recall(store, session, _query(target), self.purpose)

    def to_json(self) -> dict[str, Any]:
        """Return what it recalled for the targets it was built with, as plain data: each piece once, then where it was
        shown.
        """
        pieces = list(dict.fromkeys(piece for shown in self.at_hand.values() for piece in shown))
        number = {piece: i for i, piece in enumerate(pieces)}
        return {
            "language": self.language,
            "pieces": [{"id": p.id, "field": p.field, "text": p.text} for p in pieces],
            "statements": {piece: statement.id for piece, statement in self.pieces.items()},
            "shown": [
                {"session": session, "query": query, "pieces": [number[p] for p in shown]}
                for (session, query), shown in self.at_hand.items()
            ],
        }

    @classmethod
    def of_json(cls, built: UserMemory, data: Mapping[str, Any]) -> RecallMemory:
        """Return the memory that says what `built` says and recalls what was written so."""
        pieces = [MemoryPiece(**piece) for piece in data["pieces"]]
        statements = {s.id: s for s in built.statements}
        return cls(
            **vars(built),
            language=data["language"],
            pieces={piece: statements[id] for piece, id in data["statements"].items()},
            at_hand={
                (shown["session"], shown["query"]): tuple(pieces[i] for i in shown["pieces"]) for shown in data["shown"]
            },
        )


saved_memory(RecallMemory.saved_as)(RecallMemory.of_json)


class LongTermSystem(MemorySystem):
    """Any long-term memory, built from a block's evidence; statements name the turns they rest on."""

    def __init__(self, system: LongTermMemory, language: str | None = None, *, name: str | None = None):
        self.system = system
        self.language = check_language(language or str(getattr(system, "language", "en")))
        self.name = name or system.name

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Hear the evidence, then the logs before each target session; replies judged since come last."""
        memory, known = make_counts_memory(RecallMemory, block, judged, self.name, language=self.language)
        past, ids = make_memory_sessions(block, known, self.language)
        store = await self.system.build(block.user, past, ask)
        ahead = [
            MemorySession(f"{block.scenario}/{session}", logs[-1].at, logs)
            for (scenario, session), logs in logs_by_session(block.events).items()
            if scenario == block.scenario
        ]
        stores = await asyncio.gather(*(self.system.add_logs(store, session, ask) for session in ahead))
        lost = f"{len(store.failed)} pieces failed, the first: {store.failed[0]}" if store.failed else None
        memory = replace(
            memory,
            turns=tuple(chain.from_iterable(ids.values())),
            purpose="judging" if block.labelled else "reply",
            long=self.system,
            store=store,
            ids=ids,
            here={s.id.removeprefix(f"{block.scenario}/"): (store, s) for s, store in zip(ahead, stores)},
        )
        if past or ahead:
            self.system.prepare_queries([_query(target) for target in block])
        shown = {_place(target): tuple(memory.recall_pieces(target)) for target in block}
        all_pieces = [*self.system.general(store), *(piece for pieces in shown.values() for piece in pieces)]
        made = _statements(all_pieces, ids)
        error = None if made else lost
        return replace(memory, statements=tuple(made.values()), pieces=made, at_hand=shown, error=error)


def _query(target: Target) -> str:
    """Return what a memory is asked for a target: the user's last message, else the task."""
    return target.request or target.task or ""


def _place(target: Target) -> tuple[str, str]:
    """Return all that recalling depends on."""
    return target.session, _query(target)


def make_memory_sessions(
    block: Block, turns: pd.DataFrame, language: str = "en"
) -> tuple[list[MemorySession], dict[str, tuple[str, ...]]]:
    """Return these turns of a block's user as sessions in the order of time, and for each the ids of its turns."""
    logs, order = logs_by_session(block.events), block.sessions
    if order["position"].notna().all():
        order = order.sort_values("position", kind="stable")
    elif order["started_at"].notna().all():
        order = order.sort_values("started_at", kind="stable")
    turns_of: dict[Any, pd.DataFrame] = dict(iter(turns.groupby(["scenario", "session"], sort=False)))
    keys = list(zip(order["scenario"], order["session"]))
    times, trailing = dict(zip(keys, order["started_at"])), dict(zip(keys, order["trailing"]))
    sessions: list[MemorySession] = []
    ids: dict[str, tuple[str, ...]] = {}
    for key in dict.fromkeys([*times, *turns_of]):
        if key not in turns_of:
            continue
        id, own, at = "/".join(key), logs.get(key, ()), times.get(key)
        start = f"{at:%Y-%m-%d %H:%M:%S}" if at is not None and not pd.isna(at) else own[-1].at if own else ""
        talk = make_exchanges(turns_of[key], trailing.get(key, ()), language if block.labelled else None)
        sessions.append(MemorySession(id, start, own, talk))
        ids[id] = tuple(turn_id(key[0], key[1], int(turn)) for turn in turns_of[key]["turn"])
    return sessions, ids


def _statements(pieces: Iterable[MemoryPiece], ids: Mapping[str, tuple[str, ...]]) -> dict[str, Statement]:
    """Return the piece → statement, each piece once."""
    statements: dict[str, Statement] = {}
    for piece in pieces:
        if piece.id not in statements:
            statements[piece.id] = Statement(f"M{len(statements) + 1}", piece.field, piece.text, _rests(piece, ids))
    return statements


def _rests(piece: MemoryPiece, ids: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the turns a piece rests on: those it names, else all of its sessions."""
    named = [ids[of][n - 1] for of, n in piece.turns if 1 <= n <= len(ids.get(of, ()))]
    return tuple(named or chain.from_iterable(ids.get(of, ()) for of in piece.sessions))
