"""Looking at single turns: where judges disagree, what happens after a disappointment, odd verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from perslib.calibrate import to_scale
from perslib.corpus import SESSION, TURN, Corpus
from perslib.inference import RESAMPLES, SEED, floats
from perslib.metrics.agreement import DEFAULT, agreement
from perslib.metrics.gold import of_judges, with_gold


def disagreements(
    verdicts: pd.DataFrame, corpus: Corpus, score: str = "raw", judges: Sequence[str] | None = None
) -> pd.DataFrame:
    """Turns scored by at least two judges, those on which they differ most first.

    Columns: user, scenario, session, turn, gold, one column a judge (named `judge` or `judge (backbone)`),
    spread (highest less lowest score), error (mean |score − gold|), sides (True where some find the user
    satisfied and others do not). Order: spread, then error, then place in the corpus.
    """
    frame = with_gold(verdicts, corpus, [score])
    columns = {
        str(row): own.set_index("place")[score].astype("Float64").astype(float)
        for row, own in of_judges(frame)
        if judges is None or row.judge in judges
    }
    wide = pd.DataFrame(columns).sort_index()
    wide = wide[wide.notna().sum(axis=1) >= 2]
    about = corpus.turns.iloc[wide.index][TURN].set_index(wide.index)
    gold = corpus.turns["score"].iloc[wide.index].astype("Float64").astype(float)
    whole = pd.DataFrame(to_scale(wide.to_numpy(float)), wide.index, wide.columns)
    satisfied = (whole >= 4).where(wide.notna())
    table = about.assign(gold=gold, **wide)
    table["spread"] = wide.max(axis=1) - wide.min(axis=1)
    table["error"] = wide.sub(gold, axis=0).abs().mean(axis=1)
    table["sides"] = satisfied.astype(float).nunique(axis=1) > 1
    return table.sort_values(["spread", "error"], ascending=False, kind="stable", ignore_index=True)


def after_dissatisfied(
    verdicts: pd.DataFrame,
    corpus: Corpus,
    *,
    scores: Sequence[str] = ("raw",),
    metrics: Sequence[str] = DEFAULT,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Agreement by what the user said of the turn before: satisfied, dissatisfied, or first of the session.

    As `agreement`, with a first column `before`.
    """
    frame = with_gold(verdicts, corpus, scores)
    earlier = corpus.turns.groupby(SESSION, sort=False)["score"].shift()
    first = ~corpus.turns.duplicated(SESSION)
    before = pd.Series("not rated", index=corpus.turns.index)
    before = before.mask(earlier.ge(4).fillna(False).astype(bool), "satisfied")
    before = before.mask(earlier.le(3).fillna(False).astype(bool), "dissatisfied").mask(first, "first turn")
    labelled = verdicts.reset_index(drop=True).assign(before=before.to_numpy()[frame["place"].to_numpy(int)])
    options: dict[str, Any] = {"resamples": resamples, "seed": seed}
    return agreement(labelled, corpus, scores=scores, metrics=metrics, by="before", **options)


def consistency(verdicts: pd.DataFrame, score: str = "raw") -> pd.DataFrame:
    """Do a judge's parts fit each other? One row a judge; counts of verdicts.

    Columns: judge, backbone, verdicts, unscored, reason_missing (scored ≤ 3 without a reason),
    reason_surplus (scored ≥ 4 with one), side_differs (`satisfied` is not what the score says).
    """
    frame = verdicts.reset_index(drop=True)
    scores = floats(frame[score])
    low = pd.Series(to_scale(scores) <= 3) & np.isfinite(scores)
    high = pd.Series(to_scale(scores) >= 4)
    none = pd.Series(False, index=frame.index)
    named = frame["reason"].notna() if "reason" in frame else none
    said = (
        frame["satisfied"].astype("boolean") if "satisfied" in frame else none.astype("boolean").mask(~none)
    )
    backbone = frame["backbone"] if "backbone" in frame else pd.Series(None, index=frame.index, dtype="str")
    flags = pd.DataFrame(
        {
            "judge": frame["judge"],
            "backbone": backbone,
            "verdicts": 1,
            "unscored": ~np.isfinite(scores),
            "reason_missing": low & ~named,
            "reason_surplus": high & named,
            "side_differs": ((low & said) | (high & ~said)).fillna(False).astype(bool),
        }
    )
    return flags.groupby(["judge", "backbone"], sort=False, dropna=False).sum().reset_index()
