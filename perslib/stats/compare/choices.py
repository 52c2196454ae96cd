"""What judges of pairs choose: who is preferred, what the order of showing does, and strengths with ties.

    preferences(counts)                        # who wins pairs, ties and all (UXBench, Table 10)
    bradley_terry(counts, families)            # strengths with ties, own family and the order of showing
    order_effects(choices)                     # pairs that a judge saw in both orders

Choices are a frame, one row a judgment: judge, a, b (whose replies), case, first ("a" or "b": which was shown
first), choice ("a", "b", "tie", or missing where the answer could not be read).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax
from scipy.stats import norm

from perslib.errors import DataError, Problem
from perslib.stats.compare.paired import mcnemar
from perslib.stats.resample.resamples import LEVEL, Floats, Resamples, floats, holm, wilson

CHOICES = ("a", "b", "tie")
WINS = ["a_wins", "b_wins", "ties"]


def check_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the frame, or raise an error that names what is lacking or wrong."""
    if missing := [c for c in ("judge", "a", "b", "case", "first", "choice") if c not in choices]:
        raise DataError(Problem("choices", f"has no column {', '.join(missing)}"))
    for column, allowed in (("first", CHOICES[:2]), ("choice", CHOICES)):
        wrong = choices[column].notna() & ~choices[column].isin(allowed)
        if wrong.any():
            at = int(wrong.to_numpy().argmax())
            problem = f"{column} is {choices[column].iloc[at]!r}, expected {', '.join(allowed)}"
            raise DataError(Problem(f"choices row {at}", problem))
    return choices


def exact_test(a_wins: int, b_wins: int, ties: int = 0, *, split: bool = False) -> float:
    """Exact two-sided binomial p of "either is chosen as often"; ties left out, or given half to each.

    Of an odd number of ties the last goes to the side that is behind.
    """
    less, more = sorted((a_wins, b_wins))
    return mcnemar(less + (ties + 1) // 2, more + ties // 2) if split else mcnemar(less, more)


def preferences(counts: pd.DataFrame) -> pd.DataFrame:
    """Test a table of wins: one row a judge and pair with columns judge, a, b, a_wins, b_wins, ties (counts).

    Adds share (of a, ties half), share_low and share_high (Wilson), share_p (`exact_test`, ties split), share_p_holm (over
    the rows), and share_p_excluded (without ties).
    """
    table = counts.reset_index(drop=True)
    n, half = table[WINS].sum(axis=1), table["a_wins"] + table["ties"] / 2
    low, high = wilson(half, n)
    rows = table[WINS].round().astype(int).to_numpy().tolist()
    p = np.array([exact_test(*row, split=True) for row in rows])
    table = table.assign(share=half / n.where(n > 0), share_low=low, share_high=high, share_p=p)
    return table.assign(share_p_holm=holm(p), share_p_excluded=[exact_test(*row) for row in rows])


def order_effects(choices: pd.DataFrame, *, unit: str = "case") -> pd.DataFrame:
    """Measure what the order of showing does, from pairs that a judge saw in both orders; one row a judge.

    - consistent: share of pairs with the same choice both times, a tie counting as a choice
    - first_twice, second_twice: shares chosen by place, the first (second) shown both times
    - position_bias = first_twice − second_twice, with position_bias_low and position_bias_high (over units);
      position_bias_p by McNemar on these two
    - first_share: share of decided judgments that went to the reply shown first

    Further columns: pairs, units, left_out (seen in one order only, or one of the two could not be read).
    """
    key = ["judge", "a", "b", "case"]
    known = check_choices(choices)
    shown = known.dropna(subset=["first", "choice"]).drop_duplicates([*key, "first"])
    sides = {"a": 1.0, "b": -1.0, "tie": 0.0}
    shown = shown.assign(place=floats(shown["first"].map(sides)) * floats(shown["choice"].map(sides)))  # 1: the first
    rows = []
    for judge, every in known.groupby("judge", sort=False):
        own = shown[shown["judge"] == judge]
        wide = own.pivot(index=list(dict.fromkeys([*key, unit])), columns="first", values="place")
        places = wide.reindex(columns=["a", "b"]).dropna()
        first, second = ((places == side).all(axis=1).to_numpy(float) for side in (1, -1))
        units = Resamples(places.index.get_level_values(unit))
        bias = units.estimate(units.mean(first - second), "position_bias")
        decided = own.loc[own["place"] != 0, "place"]
        means = {"consistent": places["a"] == -places["b"], "first_twice": first, "second_twice": second}
        rows.append(
            {
                **{"judge": judge, "pairs": len(places), **{k: pd.Series(v).mean() for k, v in means.items()}},
                **bias,
                "position_bias_p": mcnemar(int(first.sum()), int(second.sum())),
                **{"first_share": (decided > 0).mean(), "units": len(units)},
                "left_out": len(every.drop_duplicates(key)) - len(places),
            }
        )
    return pd.DataFrame(rows)


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
    kinds, labels_ = zip(*terms, (TIE, TIE)) if len(at) > len(terms) else zip(*terms)
    table = pd.DataFrame({"term": labels_, "kind": kinds, "estimate": at, "se": se})
    p = np.where(table["kind"] == TIE, np.nan, 2 * norm.sf(np.abs(at) / se))
    return table.assign(estimate_low=at - reach, estimate_high=at + reach, estimate_p=p)


def _terms(
    counts: pd.DataFrame, names: Sequence[str], families: Mapping[str, str] | None, by_judge: bool
) -> dict[tuple[str, str], Floats]:
    """What each term adds to μ_a − μ_b in each line of counts, by its kind and name."""

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
    """Parameters of the greatest penalised likelihood (Newton's method; log ν last), and their covariance."""
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
        apart = design - np.einsum("lo,lop->lp", p, design)[:, None]
        information = np.einsum("lo,lop,loq->pq", expected, apart, apart) + np.diag(prior)
        step = np.linalg.pinv(information) @ (np.einsum("lo,lop->p", won - expected, design) - prior * at)
        at = at + step
        if np.abs(step).max() < 1e-10:
            break
    return at, np.linalg.pinv(information)
