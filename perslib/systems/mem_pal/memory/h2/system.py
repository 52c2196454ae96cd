"""H²Memory (Mem-PAL, section 3): concrete and abstract memory, from device logs and from dialogues.

              concrete              abstract
    logs      situations (M_G)      background (M_B)
    dialogues topic outlines (M_T)  principles (M_P)

`build` asks for everything that is independent at the same time: windows, components, outlines, refinements of all
sessions, then all clusters. The background goes from session to session, and everything else is asked beside it.

`H2Dialogues` is for dialogues alone, as Mem-PAL ran it on LongMemEval: outlines, and one principle a dialogue. There are
no logs, hence no situations, no background and nothing to refine a requirement with; and no clusters: what a dialogue
shows becomes a principle of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from perslib.errors import DataError
from perslib.llm import Ask
from perslib.llm.request import wrap_ask
from perslib.systems.mem_pal.memory.h2 import log_graph, outlines
from perslib.systems.mem_pal.memory.h2.recall import Recall
from perslib.systems.mem_pal.memory.h2.store import EMPTY, H2Store, Outline, Principle, SessionRecord, Snapshot
from perslib.systems.mem_pal.memory.long_term import MemorySession, Store


class H2Memory(Recall):
    """The four parts of Mem-PAL's memory; `build` ends by learning principles, dialogues heard later revise them.

    `without` leaves one part out of what is recalled (the ablations of Table 2). What is built stays the same, so
    that one build, and its answers in the cache, serve them all.
    """

    # -- session by session -----------------------------------------------------------------------------------

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return relations, situations, background."""
        known = self._own(store)
        place = known.place(session.id)
        logs = await log_graph.hear(session, self.render, ask)
        chapter, lost = await self._chapter(known.chapters[:place], session, logs, ask)
        if place < len(known.chapters):
            chapter = replace(chapter, outlines=known.chapters[place].outlines)
        return replace(_with(known, place, chapter), failed=known.failed + logs.failed + lost)

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return outlines, refined; once principles were learned, those that the outlines touch are revised."""
        known = self._own(store)
        if session.id in known.session_ids:
            return known
        place = known.place(session.id)
        chapter = known.chapters[place] if place < len(known.chapters) else _silent(known.chapters[:place], session)
        session_outlines, lost = await outlines.outline(session, self.render, ask)
        refined, further = await outlines.refine(chapter, session_outlines, self.space, self.k, self.render, ask)
        known = _with(known, place, replace(chapter, outlines=refined))
        known = replace(known, session_ids=(*known.session_ids, session.id), failed=known.failed + lost + further)
        return (await self._revise(known, place, ask)) if known.snapshots else known

    # -- a whole past -----------------------------------------------------------------------------------------

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> H2Store:
        """Return the memory after these sessions, with principles learned from them."""
        names = [session.id for session in sessions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise DataError(f"Sessions of user {user} share an id: {', '.join(twice[:5])}")
        chapters: list[SessionRecord] = []

        async def logs(j: int, ask: Ask) -> tuple[str, ...]:
            logs_of_session = await log_graph.hear(sessions[j], self.render, ask)
            if j:
                await parts[j - 1][0]
            chapter, lost = await self._chapter(chapters, sessions[j], logs_of_session, ask)
            chapters.append(chapter)
            return logs_of_session.failed + lost

        async def dialogue(j: int, ask: Ask) -> tuple[str, ...]:
            session_outlines, lost = await outlines.outline(sessions[j], self.render, ask)
            await parts[j][0]
            refined, further = await outlines.refine(
                chapters[j], session_outlines, self.space, self.k, self.render, ask
            )
            chapters[j] = replace(chapters[j], outlines=refined)
            return lost + further

        parts: list[tuple[asyncio.Future[tuple[str, ...]], ...]] = []
        for j in range(len(sessions)):  # what an earlier session asks goes first: the next one waits for it
            ranked = wrap_ask(ask, rank=j)
            parts.append((asyncio.ensure_future(logs(j, ranked)), asyncio.ensure_future(dialogue(j, ranked))))
        failed = await asyncio.gather(*(part for pair in parts for part in pair))
        store = H2Store(user, tuple(names), tuple(f for lost in failed for f in lost), tuple(chapters))
        return await self.learn(store, ask)

    async def learn(self, store: H2Store, ask: Ask) -> H2Store:
        """Return clusters and principles from all outlines so far, in place of those there were."""
        after = store.session_ids[-1] if store.session_ids else ""
        known_outlines = store.outlines
        labels = outlines.clusters(self._points(known_outlines), self.seed) if known_outlines else []
        members = [[o for o, label in zip(known_outlines, labels) if label == c] for c in range(len(set(labels)))]
        learned = await outlines.write_principles(members, self.seed, self.render, ask)
        known = store.with_clusters({o.id: label for o, label in zip(known_outlines, labels)})
        snapshot = Snapshot(after, tuple(principle for principle, _ in learned))
        lost = tuple(f for _, failed in learned for f in failed)
        return replace(known, snapshots=(snapshot,), failed=known.failed + lost)

    # -- steps ------------------------------------------------------------------------------------------------

    async def _chapter(
        self, earlier: Sequence[SessionRecord], session: MemorySession, sessions: log_graph.Heard, ask: Ask
    ) -> tuple[SessionRecord, tuple[str, ...]]:
        logs = log_graph.in_order(session)
        days = (logs[0].at[:10], logs[-1].at[:10]) if logs else ("", "")
        state, lost = await log_graph.update_background(
            earlier, session.id, days, sessions.situations, self.render, ask
        )
        first = logs[0].at if logs else None
        return SessionRecord(session.id, session.at, first, sessions.relations, sessions.situations, state), lost

    def _points(self, retrieved: Sequence[Outline]) -> outlines.Points:
        return self.space.vectors([outline.requirement for outline in retrieved])

    def _join_clusters(self, store: H2Store, new: Sequence[Outline]) -> tuple[list[int], H2Store]:
        """Return the clusters that new outlines join one by one, and the store with them there."""
        old = [outline for outline in store.outlines if outline.cluster is not None]
        labels = [outline.cluster for outline in old if outline.cluster is not None]
        joined, _ = outlines.assign_clusters(self._points(new), self._points(old), labels)
        return joined, store.with_clusters({o.id: label for o, label in zip(new, joined)})

    async def _revise(self, store: H2Store, place: int, ask: Ask) -> H2Store:
        """Return principles after the dialogue at this place, whose outlines join clusters one by one."""
        name, new = store.chapters[place].session, store.chapters[place].outlines
        if new and not store.principles:
            return await self.learn(store, ask)
        if not new:
            return replace(store, snapshots=(*store.snapshots, Snapshot(name, store.principles)))
        joined, store = self._join_clusters(store, new)
        members = [[o for o in store.outlines if o.cluster == c] for c in range(len(store.principles))]
        hit = {c: [o for o, label in zip(new, joined) if label == c] for c in dict.fromkeys(joined)}
        revised, lost = await outlines.revise(store.principles, hit, members, self.seed, self.render, ask)
        snapshots = (*store.snapshots, Snapshot(name, revised))
        return replace(store, snapshots=snapshots, failed=store.failed + lost)


def _silent(earlier: Sequence[SessionRecord], session: MemorySession) -> SessionRecord:
    """Return a session whose logs were not heard: what was known stays."""
    state = earlier[-1].background if earlier else EMPTY
    return SessionRecord(session.id, session.at, background=state)


def _with(store: H2Store, place: int, chapter: SessionRecord) -> H2Store:
    return replace(store, chapters=(*store.chapters[:place], chapter, *store.chapters[place + 1 :]))


class H2Dialogues(H2Memory):
    """Topic outlines and a principle for each dialogue that has any; both preferences and solutions are shown."""

    preferences = True
    called = "H²Memory{without}, dialogues only"

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return the store as it is: this form hears dialogues alone."""
        assert isinstance(store, H2Store)
        return store

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return its outlines, and the principle they show."""
        assert isinstance(store, H2Store)
        if session.id in store.session_ids:
            return store
        return await self._go_on(store, [session], ask)

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> H2Store:
        """Return all dialogues at once."""
        return await self._go_on(self.start(user), sessions, ask)

    async def _go_on(self, store: H2Store, sessions: Sequence[MemorySession], ask: Ask) -> H2Store:
        known = store.principles
        results = await asyncio.gather(
            *(self._tell(session, len(known) + i, ask) for i, session in enumerate(sessions))
        )
        chapters, learned, failed = zip(*results, strict=True) if results else ((), (), ())
        return replace(
            store,
            session_ids=(*store.session_ids, *(session.id for session in sessions)),
            failed=store.failed + tuple(f for lost in failed for f in lost),
            chapters=(*store.chapters, *chapters),
            snapshots=(Snapshot("", (*known, *learned)),),
        )

    async def _tell(
        self, session: MemorySession, number: int, ask: Ask
    ) -> tuple[SessionRecord, Principle, tuple[str, ...]]:
        session_outlines, lost = await outlines.outline(session, self.render, ask)
        own = tuple(replace(outline, cluster=number) for outline in session_outlines)
        chapter = SessionRecord(session.id, session.at, outlines=own)
        if not own:
            return chapter, Principle("", ""), lost
        ((principle, further),) = await outlines.write_principles([own], self.seed, self.render, ask)
        return chapter, principle, lost + further
