"""What calibration adds to a judge, and what it adds to a judge that reads nothing: ties, calibrators, score sets.

Judges here compute their scores, so every reply of the test users takes part. What is fitted is fitted on train
users alone, on verdicts of judges that had not learned from the same user (`lessons`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import PerslibError
from perslib.judge import Judge, LearnedJudge, Nearest, Supervised, controls, evaluate
from perslib.llm import answered
from perslib.report.tables import interval
from perslib.stats import (
    Ties,
    agreement,
    calibrated,
    coverage,
    fallbacks,
    fit_conformal,
    fit_isotonic,
    fit_ordinal,
    fit_population,
    fit_thresholds,
    fit_tilt,
    histories,
    mean_by,
    with_gold,
)
from perslib.studies.verification import SHOWN

#: Rules for equal scores in a block: the published one, by lot, and those that use no position.
RULES: tuple[Ties, ...] = ("turn_index", "random", "min", "max", "mid", "expected")
#: All scores equal, whole scores with many ties, real-valued scores with hardly any.
TIED = ("constant 4", "nearest", "learned")
#: Two that read nothing, and three that read the reply.
CALIBRATED = ("constant 4", "user mean", "nearest 6, weighted", "supervised", "learned")
#: Lots that the rule `random` is averaged over.
DRAWS = 10
#: Score columns that `calibrated_each_way` makes, in the order of figures and tables.
WAYS = (
    *("real", "mean_shift", "cdf", "cdf_shrunk", "ordinal", "isotonic", "tilted"),
    *("thresholds", "ordinal_thresholds"),
)
#: Stated coverages of score sets.
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Train users are divided into so many parts, and each is scored by what was learned from the others.
FOLDS = 5
_P = [f"p{s}" for s in range(1, 6)]


def computed_judges() -> list[Judge]:
    """The controls, and judges that read the reply and ask no model."""
    return [*controls(), Nearest(1, weighted=False), Nearest(), Supervised(), LearnedJudge()]


# -- ties --------------------------------------------------------------------------------------------------


def tie_rules(
    verdicts: pd.DataFrame, corpus: Corpus, metrics: Sequence[str] = SHOWN, seed: int = 42
) -> pd.DataFrame:
    """Agreement after block CDF under every tie rule: an agreement frame whose `score` is the rule.

    `random` deals out the same whole scores as `turn_index` does, in an order drawn by lot; its rows are means
    over `DRAWS` lots, those of the interval's ends too. What the two differ by, the position contributes.
    """
    own = histories(corpus)
    columns: dict[str, pd.Series] = {}
    for rule in RULES:
        if rule != "random":
            columns[rule] = calibrated(verdicts, own, ["cdf"], score="real", ties=rule)["cdf"]
    rng = np.random.default_rng(seed)
    lots = [f"lot{i}" for i in range(DRAWS)]
    for lot in lots:
        numbered = verdicts.assign(turn=rng.permutation(len(verdicts)))
        columns[lot] = calibrated(numbered, own, ["cdf"], score="real", ties="turn_index")["cdf"]
    frame = verdicts.assign(**columns)
    found = agreement(frame, corpus, scores=["real", *columns], metrics=metrics, seed=seed)
    drawn = found[found["score"].isin(lots)].assign(score="random")
    by = ["judge", "metric", "score"]
    means = drawn.groupby(by, sort=False)[["value", "value_low", "value_high"]].mean().reset_index()
    drawn = drawn.drop(columns=["value", "value_low", "value_high"]).drop_duplicates(by).merge(means, on=by)
    every = pd.concat([found[~found["score"].isin(lots)], drawn], ignore_index=True)
    every["score"] = pd.Categorical(every["score"], ["real", *RULES], ordered=True)
    every = every.sort_values("score", kind="stable").astype({"score": "str"})
    return in_order(every)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows judge by judge in the order in which they come, otherwise as they stand."""
    return frame.iloc[np.argsort(pd.factorize(frame["judge"])[0], kind="stable")].reset_index(drop=True)


# -- calibrators -------------------------------------------------------------------------------------------


def lessons(judges: Iterable[Judge], corpus: Corpus) -> pd.DataFrame:
    """Verdicts on the train users' replies with `gold`, none by a judge that had learned from the same user.

    `LearnedJudge` keeps such verdicts from its own fitting. Other judges that learn are fitted anew for each part of
    the train users, on the other parts.
    """
    train = corpus.split().get("train", [])
    if len(train) < 2:
        raise PerslibError(
            f"{corpus.name} has {len(train)} train users; calibrators are learned from two or more"
        )
    frames = []
    for judge in judges:
        if isinstance(judge, LearnedJudge):
            if not hasattr(judge, "held_out"):
                answered(judge.fit(corpus.of_users(train)))
            found = judge.held_out.assign(judge=judge.name)
        else:
            parts = _folds(train) if judge.sees.train else [train]
            found = pd.concat([evaluate(copy(judge), corpus, users=users) for users in parts])
            found = with_gold(found, corpus, ["raw", "expected", *_P])
        frames.append(found[["judge", *TURN, "gold", "raw", "expected", *_P]])
    every = pd.concat([f.astype(dict.fromkeys(("raw", "expected", *_P), "Float64")) for f in frames])
    return every.assign(real=every["expected"].fillna(every["raw"])).reset_index(drop=True)


