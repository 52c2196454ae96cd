"""Agents that learn whom they talk to, from whether dialogues succeed (DEUS, section 4.1.2).

    agent = fit_agent(user2(), TrainingSettings(dialogues=20_000))
    agent = fit_agent(user3(), TrainingSettings(), estimate_belief(fitted, dialogues))    # costs and budgets are only estimated
    try_policy(agent, user2(), 20_000, seed=9).mean()

The paper trains deep networks over 300 actions. Here an agent has a few moves at each moment (`policies.moment`): what
`patient` does, with none to three answers that nobody has asked for yet. It keeps a table: how often a dialogue succeeded
after each move in each situation, which is what it hears, how likely the next answer is wanted, and how far the budget is
ahead of what was spent (Monte Carlo control). The budget is that of what the user has said so far, for nobody sees the goal.

Costs and budgets come from a `Belief`; without one they are the true ones. An agent with a belief is trained with users who
pay and leave as the belief says, and judged with true users. `thrifty` plans with the costs of a belief alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from perslib.errors import DataError, Problem
from perslib.model_files import load_model, save_model
from perslib.systems.deus.estimator import PatienceModel
from perslib.systems.deus.features import features
from perslib.systems.deus.policies import KINDS, Policy, is_asked_often, moment, run_task_dialogue
from perslib.systems.deus.world.actions import action_list
from perslib.systems.deus.world.goals import Goal, sample_goal
from perslib.systems.deus.world.records import SUCCESS, Dialogues
from perslib.systems.deus.world.users import Belief, User
from perslib.systems.deus.world.world import SystemNotes, World

#: Steps of the chance that an answer is wanted, and how many volunteered answers and units of budget are told apart.
CHANCES, VOLUNTEERED, AHEAD = 8, 2, 3
#: The least that a turn is believed to cost, and the states that its estimated cost is averaged over.
LEAST_COST, STATES = 0.2, 100

Situation = tuple[int, ...]


@dataclass(frozen=True)
class TrainingSettings:
    """How long an agent is trained, and how it explores."""

    dialogues: int = 20_000
    explore: tuple[float, float, float] = (0.3, 0.02, 0.5)  # from, to, by this share of the dialogues
    recent: int = 1000  # a mean forgets what is older than about so many dialogues
    seed: int = 42


@dataclass(frozen=True, eq=False)
class Agent:
    """A policy with values: takes the move after which dialogues succeed most often."""

    belief: Belief
    values: dict[Situation, dict[int, tuple[float, int]]] = field(default_factory=dict)
    """Situation → move → share of successes after it, and how often it was made."""
    card: dict[str, Any] = field(default_factory=dict)

    def __call__(self, seen: SystemNotes, rng: np.random.Generator) -> int:
        """Return the best action by the table; where nothing was tried yet, the one without a volunteered answer."""
        situation, actions = self.look(seen)
        return actions[self.best(situation, actions)]

    def look(self, seen: SystemNotes) -> tuple[Situation, dict[int, int]]:
        """Return the situation, and the action of each move; the situation is empty where there is nothing to choose."""
        now = moment(seen)
        if len(now.actions) == 1:
            return (), now.actions
        ahead = round(self.belief.h(seen.visible) - float(self.belief.costs[seen.taken].sum()))
        volunteered = min(len(seen.volunteered), VOLUNTEERED)
        chance, ahead = round(now.chance * CHANCES), max(-AHEAD, min(AHEAD, ahead))
        return (KINDS.index(now.kind), chance, volunteered, ahead), now.actions

    def best(self, situation: Situation, moves: Iterable[int]) -> int:
        """Return the move with most successes, of those that were made; of none, the first."""
        values = self.values.get(situation, {})
        return max(moves, key=lambda move: values[move][0] if move in values else -1.0)

    def save(self, folder: str | Path) -> Path:
        """Write the table, the belief, and a card (`perslib.model_files`)."""
        rows = [(*own, move, *value) for own, moves in self.values.items() for move, value in moves.items()]
        arrays = {"table": np.array(rows, dtype=float), "costs": self.belief.costs, "worth": self.belief.worth}
        return save_model(folder, self.card, arrays)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote; refused if it was trained on another action list."""
        with load_model(folder, "agent") as (card, arrays):
            if card["actions"] != action_list().digest:
                raise DataError(
                    Problem(str(folder), "the agent was trained on another action list"),
                    "Train it again with the present one.",
                )
            agent = cls(Belief(arrays["costs"], arrays["worth"]), {}, card)
            for *own, move, share, often in arrays["table"].tolist():
                agent.values.setdefault(tuple(map(int, own)), {})[int(move)] = (share, int(often))
        return agent


