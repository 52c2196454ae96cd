"""The written dialogues of the page on patience: a simulated crowd, its ratings, and what the budget says of them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from perslib.errors import UnknownName
from perslib.patience import Patience, status_accuracy
from perslib.patience.text import (
    KAPPA,
    Bow,
    Embedded,
    Encoder,
    against_ratings,
    as_dialogues,
    by_budget,
    by_rating,
    ceiling,
    crowd,
    goal_names,
    parts,
    rated,
)
from perslib.studies.patience import Size

RATINGS = ("appropriateness", "understanding")


@dataclass(frozen=True)
class Rated:
    """Test dialogues of the crowd: budgets at their end, ratings, and how well their end is foretold."""

    budgets: pd.DataFrame
    ratings: pd.DataFrame
    accuracy: dict[str, float]
    ceiling: float
    """Status accuracy of whoever knows the true costs, but not how a worker's patience departs from the usual."""

    @property
    def spent_successes(self) -> float:
        """Share of successful dialogues that end without budget."""
        both = self.budgets.merge(self.ratings[["dialogue", "status"]], on="dialogue")
        return float((both.loc[both["status"] == 1, "budget"] < 0).mean())

    def by_rating(self) -> pd.DataFrame:
        """Mean budget at each rating, `kind` being which."""
        tables = [by_rating(self.budgets, self.ratings, kind).assign(kind=kind) for kind in RATINGS]
        return pd.concat(tables, ignore_index=True)

    def by_budget(self) -> pd.DataFrame:
        """Success by remaining budget."""
        return by_budget(self.budgets, self.ratings)

    def compared(self, seed: int, kind: str = RATINGS[0]) -> pd.DataFrame:
        """The budget and what knows nothing but status or length, against a rating."""
        return against_ratings(self.budgets, self.ratings, kind, seed=seed)


def encoder_of(name: str, language: str, pairs: list[tuple[str, str]]) -> Encoder:
    """`bow`, which learns its words here, or `embedded`, the workbench's embedder."""
    if name == "bow":
        return Bow(language).fit(pairs)
    if name == "embedded":
        return Embedded()
    raise UnknownName("encoder", name, ("bow", "embedded"))


def crowd_rated(size: Size, encoder: str, language: str, seed: int, loss: str = "full") -> Rated:
    """Fit on the training part of a simulated crowd, read budgets off validation and test dialogues together."""
    train, validation, test = parts(crowd(size.text, language, seed))
    test = [*validation, *test] if size.text < 3000 else test
    reads = encoder_of(encoder, language, [pair for text in train for pair in text.pairs()])
    settings = {"actions": "none", "loss": loss, "epochs": size.epochs, "seed": seed}
    model = Patience(**settings).fit(as_dialogues(train, reads))  # type: ignore[arg-type]
    seen = as_dialogues(test, reads, goal_names(train))
    return Rated(
        model.remaining_budget(seen),
        rated(test),
        status_accuracy(model.predict_status(seen), seen.status),
        ceiling(seen, KAPPA),
    )
