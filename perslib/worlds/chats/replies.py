"""Replies: a plan written out as text that really has, or lacks, each quality.

Where each quality stands in the text, and its true value between 0 and 1:

- detail: concrete facts (prices, times, amounts) in every option and step; level / 4
- diversity: alternatives with what sets them apart, always marked as options; (number − 1) / 4
- requirement: constraints confirmed (1), passed over (½) or contradicted (0) in words, averaged; less than
  half of it when the reply is about something else or ignores what the user asked to be changed
- practicality: advice one can act on (where to book, buy, call, save) against vague advice; level / 3
- format: prose, numbered lines, bullets, headings with a table; level / 3
- brevity: 1 for a short reply, falling linearly with its length to 0
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from perslib.worlds.chats.assistants import Plan
from perslib.worlds.chats.numbers import write_number
from perslib.worlds.chats.slots import draw_line_facts
from perslib.worlds.chats.tasks import Task
from perslib.worlds.lives import MODEL, Book, Dice

PROSE, NUMBERED, BULLETS, HEADINGS = range(4)


@dataclass(frozen=True)
class ReplyItem:
    """One option, step or remark: a name, what it is, and concrete facts."""

    name: str
    text: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplySection:
    """A section: its heading and its pieces; the pieces of a numbered part are alternatives."""

    title: str
    pieces: list[ReplyItem]
    numbered: bool = False
    flowing: bool = False


def lay_out(opening: str, parts: list[ReplySection], closing: str, layout: int, book: Book) -> str:
    """Return the whole reply."""
    blocks = [opening, *(_part(part, layout, book) for part in parts), closing]
    return "\n\n".join(block for block in blocks if block)


def _part(part: ReplySection, layout: int, book: Book) -> str:
    if part.numbered and layout == HEADINGS and len(part.pieces) > 1:
        return f"## {part.title}\n\n{_table(part, book)}"
    write_line = _option if part.numbered else _line
    lines = [write_line(i, piece, layout, book) for i, piece in enumerate(part.pieces)]
    if layout == PROSE:
        return book.space.join(lines)
    if layout == NUMBERED:
        named = any(piece.name for piece in part.pieces)
        return ("\n" if named else book.space).join(lines)
    title = f"**{part.title}**" if layout == BULLETS else f"## {part.title}"
    if part.flowing:
        lines = [piece.text for piece in part.pieces]
    return "\n".join([title, "", *lines])


def _facts(piece: ReplyItem, book: Book) -> str:
    """Return what a piece says about itself, as sentences."""
    body = book.finish(piece.text) if piece.text else ""
    facts = book.finish(book.marks["semicolon"].join(piece.facts)) if piece.facts else ""
    return book.join_sentences([body, facts])


def _option(i: int, piece: ReplyItem, layout: int, book: Book) -> str:
    number = book.talk.ORDINALS[i]
    if layout in (PROSE, NUMBERED):
        pattern = book.talk.OPTION_PROSE if layout == PROSE else book.talk.OPTION
        return book.join_sentences([pattern.format(n=number, name=piece.name), _facts(piece, book)])
    lines = [line for line in (piece.text, *piece.facts) if line]
    head = f"- **{book.talk.OPTION.format(n=number, name=piece.name)}**"
    return "\n".join([head, *(f"  - {book.finish(line)}" for line in lines)])


def _line(i: int, piece: ReplyItem, layout: int, book: Book) -> str:
    if not piece.name:
        text = book.finish(piece.text)
        return text if layout in (PROSE, NUMBERED) else f"- {text}"
    if layout == PROSE:
        return book.finish(book.talk.LINE.format(name=piece.name, text=book.capital(piece.text)))
    colon = book.marks["colon"]
    if layout == NUMBERED:
        place = "" if re.search(book.talk.COUNTED, piece.name) else f"{i + 1}. "
        return place + book.finish(f"{piece.name}{colon}{book.capital(piece.text)}")
    return f"- **{piece.name}**{colon}{book.finish(piece.text)}"


def _table(part: ReplySection, book: Book) -> str:
    """Return the alternatives side by side: name, character, and the facts where there are any."""
    columns = 3 if any(piece.facts for piece in part.pieces) else 2
    rows = [book.talk.TABLE, ["---"] * columns]
    for i, piece in enumerate(part.pieces):
        name = book.talk.OPTION.format(n=book.talk.ORDINALS[i], name=piece.name)
        facts = book.capital(book.marks["semicolon"].join(piece.facts)) or "–"
        rows.append([name, book.capital(piece.text), facts])
    return "\n".join(f"| {' | '.join(row[:columns])} |" for row in rows)


#: A step or day: its name, what it is vaguely, and concretely.
Row = tuple[str, str, str]


@dataclass(frozen=True)
class WrittenReply:
    """A written reply, its true qualities, and how it treated each constraint."""

    text: str
    qualities: dict[str, float]
    plan: Plan


def write_reply(task: Task, plan: Plan, book: Book, dice: Dice) -> WrittenReply:
    """Return the plan as text."""
    return _Writer(task, plan, book, dice).write()


@dataclass
class _Writer:
    """A plan for a task, to be written out."""

    task: Task
    plan: Plan
    book: Book
    dice: Dice

    def __post_init__(self) -> None:
        self.focus: dict[str, Any] = self.task.words.FOCUS[self.plan.focus]
        # One set of numbers for everything but the options, so that a reply agrees with itself.
        self.slot = draw_line_facts(self.task.scenario, {**self.task.slots, "fixed": True}, self.book, self.dice, set())

    def write(self) -> WrittenReply:
        """Write the reply."""
        task, plan, book, dice = self.task, self.plan, self.book, self.dice
        slot, talk = self.slot, book.talk
        parts = []
        thoughts = dice.some(talk.THOUGHTS[task.scenario], plan.thoughts)
        if len(thoughts) > 1:
            title = dice.pick(talk.THOUGHTS_TITLE)
            parts.append(ReplySection(title, [ReplyItem("", book.join_sentences(thoughts))], flowing=True))
            thoughts = []
        options = self._options()
        parts.append(ReplySection(dice.pick(self.focus["title"]).format(**slot), options, numbered=True))
        if body := [*self._body(), *self._limits("broken")]:
            parts.append(ReplySection(dice.pick(self.focus["body"]), body))
        if limits := self._limits("kept"):
            parts.append(ReplySection(dice.pick(talk.HEADINGS["limits"]), limits))
        if tips := self._advice("tips", plan.tips):
            parts.append(ReplySection(dice.pick(talk.HEADINGS["tips"]), [ReplyItem("", tip) for tip in tips]))
        vague = self._advice("vague", max(0, 2 - plan.tips))
        if vague and plan.layout == HEADINGS:
            parts.append(ReplySection(dice.pick(talk.HEADINGS["vague"]), [ReplyItem("", book.join_sentences(vague))]))
            vague = []
        filler = dice.some(talk.FILLER, plan.filler)
        cut = (len(filler) + 1) // 2
        first = [dice.pick(talk.OPENERS[plan.voice]), dice.pick(talk.INTROS[task.scenario]).format(**slot)]
        if plan.demand:
            first = [dice.pick(talk.ACKS[plan.demand])] if plan.heeded else first[:1]
        closer = dice.pick(talk.CLOSERS[plan.voice])
        opening = book.join_sentences([*first, *thoughts, *filler[:cut]])
        closing = book.join_sentences([*vague, *filler[cut:], closer])
        text = lay_out(opening, parts, closing, plan.layout, book)
        return WrittenReply(text, _qualities(plan, text, book.language), plan)

    def _advice(self, kind: str, n: int) -> list[str]:
        return [text.format(**self.slot) for text in self.dice.some(self.focus[kind], n)]

    def _options(self) -> list[ReplyItem]:
        """Return the alternatives, each with as many concrete facts as the level says; facts shared by all are said
        once.
        """
        task, plan, book, dice, focus = self.task, self.plan, self.book, self.dice, self.focus
        pieces: list[ReplyItem] = []
        used: set[str] = set()
        chosen: set[str] = set()
        only = task.scenario == "gift" and plan.focus != "ideas"
        why = dice.some(self._why(), plan.options)
        for name, contrast in dice.some(focus["options"], plan.options):
            start = {**task.slots, "only": only, "fixed": not pieces and not only}
            slot = draw_line_facts(task.scenario, start, book, dice, used)
            every = [fact.format(**slot) for fact in focus["facts"]]
            new = [text for text in every if text not in chosen]
            facts = dice.some(new, plan.detail)
            facts += [text for text in every if text not in facts][: max(0, min(2, plan.detail) - len(facts))]
            facts.sort(key=every.index)
            chosen.update(facts)
            parts = [contrast if plan.options > 1 else "", why[len(pieces)] if why else ""]
            pieces.append(ReplyItem(book.capital(name.format(**slot)), book.join_sentences(parts), tuple(facts)))
        return pieces

    def _why(self) -> list[str]:
        """Return what can be said for an option; brisk assistants say nothing, and mishaps have nothing to be said for."""
        task, plan = self.task, self.plan
        if plan.voice == "brisk" or plan.focus == "rescue":
            return []
        return list(self.book.talk.WHY[task.scenario if plan.focus == task.focuses[0] else "other"])

    def _body(self) -> list[ReplyItem]:
        """Return days, steps, lists: left out at the lowest detail, vague at the next, half and then fully concrete."""
        plan = self.plan
        if plan.detail == 0 and plan.focus != "plan":
            return []
        special = {
            ("travel", "plan"): self._days,
            ("recipe", "menu"): self._methods,
            ("recipe", "steps"): self._method,
            ("recipe", "shopping"): self._groceries,
            ("skill", "plan"): self._phases,
        }.get((self.task.scenario, plan.focus), self._steps)
        concrete = {2: 2, 3: 1, 4: 1}.get(plan.detail)
        return [
            ReplyItem(head, full if concrete and i % concrete == 0 else vague)
            for i, (head, vague, full) in enumerate(special())
        ]

    def _steps(self) -> list[Row]:
        return [self._row(head, vague, full, self.slot) for head, vague, full in self.focus["steps"]]

    def _row(self, head: str, vague: str, full: str, slot: dict[str, Any]) -> Row:
        """Return a step at both levels; the concrete one says what it is about before it gives the facts."""
        vague, full = vague.format(**slot), full.format(**slot)
        return head, vague, self.book.join_sentences([vague, full])

    def _days(self) -> list[Row]:
        task, talk = self.task, self.book.talk
        rows = []
        used: set[str] = set()
        templates = self.dice.some(self.focus["steps"], 3)
        for day in range(task.slots["days"]):
            slot = draw_line_facts("travel", task.slots, self.book, self.dice, used)
            _, vague, full = templates[day % 3]
            rows.append(self._row(talk.DAY.format(n=talk.ORDINALS[day]), vague, full, slot))
        return rows

    def _methods(self) -> list[Row]:
        glue = self.book.marks["semicolon"]
        rows = []
        for dish in self.task.slots["menu_names"]:
            vague, full = zip(*self.task.words.DISHES[dish][3])
            rows.append((self.book.capital(dish), glue.join(vague), glue.join(full)))
        return rows

    def _method(self) -> list[Row]:
        steps, talk = self.task.words.DISHES[self.task.slots["dish"]][3], self.book.talk
        return [(talk.STEP.format(n=talk.ORDINALS[i]), vague, full) for i, (vague, full) in enumerate(steps)]

    def _groceries(self) -> list[Row]:
        task, book = self.task, self.book
        rows = []
        for dish in task.slots["menu_names"]:
            things = task.words.DISHES[dish][2]
            vague = book.talk.AS_NEEDED.format(things=book.list_things([name for name, _, _ in things]))
            n, language = task.slots["n"], book.language
            amounts = [_amount(name, one * n, unit, language) for name, one, unit in things]
            rows.append((book.capital(dish), vague, book.marks["between"].join(amounts)))
        return rows

    def _phases(self) -> list[Row]:
        vague, full, head = self.task.words.PHASE
        own = self.task.slots
        weeks = own["months"] * 4
        rows = []
        for i, phase in enumerate(own["phases"]):
            first, last = weeks * i // 4 + 1, weeks * (i + 1) // 4
            more = {"phase": phase, "a": first, "b": last, "end": last, "drill": own["drills"][i]}
            slot = {**self.slot, **more, "n": self.dice.between(3, 5)}
            rows.append((head.format(**slot), vague.format(**slot), full.format(**slot)))
        return rows

    def _limits(self, wanted: str) -> list[ReplyItem]:
        """Return what the reply says about the constraints it kept, or in so many words against those it broke."""
        limits, place = self.task.words.LIMITS, 2 if wanted == "kept" else 3
        return [
            ReplyItem("", self.dice.pick(limits[key][place]).format(**self.slot))
            for key in self.plan.list_constraints(wanted)
        ]


def _amount(name: str, amount: float, unit: str, language: str) -> str:
    if language == "zh":
        return f"{name}{write_number(round(amount, 1))}{unit}"
    if unit:
        return f"{write_number(round(amount))} {unit} of {name}"
    whole, stem = max(1, int(amount + 0.99)), name.removesuffix("s")
    return f"{whole} {stem if whole == 1 else stem + 's'}"


def _qualities(plan: Plan, text: str, language: str) -> dict[str, float]:
    values = {"kept": 1.0, "silent": 0.5, "broken": 0.0}
    states = [values[state] for _, state in plan.limits]
    met = sum(states) / len(states) if states else 0.85
    if plan.off_topic:
        met *= 0.2
    if plan.demand and not plan.heeded:
        met *= 0.45
    brief, long, _ = MODEL["lengths"][language].values()
    return {
        "detail": plan.detail / 4,
        "diversity": (plan.options - 1) / 4,
        "requirement": round(met, 6),
        "practicality": round(plan.tips / 3, 6),
        "format": round(plan.layout / 3, 6),
        "brevity": round(max(0.0, min(1.0, (long - len(text)) / (long - brief))), 6),
    }
