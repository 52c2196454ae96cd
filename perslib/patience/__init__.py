"""Patience as a budget: what a turn costs a user, recovered from success and failure alone (DEUS).

dialogues = collect(NoisyRule(0.25), User2(), 3000, seed=1)
dialogues.frame(), dialogues.by_status(1, -1).split(seed=42)
"""

from perslib.patience.dialogues import CENSORED, FAILURE, SUCCESS, Actions, Dialogue, Dialogues

__all__ = ["CENSORED", "FAILURE", "SUCCESS", "Actions", "Dialogue", "Dialogues"]
