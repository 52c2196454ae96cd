"""A user with an agenda, and when a user leaves (DEUS, sections 3.5 and 4.1.2).

What all users do: say what is still to be said, hear what the system does, know what is unfinished. One domain after
the other: constraints, then questions, then booking details and the wish to book. What the system asked for is answered
first.

User 1 says up to four things a turn and stays until done. User 2 says one thing, pays slot_number(a) + 1 a turn out of
h(goal), and leaves once the budget is below zero. User 3 also looks ahead: what is left must cover what the rest will
probably cost, given the cost of what is finished,

    h'(g') = cost_spent / h(g − g') · h(g') · γ                                        (eq. 16).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from perslib.errors import PerslibError
from perslib.systems.deus.world.actions import Template, action_list
from perslib.systems.deus.world.goals import GOAL_INDEX, GOAL_NAMES, Goal, GoalPart


class Item(NamedTuple):
    """One thing the user says: inform, request, dontcare or book, of a slot in a domain; or bye."""

    kind: str
    domain: str = ""
    slot: str = ""


class Agenda:
    """What has been told, answered and booked of a goal, and what comes next."""

    def __init__(self, goal: Goal, items: int, rng: np.random.Generator):
        self.goal, self.limit, self.rng = goal, items, rng
        self.informed: set[tuple[str, str]] = set()
        self.known: set[tuple[str, str]] = set()
        self.booked: set[str] = set()
        self.position = 0
        self.urgent: list[Item] = []

    @property
    def current(self) -> GoalPart | None:
        """The part the user is busy with; none once everything is finished."""
        parts = self.goal.parts
        return parts[self.position] if self.position < len(parts) else None

    def speak(self) -> tuple[Item, ...]:
        """Return the next user turn: answers first, then the agenda of the current part, at most `items` of them."""
        items = list(dict.fromkeys([*self.urgent, *self._plan_items()]))[: self.limit]
        self.urgent = []
        self.informed.update((i.domain, i.slot) for i in items if i.kind == "inform")
        return tuple(items)

    def _plan_items(self) -> list[Item]:
        part = self.current
        if part is None:
            return [Item("bye")]
        name = part.domain
        untold = [Item("inform", name, s) for s in part.info if (name, s) not in self.informed]
        asked = [Item("request", name, s) for s in part.reqt if (name, s) not in self.known]
        if asked or not part.book:
            return [*untold, *asked]
        details = [Item("inform", name, s) for s in part.book if (name, s) not in self.informed]
        return [*untold, *details, Item("book", name, "ref")]

    def hear(
        self, template: Template, entity: Callable[[str, str], int | None], noted: Mapping[tuple[str, str], int]
    ) -> None:
        """Take in a system action about the current part; wrong domains and general acts change nothing.

        `entity(domain, slot)` is the value of the entity that the system speaks of (None: it has no such
        attribute), `noted` what the system has understood so far.
        """
        part = self.current
        if part is None:
            return
        name = part.domain
        ready = all((name, slot) in self.informed for slot in part.info)
        offers = any(atom.domain == name and atom.act in ("inform", "book") for atom in template)
        violated = [s for s, v in part.info.items() if entity(name, s) not in (None, v)] if offers else []
        for atom in template:
            if atom.domain != name:
                continue
            if atom.act == "request":
                self._answer_question(part, atom.slot)
            elif atom.act in ("inform", "book") and violated:
                self.urgent.append(Item("inform", name, violated[0]))
            elif atom.act == "inform" and atom.slot in part.reqt and ready:
                self.known.add((name, atom.slot))
            elif atom.act == "book" and part.book:
                missing = [s for s in part.book if (name, s) not in noted]
                if missing:
                    self.urgent.append(Item("inform", name, missing[0]))
                else:
                    self.booked.add(name)
        if self._is_done(part):
            self.position += 1
            self.urgent = []

    def _answer_question(self, part: GoalPart, slot: str) -> None:
        if slot in part.info or slot in part.book:
            self.urgent.append(Item("inform", part.domain, slot))
        elif self.rng.random() < 0.5:
            self.urgent.append(Item("dontcare", part.domain, slot))

    def _is_done(self, part: GoalPart) -> bool:
        answered = all((part.domain, slot) in self.known for slot in part.reqt)
        return answered and (not part.book or part.domain in self.booked)

    def list_unfinished(self) -> list[int]:
        """Return the goal items left: slots not conveyed, answered or booked, and domains not done."""
        left = [i for part in self.goal.parts[self.position + 1 :] for i in part.items]
        part = self.current
        if part is None:
            return left
        name = part.domain
        open_items = [f"{name}.info.{s}" for s in part.info if (name, s) not in self.informed]
        open_items += [f"{name}.reqt.{s}" for s in part.reqt if (name, s) not in self.known]
        if part.book and name not in self.booked:
            open_items += [f"{name}.book.{s}" for s in part.book]
        return [*(GOAL_INDEX[i] for i in open_items), GOAL_INDEX[name], *left]


MAX_TURNS = 20


@dataclass(frozen=True)
class User:
    """A kind of user; `scale` and `noise` (standard deviation) make one differ from eq. 17."""

    kind: str
    items: int = 1
    budget: bool = True
    forward: bool = False
    gamma: float = 0.3
    max_turns: int = MAX_TURNS
    scale: float = 1.0
    noise: float = 0.0
    quits: float = 0.0  # chance to leave after a turn for no reason of the dialogue's

    def __post_init__(self) -> None:
        if not 0 < self.gamma <= 1:
            raise PerslibError(f"γ is {self.gamma}; expected 0 < γ ≤ 1 (eq. 16; 0.3 keeps dialogues alive).")

    def patience(self, goal: Goal, rng: np.random.Generator) -> float:
        """Return what the user sets out with: eq. 17, for people scaled and with noise, never below one turn's cost."""
        if self.scale == 1 and not self.noise:
            return float(goal.patience)
        return float(max(1.0, self.scale * goal.patience + self.noise * rng.standard_normal()))


def user1() -> User:
    """Return the user who only wants the task done, in few turns."""
    return User("user1", items=4, budget=False)


def user2() -> User:
    """Return one question or answer a turn; leaves when the budget is overspent."""
    return User("user2")


def user3(gamma: float = 0.3) -> User:
    """Return user 2 who also leaves when the rest will probably cost more than is left."""
    return User("user3", forward=True, gamma=gamma)


@dataclass(frozen=True, eq=False)
class Belief:
    """What a user is thought to pay for each action, and to bring for each item of a goal, with a constant at the end."""

    costs: np.ndarray
    worth: np.ndarray

    @classmethod
    def true(cls) -> Self:
        """Return eq. 15 and 17."""
        return cls(action_list().slot_numbers + 1.0, np.append(np.ones(len(GOAL_NAMES)), 0.0))

    def by_slots(self) -> Self:
        """Return the same with the mean cost of all actions with as many slots."""
        slots = action_list().slot_numbers
        return replace(self, costs=np.array([self.costs[slots == number].mean() for number in slots]))

    def h(self, items: Collection[int]) -> float:
        """Return the patience for these items; for none it is 0."""
        return float(self.worth[list(items)].sum() + self.worth[-1]) if items else 0.0


def outlook(spent: float, done: float, rest: float, gamma: float) -> float:
    """Return h'(g') of eq. 16, for h(g − g') = `done` and h(g') = `rest`; with nothing finished yet the ratio counts as
    1.
    """
    return (spent / done if done else 1.0) * rest * gamma
