"""Are scores right on average, and are score distributions honest?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.inference import RESAMPLES, SEED, floats, mean_by
from perslib.metrics.gold import of_judges, with_gold

_P = [f"p{s}" for s in range(1, 6)]
#: Least probability that the log loss reckons with; a score held impossible that occurs costs ln 1000.
LEAST_P = 1e-3


def reliability(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    score: str = "raw",
    bins: int = 5,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Mean gold against predicted score, for a calibration plot: on the diagonal a judge is right on average.

    Up to 2 · `bins` different scores each stand for themselves; finer ones fall into `bins` groups of about
    equal size. Columns: judge, backbone, predicted (mean of the group), gold (mean), low, high (95 %, users
    resampled), turns, users.
    """
    tables = []
    for row, own in of_judges(with_gold(verdicts, corpus, [score])):
        scores = floats(own[score])
        gold = own["gold"].to_numpy(float, na_value=np.nan)
        frame = pd.DataFrame({"user": own["user"].to_numpy(), "predicted": scores, "gold": gold}).dropna()
        if frame.empty:
            continue
        few = frame["predicted"].nunique() <= 2 * bins
        cut = (
            frame["predicted"] if few else pd.qcut(frame["predicted"], bins, labels=False, duplicates="drop")
        )
        frame = frame.assign(group=cut)
        predicted = frame.groupby("group")["predicted"].mean().to_numpy()
        found = mean_by(frame, "gold", "group", resamples=resamples, seed=seed)
        about = {"judge": row.judge, "backbone": row.backbone, "predicted": predicted}
        tables.append(found.drop(columns="group").rename(columns={"mean": "gold"}).assign(**about))
    columns = ["judge", "backbone", "predicted", "gold", "low", "high", "turns", "users"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def proper_scores(
    verdicts: pd.DataFrame, corpus: Corpus, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """How well the distributions p1…p5 foretell the users' scores; lower is better.

    `rps`, the ranked probability score: Σ_{k<5} (P(s ≤ k) − [g ≤ k])² / 4. `log_loss`: −ln p_g, with
    p ≥ 0.001. Both are least when a judge says what it believes. Columns: judge, backbone, metric, value,
    low, high (95 %, users resampled), turns, users, unscored (rated turns without a distribution).
    """
    rows: list[dict[str, Any]] = []
    frame = with_gold(verdicts, corpus, _P)
    for row, own in of_judges(frame):
        gold = own["gold"].to_numpy(float, na_value=np.nan)
        p = np.column_stack([floats(own[c]) for c in _P])
        total = p.sum(axis=1)
        rated, known = np.isfinite(gold), np.isfinite(total) & (total > 0)
        keep = rated & known
        about = {"judge": row.judge, "backbone": row.backbone}
        losses = _losses(gold[keep].astype(int), p[keep] / total[keep, None])
        for name, loss in losses.items():
            part = pd.DataFrame({"user": own["user"].to_numpy()[keep], "loss": loss, "all": 0})
            found = mean_by(part, "loss", "all", resamples=resamples, seed=seed).rename(
                columns={"mean": "value"}
            )
            line = found.drop(columns="all").iloc[0].to_dict() if len(found) else {"turns": 0, "users": 0}
            rows.append({**about, "metric": name, **line, "unscored": int((rated & ~known).sum())})
    columns = ["judge", "backbone", "metric", "value", "low", "high", "turns", "users", "unscored"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"turns": int, "users": int})


def _losses(gold: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
    below = np.cumsum(p, axis=1)[:, :4]
    reached = gold[:, None] <= np.arange(1, 5)
    chosen = p[np.arange(len(gold)), gold - 1]
    return {
        "rps": ((below - reached) ** 2).sum(axis=1) / 4,
        "log_loss": -np.log(np.clip(chosen, LEAST_P, 1.0)),
    }
