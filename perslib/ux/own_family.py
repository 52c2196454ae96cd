"""Does a judge favour its own model family? From shares of "good", one a model and judge (UXBench, Table 9).

A judge's raw gap, own family less the others, mixes three things: that its family's replies may be better, that judges
differ in strictness, and preference. With M[model, judge] the share of replies called good, double centring

    R = M − row means − column means + grand mean

takes out how good a model is to all judges and how mild a judge is to all models; what is left of the gap in R is the
judge's alone. (Of J judges, an own preference of γ shows in R as γ (1 − 1/J), and less if others share it.)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.stats import LEVEL, RESAMPLES, SEED, holm
from perslib.ux.cases import GOOD, labels

Floats = npt.NDArray[np.float64]
#: Up to so many ways to choose the own models, all of them are tried.
MOST_EXACT = 20_000
ALL = "all judges"


class Permuted(NamedTuple):
    """A difference of means with its permutation p and the interval that belongs to it."""

    gap: float
    p: float
    low: float
    high: float
    permutations: int
    exact: bool


def double_centred(shares: pd.DataFrame) -> pd.DataFrame:
    """Models × judges less row means and column means, plus the grand mean."""
    values = shares.astype(float)
    return values.sub(values.mean(axis=1), axis=0) - values.mean(axis=0) + values.to_numpy().mean()


def permuted(
    values: npt.ArrayLike,
    own: npt.ArrayLike,
    *,
    draws: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Permuted:
    """Mean of the own models less mean of the others, and how often chance labels part them as far (two-sided).

    All choices of own models are tried where there are few enough (`MOST_EXACT`), else as many as `draws`. The interval
    holds every shift of the own models that the same test does not reject; without enough models to reject anything
    (two in a family of ten, say) it is unbounded. That is what so few models can tell.
    """
    x, is_own = np.asarray(values, dtype=float), np.asarray(own, dtype=bool)
    n, k = len(x), int(is_own.sum())
    if not 0 < k < n:
        return Permuted(float("nan"), float("nan"), float("nan"), float("nan"), 0, False)
    chosen, exact = _choices(n, k, is_own, draws, seed)
    ours, theirs = chosen / k, (1 - chosen) / (n - k)
    of_values, of_own = ours @ x - theirs @ x, ours @ is_own - theirs @ is_own
    gap = float(x[is_own].mean() - x[~is_own].mean())

    def p_of(shift: float) -> float:
        """p once the own models are moved down by `shift`."""
        return float((np.abs(of_values - shift * of_own) >= abs(gap - shift) - 1e-9).mean())

    ends = [_end(p_of, gap, side, float(np.ptp(x)), 1 - level) for side in (-1, 1)]
    return Permuted(gap, p_of(0.0), ends[0], ends[1], len(chosen), exact)


def _choices(n: int, k: int, own: npt.NDArray[np.bool_], draws: int, seed: int) -> tuple[Floats, bool]:
    """One row a way to choose k of n; drawn at random, the observed one is among them."""
    if comb(n, k) <= MOST_EXACT:
        rows = np.array(list(combinations(range(n), k)))
        chosen = np.zeros((len(rows), n))
        np.put_along_axis(chosen, rows, 1.0, axis=1)
        return chosen, True
    order = np.argsort(np.random.default_rng(seed).random((draws, n)), axis=1)
    return np.vstack([own, order < k]).astype(float), False


def _end(p_of: Any, gap: float, side: int, scale: float, alpha: float) -> float:
    """Where, going from the gap to one side, shifts begin to be rejected: p never rises on the way."""
    step = max(scale, 1e-9)
    for _ in range(60):
        if p_of(gap + side * step) <= alpha:
            break
        step *= 2
        if step > 1e6 * max(scale, 1e-9):
            return side * float("inf")
    inside, outside = 0.0, step
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p_of(gap + side * middle) > alpha else (inside, middle)
    return gap + side * outside


def own_family_gaps(
    shares: pd.DataFrame,
    families: Mapping[str, str],
    *,
    draws: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """One row a judge, and one of all: own family less others, raw and double-centred, from models × judges.

    Columns: judge, family, own_models, other_models, own and others (mean shares), raw, raw_low, raw_high, p_raw, and
    the same of the double-centred `adjusted`; p_holm corrects the p of `adjusted` over the judges; permutations, exact.
    The last row is the mean of the judges' adjusted gaps, tested by permuting the families of the models.
    """
    named = _checked(shares, families)
    residual = double_centred(shares)
    settings: dict[str, Any] = {"draws": draws, "seed": seed, "level": level}
    rows = []
    for judge in shares:
        own = named == families[str(judge)]
        raw, adjusted = (permuted(frame[judge], own, **settings) for frame in (shares, residual))
        column = shares[judge].to_numpy(float)
        rows.append(
            {
                **{"judge": judge, "family": families[str(judge)]},
                **{"own_models": int(own.sum()), "other_models": int((~own).sum())},
                **{"own": _mean(column[own]), "others": _mean(column[~own])},
                **{"raw": raw.gap, "raw_low": raw.low, "raw_high": raw.high, "p_raw": raw.p},
                **{"adjusted": adjusted.gap, "low": adjusted.low, "high": adjusted.high, "p": adjusted.p},
                **{"permutations": adjusted.permutations, "exact": adjusted.exact},
            }
        )
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"])
    together = _together(residual, named, families, draws, seed)
    return pd.concat([table, pd.DataFrame([together])], ignore_index=True)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _checked(shares: pd.DataFrame, families: Mapping[str, str]) -> npt.NDArray[np.object_]:
    """The models' families; an error names those without, and cells without a share."""
    lost = [str(name) for name in [*shares.index, *shares.columns] if str(name) not in families]
    if lost:
        raise DataError(
            Problem(
                "families", f"does not say whose {', '.join(lost[:5])} {'is' if len(lost) == 1 else 'are'}"
            ),
            "Name the family of every model and every judge.",
        )
    if shares.isna().to_numpy().any():
        where = shares.isna().stack()
        raise DataError(
            Problem("shares", f"there is none for (model, judge) {where[where].index[0]}"),
            "Every judge has to judge every model; leave out the model or the judge.",
        )
    return np.array([families[str(name)] for name in shares.index], dtype=object)


