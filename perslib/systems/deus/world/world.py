"""The loop: the user speaks, the system acts, the user hears, pays and perhaps leaves (DEUS, section 4.1).

    world = World(user2(), np.random.default_rng(1))
    while not world.over:
        world.act(policy(world.seen, rng))
    world.reason, world.status, world.remaining

After each system action, in this order: a budget below zero (zero is still alive), or too little left for the rest;
then success; then the limit on turns. So a turn that completes the task but overspends is a failure.

The system sees its notes on the dialogue and the state vector made of them, and nothing of the user's mind: no goal, no
budget, no cost, no count of turns. Agents and policies are handed this object and nothing else, so they cannot look.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perslib.errors import PerslibError
from perslib.systems.deus.world.actions import action_list
from perslib.systems.deus.world.goals import DOMAINS, GOAL_INDEX, Goal, entities, sample_goal, vector
from perslib.systems.deus.world.records import CENSORED, FAILURE, SUCCESS, Dialogue
from perslib.systems.deus.world.users import Agenda, Belief, Item, User, outlook

TELLABLE = tuple((n, s) for n, d in DOMAINS.items() for s in dict.fromkeys((*d.info, *d.book)))
ASKABLE = tuple((n, s) for n, d in DOMAINS.items() for s in d.reqt)
BOOKABLE = tuple(n for n, d in DOMAINS.items() if d.book)
MATCHES = ("0", "1", "2–4", "5+")
REPEATS = 5

#: Groups of features: what is known, and of what.
GROUPS: dict[str, tuple[object, ...]] = {
    "told": TELLABLE,
    "any": TELLABLE,
    "open": ASKABLE,
    "answered": ASKABLE,
    "inform": TELLABLE,
    "request": ASKABLE,
    "book": tuple((n, "ref") for n in BOOKABLE),
    "active": tuple(DOMAINS),
    "booked": BOOKABLE,
    "offered": tuple(DOMAINS),
    "matches": MATCHES,
    "repeats": tuple(range(1, REPEATS + 1)),
}
PLACES = [(group, of) for group, members in GROUPS.items() for of in members]
STATE_NAMES = tuple(f"{group}:{'.'.join(of) if isinstance(of, tuple) else of}" for group, of in PLACES)
INDEX = {place: i for i, place in enumerate(PLACES)}
NO_STATE = np.zeros(0, dtype=np.float32)


class SystemNotes:
    """The system's notes; `vector` is the state before the next action."""

    def __init__(self) -> None:
        self.informed: dict[tuple[str, str], int] = {}
        self.any: set[tuple[str, str]] = set()
        self.open: list[tuple[str, str]] = []
        self.answered: set[tuple[str, str]] = set()
        self.items: tuple[Item, ...] = ()
        self.active = ""
        self.booked: set[str] = set()
        self.offered: set[str] = set()
        self.repeats = 1
        self.taken: list[int] = []
        self.visible: set[int] = set()
        """Items of the goal that the user has spoken of."""
        self.volunteered: set[tuple[str, str]] = set()
        """Answers that nobody had asked for, given after the last constraint of their domain: they may have been wanted."""
        self._rows: dict[str, np.ndarray] = {}

    def hear(self, items: tuple[Item, ...], values: dict[tuple[str, str], int]) -> None:
        """Note a user turn; `values` holds those that were understood."""
        self.repeats = min(self.repeats + 1, REPEATS) if items == self.items else 1
        self.items = items
        for item in items:
            place = (item.domain, item.slot)
            if item.kind == "inform" and place in values:
                self._note(place, values[place])
            elif item.kind == "dontcare":
                self.any.add(place)
            elif item.kind == "request" and place not in self.open:
                self.open.append(place)
            if item.kind == "inform" and item.slot in DOMAINS[item.domain].info:
                self.volunteered = {of for of in self.volunteered if of[0] != item.domain}
            if item.domain:
                self.active = item.domain
                kinds = {"request": ("reqt",), "inform": ("info", "book")}.get(item.kind, ())
                names = (item.domain, *(f"{item.domain}.{kind}.{item.slot}" for kind in kinds))
                self.visible.update(GOAL_INDEX[name] for name in names if name in GOAL_INDEX)

    def _note(self, place: tuple[str, str], value: int) -> None:
        self.informed[place] = value
        domain, slot = place
        column = entities()[domain].get(slot)
        if column is not None:
            fits = column == value
            self._rows[domain] = self._rows[domain] & fits if domain in self._rows else fits

    def act(self, action: int, booked: set[str]) -> None:
        """Note what the system did, and which bookings have gone through."""
        self.taken.append(action)
        for atom in action_list().templates[action]:
            if atom.act == "inform":
                place = (atom.domain, atom.slot)
                self.offered.add(atom.domain)
                if place in self.open:
                    self.open.remove(place)
                    self.answered.add(place)
                elif place not in self.answered:
                    self.volunteered.add(place)
        self.booked = set(booked)

    def matches(self, domain: str) -> int:
        """Return entities that fit what the user has said about this domain."""
        rows = self._rows.get(domain)
        return DOMAINS[domain].rows if rows is None else int(np.count_nonzero(rows))

    def entity(self, domain: str, slot: str) -> int | None:
        """Return the value of the entity the system would speak of, the first that fits; None for what tables do not
        hold.
        """
        column = entities()[domain].get(slot)
        if column is None:
            return None
        rows = self._rows.get(domain)
        return int(column[0 if rows is None else int(np.argmax(rows))])

    @property
    def vector(self) -> np.ndarray:
        """State features: told, open, answered, last said, active domain, booked, offered, matches, repeats."""
        on: list[tuple[str, object]] = [("repeats", self.repeats)]
        for group in ("told", "any", "open", "answered", "booked", "offered"):
            on += [(group, of) for of in (self.informed if group == "told" else getattr(self, group))]
        for kind, domain, slot in self.items:
            if kind in ("inform", "request", "book"):
                on.append((kind, (domain, slot)))
        if self.active:
            count = self.matches(self.active)
            bucket = MATCHES[(count > 0) + (count > 1) + (count > 4)]
            on += [("active", self.active), ("matches", bucket)]
        state = np.zeros(len(STATE_NAMES), dtype=np.float32)
        state[[INDEX[place] for place in on]] = 1
        return state


