"""G-Score and S-Score (Mem-PAL, sections 5.2 and 5.3): points of one answer, and their mean × 50 over all samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: What a judge may give a restated requirement: 1 for each implicit need met, 0.5 for one met in part.
GRADES = (0.0, 0.5, 1.0, 1.5, 2.0)
#: What a selected solution is worth.
POINTS: Mapping[str, int] = {"pos": 1, "neg": -1, "neu": 0}
SELECTED = 2
"""Solutions to select."""


def number(value: Any) -> float | None:
    """A finite number, also one in quotes, as models write now and then; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except ValueError:
        return None
    return read if math.isfinite(read) else None


def grade(value: Any) -> float | None:
    """The points that a judge gave, if they are among those it may give."""
    read = number(value)
    return read if read in GRADES else None


def points(selected: Sequence[str], labels: Mapping[str, str]) -> int:
    """Points of a selection, −2 to 2: one for each positive solution, minus one for each negative."""
    return sum(POINTS[labels[id]] for id in selected)


def pooled(values: npt.ArrayLike) -> float:
    """G-Score of grades, in [0, 100], or S-Score of points, in [−100, 100]: mean over all samples × 50.

    Samples without a value are left out; a user with more samples weighs more, as published.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(known.mean() * 50) if known.size else float("nan")
