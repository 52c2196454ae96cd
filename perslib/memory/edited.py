"""Memories edited by hand: changed with undo, saved under a name, and brought to a study as a memory system.

    draft = Draft.of(memory).edit("M2", "Wants prices.").switch("M3", on=False)
    draft.memory            what a judge is shown; its name says that it was edited
    draft.without("M1")     the same but for one statement

    save_draft(draft, "prices-first")       one file a user and scenario, in the workspace's `memories/`
    EditedSystem("prices-first", otherwise=Structured("zh"))

A long-term memory goes on recalling for each target what it recalled when it was built, edits on top; where it is asked
something else, it shows all its statements. An edited memory stays marked: `system` says "edited by hand", and so does every verdict made with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pandas as pd

from perslib.corpus import Block
from perslib.corpus.files.reading import parse_json
from perslib.errors import DataError, Problem, UnknownName, check_names
from perslib.llm import Ask
from perslib.memory.base import Counts, MemorySystem, OnAnother, Statement, UserMemory, as_counts, saved_memory
from perslib.memory.measured import MeasuredMemory, MeasuredSystem
from perslib.memory.preferences import PreferenceMemory
from perslib.paths import workspace
from perslib.schemas import find_unstorable

EDITED = "edited by hand"
LONGEST = 1_000
"""Characters of a statement that somebody writes."""


@dataclass(frozen=True)
class DraftStatement:
    """A statement in a draft: whether it is on, and whether its words are a person's."""

    statement: Statement
    on: bool = True
    by_hand: bool = False


