"""Travel: places, times and prices."""

from __future__ import annotations

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.slots.common import Limits, Slots, clock, in_season, number, unused
from perslib.corpus.synthetic.words.books import Book


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, zh = book.scenario("travel"), book.language == "zh"
    household = life.household if dice.chance(0.75) else dice.pick(["alone", "friends", "partner"])
    dest = dice.pick([name for name in words.DESTINATIONS if name != life.origin])
    hours, sights, indoor, foods, areas = words.DESTINATIONS[dest]
    ride = hours[words.ORIGINS.index(life.origin)]
    days = dice.between(2, 5)
    night = dice.pick([220, 260, 300, 350, 400, 450] if zh else [70, 80, 90, 100, 120, 140])
    fare = round(ride * (75 if zh else 20) + (15 if zh else 12))
    floor = 2 * fare + days * ((night // 2 + 150) if zh else (night // 2 + 40))
    step = 100 if zh else 20
    budget = (int(floor * dice.uniform(1.05, 1.5)) // step + 1) * step
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
        "ride": number(ride) if zh else (f"{number(ride)} hour" if ride == 1 else f"{number(ride)} hours"),
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
    zh = book.language == "zh"
    (s1, f1), (s2, f2), (s3, _) = unused(slot["sights"], used, dice, 3)
    used.discard(str((s3, _)))
    *meals, bite = slot["foods"]
    food1, food2 = dice.some(meals, 2)
    money = 1.0 if zh else 0.3
    meal = round(dice.between(28, 75) * money)
    ticket = (f"门票{f1}元" if f1 else "免费") if zh else (f"£{f1}" if f1 else "free")
    budget, night = slot["budget"], slot["night"]
    return {
        "s1": s1,
        "s2": s2,
        "s3": s3,
        "ticket1": ticket,
        "fee": f1 + f2 + dice.between(10, 20),
        "food1": food1,
        "food2": food2,
        "bite": bite,
        "area": dice.pick(slot["areas"]),
        "meal": meal,
        "meal2": round(meal * 2.2),
        "snack": round(meal * 0.4) + 1,
        "mins": dice.between(10, 28),
        "mins2": dice.between(30, 45),
        "walk": dice.between(4, 14),
        "walk2": dice.between(3, 12),
        "km": dice.between(3, 4),
        "most_km": 5,
        "hrs": number(dice.pick([1, 1.5, 2, 2.5]) if zh else dice.pick([1.5, 2, 2.5, 3])),
        "time1": clock(dice.pick([9, 10]), dice.pick([30, 40, 50])),
        "time2": clock(dice.between(13, 14), dice.pick([10, 30, 50])),
        "time3": clock(dice.between(17, 18), dice.pick([15, 30, 45])),
        "time4": clock(dice.between(20, 21), dice.pick([0, 30])),
        "open1": clock(9, 30) if slot["early"] else clock(dice.pick([7, 8]), dice.pick([15, 30, 45])),
        "close1": clock(20, dice.pick([0, 30])),
        "lunch": clock(11, dice.pick([15, 30])),
        "dinner": clock(17, dice.pick([30, 45])),
        "checkin": clock(14, dice.pick([0, 30])),
        "taxi": round(dice.between(14, 32) * (1.0 if zh else 0.4)),
        "metro": dice.between(2, 5) if zh else dice.between(2, 3),
        "part": round(budget * dice.uniform(0.72, 0.9) / 10) * 10,
        "total": round(budget * dice.uniform(0.86, 0.97) / 10) * 10,
        "over": round(budget * dice.uniform(1.3, 1.8) / 10) * 10,
        "room": round(night * dice.uniform(0.6, 0.97)),
        "over_night": round(night * dice.uniform(1.5, 2.6) / 10) * 10,
        "size": dice.between(18, 32),
        "floor": dice.between(3, 8),
        "ahead": dice.between(7, 20),
        "room_cut": round(dice.between(20, 60) * (1 if zh else 0.3)),
        "buffer": dice.between(25, 40),
        "bag": dice.between(10, 20) if zh else dice.between(3, 8),
    }
