"""What the scenarios' slots share: types, clock and number formats, drawing without repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life

Slots = dict[str, Any]
Limits = Callable[[str, Life, Slots, Dice], list[str]]


def clock(hour: int, minute: int) -> str:
    """9:30, as both languages write it here."""
    return f"{hour}:{minute:02d}"


def number(value: float) -> str:
    """2 and 2.5, never 2.0."""
    return f"{value:g}"


def plural(n: int, one: str, many: str) -> str:
    """`1 person`, `3 people`."""
    return f"{n} {one if n == 1 else many}"


def unused(things: list[Any], used: set[str], dice: Dice, n: int) -> list[Any]:
    """n things that no earlier line has used, while there are any; they count as used from now on."""
    new = [t for t in things if str(t) not in used]
    chosen = dice.some(new, n)
    if len(chosen) < n:
        chosen += dice.some([t for t in things if t not in chosen], n - len(chosen))
    used.update(str(t) for t in chosen)
    return chosen


def in_season(things: list[str], season: dict[str, tuple[int, ...]], month: int) -> list[str]:
    """The things that have no season, or are in season this month."""
    return [thing for thing in things if month in season.get(thing, (month,))]
