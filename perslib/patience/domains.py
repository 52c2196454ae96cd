"""Seven domains in the manner of MultiWOZ, and a made-up table of entities for each (DEUS, section 4.1.2).

A slot is `info` where a user may constrain it, `reqt` where a user may ask for it, and `book` where a booking needs
it. Values are small whole numbers; `word` gives the text of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

WORLD_SEED = 7


@dataclass(frozen=True)
class Domain:
    """What users can say, ask and book in one domain, and how many entities its table has."""

    info: tuple[str, ...]
    reqt: tuple[str, ...]
    book: tuple[str, ...] = ()
    rows: int = 60


def _domain(info: str, reqt: str, book: str = "", rows: int = 60) -> Domain:
    return Domain(tuple(info.split()), tuple(reqt.split()), tuple(book.split()), rows)


DOMAINS = {
    "attraction": _domain("area type name", "address phone postcode fee area type"),
    "hospital": _domain("department", "address phone postcode"),
    "police": _domain("", "address phone postcode", rows=1),
    "hotel": _domain(
        "area price type stars parking internet name",
        "address phone postcode price area internet",
        "people day stay",
    ),
    "restaurant": _domain("food price area name", "address phone postcode price food", "people day time"),
    "taxi": _domain("departure destination leave_at arrive_by", "car phone", rows=1),
    "train": _domain(
        "departure destination day leave_at arrive_by",
        "duration price train_id leave_at arrive_by",
        "people",
        rows=200,
    ),
}

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = (
    *("the old mill", "the harbour", "the university", "the market hall", "the east gate", "the opera"),
    *("the airport", "the botanical garden", "the north bridge", "the main station"),
)
TIMES = tuple(f"{hour:02d}:{minute:02d}" for hour in range(8, 20, 2) for minute in (0, 45))
FOODS = ("italian", "indian", "chinese", "thai", "french", "turkish")
MORE_FOODS = ("greek", "korean", "spanish", "lebanese", "mexican", "vietnamese")
WARDS = ("cardiology", "neurology", "paediatrics", "surgery", "oncology", "radiology")
MORE_WARDS = ("urology", "dermatology", "orthopaedics", "haematology", "maternity", "emergency")
SORTS = ("museum", "park", "theatre", "gallery", "cinema", "sports hall")

#: What a slot can hold. Slots that only an answer fills (address, phone …) need no values here.
VALUES: dict[str, tuple[str, ...]] = {
    "area": ("centre", "north", "south", "east", "west"),
    "price": ("cheap", "moderate", "expensive"),
    "stars": ("one", "two", "three", "four", "five"),
    "type": SORTS,
    "food": FOODS + MORE_FOODS,
    "department": WARDS + MORE_WARDS,
    "name": tuple(
        f"{first} {last}" for first in ("Blue", "Old", "Green", "Little", "Royal") for last in SORTS
    )
    + tuple(f"{first} House" for first in (*FOODS[:5], *PLACES[:5])),
    "day": DAYS,
    "people": tuple("12345678"),
    "stay": tuple("12345"),
    "time": TIMES[:10],
    "departure": PLACES,
    "destination": PLACES,
    "leave_at": TIMES,
    "arrive_by": TIMES,
    "parking": ("yes", "no"),
    "internet": ("yes", "no"),
}


def word(slot: str, value: int) -> str:
    """The text of a slot's value."""
    return VALUES[slot][value]


@lru_cache(maxsize=4)
def entities(seed: int = WORLD_SEED) -> dict[str, dict[str, np.ndarray]]:
    """Per domain and constrainable slot, the values of all its entities: `entities()["hotel"]["area"][3]`.

    A taxi goes wherever it is told to, so its table constrains nothing.
    """
    rng = np.random.default_rng(seed)
    tables: dict[str, dict[str, np.ndarray]] = {}
    for name, domain in DOMAINS.items():
        slots = () if name == "taxi" else domain.info
        tables[name] = {slot: rng.integers(0, len(VALUES[slot]), domain.rows) for slot in slots}
    return tables
