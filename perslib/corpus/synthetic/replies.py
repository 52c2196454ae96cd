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

from dataclasses import dataclass
from typing import Any

from perslib.corpus.synthetic import slots
from perslib.corpus.synthetic.assistants import Plan
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.layout import Part, Piece, lay_out
from perslib.corpus.synthetic.tasks import Task
from perslib.corpus.synthetic.words.books import Book

# Characters at which a reply counts as entirely brief and entirely long.
BRIEF, LONG = {"zh": 240, "en": 650}, {"zh": 1120, "en": 3000}


@dataclass(frozen=True)
class Reply:
    """A written reply, its true qualities, and how it treated each constraint."""

    text: str
    qualities: dict[str, float]
    plan: Plan


def write(task: Task, plan: Plan, book: Book, dice: Dice) -> Reply:
    """The plan as text."""
    focus = task.words.FOCUS[plan.focus]
    # One set of numbers for everything but the options, so that a reply agrees with itself.
    slot = slots.fresh(task.scenario, {**task.slots, "fixed": True}, book, dice, set())
    parts = []
    thoughts = dice.some(book.talk.THOUGHTS[task.scenario], plan.thoughts)
    if len(thoughts) > 1:
        parts.append(
            Part(dice.pick(book.talk.THOUGHTS_TITLE), [Piece("", book.joined(thoughts))], flowing=True)
        )
        thoughts = []
    options = _options(task, plan, focus, book, dice)
    parts.append(Part(dice.pick(focus["title"]).format(**slot), options, numbered=True))
    body = _body(task, plan, focus, book, slot, dice)
    body += [Piece("", line) for line in _limits(task, plan, "broken", slot, dice)]
    if body:
        parts.append(Part(dice.pick(focus["body"]), body))
    kept = _limits(task, plan, "kept", slot, dice)
    if kept:
        parts.append(Part(dice.pick(book.talk.HEADINGS["limits"]), [Piece("", line) for line in kept]))
    tips = [text.format(**slot) for text in dice.some(focus["tips"], plan.tips)]
    if tips:
        parts.append(Part(dice.pick(book.talk.HEADINGS["tips"]), [Piece("", line) for line in tips]))
    vague = [text.format(**slot) for text in dice.some(focus["vague"], max(0, 2 - plan.tips))]
    if vague and plan.layout == 3:
        parts.append(Part(dice.pick(book.talk.HEADINGS["vague"]), [Piece("", book.joined(vague))]))
        vague = []
    filler = dice.some(book.talk.FILLER, plan.filler)
    cut = (len(filler) + 1) // 2
    first = [
        dice.pick(book.talk.OPENERS[plan.voice]),
        dice.pick(book.talk.INTROS[task.scenario]).format(**slot),
    ]
    if plan.demand:
        acks = book.talk.ACKS[plan.demand]
        first = [dice.pick(acks)] if plan.heeded else first[:1]
    closer = dice.pick(book.talk.CLOSERS[plan.voice])
    text = lay_out(
        opening=book.joined([*first, *thoughts, *filler[:cut]]),
        parts=parts,
        closing=book.joined([*vague, *filler[cut:], closer]),
        layout=plan.layout,
        book=book,
    )
    return Reply(text, _qualities(plan, text, book.language), plan)


def _options(task: Task, plan: Plan, focus: dict[str, Any], book: Book, dice: Dice) -> list[Piece]:
    """The alternatives, each with as many concrete facts as the level says; facts shared by all are said once."""
    pieces: list[Piece] = []
    used: set[str] = set()
    told: set[str] = set()
    only = task.scenario == "gift" and plan.focus != "ideas"
    why = dice.some(_why(task, plan, book), plan.options)
    for name, contrast in dice.some(focus["options"], plan.options):
        start = {**task.slots, "only": only, "fixed": not pieces and not only}
        slot = slots.fresh(task.scenario, start, book, dice, used)
        every = [fact.format(**slot) for fact in focus["facts"]]
        new = [text for text in every if text not in told]
        facts = dice.some(new, plan.detail)
        facts += [text for text in every if text not in facts][: max(0, min(2, plan.detail) - len(facts))]
        facts.sort(key=every.index)
        told.update(facts)
        said = [contrast if plan.options > 1 else "", why[len(pieces)] if why else ""]
        pieces.append(Piece(book.capital(name.format(**slot)), book.joined(said), tuple(facts)))
    return pieces


def _why(task: Task, plan: Plan, book: Book) -> list[str]:
    """What can be said for an option; brisk assistants say nothing, and mishaps have nothing to be said for."""
    if plan.voice == "brisk" or plan.focus == "rescue":
        return []
    return list(book.talk.WHY[task.scenario if plan.focus == task.focuses[0] else "other"])


