"""Dialogues of a made-up user whose costs and patience are known: every turn costs 1 + the atoms of its action.

The goal has items of two domains, each turn may finish one, and the user leaves when the patience (one a goal item) is
overspent or nothing is left to do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perslib.systems.deus import Actions, Dialogue, Dialogues, User, user2

GOAL = tuple(f"{d}.{kind}.{slot}" for d in ("hotel", "train") for kind in ("info", "reqt") for slot in "abcde")
ATOMS = tuple(f"inform:{i}" for i in range(12))


def action_list(n: int = 40, seed: int = 1) -> Actions:
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, len(ATOMS)), np.float32)
    for row in rows:
        row[rng.choice(len(ATOMS), size=rng.choice(5, p=[0.2, 0.4, 0.2, 0.15, 0.05]), replace=False)] = 1
    return Actions(tuple(f"a{i}" for i in range(n)), ATOMS, rows)


def made(n: int = 300, seed: int = 7, *, limit: int = 12, scale: float = 1.6, extra: float = 0.0) -> Dialogues:
    """n dialogues; patience is scale · items + extra · trait, where the trait (0 or 1) is the user's profile."""
    rng, actions = np.random.default_rng(seed), action_list()
    found = []
    for number in range(n):
        goal = np.zeros(len(GOAL), np.float32)
        goal[rng.choice(len(GOAL), size=rng.integers(3, 9), replace=False)] = 1
        trait = float(rng.integers(2))
        patience = scale * float(goal.sum()) + extra * trait
        rest, budget = goal.copy(), patience
        states, taken, rests, costs = [], [], [], []
        while True:
            states.append(np.append((rng.random(8) < 0.3), rest.any()).astype(np.float32))
            taken.append(int(rng.integers(len(actions))))
            costs.append(1.0 + float(actions.multihot[taken[-1]].sum()))
            budget -= costs[-1]
            for item in rng.permutation(np.flatnonzero(rest))[: rng.integers(0, 4)]:
                rest[item] = 0
            rests.append(rest.copy())
            status, reason = (-1, "budget") if budget < 0 else (1, "success") if not rest.any() else (0, "maxturn")
            if status or len(taken) == limit:
                break
        found.append(
            Dialogue(
                goal, np.array(states), np.array(taken), status, reason, np.array(rests), f"u{number % 20}",
                f"d{number}", np.array(costs, np.float32), patience, np.array([trait], np.float32),
            )
        )  # fmt: skip
    names = (*(f"said:{i}" for i in range(8)), "open")
    return Dialogues(tuple(found), actions, GOAL, names, ("patient",))


EFFECTS = {"hurried": -0.4, "expert": -0.2, "chatty": 0.3, "older": 0.5}


def people(number: int, seed: int = 42) -> dict[User, tuple[str, ...]]:
    """Users who differ in patience by their traits: (1.4 + Σ effect · trait) · eq. 17, so profiles explain what goals cannot."""
    rng = np.random.default_rng(seed)
    found = {}
    for i, row in enumerate(rng.random((number, len(EFFECTS))) < 0.5):
        traits = tuple(trait for trait, has in zip(EFFECTS, row) if has)
        scale = 1.4 + sum(EFFECTS[trait] for trait in traits)
        found[replace(user2(), kind=f"user2:{i}", scale=scale)] = traits
    return found
