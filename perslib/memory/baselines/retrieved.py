"""Retrieval baselines (Mem-PAL, Table 2): the logs at hand, earlier logs, and earlier turns or whole dialogues."""

from __future__ import annotations

import numpy as np

from perslib.memory.baselines.past import Baseline, logs_of, turns_of
from perslib.memory.h2.space import nearest
from perslib.memory.long import Piece, Purpose, Session, Store


class TurnRetrieval(Baseline):
    """Turn-level RAG: a unit is one exchange."""

    called = "turn-level RAG"

    def recall(self, store: Store, session: Session, query: str, purpose: Purpose) -> list[Piece]:
        """Turns, earlier logs, current logs."""
        past = self._own(store)
        turns = list(turns_of(past.sessions[: past.place(session.id)]))
        found = self.space.nearest(query, [self.said(turn) for _, _, turn in turns], self.k)
        return [
            *(self.turn(*turns[i]) for i in found),
            *self.old_logs(past, session, query),
            *logs_of(session),
        ]


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
        known = [s for s in past.sessions[: past.place(session.id)] if s.turns]
        texts = ["\n".join(self.said(turn) for turn in s.turns) for s in known]
        if known and self.mean_of_turns:
            each = self.space.vectors([self.said(turn) for s in known for turn in s.turns])
            starts = np.cumsum([0, *(len(s.turns) for s in known)])[:-1]
            means = np.add.reduceat(each, starts, axis=0)  # of unit length once compared by cosine
            found = nearest(self.space.vectors([query], "query")[0], means, self.k)
        else:
            found = self.space.nearest(query, texts, self.k)
        pieces = [
            Piece(
                f"{s.id}/dialogue",
                "dialogue",
                f"[{s.at[:10]}]\n{text}" if s.at else text,
                (s.id,),
                tuple((s.id, n) for n in range(1, len(s.turns) + 1)),
            )
            for s, text in ((known[i], texts[i]) for i in found)
        ]
        return [*pieces, *self.old_logs(past, session, query), *logs_of(session)]
