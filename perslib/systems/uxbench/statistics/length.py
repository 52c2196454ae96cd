"""Whether judges prefer long replies, beside what people do."""

from __future__ import annotations

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.stats.agreement.gold import of_judges, with_gold
from perslib.stats.calibrate.user_scale import to_scale
from perslib.stats.resample.leave_one_out import Floats, Resamples, estimate, floats


def length_audit(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Measure whether a judge likes long replies more than the users do, one row a judge and backbone.

    All slopes are per doubling of the reply's length, in standard deviations of the score (or gold) concerned, with
    scenarios as they are (one intercept each):

    - of_score, of_gold: of the judge's score, of the users' own; excess = of_score − of_gold
    - at_equal_gold: of the score once gold is known (one intercept a gold score): zero where the judge goes by length
      only as far as it tells what the users thought

    with excess_low, excess_high, at_equal_gold_low, at_equal_gold_high (over users) and at_equal_gold_p. `turns` and
    `users` have both score and gold, `unscored` are rated turns without a score. Where there is no turn with both, numbers
    are missing.
    """
    frame = with_gold(verdicts, corpus, ["raw"])
    length = corpus.turns["response"].str.len().to_numpy(float)
    frame["length"] = np.log2(np.maximum(1, length[frame["place"].to_numpy(int)]))
    rows = []
    for row, own in of_judges(frame):
        rated = own.assign(score=floats(own["raw"]), gold=floats(own["gold"])).dropna(subset="gold")
        known = rated.dropna(subset="score")
        users = Resamples(known["user"])
        groups = known["scenario"], to_scale(known["gold"])
        scenario, gold = (pd.get_dummies(group).to_numpy(float) for group in groups)
        x, s, g = (known[c].to_numpy(float) for c in ("length", "score", "gold"))
        of_score, of_gold = (_slopes(x, y, scenario, users) for y in (s, g))
        at_equal_gold = _slopes(x, s, np.hstack([scenario, gold[:, 1:]]), users)
        audit = {"of_score": of_score[0], "of_gold": of_gold[0]}
        audit |= estimate(at_equal_gold, "at_equal_gold", p=True) | estimate(of_score - of_gold, "excess")
        counts = {"turns": len(known), "users": len(users), "unscored": len(rated) - len(known)}
        rows.append({**row._asdict(), **audit, **counts})
    return pd.DataFrame(rows)


def _slopes(x: Floats, y: Floats, controls: Floats, users: Resamples) -> Floats:
    """Return the least-squares slope of y, in standard deviations, on x beside the controls, under each column of user
    weights.

    One matrix product gives the normal equations of all of them; a little ridge (1e-6) where one lacks a level.
    """
    if not len(x):
        return np.full(users.weights.shape[1], np.nan)
    y = (y - y.mean()) / y.std() if y.std() > 0 else np.zeros(len(y))
    design = np.column_stack([x - x.mean(), controls])
    k = design.shape[1]
    moments, products = np.zeros((len(users), k * k)), np.zeros((len(users), k))
    np.add.at(moments, users.group, np.einsum("ij,ik->ijk", design, design).reshape(len(x), -1))
    np.add.at(products, users.group, design * y[:, None])
    a = (users.weights.T @ moments).reshape(-1, k, k) + 1e-6 * np.eye(k)
    return np.asarray(np.linalg.solve(a, (users.weights.T @ products)[..., None])[:, 0, 0])
