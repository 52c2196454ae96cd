"""Skills: hours, phases, drills and costs."""

from __future__ import annotations

from perslib.worlds.lives import Book, Dice, Life
from perslib.worlds.slots import Limits, Slots, draw, draw_all, number, read_ranges, unused


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, own = book.scenario("skill"), read_ranges("facts", "skill", book.language)
    skill = dice.pick(list(words.SKILLS))
    goals, phases, drills, resources, (gear, price), noisy, body = words.SKILLS[skill]
    level, ownlevel = dice.pick(words.LEVELS)
    slot: Slots = {
        "skill": skill,
        "goal": dice.pick(goals),
        "phases": phases,
        "drills": drills,
        "resources": resources,
        "gear": gear,
        "gear_price": price,
        "noisy": noisy,
        "body": body,
        "away": skill in words.AWAY,
        "level": level,
        "ownlevel": ownlevel,
        "months": draw(own["months"], {}, dice),
        "hours": draw(own["hours"], {}, dice),
        "res": resources[0],
        "who_task": "",
        "budget": (int(price * dice.uniform(1.3, 2.4)) // own["step"] + 2) * own["step"],
    }
    return slot, limits("skill", life, slot, dice)


def allows(slot: Slots, key: str) -> bool:
    """Whether a constraint makes sense for the skill: silence for the noisy, knees for the bodily."""
    fits = {
        "noise": slot["noisy"],
        "knees": slot["body"],
        "home": not slot["away"],
        "screen": not slot["body"],
    }
    return bool(fits.get(key, True))


def line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """New numbers for one option, step or sentence."""
    months, hours = slot["months"], slot["hours"]
    times = dice.between(2, 3 if hours < 5 else 4)
    mins = int(hours * dice.uniform(0.72, 0.95) * 60 / times) // 5 * 5
    rev = dice.pick([5, 10, 15]) if mins < 60 else dice.pick([10, 15, 20])
    drill, drill2 = unused(slot["drills"], used, dice, 2)
    used.discard(drill2)
    lessons, w1 = dice.between(18, 40), dice.between(2, 3)
    rest = max(5, slot["budget"] - slot["gear_price"])
    free = dice.chance(0.6)
    cost = max(3, round(rest * dice.uniform(0.3, 0.7)))
    hows = read_ranges("line", "skill", book.language)
    return {
        "times": times,
        "mins": mins,
        "rev": rev,
        "main": mins - rev,
        "week": number(round(times * mins / 60, 1)),
        "drill": drill,
        "drill2": drill2,
        "part": slot["gear_price"] + round(rest * 0.2),
        "total": slot["gear_price"] + cost,
        **draw_all(hows, {**slot, "middle": months * 2, "lessons": lessons}, dice),
        "w1": w1,
        "w3": months * 4,
        "res": slot["resources"][0],
        "Res": book.capital(slot["resources"][0]),
        "res2": slot["resources"][1],
        "Res2": book.capital(slot["resources"][1]),
        "lessons": lessons,
        "price_res": book.scenario("skill").PRICE[not free].format(cost=cost),
    }
