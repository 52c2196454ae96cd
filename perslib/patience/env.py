"""The world behind the gymnasium API, for agents from elsewhere.

    env = DialogueEnv(user2(), cutoff=False)
    state, info = env.reset(seed=1)
    state, reward, terminated, truncated, info = env.step(env.action_space.sample())

`info` holds what the user knows and the agent must not; states hold none of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perslib.errors import PerslibError
from perslib.patience.actions import action_list
from perslib.patience.agents import Reward, task_reward, true_cost
from perslib.patience.users import User, user2
from perslib.patience.world import STATE_NAMES, World

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as missing:
    raise PerslibError(
        "The environment needs gymnasium, which is not installed. "
        'Install it with `pip install "perslib[patience]"`; '
        "without it, `perslib.patience.World` plays the same dialogues."
    ) from missing


class DialogueEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One episode is one dialogue; `cutoff=False` keeps impatient users until success or the limit on turns."""

    def __init__(self, user: User | None = None, reward: Reward | None = None, cutoff: bool = True):
        user = user or user2()
        self.reward = reward or (true_cost if user.budget else task_reward)
        self.user = user if cutoff else user.without_exits()
        self.action_space = spaces.Discrete(len(action_list().templates))
        self.observation_space = spaces.Box(0, 1, (len(STATE_NAMES),), np.float32)
        self.world: World | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new goal and user; all randomness comes from the seed."""
        super().reset(seed=seed)
        world = self.world = World(self.user, self.np_random, (options or {}).get("goal"))
        return world.seen.vector, {"budget": world.patience, "goal": world.goal.vector}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """The system acts; terminated by success or impatience, truncated by the limit on turns."""
        if self.world is None:
            raise PerslibError("Call reset() before step().")
        world = self.world
        turn = world.act(int(action))
        truncated = world.reason == "maxturn"
        terminated = world.over and not truncated
        info = {
            "true_reward": -float(turn.cost),
            "slot_number": turn.cost - 1,
            "spent": world.spent,
            "budget": turn.left,
            "outlook": turn.outlook,
            "unfinished": turn.rest,
            "status": world.status,
            "reason": world.reason,
        }
        return world.seen.vector, self.reward(turn, world), terminated, truncated, info