def _together(
    residual: pd.DataFrame, named: npt.NDArray[np.object_], families: Mapping[str, str], draws: int, seed: int
) -> dict[str, Any]:
    """Mean of the adjusted gaps, and how often models with shuffled families have one as large."""
    of_judges = [families[str(judge)] for judge in residual]
    values = residual.to_numpy(float)
    judges = [j for j, family in enumerate(of_judges) if 0 < (named == family).sum() < len(named)]
    if not judges:
        return {"judge": ALL, "adjusted": float("nan"), "p": float("nan")}

    def mean_gap(order: npt.NDArray[np.intp]) -> float:
        gaps = []
        for j in judges:
            own = named[order] == of_judges[j]
            gaps.append(values[own, j].mean() - values[~own, j].mean())
        return float(np.mean(gaps))

    rng = np.random.default_rng(seed)
    observed = mean_gap(np.arange(len(named)))
    few = min(draws, 2000)
    reached = sum(abs(mean_gap(rng.permutation(len(named)))) >= abs(observed) - 1e-9 for _ in range(few))
    return {
        "judge": ALL,
        "adjusted": observed,
        "p": (reached + 1) / (few + 1),
        "permutations": few,
        "exact": False,
    }


def shares_of(judgments: pd.DataFrame) -> pd.DataFrame:
    """Models × judges: percent of replies called good, of all that were judged; what could not be read is not good."""
    good = labels(judgments["said"], 3, place="said") == GOOD
    return 100 * pd.Series(good.astype(float)).groupby(
        [judgments["model"].to_numpy(), judgments["judge"].to_numpy()]
    ).mean().unstack().rename_axis(index="model", columns="judge")
