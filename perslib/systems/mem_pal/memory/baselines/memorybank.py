"""MemoryBank (Zhong et al. 2024, as Mem-PAL uses it): dated pieces that fade, day summaries, a portrait of the user.

A piece is an exchange or the summary of a day. It is retained with probability

    R = exp(−t / (c · S))

with t the days since it was last recalled (or made), and S its strength: 1, and 1 more with every recall, which also
sets t back to 0. A recalled piece so lasts longer; reading the formula as exp(−t / c · S), as some code does, would let
it fade faster. With c = 1, as in the original, a piece is gone after a week (R = 0.0009), while PAL-Set's sessions lie
ten days apart; nobody says what Mem-PAL did. Here c = 30.

A piece is forgotten once R falls below a number drawn for it, anew after each recall, from the seed, the user and the
piece. So it is kept with probability R at any time, recalling changes nothing by itself, and what was recalled is
written down by `strengthen_pieces`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from random import Random

import numpy as np

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import CheckedQuestion, ask_and_check, list_reply_faults, read_text
from perslib.systems.mem_pal.memory.baselines.session_store import Baseline, PieceIndex, SessionStore, Unit
from perslib.systems.mem_pal.memory.long_term import MemoryPiece, MemorySession, Purpose, Store


@dataclass(frozen=True)
class Day:
    """What happened in a session's dialogue, and what it shows of the user; empty where a model failed."""

    session: str
    at: str
    summary: str
    insight: str


@dataclass(frozen=True)
class OverallSummary:
    """The account of all events and the portrait of the user, as they stood after a session."""

    after: str
    events: str
    portrait: str


@dataclass(frozen=True)
class Recalls:
    """How often a piece was recalled, and on which day last."""

    piece: str
    times: int
    last: str


@dataclass(frozen=True)
class Bank(SessionStore):
    """Day summaries, what they amount to, and what was recalled."""

    days: tuple[Day, ...] = ()
    wholes: tuple[OverallSummary, ...] = ()
    recalls: tuple[Recalls, ...] = ()


