"""What everything in a world is drawn from: dice, the texts of a language, and who the users are.

Draws are the same bytes on every Python and every machine. All is built from `random.Random(text).random()`, whose stream
is guaranteed from version to version, and from additions and multiplications, which IEEE 754 fixes; no libm function
takes part in a draw, and floats are never added by `sum`, whose rounding changed in Python 3.12 (`math.fsum` is exact
everywhere).

Texts come from `words/<language>/*.toml`: `book("zh").talk.DEMANDS`, `book("en").scenario("travel").FOCUS`. Every
scenario's file has the same names in both languages: its things (destinations, gifts, dishes, skills), `TASKS`,
`OPENINGS`, `LIMITS` (constraints: as said in the task, as asked for, honoured, broken) and `FOCUS` (what a reply can be
about: how users ask for it, options, concrete facts, steps, usable and vague advice). Slots in braces are filled by
`perslib.worlds.chats.slots`.

A user has latent taste, strictness and behaviour, and the life that the profile is written from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from perslib.errors import UnknownName
from perslib.paths import read_toml

T = TypeVar("T")
_FINE = 1 << 32


class Dice:
    """A stream of draws named by its key: `Dice(seed, user, "life")` never disturbs another stream."""

    def __init__(self, *key: object):
        self.random = random.Random("/".join(str(part) for part in key)).random

    def chance(self, probability: float) -> bool:
        """Return true with the given probability."""
        return self.random() < probability

    def between(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """Return a real number from low to high."""
        return low + (high - low) * self.random()

    def normal(self, mean: float = 0.0, sd: float = 1.0) -> float:
        """Return approximately Gaussian: twelve uniform draws added up (Irwin–Hall), in whole numbers to be exact."""
        total = sum(int(self.random() * _FINE) for _ in range(12))
        return mean + sd * (total / _FINE - 6.0)

    def pick(self, things: Sequence[T]) -> T:
        """Return one of the things, each as likely."""
        return things[int(self.random() * len(things))]

    def some(self, things: Sequence[T], n: int) -> list[T]:
        """Return n different things (or all there are), in random order."""
        pool = list(things)
        n = min(n, len(pool))
        for i in range(n):
            j = self.between(i, len(pool) - 1)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]

    def choose_weighted(self, weights: Mapping[T, float]) -> T:
        """Return one key, with probability proportional to its weight."""
        left = self.random() * math.fsum(weights.values())
        for thing, weight in weights.items():
            left -= weight
            if left < 0:
                return thing
        return thing


SCENARIOS = ("travel", "gift", "recipe", "skill")
LANGUAGES = ("en", "zh")


class Book:
    """All texts of one language."""

    def __init__(self, language: str):
        self.language = language
        self.talk = words(language, "talk")
        self.marks: dict[str, str] = self.talk.MARKS
        self.space = self.marks["space"]
        self.life = words(language, "life")
        self.palset = words(language, "palset")
        self._scenarios = {name: words(language, name) for name in SCENARIOS}

    def scenario(self, name: str) -> SimpleNamespace:
        """Return the texts of one scenario."""
        return self._scenarios[name]

    def capital(self, text: str) -> str:
        """Return the text as the beginning of a sentence."""
        return text[:1].upper() + text[1:]

    def finish(self, text: str) -> str:
        """Return the text as a whole sentence, with its full stop if it lacks one."""
        text = text.strip()
        if not text:
            return ""
        if text[-1] in ".!?:”\u3002\uff01\uff1f\uff1a":
            return self.capital(text)
        return self.capital(text) + self.marks["stop"]

    def join_sentences(self, sentences: list[str]) -> str:
        """Return sentences one after another."""
        return self.space.join(self.finish(s) for s in sentences if s.strip())

    def list_things(self, things: list[str], marks: Mapping[str, str] | None = None) -> str:
        """Return things in a row: `a, b and c`; with other `marks` than a comma and an "and", with those."""
        marks = marks or self.marks
        rest = marks["between"].join(things[:-1])
        return rest + marks["and"] + things[-1] if rest else things[-1]


@cache
def words(language: str, name: str) -> SimpleNamespace:
    """Return the tables of one file of words."""
    if language not in LANGUAGES:
        raise UnknownName("language of the synthetic world", language, LANGUAGES)
    return SimpleNamespace(**read_toml(__file__, f"words/{language}/{name}.toml"))


@cache
def book(language: str) -> Book:
    """Return the texts of a language, loaded once."""
    return Book(language)


#: What the world is made by: tastes, scores, habits, lengths (`model.toml`).
MODEL = read_toml(__file__, "model.toml")
#: Qualities of a reply, each between 0 and 1 and visible in its text.
QUALITIES = tuple(MODEL["qualities"])
_TASTE = {q: own["taste"] for q, own in MODEL["qualities"].items()}
#: The spread of the users' personal thresholds, and of the noise of their ratings.
STRICTNESS_SPREAD, NOISE = MODEL["scores"]["strictness_spread"], MODEL["scores"]["noise"]


@dataclass
class Life:
    """One user: the latents (known only to the world) and the life that everything visible comes from."""

    user: str
    weights: dict[str, float]
    strictness: float
    top_shift: float
    noise: float
    complaining: float
    thanking: float
    clicking: float
    skimming: float
    insisting: float
    patience: float
    tone: str
    household: str
    origin: str
    job: str
    limits: dict[str, list[str]]
    recipients: dict[str, str]
    first_month: int
    friends: list[str]
    profile: dict[str, Any] = field(default_factory=dict)

    def latents(self) -> dict[str, Any]:
        """Return the row of `truth_users`."""
        weights = {f"weight_{q}": round(w, 6) for q, w in self.weights.items()}
        numbers = ("strictness", "top_shift", "noise", *MODEL["habits"])
        lifelong = tuple(f"{s}:{k}" for s, keys in self.limits.items() for k in keys)
        return {
            **{name: getattr(self, name) for name in ("user", "tone", "household")},
            **{name: round(getattr(self, name), 6) for name in numbers},
            **weights,
            "constraints": lifelong,
        }


def _weights(dice: Dice) -> dict[str, float]:
    raw = {q: dice.normal(mean, spread) for q, (mean, spread) in _TASTE.items()}
    raw = {q: w if q in ("brevity", "format") else max(0.0, w) for q, w in raw.items()}
    length = math.sqrt(math.fsum(w * w for w in raw.values()))
    return {q: w / length for q, w in raw.items()}


def _habits(dice: Dice) -> dict[str, Any]:
    return {name: dice.uniform(low, high) for name, (low, high) in MODEL["habits"].items()}


def _profile(life: Life, dice: Dice, book: Book) -> dict[str, Any]:
    words = book.life
    keen = sorted(QUALITIES[:5], key=lambda q: -(life.weights[q] - _TASTE[q][0] / 1.8))[:2]
    traits = [dice.pick(words.TRAITS[q]) for q in keen]
    brevity, strict = life.weights["brevity"], life.strictness
    if abs(brevity) > 0.25:
        traits.append(dice.pick(words.TRAITS["brevity" if brevity > 0 else "length"]))
    if abs(strict) > 0.5:
        traits.append(dice.pick(words.TRAITS["strict" if strict > 0 else "lenient"]))
    traits.append(dice.pick(words.TRAITS["other"]))

    def habits(bank: dict[str, Any], keys: Sequence[str]) -> list[str]:
        """Return what follows from these keys, and two of what may be said of anybody."""
        return [bank[key] for key in keys if key in bank] + dice.some(bank[""], 2)

    travel = habits(words.TRAVEL, life.limits["travel"])
    dining = habits(words.DINING, life.limits["recipe"])
    spending = habits(words.SPENDING, keen)
    young = life.job == words.OCCUPATIONS[0]
    return {
        "gender": dice.pick(["Female", "Male"]),
        "age": dice.between(19, 26) if young else dice.between(*MODEL["households"][life.household]["ages"]),
        "occupation": life.job,
        "background": dice.pick(words.BACKGROUNDS),
        "personality": traits,
        "daily_interests": dice.some(words.INTERESTS, dice.between(2, 4)),
        "travel_habits": travel,
        "dining_preferences": dining,
        "spending_habits": spending,
        "other_aspects": list(words.OTHER[life.household]),
    }


def life(number: int, seed: int, book: Book) -> Life:
    """Return the life of user `number`; depends on seed, language and number only, not on how many users there are."""
    dice = Dice(seed, book.language, number, "life")
    weights = _weights(dice)
    jobs = book.life.OCCUPATIONS
    household = dice.choose_weighted({name: own["weight"] for name, own in MODEL["households"].items()})
    job = dice.pick(jobs[1:]) if household in ("child", "partner") else dice.pick(jobs)
    limits = {name: dice.some(keys, dice.between(1, 2)) for name, keys in MODEL["lifelong"].items()}
    recipients = {who: dice.pick(MODEL["recipients"]["limits"]) for who in book.scenario("gift").RECIPIENTS}
    one = Life(
        user=f"u{number:03d}",
        weights=weights,
        strictness=dice.normal(0.0, STRICTNESS_SPREAD),
        top_shift=dice.normal(0.0, 0.3),
        noise=NOISE * dice.uniform(0.75, 1.25),
        **_habits(dice),
        tone=dice.choose_weighted(MODEL["tones"]),
        household=household,
        origin=dice.pick(book.scenario("travel").ORIGINS),
        job=job,
        limits=limits,
        recipients=recipients,
        first_month=dice.between(3, 6),
        friends=dice.some(book.life.PEOPLE, 3),
    )
    one.profile = _profile(one, dice, book)
    return one
