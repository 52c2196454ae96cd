"""The numbers and names that texts are filled with: once for a task, and anew for every line of a reply.

All of them respect the task: prices stay within its budget, dishes leave out what must be left out, sights
that need climbing are not offered to bad knees. Violations are planted elsewhere, on purpose and in words. Here stands
what the scenarios' modules share: types, clock and number formats, drawing without repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perslib.paths import read_toml
from perslib.worlds.lives import Dice, Life

Slots = dict[str, Any]
Limits = Callable[[str, Life, Slots, Dice], list[str]]


def clock(hour: int, minute: int) -> str:
    """9:30, as both languages write it here."""
    return f"{hour}:{minute:02d}"


def number(value: float) -> str:
    """2 and 2.5, never 2.0."""
    return f"{value:g}"


def read_ranges(kind: str, scenario: str, language: str) -> dict[str, Any]:
    """Read the entries of `ranges.toml` for "facts" or a "line"."""
    every = read_toml(__file__, "ranges.toml")
    return every[kind][scenario] | every.get(language, {}).get(kind, {}).get(scenario, {})


def draw(how: Any, slot: Slots, dice: Dice) -> Any:
    """Draw as an entry of `ranges.toml` says; a text is taken as it is."""
    match how:
        case str():
            return how
        case [low, high]:
            return dice.between(low, high)
        case {"pick": things}:
            return dice.pick(slot[things] if isinstance(things, str) else things)
        case {"hour": hours, "minute": minutes}:
            return clock(dice.between(*hours) if len(hours) > 1 else hours[0], dice.pick(minutes))
        case {"share": [low, high], "of": whole}:
            to = how.get("to", 1)
            return round(slot[whole] * dice.uniform(low, high) / to) * to
    times = how.get("times", 1)
    found = round(dice.between(*how["between"]) * (slot[times] if isinstance(times, str) else times))
    if "from" in how:
        return slot[how["from"]] - found
    return found + (slot[how["plus"]] if "plus" in how else 0)


def draw_all(hows: dict[str, Any], slot: Slots, dice: Dice) -> Slots:
    """Draw all entries, in their order."""
    return {name: draw(how, slot, dice) for name, how in hows.items()}


def counted(n: int, one: str, many: str) -> str:
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
