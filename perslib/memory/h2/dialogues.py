"""H²Memory for dialogues alone, as Mem-PAL ran it on LongMemEval: outlines, and one principle a dialogue.

There are no logs, hence no situations, no background and nothing to refine a requirement with; and no clusters: what a
dialogue shows becomes a principle of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perslib.llm import Steps, asks_nothing, side_by_side
from perslib.memory.h2 import outlines, principles
from perslib.memory.h2.store import Chapter, H2Store, Principle, Snapshot
from perslib.memory.h2.system import H2Memory
from perslib.memory.long import Session, Store


class H2Dialogues(H2Memory):
    """Topic outlines and a principle for each dialogue that has any; both preferences and solutions are shown."""

    def __init__(self, language: str = "en", **options: object):
        super().__init__(language, **options)  # type: ignore[arg-type]
        self.recollection = replace(self.recollection, preferences=True)
        if "name" not in options:
            self.name += ", dialogues only"

    @asks_nothing
    def hear_logs(self, store: Store, session: Session) -> H2Store:
        """Logs are left aside."""
        assert isinstance(store, H2Store)
        return store

    def hear_dialogue(self, store: Store, session: Session) -> Steps[H2Store]:
        """Its outlines, and the principle they show."""
        assert isinstance(store, H2Store)
        if session.id in store.heard:
            return store
        return (yield from self._go_on(store, [session]))

    def build(self, user: str, sessions: Sequence[Session]) -> Steps[H2Store]:
        """All dialogues at once."""
        return (yield from self._go_on(self.start(user), sessions))

    def _go_on(self, store: H2Store, sessions: Sequence[Session]) -> Steps[H2Store]:
        known = store.principles
        told = yield from side_by_side(
            self._tell(session, len(known) + i) for i, session in enumerate(sessions)
        )
        chapters, learned, failed = zip(*told, strict=True) if told else ((), (), ())
        return replace(
            store,
            heard=(*store.heard, *(session.id for session in sessions)),
            failed=store.failed + tuple(f for lost in failed for f in lost),
            chapters=(*store.chapters, *chapters),
            snapshots=(Snapshot("", (*known, *learned)),),
        )

    def _tell(self, session: Session, number: int) -> Steps[tuple[Chapter, Principle, tuple[str, ...]]]:
        found, lost = yield from outlines.outline(session, self._render)
        own = tuple(replace(outline, cluster=number) for outline in found)
        chapter = Chapter(session.id, session.at, outlines=own)
        if not own:
            return chapter, Principle("", ""), lost
        ((principle, further),) = yield from principles.learn([own], self.seed, self._render)
        return chapter, principle, lost + further