@dataclass(frozen=True)
class Draft:
    """A memory being edited. Nothing changes in place: every edit is a new draft that knows the one before."""

    built: UserMemory
    lines: tuple[DraftStatement, ...]
    counts: Counts
    before: Draft | None = None
    made: tuple[str, str] = field(default=("", ""), compare=False)
    """What the last edit was, and of which statement."""

    @classmethod
    def of(cls, memory: UserMemory) -> Draft:
        """Return a draft of a memory as it was built."""
        return cls(memory, tuple(DraftStatement(s) for s in memory.statements), memory.counts)

    @property
    def is_changed(self) -> bool:
        """Whether it says anything else than the memory that was built."""
        return self._list_statements() != self.built.statements or self.counts != self.built.counts

    @property
    def memory(self) -> UserMemory:
        """What a judge is shown."""
        return self.make_draft_memory(self._list_statements())

    def make_draft_memory(self, statements: Sequence[Statement]) -> UserMemory:
        """Return the memory with these statements; marked as edited if that is not what was built."""
        as_built = tuple(statements) == self.built.statements and self.counts == self.built.counts
        name = self.built.system if as_built else f"{self.built.system}, {EDITED}"
        return replace(self.built.with_statements(statements), counts=self.counts, system=name)

    def without(self, id: str) -> UserMemory:
        """Return the memory but for one statement."""
        self._at(id)
        return self.make_draft_memory([s for s in self._list_statements() if s.id != id])

    def edit(self, id: str, text: str) -> Draft:
        """Return other words for a statement; it keeps the turns it rests on. No words take it back to what was built."""
        place = self._at(id)
        line = self.lines[place]
        built = {s.id: s.text for s in self.built.statements}.get(id)
        words = _check_words(text) or built
        if not words:
            return self.remove(id)
        if words == line.statement.text:
            return self
        line = replace(line, statement=replace(line.statement, text=words), by_hand=words != built)
        return self._with(place, line, "edited")

    def add(self, text: str, field: str = "user_specific_requirements") -> Draft:
        """Return a statement of one's own, at the end; it rests on no turn."""
        if not _check_words(text):
            return self
        taken = {line.statement.id for line in self.lines}
        number = next(n for n in range(len(taken) + 1, 2 * len(taken) + 2) if f"M{n}" not in taken)
        line = DraftStatement(Statement(f"M{number}", field, text.strip()), by_hand=True)
        return self._next("added", line.statement.id, lines=(*self.lines, line))

    def scale(self, id: str, by: float) -> Draft:
        """Return a preference so many times as strong: 0.5 is weaker, 2 stronger, −1 turned round."""
        points = self.lines[self._at(id)].statement.points
        return self if points is None else self.weigh(id, points * by)

    def weigh(self, id: str, points: float) -> Draft:
        """Return a preference that is worth so many points; one edit, however often it is moved."""
        place = self._at(id)
        now = self.lines[place].statement
        built = next((s for s in self.built.statements if s.id == id and s.trait == now.trait and s.points), now)
        if not now.trait or not built.points or points == now.points:
            return self
        weighed = self.built.scale(built, points / built.points)
        if weighed == now:
            return self
        was, what = now.points or 0.0, "made stronger" if abs(points) > abs(now.points or 0.0) else "made weaker"
        what = "turned round" if points * was < 0 else what
        drafted = self._with(place, replace(self.lines[place], statement=weighed, by_hand=weighed != built), what)
        is_same = self.before is not None and self.made[1] == id and self.made[0] in _WEIGHED
        return replace(drafted, before=self.before) if is_same else drafted

    def remove(self, id: str) -> Draft:
        """Return a statement less; one that was built is better switched off."""
        place = self._at(id)
        return self._next("removed", id, lines=self.lines[:place] + self.lines[place + 1 :])

    def switch(self, id: str, on: bool) -> Draft:
        """Return a statement on or off."""
        place = self._at(id)
        line = self.lines[place]
        what = "switched on" if on else "switched off"
        return self if line.on == on else self._with(place, replace(line, on=on), what)

    def move(self, id: str, by: int) -> Draft:
        """Return a statement up (negative) or down."""
        place = self._at(id)
        to = min(max(place + by, 0), len(self.lines) - 1)
        if to == place:
            return self
        lines = list(self.lines)
        lines.insert(to, lines.pop(place))
        return self._next("moved", id, lines=tuple(lines))

    def shift_scores(self, by: int = 1) -> Draft:
        """Return what if the user had scored every past reply this much lower (or, with a negative number, higher)?"""
        counts = [0] * 5
        for k, n in enumerate(self.counts):
            counts[min(max(k - by, 0), 4)] += n
        moved = as_counts(counts)
        if moved == self.counts:
            return self
        return self._next("stricter" if by > 0 else "milder", "", counts=moved)

    def undo(self) -> Draft:
        """Return the draft before the last edit; the first one is its own."""
        return self.before or self

    def _list_statements(self) -> tuple[Statement, ...]:
        return tuple(line.statement for line in self.lines if line.on)

    def _at(self, id: str) -> int:
        places = {line.statement.id: i for i, line in enumerate(self.lines)}
        check_names("statement", id, places)
        return places[id]

    def _with(self, place: int, line: DraftStatement, what: str) -> Draft:
        lines = (*self.lines[:place], line, *self.lines[place + 1 :])
        return self._next(what, line.statement.id, lines=lines)

    def _next(self, what: str, id: str, **changed: Any) -> Draft:
        """Return the draft after an edit of this statement."""
        return replace(self, **changed, before=self, made=(what, id))


_WEIGHED = ("made stronger", "made weaker", "turned round")
_NAME = re.compile(r"\w[\w -]*\Z")


