"""A memory being edited by hand: statements changed, added, switched off and moved, with undo.

draft = Draft.of(memory).edit("M2", "Wants prices.").switch("M3", on=False)
draft.memory            what a judge is shown; its name says that it was edited
draft.without("M1")     the same but for one statement
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from perslib.errors import UnknownName
from perslib.memory.base import Statement, UserMemory

EDITED = "edited by hand"
Counts = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Line:
    """A statement in a draft: whether it is on, and whether its words are a person's."""

    statement: Statement
    on: bool = True
    by_hand: bool = False


@dataclass(frozen=True)
class Draft:
    """A memory being edited. Nothing changes in place: every edit is a new draft that knows the one before."""

    built: UserMemory
    lines: tuple[Line, ...]
    counts: Counts
    before: Draft | None = None
    made: tuple[str, str] = field(default=("", ""), compare=False)
    """What the last edit was, and of which statement."""

    @classmethod
    def of(cls, memory: UserMemory) -> Draft:
        """A draft of a memory as it was built."""
        return cls(memory, tuple(Line(s) for s in memory.statements), memory.counts)

    @property
    def changed(self) -> bool:
        """Whether it says anything else than the memory that was built."""
        return self._said() != self.built.statements or self.counts != self.built.counts

    @property
    def memory(self) -> UserMemory:
        """What a judge is shown."""
        return self.saying(self._said())

    def saying(self, statements: Sequence[Statement]) -> UserMemory:
        """The memory with these statements; marked as edited if that is not what was built."""
        as_built = tuple(statements) == self.built.statements and self.counts == self.built.counts
        name = self.built.system if as_built else f"{self.built.system}, {EDITED}"
        return replace(self.built.with_statements(statements), counts=self.counts, system=name)

    def without(self, id: str) -> UserMemory:
        """The memory but for one statement."""
        self._at(id)
        return self.saying([s for s in self._said() if s.id != id])

    def edit(self, id: str, text: str) -> Draft:
        """Other words for a statement; it keeps the turns it rests on. No words take it back to what was built."""
        place = self._at(id)
        written = {s.id: s for s in self.built.statements}.get(id)
        words = text.strip() or (written.text if written else "")
        if not words:
            return self.remove(id)
        if words == self.lines[place].statement.text:
            return self
        line = replace(self.lines[place], statement=replace(self.lines[place].statement, text=words))
        by_hand = written is None or words != written.text
        return self._with(place, replace(line, by_hand=by_hand), "edited")

    def add(self, text: str, field: str = "user_specific_requirements") -> Draft:
        """A statement of one's own, at the end; it rests on no turn."""
        if not text.strip():
            return self
        taken = {line.statement.id for line in self.lines}
        number = next(n for n in range(len(taken) + 1, 2 * len(taken) + 2) if f"M{n}" not in taken)
        line = Line(Statement(f"M{number}", field, text.strip()), by_hand=True)
        return replace(self, lines=(*self.lines, line), before=self, made=("added", line.statement.id))

    def remove(self, id: str) -> Draft:
        """A statement less; one that was built is better switched off."""
        place = self._at(id)
        rest = self.lines[:place] + self.lines[place + 1 :]
        return replace(self, lines=rest, before=self, made=("removed", id))

    def switch(self, id: str, on: bool) -> Draft:
        """A statement on or off."""
        place = self._at(id)
        line = self.lines[place]
        what = "switched on" if on else "switched off"
        return self if line.on == on else self._with(place, replace(line, on=on), what)

    def move(self, id: str, by: int) -> Draft:
        """A statement up (negative) or down."""
        place = self._at(id)
        to = min(max(place + by, 0), len(self.lines) - 1)
        if to == place:
            return self
        rest = [*self.lines[:place], *self.lines[place + 1 :]]
        lines = (*rest[:to], self.lines[place], *rest[to:])
        return replace(self, lines=lines, before=self, made=("moved", id))

    def stricter(self, by: int = 1) -> Draft:
        """What if the user had scored every past reply this much lower (or, with a negative number, higher)?"""
        counts = [0] * 5
        for k, n in enumerate(self.counts):
            counts[min(max(k - by, 0), 4)] += n
        one, two, three, four, five = counts
        moved: Counts = (one, two, three, four, five)
        if moved == self.counts:
            return self
        return replace(self, counts=moved, before=self, made=("stricter" if by > 0 else "milder", ""))

    def undo(self) -> Draft:
        """The draft before the last edit; the first one is its own."""
        return self.before or self

    def _said(self) -> tuple[Statement, ...]:
        return tuple(line.statement for line in self.lines if line.on)

    def _at(self, id: str) -> int:
        places = {line.statement.id: i for i, line in enumerate(self.lines)}
        if id not in places:
            raise UnknownName("statement", id, places)
        return places[id]

    def _with(self, place: int, line: Line, what: str) -> Draft:
        lines = (*self.lines[:place], line, *self.lines[place + 1 :])
        return replace(self, lines=lines, before=self, made=(what, line.statement.id))
