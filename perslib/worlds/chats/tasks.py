"""What users want, drawn from a life: tasks in the four scenarios, and monthly situations with device logs (Mem-PAL).

A task has a background, constraints, and what to talk about; logs of eight types lead up to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from perslib.worlds.chats.numbers import clock
from perslib.worlds.chats.slots import draw_line_facts, facts
from perslib.worlds.lives import MODEL, Book, Dice, Life

_TASKS = MODEL["tasks"]


@dataclass
class Task:
    """What a user wants in one conversation."""

    scenario: str
    words: SimpleNamespace
    slots: dict[str, Any]
    limits: list[str]
    spoken: list[str]
    focuses: list[str]
    text: str

    def due(self, focus: str) -> list[str]:
        """Return the constraints that matter for a reply about `focus`."""
        return [key for key in self.limits if focus in self.words.LIMITS[key][4]]

    def write_constraint(self, key: str, book: Book) -> str:
        """Return a constraint in the user's words, as part of a sentence."""
        numeric = book.talk.SAID[self.scenario].get(key)
        if numeric:
            return str(numeric.format(**self.slots))
        text = self.words.LIMITS[key][1].format(**self.slots).strip().rstrip(".\u3002")
        for tail in (" please", "\uff0c"):
            text = text.removesuffix(tail).rstrip(", \uff0c")
        keep = text.startswith(("I ", "I'm", "I'd"))
        return text if keep or book.language == "zh" else text[:1].lower() + text[1:]


def task(scenario: str, life: Life, book: Book, dice: Dice, month: int = 6) -> Task:
    """Return a task for this life in this month; the slots hold every fact the conversation may use."""
    words = book.scenario(scenario)
    slot, limits = facts(scenario, life, book, dice, month)
    every = [*_TASKS[scenario]["numeric"], *limits]
    spoken = [key for key in limits if dice.chance(0.88)]
    first = _TASKS[scenario]["opening"]
    others = [focus for focus in words.FOCUS if focus != first]
    if "nights" in limits and scenario == "travel" and dice.chance(0.5):
        others.sort(key=lambda focus: focus != "lodging")
        focuses = [first, others[0], *dice.some(others[1:], 4)]
    else:
        focuses = [first, *dice.some(others, len(others))]
    background = "".join(words.LIMITS[key][0].format(**slot) for key in limits)
    text = dice.pick(words.TASKS).format(**{**slot, "who": slot["who_task"], "limits": background})
    return Task(scenario, words, slot, every, spoken, focuses, text.strip())


def opening(one: Task, life: Life, book: Book, dice: Dice, limits: bool = True) -> str:
    """Return the first request, in the user's tone, with the constraints the user thinks of."""
    stated = "".join(one.words.LIMITS[key][1].format(**one.slots) for key in one.spoken) if limits else ""
    text = dice.pick(one.words.OPENINGS[life.tone]).format(**{**one.slots, "limits": stated})
    return book.finish(text) if life.tone != "terse" else book.capital(text.strip())


DAY = 86_400
AWAKE = (8 * 60, 22 * 60)  # minutes of a day
ORDER = (0, 2, 5, 3, 4, 6, 1, 7)  # search, browse, plan, ask, hear, buy, publish, operate


def make_log_situations(
    life: Life, book: Book, key: tuple[object, ...], months: list[tuple[int, int]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return two situations a month, each with one log of every type; `months` as (first second, days)."""
    dice = Dice(*key, "situations")
    situations: list[dict[str, Any]] = []
    logs: list[dict[str, Any]] = []
    recent: dict[str, int] = {}
    for start, days in months:
        half = days // 2
        for part, aspect in enumerate(dice.some(tuple(book.life.SITUATIONS), 2)):
            topics = book.life.SITUATIONS[aspect]
            number = dice.pick([i for i in range(len(topics)) if i != recent.get(aspect)])
            recent[aspect] = number
            first = part * half + dice.between(0, 3)
            last = first + dice.between(6, 10)
            slot = details(life, book, dice, last)
            text, need, liked, disliked, lines = topics[number]
            begin, end = start + first * DAY, start + last * DAY
            texts = {"text": text, "requirement": need, "liked": liked, "disliked": disliked}
            own = {name: pattern.format(**slot) for name, pattern in texts.items()}
            situations.append({"situation": len(situations), "start": begin, "end": end, "aspect": aspect, **own})
            logs += _spread(book, dice, lines, slot, begin, end)
    return situations, logs


def details(life: Life, book: Book, dice: Dice, last: int) -> dict[str, Any]:
    """Return names, numbers and days that situations and logs mention; `last` is the last day of the situation."""
    return {
        "job": life.job,
        "a_job": with_article(life.job),
        "p": dice.pick(life.friends),
        "n": dice.between(3, 9),
        "late": clock(dice.between(22, 23), dice.pick([10, 20, 40])),
        "d": ordinal(min(28, last + dice.between(1, 3)), book.language),
    }


def with_article(job: str) -> str:
    """Return a job as people name it in English: an engineer."""
    return f"{'an' if job[:1] in 'aeiou' else 'a'} {job}"


def ordinal(day: int, language: str) -> str:
    """Return a day of the month as logs name it: 3 in Chinese, 3rd in English."""
    if language == "zh":
        return str(day)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
    return f"{day}{ending}"


def _spread(
    book: Book, dice: Dice, lines: list[str], slot: dict[str, Any], begin: int, end: int
) -> list[dict[str, Any]]:
    """Return one log of each type between begin and end, at waking hours, in the order a person would do things."""
    days = max(1, (end - begin) // DAY) - 1
    times = sorted(begin + dice.between(0, days) * DAY + dice.between(*AWAKE) * 60 for _ in lines)
    texts = [book.capital(lines[i].format(**slot)) for i in ORDER]
    kinds = [book.life.KINDS[i] for i in ORDER]
    return [{"at": at, "kind": kind, "content": text} for at, kind, text in zip(times, kinds, texts)]


def before_task(life: Life, task: Task, book: Book, key: tuple[object, ...], started: int) -> list[dict[str, Any]]:
    """Return logs of the days before a conversation, from which its needs can be guessed."""
    dice = Dice(*key, "logs")
    slot = draw_line_facts(task.scenario, task.slots, book, dice, set())
    slot |= {k: v for k, v in task.slots.items() if k in ("gift", "dish", "dish2")}
    hints = [k for k in task.limits if k in book.life.HINTS]
    slot |= {"who": slot["who_task"], "p": dice.pick(life.friends)}
    slot["hint"] = book.life.HINTS[dice.pick(hints[1:] or hints)]
    lines = book.life.TASK_LOGS[task.scenario]
    midnight = started - started % DAY
    span = dice.between(2, 5)
    rows = _spread(book, dice, lines, slot, midnight - span * DAY, midnight)
    chosen = set(dice.some(range(len(rows)), dice.between(4, 6)))
    chosen.add(next(i for i, row in enumerate(rows) if row["kind"] == book.life.KINDS[4]))
    return [row for i, row in enumerate(rows) if i in chosen]
