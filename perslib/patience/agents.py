"""Agents that learn whom they talk to: double deep Q-learning over the 300 actions (DEUS, section 4.1.2).

    agent = learn(user1(), task_reward, Settings(steps=60_000, discount=0.95))
    success_rate(agent, user2(), 1000, seed=9), agent.curve

An agent is a policy: it is called with what the system sees. It is trained with users who do not leave (with the exits
on, success is never seen and nothing is learned) and judged with users who do.

What an agent is rewarded with is one number a turn, made of the turn and of how the dialogue stands after it:

    training(true_cost)            −slot_number(a) − 1 a turn, and ±20 for how it ends
    training(estimated(patience))  the same with a recovered f, on the scale where the least turn costs about 1

It learns from turns of past dialogues with what followed, the oldest forgotten first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.patience.actions import action_list
from perslib.patience.dialogues import SUCCESS
from perslib.patience.networks import perceptron, seeded, torch_here
from perslib.patience.policies import Policy, exploring, rule, talk
from perslib.patience.users import User
from perslib.patience.world import STATE_NAMES, Seen, Turn, World
from perslib.saved import loaded, save

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

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
    features = None if model.actions == "none" else getattr(action_list(), model.actions)

    def reward(turn: Turn, world: World) -> float:
        shown = turn.state if features is None else np.append(turn.state, features[turn.action])
        with torch.inference_mode():
            cost = float(model.f_(torch.from_numpy(shown))) / abs(model.v_b)
        return min(cost, -LEAST_COST)

    return reward


def training(cost: Reward) -> Reward:
    """The cost of every turn, and the terminal term with the last."""

    def reward(turn: Turn, world: World) -> float:
        end = 0.0 if not world.over else TERMINAL if world.status == SUCCESS else -TERMINAL
        return cost(turn, world) + end

    return reward


class Played(NamedTuple):
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
    """A ring of (state, action, reward, discount of what comes after, state then)."""

    def __init__(self, size: int, features: int, discount: float):
        self.size, self.discount, self.added = size, discount, 0
        bits = (np.uint8, features)  # all features are 0 or 1
        self.turns = np.zeros(
            size, [("state", *bits), ("action", np.int64), ("reward", "f4"), ("discount", "f4"), ("later", *bits)]
        )

    def __len__(self) -> int:
        return min(self.added, self.size)

    def add(self, played: Played) -> None:
        """Add all turns of a dialogue; nothing is expected beyond its end."""
        new = np.zeros(len(played.actions), self.turns.dtype)
        new["state"], new["later"] = played.states[:-1], played.states[1:]
        new["action"], new["reward"], new["discount"] = played.actions, played.rewards, self.discount
        new["discount"][-1] = 0.0
        self.turns[np.arange(self.added, self.added + len(new)) % self.size] = new
        self.added += len(new)

    def sample(self, rng: np.random.Generator, number: int) -> tuple[np.ndarray, ...]:
        """Draw turns: states, actions, rewards, discounts, later states."""
        some = self.turns[rng.integers(len(self), size=number)]
        states, later = some["state"].astype(np.float32), some["later"].astype(np.float32)
        return states, *(some[name].copy() for name in ("action", "reward", "discount")), later


@dataclass(frozen=True)
class Settings:
    """How an agent is trained; the defaults are those of the paper's pipeline where it tells them."""

    steps: int = 60_000
    discount: float = 0.97
    hidden: tuple[int, ...] = (128, 128)
    rate: float = 1e-3
    batch: int = 128
    memory: int = 50_000
    clip: float = 10.0
    refresh: int = 500  # steps between copies to the target network
    every: int = 8  # steps between updates
    explore: tuple[float, float, float] = (0.3, 0.02, 0.6)  # from, to, by this share of the steps
    shown: int = 1500  # dialogues of the teacher to begin with
    drilled: int = 2000  # updates on them before the agent acts
    check: int = 10_000  # steps between evaluations
    checked: int = 200  # dialogues an evaluation
    #: Weight of log Σ exp Q(s, ·) − Q(s, a), which keeps actions that were never tried low.
    caution: float = 1.0
    seed: int = 42


#: Evaluations choose the weights to keep, so what is reported comes from dialogues with other seeds.
CHECK_SEED = 1_000_003


