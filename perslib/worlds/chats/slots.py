"""The numbers and names that texts are filled with: once for a task, and anew for every line of a reply.

All of them respect the task: prices stay within its budget, dishes leave out what must be left out, sights
that need climbing are not offered to bad knees. Violations are planted elsewhere, on purpose and in words.

Numbers are in `numbers.toml`, and the functions that it names in `numbers.py`. Here stands what several numbers hang
together in: which places, gifts, dishes and drills suit a task, and which constraints it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeAlias

from perslib.paths import read_toml
from perslib.worlds.chats.numbers import SlotFormulas, write_number
from perslib.worlds.lives import MODEL, Book, Dice, Life

Slots: TypeAlias = dict[str, Any]
Facts: TypeAlias = tuple[Slots, list[str]]


_NUMBERS = read_toml(__file__, "numbers.toml")


def calculate(scenario: str, part: str, slot: Mapping[str, Any], book: Book, dice: Dice) -> Slots:
    """Return the numbers of a part of `numbers.toml`, each from the slots and the numbers before it."""
    own = _NUMBERS[scenario][part] | _NUMBERS.get(book.language, {}).get(scenario, {}).get(part, {})
    numbers = SlotFormulas({**slot}, dice)
    for name, (function, *given) in own.items():
        numbers.slot[name] = getattr(numbers, function)(*given)
    return {name: numbers.slot[name] for name in own}


def facts(scenario: str, life: Life, book: Book, dice: Dice, month: int) -> Facts:
    """Return the facts of a task and the constraints that come on top of its numbers."""
    return _FACTS[scenario](life, book, dice, month)


def draw_line_facts(scenario: str, task_slots: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """Return task facts plus new numbers for one option, step or sentence; `used` keeps options from repeating."""
    slot = {**task_slots, **calculate("every", "line", task_slots, book, dice)}
    own = {**slot, **_LINES[scenario](slot, book, dice, used)}
    return {**own, **calculate(scenario, "line", own, book, dice)}


def limits(scenario: str, life: Life, slot: Slots, dice: Dice) -> list[str]:
    """Return the constraints of a task: most of those of a life, and some that come up."""
    own = [slot["recipient_limit"]] if scenario == "gift" else life.limits[scenario]
    keys = [key for key in own if dice.chance(0.9)]
    if scenario == "travel":
        if dice.chance(0.6):
            keys.append("nights")
        if slot["household"] == "parents" and dice.chance(0.7):
            keys.append("knees")
    if scenario == "gift":
        if dice.chance(0.35):
            keys.append(dice.pick(("useful", "personal")))
        if slot["recipient"] == "child":
            keys = [key for key in keys if key != "useful"]
    if scenario == "skill":  # silence for the noisy, knees for the bodily
        fits = {"noise": "noisy", "knees": "body", "home": "near", "screen": "still"}
        keys = [key for key in keys if key not in fits or slot[fits[key]]]
    return list(dict.fromkeys(keys))


def _choose_unused(things: list[Any], used: set[str], dice: Dice, n: int) -> list[Any]:
    """Return n things that no earlier line has used, while there are any; they count as used from now on."""
    new = [t for t in things if str(t) not in used]
    chosen = dice.some(new, n)
    if len(chosen) < n:
        chosen += dice.some([t for t in things if t not in chosen], n - len(chosen))
    used.update(str(t) for t in chosen)
    return chosen


def _in_season(things: list[str], season: dict[str, tuple[int, ...]], month: int) -> list[str]:
    """Return the things that have no season, or are in season this month."""
    return [thing for thing in things if month in season.get(thing, (month,))]


# -- travel: places, times and prices ------------------------------------------------------------------------


def _travel(life: Life, book: Book, dice: Dice, month: int) -> Facts:
    words = book.scenario("travel")
    household = life.household if dice.chance(0.75) else dice.pick(["alone", "friends", "partner"])
    dest = dice.pick([name for name in words.DESTINATIONS if name != life.origin])
    hours, sights, indoor, foods, areas = words.DESTINATIONS[dest]
    ride = hours[words.ORIGINS.index(life.origin)]
    who_task, own = words.COMPANIONS[household]
    slot = {"dest": dest, "origin": life.origin, "household": household, "who_task": who_task, "own": own}
    slot |= calculate("travel", "task", {"ride": ride}, book, dice)
    slot |= {"ride": words.RIDE[ride != 1].format(n=write_number(ride)), "areas": areas}
    slot |= {"when": dice.pick(_in_season(words.WHEN, words.SEASON, month)), "indoor": dice.pick(indoor)}
    keys = limits("travel", life, slot, dice)
    slot["sights"] = [s for s in sights if not ("knees" in keys and s[0] in words.HILLS)]
    slot["foods"] = [f for f in foods if not ("mild" in keys and f in words.SPICY)]
    return slot | {"early": "early" in keys}, keys


def _travel_line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    (s1, f1), (s2, f2), third = _choose_unused(slot["sights"], used, dice, 3)
    used.discard(str(third))
    *meals, bite = slot["foods"]
    food1, food2 = dice.some(meals, 2)
    ticket = book.scenario("travel").TICKET[bool(f1)].format(fee=f1)
    sights = {"s1": s1, "s2": s2, "s3": third[0], "ticket1": ticket, "fees": f1 + f2}
    return sights | {"food1": food1, "food2": food2, "bite": bite}


# -- gifts: what suits whom, at which price, delivered when --------------------------------------------------


def _gift(life: Life, book: Book, dice: Dice, month: int) -> Facts:
    words = book.scenario("gift")
    who = dice.pick([w for w in words.RECIPIENTS if not (w == "partner" and life.household != "partner")])
    who_task, own, _, occasions = words.RECIPIENTS[who]
    slot = {"recipient": who, "recipient_limit": life.recipients[who]}
    slot |= {"who_task": who_task, "own": own, "who": own}
    slot["occasion"] = dice.pick(_in_season(occasions, words.SEASON, month))
    slot["when"] = dice.pick(words.WHEN)
    slot |= calculate("gift", "task", {}, book, dice)
    keys = limits("gift", life, slot, dice)
    gifts: list[Any] = []
    while len(gifts) < 5:
        slot |= calculate("gift", "budget", {}, book, dice)
        gifts = [g for i, g in enumerate(words.GIFTS) if _suits(i, g, who, slot["budget"], keys)]
    chosen = dice.pick(gifts)
    price = round(dice.uniform(*_price_range(chosen, slot["budget"])))
    wrap = max(1, min(calculate("gift", "chosen", slot, book, dice)["chosen_wrap"], slot["budget"] - price))
    slot |= {"gifts": gifts, "chosen": chosen, "gift": chosen[0], "chosen_price": price, "chosen_wrap": wrap}
    slot["slowest"] = max(3, slot["left"] // 3)
    slot["chosen_ship"] = dice.between(2, slot["slowest"])
    return slot, keys


def _price_range(gift: tuple[Any, ...], budget: int) -> tuple[float, float]:
    """Return what a gift may cost here: within its own range and the budget, and not far below the budget."""
    high = min(gift[2], 0.93 * budget)
    return min(max(gift[1], 0.4 * budget), high), high


def _suits(place: int, gift: tuple[Any, ...], who: str, budget: int, keys: list[str]) -> bool:
    _, low, _, kind, _ = gift
    odd = MODEL["gifts"]
    return not (
        low > 0.9 * budget
        or kind in keys
        or ("useful" in keys and kind in odd["useless"] and who != "child")
        or (kind in odd["intimate"] and who not in odd["close"])
        or (kind not in odd["childish"] if who == "child" else kind == "child")
        or place in odd["never"].get(who, ())
    )


def _gift_line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    budget, chosen, usual = slot["budget"], slot["chosen"], slot["chosen_price"]
    first, second = _choose_unused(slot["gifts"], set(used), dice, 2)
    price = round(dice.uniform(*_price_range(first, budget)))
    ship = dice.between(2, slot["slowest"])
    if slot.get("only"):  # versions of the chosen gift, or shops that have it
        first = chosen
        price = round(dice.uniform(max(first[1], 0.85 * usual), min(0.97 * budget, 1.15 * usual)))
    elif first == chosen or slot.get("fixed"):
        first, price, ship = chosen, usual, slot["chosen_ship"]
    used.add(str(first))
    if second == first:
        second = next(gift for gift in slot["gifts"] if gift != first)
    premium = book.scenario("gift").PREMIUM["child" if slot["recipient"] == "child" else "grown"]
    names = {"gift": first[0], "Gift": book.capital(first[0]), "gift2": second[0], "spec": first[4]}
    names |= {"wrap": slot["chosen_wrap"], "total": min(budget, usual + slot["chosen_wrap"])}
    return names | {"price": price, "ship": ship, "premium": premium}


# -- recipes: menus that fit the diners, the ban list and the clock ------------------------------------------


def _recipe(life: Life, book: Book, dice: Dice, month: int) -> Facts:
    words = book.scenario("recipe")
    household = life.household if dice.chance(0.7) else dice.pick(["alone", "friends"])
    who_task, own, n = words.DINERS[household]
    portions = f"{n} portion" if n == 1 else f"{n} portions"
    slot: Slots = {"household": household, "who_task": who_task, "own": own, "n": n, "portions": portions}
    slot["when"] = dice.pick(words.WHEN)
    keys = limits("recipe", life, slot, dice)
    banned = {tag for key, tag in MODEL["banned"].items() if key in keys}
    slot["dishes"] = [d for d, row in words.DISHES.items() if not banned & set(row[1].split())]
    slot["count"] = dice.between(2, 3 if n < 3 else 4)
    slot["menu_names"] = dice.some(slot["dishes"], slot["count"])
    slot["total"] = _menu_minutes(words, slot["menu_names"])
    slot["minutes"] = next(m for m in (30, 40, 50, 60, 75, 90, 120, 150, 180) if m >= slot["total"] * 1.03)
    slot["dish"], slot["dish2"] = dice.some(slot["menu_names"], 2)
    slot["dmin"] = words.DISHES[slot["dish"]][0]
    return slot, keys


def _menu_minutes(words: SimpleNamespace, names: list[str]) -> int:
    """Return minutes until all dishes stand on the table: the longest one, and part of the others beside it."""
    times = sorted(words.DISHES[name][0] for name in names)
    return times[-1] + round(0.4 * sum(times[:-1]))


def _menu(words: SimpleNamespace, slot: Slots, dice: Dice) -> list[str]:
    """Return other dishes that are ready in time; the task's own where they are hard to find."""
    for _ in range(40):
        names = dice.some(slot["dishes"], slot["count"])
        if _menu_minutes(words, names) <= slot["minutes"]:
            return names
    return list(slot["menu_names"])


