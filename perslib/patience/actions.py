"""The 300 composite actions that every agent chooses from and every user hears (DEUS, section 4.1.2).

An atom is (domain, act, slot): the system informs, requests, books or has no offer; four general acts have no domain.
Values are filled in by the world, never by the agent. A turn's cost is slot_number(a) + 1 (eq. 15). The shares of
actions with 0, 1, 2 … slots follow the public list of templates, which has few large ones: with many of them an agent
learns to say everything at once, and hardly any turn is cheap. `write()` makes the list again, the same each time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perslib.errors import DataError, Problem
from perslib.patience.dialogues import Actions
from perslib.patience.goals import DOMAINS

LIST_SEED = 7
#: How many actions have how many slots. Templates of five and six are there so that costs reach 7.
SLOT_HISTOGRAM = {0: 11, 1: 185, 2: 72, 3: 20, 4: 8, 5: 3, 6: 1}
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
class ActionList:
    """Templates with their slot numbers and costs; `features` is what a fit sees of them."""

    templates: tuple[Template, ...]

    @cached_property
    def slot_numbers(self) -> np.ndarray:
        """slot_number(a): atoms with a real slot."""
        return np.array([sum(atom.counts for atom in t) for t in self.templates])

    @cached_property
    def features(self) -> Actions:
        """Names and multi-hot atoms, with the digest that tells lists apart."""
        rows = np.zeros((len(self.templates), len(ATOMS)), dtype=np.float32)
        for row, template in zip(rows, self.templates, strict=True):
            row[[ATOMS.index(atom) for atom in template]] = 1
        names = tuple(" + ".join(map(str, t)) for t in self.templates)
        return Actions(names, tuple(map(str, ATOMS)), rows)

    @cached_property
    def _index(self) -> dict[frozenset[Atom], int]:
        return {frozenset(t): i for i, t in enumerate(self.templates)}

    @cached_property
    def _near(self) -> dict[frozenset[Atom], int]:
        return {}

    def index(self, *atoms: Atom) -> int:
        """The action made of just these atoms, else the one that shares most with them and adds least."""
        wanted = frozenset(atoms)
        if wanted in self._index:
            return self._index[wanted]
        if wanted not in self._near:
            fits = [2 * len(wanted & t) - len(t - wanted) for t in map(frozenset, self.templates)]
            self._near[wanted] = int(np.argmax(fits))
        return self._near[wanted]


def _same_domain(rng: np.random.Generator, slots: int) -> Template:
    """Mostly answers, sometimes questions, an answer with a question, or answers with a booking."""
    names = [n for n, d in DOMAINS.items() if len(_once(d.info, d.reqt)) >= slots]
    name = names[int(rng.integers(len(names)))]
    domain, draw = DOMAINS[name], rng.random()

    def some(act: str, among: list[str], number: int) -> list[Atom]:
        picked = rng.permutation(len(among))[:number]
        return [Atom(name, act, among[i]) for i in sorted(picked)]

    answers = _once(domain.reqt, domain.info if slots > len(domain.reqt) else ())
    if draw < 0.7:
        return tuple(some("inform", answers, slots))
    if draw < 0.85:
        return tuple(some("request", _once(domain.info, domain.book), slots))
    if draw < 0.93 or not domain.book:
        return (*some("inform", answers, slots - 1), *some("request", list(domain.info), 1))
    return (*some("inform", answers, slots - 1), Atom(name, "book", "ref"))


def draw(seed: int = LIST_SEED) -> ActionList:
    """The list: all atoms alone, each again with `reqmore` or `bye`, and combinations within a domain."""
    rng = np.random.default_rng(seed)
    single = [*INFORMS, *REQUESTS, *BOOKS]
    others = [REQMORE, GENERAL[1], GENERAL[2]]
    closing = [(atom, general) for general in others for atom in single]
    by_slots: dict[int, list[Template]] = {
        0: [*((a,) for a in GENERAL), *((a,) for a in NO_OFFERS)],
        1: [*((a,) for a in single), *closing[: SLOT_HISTOGRAM[1] - len(single)]],
        2: [(Atom("taxi", "inform", "car"), Atom("taxi", "inform", "phone"))],
    }
    for slots in range(2, max(SLOT_HISTOGRAM) + 1):
        chosen = by_slots.setdefault(slots, [])
        seen = {frozenset(t) for t in chosen}
        while len(chosen) < SLOT_HISTOGRAM[slots]:
            template = _same_domain(rng, slots)
            if len(set(template)) == slots and frozenset(template) not in seen:
                seen.add(frozenset(template))
                chosen.append(template)
    return ActionList(tuple(t for slots in SLOT_HISTOGRAM for t in by_slots[slots]))


def write(seed: int = LIST_SEED, file: Path = FILE) -> ActionList:
    """Draw the list and store it with its digest."""
    made = draw(seed)
    lines = ",\n".join(json.dumps(t) for t in made.templates)
    head = json.dumps({"seed": seed, "sha256": made.features.digest})[:-1]
    file.write_text(f'{head}, "templates": [\n{lines}\n]}}\n', encoding="utf-8")
    return made


@lru_cache(maxsize=4)
def action_list(file: Path = FILE) -> ActionList:
    """The stored list; refused if its digest does not fit its templates."""
    try:
        stored = json.loads(file.read_text("utf-8"))
        made = ActionList(tuple(tuple(Atom(*atom) for atom in t) for t in stored["templates"]))
        unknown = {str(a) for t in made.templates for a in t if a not in ATOMS}
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise DataError(Problem(str(file), f"no action list ({reason})"), "Write it again.") from None
    if unknown:
        raise DataError(
            Problem(str(file), f"unknown atoms: {', '.join(sorted(unknown))}"), "Write the list again."
        )
    if made.features.digest != stored["sha256"]:
        raise DataError(
            Problem(str(file), "the templates are not those that the stored sha256 was made from"),
            "Restore the file, or write a new list and collect dialogues again with it.",
        )
    return made
