"""Written dialogues of five systems with impatient people, whose costs and patience are known.

They have the shape of the dialogues that the paper rates: goal, text, and success. People differ in patience: budget =
κ · eq. 17 + N(0, 1.5), and one in twenty leaves for no reason of the dialogue's. Nobody rates them.

Dialogue acts are put into words in Chinese or English, with several ways to say each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perslib.errors import UnknownName
from perslib.paths import read_toml
from perslib.systems.deus.policies import Policy, exploring, patient, rule, run_task_dialogue
from perslib.systems.deus.text.dialogues import TextDialogue
from perslib.systems.deus.world.actions import Template
from perslib.systems.deus.world.goals import GOAL_NAMES, VALUES, word
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


def crowd(
    number: int = 1500, language: str = "en", seed: int = 42, kappa: float = KAPPA, noise: float = 1.5
) -> list[TextDialogue]:
    """Return `number` dialogues; the systems take turns, every dialogue has a worker of its own."""
    user = User("crowd", items=2, max_turns=25, scale=kappa, noise=noise, quits=0.008)
    return [_dialogue(i, user, language, np.random.default_rng((seed, i))) for i in range(number)]


def _dialogue(number: int, user: User, language: str, rng: np.random.Generator) -> TextDialogue:
    name, policy, mishears = SYSTEMS[number % len(SYSTEMS)]
    world = run_task_dialogue(policy, World(user, rng, mishears=mishears))
    # What is said must not change who leaves when: a generator of its own.
    wording = Wording(language, np.random.default_rng((int(rng.integers(2**31)), number)))
    values = world.goal.values
    turns = []
    for turn in world.turns:
        utterance = wording.user(turn.items, values)
        items = [item for item in turn.items if item.kind == "inform"]
        template = world.actions.templates[turn.action]
        turns.append((utterance, wording.system(template, values, items if turn.misheard else ())))
    return TextDialogue(
        id=f"crowd-{number}",
        turns=tuple(turns),
        goal=tuple(GOAL_NAMES[i] for i in np.flatnonzero(world.goal.vector)),
        status=world.status,
        reason=world.reason,
        user=f"w{number}",
        system=name,
        true_costs=tuple(float(turn.cost) for turn in world.turns),
        true_patience=world.patience,
    )
