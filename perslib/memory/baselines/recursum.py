"""RecurSum (Wang et al. 2023, as Mem-PAL uses it): two running summaries, of the dialogues and of the logs.

M_j = LLM(M_{j−1}, session j), starting from nothing. Nothing is looked up. The two recursions are independent of each
other, so a past is folded in both at the same time; within each, sessions stay in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perslib.llm import Request, Steps, side_by_side
from perslib.memory.baselines.past import Baseline, Past, in_time, logs_of
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

    def hear_logs(self, store: Store, session: Session) -> Steps[Summaries]:
        """The log summary, with these logs folded in."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        if place < len(known.sessions) and known.sessions[place].logs == session.logs:
            return known
        text, lost = yield from self._fold_logs(_at(known.of_logs, place), session)
        return replace(
            known.with_logs(session), of_logs=_then(known.of_logs, place, text), failed=known.failed + lost
        )

    def hear_dialogue(self, store: Store, session: Session) -> Steps[Summaries]:
        """The dialogue summary, with this dialogue folded in."""
        known: Summaries = self._own(store)
        if session.id in known.heard:
            return known
        place = known.place(session.id)
        text, lost = yield from self._fold_dialogue(_at(known.of_dialogues, place), session)
        return replace(
            known.with_dialogue(session),
            of_dialogues=_then(known.of_dialogues, place, text),
            failed=known.failed + lost,
        )

    def build(self, user: str, sessions: Sequence[Session]) -> Steps[Summaries]:
        """Both recursions side by side."""
        chains = yield from side_by_side(
            self._chain(fold, sessions) for fold in (self._fold_dialogue, self._fold_logs)
        )
        (of_dialogues, lost), (of_logs, further) = chains
        heard = tuple(session.id for session in sessions)
        return Summaries(user, heard, lost + further, tuple(sessions), of_dialogues, of_logs)

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Both summaries as they stood before the session, and its logs."""
        known: Summaries = self._own(store)
        place = known.place(session.id)
        texts = {
            "dialogue_summary": _at(known.of_dialogues, place),
            "log_summary": _at(known.of_logs, place),
        }
        before = tuple(s.id for s in known.sessions[:place])
        return [*(Piece(f, f, text, before) for f, text in texts.items() if text), *logs_of(session)]

    def general(self, store: Store) -> list[Piece]:
        """Both summaries as they stand."""
        known: Summaries = self._own(store)
        latest = {"dialogue_summary": known.of_dialogues[-1:], "log_summary": known.of_logs[-1:]}
        return [Piece(f, f, text, known.heard) for f, texts in latest.items() for text in texts if text]

    def _chain(
        self, fold: Any, sessions: Sequence[Session]
    ) -> Steps[tuple[tuple[str, ...], tuple[str, ...]]]:
        texts: tuple[str, ...] = ()
        failed: tuple[str, ...] = ()
        for session in sessions:
            text, lost = yield from fold(texts[-1] if texts else "", session)
            texts, failed = (*texts, text), failed + lost
        return texts, failed

    def _fold_dialogue(self, summary: str, session: Session) -> Steps[tuple[str, tuple[str, ...]]]:
        if not session.turns:
            return summary, ()
        turns = [{"user": turn.user, "assistant": turn.assistant} for turn in session.turns]
        request = self.render("recursum_dialogue", summary=summary, at=session.at or "–", turns=turns)
        return (yield from _folded(summary, f"{session.id}: dialogue summary", request))

    def _fold_logs(self, summary: str, session: Session) -> Steps[tuple[str, tuple[str, ...]]]:
        logs = [{"at": log.at, "content": log.content} for _, log in in_time(session.logs)]
        failed: tuple[str, ...] = ()
        for start in range(0, len(logs), LOGS_AT_ONCE):
            request = self.render("recursum_logs", summary=summary, logs=logs[start : start + LOGS_AT_ONCE])
            summary, lost = yield from _folded(summary, f"{session.id}: log summary", request)
            failed += lost
        return summary, failed


def _folded(summary: str, place: str, request: Request) -> Steps[tuple[str, tuple[str, ...]]]:
    question = Question(place, request, text_of("summary"))
    (reading,) = yield from checked([question])
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
