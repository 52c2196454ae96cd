"""Verdicts as the explorer shows them: distributions raw and calibrated, the reason, what the rationale cites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.corpus import Block
from perslib.explorer.parts import draw
from perslib.judge import Verdict
from perslib.memory import UserMemory, resolved
from perslib.stats import SCORES, Tilted
from perslib.stats.calibrated import COUNTS
from perslib.text import translate

#: The judge's distribution and that of the user's own past scores, each to the power one half: nothing is learned.
POOLED = Tilted(0.5, 0.5, np.zeros(5), name="pooled")
#: The label of a verdict, its distribution, its mean; either may be missing.
Shares = tuple[str, Sequence[float] | None, float | None]


def calibrated(verdict: Verdict, counts: Sequence[int]) -> tuple[tuple[float, ...] | None, float | None]:
    """The distribution pooled with the user's own past scores, and its mean; without either, none."""
    if verdict.p is None or not sum(counts):
        return None, None
    key = {"user": "", "scenario": ""}
    rows = pd.DataFrame([{**key, **{f"p{s}": p for s, p in enumerate(verdict.p, 1)}}])
    history = pd.DataFrame([{**key, **dict(zip(COUNTS, counts))}])
    p = POOLED.distribution(rows, history)[0]
    return tuple(map(float, p)), float(p @ SCORES)


def score_of(verdict: Verdict) -> float | None:
    """The mean of the distribution, else the score as it was given."""
    return verdict.raw if verdict.expected is None else verdict.expected


def shares_of(label: str, verdict: Verdict) -> Shares:
    """A row of a table of distributions."""
    return label, verdict.p, score_of(verdict)


def verdict_html(verdict: Verdict, block: Block, memory: UserMemory | None) -> str:
    """A verdict as the explorer shows it."""
    pooled = calibrated(verdict, memory.counts if memory else ())
    rows = [
        shares_of(translate("as the judge gives it"), verdict),
        (translate("pooled with this user's past scores"), *pooled),
    ]
    found = resolved(verdict.evidence, block, memory)
    return draw("verdict", verdict=verdict, score=score_of(verdict), rows=rows, found=found)
