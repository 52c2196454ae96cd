"""The same agents trained by stable-baselines3, whose deep Q-learning is plain: neither double nor cautious.

    agent = learn_sb3(user1(), task_reward, Settings(steps=60_000))

Same sizes and the same teacher; what comes out is an `Agent` like any other. It is here to compare with: shown the
same dialogues, it needs many more steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.errors import PerslibError
from perslib.patience.agents import (
    CHECK_SEED,
    Agent,
    Reward,
    Settings,
    card_of,
    play,
    q_network,
    success_rate,
)
from perslib.patience.networks import seeded
from perslib.patience.policies import Policy, exploring, rule
from perslib.patience.users import User
from perslib.patience.world import World


def learn_sb3(
    user: User, reward: Reward, settings: Settings | None = None, teacher: Policy | None = None
) -> Agent:
    """Train with stable-baselines3; evaluations on the way make the curve, and the last weights are kept.

    It acts in rounds of `every` steps, so the last step is `steps` made up to a whole round.
    """
    try:
        from stable_baselines3 import DQN
        from stable_baselines3.common.logger import configure
    except ImportError as missing:
        raise PerslibError(
            "This back end needs stable-baselines3, which is not installed. "
            "Install it with `pip install stable-baselines3`, or train with `learn`."
        ) from missing
    from perslib.patience.env import DialogueEnv

    made = settings or Settings()
    first, last, by = made.explore
    with seeded(made.seed):
        model = DQN(
            "MlpPolicy",
            DialogueEnv(user, reward, cutoff=made.cutoff),
            learning_rate=made.rate, buffer_size=made.memory, batch_size=made.batch, gamma=made.discount,
            learning_starts=0, train_freq=made.every, target_update_interval=made.refresh,
            max_grad_norm=made.clip, exploration_initial_eps=first, exploration_final_eps=last,
            exploration_fraction=by, policy_kwargs={"net_arch": list(made.hidden)}, seed=made.seed, device="cpu",
        )  # fmt: skip
        model.set_logger(configure(None, []))
        _show(model, user if made.cutoff else user.without_exits(), reward, made, teacher)
        curve: list[dict[str, float]] = []

        def check(step: int) -> None:
            agent = Agent(_network(model, made), pd.DataFrame())
            curve.append({"step": step, "success": success_rate(agent, user, made.checked, CHECK_SEED)})

        def at_step(_locals: dict[str, Any], _globals: dict[str, Any]) -> bool:
            if model.num_timesteps % made.check == 0 and model.num_timesteps < made.steps:
                check(model.num_timesteps)
            return True

        check(0)
        if made.steps:
            # In one go: exploration falls by a share of the steps that one call of `learn` is given.
            model.learn(made.steps, callback=at_step)
            check(model.num_timesteps)
        network = _network(model, made)
    card = {**card_of(user, made, curve[-1]["success"]), "back_end": "stable-baselines3"}
    return Agent(network, pd.DataFrame(curve), card)


def _show(model: Any, user: User, reward: Reward, settings: Settings, teacher: Policy | None) -> None:
    """Fill the memory with the teacher's dialogues and drill on them; `train` alone never moves the target."""
    policy = teacher or exploring(rule, 0.25)
    for i in range(settings.shown):
        played = play(policy, World(user, np.random.default_rng((settings.seed, 2, i))), reward)
        for t, action in enumerate(played.actions):
            done = np.array([t + 1 == len(played.actions)])
            model.replay_buffer.add(
                played.states[t], played.states[t + 1], np.array([action]), played.rewards[t : t + 1], done, [{}]
            )  # fmt: skip
    block = max(1, settings.refresh // settings.every)
    for done_updates in range(0, settings.drilled if settings.shown else 0, block):
        model.train(min(block, settings.drilled - done_updates), settings.batch)
        model.q_net_target.load_state_dict(model.q_net.state_dict())


def _network(model: Any, settings: Settings) -> Any:
    """Its weights in a network of ours."""
    network = q_network(settings.hidden)
    network.load_state_dict({k: v.clone() for k, v in model.q_net.q_net.state_dict().items()})
    return network
