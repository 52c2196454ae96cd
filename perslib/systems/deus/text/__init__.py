"""Patience read off what was said: no states, no actions, only text, goal and success (DEUS, sections 4.2 and 5.2).

train, test = crowd(1000, "en"), crowd(100, "en", seed=1)  # or `read_texts` of an imported corpus, which has ratings
encoder = Bow("en").fit([pair for text in train for pair in text.pairs()])
fitted = PatienceModel(actions="none").fit(as_dialogues(train, encoder))
budgets = fitted.remaining_budget(as_dialogues(test, encoder, goal_names(train)))
against_ratings(budgets, make_rating_frame(test), "appropriateness")
"""

from perslib.systems.deus.text.budget_ratings import against_ratings, by_rating, success_by_budget
from perslib.systems.deus.text.crowd import crowd
from perslib.systems.deus.text.dialogues import TextDialogue, as_dialogues, goal_names, make_rating_frame, read_texts
from perslib.systems.deus.text.encoders import Bow, EmbeddingEncoder, Encoder, NextTurn

__all__ = [
    "Bow",
    "EmbeddingEncoder",
    "Encoder",
    "NextTurn",
    "TextDialogue",
    "against_ratings",
    "as_dialogues",
    "by_rating",
    "crowd",
    "goal_names",
    "make_rating_frame",
    "read_texts",
    "success_by_budget",
]  # fmt: skip
