"""What happens to a person of a synthetic PAL-Set: situations month by month, and the device logs that show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.logs import details, ordinal
from perslib.corpus.synthetic.palset_grammar import draw_hours
from perslib.corpus.synthetic.palset_life import Person

YEAR = 2024
COUNT = {1: 0.02, 2: 0.53, 3: 0.45}  # requirements a situation raises
FEWEST_LOGS = 15
AWAKE = (8 * 60, 22 * 60)
_ORDER = (0, 2, 5, 3, 4, 6, 1, 7)  # search, browse, plan, ask, hear, buy, publish, operate


@dataclass(frozen=True)
class Raised:
    """A requirement that a situation raises: two of the needs that may stand behind it, with what speaks for them."""

    requirement_id: str
    query: str
    needs: tuple[str, str]
    evidences: tuple[tuple[str, ...], tuple[str, ...]]
    told: str
    lines: tuple[str, ...]
    """Log lines in the order of what people do."""


@dataclass(frozen=True)
class Situation:
    """Some days of a life: what happened, which requirements came of it, and what the devices logged."""

    start: datetime
    end: datetime
    raised: tuple[Raised, ...]
    text: str
    logs: tuple[tuple[datetime, str], ...]

    @property
    def date(self) -> str:
        """The date of the end, by which files are keyed."""
        return f"{self.end:%Y-%m-%d}"


def situations(one: Person, seed: int) -> list[Situation]:
    """Four to six situations a month, none overlapping another, from the person's first month to December."""
    dice = Dice(seed, one.book.language, one.user, "months")
    found: list[Situation] = []
    before: set[str] = set()
    for month in range(one.first_month, 13):
        first = date(YEAR, month, 1)
        days = ((date(YEAR, month + 1, 1) if month < 12 else date(YEAR + 1, 1, 1)) - first).days
        count = dice.between(4, 6)
        width = days // count
        for i in range(count):
            low = i * width + dice.between(0, 1)
            high = (i + 1) * width - 1 - dice.between(0, 1)
            begin, finish = draw_hours(dice)
            start = datetime.combine(first + timedelta(days=low), time(begin))
            end = datetime.combine(first + timedelta(days=high), time(finish))
            fresh = [key for key in one.themes if key not in before]
            keys = dice.some(fresh, dice.weighted(COUNT))
            before = set(keys)
            raised = tuple(_raised(one, key, dice, end.date()) for key in keys)
            found.append(
                Situation(
                    start, end, raised, _text(one, raised, start, end), _logs(one, raised, start, end, dice)
                )
            )
    return found


def _raised(one: Person, key: str, dice: Dice, last: date) -> Raised:
    theme = one.themes[key]
    slot = details(one.life, one.book, dice, last.day)
    slot["job"] = one.words.PERSON.format(**slot)
    slot["d"] = ordinal((last + timedelta(days=dice.between(1, 3))).day, one.book.language)

    def filled(pattern: str) -> str:
        return pattern.format(**slot | {"n": dice.between(3, 9)})

    needs, causes, evidences = [], [], []
    shown: list[str] = []
    for heard, (need, cause, line) in zip(one.words.HEARD, dice.some(theme["needs"], 2)):
        why = filled(cause)
        pair = (filled(line), one.words.MESSAGE.format(p=slot["p"], cause=why))
        needs.append(need)
        causes.append(one.book.finish(heard.format(cause=why)))
        evidences.append(tuple(one.book.capital(text) for text in pair))
        shown += evidences[-1]
    usual = [theme["logs"][i] for i in _ORDER]
    kept = sorted(dice.some(range(len(usual)), dice.between(3, 5)))
    lines = [one.book.capital(filled(usual[i])) for i in kept]
    for line in shown:
        lines.insert(dice.between(1, len(lines)), line)
    return Raised(
        key,
        dice.pick(theme["queries"]),
        (needs[0], needs[1]),
        (evidences[0], evidences[1]),
        one.book.joined([filled(theme["scene"]), *causes]),
        tuple(lines),
    )


def _text(one: Person, raised: tuple[Raised, ...], start: datetime, end: datetime) -> str:
    days = [one.words.DAY.format(day=at.day, month=one.words.MONTHS[at.month - 1]) for at in (start, end)]
    times = one.words.TIMES.format(start=days[0], end=days[1])
    return one.book.joined([times, *(r.told for r in raised)])


def _logs(
    one: Person, raised: tuple[Raised, ...], start: datetime, end: datetime, dice: Dice
) -> tuple[tuple[datetime, str], ...]:
    """The lines of all requirements, interleaved, with everyday lines between, at different waking minutes."""
    waiting = [list(r.lines) for r in raised]
    wanted = max(FEWEST_LOGS, sum(map(len, waiting)) + dice.between(0, 4))
    everyday = dice.some(one.words.ROUTINE, wanted - sum(map(len, waiting)))
    slots: dict[str, Any] = {"p": dice.pick(one.life.friends)}
    waiting.append([one.book.capital(r.format(**slots, n=dice.between(2, 9))) for r in everyday])
    lines = []
    while any(waiting):
        queue = dice.pick([queue for queue in waiting for _ in queue])
        lines.append(queue.pop(0))
    minutes = _minutes(start, end, len(lines), dice)
    return tuple(zip(minutes, lines))


def _minutes(start: datetime, end: datetime, count: int, dice: Dice) -> list[datetime]:
    days = (end.date() - start.date()).days
    found: set[datetime] = set()
    while len(found) < count:
        midnight = datetime.combine(start.date(), time()) + timedelta(days=dice.between(0, days))
        at = midnight + timedelta(minutes=dice.between(*AWAKE))
        if start <= at < end:
            found.add(at)
    return sorted(found)
