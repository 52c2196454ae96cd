"""Retrieval baselines (Mem-PAL, Table 2): the logs at hand, earlier logs, and earlier turns or whole dialogues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perslib.llm.embeddings import unit
from perslib.memory.baselines.past import Baseline, Past, logs_of, turns_of
from perslib.memory.baselines.shelf import Shelf
from perslib.memory.long import Piece, Purpose, Session, Store


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

        found = self.found(past, session, query, "turns", make)
        return [*found, *self.old_logs(past, session, query), *logs_of(session)]


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
        return [*found, *self.old_logs(past, session, query), *logs_of(session)]

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
