"""Skills: hours, phases, drills and costs."""

from __future__ import annotations

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.slots.common import Limits, Slots, number, unused
from perslib.corpus.synthetic.words.books import Book


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, zh = book.scenario("skill"), book.language == "zh"
    skill = dice.pick(list(words.SKILLS))
    goals, phases, drills, resources, (gear, price), noisy, body = words.SKILLS[skill]
    level, ownlevel = dice.pick(words.LEVELS)
    step = 50 if zh else 10
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
        "months": dice.pick([2, 3, 4, 6]),
        "hours": dice.pick([3, 4, 5, 6, 8]),
        "res": resources[0],
        "who_task": "",
        "budget": (int(price * dice.uniform(1.3, 2.4)) // step + 2) * step,
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
    zh, months, hours = book.language == "zh", slot["months"], slot["hours"]
    times = dice.between(2, 3 if hours < 5 else 4)
    mins = int(hours * dice.uniform(0.72, 0.95) * 60 / times) // 5 * 5
    rev = dice.pick([5, 10, 15]) if mins < 60 else dice.pick([10, 15, 20])
    drill, drill2 = unused(slot["drills"], used, dice, 2)
    used.discard(drill2)
    lessons, w1 = dice.between(18, 40), dice.between(2, 3)
    rest = max(5, slot["budget"] - slot["gear_price"])
    free = dice.chance(0.6)
    cost = max(3, round(rest * dice.uniform(0.3, 0.7)))
    price = (
        ("免费，注册就能看" if free else f"全套{cost}元")
        if zh
        else ("free after signing up" if free else f"£{cost} for the whole set")
    )
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
        "over": number(round(hours * dice.uniform(1.8, 2.6))),
        "dear": slot["budget"] * dice.between(4, 8),
        "w1": w1,
        "w2": months * 2 + dice.between(0, 1),
        "w3": months * 4,
        "res": slot["resources"][0],
        "Res": book.capital(slot["resources"][0]),
        "res2": slot["resources"][1],
        "Res2": book.capital(slot["resources"][1]),
        "lessons": lessons,
        "lessons2": lessons - dice.between(4, 10),
        "mins2": dice.between(10, 20),
        "price_res": price,
        "rate": dice.between(80, 90),
        "small": dice.between(20, 40) if zh else dice.between(5, 10),
        "n": dice.between(3, 6),
    }
