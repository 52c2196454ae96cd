"""Patience as a budget: what a turn costs a user, recovered from success and failure alone (DEUS).

    dialogues = simulate_dialogues(exploring(rule, 0.25), user2(), 3000, seed=1)
    train, test = dialogues.split(seed=42)
    fitted = PatienceModel(v_b=-1.0).fit(train)
    fitted.turn_satisfaction(test), fitted.remaining_budget(test), score_recovery(fitted, test)

The world is `perslib.systems.deus.world.world`.
"""

from perslib.systems.deus.estimator import PatienceModel, status_accuracy
from perslib.systems.deus.policies import (
    at_random,
    exploring,
    patient,
    rule,
    run_task_dialogue,
    shrewd,
    simulate_dialogues,
)
from perslib.systems.deus.recovery import levels, reward_shares, score_recovery
from perslib.systems.deus.world.actions import Atom, action_list
from perslib.systems.deus.world.goals import Goal, GoalPart
from perslib.systems.deus.world.records import FAILURE, SUCCESS, Actions, Dialogue, Dialogues
from perslib.systems.deus.world.users import User, user1, user2, user3
from perslib.systems.deus.world.world import World

__all__ = [
    "FAILURE",
    "SUCCESS",
    "Actions",
    "Atom",
    "Dialogue",
    "Dialogues",
    "Goal",
    "GoalPart",
    "PatienceModel",
    "User",
    "World",
    "action_list",
    "at_random",
    "exploring",
    "levels",
    "patient",
    "reward_shares",
    "rule",
    "run_task_dialogue",
    "score_recovery",
    "shrewd",
    "simulate_dialogues",
    "status_accuracy",
    "user1",
    "user2",
    "user3",
]  # fmt: skip
