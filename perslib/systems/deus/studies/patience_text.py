"""Written dialogues that people rated: the budget at their end beside the ratings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import load
from perslib.errors import NotEnough, UnknownName
from perslib.judge.scope import FEWEST_REPLIES
from perslib.systems.deus.estimator import PatienceModel
from perslib.systems.deus.published import LEVEL_MEANS_R as LEVEL_MEANS_R
from perslib.systems.deus.text.budget_ratings import against_ratings, by_rating, success_by_budget
from perslib.systems.deus.text.dialogues import (
    RATINGS,
    TextDialogue,
    as_dialogues,
    goal_names,
    make_rating_frame,
    read_texts,
)
from perslib.systems.deus.text.encoders import Bow, EmbeddingEncoder, Encoder, NextTurn

#: Settings of `PatienceModel` for words: many features, few dialogues, and patience that differs between people.
WORDS: dict[str, Any] = {"actions": "none", "penalty": 0.01, "margin": 2.0}


@dataclass(frozen=True)
class RatedDialogues:
    """Held-out dialogues: budgets at their end, and ratings."""

    budgets: pd.DataFrame
    ratings: pd.DataFrame

    @property
    def is_proxy(self) -> bool:
        """Return whether goals and success were derived from actions instead of being recorded."""
        return bool((self.ratings["reason"] == "proxy").any())

    @property
    def rating_kinds(self) -> list[str]:
        """Return the available kinds of ratings."""
        return [kind for kind in RATINGS if kind in self.ratings]

    def average_budget_by_rating(self) -> pd.DataFrame:
        """Return the mean budget at each rating: kind (which rating), rating, mean, mean_low, mean_high, dialogues."""
        tables = [by_rating(self.budgets, self.ratings, kind).assign(kind=kind) for kind in self.rating_kinds]
        return pd.concat(tables, ignore_index=True)

    def measure_success_by_budget(self) -> pd.DataFrame:
        """Return success by remaining budget: budget, success, success_low, success_high, dialogues."""
        return success_by_budget(self.budgets, self.ratings)

    def compare_predictors(self) -> pd.DataFrame:
        """Return how the budget, and controls that know only status or length, agree with the first kind of rating.

        Columns: those of `against_ratings`. Raise NotEnough if fewer than 30 dialogues are rated.
        """
        kind = self.rating_kinds[0] if self.rating_kinds else ""
        if (number := self.ratings[kind].notna().sum() if kind else 0) < FEWEST_REPLIES:
            raise NotEnough(
                "{n} rated dialogues were held out; no correlation is shown for fewer than {least}.",
                n=number,
                least=FEWEST_REPLIES,
            )
        return against_ratings(self.budgets, self.ratings, kind)


def fit_encoder(name: str, language: str, texts: Iterable[TextDialogue]) -> Encoder:
    """Return an encoder by name.

    `bow` and `next turn` learn from these dialogues; `embedded` is the library's embedder. Raise UnknownName for
    others.
    """
    if name == "embedded":
        return EmbeddingEncoder()
    learning = {"bow": Bow, "next turn": NextTurn}
    if name not in learning:
        raise UnknownName("encoder", name, ("embedded", *learning))
    return learning[name](language).fit([pair for text in texts for pair in text.pairs()])


def rate_recorded(name: str, encoder: str, seed: int) -> RatedDialogues:
    """Fit on seven tenths of an imported corpus of rated dialogues (ConvLab, DSTC, or USS with its proxies); return the budgets of
    the rest.
    """
    corpus = load(name)
    texts_read = read_texts(corpus)
    texts = [texts_read[i] for i in np.random.default_rng(seed).permutation(len(texts_read))]
    cut = round(0.7 * len(texts))
    train, test = texts[:cut], texts[cut:]
    reader = fit_encoder(encoder, corpus.language, train)
    model = PatienceModel(**WORDS, seed=seed).fit(as_dialogues(train, reader))
    return RatedDialogues(
        model.remaining_budget(as_dialogues(test, reader, goal_names(train))), make_rating_frame(test)
    )
