"""Gifts: what suits whom, at which price, delivered when."""

from __future__ import annotations

from typing import Any

from perslib.worlds.lives import Book, Dice, Life
from perslib.worlds.slots import Limits, Slots, draw, draw_all, in_season, read_ranges, unused

# Gifts that would look odd for a recipient, by place in the list of gifts or by kind.
FOR_THE_YOUNG = (6, 13, 19, 20, 23)
CHILD_KINDS = ("play", "child")
NOT_USEFUL = ("decor", "experience", "jewel", "play")
CLOSE_ONLY = ("jewel", "scent")


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, numbers = book.scenario("gift"), read_ranges("facts", "gift", book.language)
    who = dice.pick([w for w in words.RECIPIENTS if not (w == "partner" and life.household != "partner")])
    who_task, own, _, occasions = words.RECIPIENTS[who]
    slot: Slots = {
        "recipient": who,
        "recipient_limit": life.recipients[who],
        "who_task": who_task,
        "own": own,
        "who": own,
        "occasion": dice.pick(in_season(occasions, words.SEASON, month)),
        "when": dice.pick(words.WHEN),
        "left": draw(numbers["left"], {}, dice),
    }
    keys = limits("gift", life, slot, dice)
    while True:
        slot["budget"] = draw(numbers["budget"], slot, dice)
        slot["gifts"] = [g for i, g in enumerate(words.GIFTS) if _suits(i, g, who, slot["budget"], keys)]
        if len(slot["gifts"]) >= 5:
            break
    slot["chosen"] = dice.pick(slot["gifts"])
    slot["gift"] = slot["chosen"][0]
    low, high = _price_range(slot["chosen"], slot["budget"])
    slot["chosen_price"] = round(dice.uniform(low, high))
    slot["chosen_wrap"] = max(
        1, min(draw(numbers["wrap"], slot, dice), slot["budget"] - slot["chosen_price"])
    )
    slot["slowest"] = max(3, slot["left"] // 3)
    slot["chosen_ship"] = dice.between(2, slot["slowest"])
    return slot, keys


def _price_range(gift: tuple[Any, ...], budget: int) -> tuple[float, float]:
    """What a gift may cost here: within its own range and the budget, and not far below the budget."""
    high = min(gift[2], 0.93 * budget)
    return min(max(gift[1], 0.4 * budget), high), high


def _suits(place: int, gift: tuple[Any, ...], who: str, budget: int, keys: list[str]) -> bool:
    _, low, _, kind, _ = gift
    close = who in ("partner", "mother", "grandma", "friend")
    return not (
        low > 0.9 * budget
        or kind in keys
        or ("useful" in keys and kind in NOT_USEFUL and who != "child")
        or (kind in CLOSE_ONLY and not close)
        or (kind not in CHILD_KINDS if who == "child" else kind == "child")
        or (place in FOR_THE_YOUNG and who in ("mother", "father", "grandma", "teacher"))
        or (place == 23 and who == "colleague")
    )


def line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """New numbers for one option, step or sentence."""
    budget = slot["budget"]
    first, second = unused(slot["gifts"], set(used), dice, 2)
    price = round(dice.uniform(*_price_range(first, budget)))
    ship = dice.between(2, slot["slowest"])
    if slot.get("only"):  # versions of the chosen gift, or shops that have it
        first = slot["chosen"]
        price = round(
            dice.uniform(
                max(first[1], 0.85 * slot["chosen_price"]), min(0.97 * budget, 1.15 * slot["chosen_price"])
            )
        )
    elif first == slot["chosen"] or slot.get("fixed"):
        first, price, ship = slot["chosen"], slot["chosen_price"], slot["chosen_ship"]
    used.add(str(first))
    if second == first:
        second = next(gift for gift in slot["gifts"] if gift != first)
    premium = book.scenario("gift").PREMIUM["child" if slot["recipient"] == "child" else "grown"]
    hows = read_ranges("line", "gift", book.language)
    numbers = draw_all(hows, {**slot, "premium": premium}, dice)
    return {
        **numbers,
        "gift": first[0],
        "Gift": book.capital(first[0]),
        "gift2": second[0],
        "spec": first[4],
        "price": price,
        "ship": ship,
        "wrap": slot["chosen_wrap"],
        "total": min(budget, slot["chosen_price"] + slot["chosen_wrap"]),
        "cut": numbers["full"] // 10,
    }
