"""Who the users are: latent taste, strictness and behaviour, and the life their profile is written from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from perslib.corpus.synthetic.draws import Dice
from perslib.corpus.synthetic.words.books import Book

#: Qualities of a reply, each between 0 and 1 and visible in its text.
QUALITIES = ("detail", "diversity", "requirement", "practicality", "format", "brevity")

# Mean and spread of the weights before they are scaled to length 1; brevity may be negative: some like long.
TASTE = {
    "detail": (0.95, 0.45),
    "diversity": (0.60, 0.40),
    "requirement": (1.00, 0.40),
    "practicality": (0.62, 0.40),
    "format": (0.32, 0.28),
    "brevity": (0.12, 0.50),
}
HOUSEHOLDS = {"alone": 3.0, "partner": 3.0, "child": 2.5, "parents": 2.0, "friends": 1.5}
LIFELONG = {  # constraints that belong to a life and come back in its tasks
    "travel": ("knees", "early", "mild", "carsick", "quiet", "museum"),
    "recipe": ("peanut", "shrimp", "egg", "milk", "mild", "light", "oven", "onepan"),
    "skill": ("noise", "home", "knees", "weekday", "screen", "project"),
}
GIFT_LIMITS = ("scent", "wool", "decor", "sweets", "useful", "personal")


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
        """The row of `truth_users`."""
        weights = {f"weight_{q}": round(w, 6) for q, w in self.weights.items()}
        rest = ("strictness", "top_shift", "noise", "complaining", "thanking", "clicking", "skimming")
        return {
            "user": self.user,
            **weights,
            **{name: round(getattr(self, name), 6) for name in (*rest, "insisting", "patience")},
            "tone": self.tone,
            "household": self.household,
            "constraints": tuple(f"{s}:{k}" for s, keys in self.limits.items() for k in keys),
        }


def _weights(dice: Dice) -> dict[str, float]:
    raw = {q: dice.normal(mean, spread) for q, (mean, spread) in TASTE.items()}
    raw = {q: w if q == "brevity" else max(0.0, w) for q, w in raw.items()}
    length = math.sqrt(math.fsum(w * w for w in raw.values()))
    return {q: w / length for q, w in raw.items()}


def _profile(life: Life, dice: Dice, book: Book) -> dict[str, Any]:
    words = book.life
    keen = sorted(QUALITIES[:5], key=lambda q: -(life.weights[q] - TASTE[q][0] / 1.8))[:2]
    traits = [dice.pick(words.TRAITS[q]) for q in keen]
    if abs(life.weights["brevity"]) > 0.25:
        traits.append(dice.pick(words.TRAITS["brevity" if life.weights["brevity"] > 0 else "length"]))
    if abs(life.strictness) > 0.5:
        traits.append(dice.pick(words.TRAITS["strict" if life.strictness > 0 else "lenient"]))
    traits.append(dice.pick(words.TRAITS["other"]))
    travel = [words.TRAVEL[k] for k in life.limits["travel"]] + dice.some(words.TRAVEL[""], 2)
    dining = [words.DINING[k] for k in life.limits["recipe"] if k in words.DINING] + dice.some(
        words.DINING[""], 2
    )
    spending = [words.SPENDING[q] for q in keen if q in words.SPENDING] + dice.some(words.SPENDING[""], 2)
    age = {
        "alone": (19, 62),
        "partner": (24, 60),
        "child": (30, 44),
        "parents": (19, 36),
        "friends": (19, 32),
    }
    young = life.job == words.OCCUPATIONS[0]
    return {
        "gender": dice.pick(["Female", "Male"]),
        "age": dice.between(19, 26) if young else dice.between(*age[life.household]),
        "occupation": life.job,
        "background": dice.pick(words.BACKGROUNDS),
        "personality": traits,
        "daily_interests": dice.some(words.INTERESTS, dice.between(2, 4)),
        "travel_habits": travel,
        "dining_preferences": dining,
        "spending_habits": spending,
        "other_aspects": list(words.OTHER[life.household]),
    }


def life(number: int, seed: int, book: Book, strictness_spread: float, noise: float) -> Life:
    """The life of user `number`; depends on seed, language and number only, not on how many users there are."""
    dice = Dice(seed, book.language, number, "life")
    weights = _weights(dice)
    jobs = book.life.OCCUPATIONS
    household = dice.weighted(HOUSEHOLDS)
    job = dice.pick(jobs[1:]) if household in ("child", "partner") else dice.pick(jobs)
    limits = {name: dice.some(keys, dice.between(1, 2)) for name, keys in LIFELONG.items()}
    recipients = {who: dice.pick(GIFT_LIMITS) for who in book.scenario("gift").RECIPIENTS}
    one = Life(
        user=f"u{number:03d}",
        weights=weights,
        strictness=dice.normal(0.0, strictness_spread),
        top_shift=dice.normal(0.0, 0.3),
        noise=noise * dice.uniform(0.75, 1.25),
        complaining=dice.uniform(0.05, 0.75),
        thanking=dice.uniform(0.05, 0.6),
        clicking=dice.uniform(0.0, 0.3),
        skimming=dice.uniform(0.05, 0.8),
        insisting=dice.uniform(0.0, 0.5),
        patience=dice.uniform(5.0, 12.0),
        tone=dice.weighted({"terse": 0.4, "polite": 0.35, "chatty": 0.25}),
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
