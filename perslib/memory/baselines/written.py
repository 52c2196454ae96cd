"""The baselines in which a model writes down what to keep: RecurSum and ConditionMem, as Mem-PAL uses them.

RecurSum (Wang et al. 2023) keeps two running summaries, of the dialogues and of the logs: M_j = LLM(M_{j−1}, session j),
starting from nothing. Nothing is looked up. The two recursions are independent of each other, so a past is folded in
both at the same time; within each, sessions stay in order.

ConditionMem (Yuan et al. 2023) keeps records of what was worth noting, each with its circumstances. One question a
session decides what deserves a record and writes it so that it stands by itself; sessions do not depend on each other.
The records nearest to a query are shown. In the original a model may say that they do not suffice and look again
(`reflection`); Mem-PAL does not mention it, and it is off unless asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perslib.llm import Ask, Request
from perslib.memory.baselines.past import Baseline, Past, Shelf, in_time, logs_of
from perslib.memory.checked import Question, Reading, checked, failures
from perslib.memory.long import Piece, Purpose, Session, Store

LOGS_AT_ONCE = 300
"""Logs folded in by one question; a longer session takes several, one after another."""


@dataclass(frozen=True)
class Summaries(Past):
    """The two summaries as they stood after each session."""

    of_dialogues: tuple[str, ...] = ()
    of_logs: tuple[str, ...] = ()


class RecurSum(Baseline):
    """A running summary of the dialogues, another of the logs, and the logs at hand.

    Where a model gives no summary, the one before stays.
    """

    called = "RecurSum"
    kept = Summaries
    looks_up = False

    async def hear_logs(self, store: Store, session: Session, ask: Ask) -> Summaries:
        """The log summary, with these logs folded in."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        if place < len(known.sessions) and known.sessions[place].logs == session.logs:
            return known
        text, lost = await self._fold_logs(_at(known.of_logs, place), session, ask)
        return replace(known.with_logs(session), of_logs=_then(known.of_logs, place, text), failed=known.failed + lost)

    async def hear_dialogue(self, store: Store, session: Session, ask: Ask) -> Summaries:
        """The dialogue summary, with this dialogue folded in."""
        known: Summaries = self._own(store)
        if session.id in known.heard:
            return known
        place = known.place(session.id)
        text, lost = await self._fold_dialogue(_at(known.of_dialogues, place), session, ask)
        return replace(
            known.with_dialogue(session),
            of_dialogues=_then(known.of_dialogues, place, text),
            failed=known.failed + lost,
        )

    async def build(self, user: str, sessions: Sequence[Session], ask: Ask) -> Summaries:
        """Both recursions side by side."""
        chains = await asyncio.gather(
            *(self._chain(fold, sessions, ask) for fold in (self._fold_dialogue, self._fold_logs))
        )
        (of_dialogues, lost), (of_logs, further) = chains
        heard = tuple(session.id for session in sessions)
        return Summaries(user, heard, lost + further, tuple(sessions), of_dialogues, of_logs)

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Both summaries as they stood before the session, and its logs."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        texts = {"dialogue_summary": _at(known.of_dialogues, place), "log_summary": _at(known.of_logs, place)}
        before = tuple(s.id for s in known.sessions[:place])
        return [*(Piece(f, f, text, before) for f, text in texts.items() if text), *logs_of(session)]

    def general(self, store: Store) -> list[Piece]:
        """Both summaries as they stand."""
        known: Summaries = self._own(store)
        latest = {"dialogue_summary": known.of_dialogues[-1:], "log_summary": known.of_logs[-1:]}
        return [Piece(f, f, text, known.heard) for f, texts in latest.items() for text in texts if text]

    async def _chain(self, fold: Any, sessions: Sequence[Session], ask: Ask) -> tuple[tuple[str, ...], tuple[str, ...]]:
        texts: tuple[str, ...] = ()
        failed: tuple[str, ...] = ()
        for session in sessions:
            text, lost = await fold(texts[-1] if texts else "", session, ask)
            texts, failed = (*texts, text), failed + lost
        return texts, failed

    async def _fold_dialogue(self, summary: str, session: Session, ask: Ask) -> tuple[str, tuple[str, ...]]:
        if not session.turns:
            return summary, ()
        turns = [{"user": turn.user, "assistant": turn.assistant} for turn in session.turns]
        request = self.render("recursum_dialogue", summary=summary, at=session.at or "–", turns=turns)
        return await _folded(summary, f"{session.id}: dialogue summary", request, ask)

    async def _fold_logs(self, summary: str, session: Session, ask: Ask) -> tuple[str, tuple[str, ...]]:
        logs = [{"at": log.at, "content": log.content} for _, log in in_time(session.logs)]
        failed: tuple[str, ...] = ()
        for start in range(0, len(logs), LOGS_AT_ONCE):
            request = self.render("recursum_logs", summary=summary, logs=logs[start : start + LOGS_AT_ONCE])
            summary, lost = await _folded(summary, f"{session.id}: log summary", request, ask)
            failed += lost
        return summary, failed


