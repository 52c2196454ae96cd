"""Verdicts that came with the data: a judge like any other that asks nobody and costs nothing.

    list_recorded(corpus, "gpt_score=GPT-4")      the judge whose scores stand in the column `gpt_score` of the turns

A corpus names its own (`meta["recorded"]`: column → name). Scores are on the scale of people's ratings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.corpus.files.reading import number_in
from perslib.errors import DataError, Problem, UnknownName
from perslib.judge.base import Computed, JudgeInputs


class Recorded(Computed):
    """The verdicts in a column of a corpus's turns; what it was told when it gave them is not known."""

    inputs = JudgeInputs(reply=True)
    lack = "no verdict is recorded"
    reads_texts = False

    def __init__(self, corpus: Corpus, column: str, name: str):
        if column not in corpus.turns:
            raise UnknownName("column of recorded verdicts", column, [str(own) for own in corpus.turns])
        self.name, scale = name, corpus.scale
        given = corpus.turns[[*TURN, column]].dropna(subset=column)
        numbers = given[column].map(number_in).astype(float)
        wrong = ~numbers.between(scale.low, scale.high)
        if wrong.any():
            first = given[wrong].iloc[0]
            place = " / ".join(str(first[name]) for name in TURN)
            raise DataError(
                Problem(place, f"{column} is {first[column]}, expected {scale}"),
                "Recorded verdicts are on the scale of people's ratings; of verdicts on pairs, see page 13.",
            )
        keys = given[TURN].itertuples(index=False, name=None)
        self._scores = dict(zip(keys, scale.to_five(numbers.to_numpy(float))))

    def scores(self, block: Block) -> Sequence[float | None]:
        """Return the recorded score of each target, on 1–5."""
        return [self._scores.get((block.user, block.scenario, target.session, target.turn)) for target in block]


def list_recorded(corpus: Corpus, names: str = "") -> list[Recorded]:
    """Return the recorded judges that the corpus names, and those of `names`: COLUMN or COLUMN=NAME, separated by commas.

    Verdicts on pairs of replies (a, b, n) are none of them: page 13 has those.
    """
    asked = dict(part.strip().partition("=")[::2] for part in names.split(",") if part.strip())
    own = {column: name for column, name in corpus.meta.get("recorded", {}).items() if _holds_scores(corpus, column)}
    return [Recorded(corpus, column, name or column) for column, name in (own | asked).items()]


def _holds_scores(corpus: Corpus, column: str) -> bool:
    held = corpus.turns[column].dropna() if column in corpus.turns else pd.Series()
    return len(held) > 0 and np.isfinite(held.map(number_in).astype(float)).all()
