"""Dialogue acts put into words, in Chinese or English, with several ways to say each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from perslib.errors import UnknownName
from perslib.patience.actions import Template
from perslib.patience.agenda import Item
from perslib.patience.domains import VALUES, word
from perslib.patience.goals import Goal

LANGUAGES = ("en", "zh")
Values = Mapping[tuple[str, str], int]


@lru_cache
def _bank(language: str) -> dict[str, Any]:
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    bank: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))[language]
    return bank


def values_of(goal: Goal) -> Values:
    """What a goal's user says of each slot, by domain and slot."""
    return {(p.domain, slot): v for p in goal.parts for slot, v in (*p.info.items(), *p.book.items())}


class Wording:
    """How one speaker of a language says things; draws from `rng`."""

    def __init__(self, language: str, rng: np.random.Generator):
        self.bank, self.rng = _bank(language), rng
        self._met: set[str] = set()

    def user(self, items: Sequence[Item], values: Values) -> str:
        """A user turn; a domain that comes up for the first time is announced."""
        said = []
        for item in items:
            if item.domain and item.domain not in self._met:
                self._met.add(item.domain)
                said.append(self._say("user", "begin", item.domain))
            value = values.get((item.domain, item.slot))
            said.append(self._say("user", item.kind, item.domain, item.slot, value))
        return self._joined(said)

    def leaving(self) -> str:
        """What somebody says who has had enough."""
        return self._say("user", "leave")

    def system(self, template: Template, values: Values, misheard: Sequence[Item] = ()) -> str:
        """A system turn; what was misheard is repeated with a wrong value first."""
        said = []
        for item in misheard[:1]:
            right = values.get((item.domain, item.slot))
            others = [v for v in range(len(VALUES.get(item.slot, ()))) if v != right]
            if others:
                wrong = int(self.rng.choice(others))
                said.append(self._say("system", "heard", item.domain, item.slot, wrong))
        for atom in template:
            value = values.get((atom.domain, atom.slot))
            said.append(self._say("system", atom.act, atom.domain, atom.slot, value))
        return self._joined(said)

    def _say(self, who: str, act: str, domain: str = "", slot: str = "", value: int | None = None) -> str:
        ways = self.bank[who][act]
        name = {
            key: self.bank[f"{key}s"].get(v, v.replace("_", " "))
            for key, v in (("domain", domain), ("slot", slot))
        }
        name["a_domain"] = f"{'an' if name['domain'][:1] in 'aeiou' else 'a'} {name['domain']}"
        text: str = ways[int(self.rng.integers(len(ways)))]
        return text.format(**name, value=self._value(slot, value)) if "{" in text else text

    def _value(self, slot: str, value: int | None) -> str:
        if slot not in VALUES:
            return "".join(self.rng.choice(list("ABCDEFGH23456789"), 6))
        said = word(slot, int(self.rng.integers(len(VALUES[slot]))) if value is None else value)
        known: dict[str, str] = self.bank.get("values", {})
        if said in known or not known:
            return known.get(said, said)
        first, _, rest = said.partition(" ")  # names are made of two words
        return known.get(first, first) + known.get(rest, rest)

    def _joined(self, said: Sequence[str]) -> str:
        space: str = self.bank["space"]
        return space.join(said)
