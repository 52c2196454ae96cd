"""When a judge of good and bad says nothing, learned on cases of users whom the model has not seen.

fit_abstention(logits, good, users, alpha=0.1)     # sets of labels with a promise; elsewhere no verdict
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perslib.errors import DataError, Problem
from perslib.stats.calibrate.conformal import quantile_over_users
from perslib.stats.resample.leave_one_out import Bools, Floats


@dataclass(frozen=True)
class Abstention:
    """Split conformal sets of the two labels, each label by itself, over users.

    The set of a case holds `good` if −s ≤ `good_misfit`, and `bad` if s ≤ `bad_misfit`, s being its log odds. Of good cases
    of a new user a share of at least 1 − alpha has `good` in its set, and so for bad ones, whatever the model, as long as
    users are exchangeable. It is an average over users. A verdict stands where the set holds one label only; elsewhere the
    model abstains.
    """

    alpha: float = 0.1
    good_misfit: float = float("inf")
    bad_misfit: float = float("inf")
    users: int = 0

    def sets(self, logits: Floats) -> tuple[Bools, Bools]:
        """Return whether good, and bad, is in the set of each case; both where there is no score."""
        s = np.asarray(logits, dtype=float)
        return ~(-s > self.good_misfit), ~(s > self.bad_misfit)


def fit_abstention(logits: Floats, good: Bools, owner: npt.NDArray[np.object_], alpha: float = 0.1) -> Abstention:
    """Fit misfits that keep the promise of `Abstention` to cases of users that the model has not seen."""
    if not 0 < alpha < 1:
        raise DataError(Problem("alpha", f"is {alpha}, expected a share between 0 and 1 such as 0.1"))
    known = ~np.isnan(logits)
    bounds = [
        quantile_over_users(sign * logits[known & side], owner[known & side], alpha)
        for sign, side in ((-1.0, good), (1.0, ~good))
    ]
    return Abstention(alpha, bounds[0], bounds[1], len(set(owner[known].tolist())))
