"""Recipes: menus that fit the diners, the ban list and the clock."""

from __future__ import annotations

import math
from typing import Any

from perslib.worlds.lives import Book, Dice, Life
from perslib.worlds.slots import Limits, Slots, counted, draw_all, read_ranges

TAGS = {"peanut": "peanut", "shrimp": "shrimp", "egg": "egg", "milk": "milk", "mild": "spicy", "oven": "oven"}


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words = book.scenario("recipe")
    household = life.household if dice.chance(0.7) else dice.pick(["alone", "friends"])
    who_task, own, n = words.DINERS[household]
    slot: Slots = {
        "household": household,
        "who_task": who_task,
        "own": own,
        "n": n,
        "portions": counted(n, "portion", "portions"),
        "when": dice.pick(words.WHEN),
    }
    keys = limits("recipe", life, slot, dice)
    banned = {TAGS[key] for key in keys if key in TAGS}
    slot["dishes"] = [d for d, row in words.DISHES.items() if not banned & set(row[1].split())]
    slot["count"] = dice.between(2, 3 if n < 3 else 4)
    slot["menu_names"] = _menu(words, slot, dice, 999)
    need = menu_minutes(words, slot["menu_names"])
    slot["minutes"] = next(
        m for m in read_ranges("facts", "recipe", book.language)["minutes"] if m >= need * 1.03
    )
    slot["dish"], slot["dish2"] = dice.some(slot["menu_names"], 2)
    slot["total"] = need
    slot["dmin"] = words.DISHES[slot["dish"]][0]
    return slot, keys


def menu_minutes(words: Any, names: list[str]) -> int:
    """Minutes until all dishes stand on the table: the longest one, and part of the others beside it."""
    times = sorted(words.DISHES[name][0] for name in names)
    return times[-1] + round(0.4 * sum(times[:-1]))


def _menu(words: Any, slot: Slots, dice: Dice, minutes: int) -> list[str]:
    for _ in range(40):
        names = dice.some(slot["dishes"], slot["count"])
        if menu_minutes(words, names) <= minutes:
            return names
    return slot["menu_names"]


def line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """New numbers for one option, step or sentence."""
    words, costs = book.scenario("recipe"), read_ranges("facts", "recipe", book.language)["cost"]
    names = _menu(words, slot, dice, slot["minutes"])
    if "menu" not in used:  # the first menu of a reply is the one the conversation goes on with
        used.add("menu")
        names = slot["menu_names"]
    people = words.DINERS[slot["household"]][2]
    grams = 50 * round(
        people * sum(words.DISHES[name][2][0][1] for name in names if words.DISHES[name][2][0][1] > 2) / 50
    )
    total = slot["total"]
    menu = book.listed(names, words.MENU)
    return {
        "menu": menu,
        "Menu": book.capital(menu),
        "mtime": menu_minutes(words, names),
        "grams": max(grams, 150),
        "n": people,
        "cost": round(people * math.fsum(costs[_dearness(words.DISHES[name][1])] for name in names)),
        "level": _difficulty(words, names),
        **draw_all(read_ranges("line", "recipe", book.language), slot, dice),
        "t1": max(4, round(total * 0.2)),
        "t2": max(8, round(total * 0.55)),
        "t3": max(12, round(total * 0.8)),
    }


def _dearness(tags: str) -> int:
    """Fish and prawns cost most, vegetables least."""
    return 2 if set(tags.split()) & {"fish", "shrimp"} else 1 if "meat" in tags.split() else 0


def _difficulty(words: Any, names: list[str]) -> int:
    longest = max(words.DISHES[name][0] for name in names)
    return 1 + (longest > 15) + (longest > 45)
