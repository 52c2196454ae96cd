"""ConditionMem (Yuan et al. 2023, as Mem-PAL uses it): records of what was worth noting, each with its circumstances.

One question a session decides what deserves a record and writes it so that it stands by itself; sessions do not depend
on each other. The records nearest to a query are shown. In the original a model may say that they do not suffice and
look again (`reflection`); Mem-PAL does not mention it, and it is off unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perslib.llm import Steps
from perslib.memory.baselines.past import Baseline, Past, logs_of
from perslib.memory.baselines.shelf import Shelf
from perslib.memory.checked import Question, Reading, checked, failures
from perslib.memory.long import Piece, Purpose, Session, Store


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

    def hear_dialogue(self, store: Store, session: Session) -> Steps[Records]:
        """Its records."""
        known: Records = self._own(store)
        if session.id in known.heard:
            return known
        found, lost = yield from self._records([session])
        return replace(
            known.with_dialogue(session), records=known.records + found, failed=known.failed + lost
        )

    def build(self, user: str, sessions: Sequence[Session]) -> Steps[Records]:
        """The records of all sessions at once."""
        found, lost = yield from self._records(sessions)
        return Records(user, tuple(session.id for session in sessions), lost, tuple(sessions), found)

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Records, earlier logs, current logs."""
        known: Records = self._own(store)
        return self._shown(known, session, query, self._records_for(known, session, query))

    def reflected(self, store: Store, session: Session, query: str, purpose: Purpose) -> Steps[list[Piece]]:
        """What is recalled, and what the model asks for beyond it."""
        known: Records = self._own(store)
        found = self._records_for(known, session, query)
        for _ in range(self.reflection):
            request = self.render("conditionmem_reflect", query=query, found=[piece.text for piece in found])
            (reading,) = yield from checked([Question(f"{session.id}: reflection", request, _wanted)])
            if not reading.value:
                break
            found += [p for p in self._records_for(known, session, reading.value) if p not in found]
        return self._shown(known, session, query, found)

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

    def _shown(self, known: Records, session: Session, query: str, found: Sequence[Piece]) -> list[Piece]:
        return [
            *found,
            *self.old_logs(known, session, query),
            *logs_of(session),
        ]

    def _records(self, sessions: Sequence[Session]) -> Steps[tuple[tuple[Record, ...], tuple[str, ...]]]:
        questions = [
            Question(
                f"{s.id}: records",
                self.render(
                    "conditionmem_records",
                    at=s.at or "–",
                    turns=[{"user": turn.user, "assistant": turn.assistant} for turn in s.turns],
                ),
                _noted,
            )
            for s in sessions
            if s.turns
        ]
        spoken = [s for s in sessions if s.turns]
        readings = yield from checked(questions)
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