STATUS = {"success": SUCCESS, "budget": FAILURE, "forward": FAILURE, "quit": FAILURE, "maxturn": CENSORED, "": CENSORED}


@dataclass(frozen=True, eq=False)
class TaskTurn:
    """One exchange: what the user said before it, the state then, the action, its cost, and what was then left."""

    items: tuple[Item, ...]
    misheard: bool
    state: np.ndarray
    action: int
    cost: float
    rest: tuple[int, ...]
    left: float  # budget after the turn
    outlook: float  # h'(g') after the turn; 0 for users who do not look ahead


class World:
    """One dialogue between a user with a goal and a system that chooses actions from the list."""

    def __init__(
        self,
        user: User,
        rng: np.random.Generator,
        goal: Goal | None = None,
        mishears: float = 0.0,
        belief: Belief | None = None,
        keeps: bool = True,
    ):
        """`keeps` the state before each turn, which takes time and which only `dialogue` needs."""
        self.user, self.rng, self.mishears, self.belief, self.keeps = user, rng, mishears, belief, keeps
        self.actions = action_list()
        self.goal = goal or sample_goal(rng)
        self.patience = belief.h(self.goal.items) if belief else user.patience(self.goal, rng)
        self.agenda, self.seen = Agenda(self.goal, user.items, rng), SystemNotes()
        self.turns: list[TaskTurn] = []
        self.spent = 0.0
        self.reason = ""
        self._speak()

    @property
    def over(self) -> bool:
        """Whether the dialogue has ended."""
        return bool(self.reason)

    @property
    def status(self) -> int:
        """+1 success, −1 the user left, 0 ended by the limit on turns."""
        return STATUS[self.reason]

    @property
    def remaining(self) -> float:
        """Budget not yet spent."""
        return self.patience - self.spent

    def _speak(self) -> None:
        self._items = self.agenda.speak()
        values, self._misheard = self.goal.values, False
        if self.mishears:
            understood = {p: v for p, v in values.items() if self.rng.random() >= self.mishears}
            self._misheard = any((i.domain, i.slot) not in understood for i in self._items if i.kind == "inform")
            values = understood
        self.seen.hear(self._items, values)

    def act(self, action: int) -> TaskTurn:
        """Return the system acts, the user hears and pays; ends the dialogue or lets the user speak again."""
        if self.over:
            raise PerslibError(f"The dialogue is over ({self.reason}); begin a new one.")
        template, agenda = self.actions.templates[action], self.agenda
        state = self.seen.vector if self.keeps else NO_STATE
        cost = self.belief.costs[action] if self.belief else int(self.actions.slot_numbers[action]) + 1
        agenda.hear(template, self.seen.entity, self.seen.informed)
        self.seen.act(action, agenda.booked)
        self.spent += cost
        rest = agenda.list_unfinished() if self.keeps or self.user.forward else []
        turn = TaskTurn(
            self._items, self._misheard, state, action, cost, tuple(rest), self.remaining, self._outlook(rest)
        )
        self.turns.append(turn)
        self.reason = self._ending(turn)
        if not self.over:
            self._speak()
        return turn

    def _outlook(self, rest: list[int]) -> float:
        if not self.user.forward:
            return 0.0
        scale, done = self.patience / self.goal.patience, set(self.goal.items) - set(rest)
        of_done, of_rest = (self.belief.h(part) if self.belief else len(part) * scale for part in (done, rest))
        return outlook(self.spent, of_done, of_rest, self.user.gamma)

    def _ending(self, turn: TaskTurn) -> str:
        if self.user.budget and turn.left < 0:
            return "budget"
        if self.user.forward and turn.left - turn.outlook < -1e-9:
            return "forward"
        if self.agenda.current is None:
            return "success"
        if len(self.turns) >= self.user.max_turns:
            return "maxturn"
        if self.user.quits and self.rng.random() < self.user.quits:
            return "quit"
        return ""

    def dialogue(self, name: str = "") -> Dialogue:
        """Return what is kept of it."""
        return Dialogue(
            goal=self.goal.vector,
            states=np.stack([turn.state for turn in self.turns]),
            actions=np.array([turn.action for turn in self.turns]),
            status=self.status,
            reason=self.reason,
            rest=np.stack([vector(turn.rest) for turn in self.turns]),
            user=self.user.kind,
            id=name,
            true_costs=np.array([turn.cost for turn in self.turns], dtype=np.float32),
            true_patience=self.patience,
        )
