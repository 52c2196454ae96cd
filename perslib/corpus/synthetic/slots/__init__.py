"""The numbers and names that texts are filled with: once for a task, and anew for every line of a reply.

All of them respect the task: prices stay within its budget, dishes leave out what must be left out, sights
that need climbing are not offered to bad knees. Violations are planted elsewhere, on purpose and in words.
"""

from __future__ import annotations

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.lives import Life
from perslib.corpus.synthetic.slots import gift, recipe, skill, travel
from perslib.corpus.synthetic.slots.common import Limits, Slots, clock, number
from perslib.corpus.synthetic.words.books import Book

__all__ = ["Slots", "clock", "facts", "fresh", "number", "skill_allows"]

_SCENARIOS = {"travel": travel, "gift": gift, "recipe": recipe, "skill": skill}
skill_allows = skill.allows


def facts(
    scenario: str, life: Life, book: Book, dice: Dice, limits: Limits, month: int
) -> tuple[Slots, list[str]]:
    """The facts of a task and the constraints that come on top of its numbers."""
    return _SCENARIOS[scenario].facts(life, book, dice, limits, month)


def fresh(scenario: str, task_slots: Slots, book: Book, dice: Dice, used: set[str]) -> Slots:
    """Task facts plus new numbers for one option, step or sentence; `used` keeps options from repeating."""
    rating = dice.between(45, 49) if book.language == "zh" else dice.between(82, 96)
    slot = {
        **task_slots,
        "rating": f"{rating / 10:.1f}",
        "reviews": dice.between(12, 240) * 5,
        "two": dice.between(2, 3),
        "n": dice.between(3, 5),
    }
    return {**slot, **_SCENARIOS[scenario].line(slot, book, dice, used)}
