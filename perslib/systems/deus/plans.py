"""What the best plan of guessing is expected to reach with User 2, by dynamic programming over plans.

`patient` pays for each part of a goal what that part brings, plus 1 for every question and for the booking, less 1. So a
dialogue succeeds if questions and bookings are no more than domains. Answering before being asked changes this sum: by −1
where the answer was wanted, by +1 where it was not. A plan says when to volunteer answers in a domain: with the first
constraint that is the last one with at least this probability, how many then, and how many more with each answer. What
each plan leads to is counted over goals as they are drawn. Then the best plan for each next domain and balance follows
backwards from the end. Plans are chosen on some goals and tried on others, or luck would count as skill.

    estimate_best_plan(20_000)

This is no bound on agents: it is the best of these plans, which know the balance exactly. In a dialogue it is not known; and
an agent may follow another plan.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from scipy.stats import t

from perslib.systems.deus.policies import nothing_more
from perslib.systems.deus.world.goals import COMBINATIONS, DOMAINS, GoalPart, sample_part

#: Probability that a constraint was the last; answers volunteered then, and with each answer.
PLANS = [*itertools.product((0.2, 0.35, 0.5, 0.65, 0.8), (1, 2, 3), (0, 1, 2)), *((2.0, 0, more) for more in (0, 1, 2))]
EXCESS = np.arange(-6, 16)
NEVER = 99
#: Each of so many parts of the goals is tried with plans that were chosen on the others.
FOLDS = 10


def estimate_best_plan(sampled: int = 4000, seed: int = 42) -> dict[str, float]:
    """Return the success of the best plans in percent, from so many goals a domain: success, success_low, success_high."""
    rng = np.random.default_rng(seed)
    leads = {name: _outcomes(name, [sample_part(rng, name) for _ in range(sampled)]) for name in DOMAINS}

    @cache
    def value(before: tuple[str, ...], balance: int) -> np.ndarray:
        """Return success from here on: as expected where plans are chosen, and where they are tried; a column a fold."""
        after = {domains: weight for domains, weight in COMBINATIONS.items() if domains[: len(before)] == before}
        total = sum(after.values())
        worth = np.full((2, FOLDS), after.pop(before, 0.0) * (balance >= 0), dtype=float)
        for name in dict.fromkeys(domains[len(before)] for domains in after):
            weight = sum(own for domains, own in after.items() if domains[len(before)] == name)
            later = np.stack([value((*before, name), balance - int(excess)) for excess in EXCESS])
            expected, tried = np.einsum("wfpe,ewf->wfp", leads[name], later)
            best = np.arange(FOLDS), expected.argmax(axis=1)
            worth += weight * np.stack([expected[best], tried[best]])
        return worth / total

    return estimate_mean(100 * value((), 0)[1], "success")


def estimate_mean(values: np.ndarray, name: str = "value") -> dict[str, float]:
    """Return the mean of independent values with its interval (Student's t): `name`, `name_low`, `name_high`."""
    mean, reach = values.mean(), t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return {name: float(mean), f"{name}_low": float(mean - reach), f"{name}_high": float(mean + reach)}


def _outcomes(name: str, parts: list[GoalPart]) -> np.ndarray:
    """Return how often each plan ends a part with each excess: where plans are chosen and tried × folds × plans ×
    excesses.
    """
    slots = DOMAINS[name].reqt
    asked = np.array([[part.reqt.index(s) if s in part.reqt else NEVER for s in slots] for part in parts])
    free = np.array([[s not in part.info for s in slots] for part in parts])
    least = np.array([len(part.reqt) + bool(part.book) - 1 for part in parts])
    subsets = [[tuple(sorted(list(part.info)[:i])) for i in range(1, len(part.info) + 1)] for part in parts]
    chances = np.full((len(parts), 1 + max(map(len, subsets))), -1.0)  # the last one in front
    for row, own in zip(chances, subsets):
        row[: len(own)] = [nothing_more(name, known) for known in reversed(own)]
    fold, counts = np.arange(len(parts)) % FOLDS, []
    for threshold, first, more in PLANS:
        dares, vain = chances[:, 0] >= threshold, (chances[:, 1:] >= threshold).sum(axis=1)
        excess, order, left = least + first * vain, asked.copy(), free.copy()
        excess += _volunteer(order, left, first, dares)
        while (order < NEVER).any():
            waits = order.min(axis=1) < NEVER
            at = np.flatnonzero(waits), order[waits].argmin(axis=1)
            order[at], left[at] = NEVER, False
            excess += _volunteer(order, left, more, waits)
        places = fold * len(EXCESS) + np.clip(excess, EXCESS[0], EXCESS[-1]) - EXCESS[0]
        counts.append(np.bincount(places, minlength=FOLDS * len(EXCESS)).reshape(FOLDS, -1))
    here = np.stack(counts, axis=1)
    both: np.ndarray = np.stack([here.sum(axis=0) - here, here])
    return both / both.sum(axis=-1, keepdims=True)


def _volunteer(order: np.ndarray, left: np.ndarray, number: int, who: np.ndarray) -> np.ndarray:
    """Answer so many of the slots that are left, in the table's order; return what that adds to the excess."""
    given = left & (left.cumsum(axis=1) <= number) & who[:, None]
    wanted = given & (order < NEVER)
    order[given], left[given] = NEVER, False
    change: np.ndarray = given.sum(axis=1) - 2 * wanted.sum(axis=1)
    return change
