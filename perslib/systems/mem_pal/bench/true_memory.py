"""H²Memory as a model without faults would write it: from the truth of a synthetic PAL-Set, without asking any.

    memory = TrueMemory(palset(users=2, language="zh"))

It keeps what H²Memory keeps and is asked in the same way, so it says how much of H²Memory's score is lost where models
read logs and dialogues, and what the memory looks like when they do not err. Logs that speak for the same need cause
one another, other logs of a requirement follow each other, everyday logs stand alone and tell nothing; a situation is
what the world says of the requirement; the background has, of each side of life, how the last two situations began;
outlines are the topics as they were meant. Clusters are H²Memory's own, over the vectors of its embedder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem
from perslib.llm import Ask
from perslib.systems.mem_pal.memory.h2 import H2Memory, H2Store
from perslib.systems.mem_pal.memory.h2 import outlines as clustering
from perslib.systems.mem_pal.memory.h2 import store as h2
from perslib.systems.mem_pal.memory.h2.log_graph import components, in_order
from perslib.systems.mem_pal.memory.long_term import MemorySession, Store
from perslib.systems.mem_pal.world.people import person
from perslib.systems.mem_pal.world.situations import Raised, make_situations
from perslib.worlds.lives import book

_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*")
REMEMBERED = 2
"""Situations that the background speaks of, for each side of life."""


def is_synthetic(corpus: Corpus) -> bool:
    """Return whether a PAL-Set's truth is known."""
    return bool(corpus.meta.get("synthetic")) and "truth_preferences" in corpus.extras


