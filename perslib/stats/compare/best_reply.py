"""Several replies to a request: whether a judge picks what this person likes best, and what its mistakes cost.

    measure_best_replies(rated, ["learned", "everyone"], control="everyone")

`rated` has a row a reply: user, a request (`turn_id`), candidate, gold, and a column of scores for each judge. Of each request:

best_reply   1 where the judge's highest reply is (one of) the person's highest; of equal scores each counts in part
regret       the person's rating of their own best reply less that of the judge's pick, in points of `gold`
pairs_right  share of the pairs that the person rated differently which the judge orders alike, equal scores counting half
tau          of each user: Kendall's τ_b between the judge's and the person's mean by candidate (three candidates or more)

Intervals are over users.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from perslib.stats.resample.leave_one_out import Floats, Resamples, Scale, ratio

_SCALES: dict[str, Scale] = {"best_reply": "share", "pairs_right": "share", "tau": "correlation"}
MEASURES = ("best_reply", "regret", "pairs_right", "tau")
#: Means that differ by less are equal.
DECIMALS = 9
#: Candidates that a user must have rated for an order of them.
FEWEST = 3


def by_request(rated: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Return what the judge's scores are worth in each request: user, best_reply, regret, pairs_right; NaN where
    nothing differs.
    """
    rows = []
    for (user, request), own in rated.groupby(["user", "turn_id"], sort=False):
        gold, score = own["gold"].to_numpy(float), own[judge].to_numpy(float)
        picked = score == np.nanmax(score) if np.isfinite(score).any() else np.zeros(len(score), bool)
        known = {"user": user, "turn_id": request, "best_reply": np.nan, "regret": np.nan, "pairs_right": np.nan}
        one, two = np.triu_indices(len(own), 1)
        liked, judged = np.sign(gold[one] - gold[two]), np.sign(score[one] - score[two])
        if liked.any() and picked.any():
            known["best_reply"] = float((gold == gold.max())[picked].mean())
            known["regret"] = float(gold.max() - gold[picked].mean())
            known["pairs_right"] = float(np.nanmean((1 + liked * judged)[liked != 0] / 2))
        rows.append(known)
    return pd.DataFrame(rows, columns=["user", "turn_id", "best_reply", "regret", "pairs_right"])


def signs_of_pairs(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return which of every two candidates is ahead in two tables with a column a candidate: 1, −1, or 0.

    It is 0 in both where one of the two tables lacks one of the two candidates.
    """
    known = np.isfinite(one) & np.isfinite(other)
    i, j = np.triu_indices(one.shape[1], 1)
    both = known[:, i] & known[:, j]
    gaps = (np.subtract(own[:, i], own[:, j], out=np.zeros(both.shape), where=both) for own in (one, other))
    x, y = (np.sign(np.round(differences, DECIMALS)) for differences in gaps)
    return x, y


def tau(x: Floats, y: Floats, otherwise: float = np.nan) -> Floats:
    """Return Kendall's τ_b of each row of signs x and y: Σ x y / √(Σ x² · Σ y²); `otherwise` where one orders nothing."""
    return ratio((x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1)), otherwise)


def kendall(one: Floats, other: Floats) -> Floats:
    """Return Kendall's τ_b of two tables of users × candidates, row by row; missing for too few candidates, or equal
    ones in `one`.

    Where `other` orders nothing it is right by chance: 0.
    """
    x, y = signs_of_pairs(one, other)
    varies = ((np.isfinite(one) & np.isfinite(other)).sum(axis=1) >= FEWEST) & x.any(axis=1)
    return np.where(varies, tau(x, y, otherwise=0.0), np.nan)


def measure_rank_agreement(rated: pd.DataFrame, judge: str) -> pd.Series:
    """Return Kendall's τ_b between judge and person over the candidates' means, by user; missing for too few
    candidates.
    """
    means = rated.dropna(subset=judge).groupby(["user", "candidate"])[["gold", judge]].mean().unstack()
    return pd.Series(kendall(means["gold"].to_numpy(float), means[judge].to_numpy(float)), means.index, dtype=float)


def measure_best_replies(rated: pd.DataFrame, judges: Sequence[str], control: str = "") -> pd.DataFrame:
    """Return every measure of every judge with its interval, and its difference to the control's on the same requests.

    Columns: judge, metric, value, value_low, value_high, gain, gain_low, gain_high (judge less control), requests, users.
    """
    users = Resamples(rated["user"].unique())
    drawn: dict[tuple[str, str], Floats] = {}
    rows = []
    for judge in [*dict.fromkeys([*([control] if control else []), *judges])]:
        each = by_request(rated, judge)
        at = pd.Index(users.names).get_indexer(each["user"])
        for metric in MEASURES:
            if metric == "tau":
                values = measure_rank_agreement(rated, judge).reindex(users.names).to_numpy()
                place = np.arange(len(users))
            else:
                values, place = each[metric].to_numpy(), at
            known = np.isfinite(values)
            total = np.bincount(place[known], values[known], len(users)) @ users.weights
            count = np.bincount(place[known], minlength=len(users)) @ users.weights
            mean = ratio(total, count)
            drawn[judge, metric] = mean
            about = {"judge": judge, "metric": metric, **users.estimate(mean, scale=_SCALES.get(metric, "plain"))}
            if control:
                about |= users.estimate(mean - drawn[control, metric], "gain")
            rows.append({**about, "requests": int(known.sum()), "users": len(np.unique(place[known]))})
    table = pd.DataFrame(rows)
    return table[table["judge"].isin(judges)].reset_index(drop=True)
