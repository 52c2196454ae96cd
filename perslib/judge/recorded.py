"""Verdicts that came with the data: a judge like any other that asks nobody and costs nothing.

    list_recorded(corpus, "gpt_score=GPT-4")      the judge whose scores stand in the column `gpt_score` of the turns

A corpus names its own (`meta["recorded"]`: column → name). Scores are on the scale of people's ratings. Reasons and
rationales are read from columns that are named after the scores': `gpt_score_reason`, `gpt_score_rationale`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Block, Corpus
from perslib.corpus.files.reading import number_in
from perslib.errors import DataError, Problem, UnknownName
from perslib.judge.base import Judge, JudgeInputs, Verdict
from perslib.llm import Ask

#: What a verdict says beside its score, by the end of its column's name.
WORDS = {"_reason": "reason", "_rationale": "rationale"}
UNRECORDED = Verdict(mode="computed", error="no score: no verdict is recorded")


class Recorded(Judge):
    """The verdicts in a column of a corpus's turns; what it was told when it gave them is not known."""

    inputs = JudgeInputs(reply=True)
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
        words = given.join(corpus.turns.filter(["response", *(f"{column}{end}" for end in WORDS)])).astype("object")
        words = words.where(words.notna(), None)
        rows = zip(words.to_dict("records"), scale.to_five(numbers.to_numpy(float)))
        self._verdicts = {
            tuple(row[key] for key in TURN): (
                row.get("response"),
                Verdict(float(score), mode="computed", **{WORDS[end]: row.get(f"{column}{end}") for end in WORDS}),
            )
            for row, score in rows
        }

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the recorded verdict on each target; on another reply in its place there is none."""
        verdicts = []
        for target in block:
            key = (block.user, block.scenario, target.session, target.turn)
            reply, verdict = self._verdicts.get(key, (None, UNRECORDED))
            verdicts.append(verdict if reply in (None, target.response) else UNRECORDED)
        return verdicts


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
