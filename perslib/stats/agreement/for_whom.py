"""For whom probabilities of 1 to 5 are right: a judge can be calibrated over all users and for hardly any of them alone.

    measure_for_whom(p, gold, users, history)     # one judge: all users together, and each

Of one user there are few replies, so what a user shows is drawn towards what all show (a normal distribution of users around
their mean; DerSimonian & Laird 1986), and an error of calibration stands beside its chance level: what a judge whose
probabilities are exactly right would show on the same replies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, rankdata

from perslib.stats.calibrate.user_scale import SCORES
from perslib.stats.resample.leave_one_out import SEED, Floats, Ints, Resamples

#: From this score on a user is satisfied: what bins of probabilities are about.
SATISFIED = 4
#: Bins of all replies, and replies in a bin of one user.
BINS, IN_A_BIN = 10, 5
#: Draws behind a chance level.
DRAWS = 200
WORSE_DRAWS = 50
FLOOR = 1e-4


@dataclass(frozen=True)
class ForWhom:
    """What a judge's probabilities are worth: in numbers for all users, and a row a user."""

    numbers: dict[str, float]
    """log_loss, rps, gain (in log loss over the users' own shares) with bounds; users_worse (share of users for whom the judge's
    probabilities are worse than their own shares) with bounds; ece and user_ece; and of these three the chance level."""
    users: pd.DataFrame
    """user, replies, error (mean expected less mean given score) and gain, each drawn towards that of all, with bounds;
    p_worse, the probability that the gain is below zero."""


def measure_for_whom(p: npt.ArrayLike, gold: npt.ArrayLike, users: npt.ArrayLike, history: npt.ArrayLike) -> ForWhom:
    """Return for whom a judge's probabilities are right.

    Parameters
    ----------
    p, history : the judge's probabilities of 1 to 5, and the shares of each reply's user in other places, a row a reply.
    gold : the score that the user gave, a whole number.
    users : whose reply it is.
    """
    shares, own = np.asarray(p, float), np.asarray(history, float)
    given, all_users = np.asarray(gold, int), Resamples(users)
    (loss, rps), (of_history, _) = (measure_losses(one, given) for one in (shares, own))
    numbers = {
        **all_users.estimate(all_users.mean(loss), "log_loss", "error"),
        **all_users.estimate(all_users.mean(rps), "rps", "error"),
        **all_users.estimate(all_users.mean(of_history - loss), "gain"),
    }
    good = shares[:, SATISFIED - 1 :].sum(axis=1)
    numbers |= _measure_bins(good, given >= SATISFIED, all_users.group)
    error = shrink_users(shares @ SCORES - given, all_users.group)
    gain = shrink_users(of_history - loss, all_users.group)
    each = Resamples(all_users.names)
    worse = np.asarray(norm.cdf(0, gain["value"], gain["se"]))
    numbers |= each.estimate(each.mean(worse), "users_worse", "share")
    numbers |= {"users_worse_chance": _draw_worse(shares, own, all_users.group)}
    numbers |= {"replies": float(len(given)), "users": float(len(each))}
    table = pd.DataFrame({"user": all_users.names, "replies": np.bincount(all_users.group)})
    for name, values in (("error", error), ("gain", gain)):
        reach = norm.ppf(0.975) * values["se"]
        columns = {
            name: values["value"],
            f"{name}_low": values["value"] - reach,
            f"{name}_high": values["value"] + reach,
        }
        table = table.assign(**columns)
    return ForWhom(numbers, table.assign(p_worse=worse))


def _draw_worse(shares: Floats, own: Floats, user: Ints) -> float:
    """Return the share of users for whom probabilities that are exactly right seem worse than the users' own shares."""
    rng, ends = np.random.default_rng(SEED), shares.cumsum(axis=1)[:, :-1]
    drawn = []
    for _ in range(WORSE_DRAWS):
        given = 1 + (rng.random((len(shares), 1)) > ends).sum(axis=1)
        gain = shrink_users(measure_losses(own, given)[0] - measure_losses(shares, given)[0], user)
        drawn.append(norm.cdf(0, gain["value"], gain["se"]).mean())
    return float(np.mean(drawn))


def measure_losses(p: Floats, gold: Floats | Ints) -> tuple[Floats, Floats]:
    """Return log loss and ranked probability score of each row of probabilities; smaller is better."""
    is_hit = gold[:, None] == SCORES
    return -np.log(np.maximum(p, FLOOR))[is_hit], ((p.cumsum(axis=1) - (gold[:, None] <= SCORES)) ** 2).sum(axis=1) / 4


def _measure_bins(p: Floats, is_good: npt.NDArray[np.bool_], user: Ints) -> dict[str, float]:
    """Return the error of calibration of all replies and the mean of the users' own, each with its chance level."""
    whole = ((rankdata(p) - 0.5) / len(p) * BINS).astype(int)
    rank = pd.Series(p).groupby(user).rank().to_numpy() - 0.5
    size = np.bincount(user)[user]
    within = (rank / size * np.maximum(1, size // IN_A_BIN)).astype(int)
    of_user = np.unique(np.stack([user, within]), axis=1, return_inverse=True)[1].ravel()
    owner = np.zeros(of_user.max() + 1, int)
    owner[of_user] = user
    rng = np.random.default_rng(SEED)
    drawn = rng.random((DRAWS, len(p))) < p
    measures = dict[str, float]()
    for name, bins, sizes in (("ece", whole, None), ("user_ece", of_user, np.bincount(user))):
        errors = [_sum_bins(p - good, bins) for good in (is_good, *drawn)]
        each = [e.sum() / len(p) if sizes is None else (np.bincount(owner, e) / sizes).mean() for e in errors]
        measures |= {name: float(each[0]), f"{name}_chance": float(np.mean(each[1:]))}
    return measures


def _sum_bins(off: Floats, bins: Ints) -> Floats:
    return np.abs(np.bincount(bins, off))


def shrink_users(values: Floats, user: Ints) -> dict[str, Floats]:
    """Return users' means drawn towards that of all, with their standard errors, and the spread of users beyond chance."""
    n = np.bincount(user)
    means = np.bincount(user, values) / n
    within = ((values - means[user]) ** 2).sum() / max(1, len(values) - len(n))
    noise = np.maximum(within, FLOOR**2) / n
    weight = 1 / noise
    middle = weight @ means / weight.sum()
    scatter = weight @ (means - middle) ** 2 - (len(n) - 1)
    between = max(0.0, scatter / (weight.sum() - (weight**2).sum() / weight.sum())) if len(n) > 1 else 0.0
    total = 1 / (noise + between)
    middle, of_middle = total @ means / total.sum(), 1 / total.sum()
    pull = noise / (noise + between)
    se = np.sqrt((1 - pull) * noise + pull**2 * of_middle)
    return {"value": pull * middle + (1 - pull) * means, "se": se, "spread": np.sqrt(between)}
