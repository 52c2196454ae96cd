"""Does a judge rate the candidates of its own model family higher than other judges do?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from perslib.inference import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    holm,
    interval,
    resample_users,
    two_sided_p,
)
from perslib.inference.power import proper_share
from perslib.replay.scores import SCORE, by_judge, divided


def self_preference(
    verdicts: pd.DataFrame,
    families: Mapping[str, str],
    score: str = SCORE,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """One row a judge: how much more it gives its own family than judges of other families give the same replies.

        preference = mean(s − s̄ | own family's candidates) − mean(s − s̄ | other families' candidates)

    with s the judge's score of a reply and s̄ the mean of the other judges' scores of it; the second term takes
    out that a judge is strict or mild to everybody. `families` maps candidates, and backbones or judges, to
    families. Judges of the same family are not among the others, for they would share the preference; a judge
    without a family is. Only replies that all of them scored count.

    Columns: judge, backbone, family, own and others (the two means), preference, low, high, p (two-sided, resampled
    users), p_holm (over the judges), own_candidates, other_candidates, judges (the others), turns (replies), users,
    why (what is lacking where there is no value).
    """
    proper_share("level", level)
    named: list[dict[str, Any]] = []
    columns: list[pd.Series] = []
    for of in by_judge(verdicts, score):
        about = {"judge": None, "backbone": None, **of.judged_by}
        family = next((families[n] for n in (about["backbone"], about["judge"]) if n in families), None)
        named.append({**about, "family": family})
        table = pd.DataFrame(of.score, pd.MultiIndex.from_frame(of.turns), of.candidates)
        columns.append(table.rename_axis(columns="candidate").stack().rename(len(columns)))
    replies = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    rows = []
    for place, about in enumerate(named):
        rivals = [i for i, rival in enumerate(named) if i != place and rival["family"] != about["family"]]
        found = _preference(replies, place, rivals, about["family"], families, resamples, seed, level)
        rows.append({**about, **found})
    table = pd.DataFrame(rows, columns=_COLUMNS)
    table["p_holm"] = holm(table["p"].to_numpy(float))
    return table


_COLUMNS = [
    *("judge", "backbone", "family", "own", "others", "preference", "low", "high", "p", "p_holm"),
    *("own_candidates", "other_candidates", "judges", "turns", "users", "why"),
]


def _preference(
    replies: pd.DataFrame,
    place: int,
    rivals: list[int],
    family: str | None,
    families: Mapping[str, str],
    resamples: int,
    seed: int,
    level: float,
) -> dict[str, Any]:
    common = replies[[place, *rivals]].dropna()
    candidate = common.index.get_level_values("candidate")
    of = candidate.map(lambda name: families.get(name))
    own, other = np.asarray(of == family), np.asarray(of.notna() & (of != family))
    counts = {
        "own_candidates": candidate[own].nunique(),
        "other_candidates": candidate[other].nunique(),
        "judges": len(rivals),
        "turns": int((own | other).sum()),
    }
    if family is None:
        return {**counts, "own_candidates": 0, "why": "the judge's family is not known"}
    if not rivals:
        return {**counts, "why": "there is no judge of another family"}
    for among, what in ((own, "its own"), (other, "another")):
        if not among.any():
            return {**counts, "why": f"no candidate of {what} family was scored by all these judges"}
    above = (common[place] - common[rivals].mean(axis=1)).to_numpy(float)
    user, users = pd.factorize(common.index.get_level_values("user"), sort=True)
    sums = [np.bincount(user, values, len(users)) for values in (own, own * above, other, other * above)]
    standing = min(int((sums[i] > 0).sum()) for i in (0, 2))
    weights = resample_users(len(users), resamples if standing >= FEWEST_USERS else 0, seed).astype(float)
    n, total, n_other, total_other = np.array(sums) @ weights
    ours, theirs = divided(total, n), divided(total_other, n_other)
    preference = ours - theirs
    low, high = interval(preference[1:], level)
    values = {"own": float(ours[0]), "others": float(theirs[0]), "preference": float(preference[0])}
    p = two_sided_p(preference[1:])
    return {**counts, **values, "low": low, "high": high, "p": p, "users": len(users), "why": None}
