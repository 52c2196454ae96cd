"""Travel: places, times and prices."""

from __future__ import annotations

from perslib.worlds.lives import Book, Dice, Life
from perslib.worlds.slots import Limits, Slots, clock, draw, draw_all, in_season, number, read_ranges, unused


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, own = book.scenario("travel"), read_ranges("facts", "travel", book.language)
    household = life.household if dice.chance(0.75) else dice.pick(["alone", "friends", "partner"])
    dest = dice.pick([name for name in words.DESTINATIONS if name != life.origin])
    hours, sights, indoor, foods, areas = words.DESTINATIONS[dest]
    ride = hours[words.ORIGINS.index(life.origin)]
    days, night = draw(own["days"], {}, dice), draw(own["night"], {}, dice)
    fare = round(ride * own["hour_fare"] + own["fare"])
    floor = 2 * fare + days * (night // 2 + own["a_day"])
    budget = (int(floor * dice.uniform(1.05, 1.5)) // own["step"] + 1) * own["step"]
    slot: Slots = {
        "dest": dest,
        "origin": life.origin,
        "days": days,
        "nights": days - 1,
        "more_days": days + dice.between(1, 2),
        "night": night,
        "budget": budget,
        "when": dice.pick(in_season(words.WHEN, words.SEASON, month)),
        "household": household,
        "who_task": words.COMPANIONS[household][0],
        "own": words.COMPANIONS[household][1],
        "ride": words.RIDE[ride != 1].format(n=number(ride)),
        "fare": fare,
        "indoor": dice.pick(indoor),
    }
    keys = limits("travel", life, slot, dice)
    slot["sights"] = [s for s in sights if not ("knees" in keys and s[0] in words.HILLS)]
    slot["foods"] = [f for f in foods if not ("mild" in keys and f in words.SPICY)]
    slot["areas"], slot["early"] = areas, "early" in keys
    return slot, keys


def line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """New numbers for one option, step or sentence."""
    words, hows = book.scenario("travel"), read_ranges("line", "travel", book.language)
    (s1, f1), (s2, f2), third = unused(slot["sights"], used, dice, 3)
    used.discard(str(third))
    *meals, bite = slot["foods"]
    food1, food2 = dice.some(meals, 2)
    if slot["early"]:
        hows["open1"] = clock(9, 30)
    numbers = draw_all(hows, {**slot, "fees": f1 + f2}, dice)
    return {
        **numbers,
        "s1": s1,
        "s2": s2,
        "s3": third[0],
        "ticket1": words.TICKET[bool(f1)].format(fee=f1),
        "food1": food1,
        "food2": food2,
        "bite": bite,
        "meal2": round(numbers["meal"] * 2.2),
        "snack": round(numbers["meal"] * 0.4) + 1,
        "most_km": 5,
    }
