"""Labels that are probably wrong: confident learning (Northcutt, Jiang & Chuang 2021).

    found = label_audit(out_of_fold(Reward(), lessons))
    found.rates                # how many good labels should be bad, and the other way round, by source
    found.suspects             # the cases to look at, the most suspicious first
    without_suspects(lessons, found)

A case counts as confidently good if P(good) of a model that has not seen its user is at least the mean P(good) of the
cases labelled good, and so for bad; where that contradicts its label, the label is suspected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from perslib.errors import DataError, Problem
from perslib.inference import floats
from perslib.ux.cases import Case
from perslib.ux.labels import BAD, GOOD, labels

Kind = TypeVar("Kind", bound=Case)


class Audit(NamedTuple):
    """`rates`: one row a label; `suspects`: one row a case; `joint`: given labels (rows) against confident ones."""

    rates: pd.DataFrame
    suspects: pd.DataFrame
    joint: pd.DataFrame


def label_audit(verdicts: pd.DataFrame) -> Audit:
    """The audit of out-of-fold verdicts (columns case, user, scenario, gold, p_good).

        t_j = mean p_j over cases labelled j;   a case is confidently j if p_j ≥ t_j (the likelier j where both are reached)
        Q̂_ij = n_i C_ij / Σ_j C_ij / n          with C_ij cases labelled i and confidently j

    rates: label, cases, suspected, wrong (share of this label's cases with the other true label, by Q̂), threshold.
    suspects: case, user, scenario, gold, p_good, margin (p of the other label less p of its own), largest first.
    """
    gold, p = labels(verdicts["gold"], place="gold"), floats(verdicts["p_good"])
    known = ~np.isnan(gold) & ~np.isnan(p)
    own, y, p = verdicts[known], gold[known] == GOOD, p[known]
    if not 0 < y.sum() < len(y):
        raise DataError(
            Problem("verdicts", "are on cases of one label"), "An audit compares good and bad ones."
        )
    # The model's probabilities of both labels; a label is confident from the mean of its own cases on.
    q = {GOOD: p, BAD: 1 - p}
    least = {GOOD: float(p[y].mean()), BAD: float((1 - p)[~y].mean())}
    reached = {side: q[side] >= least[side] for side in (GOOD, BAD)}
    sure = np.where(
        reached[GOOD] & reached[BAD], np.where(p >= 0.5, GOOD, BAD),
        np.where(reached[GOOD], GOOD, np.where(reached[BAD], BAD, 0)),
    )  # fmt: skip
    label = np.where(y, GOOD, BAD)
    joint = pd.DataFrame(
        [[int(((label == i) & (sure == j)).sum()) for j in (GOOD, BAD)] for i in (GOOD, BAD)],
        index=pd.Index(["good", "bad"], name="label"),
        columns=["good", "bad"],
    )
    suspected = (sure != 0) & (sure != label)
    margin = np.where(y, 1 - 2 * p, 2 * p - 1)
    named = [c for c in ("case", "user", "scenario", "gold", "p_good") if c in own]
    suspects = (
        own[named]
        .assign(margin=margin)[suspected]
        .sort_values("margin", ascending=False, kind="stable", ignore_index=True)
    )
    rates = []
    for name, side, other in (("good", GOOD, "bad"), ("bad", BAD, "good")):
        counted = joint.loc[name].sum()
        rates.append(
            {
                **{"label": name, "cases": int((label == side).sum())},
                "suspected": int((suspected & (label == side)).sum()),
                "wrong": float(joint.loc[name, other] / counted) if counted else float("nan"),
                "threshold": least[side],
            }
        )
    return Audit(pd.DataFrame(rates), suspects, joint)


def without_suspects(cases: Sequence[Kind], audit: Audit, most: int | None = None) -> list[Kind]:
    """The cases less those whose label is suspected; at most the `most` suspicious go."""
    names = audit.suspects["case"] if most is None else audit.suspects["case"].head(most)
    out = set(names)
    return [case for case in cases if case.case not in out]
