"""Whether judges prefer replies of their own family, from published shares: `perslib.stats.own_family_preference` has it from scores.

    own_family_gaps(shares, families)    # shares of "good", models × judges (UXBench, Table 9)

A judge's raw gap, own family less the others, mixes three things: that its family's replies may be
better, that judges differ in strictness, and preference. With M[model, judge] the share of replies called good, double
centring

    R = M − row means − column means + grand mean

takes out how good a model is to all judges and how mild a judge is to all models; what is left of the gap in R is the
judge's alone. (Of J judges, an own preference of γ shows in R as γ (1 − 1/J), and less if others share it.)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.stats.resample.leave_one_out import FLIPS, LEVEL, SEED, name_bounds
from perslib.stats.resample.sign_flips import holm

#: Up to so many ways to choose the own models, all of them are tried.
MOST_EXACT = 20_000
#: How often the families of the models are shuffled.
SHUFFLES = 2000

ALL = "all judges"


def centre_doubly(shares: pd.DataFrame) -> pd.DataFrame:
    """Return models × judges less row means and column means, plus the grand mean."""
    values = shares.astype(float)
    return values.sub(values.mean(axis=1), axis=0) - values.mean(axis=0) + values.to_numpy().mean()


def permutation_test(values: npt.ArrayLike, own: npt.ArrayLike, name: str = "gap") -> dict[str, Any]:
    """Test the mean of the own models less the mean of the others: how often do chance labels part them as far?

    All choices of own models are tried where there are few enough (`MOST_EXACT`), else as many as `FLIPS`. The interval
    holds every shift of the own models that the same (two-sided) test does not reject; without enough models to reject
    anything (two in a family of ten, say) it is unbounded. That is what so few models can tell.

    Returns `name` (the difference) with its bounds and p, permutations (how many choices were tried), and exact (all).
    """
    x, is_own = np.asarray(values, dtype=float), np.asarray(own, dtype=bool)
    n, k = len(x), int(is_own.sum())
    if not 0 < k < n:
        return dict.fromkeys(name_bounds(name, p=True), np.nan) | {"permutations": 0, "exact": False}
    exact = comb(n, k) <= MOST_EXACT
    if exact:
        chosen = (np.array(list(combinations(range(n), k)))[..., None] == np.arange(n)).any(axis=1)
    else:  # the observed choice is among those drawn
        order = np.argsort(np.random.default_rng(SEED).random((FLIPS, n)), axis=1)
        chosen = np.vstack([is_own, order < k])
    contrast = chosen / k - ~chosen / (n - k)
    gaps, overlap = contrast @ x, contrast @ is_own
    gap = float(x[is_own].mean() - x[~is_own].mean())
    p = float((np.abs(gaps) >= abs(gap) - 1e-9).mean())
    # Moved by gap ± t, a choice parts the models as far as the own ones up to some t. The interval ends where
    # too few choices are left; the own choice, and the exact opposite of it, never fall behind.
    rest, rejected = gaps - gap * overlap, int((1 - LEVEL) * len(chosen) + 1e-9)
    same = np.abs(overlap) > 1 - 1e-12
    overlap = np.where(same, 0, overlap)
    one, other = rest / (1 + overlap), rest / (1 - overlap)
    reach = np.where(same, np.inf, np.maximum([-one, one], [other, -other]))
    below, above = map(float, np.sort(reach, axis=1)[:, -1 - rejected])
    result = dict(zip(name_bounds(name, p=True), (gap, gap - below, gap + above, p)))
    return result | {"permutations": len(chosen), "exact": exact}


def own_family_gaps(shares: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Compare own family with others for each judge, raw and double-centred (`permutation_test`).

    `shares` are models × judges, the share of replies called good; `families` names the family of every model and judge.

    Columns: judge, family, own_models, other_models, own_mean and others_mean (of the shares), raw_gap with bounds and p,
    and the same of the double-centred adjusted_gap; adjusted_gap_p_holm is corrected over the judges; permutations, exact.
    The last row is the mean of the judges' adjusted gaps, tested by permuting the families of the models.
    """
    named = _families_of(shares, families)
    residual = centre_doubly(shares)
    rows: list[dict[str, Any]] = []
    for judge in shares:
        own = named == families[str(judge)]
        means = shares[judge].astype(float).groupby(own).mean()
        row: dict[str, Any] = {
            "judge": judge,
            "family": families[str(judge)],
            "own_models": int(own.sum()),
            "other_models": int((~own).sum()),
            "own_mean": means.get(True, np.nan),
            "others_mean": means.get(False, np.nan),
            **permutation_test(shares[judge], own, "raw_gap"),
        }
        del row["permutations"], row["exact"]  # they come last, and are those of the adjusted gap
        rows.append(row | permutation_test(residual[judge], own, "adjusted_gap"))
    p_holm = holm(np.array([row["adjusted_gap_p"] for row in rows]))
    together = _mean_gap(residual, named, families)
    table = pd.DataFrame([*rows, together]).assign(adjusted_gap_p_holm=[*p_holm, np.nan])
    return table.astype({"own_models": "Int64"})


def _families_of(shares: pd.DataFrame, families: Mapping[str, str]) -> npt.NDArray[np.object_]:
    """Return the models' families; an error names those without, and cells without a share."""
    if lost := [str(name) for name in [*shares.index, *shares.columns] if str(name) not in families]:
        verb = "is" if len(lost) == 1 else "are"
        raise DataError(
            Problem("families", f"does not say whose {', '.join(lost[:5])} {verb}"),
            "Name the family of every model and every judge.",
        )
    if shares.isna().to_numpy().any():
        where = shares.isna().stack()
        raise DataError(
            Problem("shares", f"there is none for (model, judge) {where[where].index[0]}"),
            "Every judge has to judge every model; leave out the model or the judge.",
        )
    return np.array([families[str(name)] for name in shares.index], dtype=object)


def _mean_gap(residual: pd.DataFrame, named: npt.NDArray[np.object_], families: Mapping[str, str]) -> dict[str, Any]:
    """Return the mean of the adjusted gaps, and how often models with shuffled families have one as large."""
    own = np.column_stack([named == families[str(judge)] for judge in residual])
    there = own.any(axis=0) & ~own.all(axis=0)
    if not there.any():
        return {"judge": ALL}
    own, values = own[:, there], residual.to_numpy(float)[:, there]
    contrast = (own / own.sum(axis=0) - ~own / (~own).sum(axis=0)) / own.shape[1]
    rng = np.random.default_rng(SEED)
    orders = np.array([np.arange(len(own)), *(rng.permutation(len(own)) for _ in range(SHUFFLES))])
    gaps = np.einsum("mj,dmj->d", values, contrast[orders])
    p = (np.abs(gaps) >= abs(gaps[0]) - 1e-9).mean()
    about = {"permutations": SHUFFLES, "exact": False}
    return {"judge": ALL, "adjusted_gap": float(gaps[0]), "adjusted_gap_p": float(p), **about}
