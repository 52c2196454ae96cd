"""What the system sees: its notes on the dialogue, and the state vector made of them (DEUS, section 4.1.2).

Nothing of the user's mind is in it: no goal, no budget, no cost, no count of turns. Agents and policies are handed
this object and nothing else, so they cannot look.
"""

from __future__ import annotations

import numpy as np

from perslib.patience.actions import Template
from perslib.patience.agenda import Item
from perslib.patience.domains import DOMAINS, entities

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
INDEX: dict[str, dict[object, int]] = {group: {} for group in GROUPS}
for _i, (_group, _of) in enumerate(PLACES):
    INDEX[_group][_of] = _i


class Seen:
    """The system's notes; `vector` is the state before the next action."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, str], int] = {}
        self.any: set[tuple[str, str]] = set()
        self.open: list[tuple[str, str]] = []
        self.answered: set[tuple[str, str]] = set()
        self.said: tuple[Item, ...] = ()
        self.active = ""
        self.booked: set[str] = set()
        self.offered: set[str] = set()
        self.repeats = 1
        self._rows: dict[str, np.ndarray] = {}

    def hear(self, items: tuple[Item, ...], values: dict[tuple[str, str], int]) -> None:
        """Note a user turn; `values` holds those that were understood."""
        self.repeats = min(self.repeats + 1, REPEATS) if items == self.said else 1
        self.said = items
        for item in items:
            place = (item.domain, item.slot)
            if item.kind == "inform" and place in values:
                self._note(place, values[place])
            elif item.kind == "dontcare":
                self.any.add(place)
            elif item.kind == "request" and place not in self.open:
                self.open.append(place)
            if item.domain:
                self.active = item.domain

    def _note(self, place: tuple[str, str], value: int) -> None:
        self.told[place] = value
        domain, slot = place
        column = entities()[domain].get(slot)
        if column is not None:
            fits = column == value
            self._rows[domain] = self._rows[domain] & fits if domain in self._rows else fits

    def act(self, template: Template, booked: set[str]) -> None:
        """Note what the system did, and which bookings have gone through."""
        for atom in template:
            if atom.act == "inform":
                self.offered.add(atom.domain)
                if (atom.domain, atom.slot) in self.open:
                    self.open.remove((atom.domain, atom.slot))
                    self.answered.add((atom.domain, atom.slot))
        self.booked = set(booked)

    def matches(self, domain: str) -> int:
        """Entities that fit what the user has said about this domain."""
        rows = self._rows.get(domain)
        return DOMAINS[domain].rows if rows is None else int(np.count_nonzero(rows))

    def entity(self, domain: str, slot: str) -> int | None:
        """Value of the entity the system would speak of, the first that fits; None for what tables do not hold."""
        column = entities()[domain].get(slot)
        if column is None:
            return None
        rows = self._rows.get(domain)
        return int(column[0 if rows is None else int(np.argmax(rows))])

    @property
    def vector(self) -> np.ndarray:
        """State features: told, open, answered, last said, active domain, booked, offered, matches, repeats."""
        ones = [INDEX["repeats"][self.repeats]]
        for group in ("told", "any", "open", "answered", "booked", "offered"):
            index = INDEX[group]
            ones += [index[of] for of in getattr(self, group)]
        for kind, domain, slot in self.said:
            if kind in ("inform", "request", "book"):
                ones.append(INDEX[kind][domain, slot])
        if self.active:
            count = self.matches(self.active)
            bucket = MATCHES[(count > 0) + (count > 1) + (count > 4)]
            ones += [INDEX["active"][self.active], INDEX["matches"][bucket]]
        state = np.zeros(len(STATE_NAMES), dtype=np.float32)
        state[ones] = 1
        return state
