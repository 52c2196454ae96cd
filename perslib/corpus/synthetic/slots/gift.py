"""Gifts: what suits whom, at which price, delivered when."""

from __future__ import annotations

from typing import Any

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.slots.common import Limits, Slots, clock, in_season, unused
from perslib.corpus.synthetic.words.books import Book

# Gifts that would look odd for a recipient, by place in the list of gifts or by kind.
FOR_THE_YOUNG = (6, 13, 19, 20, 23)
CHILD_KINDS = ("play", "child")
NOT_USEFUL = ("decor", "experience", "jewel", "play")
CLOSE_ONLY = ("jewel", "scent")


def facts(life: Life, book: Book, dice: Dice, limits: Limits, month: int) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    words, zh = book.scenario("gift"), book.language == "zh"
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
        "left": dice.between(7, 20),
    }
    keys = limits("gift", life, slot, dice)
    budgets = [150, 200, 300, 400, 500, 600, 800] if zh else [25, 30, 40, 50, 60, 80, 100]
    while True:
        slot["budget"] = dice.pick(budgets)
        slot["gifts"] = [g for i, g in enumerate(words.GIFTS) if _suits(i, g, who, slot["budget"], keys)]
        if len(slot["gifts"]) >= 5:
            break
    slot["chosen"] = dice.pick(slot["gifts"])
    slot["gift"] = slot["chosen"][0]
    low, high = _price_range(slot["chosen"], slot["budget"])
    slot["chosen_price"] = round(dice.uniform(low, high))
    slot["chosen_wrap"] = max(
        1, min(dice.between(8, 18) if zh else dice.between(2, 4), slot["budget"] - slot["chosen_price"])
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
    zh, budget = book.language == "zh", slot["budget"]
    first, second = unused(slot["gifts"], set(used), dice, 2)
    price = round(dice.uniform(*_price_range(first, budget)))
    left, ship, wrap = slot["left"], dice.between(2, slot["slowest"]), slot["chosen_wrap"]
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
    premium = (
        ["限量款礼盒", "大牌旗舰款", "进口定制款"]
        if zh
        else ["a limited-edition set", "a designer version", "an imported luxury set"]
    )
    if slot["recipient"] == "child":
        premium = (
            ["进口电动车模", "大号遥控机器人"]
            if zh
            else ["an imported electric car", "a large remote-controlled robot"]
        )
    full = dice.pick([100, 200, 300]) if zh else dice.pick([20, 30, 50])
    return {
        "gift": first[0],
        "Gift": book.capital(first[0]),
        "gift2": second[0],
        "spec": first[4],
        "price": price,
        "ship": ship,
        "late": left + dice.between(8, 25),
        "warranty": dice.pick([6, 12, 24]),
        "rate": dice.between(93, 99),
        "wrap": wrap,
        "total": min(budget, slot["chosen_price"] + wrap),
        "over": round(budget * dice.uniform(1.5, 2.6) / 10) * 10,
        "premium": dice.pick(premium),
        "d1": dice.between(2, 3),
        "spare": dice.between(2, 4),
        "m1": dice.between(10, 20),
        "m2": dice.between(20, 40),
        "words": dice.between(30, 60),
        "time": clock(dice.between(18, 19), dice.pick([15, 30])),
        "full": full,
        "cut": full // 10,
        "box": dice.pick(["20×15", "25×20", "30×22"])
        if zh
        else dice.pick(["20 by 15", "25 by 20", "30 by 22"]),
    }