class TrueMemory(H2Memory):
    """H²Memory's store from the truth; `options` are those of `H2Memory`, whose recall it shares."""

    called = "faultless H²Memory{without}"

    def __init__(self, corpus: Corpus, **options: Any):
        if not is_synthetic(corpus):
            unknown = "is no synthetic PAL-Set, so what is true of it is not known"
            raise DataError(Problem(f"corpus {corpus.name}", unknown))
        super().__init__(corpus.language, **options)
        seed = int(corpus.meta["seed"])
        self.raised: dict[str, list[tuple[str, str, Raised]]] = {
            user: [
                (f"{one.start:%Y-%m-%d %H:%M}", f"{one.end:%Y-%m-%d %H:%M}", raised)
                for one in make_situations(person(number, seed, corpus.language), seed)
                for raised in one.raised
            ]
            for number, user in enumerate(corpus.users["user"])
        }
        extras = corpus.extras
        self.topics = {key: own.to_dict("records") for key, own in extras["topics"].groupby("session")}
        self.likings = {
            (row["user"], row["requirement_id"]): (row["requirement"], row["pos"], row["neg"])
            for row in extras["preferences"].to_dict("records")
        }
        reasons = extras["solution_preferences"].to_dict("records")
        self.reasons = {(row["session"], row["solution"]): row["reason"] for row in reasons}
        asked = corpus.turns[corpus.turns["user_action"] == "topic_inquiry"]
        self.starts = {key: [int(turn) + 1 for turn in own] for key, own in asked.groupby("session")["turn"]}

    # -- session by session -----------------------------------------------------------------------------------

    async def add_logs(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return relations, situations, background."""
        known, logs = self._own(store), in_order(session)
        relations: list[h2.Relation] = []
        by_outline: dict[int, Raised] = {}
        for since, until, raised in self.raised[known.user]:
            own = [i for i, log in enumerate(logs) if since <= log.at <= until and log.content in raised.lines]
            by_outline |= dict.fromkeys(own, raised)
            for before, i in pairwise(own):
                earlier = _same_need(raised, logs[i].content, {j: logs[j].content for j in own if j < i})
                relations += [h2.Relation(i, caused_by=earlier) if earlier else h2.Relation(i, follows=(before,))]
        groups = [group for group in components(len(logs), relations) if group[0] in by_outline]
        happened = tuple(
            h2.LogSituation(by_outline[g[0]].text, (_aspect(by_outline[g[0]].requirement_id),), tuple(g))
            for g in groups
        )
        before_that = known.chapters[-1].background if known.chapters else h2.EMPTY
        state = _background(before_that, happened)
        chapter = h2.SessionRecord(
            session.id, session.at, logs[0].at if logs else None, tuple(relations), happened, state
        )
        return replace(known, chapters=(*known.chapters, chapter))

    async def add_dialogue(self, store: Store, session: MemorySession, ask: Ask) -> H2Store:
        """Return outlines; once there are clusters, those that the outlines join."""
        known = self._own(store)
        if session.id in known.session_ids:
            return known
        topics = self.topics.get(session.id, []) if session.turns else []
        starts = [*self.starts.get(session.id, []), len(session.turns) + 1]
        new = tuple(self._outline(known.user, session, topic, i, starts) for i, topic in enumerate(topics))
        *earlier, chapter = known.chapters
        chapters = (*earlier, replace(chapter, outlines=new))
        known = replace(known, session_ids=(*known.session_ids, session.id), chapters=chapters)
        if known.snapshots and new:
            _, known = self._join_clusters(known, new)
        snapshots = (*known.snapshots, self._snapshot(known, session.id)) if known.snapshots else ()
        return replace(known, snapshots=snapshots)

    async def build(self, user: str, sessions: Sequence[MemorySession], ask: Ask) -> H2Store:
        """Return all of a past, then clusters of its outlines."""
        store = self.start(user)
        for session in sessions:
            store = await self.add_dialogue(await self.add_logs(store, session, ask), session, ask)
        return await self.learn(store, ask)

    async def learn(self, store: H2Store, ask: Ask) -> H2Store:
        """Return clusters and principles from all outlines so far."""
        outlines = store.outlines
        labels = clustering.clusters(self._points(outlines), self.seed) if outlines else []
        known = store.with_clusters(dict(zip((o.id for o in outlines), labels)))
        return replace(known, snapshots=(self._snapshot(known, store.session_ids[-1] if store.session_ids else ""),))

    def _outline(
        self, user: str, session: MemorySession, topic: dict[str, Any], place: int, starts: list[int]
    ) -> h2.Outline:
        last = len(session.turns)
        first, end = (starts[place], starts[place + 1] - 1) if place + 1 < len(starts) else (1, last)
        _, likes, dislikes = self.likings[user, topic["requirement_id"]]
        solutions = tuple(
            h2.Solution(text, self.reasons.get((session.id, text), ""), side)
            for side in ("pos", "neg")
            for text in topic[side]
        )
        return h2.Outline(
            f"{session.id}_topic{place}",
            (min(first, last), min(max(first, end), last)),
            topic["requirement"],
            topic["user_query"],
            solutions,
            " ".join((likes, dislikes)) if self.language == "en" else likes + dislikes,
        )

    # -- principles -------------------------------------------------------------------------------------------

    def _snapshot(self, store: H2Store, after: str) -> h2.Snapshot:
        """Return of each cluster the kinds of requirement that come up most in it, and what the user likes in the
        first.
        """
        kinds = {
            f"{session}_topic{i}": topic["requirement_id"]
            for session, topics in self.topics.items()
            for i, topic in enumerate(topics)
        }
        count = 1 + max((o.cluster for o in store.outlines if o.cluster is not None), default=-1)
        principles = []
        for cluster in range(count):
            members = Counter(kinds[o.id] for o in store.outlines if o.cluster == cluster)
            named = [self.likings[store.user, kind] for kind, _ in members.most_common(REMEMBERED)]
            between = book(self.language).marks["semicolon"]
            principles.append(h2.Principle(between.join(name for name, _, _ in named), named[0][1]))
        return h2.Snapshot(after, tuple(principles))


def _same_need(raised: Raised, line: str, earlier: dict[int, str]) -> tuple[int, ...]:
    """Return the latest earlier log that speaks for the same need, if there is one."""
    speaking = next((evidence for evidence in raised.evidences if line in evidence), ())
    same = [i for i, other in earlier.items() if other in speaking]
    return (max(same),) if same else ()


def _aspect(requirement: str) -> str:
    return requirement.rpartition("-")[0]


def _background(before: h2.State, happened: Sequence[h2.LogSituation]) -> h2.State:
    state = dict(before)
    for situation in happened:
        aspect, begins = situation.aspects[0], _SENTENCE.split(situation.text)[0]
        known = [s for s in _SENTENCE.split(state[aspect]) if s and s != begins]
        blank = " " if begins.isascii() else ""
        state[aspect] = blank.join([*known, begins][-REMEMBERED:])
    return state