def _body(
    task: Task, plan: Plan, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[Piece]:
    """Days, steps, lists: left out at the lowest detail, vague at the next, half and then fully concrete."""
    if plan.detail == 0 and plan.focus != "plan":
        return []
    rows = _rows(task, plan.focus, focus, book, slot, dice)
    concrete = {0: 0, 1: 0, 2: 2, 3: 1, 4: 1}[plan.detail]
    return [
        Piece(head, full if concrete and i % concrete == 0 else vague)
        for i, (head, vague, full) in enumerate(rows)
    ]


def _rows(
    task: Task, name: str, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    special = {
        ("travel", "plan"): _days,
        ("recipe", "menu"): _methods,
        ("recipe", "steps"): _method,
        ("recipe", "shopping"): _groceries,
        ("skill", "plan"): _phases,
    }.get((task.scenario, name))
    if special:
        return special(task, focus, book, slot, dice)
    return [_row(head, vague, full, slot, book) for head, vague, full in focus["steps"]]


def _row(head: str, vague: str, full: str, slot: dict[str, Any], book: Book) -> tuple[str, str, str]:
    """A step at both levels; the concrete one says what it is about before it gives the facts."""
    vague, full = vague.format(**slot), full.format(**slot)
    return head, vague, book.joined([vague, full])


def _days(
    task: Task, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    rows = []
    used: set[str] = set()
    templates = dice.some(focus["steps"], 3)
    for day in range(task.slots["days"]):
        slot = slots.fresh("travel", task.slots, book, dice, used)
        _, vague, full = templates[day % 3]
        rows.append(_row(book.talk.DAY.format(n=book.talk.ORDINALS[day]), vague, full, slot, book))
    return rows


def _methods(
    task: Task, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    glue = "；" if book.language == "zh" else "; "
    rows = []
    for dish in task.slots["menu_names"]:
        steps = task.words.DISHES[dish][3]
        rows.append((book.capital(dish), glue.join(s[0] for s in steps), glue.join(s[1] for s in steps)))
    return rows


def _method(
    task: Task, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    steps = task.words.DISHES[task.slots["dish"]][3]
    return [
        (book.talk.STEP.format(n=book.talk.ORDINALS[i]), vague, full) for i, (vague, full) in enumerate(steps)
    ]


def _groceries(
    task: Task, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    zh = book.language == "zh"
    rows = []
    people = task.slots["n"]
    for dish in task.slots["menu_names"]:
        things = task.words.DISHES[dish][2]
        if zh:
            full = "、".join(
                f"{name}{slots.number(round(amount * people, 1))}{unit}" for name, amount, unit in things
            )
            rows.append((dish, "、".join(name for name, _, _ in things) + "，适量", full))
        else:
            full = ", ".join(_amount(name, amount * people, unit) for name, amount, unit in things)
            rows.append(
                (book.capital(dish), book.listed([name for name, _, _ in things]) + ", as needed", full)
            )
    return rows


def _amount(name: str, amount: float, unit: str) -> str:
    if unit:
        return f"{slots.number(round(amount))} {unit} of {name}"
    whole = max(1, int(amount + 0.99))
    return (
        f"{whole} {name[:-1]}"
        if whole == 1 and name.endswith("s")
        else f"{whole} {name}" + ("" if whole == 1 or name.endswith("s") else "s")
    )


def _phases(
    task: Task, focus: dict[str, Any], book: Book, slot: dict[str, Any], dice: Dice
) -> list[tuple[str, str, str]]:
    vague, full, head = task.words.PHASE
    weeks = task.slots["months"] * 4
    drills = task.slots["drills"]
    rows = []
    for i, phase in enumerate(task.slots["phases"]):
        first, last = weeks * i // 4 + 1, weeks * (i + 1) // 4
        more = {
            **slot,
            "phase": phase,
            "a": first,
            "b": last,
            "end": last,
            "drill": drills[i],
            "n": dice.between(3, 5),
        }
        rows.append((head.format(**more), vague.format(**more), full.format(**more)))
    return rows


def _limits(task: Task, plan: Plan, wanted: str, slot: dict[str, Any], dice: Dice) -> list[str]:
    """What the reply says about the constraints it kept, or in so many words against those it broke."""
    place = 2 if wanted == "kept" else 3
    return [
        dice.pick(task.words.LIMITS[key][place]).format(**slot)
        for key, state in plan.limits
        if state == wanted
    ]


def _qualities(plan: Plan, text: str, language: str) -> dict[str, float]:
    values = {"kept": 1.0, "silent": 0.5, "broken": 0.0}
    states = [values[state] for _, state in plan.limits]
    met = sum(states) / len(states) if states else 0.85
    if plan.off_topic:
        met *= 0.2
    if plan.demand and not plan.heeded:
        met *= 0.45
    brief, long = BRIEF[language], LONG[language]
    return {
        "detail": plan.detail / 4,
        "diversity": (plan.options - 1) / 4,
        "requirement": round(met, 6),
        "practicality": round(plan.tips / 3, 6),
        "format": round(plan.layout / 3, 6),
        "brevity": round(max(0.0, min(1.0, (long - len(text)) / (long - brief))), 6),
    }
