"""What H²Memory shows for a query (Mem-PAL, section 3): two searches, and what hangs on what they find.

    query ─► situations of this session ─► background of their aspects
    query ─► outlines of earlier sessions ─► principles of their clusters

For what a user requires, only requirements are shown; for solutions, judging and replies, also what the user took well
or badly, and the principles. An ablation leaves its block out and nothing else: both searches stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, get_args

from perslib.errors import check_names
from perslib.prompts import read_phrases
from perslib.systems.mem_pal.memory.h2.outlines import list_background, nearest_situations
from perslib.systems.mem_pal.memory.h2.store import FEEDBACK, H2Store, Outline, Principle, SessionRecord
from perslib.systems.mem_pal.memory.long_term import MemoryPiece, MemorySession, PromptedMemory, Purpose, Store

Part = Literal["situations", "background", "outlines", "principles"]


class Recall(PromptedMemory):
    """How much of a store is looked up, what is left out, and in which language it is told; heirs say how one is built."""

    store_type = H2Store
    preferences: ClassVar[bool] = False
    """Whether an outline also tells the preference that it shows; the paper's tasks leave it to the principles."""
    called: ClassVar[str] = "H²Memory{without}"

    def __init__(self, language: str = "en", *, without: Part | None = None, **options: Any):
        """Take a part that is left out, and the options of `PromptedMemory`."""
        if without is not None:
            check_names("part of H²Memory", without, get_args(Part))
        super().__init__(language, **options)
        self.without = without
        left_out = f" without {without}" if without else ""
        self.name = options.get("name") or self.called.format(without=left_out)

    def recall(self, store: Store, session: MemorySession, query: str, purpose: Purpose) -> list[MemoryPiece]:
        """Return the background, situations, principles, outlines: what earlier sessions and this session's logs say."""
        known: H2Store = self._own(store)
        place = known.place(session.id)
        earlier = known.chapters[:place]
        here = known.chapters[place] if place < len(known.chapters) else None
        outlines = [(chapter, o) for chapter in earlier for o in chapter.outlines]
        recalled = [outlines[i] for i in self.space.nearest(query, [o.requirement for _, o in outlines], self.k)]
        principles = known.principles_before(place)
        clusters = dict.fromkeys(o.cluster for _, o in recalled if o.cluster is not None)
        shown: dict[str, list[MemoryPiece]] = {
            **self._concrete(earlier, here, query),
            "principles": [
                p
                for c in clusters
                if c < len(principles)
                for p in self._of_principle(principles[c], c, earlier, purpose)
            ],
            "outlines": [self._of_outline(chapter, o, purpose) for chapter, o in recalled],
        }
        return self._but_one(shown)

    def general(self, store: Store) -> list[MemoryPiece]:
        """Return all that is known whatever is asked: the background and the principles, as they stand."""
        known: H2Store = self._own(store)
        background = known.chapters[-1].background if known.chapters else {}
        shown: dict[str, list[MemoryPiece]] = {
            "background": [self._of_aspect(a, text, known.chapters) for a, text in background.items() if text],
            "principles": [
                p
                for c, one in enumerate(known.principles)
                for p in self._of_principle(one, c, known.chapters, "solution")
            ],
        }
        return self._but_one(shown)

    def _but_one(self, shown: dict[str, list[MemoryPiece]]) -> list[MemoryPiece]:
        """Return the pieces of all parts but the one that is left out."""
        return [piece for part, pieces in shown.items() if part != self.without for piece in pieces]

    def _concrete(
        self, earlier: tuple[SessionRecord, ...], here: SessionRecord | None, query: str
    ) -> dict[str, list[MemoryPiece]]:
        """Return situations of this session and the background behind them; without any, the background as a whole."""
        known = (*earlier, here) if here else earlier
        state = known[-1].background if known else {}
        near = nearest_situations(here.situations, query, self.space, self.k) if here else []
        aspects = list_background([s for _, s in near], state) if near else [(a, t) for a, t in state.items() if t]
        return {
            "background": [self._of_aspect(a, text, known) for a, text in aspects],
            "situations": [
                MemoryPiece(f"{here.session}_situation{i}", "situation", s.text, (here.session,))
                for i, s in near
                if here
            ],
        }

    def _of_aspect(self, aspect: str, text: str, chapters: tuple[SessionRecord, ...]) -> MemoryPiece:
        words = read_phrases("h2", self.language)
        sources = (c.session for c in chapters if any(aspect in s.aspects for s in c.situations))
        line = f"{words[aspect]}{words['colon']}{text}"
        return MemoryPiece(f"background_{aspect}", "background", line, tuple(sources))

    def _of_principle(
        self, one: Principle, cluster: int, chapters: tuple[SessionRecord, ...], purpose: Purpose
    ) -> Iterator[MemoryPiece]:
        """Yield a principle with where it comes from; nothing where it could not be learned."""
        text = one.requirement
        if purpose != "requirement" and one.preference:
            colon = read_phrases("h2", self.language)["colon"]
            text = f"{one.requirement}{colon}{one.preference}"
        members = [(c.session, o) for c in chapters for o in c.outlines if o.cluster == cluster]
        sessions = tuple(dict.fromkeys(session for session, _ in members))
        turns = tuple((session, n) for session, o in members for n in range(o.turns[0], o.turns[1] + 1))
        if text:
            yield MemoryPiece(f"principle_{cluster}", "principle", text, sessions, turns)

    def _of_outline(self, chapter: SessionRecord, one: Outline, purpose: Purpose) -> MemoryPiece:
        turns = tuple((chapter.session, n) for n in range(one.turns[0], one.turns[1] + 1))
        text = one.requirement if purpose == "requirement" else "\n".join(self._lines(one))
        return MemoryPiece(one.id, "outline", text, (chapter.session,), turns)

    def _lines(self, one: Outline) -> Iterator[str]:
        words = read_phrases("h2", self.language)
        yield f"{words['requirement']}{words['colon']}{one.requirement}"
        for kind in FEEDBACK:
            if own := [s for s in one.solutions if s.feedback == kind]:
                yield f"{words[kind]}{words['colon'].rstrip()}"
                yield from (
                    f"- {words['said'].format(text=s.text, said=s.reaction) if s.reaction else s.text}" for s in own
                )
        if self.preferences and one.preference:
            yield f"{words['preference']}{words['colon']}{one.preference}"
