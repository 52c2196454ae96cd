"""Sets of scores that hold the user's true score with a stated probability: split conformal, over users.

Turns of one user are alike, users are exchangeable; so users, not turns, are what coverage is counted over. Each
of K calibration users spreads a weight of 1/(K+1) evenly over their turns, and the last 1/(K+1) lies at infinity,
for the new user. The threshold is the (1 − α)-quantile of the calibration turns' misfits under these weights.

Guarantee: a turn drawn at random from a new user, exchangeable with the calibration users, lies in its set with
probability ≥ 1 − α, whatever the judge and however dependent the turns of a user are. It is an average over
users: single users can lie below, which `coverage` shows. It needs calibration users that had no part in fitting
the distribution. With fewer than (1 − α)/α of them nothing smaller than all five scores can be promised.

The misfit of score k is |F(k − 1) + p_k / 2 − ½|, how far from its middle the predicted distribution has k; so a
set is always a run of neighbouring scores around the median.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError
from perslib.stats.calibrate.fitted import of_one_judge
from perslib.stats.calibrate.user_scale import SCORES, Floats, to_scale
from perslib.stats.resample.leave_one_out import Resamples, floats

SET = [f"set{s}" for s in range(1, 6)]


@dataclass(frozen=True)
class Conformal:
    """Sets of all scores whose misfit is at most `threshold`."""

    alpha: float
    threshold: float
    users: int
    """How many calibration users stand behind it."""
    p: str = "p"

    def transform(self, verdicts: pd.DataFrame) -> pd.DataFrame:
        """Return the verdicts with boolean columns set1 … set5: the scores that the set holds; missing if unscored."""
        misfit = misfits(verdicts, self.p)
        # The best-fitting score is always in: no set is empty, and coverage can only gain.
        inside = misfit <= np.maximum(self.threshold, misfit.min(axis=1))[:, None]
        unscored = np.isnan(misfit).any(axis=1)
        columns = {
            name: pd.Series(pd.arrays.BooleanArray(inside[:, k], unscored.copy()), index=verdicts.index)
            for k, name in enumerate(SET)
        }
        return verdicts.assign(**columns)


def fit_conformal(calibration: pd.DataFrame, *, alpha: float = 0.1, p: str = "p") -> Conformal:
    """Return the threshold for coverage 1 − alpha, from verdicts on calibration users with `gold`.

    The distribution stands in the columns `{p}1` … `{p}5`: a judge's own, or a fitted calibrator's (`ordinal_p`).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, expected a share between 0 and 1 such as 0.1")
    if "gold" not in calibration:
        raise DataError("calibration frame: column 'gold' is missing", "Join the users' own scores in.")
    of_one_judge(calibration, "calibration frame")
    misfit = misfits(calibration, p)
    known = calibration["gold"].notna().to_numpy() & ~np.isnan(misfit).any(axis=1)
    gold = to_scale(floats(calibration.loc[known, "gold"])).astype(np.int64)
    observed = misfit[known][np.arange(len(gold)), gold - 1]
    users = calibration.loc[known, "user"]
    return Conformal(alpha, quantile_over_users(observed, users, alpha), int(users.nunique()), p)


def quantile_over_users(misfit: Floats, user: npt.ArrayLike, alpha: float) -> float:
    """Return the (1 − alpha)-quantile of misfits, users weighing alike and one more at infinity."""
    number, names = pd.factorize(np.asarray(user, dtype=object))
    order = np.argsort(misfit, kind="stable")
    reached = np.cumsum(1 / np.bincount(number)[number[order]]) / (len(names) + 1)
    place = int(np.searchsorted(reached, 1 - alpha - 1e-12))
    return float(misfit[order][place]) if place < len(order) else float("inf")


def misfits(verdicts: pd.DataFrame, p: str) -> Floats:
    """Return how far each of the five scores lies from the middle of the predicted distribution, one row a verdict."""
    columns = [f"{p}{s}" for s in SCORES]
    if missing := [c for c in columns if c not in verdicts]:
        raise DataError(f"verdicts: column {missing[0]!r} is missing", "Sets need a distribution: see `p`.")
    probability = floats(verdicts[columns])
    return np.abs(np.cumsum(probability, axis=1) - probability / 2 - 0.5)


def coverage(sets: pd.DataFrame) -> dict[str, float]:
    """Measure how sets did on verdicts with `gold`.

    covered, covered_low, covered_high: mean over users, which is what is promised; turns: over turns; lowest_user; size:
    how many scores a set holds.
    """
    known = sets.dropna(subset=["gold", *SET])
    inside = known[SET].to_numpy(dtype=bool)
    held = inside[np.arange(len(known)), to_scale(floats(known["gold"])).astype(np.int64) - 1]
    of_users = pd.Series(held, dtype=float).groupby(known["user"].to_numpy()).mean()
    users = Resamples(of_users.index)
    covered = users.estimate(users.mean(of_users), "covered", "share")
    return covered | {"turns": held.mean(), "lowest_user": of_users.min(), "size": inside.sum(axis=1).mean()}
