"""Patience as a budget: what a turn costs a user, recovered from success and failure alone (DEUS).

    dialogues = collect(exploring(rule, 0.25), user2(), 3000, seed=1)
    train, test = dialogues.split(seed=42)
    fitted = Patience(v_b=-1.0).fit(train)
    fitted.turn_satisfaction(test), fitted.remaining_budget(test), recovered(fitted, test)

The world is `perslib.worlds.dialogues.world`.
"""

from perslib.patience.estimator import Patience, status_accuracy
from perslib.patience.policies import at_random, collect, exploring, patient, rule, shrewd, talk
from perslib.patience.recovery import levels, recovered, reward_shares
from perslib.worlds.dialogues.actions import Atom, action_list
from perslib.worlds.dialogues.goals import Goal, Part
from perslib.worlds.dialogues.records import FAILURE, SUCCESS, Actions, Dialogue, Dialogues
from perslib.worlds.dialogues.users import User, user1, user2, user3
from perslib.worlds.dialogues.world import World

__all__ = [
    "FAILURE", "SUCCESS", "Actions", "Atom", "Dialogue", "Dialogues", "Goal", "Part", "Patience", "User",
    "World", "action_list", "at_random", "collect", "exploring", "levels", "patient", "recovered",
    "reward_shares", "rule", "shrewd", "status_accuracy", "talk", "user1", "user2", "user3",
]  # fmt: skip
