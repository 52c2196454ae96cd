"""The labels of UXBench: 1 good or satisfied, −1 bad, 0 neutral (three classes only); None could not be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.inference import floats

GOOD, NEUTRAL, BAD = 1, 0, -1
NAMES = {GOOD: "good", NEUTRAL: "neutral", BAD: "bad"}
Floats = npt.NDArray[np.float64]


def labels(values: npt.ArrayLike | Sequence[object], classes: int = 2, place: str = "labels") -> Floats:
    """Labels as floats, NaN where there is none; any other value is an error that names it and its row."""
    known = floats(pd.Series(values, dtype=object).where(lambda v: v.notna(), None))
    allowed = [BAD, GOOD] if classes == 2 else [BAD, NEUTRAL, GOOD]
    wrong = np.flatnonzero(~np.isnan(known) & ~np.isin(known, allowed))
    if len(wrong):
        raise DataError(
            Problem(f"{place} row {wrong[0]}", f"is {known[wrong[0]]:g}, expected one of {allowed}, or none"),
            "1 is good, −1 bad, 0 neutral (with classes=3).",
        )
    return known
