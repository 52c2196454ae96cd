"""Strengths from pairs, with ties: Bradley and Terry's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax
from scipy.stats import norm

from perslib.errors import DataError, Problem
from perslib.stats.resample.leave_one_out import LEVEL, Floats
from perslib.systems.uxbench.statistics.choices import WINS

#: Strengths are drawn towards zero as by this many e-folds of prior spread, so that whoever wins always has a finite one.
SPREAD = 10.0

OWN, FIRST, TIE = "own family", "shown first", "tie"


def bradley_terry(
    counts: pd.DataFrame, families: Mapping[str, str] | None = None, *, by_judge: bool = False
) -> pd.DataFrame:
    """Fit strengths to a table of wins, with ties, the order of showing, and own-family preference.

    With μ_a = λ_a + γ · [a is of the judge's family] + δ · [a is shown first], and likewise μ_b, a judge chooses

        P(a) = e^{μ_a} / N,   P(b) = e^{μ_b} / N,   P(tie) = ν e^{(μ_a + μ_b) / 2} / N,   N the sum of the three

    (Bradley & Terry 1952; ties as in Davidson 1970). λ sums to zero. γ is seen apart from λ only where judges of several
    families compare the same models.

    Parameters
    ----------
    counts : columns judge, a, b, a_wins, b_wins, ties, and first where orders are known.
    families : of models and judges; with them own-family preference is a term.
    by_judge : whether each judge has a preference of its own.

    Standard errors take judgments as independent; where a case is judged often, they are too small.

    Columns: term, kind, estimate, se, estimate_low, estimate_high, estimate_p.
    """
    names = sorted({*counts["a"], *counts["b"]})
    if len(names) < 2:
        raise DataError(Problem("counts", "compare fewer than two models"))
    terms = _terms(counts, names, families, by_judge)
    at, covariance = _fit(terms, counts[WINS].to_numpy(float))
    # Strengths as contrasts to their mean, so that their errors do not hang on which of them is left out.
    centre = np.eye(len(at))
    centre[: len(names), : len(names)] -= 1 / len(names)
    at, se = centre @ at, np.sqrt(np.diag(centre @ covariance @ centre.T))
    reach = norm.ppf((1 + LEVEL) / 2) * se
    kinds, labels = zip(*[*terms, (TIE, TIE)][: len(at)])
    table = pd.DataFrame({"term": labels, "kind": kinds, "estimate": at, "se": se})
    p = np.where(table["kind"] == TIE, np.nan, 2 * norm.sf(np.abs(at) / se))
    return table.assign(estimate_low=at - reach, estimate_high=at + reach, estimate_p=p)


def _terms(
    counts: pd.DataFrame, names: Sequence[str], families: Mapping[str, str] | None, by_judge: bool
) -> dict[tuple[str, str], Floats]:
    """Return what each term adds to μ_a − μ_b in each line of counts, by its kind and name."""

    def difference(of_a: pd.Series, of_b: pd.Series) -> Floats:
        return of_a.to_numpy(float) - of_b.to_numpy(float)

    judge, a, b = counts["judge"], counts["a"], counts["b"]
    terms = {("strength", name): difference(a == name, b == name) for name in names}
    if families is not None:
        family = judge.map(families)
        own = difference(a.map(families) == family, b.map(families) == family)
        of = {name: own * (judge == name) for name in dict.fromkeys(judge)} if by_judge else {OWN: own}
        terms |= {(OWN, str(name)): np.asarray(column) for name, column in of.items() if column.any()}
    if "first" in counts and counts["first"].notna().any():
        terms[FIRST, FIRST] = difference(counts["first"] == "a", counts["first"] == "b")
    return terms


def _fit(terms: Mapping[tuple[str, str], Floats], outcome: Floats) -> tuple[Floats, Floats]:
    """Return parameters of the greatest penalised likelihood (Newton's method; log ν last), and their covariance."""
    half = np.stack(list(terms.values()), axis=1)[:, None] / 2
    prior = np.array([1 / SPREAD**2 if kind == "strength" else 1e-6 for kind, _ in terms])
    design = np.concatenate([half, -half], axis=1)  # line × outcome × parameter
    if outcome[:, 2].any():
        design = np.pad(design, ((0, 0), (0, 1), (0, 1)))
        design[:, 2, -1], prior = 1, np.append(prior, 0)
    won, at = outcome[:, : design.shape[1]], np.zeros(design.shape[2])
    for _ in range(100):
        p = softmax(design @ at, axis=1)
        expected = won.sum(axis=1, keepdims=True) * p
        centred = design - np.einsum("lo,lop->lp", p, design)[:, None]
        information = np.einsum("lo,lop,loq->pq", expected, centred, centred) + np.diag(prior)
        step = np.linalg.pinv(information) @ (np.einsum("lo,lop->p", won - expected, design) - prior * at)
        at = at + step
        if np.abs(step).max() < 1e-10:
            break
    return at, np.linalg.pinv(information)
