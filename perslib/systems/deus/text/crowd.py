"""A simulated crowd: written dialogues of five systems with impatient people, who rate the whole afterwards.

The dialogues of the eighth Dialog System Technology Challenge that the paper rates are not public. These have their
shape: goal, text, success, and two ratings from 1 to 5. People differ in patience: budget = κ · eq. 17 + N(0, 1.5),
and one in twenty leaves for no reason of the dialogue's. Ratings are made of what happened,

    understanding   = 4.5 − 4 · (share of user turns misheard) + noise
    appropriateness = 3 + 1.0 · success − 0.8 · failure − 0.45 · (mean cost − 2.4) + noise,

rounded into 1 … 5. Success is part of the second by construction, so a predictor that only knows who succeeded does
well; anything learned has to be compared with that.

Dialogue acts are put into words in Chinese or English, with several ways to say each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from perslib.errors import UnknownName
from perslib.paths import read_toml
from perslib.systems.deus.policies import Policy, exploring, patient, rule, run_task_dialogue
from perslib.systems.deus.text.dialogues import TextDialogue
from perslib.systems.deus.world.actions import Template
from perslib.systems.deus.world.goals import GOAL_NAMES, VALUES, word
from perslib.systems.deus.world.records import FAILURE, SUCCESS
from perslib.systems.deus.world.users import Item, User
from perslib.systems.deus.world.world import World

LANGUAGES = ("en", "zh")
Values = Mapping[tuple[str, str], int]


class Wording:
    """How one speaker of a language says things; draws from `rng`."""

    def __init__(self, language: str, rng: np.random.Generator):
        if language not in LANGUAGES:
            raise UnknownName("language", language, LANGUAGES)
        self.bank: dict[str, Any] = read_toml(__file__, "words.toml")[language]
        self.rng = rng
        self._met: set[str] = set()

    def user(self, items: Sequence[Item], values: Values) -> str:
        """Return a user turn; a domain that comes up for the first time is announced."""
        phrases = []
        for item in items:
            if item.domain and item.domain not in self._met:
                self._met.add(item.domain)
                phrases.append(self._say("user", "begin", item.domain))
            value = values.get((item.domain, item.slot))
            phrases.append(self._say("user", item.kind, item.domain, item.slot, value))
        return str(self.bank["space"]).join(phrases)

    def leaving(self) -> str:
        """Return what somebody says who has had enough."""
        return self._say("user", "leave")

    def system(self, template: Template, values: Values, misheard: Sequence[Item] = ()) -> str:
        """Return a system turn; what was misheard is repeated with a wrong value first."""
        phrases = []
        for item in misheard[:1]:
            right = values.get((item.domain, item.slot))
            others = [v for v in range(len(VALUES.get(item.slot, ()))) if v != right]
            if others:
                wrong = int(self.rng.choice(others))
                phrases.append(self._say("system", "heard", item.domain, item.slot, wrong))
        for atom in template:
            value = values.get((atom.domain, atom.slot))
            phrases.append(self._say("system", atom.act, atom.domain, atom.slot, value))
        return str(self.bank["space"]).join(phrases)

    def _say(self, who: str, act: str, domain: str = "", slot: str = "", value: int | None = None) -> str:
        ways = self.bank[who][act]
        known = {"domain": domain, "slot": slot}
        name = {key: self.bank[f"{key}s"].get(v, v.replace("_", " ")) for key, v in known.items()}
        name["a_domain"] = f"{'an' if name['domain'][:1] in 'aeiou' else 'a'} {name['domain']}"
        text: str = ways[int(self.rng.integers(len(ways)))]
        return text.format(**name, value=self._value(slot, value)) if "{" in text else text

    def _value(self, slot: str, value: int | None) -> str:
        if slot not in VALUES:
            return "".join(self.rng.choice(list("ABCDEFGH23456789"), 6))
        text = word(slot, int(self.rng.integers(len(VALUES[slot]))) if value is None else value)
        known: dict[str, str] = self.bank.get("values", {})
        if text in known or not known:
            return known.get(text, text)
        first, _, rest = text.partition(" ")  # names are made of two words
        return known.get(first, first) + known.get(rest, rest)


#: About six in ten succeed.
KAPPA = 1.2
#: Five systems, and how often each mishears a slot: (name, policy, chance).
SYSTEMS: tuple[tuple[str, Policy, float], ...] = (
    ("A", patient, 0.0),
    ("B", exploring(patient, 0.15), 0.05),
    ("C", rule, 0.1),
    ("D", exploring(rule, 0.2), 0.15),
    ("E", exploring(rule, 0.35), 0.25),
)
SPREAD = 0.7


def crowd(
    number: int = 1500, language: str = "en", seed: int = 42, kappa: float = KAPPA, noise: float = 1.5
) -> list[TextDialogue]:
    """Return `number` rated dialogues; the systems take turns, every dialogue has a worker of its own."""
    user = User("crowd", items=2, max_turns=25, scale=kappa, noise=noise, quits=0.008)
    return [_dialogue(i, user, language, np.random.default_rng((seed, i))) for i in range(number)]


def _dialogue(number: int, user: User, language: str, rng: np.random.Generator) -> TextDialogue:
    name, policy, mishears = SYSTEMS[number % len(SYSTEMS)]
    world = run_task_dialogue(policy, World(user, rng, mishears=mishears))
    # What is said and how it is rated must not change who leaves when: a generator of its own.
    words = np.random.default_rng((int(rng.integers(2**31)), number))
    wording = Wording(language, words)
    values = world.goal.values
    turns = []
    for turn in world.turns:
        utterance = wording.user(turn.items, values)
        items = [item for item in turn.items if item.kind == "inform"]
        template = world.actions.templates[turn.action]
        turns.append((utterance, wording.system(template, values, items if turn.misheard else ())))
    costs = np.array([turn.cost for turn in world.turns], dtype=float)
    return TextDialogue(
        id=f"crowd-{number}",
        turns=tuple(turns),
        goal=tuple(GOAL_NAMES[i] for i in np.flatnonzero(world.goal.vector)),
        status=world.status,
        ratings=_ratings(world, costs, lambda: SPREAD * words.standard_normal()),
        reason=world.reason,
        user=f"w{number}",
        system=name,
        true_costs=tuple(costs),
        true_patience=world.patience,
    )


def _ratings(world: World, costs: np.ndarray, noise: Callable[[], float]) -> dict[str, float]:
    misheard = float(np.mean([turn.misheard for turn in world.turns]))
    ended = 1.0 * (world.status == SUCCESS) - 0.8 * (world.status == FAILURE)
    scores = {
        "understanding": 4.5 - 4 * misheard + noise(),
        "appropriateness": 3 + ended - 0.45 * (float(costs.mean()) - 2.4) + noise(),
    }
    return {name: float(np.clip(round(score), 1, 5)) for name, score in scores.items()}


def parts(texts: list[TextDialogue]) -> tuple[list[TextDialogue], list[TextDialogue], list[TextDialogue]]:
    """Return training, validation and test as in the paper, 8 : 1 : 1 in order (1,200, 150 and 150 of 1,500)."""
    first, second = round(0.8 * len(texts)), round(0.9 * len(texts))
    return texts[:first], texts[first:second], texts[second:]
