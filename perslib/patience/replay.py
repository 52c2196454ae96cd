"""What an agent learns from: turns of past dialogues with what followed, the oldest forgotten first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perslib.patience.policies import Policy
from perslib.patience.rewards import Reward
from perslib.patience.world import World


@dataclass(frozen=True, eq=False)
class Played:
    """A dialogue as an agent sees it: states before each turn and after the last, actions, rewards."""

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray


def play(policy: Policy, world: World, reward: Reward) -> Played:
    """The dialogue to its end, rewarded turn by turn."""
    rewards = []
    while not world.over:
        rewards.append(reward(world.act(policy(world.seen, world.rng)), world))
    states = np.stack([*(turn.state for turn in world.turns), world.seen.vector])
    return Played(states, np.array([turn.action for turn in world.turns]), np.array(rewards))


class Replay:
    """A ring of (state, action, return over n turns, discount of what comes after, state then)."""

    def __init__(self, size: int, features: int, discount: float, ahead: int = 1):
        self.size, self.discount, self.ahead = size, discount, ahead
        self.states = np.zeros((size, features), dtype=np.uint8)  # all features are 0 or 1
        self.later = np.zeros_like(self.states)
        self.actions = np.zeros(size, dtype=np.int64)
        self.returns = np.zeros(size, dtype=np.float32)
        self.discounts = np.zeros(size, dtype=np.float32)
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.size)

    def add(self, played: Played) -> None:
        """All turns of a dialogue; nothing is expected beyond its end."""
        turns, n, weights = len(played.actions), self.ahead, self.discount ** np.arange(self.ahead)
        for t in range(turns):
            coming = played.rewards[t : t + n]
            at = self.added % self.size
            self.states[at], self.later[at] = played.states[t], played.states[min(t + n, turns)]
            self.actions[at] = played.actions[t]
            self.returns[at] = coming @ weights[: len(coming)]
            self.discounts[at] = self.discount**n if t + n < turns else 0.0
            self.added += 1

    def sample(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, ...]:
        """Turns at random: states, actions, returns, discounts, later states."""
        at = rng.integers(len(self), size=number)
        states, later = self.states[at].astype(np.float32), self.later[at].astype(np.float32)
        return states, self.actions[at], self.returns[at], self.discounts[at], later
