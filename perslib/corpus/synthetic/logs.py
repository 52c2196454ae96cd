"""Monthly situations and device logs of the eight types (Mem-PAL), written from the same life as the tasks."""

from __future__ import annotations

from typing import Any

from perslib.corpus.synthetic import slots
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.tasks import Task
from perslib.corpus.synthetic.words.books import Book

DAY = 86_400
ASPECTS = ("work", "health", "family", "leisure")


def situations(
    life: Life, book: Book, key: tuple[object, ...], months: list[tuple[int, int]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two situations a month, each with one log of every type; `months` as (first second, days)."""
    dice = Dice(*key, "situations")
    told: list[dict[str, Any]] = []
    logs: list[dict[str, Any]] = []
    recent: dict[str, int] = {}
    for start, days in months:
        half = days // 2
        for part, aspect in enumerate(dice.some(ASPECTS, 2)):
            topics = book.life.SITUATIONS[aspect]
            number = dice.pick([i for i in range(len(topics)) if i != recent.get(aspect)])
            recent[aspect] = number
            first = part * half + dice.between(0, 3)
            last = first + dice.between(6, 10)
            slot = details(life, book, dice, last)
            text, need, liked, disliked, lines = topics[number]
            begin, end = start + first * DAY, start + last * DAY
            told.append(
                {
                    "situation": len(told),
                    "start": begin,
                    "end": end,
                    "aspect": aspect,
                    "text": text.format(**slot),
                    "requirement": need.format(**slot),
                    "liked": liked.format(**slot),
                    "disliked": disliked.format(**slot),
                }
            )
            logs += _spread(book, dice, lines, slot, begin, end)
    return told, logs


def details(life: Life, book: Book, dice: Dice, last: int) -> dict[str, Any]:
    """Names, numbers and days that situations and logs mention; `last` is the last day of the situation."""
    job = life.job
    article = "an" if job[:1] in "aeiou" else "a"
    return {
        "job": job,
        "a_job": f"{article} {job}",
        "p": dice.pick(life.friends),
        "n": dice.between(3, 9),
        "late": slots.clock(dice.between(22, 23), dice.pick([10, 20, 40])),
        "d": ordinal(min(28, last + dice.between(1, 3)), book.language),
    }


def ordinal(day: int, language: str) -> str:
    """A day of the month as logs name it: 3 in Chinese, 3rd in English."""
    if language == "zh":
        return str(day)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
    return f"{day}{ending}"


def _spread(
    book: Book, dice: Dice, lines: list[str], slot: dict[str, Any], begin: int, end: int
) -> list[dict[str, Any]]:
    """One log of each type between begin and end, at waking hours, in the order a person would do things."""
    days = max(1, (end - begin) // DAY)
    times = sorted(
        begin + dice.between(0, days - 1) * DAY + dice.between(8 * 60, 22 * 60) * 60 for _ in lines
    )
    order = [0, 2, 5, 3, 4, 6, 1, 7]  # search, browse, plan, ask, hear, buy, publish, operate
    return [
        {"at": at, "kind": book.life.KINDS[i], "content": book.capital(lines[i].format(**slot))}
        for at, i in zip(times, order)
    ]


def before_task(
    life: Life, task: Task, book: Book, key: tuple[object, ...], started: int
) -> list[dict[str, Any]]:
    """Logs of the days before a conversation, from which its needs can be guessed."""
    dice = Dice(*key, "logs")
    slot = slots.fresh(task.scenario, task.slots, book, dice, set())
    slot.update({k: v for k, v in task.slots.items() if k in ("gift", "dish", "dish2")})
    hints = [k for k in task.limits if k in book.life.HINTS]
    slot.update(
        who=slot.get("who_task", ""),
        p=dice.pick(life.friends),
        hint=book.life.HINTS[dice.pick(hints[1:] or hints)],
    )
    lines = book.life.TASK_LOGS[task.scenario]
    midnight = started - started % DAY
    span = dice.between(2, 5)
    rows = _spread(book, dice, lines, slot, midnight - span * DAY, midnight)
    kept = set(dice.some(range(len(rows)), dice.between(4, 6)))
    kept.add(next(i for i, row in enumerate(rows) if row["kind"] == book.life.KINDS[4]))
    return [row for i, row in enumerate(rows) if i in kept]
