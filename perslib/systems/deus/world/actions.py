"""The 300 composite actions that every agent chooses from and every user hears (DEUS, section 4.1.2).

An atom is (domain, act, slot): the system informs, requests, books or has no offer; four general acts have no domain.
Values are filled in by the world, never by the agent. A turn's cost is slot_number(a) + 1 (eq. 15).

The list is `actions.json`: every atom with a slot alone, the same again with `reqmore` or `bye`, and combinations drawn
within a domain. The shares of actions with 0, 1, 2 … slots follow the public list of templates, which has few large ones:
with many of them an agent learns to say everything at once, and hardly any turn is cheap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perslib.systems.deus.world.goals import DOMAINS
from perslib.systems.deus.world.records import Actions

FILE = Path(__file__).with_name("actions.json")


class Atom(NamedTuple):
    """One thing the system does; general acts have neither domain nor slot."""

    domain: str
    act: str
    slot: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is a real slot to the user, a booking's reference included."""
        return bool(self.slot)

    def __str__(self) -> str:
        return f"{self.act}({self.domain}.{self.slot})" if self.slot else f"{self.act}({self.domain})"


GENERAL = tuple(Atom("", act) for act in ("greet", "bye", "welcome", "reqmore"))
REQMORE = GENERAL[3]


def _once(*slots: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(slot for group in slots for slot in group))


INFORMS = tuple(Atom(n, "inform", s) for n, d in DOMAINS.items() for s in _once(d.info, d.reqt, d.book))
REQUESTS = tuple(Atom(n, "request", s) for n, d in DOMAINS.items() for s in _once(d.info, d.book))
BOOKS = tuple(Atom(n, "book", "ref") for n, d in DOMAINS.items() if d.book)
NO_OFFERS = tuple(Atom(n, "nooffer") for n in DOMAINS)
ATOMS = (*INFORMS, *REQUESTS, *BOOKS, *NO_OFFERS, *GENERAL)

Template = tuple[Atom, ...]


@dataclass(frozen=True, eq=False)
class Templates(Actions):
    """The list with the atoms of every action; `names` and `multihot` are made of them."""

    templates: tuple[Template, ...] = ()

    @cached_property
    def slot_numbers(self) -> np.ndarray:
        """slot_number(a): atoms with a real slot."""
        return np.array([sum(atom.counts for atom in t) for t in self.templates])

    @cached_property
    def _index(self) -> dict[frozenset[Atom], int]:
        return {frozenset(t): i for i, t in enumerate(self.templates)}

    def index(self, *atoms: Atom) -> int:
        """Return the action made of just these atoms, else the one that shares most with them and adds least."""
        wanted = frozenset(atoms)
        if wanted not in self._index:
            fits = [2 * len(wanted & t) - len(t - wanted) for t in map(frozenset, self.templates)]
            self._index[wanted] = int(np.argmax(fits))
        return self._index[wanted]


@cache
def action_list() -> Templates:
    """Return the stored list."""
    stored = json.loads(FILE.read_text("utf-8"))["templates"]
    templates = tuple(tuple(Atom(*atom) for atom in t) for t in stored)
    rows = np.array([[atom in t for atom in ATOMS] for t in templates], dtype=np.float32)
    return Templates(tuple(" + ".join(map(str, t)) for t in templates), tuple(map(str, ATOMS)), rows, templates)
