"""Systems written by hand: references for what an agent learns, and ways to collect dialogues.

A policy is called with what the system sees and a generator, and returns an action: `policy(seen, rng)`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perslib.patience.actions import REQMORE, ActionList, Atom, action_list
from perslib.patience.domains import DOMAINS
from perslib.patience.features import Seen

Policy = Callable[[Seen, np.random.Generator], int]


def at_random(seen: Seen, rng: np.random.Generator) -> int:
    """Any action, equally often."""
    return int(rng.integers(len(action_list().templates)))


def exploring(policy: Policy, epsilon: float, actions: ActionList | None = None) -> Policy:
    """The policy with a share `epsilon` of random actions."""
    number = len((actions or action_list()).templates)

    def explore(seen: Seen, rng: np.random.Generator) -> int:
        return int(rng.integers(number)) if rng.random() < epsilon else policy(seen, rng)

    return explore


def _untold(seen: Seen, slots: tuple[str, ...]) -> list[str]:
    place = seen.active
    return [s for s in slots if (place, s) not in seen.told and (place, s) not in seen.any]


def _booking(seen: Seen) -> bool:
    """Whether every detail of a booking is known and it has not been made."""
    name, details = seen.active, DOMAINS[seen.active].book
    return bool(details) and name not in seen.booked and all((name, s) in seen.told for s in details)


def rule(seen: Seen, rng: np.random.Generator) -> int:
    """Answers everything that is open, books when asked, else asks for what it does not know: good for User 1."""
    name, index = seen.active, action_list().index
    domain = DOMAINS[name]
    answers = [Atom(name, "inform", s) for n, s in seen.open if n == name]
    if _booking(seen):
        answers.append(Atom(name, "book", "ref"))
    if answers:
        return index(*answers)
    details = _untold(seen, domain.book)
    if details and any((name, s) in seen.told for s in domain.book):
        return index(Atom(name, "request", details[0]))
    asked = [s for s in _untold(seen, domain.info) if s != "name"]
    if seen.matches(name) > 1 and asked and rng.random() < 0.5:
        return index(Atom(name, "request", asked[int(rng.integers(len(asked)))]))
    return index(REQMORE)


def patient(seen: Seen, rng: np.random.Generator) -> int:
    """The cheapest way to hear a user out: `reqmore` while constraints come, one answer a question, then book.

    A booking is made with its last detail, before the user asks for it.
    """
    name, index = seen.active, action_list().index
    answers = [Atom(name, "inform", s) for n, s in seen.open if n == name]
    if _booking(seen):
        return index(Atom(name, "book", "ref"))
    return index(answers[0]) if answers else index(REQMORE)
