"""Patience as a budget: what a turn costs a user, recovered from success and failure alone (DEUS).

    dialogues = collect(exploring(rule, 0.25), user2(), 3000, seed=1)
    train, test = dialogues.split(seed=42)
    fitted = Patience(v_b=-1.0).fit(train)              # extra `patience`
    fitted.turn_satisfaction(test), fitted.remaining_budget(test), recovered(fitted, test)

The world is `perslib.patience.world`, its gymnasium face `perslib.patience.env` (extra `patience`).
"""

from perslib.patience.actions import ActionList, Atom, action_list
from perslib.patience.collect import collect, talk
from perslib.patience.dialogues import CENSORED, FAILURE, SUCCESS, Actions, Dialogue, Dialogues
from perslib.patience.estimator import Patience
from perslib.patience.goals import Goal, Part, sample_goal
from perslib.patience.policies import Policy, at_random, exploring, patient, rule, shrewd
from perslib.patience.recovery import levels, recovered, reward_shares, status_accuracy
from perslib.patience.users import User, outlook, people, user1, user2, user3
from perslib.patience.world import Turn, World

__all__ = [
    "CENSORED",
    "FAILURE",
    "SUCCESS",
    "ActionList",
    "Actions",
    "Atom",
    "Dialogue",
    "Dialogues",
    "Goal",
    "Part",
    "Patience",
    "Policy",
    "Turn",
    "User",
    "World",
    "action_list",
    "at_random",
    "collect",
    "exploring",
    "levels",
    "outlook",
    "patient",
    "people",
    "recovered",
    "reward_shares",
    "rule",
    "sample_goal",
    "shrewd",
    "status_accuracy",
    "talk",
    "user1",
    "user2",
    "user3",
]
