"""Recipes: menus that fit the diners, the ban list and the clock."""

from __future__ import annotations

import math
from typing import Any

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.slots.common import Limits, Slots, plural
from perslib.corpus.synthetic.words.books import Book

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
        "portions": plural(n, "portion", "portions"),
        "when": dice.pick(words.WHEN),
    }
    keys = limits("recipe", life, slot, dice)
    banned = {TAGS[key] for key in keys if key in TAGS}
    slot["dishes"] = [d for d, row in words.DISHES.items() if not banned & set(row[1].split())]
    slot["count"] = dice.between(2, 3 if n < 3 else 4)
    slot["menu_names"] = _menu(words, slot, dice, 999)
    need = menu_minutes(words, slot["menu_names"])
    slot["minutes"] = next(m for m in (30, 40, 50, 60, 75, 90, 120, 150, 180) if m >= need * 1.03)
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
    words, zh = book.scenario("recipe"), book.language == "zh"
    names = _menu(words, slot, dice, slot["minutes"])
    if "menu" not in used:  # the first menu of a reply is the one the conversation goes on with
        used.add("menu")
        names = slot["menu_names"]
    people = words.DINERS[slot["household"]][2]
    grams = 50 * round(
        people * sum(words.DISHES[name][2][0][1] for name in names if words.DISHES[name][2][0][1] > 2) / 50
    )
    total = slot["total"]
    menu = "＋".join(names) if zh else book.listed(names)
    return {
        "menu": menu,
        "Menu": book.capital(menu),
        "mtime": menu_minutes(words, names),
        "grams": max(grams, 150),
        "n": people,
        "cost": round(people * math.fsum(_dish_cost(words.DISHES[name][1], zh) for name in names)),
        "level": _difficulty(words, names),
        "m1": dice.between(8, 15),
        "m2": dice.between(3, 6),
        "d1": dice.between(2, 3),
        "salt": dice.between(2, 4),
        "deg": dice.between(15, 18) * 10,
        "over": round(slot["minutes"] * dice.uniform(1.4, 1.9)),
        "t1": max(4, round(total * 0.2)),
        "t2": max(8, round(total * 0.55)),
        "t3": max(12, round(total * 0.8)),
        "grams2": dice.between(8, 15) * 10,
        "ml": dice.between(10, 20) * 10,
        "ml2": dice.between(20, 40),
    }


def _dish_cost(tags: str, zh: bool) -> float:
    """What a dish costs a person: fish and prawns most, vegetables least."""
    dear = 2 if set(tags.split()) & {"fish", "shrimp"} else 1 if "meat" in tags.split() else 0
    return (4.0, 9.0, 13.0)[dear] if zh else (1.2, 2.6, 3.8)[dear]


def _difficulty(words: Any, names: list[str]) -> int:
    longest = max(words.DISHES[name][0] for name in names)
    return 1 + (longest > 15) + (longest > 45)
