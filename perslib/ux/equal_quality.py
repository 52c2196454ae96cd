"""Is a judge kinder to its own family's replies when people found them equally good?

Preference seen in shares of "good" may be earned. Where people have labelled the replies, it can be looked for among
replies of equal gold: the judge's rates on gold-good and on gold-bad replies, own family less others (equalised odds,
Hardt, Price & Srebro 2016), and a common odds ratio over the strata (Mantel & Haenszel 1959), which is how tests of
people are searched for items that favour a group (differential item functioning, Holland & Thayer 1988). A judge whose
errors merely are many shows differences on neither side; one that favours its own calls its bad replies good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import chi2

from perslib.errors import DataError, Problem
from perslib.inference import FEWEST_USERS, LEVEL, RESAMPLES, SEED, holm, interval, resample_users
from perslib.ux.labels import BAD, GOOD, labels

Floats = npt.NDArray[np.float64]


def at_equal_quality(
    judgments: pd.DataFrame,
    families: Mapping[str, str],
    *,
    strata: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """One row a judge: own family against others at equal gold.

    `judgments`: case, model, judge, said, gold, and the columns of `strata` (scenario, say) that are to be equal as well;
    what could not be read is left out and counted. Columns:

    - good_gap, bad_gap: share called good of own less of others, among gold-good and gold-bad replies, each with
      …_low, …_high (cases resampled)
    - odds_ratio: Mantel–Haenszel, Σ a d / n over Σ b c / n; low, high (cases resampled); delta = −2.35 ln odds ratio (the
      scale of item analyses; beyond ±1.5 is large)
    - chi2, p: Mantel–Haenszel with continuity correction; p_holm over the judges
    - replies, cases, unread
    """
    if missing := [c for c in ("case", "model", "judge", "said", "gold", *strata) if c not in judgments]:
        raise DataError(Problem("judgments", f"has no column {', '.join(missing)}"))
    rows = []
    for judge, every in judgments.groupby("judge", sort=False):
        if judge not in families:
            raise DataError(Problem("families", f"does not say whose {judge} is"))
        said, gold = labels(every["said"], 3, place="said"), labels(every["gold"], place="gold")
        known = ~np.isnan(said) & ~np.isnan(gold)
        own = every[known]
        favoured = (own["model"].map(families) == families[str(judge)]).to_numpy()
        case, cases = pd.factorize(own["case"])
        stratum = pd.factorize(pd.MultiIndex.from_frame(own[["gold", *strata]].astype(str)))[0]
        counts = _counts(favoured, said[known] == GOOD, stratum, case, len(cases))
        weights = resample_users(len(cases), resamples if len(cases) >= FEWEST_USERS else 0, seed).astype(
            float
        )
        sides = {
            "good_gap": _gap(favoured, said[known] == GOOD, gold[known] == GOOD, case, len(cases), weights),
            "bad_gap": _gap(favoured, said[known] == GOOD, gold[known] == BAD, case, len(cases), weights),
            "log_odds": _log_odds(np.tensordot(counts, weights, axes=1)),
        }
        row: dict[str, Any] = {"judge": judge, "family": families[str(judge)]}
        for name, drawn in sides.items():
            ends = interval(drawn[1:], level)
            if name == "log_odds":
                row |= {"odds_ratio": float(np.exp(drawn[0])), "low": float(np.exp(ends[0]))}
                row |= {"high": float(np.exp(ends[1])), "delta": -2.35 * float(drawn[0])}
            else:
                row |= {name: float(drawn[0]), f"{name}_low": ends[0], f"{name}_high": ends[1]}
        statistic = mantel_haenszel(counts.sum(axis=3))
        rows.append(
            {**row, "chi2": statistic, "p": float(chi2.sf(statistic, 1)), "replies": int(known.sum()),
             "cases": len(cases), "unread": int(np.isnan(said).sum())}
        )  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p"]))


def mantel_haenszel(table: npt.ArrayLike) -> float:
    """χ² of 2 (favoured, others) × 2 (good, not) × strata: (|Σ a − Σ E a| − ½)² / Σ Var a, one degree of freedom."""
    t = np.asarray(table, dtype=float)
    n = t.sum(axis=(0, 1))
    rows, columns = t.sum(axis=1), t.sum(axis=0)
    kept = n > 1
    expected = (rows[0] * columns[0])[kept] / n[kept]
    variance = (rows[0] * rows[1] * columns[0] * columns[1])[kept] / (n[kept] ** 2 * (n[kept] - 1))
    if variance.sum() <= 0:
        return float("nan")
    apart = max(0.0, abs(float((t[0, 0][kept] - expected).sum())) - 0.5)
    return apart**2 / float(variance.sum())


def _counts(
    favoured: npt.NDArray[np.bool_],
    good: npt.NDArray[np.bool_],
    stratum: npt.NDArray[np.intp],
    case: npt.NDArray[np.intp],
    cases: int,
) -> Floats:
    """Favoured or not × good or not × stratum × case."""
    table = np.zeros((2, 2, max(1, int(stratum.max(initial=0)) + 1), cases))
    np.add.at(table, ((~favoured).astype(int), (~good).astype(int), stratum, case), 1.0)
    return table


def _log_odds(t: Floats) -> Floats:
    """Mantel–Haenszel's common log odds ratio of each resample; missing where it is zero or infinite."""
    n = t.sum(axis=(0, 1))
    weight = np.divide(1.0, n, out=np.zeros_like(n), where=n > 0)
    up, down = ((t[0, i] * t[1, 1 - i] * weight).sum(axis=0) for i in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((up > 0) & (down > 0), np.log(up / down), np.nan)


def _gap(
    favoured: npt.NDArray[np.bool_],
    good: npt.NDArray[np.bool_],
    side: npt.NDArray[np.bool_],
    case: npt.NDArray[np.intp],
    cases: int,
    weights: Floats,
) -> Floats:
    """Share called good of own replies less that of others', on one side of gold, in each resample."""
    shares = []
    for of in (favoured, ~favoured):
        n, called = (np.bincount(case, (of & side & w).astype(float), cases) @ weights for w in (True, good))
        shares.append(np.divide(called, n, out=np.full(n.shape, np.nan), where=n > 0))
    return shares[0] - shares[1]
