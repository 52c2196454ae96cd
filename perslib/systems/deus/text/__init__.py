"""Patience read off what was said: no states, no actions, only text, goal and success (DEUS, sections 4.2 and 5.2).

train, validation, test = parts(crowd(1500, "en"))
encoder = Bow("en").fit([pair for text in train for pair in text.pairs()])
fitted = PatienceModel(actions="none").fit(as_dialogues(train, encoder))
budgets = fitted.remaining_budget(as_dialogues(test, encoder, goal_names(train)))
against_ratings(budgets, make_rating_frame(test), "appropriateness")
"""

from perslib.systems.deus.text.budget_ratings import against_ratings, by_budget, by_rating, ceiling
from perslib.systems.deus.text.crowd import KAPPA, crowd, parts
from perslib.systems.deus.text.dialogues import TextDialogue, as_dialogues, goal_names, make_rating_frame, read_texts
from perslib.systems.deus.text.encoders import Bow, EmbeddingEncoder, Encoder, NextTurn

__all__ = [
    "KAPPA",
    "Bow",
    "EmbeddingEncoder",
    "Encoder",
    "NextTurn",
    "TextDialogue",
    "against_ratings",
    "as_dialogues",
    "by_budget",
    "by_rating",
    "ceiling",
    "crowd",
    "goal_names",
    "make_rating_frame",
    "parts",
    "read_texts",
]  # fmt: skip