@dataclass(frozen=True, eq=False)
class Agent:
    """A policy with values: takes the action that its network values most."""

    network: Module
    curve: pd.DataFrame = field(repr=False)
    card: dict[str, Any] = field(default_factory=dict)

    def __call__(self, seen: Seen, rng: np.random.Generator) -> int:
        """The best action by the network."""
        torch = torch_here()
        with torch.inference_mode():
            return int(self.network(torch.from_numpy(seen.vector)).argmax())

    def save(self, folder: str | Path) -> Path:
        """Weights, and a card with the learning curve (`perslib.saved`)."""
        weights = {name: value.numpy() for name, value in self.network.state_dict().items()}
        return save(folder, {**self.card, "curve": self.curve.to_dict("list")}, weights)

    @classmethod
    def load(cls, folder: str | Path) -> Agent:
        """What `save` wrote; refused if it was trained on another action list or other state features."""
        with loaded(folder, "agent") as (card, weights):
            for name, now in (("actions", action_list().digest), ("features", len(STATE_NAMES))):
                if card[name] != now:
                    raise DataError(
                        Problem(str(folder), f"the agent knows other {name} ({card[name]}, now {now})"),
                        "Train it again with the present ones.",
                    )
            network = q_network(tuple(card["settings"]["hidden"]))
            network.load_state_dict({k: torch_here().from_numpy(v) for k, v in weights.items()})
            curve = pd.DataFrame(card.pop("curve"))
        return cls(network, curve, card)


def q_network(hidden: tuple[int, ...]) -> Module:
    """Q(s, ·): state → hidden layers → a value an action."""
    return perceptron(len(STATE_NAMES), hidden, outputs=len(action_list().templates))


def success_rate(policy: Policy, user: User, number: int, seed: int) -> float:
    """Share of dialogues that end in success."""
    ended = (talk(policy, World(user, np.random.default_rng((seed, i)))).status for i in range(number))
    return sum(status == 1 for status in ended) / number


def learn(user: User, reward: Reward, settings: Settings) -> Agent:
    """Train an agent for a user; of the weights evaluated on the way, keep those with most success.

    Dialogues of a noisy rule fill the memory first. While it learns, users do not leave.
    """
    staying = replace(user, budget=False, forward=False, quits=0.0)
    rng = np.random.default_rng((settings.seed, 1))
    with seeded(settings.seed) as torch:
        learner = _Learner(torch, settings)
        for i in range(settings.shown):
            learner.memory.add(play(exploring(rule, 0.25), World(staying, _seed(settings, 2, i)), reward))
        for update in range(settings.drilled if settings.shown else 0):
            learner.update(rng)
            if update * settings.every % settings.refresh == 0:
                learner.refresh()
        curve: list[dict[str, float]] = []
        best: tuple[float, Any] = (-1.0, None)
        step, dialogue, next_check = 0, 0, 0
        while True:
            if step >= next_check or step >= settings.steps:
                success = success_rate(learner.agent, user, settings.checked, CHECK_SEED)
                curve.append({"step": step, "success": success})
                if success >= best[0]:
                    best = (success, {k: v.clone() for k, v in learner.q.state_dict().items()})
                next_check += settings.check
            if step >= settings.steps:
                break
            policy = exploring(learner.agent, _epsilon(settings, step))
            played = play(policy, World(staying, _seed(settings, 3, dialogue)), reward)
            learner.memory.add(played)
            for _ in played.actions:
                step += 1
                if step % settings.every == 0:
                    learner.update(rng)
                if step % settings.refresh == 0:
                    learner.refresh()
            dialogue += 1
        learner.q.load_state_dict(best[1])
    card = {
        "user": user.kind,
        "settings": asdict(settings),
        "actions": action_list().digest,
        "features": len(STATE_NAMES),
        "best": best[0],
    }
    return Agent(learner.q, pd.DataFrame(curve), card)


def _seed(settings: Settings, stream: int, number: int) -> np.random.Generator:
    return np.random.default_rng((settings.seed, stream, number))


def _epsilon(settings: Settings, step: int) -> float:
    first, last, by = settings.explore
    return first + (last - first) * min(1.0, step / max(1.0, by * settings.steps))


class _Learner:
    """Networks, memory and one update: Huber loss to r + γ·Q'(s', argmax Q(s', ·))."""

    def __init__(self, torch: Any, settings: Settings):
        self.torch, self.settings = torch, settings
        self.q, self.target = q_network(settings.hidden), q_network(settings.hidden)
        self.refresh()
        self.optimiser = torch.optim.Adam(self.q.parameters(), lr=settings.rate, fused=True)
        self.memory = Replay(settings.memory, len(STATE_NAMES), settings.discount)
        self.agent = Agent(self.q, pd.DataFrame())

    def refresh(self) -> None:
        self.target.load_state_dict(self.q.state_dict())

    def update(self, rng: np.random.Generator) -> None:
        torch, settings = self.torch, self.settings
        sampled = self.memory.sample(rng, settings.batch)
        states, actions, rewards, discounts, later = (torch.from_numpy(part) for part in sampled)
        with torch.no_grad():
            chosen = self.q(later).argmax(1, keepdim=True)
            goal: Tensor = rewards + discounts * self.target(later).gather(1, chosen).squeeze(1)
        values = self.q(states)
        value = values.gather(1, actions[:, None]).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(value, goal)
        loss = loss + settings.caution * (values.logsumexp(1) - value).mean()
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.q.parameters(), settings.clip)
        self.optimiser.step()