class FixedSystem(MemorySystem):
    """A memory that is there already, for whoever wants it judged with."""

    def __init__(self, memory: UserMemory):
        self.memory, self.name = memory, memory.system

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the memory; it is this user's and no one else's."""
        if block.user != self.memory.user:
            raise DataError(f"This memory is of user {self.memory.user}, and {block.user} is judged")
        return self.memory


def _check_words(text: str) -> str:
    """Return the words without blanks around them; DataError where they are longer than any statement."""
    if len(words := text.strip()) > LONGEST:
        wrong = f"has {len(words):,} characters, and a statement has at most {LONGEST:,}"
        raise DataError(Problem("statement", wrong), "Say one thing, in a sentence or two.")
    return words


def drafts_folder(name: str) -> Path:
    """Return where the edited memories of this name are kept."""
    if not _NAME.match(name):
        raise DataError(Problem("name of the edited memory", f"{name!r}: use letters, digits, spaces, - and _ only"))
    return workspace() / "memories" / name


def saved_names() -> list[str]:
    """Return the names under which edited memories were saved."""
    folder = workspace() / "memories"
    return sorted(p.name for p in folder.iterdir() if any(p.glob("*.json"))) if folder.is_dir() else []


def save_draft(draft: Draft, name: str) -> Path:
    """Keep a draft under a name, beside those of other users and scenarios; an older one is replaced."""
    if not draft.is_changed:
        raise DataError("Nothing was edited: this is the memory as it was built")
    memory = draft.built
    path = _path(name, memory.user, memory.scenario)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        **{k: getattr(memory, k) for k in ("user", "scenario", "system", "turns", "prompt")},
        "edited": EDITED,
        "counts": draft.counts,
        "built_counts": memory.counts,
        "trait_of": dict(memory.trait_of) if isinstance(memory, MeasuredMemory) else {},
        "language": memory.language if isinstance(memory, MeasuredMemory | PreferenceMemory) else None,
        "ranges": dict(memory.ranges) if isinstance(memory, PreferenceMemory) else None,
        **({memory.saved_as: memory.to_json()} if memory.saved_as else {}),
        "lines": list(map(asdict, draft.lines)),
        "built": list(map(asdict, memory.statements)),
    }
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
    partial.replace(path)
    return path


def read_draft(name: str, block: Block) -> Draft | None:
    """Return the draft saved under this name for the block's user and scenario; None where there is none."""
    path = _path(name, block.user, block.scenario)
    if not path.is_file():
        return None
    record: Any = parse_json(path.read_bytes(), str(path))
    if problem := record if isinstance(record, Problem) else next(find_unstorable(record, str(path)), None):
        raise DataError(problem, "Mend the memory, or delete it and save it anew.")
    try:
        return _draft(record, block)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(
            Problem(str(path), f"is not an edited memory ({error!r}); mend it, or delete it and save anew")
        ) from None


class EditedSystem(OnAnother):
    """The edited memories of a name; where a block has none, what another system builds."""

    def __init__(self, name: str, otherwise: MemorySystem):
        if not any(drafts_folder(name).glob("*.json")):
            raise UnknownName("edited memory", name, saved_names())
        super().__init__(otherwise, f"{otherwise.name}, {EDITED} ({name})")
        self.saved = name

    async def build(self, block: Block, ask: Ask, judged: pd.DataFrame | None = None) -> UserMemory:
        """Return the saved memory, fixed as it is; else the other system's."""
        draft = read_draft(self.saved, block)
        return await self.system.build(block, ask, judged) if draft is None else draft.memory


def _path(name: str, user: str, scenario: str) -> Path:
    """Return one file a block: readable where names allow it, never the same for two blocks."""
    plain = re.sub(r"[^\w-]+", "_", f"{user}__{scenario}")[:80]
    mark = hashlib.sha256(f"{user}\0{scenario}".encode()).hexdigest()[:8]
    return drafts_folder(name) / f"{plain}-{mark}.json"


def _draft(record: dict[str, Any], block: Block) -> Draft:
    record_of_draft = {**record, "counts": record["built_counts"], "statements": record["built"]}
    built: UserMemory
    if record["trait_of"]:  # measured anew in the user's turns: a file keeps what is said, not what is counted
        again = MeasuredSystem(record["language"]).measure(block)
        built = replace(make_value(MeasuredMemory, record_of_draft), traits=again.traits)
    elif record.get("ranges"):
        ranges = {trait: (float(low), float(high)) for trait, (low, high) in record["ranges"].items()}
        built = replace(make_value(PreferenceMemory, record_of_draft), ranges=ranges)
    elif further := next((name for name in saved_memory if record.get(name)), ""):
        built = saved_memory[further](make_value(UserMemory, record_of_draft), record[further])
    else:
        built = make_value(UserMemory, record_of_draft)
    return Draft(built, make_value(tuple[DraftStatement, ...], record["lines"]), as_counts(record["counts"]))


def make_value(kind: Any, data: Any) -> Any:
    """Return a value of a type hint from JSON data: dataclasses from objects, tuples from lists, the rest as it is."""
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{f.name: make_value(hints[f.name], data[f.name]) for f in fields(kind) if f.name in data})
    if get_origin(kind) is tuple:
        each = get_args(kind)
        kinds = [each[0]] * len(data) if each[-1] is Ellipsis else each
        return tuple(make_value(k, value) for k, value in zip(kinds, data, strict=True))
    return data
