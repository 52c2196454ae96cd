"""Agreement beyond chance on win and lose, and votes of several people (Mem-PAL, section 5.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt


def fleiss(counts: npt.ArrayLike) -> float:
    """Fleiss' kappa of a table items × categories that counts how many raters chose each category.

    κ = (P̄ − P_e) / (1 − P_e), with P̄ the mean share of agreeing pairs of raters and P_e = Σ (share of category)².
    Missing where it is undefined: no item, one rater, or only one category ever chosen.
    """
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not len(table):
        return float("nan")
    raters = table.sum(axis=1)
    if (raters != raters[0]).any() or raters[0] < 2:
        return float("nan")
    observed = float(((table**2).sum(axis=1) - raters).mean() / (raters[0] * (raters[0] - 1)))
    expected = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")


def kappa_of_decided(ours: Sequence[str], theirs: Sequence[str]) -> tuple[float, int]:
    """Fleiss' kappa of two labellings over the samples that both decide (win or lose, no tie), and how many these are."""
    pairs = [pair for pair in zip(ours, theirs, strict=True) if set(pair) <= {"win", "lose"}]
    return fleiss([[pair.count(label) for label in ("win", "lose")] for pair in pairs]), len(pairs)


def vote(labels: Iterable[str]) -> str:
    """What most raters say. Where no label is ahead of all others, two raters who disagree say, it is a tie."""
    ranked = Counter(labels).most_common(2)
    is_ahead = len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1])
    return ranked[0][0] if is_ahead else "tie"
