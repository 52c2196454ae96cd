"""Concrete tasks in the four scenarios, drawn from a life: background, constraints, what to talk about."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from perslib.corpus.synthetic import slots
from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.words.books import Book

# Constraints every task of a scenario has: they stand in numbers in the task text itself.
NUMERIC = {
    "travel": ("budget", "days"),
    "gift": ("budget", "deadline"),
    "recipe": ("time",),
    "skill": ("hours", "budget"),
}
OPENING_FOCUS = {"travel": "plan", "gift": "ideas", "recipe": "menu", "skill": "plan"}


@dataclass
class Task:
    """What a user wants in one conversation."""

    scenario: str
    words: ModuleType
    slots: dict[str, Any]
    limits: list[str]
    spoken: list[str]
    focuses: list[str]
    text: str

    def due(self, focus: str) -> list[str]:
        """The constraints that matter for a reply about `focus`."""
        return [key for key in self.limits if focus in self.words.LIMITS[key][4]]

    def said(self, key: str, book: Book) -> str:
        """A constraint in the user's words, as part of a sentence."""
        numeric = book.talk.SAID[self.scenario].get(key)
        if numeric:
            return str(numeric.format(**self.slots))
        text = self.words.LIMITS[key][1].format(**self.slots).strip().rstrip("。.")
        for tail in (" please", "，"):
            text = text.removesuffix(tail).rstrip(",， ")
        keep = text.startswith(("I ", "I'm", "I'd"))
        return text if keep or book.language == "zh" else text[:1].lower() + text[1:]


def _limits(scenario: str, life: Life, slot: dict[str, Any], dice: Dice) -> list[str]:
    own = [slot["recipient_limit"]] if scenario == "gift" else life.limits[scenario]
    keys = [key for key in own if dice.chance(0.9)]
    if scenario == "travel" and dice.chance(0.6):
        keys.append("nights")
    if scenario == "gift" and dice.chance(0.35):
        keys.append(dice.pick(("useful", "personal")))
    if scenario == "travel" and slot["household"] == "parents" and dice.chance(0.7):
        keys.append("knees")
    if scenario == "gift" and slot["recipient"] == "child":
        keys = [key for key in keys if key != "useful"]
    if scenario == "skill":
        keys = [key for key in keys if slots.skill_allows(slot, key)]
    return list(dict.fromkeys(keys))


def task(scenario: str, life: Life, book: Book, dice: Dice, month: int = 6) -> Task:
    """A task for this life in this month; the slots hold every fact the conversation may use."""
    words = book.scenario(scenario)
    slot, limits = slots.facts(scenario, life, book, dice, _limits, month)
    every = [*NUMERIC[scenario], *limits]
    spoken = [key for key in limits if dice.chance(0.88)]
    first = OPENING_FOCUS[scenario]
    others = [focus for focus in words.FOCUS if focus != first]
    if "nights" in limits and scenario == "travel" and dice.chance(0.5):
        others.sort(key=lambda focus: focus != "lodging")
        focuses = [first, others[0], *dice.some(others[1:], 4)]
    else:
        focuses = [first, *dice.some(others, len(others))]
    background = "".join(words.LIMITS[key][0].format(**slot) for key in limits)
    text = dice.pick(words.TASKS).format(**{**slot, "who": slot["who_task"], "limits": background})
    return Task(scenario, words, slot, every, spoken, focuses, text.strip())


def opening(one: Task, life: Life, book: Book, dice: Dice, limits: bool = True) -> str:
    """The first request, in the user's tone, with the constraints the user thinks of."""
    said = "".join(one.words.LIMITS[key][1].format(**one.slots) for key in one.spoken) if limits else ""
    text = dice.pick(one.words.OPENINGS[life.tone]).format(**{**one.slots, "limits": said})
    return book.finish(text) if life.tone != "terse" else book.capital(text.strip())
