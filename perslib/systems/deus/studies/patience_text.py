"""The written dialogues of the page on patience: a simulated crowd, its ratings, and their relation to the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import load
from perslib.errors import NotEnough, UnknownName
from perslib.judge.scope import FEWEST_REPLIES
from perslib.systems.deus.estimator import PatienceModel, status_accuracy
from perslib.systems.deus.pipeline import Size
from perslib.systems.deus.published import LEVEL_MEANS_R as LEVEL_MEANS_R
from perslib.systems.deus.text.budget_ratings import against_ratings, by_budget, by_rating, ceiling
from perslib.systems.deus.text.crowd import KAPPA, crowd, parts
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
    """Test dialogues of the crowd: budgets at their end, ratings, and how well their end is predicted."""

    budgets: pd.DataFrame
    ratings: pd.DataFrame
    accuracy: dict[str, float]
    ceiling: float
    """Status accuracy with the true costs, without knowledge of how a worker's patience differs from the usual one."""

    @property
    def spent_success_share(self) -> float:
        """Return the share of successful dialogues that end without budget."""
        both = self.budgets.merge(self.ratings[["dialogue", "status"]], on="dialogue")
        return float((both.loc[both["status"] == 1, "budget"] < 0).mean())

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
        return by_budget(self.budgets, self.ratings)

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


def rate_crowd(size: Size, encoder: str, language: str, seed: int) -> RatedDialogues:
    """Fit on the training part of a simulated crowd; return the budgets of validation and test dialogues together."""
    train, validation, test = parts(crowd(size.text, language, seed))
    return _rate_dialogues(train, [*validation, *test], fit_encoder(encoder, language, train), size, seed)


def rate_recorded(name: str, size: Size, encoder: str, seed: int) -> RatedDialogues:
    """Return the same for an imported corpus of rated dialogues: ConvLab, DSTC, or USS with its proxies."""
    corpus = load(name)
    texts_read = read_texts(corpus)
    texts = [texts_read[i] for i in np.random.default_rng(seed).permutation(len(texts_read))]
    cut = round(0.7 * len(texts))
    return _rate_dialogues(texts[:cut], texts[cut:], fit_encoder(encoder, corpus.language, texts[:cut]), size, seed)


def _rate_dialogues(
    train: Sequence[TextDialogue], test: Sequence[TextDialogue], encoder: Encoder, size: Size, seed: int
) -> RatedDialogues:
    model = PatienceModel(**WORDS, estimator=size.estimator, epochs=size.epochs, seed=seed)
    model.fit(as_dialogues(train, encoder))
    seen = as_dialogues(test, encoder, goal_names(train))
    return RatedDialogues(
        model.remaining_budget(seen),
        make_rating_frame(test),
        status_accuracy(model.predict_status(seen), seen.status),
        ceiling(seen, KAPPA),
    )
