"""Do people like different models best, beyond what few ratings give by chance?

    each, chance = compare_user_preferences(rated)

`rated` has a row a reply: user, scenario, session, turn_id (of the request), model, and `liked`, its rating less the mean of
the request's. Chance is what comes out when whose conversation it was is shuffled: if people do not differ, it could have
been anybody's. Whole conversations change hands, since a topic moves all replies of a conversation alike: where it does,
requests shuffled one by one find a difference in 35 % of simulated studies of equal people, whole conversations in 1 %. They
change hands within what they have in common: scenario and models, where most share both with another user's.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.errors import NotEnough
from perslib.stats.compare.best_reply import DECIMALS, kendall
from perslib.stats.resample.leave_one_out import SEED, Bools, Floats, Ints, ratio
from perslib.stats.resample.sign_flips import holm

SHUFFLES = 1000
#: What conversations may have in common, the most first.
IN_COMMON = (["family", "models"], ["models"], ["family"])


def compare_user_preferences(
    rated: pd.DataFrame, shuffles: int = SHUFFLES, seed: int = SEED
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how each user likes each model beside everybody else; and how much people differ, with what chance gives.

    Columns of the first: user, requests, tau (between the user's order of the models and everybody else's), tau_chance (its
    mean when shuffled), tau_p_holm (of "no lower than by chance"), favourite, favourite_of_others. Rows of the second: differing
    (users with another favourite than everybody else), tau (its mean over users: it finds more); columns: value, chance,
    chance_low, chance_high (of 95 % of the shuffles), p (one-sided), users, p_holm (of the two). Its attribute `within` names
    what shuffled conversations have in common: without a topic there, people who keep to one topic each look like people of
    different tastes.
    """
    column, models = pd.factorize(rated["model"])
    unit, about = _units(rated)
    owner, names = pd.factorize(about["user"])
    if min(len(names), len(models)) < 2 or len(owner) == len(names):
        raise NotEnough(
            "Whose taste differs is not shown: that needs two people, two models, and people who rated several requests."
        )
    shape = len(owner), len(models)
    cell = unit * len(models) + column
    sums, counts = (
        np.bincount(cell, own, len(owner) * len(models)).reshape(shape).astype(float)
        for own in (rated["liked"].to_numpy(float), np.ones(len(cell)))
    )
    common, within = _group_common(about.assign(models=[row.tobytes() for row in counts > 0]))
    place, rng = np.argsort(common, kind="stable"), np.random.default_rng(seed)
    liking, drawn = _liking(sums, counts, owner, len(names)), []
    for _ in range(shuffles):
        shuffled = owner.copy()
        shuffled[place] = owner[np.lexsort((rng.random(len(owner)), common))]
        mean, others = _liking(sums, counts, shuffled, len(names))
        drawn.append((_differs(mean, others).sum(), kendall(mean, others)))
    favourite, tau = _differs(*liking), kendall(*liking)
    taus = pd.DataFrame([own for _, own in drawn])
    known = np.array([number for number, _ in drawn], float)
    comparable = int((np.isfinite(liking[0]).sum(axis=1) > 1).sum())
    rows = {
        "differing": {**_beside(float(favourite.sum()), known, 1), "users": comparable},
        "tau": {**_beside(float(pd.Series(tau).mean()), taus.mean(axis=1), -1), "users": int(np.isfinite(tau).sum())},
    }
    best = [np.nanargmax(part, axis=1) for part in liking]
    each = pd.DataFrame({"user": names, "requests": rated.groupby("user")["turn_id"].nunique()[names].to_numpy()})
    p = np.where(np.isfinite(tau), (1 + (taus <= tau + 10.0**-DECIMALS).sum()) / (1 + taus.notna().sum()), np.nan)
    each = each.assign(tau=tau, tau_chance=taus.mean().to_numpy(), tau_p_holm=holm(p))
    each["favourite"] = models[np.where(favourite, *best)]  # of equally liked models, everybody's
    chance = pd.DataFrame(rows).T
    chance = chance.assign(p_holm=holm(chance["p"]))
    chance.attrs["within"] = within
    return each.assign(favourite_of_others=models[best[1]]), chance


def _units(rated: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """Return the number of each row's conversation and the first row of each; requests, where most users have one
    conversation.
    """
    conversation = rated.groupby(["user", "scenario", "session"], sort=False).ngroup()
    has_several = conversation.groupby(rated["user"]).nunique().median() > 1
    unit = conversation if has_several else rated.groupby(["user", "turn_id"], sort=False).ngroup()
    return unit.to_numpy(), rated[~unit.duplicated()].reset_index(drop=True)


def _group_common(about: pd.DataFrame) -> tuple[Ints, list[str]]:
    """Return numbers of the groups within which conversations change hands, and what these have in common.

    Most are in a group with another user's.
    """
    about = about.assign(family=about["family"] if "family" in about else about["scenario"])
    for keys in IN_COMMON:
        if (about.groupby(keys)["user"].transform("nunique") > 1).mean() > 0.5:
            return about.groupby(keys).ngroup().to_numpy(), [key for key in keys if about[key].nunique() > 1]
    return np.zeros(len(about), int), []


def _liking(sums: Floats, counts: Floats, owner: Ints, users: int) -> tuple[Floats, Floats]:
    """Return how each user likes each model on average, and how all others like those that this user rated."""
    own, n = np.zeros((users, sums.shape[1])), np.zeros((users, sums.shape[1]))
    np.add.at(own, owner, sums)
    np.add.at(n, owner, counts)
    others = ratio(sums.sum(axis=0) - own, counts.sum(axis=0) - n, otherwise=0.0)
    return ratio(own, n), np.where(n > 0, others, np.nan)


def _differs(mean: Floats, others: Floats) -> Bools:
    """Return whether the user likes another model more than the one that all others like most."""
    of_others = np.nanargmax(others, axis=1)
    liked: Bools = mean[np.arange(len(mean)), of_others] < np.nanmax(mean, axis=1) - 10.0**-DECIMALS
    return liked


def _beside(value: float, drawn: Floats | pd.Series, tail: int) -> dict[str, float]:
    """Return a value with what chance gives; p of so much or more (`tail` 1), or so little or less (−1)."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    reached = tail * (np.asarray(drawn) - value) >= -(10.0**-DECIMALS)
    p = (1 + reached.sum()) / (1 + len(drawn)) if np.isfinite(value) else np.nan
    return {"value": value, "chance": float(np.mean(drawn)), "chance_low": low, "chance_high": high, "p": p}
