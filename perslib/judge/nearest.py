"""Nearest history: a reply is scored as the user scored the most similar replies in other scenarios."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perslib.corpus import Block
from perslib.judge.base import Judge, Sees, Verdict
from perslib.judge.history import Rounding, on_scale
from perslib.llm import asks_nothing
from perslib.memory import ANCHORS, EPISODES, Anchor, Retrieval, TextForm


class Nearest(Judge):
    """Mean score of the k most similar rated turns; the verdict cites them.

    Weighted: Σ w·score / Σ w with w = max(cosine, 0) + 0.001, the "nearest-history score" of PersTurnBench's
    Table 2 (k = 6 over `EPISODES`). Plain: the nearest-turn baselines of its appendix C.2 (k = 1 and 3 over
    `ANCHORS`). The published code gives a block without history a 4; here it stays unscored.
    """

    def __init__(
        self,
        k: int = 6,
        weighted: bool = True,
        form: TextForm | None = None,
        rounded: Rounding = None,
    ):
        self.k, self.weighted, self.rounded = k, weighted, rounded
        form = form or (EPISODES if weighted else ANCHORS)
        self.sees = Sees(reply=True, task=form is not ANCHORS, history=True)
        words = [f"nearest {k}" if k > 1 else "nearest", *["weighted"] * weighted]
        self.name = ", ".join([*words, *([f"rounded {rounded}"] if rounded else [])])
        self._retrieval = Retrieval(form)

    @asks_nothing
    def judge(self, block: Block) -> Sequence[Verdict]:
        """One verdict a target, citing the turns its score is the mean of."""
        return [self._verdict(found) for found in self._retrieval.anchors(block, self.k)]

    def _verdict(self, found: Sequence[Anchor]) -> Verdict:
        if not found:
            return Verdict(mode="computed", error="no score: the user has no rated turn in another scenario")
        weights = [max(a.similarity, 0) + 0.001 if self.weighted else 1 for a in found]
        mean = np.average([a.score for a in found], weights=weights)
        score = float(on_scale(mean, self.rounded))
        return Verdict(raw=score, evidence=tuple(a.id for a in found), mode="computed")


def nearest_baselines(rounded: Rounding = None) -> list[Judge]:
    """k = 6 weighted, k = 1 and k = 3; `rounded="half even"` gives the published scores."""
    return [
        Nearest(6, True, rounded=rounded),
        Nearest(1, False, rounded=rounded),
        Nearest(3, False, rounded=rounded),
    ]
