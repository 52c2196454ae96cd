"""What a user wants: an ordered list of domains with constraints, questions and bookings.

There are seven domains in the manner of MultiWOZ, with a made-up table of entities for each (DEUS, section 4.1.2).
A slot is `info` where a user may constrain it, `reqt` where a user may ask for it, and `book` where a booking needs
it. Values are small whole numbers; `word` gives the text of one.

Patience grows with the goal: h(goal) = slot_number(goal) + domain_number(goal), DEUS eq. 17. A goal's vector has a bit
for every (domain, kind, slot) and one for every domain, so that eq. 17 is the sum of the vector; what is unfinished and
what is done are vectors of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from perslib.paths import read_toml

WORLD_SEED = 7


@dataclass(frozen=True)
class Domain:
    """What users can say, ask and book in one domain, and how many entities its table has."""

    info: tuple[str, ...]
    reqt: tuple[str, ...]
    book: tuple[str, ...]
    rows: int


_DATA = read_toml(__file__, "goals.toml")
DOMAINS = {
    name: Domain(tuple(t["info"]), tuple(t["reqt"]), tuple(t.get("book", ())), t.get("rows", 60))
    for name, t in _DATA["domains"].items()
}
#: What a slot can hold. Slots that only an answer fills (address, phone …) need no values here.
VALUES: dict[str, tuple[str, ...]] = {slot: tuple(values) for slot, values in _DATA["values"].items()}


def word(slot: str, value: int) -> str:
    """Return the text of a slot's value."""
    return VALUES[slot][value]


@lru_cache(maxsize=4)
def entities(seed: int = WORLD_SEED) -> dict[str, dict[str, np.ndarray]]:
    """Return per domain and constrainable slot, the values of all its entities: `entities()["hotel"]["area"][3]`.

    A taxi goes wherever it is told to, so its table constrains nothing.
    """
    rng = np.random.default_rng(seed)
    tables: dict[str, dict[str, np.ndarray]] = {}
    for name, domain in DOMAINS.items():
        slots = () if name == "taxi" else domain.info
        tables[name] = {slot: rng.integers(0, len(VALUES[slot]), domain.rows) for slot in slots}
    return tables


GOAL_NAMES = tuple(
    f"{name}.{kind}.{slot}"
    for name, domain in DOMAINS.items()
    for kind in ("info", "reqt", "book")
    for slot in getattr(domain, kind)
) + tuple(DOMAINS)
GOAL_INDEX = {name: i for i, name in enumerate(GOAL_NAMES)}

#: How often each combination of domains is wanted.
COMBINATIONS: dict[tuple[str, ...], float] = {tuple(k.split()): v for k, v in _DATA["combinations"].items()}
WEIGHTS = np.cumsum(list(COMBINATIONS.values())) / sum(COMBINATIONS.values())

INFO, NAMED, REQUESTED, BOOKED = 0.7, 0.1, {"taxi": 0.7}, 0.4
REQUESTED_ELSEWHERE = 0.25


@dataclass(frozen=True)
class GoalPart:
    """What is wanted in one domain: constraints, questions in the order they will be asked, booking details."""

    domain: str
    info: dict[str, int]
    reqt: tuple[str, ...]
    book: dict[str, int]

    @cached_property
    def items(self) -> tuple[int, ...]:
        """Positions in the goal vector, the domain's own bit last."""
        named = [f"{self.domain}.{kind}.{slot}" for kind in ("info", "reqt", "book") for slot in getattr(self, kind)]
        return tuple(GOAL_INDEX[name] for name in (*named, self.domain))


@dataclass(frozen=True)
class Goal:
    """Parts in the order in which the user takes them."""

    parts: tuple[GoalPart, ...]

    @cached_property
    def items(self) -> tuple[int, ...]:
        """Positions in the goal vector, of all parts."""
        return tuple(i for part in self.parts for i in part.items)

    @cached_property
    def vector(self) -> np.ndarray:
        """A bit for every slot of every kind, and one for every domain."""
        return vector(self.items)

    @cached_property
    def values(self) -> dict[tuple[str, str], int]:
        """What its user says of each slot, by domain and slot."""
        return {(p.domain, slot): v for p in self.parts for slot, v in (*p.info.items(), *p.book.items())}

    @property
    def patience(self) -> int:
        """h(goal) = slot_number + domain_number (eq. 17)."""
        return len(self.items)


def vector(items: Iterable[int]) -> np.ndarray:
    """Return the goal vector with these bits set."""
    bits = np.zeros(len(GOAL_NAMES), dtype=np.float32)
    bits[list(items)] = 1
    return bits


def _choose_slots(rng: np.random.Generator, slots: tuple[str, ...], share: float) -> list[str]:
    draws = rng.random(len(slots))
    return [slot for slot, draw in zip(slots, draws, strict=True) if draw < share]


def _shuffle_slots(rng: np.random.Generator, slots: list[str]) -> list[str]:
    return [slots[i] for i in rng.permutation(len(slots))]


def _constraints(rng: np.random.Generator, name: str) -> dict[str, int]:
    """Return some attributes of one entity, so that something always matches; a name needs no others."""
    slots = DOMAINS[name].info
    table = entities()[name]
    row = int(rng.integers(DOMAINS[name].rows))
    if "name" in slots and rng.random() < NAMED:
        chosen = ["name"]
    else:
        open_slots = tuple(s for s in slots if s != "name")
        chosen = _choose_slots(rng, open_slots, INFO)
        if not chosen and open_slots:
            chosen = [open_slots[int(rng.integers(len(open_slots)))]]
    if "leave_at" in chosen and "arrive_by" in chosen:
        chosen.remove("leave_at" if rng.random() < 0.5 else "arrive_by")
    return {
        slot: int(table[slot][row]) if slot in table else int(rng.integers(len(VALUES[slot])))
        for slot in _shuffle_slots(rng, chosen)
    }


def sample_part(rng: np.random.Generator, name: str) -> GoalPart:
    """Return a wish in this domain at random."""
    domain, info = DOMAINS[name], _constraints(rng, name)
    askable = tuple(s for s in domain.reqt if s not in info)
    asked = _choose_slots(rng, askable, REQUESTED.get(name, REQUESTED_ELSEWHERE))
    booking = bool(domain.book) and rng.random() < BOOKED
    if not asked and not booking:
        asked = [askable[int(rng.integers(len(askable)))]]
    book = {slot: int(rng.integers(len(VALUES[slot]))) for slot in domain.book} if booking else {}
    return GoalPart(name, info, tuple(_shuffle_slots(rng, asked)), book)


def sample_goal(rng: np.random.Generator) -> Goal:
    """Return a goal at random: about 40 % have one domain, 45 % two, 15 % three."""
    combination = list(COMBINATIONS)[int(np.searchsorted(WEIGHTS, rng.random(), side="right"))]
    return Goal(tuple(sample_part(rng, name) for name in combination))
