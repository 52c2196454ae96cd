"""The written dialogues of the page on patience: a simulated crowd, its ratings, and what the budget says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perslib.corpus import load
from perslib.errors import UnknownName
from perslib.patience import Patience, status_accuracy
from perslib.patience.text import (
    KAPPA,
    Bow,
    Embedded,
    Encoder,
    NextTurn,
    TextDialogue,
    against_ratings,
    as_dialogues,
    by_budget,
    by_rating,
    ceiling,
    crowd,
    goal_names,
    parts,
    rated,
    uss,
)
from perslib.studies.patience import Size

#: Ratings of whole dialogues, the first of them being the one that tables go by.
RATINGS = ("appropriateness", "understanding", "overall")


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

    @property
    def kinds(self) -> list[str]:
        """Which ratings there are."""
        return [kind for kind in RATINGS if kind in self.ratings]

    def by_rating(self) -> pd.DataFrame:
        """Mean budget at each rating, `kind` being which."""
        tables = [by_rating(self.budgets, self.ratings, kind).assign(kind=kind) for kind in self.kinds]
        return pd.concat(tables, ignore_index=True)

    def by_budget(self) -> pd.DataFrame:
        """Success by remaining budget."""
        return by_budget(self.budgets, self.ratings)

    def compared(self, seed: int) -> pd.DataFrame:
        """The budget and what knows nothing but status or length, against the first rating."""
        return against_ratings(self.budgets, self.ratings, self.kinds[0], seed=seed)


def encoder_of(name: str, language: str, pairs: list[tuple[str, str]]) -> Encoder:
    """`bow` and `next turn`, which learn from these pairs, or `embedded`, the workbench's embedder."""
    if name == "bow":
        return Bow(language).fit(pairs)
    if name == "next turn":
        return NextTurn(language).fit(pairs)
    if name == "embedded":
        return Embedded()
    raise UnknownName("encoder", name, ("bow", "embedded", "next turn"))


def crowd_rated(size: Size, encoder: str, language: str, seed: int) -> Rated:
    """Fit on the training part of a simulated crowd, read budgets off validation and test dialogues together."""
    train, validation, test = parts(crowd(size.text, language, seed))
    return _read(train, [*validation, *test], size, encoder, language, seed)


def uss_rated(name: str, size: Size, encoder: str, seed: int) -> Rated:
    """The same for an imported corpus of USS, whose status and goal are proxies (`perslib.patience.text.uss`)."""
    corpus = load(name)
    texts = np.array(uss(corpus), dtype=object)[np.random.default_rng(seed).permutation(len(corpus.sessions))]
    cut = round(0.7 * len(texts))
    return _read(list(texts[:cut]), list(texts[cut:]), size, encoder, corpus.language, seed)


def _read(
    train: Sequence[TextDialogue],
    test: Sequence[TextDialogue],
    size: Size,
    encoder: str,
    language: str,
    seed: int,
) -> Rated:
    reads = encoder_of(encoder, language, [pair for text in train for pair in text.pairs()])
    model = Patience(actions="none", epochs=size.epochs, seed=seed).fit(as_dialogues(train, reads))
    seen = as_dialogues(test, reads, goal_names(train))
    return Rated(
        model.remaining_budget(seen),
        rated(test),
        status_accuracy(model.predict_status(seen), seen.status),
        ceiling(seen, KAPPA),
    )
