"""Wilson's intervals of shares among independent draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

from perslib.stats.resample.leave_one_out import LEVEL, Floats


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of a share, elementwise: it stays in [0, 1] and holds for few cases and rare
    outcomes.

    (p + z²/2n ± z √(p (1 − p) / n + z² / 4n²)) / (1 + z² / n); missing without a case.
    """
    x, n = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    z = norm.ppf((1 + level) / 2)
    n = np.where(n > 0, n, np.nan)
    p = x / n
    middle, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.maximum(0, (middle - reach) / (1 + z**2 / n)), np.minimum(1, (middle + reach) / (1 + z**2 / n))


def with_wilson(frame: pd.DataFrame, column: str, n: npt.ArrayLike, level: float = LEVEL) -> pd.DataFrame:
    """Add Wilson's bounds `x_low` and `x_high` of a column `x` of percentages of `n` cases."""
    low, high = wilson(frame[column] / 100 * np.asarray(n), n, level)
    return frame.assign(**{f"{column}_low": 100 * low, f"{column}_high": 100 * high})
