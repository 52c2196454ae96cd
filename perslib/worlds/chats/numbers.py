"""What `numbers.toml` names: functions that make one number of a task or a reply, or a text with one.

Each takes what stands after its name in that file; a text is the name of a number before it. `between` and `uniform` draw,
so the order of that file, and the order of draws in a function, make the world.
"""

from __future__ import annotations

import math
from typing import Any

from perslib.worlds.lives import Dice


def clock(hour: int, minute: int) -> str:
    """Return 9:30, as both languages write it here."""
    return f"{hour}:{minute:02d}"


def write_number(value: float) -> str:
    """Return 2 and 2.5, never 2.0."""
    return f"{value:g}"


class SlotFormulas:
    """Functions of the numbers before, `slot`, and of draws."""

    def __init__(self, slot: dict[str, Any], dice: Dice):
        self.slot, self.dice = slot, dice

    def value(self, given: Any) -> Any:
        """Return the number, or the number of this name."""
        return self.slot[given] if isinstance(given, str) else given

    def between(self, low: int, high: int, each: float | str = 1) -> int:
        """Draw a whole number, both ends included, worth so much each."""
        return round(self.dice.between(low, high) * self.value(each))

    def chance(self, probability: float) -> bool:
        """Draw yes or no."""
        return self.dice.chance(probability)

    def pick(self, *things: Any) -> Any:
        """Draw one of these."""
        return self.dice.pick(things)

    def pick_from(self, name: str) -> Any:
        """Draw one of what has this name."""
        return self.dice.pick(self.slot[name])

    def time(self, hours: list[int], minutes: list[int]) -> str:
        """Draw an hour between two, where there are two, and the minutes."""
        hour = self.dice.between(*hours) if hours[1:] else hours[0]
        return clock(hour, self.dice.pick(minutes))

    def opening(self, hours: list[int], minutes: list[int]) -> str:
        """Draw when a sight opens; those who do not get up early need no early one."""
        return clock(9, 30) if self.slot["early"] else self.time(hours, minutes)

    def add(self, *parts: str | int) -> Any:
        """Add numbers, and those of these names."""
        return sum(map(self.value, parts))

    def more(self, name: str, low: int, high: int, times: int = 1, each: int = 1) -> Any:
        """Draw how much more than a number there is, or than some times the number; less, where each counts -1."""
        return self.slot[name] * times + self.between(low, high, each)

    def portion(self, name: str, share: float, least: int = 0, plus: int = 0) -> int:
        """Return a share of a number, rounded, but not less than the least."""
        return max(least, round(self.slot[name] * share)) + plus

    def about(self, name: str, low: float, high: float, step: int = 1, least: int = 0) -> int:
        """Draw a share of a number, rounded to steps."""
        return max(least, round(self.slot[name] * self.dice.uniform(low, high) / step) * step)

    def fare(self, an_hour: int, at_least: int) -> int:
        """Return what the ride costs."""
        return round(self.slot["ride"] * an_hour + at_least)

    def trip_budget(self, a_day: int, step: int) -> int:
        """Draw how much more than the rides, half the nights and so much a day there is, in steps."""
        slot = self.slot
        cost = 2 * slot["fare"] + slot["days"] * (slot["night"] // 2 + a_day)
        return (int(cost * self.dice.uniform(1.05, 1.5)) // step + 1) * step

    def course_budget(self, step: int) -> int:
        """Draw how much more than the gear costs there is, in steps."""
        return (int(self.slot["gear_price"] * self.dice.uniform(1.3, 2.4)) // step + 2) * step

    def menu_cost(self, *a_person: float) -> int:
        """Return the cost of the dishes, of the least to the greatest dearness."""
        return round(self.slot["n"] * math.fsum(a_person[step] for step in self.slot["dearness"]))

    def price_of_source(self) -> Any:
        """Write what a source costs, or that it is free."""
        return self.slot["prices"][not self.slot["free"]].format(cost=self.slot["cost"])