def estimate_belief(model: PatienceModel, dialogues: Dialogues) -> Belief:
    """Return what an estimate says each action costs, on average over states of these dialogues, and each item of a
    goal is worth.

    On the scale where the least turn costs 1. A network's h is read as a sum by least squares.
    """
    seen = features(dialogues, actions=model.actions)
    turns, actions = seen.by_turn["turns"], getattr(dialogues.action_list, model.actions)
    states = turns[:: max(1, len(turns) // STATES), : len(dialogues.state_names)]
    costs = [-model.f_(np.hstack([states, np.tile(own, (len(states), 1))])).mean() for own in actions]
    goals = np.hstack([seen.goals, np.ones((len(dialogues), 1), np.float32)])
    worth = np.linalg.lstsq(goals, model.h_(seen.goals), rcond=None)[0]
    scale = abs(model.v_b)
    return Belief(np.maximum(np.array(costs) / scale, LEAST_COST), worth / scale)


def fit_agent(user: User, settings: TrainingSettings, belief: Belief | None = None) -> Agent:
    """Train an agent for a user, of whom it knows what `belief` says, by default the truth."""
    agent, (first, last, by) = Agent(belief or Belief.true()), settings.explore
    rng = np.random.default_rng((settings.seed, 1))
    for i in range(settings.dialogues):
        world = World(user, np.random.default_rng((settings.seed, 2, i)), belief=belief, keeps=False)
        epsilon = first + (last - first) * min(1.0, i / max(1.0, by * settings.dialogues))
        made: list[tuple[Situation, int]] = []
        while not world.over:
            situation, actions = agent.look(world.seen)
            explores = bool(situation) and rng.random() < epsilon
            move = list(actions)[int(rng.integers(len(actions)))] if explores else agent.best(situation, actions)
            made += [(situation, move)] if situation else []
            world.act(actions[move])
        for situation, move in made:
            values = agent.values.setdefault(situation, {})
            share, often = values.get(move, (0.0, 0))
            weight = 1 / min(often + 1, settings.recent)
            values[move] = (share + weight * ((world.status == SUCCESS) - share), often + 1)
    card = {"user": user.kind, "settings": asdict(settings), "actions": action_list().digest}
    return Agent(agent.belief, agent.values, card)


def thrifty(belief: Belief) -> Policy:
    """Return the policy of least expected cost: it volunteers an answer if that costs less than the turn it may save."""
    turn = float(belief.costs[action_list().slot_numbers == 1].mean())

    def plan(seen: SystemNotes, rng: np.random.Generator) -> int:
        now = moment(seen)
        moves = [move for move in now.actions if move <= 1 + is_asked_often(seen.active)]
        return now.actions[min(moves, key=lambda m: belief.costs[now.actions[m]] - m * now.chance * turn)]

    return plan


def try_policy(policy: Policy, user: User, number: int, seed: int) -> np.ndarray:
    """Return for each of so many dialogues whether it ends in success; goals are those of the seed, whatever the
    policy.
    """
    rng = np.random.default_rng((seed, 1))
    worlds = (World(user, rng, goal, keeps=False) for goal in _sample_goals(number, seed))
    return np.array([run_task_dialogue(policy, world).status == SUCCESS for world in worlds])


@lru_cache(maxsize=4)
def _sample_goals(number: int, seed: int) -> tuple[Goal, ...]:
    return tuple(sample_goal(np.random.default_rng((seed, 0, i))) for i in range(number))