class MemoryBank(Baseline):
    """Portrait and account of events, pieces that are looked up and not forgotten, earlier logs, the logs at hand.

    The account and the portrait are merged from all day summaries, once at the end of `build` and after each dialogue
    heard later: so a built memory is the same as one heard session by session, with fewer questions.
    """

    called = "MemoryBank"
    store_type = Bank
    forgetting = 30.0
    """c of the formula, in days; with infinity nothing is forgotten."""

    async def learn(self, known: Bank, sessions: Sequence[MemorySession], ask: Ask) -> Bank:
        """Return the days of these sessions at once, then the whole anew."""
        days, lost = await self._days(sessions, ask)
        return await self._merge_accounts(replace(known, days=known.days + days, failed=known.failed + lost), ask)

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return the portrait, events, pieces, earlier logs, current logs."""
        known: Bank = self._own(store)
        place = known.place(session.id)
        before = tuple(s.id for s in known.sessions[:place])
        shelf = self.shelf(known, "bank", lambda: self._pieces(known))
        near = self.nearest(shelf, query, self._select_remembered(known, shelf, place, session.at))
        whole = next((w for w in reversed(known.wholes) if w.after in before), None)
        return self.add_logs_to_pieces(known, session, query, [*_of_whole(whole, before), *near])

    def strengthen_pieces(self, store: Store, pieces: Iterable[MemoryPiece], at: str) -> Bank:
        """Return the memory once these pieces were recalled: each is stronger, and fades from this day on."""
        known: Bank = self._own(store)
        counted = {r.piece: r for r in known.recalls}
        for piece in pieces:
            if piece.field in ("turn", "day"):
                times = counted[piece.id].times if piece.id in counted else 0
                counted[piece.id] = Recalls(piece.id, times + 1, at[:10])
        return replace(known, recalls=tuple(counted.values()))

    def _select_remembered(self, known: Bank, shelf: PieceIndex, place: int, at: str) -> np.ndarray:
        """Return numbers of the pieces on the shelf that are not forgotten by this day."""
        pieces = shelf.pieces[: shelf.before(place)]
        days = np.array([_days(s.at, at) for s in known.sessions], dtype=float)[shelf.places[: len(pieces)]]
        strength = np.ones(len(pieces))
        recalls = {r.piece: r for r in known.recalls}
        for i, piece in enumerate(pieces if recalls else ()):
            if recalled := recalls.get(piece.id):
                days[i], strength[i] = _days(recalled.last, at), 1 + recalled.times
        names = [piece.id for piece in pieces]
        drawn = _draw_numbers(f"{self.seed}/{known.user}", tuple(names), tuple(strength))
        return np.flatnonzero(drawn <= np.exp(-days / (self.forgetting * strength)))

    def general(self, store: Store) -> list[MemoryPiece]:
        """Return portrait and events as they stand."""
        known: Bank = self._own(store)
        return _of_whole(known.wholes[-1] if known.wholes else None, known.session_ids)

    def _pieces(self, known: Bank) -> Iterator[Unit]:
        """Yield exchanges, and after them the summary of their day, session by session; each found by its own text."""
        days = {day.session: day for day in known.days if day.summary}
        for place, s in enumerate(known.sessions):
            pieces = [self.turn(s, n, turn) for n, turn in enumerate(s.turns, start=1)]
            if d := days.get(s.id):
                pieces.append(MemoryPiece(f"{s.id}/day", "day", f"[{d.at[:10]}] {d.summary}", (s.id,)))
            yield from ((place, piece, piece.text) for piece in pieces)

    async def _days(self, sessions: Sequence[MemorySession], ask: Ask) -> tuple[tuple[Day, ...], tuple[str, ...]]:
        spoken = [s for s in sessions if s.turns]
        questions = []
        for s in spoken:
            for name, key in (("memorybank_day", "summary"), ("memorybank_personality", "insight")):
                request = self.render(name, at=s.at or "–", turns=s.exchanges())
                questions.append(CheckedQuestion(f"{s.id}: {key} of the day", request, read_text(key)))
        readings = await ask_and_check(questions, ask)
        texts = [reading.value or "" for reading in readings]
        days = tuple(Day(s.id, s.at, *texts[2 * i : 2 * i + 2]) for i, s in enumerate(spoken))
        return days, list_reply_faults(questions, readings)

    async def _merge_accounts(self, known: Bank, ask: Ask) -> Bank:
        """Return the bank with account and portrait merged anew; where that fails, the ones before stay."""
        last = known.wholes[-1] if known.wholes else OverallSummary("", "", "")
        parts = {
            "summary": ("memorybank_events", [(d.at, d.summary) for d in known.days if d.summary]),
            "portrait": ("memorybank_portrait", [(d.at, d.insight) for d in known.days if d.insight]),
        }
        after = known.session_ids[-1] if known.session_ids else ""
        questions = {
            key: CheckedQuestion(
                f"{after}: {key} of the whole",
                self.render(name, days=[{"at": at[:10], "text": text} for at, text in days]),
                read_text(key),
            )
            for key, (name, days) in parts.items()
            if days
        }
        readings = dict(zip(questions, await ask_and_check(list(questions.values()), ask)))
        accounts = {key: reading.value for key, reading in readings.items() if reading.value}
        whole = OverallSummary(after, accounts.get("summary", last.events), accounts.get("portrait", last.portrait))
        lost = list_reply_faults(questions.values(), readings.values())
        return replace(known, wholes=(*known.wholes, whole), failed=known.failed + lost)


@lru_cache(maxsize=512)
def _draw_numbers(about: str, pieces: tuple[str, ...], strength: tuple[float, ...]) -> np.ndarray:
    """Return the numbers that pieces are forgotten by, each drawn by itself."""
    return np.array([Random(f"{about}/{p}/{s:.0f}").random() for p, s in zip(pieces, strength, strict=True)])


@lru_cache(maxsize=1 << 14)
def _days(since: str, until: str) -> int:
    """Return whole days between two dates; none where one of them is not known."""
    try:
        return max(0, (date.fromisoformat(until[:10]) - date.fromisoformat(since[:10])).days)
    except ValueError:
        return 0


def _of_whole(whole: OverallSummary | None, sessions: tuple[str, ...]) -> list[MemoryPiece]:
    texts = {} if whole is None else {"portrait": whole.portrait, "events": whole.events}
    return [MemoryPiece(field, field, text, sessions) for field, text in texts.items() if text]
