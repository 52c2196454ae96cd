"""Whether judges prefer replies of their own family, from their scores of the same replies.

own_family_preference(scores, made_by, users, families)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.stats.resample.leave_one_out import Floats, Resamples, name_bounds, ratio
from perslib.stats.resample.sign_flips import holm

_COLUMNS = [
    "judge", "family", "own", "others", *name_bounds("preference", p=True), "preference_p_holm",
    "own_makers", "other_makers", "judges", "rows", "units", "why",
]  # fmt: skip


def own_family_preference(
    scores: pd.DataFrame,
    made_by: Sequence[str] | pd.Series,
    unit: npt.ArrayLike,
    families: Mapping[Any, str],
    *,
    judge_families: Mapping[Any, str] | None = None,
) -> pd.DataFrame:
    """Return how much more each judge gives its own family than judges of other families give the same replies.

        preference = mean(s − s̄ | own family's replies) − mean(s − s̄ | other families' replies)

    with s the judge's score of a reply and s̄ the mean of the other judges' scores of it; the second term takes
    out that a judge is strict or mild to everybody. Judges of the same family are not among the others, for they would
    share the preference; a judge without a family is. Only rows that all of them scored count.

    Parameters
    ----------
    scores : rows (replies) × judges, missing where a judge gave none.
    made_by : who wrote the reply of each row.
    unit : what was sampled (users), a name for each row.
    families : the family of each who wrote, as far as it is known, and of each judge, a column of `scores`.
    judge_families : the judges' families, where names of judges may be names of writers, too.

    Columns: judge, family, own and others (the two means), preference, preference_low, preference_high, preference_p
    (two-sided), preference_p_holm (over the judges), own_makers, other_makers, judges (the others), rows, units, why (what
    is lacking where there is no value).
    """
    of_judge = families if judge_families is None else judge_families
    about = pd.DataFrame({"maker": list(made_by), "unit": np.asarray(unit, dtype=object)}, index=scores.index)
    about["family"] = about["maker"].map(lambda name: families.get(name))
    rows = []
    for judge in scores:
        family = of_judge.get(judge)
        rivals = [other for other in scores if other != judge and of_judge.get(other) != family]
        common = scores[[judge, *rivals]].dropna()
        above = (common[judge] - common[rivals].mean(axis=1)).to_numpy(float)
        row = _preference(above, about.loc[common.index], family, len(rivals))
        rows.append({"judge": judge, "family": family, "judges": len(rivals), **row})
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table.assign(preference_p_holm=holm(table["preference_p"]))


def _preference(above: Floats, about: pd.DataFrame, family: str | None, rivals: int) -> dict[str, Any]:
    known = about["family"].notna().to_numpy()
    own = known & about["family"].eq(family).to_numpy()
    other = known & ~own
    makers = {"own_makers": about["maker"][own].nunique(), "other_makers": about["maker"][other].nunique()}
    counts = {**makers, "rows": int(known.sum())}
    if family is None:
        return {**counts, "own_makers": 0, "why": "the judge's family is not known"}
    if not rivals:
        return {**counts, "why": "there is no judge of another family"}
    for among, what in ((own, "its own"), (other, "another")):
        if not among.any():
            return {**counts, "why": f"no candidate of {what} family was scored by all these judges"}
    drawn = Resamples(about["unit"])
    sums = np.array([drawn.sum_by_unit(values) for values in (own, own * above, other, other * above)])
    n, total, n_other, total_other = sums @ drawn.weights
    ours, theirs = ratio(total, n), ratio(total_other, n_other)
    means = {"own": float(ours[0]), "others": float(theirs[0])}
    return {**counts, **means, **drawn.estimate(ours - theirs, "preference", p=True), "units": len(drawn)}