def _folds(users: Sequence[str]) -> list[Sequence[str]]:
    return [users[i::FOLDS] for i in range(min(FOLDS, len(users)))]


def calibrated_each_way(verdicts: pd.DataFrame, taught: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """The verdicts of each judge with a column for every way in `WAYS`; `taught` are the same judges' `lessons`.

    `cdf_shrunk` reads scores off histories shrunk towards the train users' distribution; so do the fitted ways.
    `thresholds` and `ordinal_thresholds` are whole scores, cut where kappa on the train users is greatest.
    """
    own, shrunk = histories(corpus), shrunk_histories(corpus)
    verdicts = calibrated(verdicts, own, score="real")
    shrunk_cdf = calibrated(verdicts, shrunk, ["cdf"], score="real", min_history=0, prefix="shrunk_")
    verdicts = verdicts.assign(
        cdf_shrunk=shrunk_cdf["shrunk_cdf"], cdf_shrunk_fallback=shrunk_cdf["shrunk_cdf_fallback"]
    )
    found = []
    for judge, part in verdicts.groupby("judge", sort=False):
        lesson = taught[taught["judge"] == judge]
        part = fit_ordinal(lesson, shrunk, score="real").transform(part, shrunk)
        part = fit_isotonic(lesson, shrunk, score="real").transform(part, shrunk)
        part = fit_thresholds(lesson, "real").transform(part, "thresholds")
        part = fit_thresholds(crossed(lesson, shrunk), "ordinal").transform(part, "ordinal_thresholds")
        if lesson[_P].notna().all(axis=1).any():
            part = fit_tilt(lesson, shrunk).transform(part, shrunk)
        found.append(part)
    return pd.concat(found, ignore_index=True)


def shrunk_histories(corpus: Corpus) -> pd.DataFrame:
    """Histories of all blocks, shrunk towards the score distribution of the train users."""
    train = corpus.of_users(corpus.split()["train"])
    return fit_population(train).shrink(histories(corpus))


def crossed(lesson: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """One judge's lessons with ordinal calibration, each user by what was learned from the other users."""
    parts = []
    for fold in _folds(list(lesson["user"].drop_duplicates())):
        here = lesson["user"].isin(fold)
        parts.append(fit_ordinal(lesson[~here], own, score="real").transform(lesson[here], own))
    return pd.concat(parts, ignore_index=True)


def ways_compared(
    verdicts: pd.DataFrame, corpus: Corpus, metrics: Sequence[str] = SHOWN, seed: int = 42
) -> pd.DataFrame:
    """Agreement of each judge, calibrated each way; ways that a judge has no distribution for are left out."""
    ways = [way for way in WAYS if way in verdicts]
    found = agreement(verdicts, corpus, scores=ways, metrics=metrics, seed=seed)
    return found[found["turns"] > 0].reset_index(drop=True)


def side_by_side(agreed: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One metric as a table: a row a calibration, a column a judge, cells `.360 [.300, .410]`."""
    own = agreed[agreed["metric"] == metric]
    cells = interval("value", "value_low", "value_high", 3, zero=False)(own, metric)
    wide = own.assign(text=cells).pivot(index="score", columns="judge", values="text").fillna("–")
    wide = wide.loc[list(dict.fromkeys(own["score"])), list(dict.fromkeys(own["judge"]))]
    return wide.rename_axis(index="calibration", columns=None).reset_index()


def fallen_back(verdicts: pd.DataFrame) -> pd.DataFrame:
    """How often a calibration let the score as given stand, and why: judge, calibration, reason, replies, of."""
    found = fallbacks(verdicts)[["judge", "method", "reason", "n", "of"]]
    return found.rename(columns={"method": "calibration", "n": "replies"})


# -- sets --------------------------------------------------------------------------------------------------


def score_sets(
    verdicts: pd.DataFrame, taught: pd.DataFrame, corpus: Corpus, levels: Sequence[float] = LEVELS
) -> pd.DataFrame:
    """Stated and measured coverage of each judge's score sets, over users, and how many scores a set holds.

    Sets stand on the ordinal calibration of `calibrated_each_way`; their thresholds on the train users, each with
    a distribution learned from the others. Columns: judge, stated, covered, covered_low, covered_high, size, learned_from.
    """
    shrunk = shrunk_histories(corpus)
    rows = []
    for judge, part in verdicts.groupby("judge", sort=False):
        calibration = crossed(taught[taught["judge"] == judge], shrunk)
        gold = with_gold(part, corpus, [f"ordinal_p{s}" for s in range(1, 6)])
        for level in levels:
            fitted = fit_conformal(calibration, alpha=round(1 - level, 6), p="ordinal_p")
            held = fitted.transform(gold)
            found = coverage(held)
            inside = held.dropna(subset=["gold", "set1"])
            picked = [bool(row[f"set{int(row['gold'])}"]) for row in inside.to_dict("records")]
            users = (
                inside.assign(covered=picked, all=0)
                .groupby("user", as_index=False)[["covered", "all"]]
                .mean()
            )
            mean = mean_by(users, "covered", "all").iloc[0]
            about = {
                "judge": judge,
                "stated": level,
                "covered": mean["mean"],
                "covered_low": mean["mean_low"],
            }
            rows.append(
                {
                    **about,
                    "covered_high": mean["mean_high"],
                    "size": found["size"],
                    "learned_from": fitted.users,
                }
            )
    return pd.DataFrame(rows)
