"""The reasons that a judge names beside those that users gave, and beside judges that name reasons blindly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.inference import FEWEST_USERS, RESAMPLES, SEED, interval, mean_by, resample_users
from perslib.metrics import reason_agreement, reason_pairs, with_interval
from perslib.metrics.gold import of_judges
from perslib.metrics.reasons import order_of
from perslib.report.page import current
from perslib.report.words import name_of

#: Who names the reasons: the judge, or in its place somebody who reads nothing.
BLIND = ("always the commonest", "drawn as train users give them")


def chances(corpus: Corpus) -> pd.Series:
    """How often the train users give each reason, as shares, the commonest first; empty if they give none."""
    train = set(corpus.split().get("train", []))
    low = corpus.turns[corpus.turns["user"].isin(train) & corpus.turns["score"].le(3).fillna(False)]
    return low["reason"].value_counts(normalize=True)


def against_blind(
    verdicts: pd.DataFrame, corpus: Corpus, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Agreement on reasons, and what the judge would get with its own scores but reasons named blindly.

    One row a judge and `named_by`. `accuracy` and `kappa` on turns that both found dissatisfying, `found` on
    all that the user did, where a satisfied judge is wrong; `gain` is the judge's accuracy less the
    blind one's on the same turns. Each with `_low` and `_high`, users resampled. κ of the blind is 0 by
    construction. Drawing is not simulated: its expected accuracy is the mean share of the users' reasons.
    """
    shares, rows = chances(corpus), []
    agreed = reason_agreement(verdicts, corpus, resamples=resamples, seed=seed)
    agreed = agreed.assign(backbone=agreed["backbone"].fillna("")).set_index(["judge", "backbone", "metric"])
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own["score"] <= 3
        about: dict[str, Any] = {
            "judge": row.judge,
            "backbone": row.backbone,
            "turns": int(both.sum()),
            "low": len(own),
        }
        kappa = agreed.loc[(row.judge, row.backbone or "", "kappa")]
        right = (own["reason"] == own["gold_reason"]).astype(float)
        said = {"": right}
        if len(shares):
            said[BLIND[0]] = (own["gold_reason"] == shares.index[0]).astype(float)
            said[BLIND[1]] = own["gold_reason"].map(shares).fillna(0.0).astype(float)
        for name, named in said.items():
            line = {**about, "named_by": name}
            line |= _mean("accuracy", own[both], named[both], resamples, seed)
            line |= _mean("found", own, named * both, resamples, seed)
            if name:
                line |= {"kappa": 0.0} | _mean("gain", own[both], (right - named)[both], resamples, seed)
            else:
                line |= {"kappa": kappa["value"], "kappa_low": kappa["low"], "kappa_high": kappa["high"]}
            rows.append(line)
    return pd.DataFrame(rows)


def _mean(name: str, own: pd.DataFrame, values: pd.Series, resamples: int, seed: int) -> dict[str, float]:
    frame = pd.DataFrame({"user": own["user"], "of": name, "value": values})
    table = mean_by(frame, "value", "of", resamples=resamples, seed=seed)
    if table.empty:
        return {name: np.nan, f"{name}_low": np.nan, f"{name}_high": np.nan}
    mean, low, high = table[["mean", "low", "high"]].iloc[0].astype(float)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def agreement_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of `against_blind` as a paper prints it."""
    named_by = frame["named_by"].where(frame["named_by"] != "", "itself")
    language = current().language
    shown = frame[["judge", "named_by", "turns"]].assign(named_by=[name_of(n, language) for n in named_by])
    for name in ("accuracy", "gain", "kappa", "found"):
        parts = frame.reindex(columns=[name, f"{name}_low", f"{name}_high"]).astype(float)
        shown[f"reason_{name}"] = [with_interval(*values) for values in parts.itertuples(index=False)]
    return shown


def bias(
    verdicts: pd.DataFrame, corpus: Corpus, resamples: int = RESAMPLES, seed: int = SEED
) -> pd.DataFrame:
    """Is a reason named more often than given? One row a judge and reason, on turns that both found dissatisfying.

    Columns: judge, backbone, reason, given, said (turns), given_share, said_share, ratio (said ÷ given), low,
    high (95 % interval, users resampled, from `FEWEST_USERS` on; above 1 is over-predicted).
    """
    rows = []
    order = order_of(corpus)
    for row, own in of_judges(reason_pairs(verdicts, corpus)):
        both = own[own["score"] <= 3]
        user, users = pd.factorize(both["user"])
        weights = resample_users(len(users), resamples if len(users) >= FEWEST_USERS else 0, seed).astype(
            float
        )
        named = {*both["gold_reason"], *both["reason"]}
        for reason in (r for r in order if r in named):
            given, said = (both[c].eq(reason).to_numpy(float) for c in ("gold_reason", "reason"))
            counts = [np.bincount(user, hits, len(users)) @ weights for hits in (given, said)]
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(counts[0] > 0, counts[1] / counts[0], np.nan)
            low, high = interval(ratio[1:]) if len(users) >= FEWEST_USERS else (np.nan, np.nan)
            shares = {"given_share": given.mean(), "said_share": said.mean()}
            about = {"judge": row.judge, "backbone": row.backbone, "reason": reason}
            totals = {"given": int(given.sum()), "said": int(said.sum())}
            rows.append({**about, **totals, **shares, "ratio": ratio[0], "low": low, "high": high})
    columns = ["judge", "backbone", "reason", "given", "said", "given_share", "said_share"]
    return pd.DataFrame(rows, columns=[*columns, "ratio", "low", "high"])


def bias_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of `bias` as a paper prints it."""
    shown = frame[["judge", "reason", "given", "said", "given_share", "said_share"]]
    values = frame[["ratio", "low", "high"]].astype(float).itertuples(index=False)
    ratio = [with_interval(value, low, high, digits=2) for value, low, high in values]
    return shown.rename(columns={"said": "named"}).assign(ratio=ratio)
