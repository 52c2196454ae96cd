"""The baselines in which a model writes down what to keep: RecurSum and ConditionMem, as Mem-PAL uses them.

RecurSum (Wang et al. 2023) keeps two running summaries, of the dialogues and of the logs: M_j = LLM(M_{j−1}, session j),
starting from nothing. Nothing is looked up. The two recursions are independent of each other, so a past is folded in
both at the same time; within each, sessions stay in order.

ConditionMem (Yuan et al. 2023) keeps records of what was worth noting, each with its circumstances. One question a
session decides what deserves a record and writes it so that it stands by itself; sessions do not depend on each other.
The records nearest to a query are shown. In the original a model may say that they do not suffice and look again;
Mem-PAL does not mention it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import (
    CheckedQuestion,
    ParsedReply,
    ask_and_check,
    ask_checked,
    list_reply_faults,
    read_text,
)
from perslib.systems.mem_pal.memory.baselines.session_store import (
    Baseline,
    SessionStore,
    Unit,
    UnitRetrieval,
    in_time,
    logs_of,
)
from perslib.systems.mem_pal.memory.long_term import MemoryPiece, MemorySession, Purpose, Store

LOGS_AT_ONCE = 300
"""Logs folded in by one question; a longer session takes several, one after another."""


@dataclass(frozen=True)
class Summaries(SessionStore):
    """The two summaries as they stood after each session."""

    of_dialogues: tuple[str, ...] = ()
    of_logs: tuple[str, ...] = ()


class RecurSum(Baseline):
    """A running summary of the dialogues, another of the logs, and the logs at hand.

    Where a model gives no summary, the one before stays.
    """

    called = "RecurSum"
    store_type = Summaries
    looks_up = False

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> Summaries:
        """Return the log summary, with these logs folded in."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        if place < len(known.sessions) and known.sessions[place].logs == session.logs:
            return known
        text, lost = await self._fold_logs(_at(known.of_logs, place), session, ask)
        return replace(known.with_logs(session), of_logs=_then(known.of_logs, place, text), failed=known.failed + lost)

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> Summaries:
        """Return the dialogue summary, with this dialogue folded in."""
        known: Summaries = self._own(store)
        if session.id in known.session_ids:
            return known
        place = known.place(session.id)
        text, lost = await self._fold_dialogue(_at(known.of_dialogues, place), session, ask)
        of_dialogues = _then(known.of_dialogues, place, text)
        return replace(known.with_dialogue(session), of_dialogues=of_dialogues, failed=known.failed + lost)

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> Summaries:
        """Return both recursions side by side."""
        (of_dialogues, lost), (of_logs, further) = await asyncio.gather(
            self._chain(self._fold_dialogue, sessions, ask), self._chain(self._fold_logs, sessions, ask)
        )
        session_ids = tuple(session.id for session in sessions)
        return Summaries(user, session_ids, lost + further, tuple(sessions), of_dialogues, of_logs)

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return both summaries as they stood before the session, and its logs."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        texts = {"dialogue_summary": _at(known.of_dialogues, place), "log_summary": _at(known.of_logs, place)}
        before = tuple(s.id for s in known.sessions[:place])
        return [*(MemoryPiece(f, f, text, before) for f, text in texts.items() if text), *logs_of(session)]

    def general(self, store: Store) -> list[MemoryPiece]:
        """Return both summaries as they stand."""
        known: Summaries = self._own(store)
        latest = {"dialogue_summary": known.of_dialogues[-1:], "log_summary": known.of_logs[-1:]}
        return [MemoryPiece(f, f, text, known.session_ids) for f, texts in latest.items() for text in texts if text]

    async def _chain(
        self, fold: Any, sessions: Sequence[MemorySession], ask: Ask
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        texts: tuple[str, ...] = ()
        failed: tuple[str, ...] = ()
        for session in sessions:
            text, lost = await fold(texts[-1] if texts else "", session, ask)
            texts, failed = (*texts, text), failed + lost
        return texts, failed

    async def _fold_dialogue(self, summary: str, session: MemorySession, ask: Ask) -> tuple[str, tuple[str, ...]]:
        if not session.turns:
            return summary, ()
        request = self.render("recursum_dialogue", summary=summary, at=session.at or "–", turns=session.exchanges())
        text, lost = await ask_checked(f"{session.id}: dialogue summary", request, read_text("summary"), ask)
        return text or summary, lost

    async def _fold_logs(self, summary: str, session: MemorySession, ask: Ask) -> tuple[str, tuple[str, ...]]:
        logs = [dict(vars(log)) for _, log in in_time(session.logs)]
        failed: tuple[str, ...] = ()
        for start in range(0, len(logs), LOGS_AT_ONCE):
            request = self.render("recursum_logs", summary=summary, logs=logs[start : start + LOGS_AT_ONCE])
            text, lost = await ask_checked(f"{session.id}: log summary", request, read_text("summary"), ask)
            summary, failed = text or summary, failed + lost
        return summary, failed


def _at(texts: tuple[str, ...], place: int) -> str:
    """Return what stood before the session at a place."""
    before = texts[:place]
    return before[-1] if before else ""


def _then(texts: tuple[str, ...], place: int, text: str) -> tuple[str, ...]:
    """Return the texts with the one after the session at a place; sessions that were passed over changed nothing."""
    before = texts[:place]
    return (*before, *(before[-1:] or ("",)) * (place - len(before)), text, *texts[place + 1 :])


@dataclass(frozen=True)
class Records(SessionStore):
    """What was learned of the user, in the order of sessions; each record begins with the circumstances it holds in."""

    records: tuple[MemoryPiece, ...] = ()


class ConditionMem(UnitRetrieval):
    """Records that are looked up, earlier logs, and the logs at hand."""

    called = "ConditionMem"
    store_type = Records

    async def learn(self, known: Records, sessions: Sequence[MemorySession], ask: Ask) -> Records:
        """Return the records of all sessions at once."""
        spoken = [s for s in sessions if s.turns]
        requests = (self.render("conditionmem_records", at=s.at or "–", turns=s.exchanges()) for s in spoken)
        questions = [
            CheckedQuestion(f"{s.id}: records", request, _read_records) for s, request in zip(spoken, requests)
        ]
        readings = await ask_and_check(questions, ask)
        records = tuple(
            MemoryPiece(f"{s.id}/record_{i}", "record", text, (s.id,))
            for s, reading in zip(spoken, readings, strict=True)
            for i, text in enumerate(reading.value or ())
        )
        return replace(
            known, records=known.records + records, failed=known.failed + list_reply_faults(questions, readings)
        )

    def units(self, past: Records) -> Iterator[Unit]:
        """Return the records, each found by its own text."""
        place = {s.id: i for i, s in enumerate(past.sessions)}
        units = ((place[record.sessions[0]], record, record.text) for record in past.records)
        return iter(sorted(units, key=lambda unit: unit[0]))

    def general(self, store: Store) -> list[MemoryPiece]:
        """Return all records."""
        known: Records = self._own(store)
        return list(known.records)


def _read_records(data: Any) -> ParsedReply[list[str]]:
    """Return records with both halves, circumstances first; one that lacks a half is left out."""
    pairs = [(r["condition"].strip(), r["content"].strip()) for r in data["records"]]
    blank = [i for i, pair in enumerate(pairs, start=1) if not all(pair)]
    faults = tuple(f"record {i} lacks its condition or its content" for i in blank)
    return ParsedReply([" → ".join(pair) for pair in pairs if all(pair)], faults)