async def _folded(summary: str, place: str, request: Request, ask: Ask) -> tuple[str, tuple[str, ...]]:
    question = Question(place, request, text_of("summary"))
    (reading,) = await checked([question], ask)
    return reading.value or summary, failures([question], [reading])


def text_of(key: str) -> Any:
    """Reads one text that must not be blank."""

    def read(data: Any) -> Reading[str]:
        text = str(data[key]).strip()
        return Reading(text) if text else Reading(None, (f"{key} is empty",))

    return read


def _at(texts: tuple[str, ...], place: int) -> str:
    """What stood before the session at a place."""
    before = texts[:place]
    return before[-1] if before else ""


def _then(texts: tuple[str, ...], place: int, text: str) -> tuple[str, ...]:
    """The texts with the one after the session at a place; sessions that were passed over changed nothing."""
    before = texts[:place]
    return (*before, *(before[-1:] or ("",)) * (place - len(before)), text, *texts[place + 1 :])


@dataclass(frozen=True)
class Record:
    """What was learned of the user, and in which circumstances it holds."""

    id: str
    session: str
    condition: str
    content: str

    @property
    def text(self) -> str:
        """Circumstances first."""
        return f"{self.condition} → {self.content}"


@dataclass(frozen=True)
class Records(Past):
    """The records, in the order of their sessions."""

    records: tuple[Record, ...] = ()


class ConditionMem(Baseline):
    """Records that are looked up, earlier logs, and the logs at hand.

    With `reflection`, `reflected` asks the model up to that many times whether what was found suffices.
    """

    called = "ConditionMem"
    kept = Records

    def __init__(self, *args: object, reflection: int = 0, **options: object):
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.reflection = reflection

    async def hear_dialogue(self, store: Store, session: Session, ask: Ask) -> Records:
        """Its records."""
        known: Records = self._own(store)
        if session.id in known.heard:
            return known
        found, lost = await self._records([session], ask)
        return replace(known.with_dialogue(session), records=known.records + found, failed=known.failed + lost)

    async def build(self, user: str, sessions: Sequence[Session], ask: Ask) -> Records:
        """The records of all sessions at once."""
        found, lost = await self._records(sessions, ask)
        return Records(user, tuple(session.id for session in sessions), lost, tuple(sessions), found)

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Records, earlier logs, current logs."""
        known: Records = self._own(store)
        return self.shown(known, session, query, self._records_for(known, session, query))

    async def reflected(self, store: Store, session: Session, query: str, purpose: Purpose, ask: Ask) -> list[Piece]:
        """What is recalled, and what the model asks for beyond it."""
        known: Records = self._own(store)
        found = self._records_for(known, session, query)
        for _ in range(self.reflection):
            request = self.render("conditionmem_reflect", query=query, found=[piece.text for piece in found])
            (reading,) = await checked([Question(f"{session.id}: reflection", request, _wanted)], ask)
            if not reading.value:
                break
            found += [p for p in self._records_for(known, session, reading.value) if p not in found]
        return self.shown(known, session, query, found)

    def general(self, store: Store) -> list[Piece]:
        """All records."""
        known: Records = self._own(store)
        return [_piece(record) for record in known.records]

    def _records_for(self, known: Records, session: Session, query: str) -> list[Piece]:
        def make() -> Shelf:
            place = {s.id: i for i, s in enumerate(known.sessions)}
            records = sorted(known.records, key=lambda record: place[record.session])
            return self.shelf([(place[r.session], _piece(r)) for r in records], [r.text for r in records])

        return self.found(known, session, query, "records", make)

    async def _records(self, sessions: Sequence[Session], ask: Ask) -> tuple[tuple[Record, ...], tuple[str, ...]]:
        spoken = [s for s in sessions if s.turns]
        questions = []
        for s in spoken:
            turns = [{"user": turn.user, "assistant": turn.assistant} for turn in s.turns]
            request = self.render("conditionmem_records", at=s.at or "–", turns=turns)
            questions.append(Question(f"{s.id}: records", request, _noted))
        readings = await checked(questions, ask)
        records = tuple(
            Record(f"{s.id}/record_{i}", s.id, condition, content)
            for s, reading in zip(spoken, readings, strict=True)
            for i, (condition, content) in enumerate(reading.value or ())
        )
        return records, failures(questions, readings)


def _piece(record: Record) -> Piece:
    return Piece(record.id, "record", record.text, (record.session,))


def _noted(data: Any) -> Reading[list[tuple[str, str]]]:
    """Records with both halves; one that lacks a half is left out."""
    pairs = [(r["condition"].strip(), r["content"].strip()) for r in data["records"]]
    blank = [i for i, pair in enumerate(pairs, start=1) if not all(pair)]
    faults = tuple(f"record {i} lacks its condition or its content" for i in blank)
    return Reading([pair for pair in pairs if all(pair)], faults)


def _wanted(data: Any) -> Reading[str]:
    return Reading("" if data["enough"] else data["query"].strip())
