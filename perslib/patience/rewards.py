"""What an agent is trained on: one number a turn, made of the turn and of how the dialogue stands after it.

training(true_cost)            −slot_number(a) − 1 a turn, and ±20 for how it ends
training(estimated(patience))  the same with a recovered f, on the scale where the least turn costs about 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from perslib.patience.actions import action_list
from perslib.patience.dialogues import SUCCESS
from perslib.patience.networks import torch_here
from perslib.patience.world import Turn, World

if TYPE_CHECKING:
    from perslib.patience.estimator import Patience

#: Constants of eq. 12–14: |p| a turn, at the end twice the limit on turns for success and once for failure.
TURN = 1.0
#: Added at the end when an agent is trained on costs; costs alone would reward failing quickly.
TERMINAL = 20.0
LEAST_COST = 0.2

Reward = Callable[[Turn, World], float]


def task_reward(turn: Turn, world: World) -> float:
    """User 1's reward f₁: −|p| a turn, at the end +|r| for success and −|r| for failure (eq. 12–14)."""
    if not world.over:
        return -TURN
    limit = world.user.max_turns
    return 2.0 * limit if world.status == SUCCESS else -1.0 * limit


def true_cost(turn: Turn, world: World) -> float:
    """User 2's and 3's reward f₂ = −slot_number(a) − 1 (eq. 15)."""
    return -float(turn.cost)


def estimated(model: Patience) -> Reward:
    """A recovered f(s, a), divided by |v_b|; never better than −0.2, so that no turn is free."""
    torch = torch_here()
    features = None if model.actions == "none" else getattr(action_list().features, model.actions)

    def reward(turn: Turn, world: World) -> float:
        shown = [turn.state] if model.state else []
        if features is not None:
            shown.append(features[turn.action])
        with torch.inference_mode():
            cost = float(model.f_(torch.from_numpy(np.concatenate(shown)))) / abs(model.v_b)
        return min(cost, -LEAST_COST)

    return reward


def training(cost: Reward, terminal: float = TERMINAL) -> Reward:
    """The cost of every turn, and the terminal term with the last."""

    def reward(turn: Turn, world: World) -> float:
        end = 0.0 if not world.over else terminal if world.status == SUCCESS else -terminal
        return cost(turn, world) + end

    return reward
