"""The most that any plan of guessing can reach with User 2, by dynamic programming over plans.

`patient` pays for each part of a goal what that part brings, plus 1 for every question and for the booking, less 1. So a
dialogue succeeds if questions and bookings are no more than domains. Answering before being asked changes this sum: by −1
where the answer was wanted, by +1 where it was not. A plan says when to volunteer answers in a domain: with the first
constraint that is the last one with at least this probability, how many then, and how many more with each answer. What
each plan leads to is counted over goals as they are drawn. Then the best plan for each next domain and balance follows
backwards from the end.

    ceiling(20_000)     # the balance is known exactly here, and in a dialogue it is not: no agent does better
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from perslib.patience.goals import COMBINATIONS, DOMAINS, Part, sample_part
from perslib.patience.policies import nothing_more

#: Probability that a constraint was the last; answers volunteered then, and with each answer.
PLANS = [*itertools.product((0.2, 0.35, 0.5, 0.65, 0.8), (1, 2, 3), (0, 1, 2)), *((2.0, 0, more) for more in (0, 1, 2))]
EXCESS = np.arange(-6, 16)
NEVER = 99


def ceiling(sampled: int = 4000, seed: int = 42) -> float:
    """Return the success rate of the best plans, from so many goals a domain."""
    rng = np.random.default_rng(seed)
    leads = {name: _outcomes(name, [sample_part(rng, name) for _ in range(sampled)]) for name in DOMAINS}

    @cache
    def value(before: tuple[str, ...], balance: int) -> float:
        after = {domains: weight for domains, weight in COMBINATIONS.items() if domains[: len(before)] == before}
        found = after.pop(before, 0.0) * (balance >= 0)
        total = sum(after.values()) + COMBINATIONS.get(before, 0.0)
        for name in {domains[len(before)] for domains in after}:
            weight = sum(own for domains, own in after.items() if domains[len(before)] == name)
            later = np.array([value((*before, name), balance - int(excess)) for excess in EXCESS])
            found += weight * float((leads[name] @ later).max())
        return found / total

    return value((), 0)


def _outcomes(name: str, parts: list[Part]) -> np.ndarray:
    """How often each plan ends a part with each excess: plans × excesses."""
    slots = DOMAINS[name].reqt
    asked = np.array([[part.reqt.index(s) if s in part.reqt else NEVER for s in slots] for part in parts])
    free = np.array([[s not in part.info for s in slots] for part in parts])
    least = np.array([len(part.reqt) + bool(part.book) - 1 for part in parts])
    told = [[tuple(sorted(list(part.info)[:i])) for i in range(1, len(part.info) + 1)] for part in parts]
    last = [[nothing_more(name, own) for own in each] for each in told]
    rows = []
    for threshold, first, more in PLANS:
        vain = np.array([first * sum(chance >= threshold for chance in each[:-1]) for each in last])
        dares = np.array([bool(each) and each[-1] >= threshold for each in last])
        excess, order, left = least + vain, asked.copy(), free.copy()
        excess += _volunteer(order, left, first, dares)
        while (order < NEVER).any():
            waits = order.min(axis=1) < NEVER
            at = np.flatnonzero(waits), order[waits].argmin(axis=1)
            order[at], left[at] = NEVER, False
            excess += _volunteer(order, left, more, waits)
        rows.append(np.bincount(np.clip(excess, EXCESS[0], EXCESS[-1]) - EXCESS[0], minlength=len(EXCESS)))
    return np.array(rows) / len(parts)


def _volunteer(order: np.ndarray, left: np.ndarray, number: int, who: np.ndarray) -> np.ndarray:
    """Answer so many of the slots that are left, in the table's order; return what that adds to the excess."""
    given = left & (left.cumsum(axis=1) <= number) & who[:, None]
    wanted = given & (order < NEVER)
    order[given], left[given] = NEVER, False
    change: np.ndarray = given.sum(axis=1) - 2 * wanted.sum(axis=1)
    return change
