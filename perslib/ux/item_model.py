"""What moves a single judgment: logistic regression of "called good" with a random intercept a case.

    logit P(good) = α + model + judge + scenario + γ₁ [same family] + γ₂ [same model] + β log length + δ [first] (+ judge × both) + u_case

with u_case normal with spread σ, integrated out by Gauss–Hermite quadrature. Standard errors are a sandwich over cases, so
that they hold even where judgments of a case hang together in other ways than by u. What is the same for all rows is
left out, and a weak prior (spread 5 on the logit scale) keeps a model that is always called good at a finite coefficient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from perslib.errors import DataError, Problem
from perslib.inference import LEVEL, floats
from perslib.ux.labels import GOOD, labels

Floats = npt.NDArray[np.float64]
NODES = 15
SPREAD = 5.0


@dataclass(frozen=True)
class ItemModel:
    """`table`: term, kind, estimate (log odds), odds_ratio, low, high, p. `case_spread` is σ."""

    table: pd.DataFrame
    case_spread: float
    judgments: int
    cases: int


def item_model(
    judgments: pd.DataFrame,
    families: Mapping[str, str] | None = None,
    *,
    by_judge: bool = True,
    level: float = LEVEL,
) -> ItemModel:
    """Fit the model to one row a judgment: case, model, judge, said, and where there are any length, scenario, gold, first.

    `length` in characters enters as log₂, centred, so its odds ratio is that of doubling a reply; `gold` (1, −1) as a
    control for what people thought; `first` (1 shown first, 0 not) where pairs were judged. What could not be read is
    left out here. `families` of models and judges bring the same-family term.
    """
    if missing := [c for c in ("case", "model", "judge", "said") if c not in judgments]:
        raise DataError(Problem("judgments", f"has no column {', '.join(missing)}"))
    said = labels(judgments["said"], 3, place="said")
    kept = ~np.isnan(said)
    for optional in ("length", "gold", "first"):
        if optional in judgments:
            kept &= ~np.isnan(floats(judgments[optional]))
    own = judgments[kept].reset_index(drop=True)
    good = (said[kept] == GOOD).astype(float)
    return logistic(_columns(own, families, by_judge), good, own["case"], level)


def logistic(
    columns: Sequence[tuple[str, str, Floats]], good: Floats, groups: pd.Series, level: float = LEVEL
) -> ItemModel:
    """A logistic regression on named columns (term, kind, values), with a random intercept and clustered errors a group.

    Columns that do not vary are left out, but for the intercept.
    """
    if not 0 < good.sum() < len(good):
        raise DataError(
            "All of these judgments are the same", "A model of what moves them takes good and bad ones."
        )
    columns = [c for c in columns if c[0] == "intercept" or np.ptp(c[2]) > 0]
    x = np.column_stack([np.asarray(values, dtype=float) for _, _, values in columns])
    group, found = pd.factorize(groups)
    order = np.argsort(group, kind="stable")
    at, covariance = _fit(x[order], good[order], group[order], len(found))
    se, z = np.sqrt(np.diag(covariance)), norm.ppf((1 + level) / 2)
    rows = [
        {
            **{
                "term": term,
                "kind": kind,
                "estimate": at[i],
                "se": se[i],
                "odds_ratio": float(np.exp(at[i])),
            },
            **{"low": float(np.exp(at[i] - z * se[i])), "high": float(np.exp(at[i] + z * se[i]))},
            "p": float(2 * norm.sf(abs(at[i]) / se[i])),
        }
        for i, (term, kind, _) in enumerate(columns)
    ]
    return ItemModel(pd.DataFrame(rows), float(np.exp(at[-1])), len(good), len(found))


def _columns(
    own: pd.DataFrame, families: Mapping[str, str] | None, by_judge: bool
) -> list[tuple[str, str, Floats]]:
    """(term, kind, values); of each set of names the first is the one that others are compared with."""
    columns: list[tuple[str, str, Floats]] = [("intercept", "intercept", np.ones(len(own)))]
    for kind in ("model", "judge", "scenario"):
        if kind in own:
            names = sorted(own[kind].astype(str).unique())
            columns += [(name, kind, (own[kind].astype(str) == name).to_numpy(float)) for name in names[1:]]
    if families is not None:
        of = {side: own[side].map(families) for side in ("model", "judge")}
        columns.append(("same family", "preference", (of["model"] == of["judge"]).to_numpy(float)))
    columns.append(("same model", "preference", (own["model"] == own["judge"]).to_numpy(float)))
    if "gold" in own:
        columns.append(("gold", "gold", floats(own["gold"]) / 2))
    covariates: list[tuple[str, str, str, Floats]] = []
    if "first" in own:
        covariates.append(("shown first", "first", "position", floats(own["first"])))
    if "length" in own:
        length = np.log2(np.maximum(1, floats(own["length"])))
        covariates.append(("length, doubled", "length", "length", length - length.mean()))
    judges = sorted(own["judge"].astype(str).unique())[1:] if by_judge else []
    for term, short, kind, values in covariates:
        columns.append((term, kind, values))
        columns += [
            (f"{short} × {name}", kind, values * (own["judge"].astype(str) == name)) for name in judges
        ]
    return columns


def _fit(x: Floats, y: Floats, case: npt.NDArray[np.intp], cases: int) -> tuple[Floats, Floats]:
    """Coefficients with log σ last, and their sandwich covariance over cases. Rows of a case stand together."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    log_weights = np.log(weights / weights.sum())
    begin = np.searchsorted(case, np.arange(cases))
    p = x.shape[1]
    prior = np.r_[0.0, np.full(p - 1, 1 / SPREAD**2), 1e-2]

    def parts(at: Floats) -> tuple[float, Floats]:
        """Log likelihood, and the score of each case."""
        sigma = np.exp(at[-1])
        logits = (x @ at[:-1])[:, None] + sigma * nodes
        signed = np.where(y[:, None] > 0, logits, -logits)
        by_case = np.add.reduceat(-np.logaddexp(0.0, -signed), begin) + log_weights
        total = logsumexp(by_case, axis=1)
        posterior = np.exp(by_case - total[:, None])[case]
        residual = (y[:, None] - expit(logits)) * posterior
        slopes = np.add.reduceat(x * residual.sum(axis=1)[:, None], begin)
        of_sigma = np.add.reduceat((residual * nodes).sum(axis=1) * sigma, begin)
        return float(total.sum()), np.column_stack([slopes, of_sigma])

    def value(at: Floats) -> tuple[float, Floats]:
        total, scores = parts(at)
        return -total + float((prior * at**2).sum()) / 2, -scores.sum(axis=0) + prior * at

    start = np.r_[np.zeros(p), np.log(0.5)]
    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-11})
    at, step = found.x, 1e-4
    hessian = np.array(
        [(value(at + step * e)[1] - value(at - step * e)[1]) / (2 * step) for e in np.eye(p + 1)]
    )
    bread = np.linalg.pinv((hessian + hessian.T) / 2)
    scores = parts(at)[1]
    return at, bread @ (scores.T @ scores) @ bread * cases / max(1, cases - 1)