def _recipe_line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    words = book.scenario("recipe")
    names = _menu(words, slot, dice)
    if "menu" not in used:  # the first menu of a reply is the one the conversation goes on with
        used.add("menu")
        names = slot["menu_names"]
    menu, dishes = book.list_things(names, words.MENU), [words.DISHES[name] for name in names]
    amounts = [things[0][1] for _, _, things, _ in dishes]
    longest, people = max(minutes for minutes, *_ in dishes), words.DINERS[slot["household"]][2]
    return {
        "menu": menu,
        "Menu": book.capital(menu),
        "mtime": _menu_minutes(words, names),
        "n": people,
        "grams": max(150, 50 * round(people * sum(amount for amount in amounts if amount > 2) / 50)),
        "level": 1 + (longest > 15) + (longest > 45),
        "dearness": [_dearness(set(tags.split())) for _, tags, *_ in dishes],
    }


def _dearness(tags: set[str]) -> int:
    """Return fish and prawns cost most, vegetables least."""
    return 2 if tags & {"fish", "shrimp"} else 1 if "meat" in tags else 0


# -- skills: hours, phases, drills and costs -----------------------------------------------------------------


def _skill(life: Life, book: Book, dice: Dice, month: int) -> Facts:
    words = book.scenario("skill")
    skill = dice.pick(list(words.SKILLS))
    goals, phases, drills, resources, (gear, price), noisy, body = words.SKILLS[skill]
    level, ownlevel = dice.pick(words.LEVELS)
    slot = {"skill": skill, "goal": dice.pick(goals), "phases": phases, "drills": drills}
    slot |= {"gear": gear, "gear_price": price, "level": level, "ownlevel": ownlevel, "who_task": ""}
    slot |= {"noisy": noisy, "body": body, "still": not body, "near": skill not in words.AWAY}
    (res, res2, *_) = resources
    slot |= {"res": res, "Res": book.capital(res), "res2": res2, "Res2": book.capital(res2)}
    slot |= calculate("skill", "task", slot, book, dice)
    return slot, limits("skill", life, slot, dice)


def _skill_line(slot: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    times = dice.between(2, 3 if slot["hours"] < 5 else 4)
    minutes = int(slot["hours"] * dice.uniform(0.72, 0.95) * 60 / times) // 5 * 5
    review = dice.pick([5, 10, 15] if minutes < 60 else [10, 15, 20])
    week, rest = write_number(round(times * minutes / 60, 1)), max(5, slot["budget"] - slot["gear_price"])
    own = {"times": times, "mins": minutes, "rev": review, "main": minutes - review, "week": week}
    own |= {"rest": rest, "part": slot["gear_price"] + round(rest * 0.2)}
    drill, drill2 = _choose_unused(slot["drills"], used, dice, 2)
    used.discard(drill2)
    return own | {"drill": drill, "drill2": drill2, "prices": book.scenario("skill").PRICE}


_FACTS = {"travel": _travel, "gift": _gift, "recipe": _recipe, "skill": _skill}
_LINES = {"travel": _travel_line, "gift": _gift_line, "recipe": _recipe_line, "skill": _skill_line}
