"""Dialogues of a policy with a user, the same ones for the same seed.

    collect(exploring(rule, 0.25), user2(), 3000, seed=1)

Every dialogue has a generator of its own, made of the seed and its number, so that the first thousand of three
thousand dialogues are the thousand that one would get alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perslib.patience.actions import action_list
from perslib.patience.dialogues import Dialogue, Dialogues
from perslib.patience.features import STATE_NAMES
from perslib.patience.goals import GOAL_NAMES
from perslib.patience.policies import Policy
from perslib.patience.users import User, profile_names
from perslib.patience.world import World


def talk(policy: Policy, world: World) -> World:
    """The dialogue to its end."""
    while not world.over:
        world.act(policy(world.seen, world.rng))
    return world


def collect(policy: Policy, user: User | Sequence[User], number: int, seed: int = 42) -> Dialogues:
    """`number` dialogues; with several users they take turns."""
    users = [user] if isinstance(user, User) else list(user)
    kept: list[Dialogue] = []
    for i in range(number):
        world = World(users[i % len(users)], np.random.default_rng((seed, i)))
        kept.append(talk(policy, world).dialogue(f"{seed}-{i}"))
    return Dialogues(tuple(kept), action_list().features, GOAL_NAMES, STATE_NAMES, profile_names(users))
