"""Judges that choose the better of two replies: who is preferred, and what the order of showing does.

Choices are a frame, one row a judgment: judge, a, b (whose replies), case, first ("a" or "b": which was shown first),
choice ("a", "b", "tie", or missing where the answer could not be read).

`bradley_terry` estimates strengths from such choices, with ties, the order of showing, and own-family preference.

With μ_a = λ_a + γ · [a is of the judge's family] + δ · [a is shown first], and likewise μ_b, a judge chooses

    P(a) = e^{μ_a} / N,   P(b) = e^{μ_b} / N,   P(tie) = ν e^{(μ_a + μ_b) / 2} / N,   N the sum of the three

(Bradley & Terry 1952; ties as in Davidson 1970). λ sums to zero. γ is seen apart from λ only where judges of several
families compare the same models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import binom, chi2, norm

from perslib.errors import DataError, Problem
from perslib.stats import LEVEL, RESAMPLES, SEED, holm, interval, resample_units, resampled_mean, wilson
from perslib.ux.comparing import mcnemar

CHOICES = ("a", "b", "tie")


def checked_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """The frame, or an error that names what is lacking or wrong."""
    if missing := [c for c in ("judge", "a", "b", "case", "first", "choice") if c not in choices]:
        raise DataError(Problem("choices", f"has no column {', '.join(missing)}"))
    for column, allowed in (("first", CHOICES[:2]), ("choice", CHOICES)):
        wrong = choices[column].notna() & ~choices[column].isin(allowed)
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            raise DataError(
                Problem(
                    f"choices row {at}",
                    f"{column} is {choices[column].iloc[at]!r}, expected {', '.join(allowed)}",
                )
            )
    return choices


def exact_test(a_wins: int, b_wins: int, ties: int = 0, *, split: bool = False) -> float:
    """Exact two-sided binomial p of "either is chosen as often"; ties left out, or given half to each.

    Of an odd number of ties the last goes to the side that is behind.
    """
    less, more = sorted((a_wins, b_wins))
    if split:
        less, more = less + (ties + 1) // 2, more + ties // 2
    n = less + more
    return min(1.0, 2 * float(binom.cdf(min(less, more), n, 0.5))) if n else 1.0


def preferences(counts: pd.DataFrame) -> pd.DataFrame:
    """Tests of a table of wins: one row a judge and pair with columns judge, a, b, a_wins, b_wins, ties (counts).

    Adds share (of a, ties half), low and high (Wilson), p_excluded and p_split (`exact_test`), p_holm (of p_split, over
    the rows).
    """
    table = counts.reset_index(drop=True)
    n = table[["a_wins", "b_wins", "ties"]].sum(axis=1)
    half = table["a_wins"] + table["ties"] / 2
    low, high = wilson(half, n)
    rows = [[round(v) for v in row] for row in table[["a_wins", "b_wins", "ties"]].to_numpy(float)]
    split = [exact_test(*row, split=True) for row in rows]
    return table.assign(
        share=half / n.where(n > 0), low=low, high=high, p_excluded=[exact_test(*r) for r in rows], p_split=split,
        p_holm=holm(np.array(split)),
    )  # fmt: skip


def order_effects(
    choices: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL
) -> pd.DataFrame:
    """What the order of showing does, from pairs that a judge saw in both orders; one row a judge.

    - consistent: share of pairs with the same choice both times, a tie counting as a choice
    - first_twice, second_twice: shares chosen by place, the first (second) shown both times
    - position_bias = first_twice − second_twice, with low and high (cases resampled); p by McNemar on these two
    - first_share: share of decided judgments that went to the reply shown first

    Further columns: pairs, cases, left_out (seen in one order only, or one of the two could not be read).
    """
    known = checked_choices(choices)
    key = ["judge", "a", "b", "case"]
    shown = known.dropna(subset=["first", "choice"]).drop_duplicates([*key, "first"])
    place = {"a": shown["first"].map({"a": 1.0, "b": -1.0}), "b": shown["first"].map({"a": -1.0, "b": 1.0})}
    by_place = np.select([shown["choice"] == "a", shown["choice"] == "b"], [place["a"], place["b"]], 0.0)
    shown = shown.assign(place=by_place)
    rows = []
    for judge, every in known.groupby("judge", sort=False):
        own = shown[shown["judge"] == judge]
        both = own.pivot(index=key, columns="first", values=["choice", "place"]).reindex(
            columns=pd.MultiIndex.from_product([["choice", "place"], ["a", "b"]])
        )
        both = both.dropna()
        pairs = len(both)
        same = (both[("choice", "a")] == both[("choice", "b")]).to_numpy(float)
        places = both["place"].to_numpy(float)
        first, second = ((places == side).all(axis=1).astype(float) for side in (1.0, -1.0))
        decided = own[own["place"] != 0]
        row: dict[str, Any] = {"judge": judge, "pairs": pairs}
        for name, value in (("consistent", same), ("first_twice", first), ("second_twice", second)):
            row[name] = float(value.mean()) if pairs else np.nan
        row["position_bias"] = row["first_twice"] - row["second_twice"]
        case, weights = resample_units(both.index.get_level_values("case"), resamples, seed)
        row["low"], row["high"] = interval(resampled_mean(first - second, case, weights)[1:], level)
        row["p"] = mcnemar(int(first.sum()), int(second.sum()))
        row["first_share"] = float((decided["place"] > 0).mean()) if len(decided) else np.nan
        seen = len(every.drop_duplicates(key))
        rows.append({**row, "cases": len(weights), "left_out": seen - pairs})
    return pd.DataFrame(rows)


Floats = npt.NDArray[np.float64]
#: Strengths are drawn towards zero as by this many e-folds of prior spread, so that whoever wins always has a finite one.
SPREAD = 10.0
OWN, FIRST, TIE = "own family", "shown first", "tie"


@dataclass(frozen=True)
class Strengths:
    """What was fitted: `table` (term, kind, estimate, se, low, high, p) and `tests` (of terms left out: term, chi2, p)."""

    table: pd.DataFrame
    tests: pd.DataFrame
    judgments: float


def bradley_terry(
    counts: pd.DataFrame,
    families: Mapping[str, str] | None = None,
    *,
    by_judge: bool = False,
    level: float = LEVEL,
) -> Strengths:
    """Fit strengths to a table of wins: columns judge, a, b, a_wins, b_wins, ties, and first where orders are known.

    With `families` (of models and judges) own-family preference is a term, or one a judge (`by_judge`). Standard errors
    take judgments as independent; where a case is judged often, they are too small. The likelihood-ratio tests compare
    the fit with one without the term.
    """
    names = sorted({*counts["a"], *counts["b"]})
    if len(names) < 2:
        raise DataError(Problem("counts", "compare fewer than two models"))
    columns, labelled = _design(counts, names, families, by_judge)
    outcome = counts[["a_wins", "b_wins", "ties"]].to_numpy(float)
    value, at, covariance = _fit(columns, outcome, len(names))
    se = np.sqrt(np.diag(covariance))
    z = norm.ppf((1 + level) / 2)
    rows: list[dict[str, Any]] = []
    # Strengths as contrasts to their mean, so that their errors do not hang on which of them is left out.
    centre = np.eye(len(at))
    centre[: len(names), : len(names)] -= 1 / len(names)
    at, se = centre @ at, np.sqrt(np.diag(centre @ covariance @ centre.T))
    for i, (kind, term) in enumerate(labelled):
        p = float(2 * norm.sf(abs(at[i]) / se[i])) if kind != "tie" else float("nan")
        rows.append(
            {"term": term, "kind": kind, "estimate": at[i], "se": se[i], "low": at[i] - z * se[i],
             "high": at[i] + z * se[i], "p": p}
        )  # fmt: skip
    tests = []
    for kind in (OWN, FIRST):
        place = [i for i, (k, _) in enumerate(labelled[: columns.shape[1]]) if k == kind]
        if place:
            without, *_ = _fit(np.delete(columns, place, axis=1), outcome, len(names))
            statistic = max(0.0, 2 * (without - value))
            p = float(chi2.sf(statistic, len(place)))
            tests.append({"term": kind, "chi2": statistic, "df": len(place), "p": p})
    return Strengths(pd.DataFrame(rows), pd.DataFrame(tests), float(outcome.sum()))


def _design(
    counts: pd.DataFrame, names: list[str], families: Mapping[str, str] | None, by_judge: bool
) -> tuple[Floats, list[tuple[str, str]]]:
    """One row a line of counts, one column a term of μ_a − μ_b; (kind, name) of each column, and of the tie term."""
    a, b = (counts[side].map(names.index).to_numpy() for side in ("a", "b"))
    strength = np.zeros((len(counts), len(names)))
    strength[np.arange(len(counts)), a] += 1
    strength[np.arange(len(counts)), b] -= 1
    columns, labelled = [strength], [("strength", name) for name in names]
    if families is not None:
        own = {
            s: (counts[s].map(families) == counts["judge"].map(families)).to_numpy(float) for s in ("a", "b")
        }
        judges = list(dict.fromkeys(counts["judge"])) if by_judge else [None]
        for judge in judges:
            of = np.ones(len(counts)) if judge is None else (counts["judge"] == judge).to_numpy(float)
            column = (own["a"] - own["b"]) * of
            if column.any():
                columns.append(column[:, None])
                labelled.append((OWN, OWN if judge is None else str(judge)))
    if "first" in counts:
        side = counts["first"].map({"a": 1.0, "b": -1.0}).fillna(0.0).to_numpy(float)
        if side.any():
            columns.append(side[:, None])
            labelled.append((FIRST, FIRST))
    return np.hstack(columns), [*labelled, ("tie", TIE)]


def _fit(columns: Floats, outcome: Floats, strengths: int) -> tuple[float, Floats, Floats]:
    """Penalised negative log likelihood at its least, the parameters (log ν last), and their covariance."""
    n = columns.shape[1] + 1
    has_ties = outcome[:, 2].any()
    prior = np.zeros(n)
    prior[:strengths] = 1 / SPREAD**2
    prior[strengths:-1] = 1e-6

    def value(at: Floats) -> tuple[float, Floats]:
        apart, log_tie = columns @ at[:-1], at[-1] if has_ties else -np.inf
        logits = np.column_stack([apart / 2, -apart / 2, np.full(len(apart), log_tie)])
        total = np.logaddexp.reduce(logits, axis=1)
        said = outcome * np.where(outcome > 0, logits - total[:, None], 0.0)
        p = np.exp(logits - total[:, None])
        n_all = outcome.sum(axis=1)
        by_apart = (outcome[:, 0] - outcome[:, 1] - n_all * (p[:, 0] - p[:, 1])) / 2
        slope = np.r_[columns.T @ by_apart, (outcome[:, 2] - n_all * p[:, 2]).sum() if has_ties else 0.0]
        return float(-said.sum() + (prior * at**2).sum() / 2), -slope + prior * at

    start = np.zeros(n)
    found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 500})
    at = found.x
    step = 1e-5
    hessian = np.array([(value(at + step * e)[1] - value(at - step * e)[1]) / (2 * step) for e in np.eye(n)])
    if not has_ties:
        hessian[-1, -1] = 1.0
        at = np.r_[at[:-1], -np.inf]
        return (
            float(found.fun),
            np.where(np.isfinite(at), at, -99.0),
            np.linalg.pinv((hessian + hessian.T) / 2),
        )
    return float(found.fun), at, np.linalg.pinv((hessian + hessian.T) / 2)
