"""What candidates reached where people rated some of the replies and the judge rated all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.inference import LEVEL, Estimate, classical_mean, ppi_mean
from perslib.inference.power import proper_share
from perslib.replay.names import ORIGINAL
from perslib.replay.scores import SCORE, Floats, Scores, aligned, by_judge


def prediction_powered(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    score: str = SCORE,
    *,
    other: str | None = None,
    gold: str = "score",
    level: float = LEVEL,
) -> pd.DataFrame:
    """Each candidate's mean score by people, with the judge's help: `perslib.inference.ppi_mean`, clustered by user.

    `labels` holds people's scores in the column `gold` by candidate and the keys of a turn (without `candidate`, as in
    the turns of a corpus, they are on the recorded replies); which replies were rated must have been left to chance.
    With `other`, the mean difference to that candidate, on the turns where both were judged, takes the mean's place.

    Columns: judge, backbone, candidate, other, labelled and unlabelled (judged replies or pairs), users (with
    labels), left_out (labels on replies that this judge did not see), classical (labels alone) and powered (both),
    each with …_low and …_high, lam (the weight given to the judge; near 0 where it knows nothing).
    """
    proper_share("level", level)
    rows = []
    for of in by_judge(verdicts, score):
        known = aligned(labels, gold, of)
        seen = _counts(labels, gold, of.candidates)
        for place, candidate in enumerate(of.candidates):
            if candidate != other:
                matched = int((np.isfinite(known[:, place]) & of.judged[:, place]).sum())
                about = {**of.judged_by, "candidate": candidate, "other": other}
                rows.append(
                    about | _row(of, known, place, other, level) | {"left_out": seen[place] - matched}
                )
    return pd.DataFrame(rows)


def _row(of: Scores, known: Floats, place: int, other: str | None, level: float) -> dict[str, Any]:
    gold, judged, asked = known[:, place], of.score[:, place], of.judged[:, place]
    if other is not None:
        to = of.column(other)
        gold, judged, asked = gold - known[:, to], judged - of.score[:, to], asked & of.judged[:, to]
    labelled = asked & np.isfinite(gold)
    rest = asked & ~labelled
    if labelled.any():
        few, many = of.user[labelled], of.user[rest]
        alone = classical_mean(gold[labelled], cluster=few, level=level)
        parts = (gold[labelled], judged[labelled], judged[rest])
        both = ppi_mean(*parts, cluster=few, cluster_unlabelled=many, level=level)
    else:
        alone = both = Estimate(np.nan, np.nan, np.nan, np.nan, 0, int(rest.sum()), 0)
    return {
        "labelled": both.n,
        "unlabelled": both.N,
        "users": both.clusters,
        **{"classical": alone.value, "classical_low": alone.low, "classical_high": alone.high},
        **{"powered": both.value, "powered_low": both.low, "powered_high": both.high, "lam": both.lam},
    }


def _counts(labels: pd.DataFrame, gold: str, candidates: list[str]) -> list[int]:
    """How many labels each candidate has in all."""
    rated = labels.dropna(subset=gold)
    names = rated["candidate"] if "candidate" in rated else pd.Series(ORIGINAL, rated.index)
    names = names.astype("str").fillna(ORIGINAL)
    return [int((names == c).sum()) for c in candidates]
