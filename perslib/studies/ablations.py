"""What makes a judge agree with people: ties, calibration, sets of scores, and its memory, backbone and prompt.

Judges that compute their scores judge every reply of the test users. What is fitted is fitted on train users alone, on
verdicts of judges that had not learned from the same user (`judge_train_users`). Variants of the judge that asks differ
from the base in one thing, and all of them judge the same replies (Tables 3 and 6 of PersTurnBench).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from perslib import stats
from perslib.corpus import TURN, Corpus
from perslib.errors import PerslibError, UnknownName
from perslib.judge import Judge, LearnedJudge, Manner, Personal, evaluate, make_judge
from perslib.judge.extent import FEWEST_REPLIES, Extent, listed, require_replies
from perslib.llm import compute
from perslib.memory import Structured
from perslib.paths import read_csv
from perslib.studies.verification import CONTROLS, SHOWN

#: Rules for equal scores in a block: the published one, and those that use no position; `random` is tried beside them.
RULES: tuple[stats.Ties, ...] = ("turn_index", "min", "max", "mid", "expected")
#: All scores equal, whole scores with many ties, real-valued scores with hardly any.
TIED = ("constant 4", "nearest", "learned")
#: Two that read nothing, and three that read the reply.
CALIBRATED = ("constant 4", "user mean", "nearest 6, weighted", "supervised", "learned")
#: How many random orders the rule `random` is averaged over.
DRAWS = 10
#: Score columns that `calibrate_each_way` makes, in the order of figures and tables.
WAYS = (
    *("real", "mean_shift", "cdf", "cdf_shrunk", "ordinal", "isotonic", "tilted"),
    *("thresholds", "ordinal_thresholds"),
)
#: Stated coverages of score sets.
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Train users are divided into so many parts, and each is scored by what was learned from the others.
FOLDS = 5
_P = [f"p{s}" for s in range(1, 6)]

#: What can be varied: the memory, the evidence it is built from, the messages shown, the language of the prompts,
#: whether the judge writes, several answers instead of one, and when the memory is built anew.
FAMILIES = ("memory", "evidence", "window", "language", "written", "repeat", "update")
USUAL, FIRST_LOOK = ("memory", "window", "language", "written"), ("memory", "written")
BASE = "structured memory"
#: Calibrations of Table 3.
SCORES = ("real", "mean_shift", "cdf")
#: Answers to a question in the family `repeat`.
SAMPLES = 5
#: Tokens of evidence in the family `evidence`.
BUDGETS = (1500, 6000, 24000)
_WINDOWS = {1: "window of 1", 5: "window of 5", None: "whole conversation"}
_OTHER = {"en": ("zh", "prompts in Chinese"), "zh": ("en", "prompts in English")}

#: Table 6 of PersTurnBench.
PUBLISHED = read_csv(__file__, "published/persturnbench_table6.csv")


def keep_enough(agreed: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an agreement frame that rest on `FEWEST_REPLIES` or more; without any, raise NotEnough."""
    require_replies(int(agreed["turns"].max()) if len(agreed) else 0)
    return agreed[agreed["turns"] >= FEWEST_REPLIES].reset_index(drop=True)


# -- ties --------------------------------------------------------------------------------------------------


def compare_tie_rules(verdicts: pd.DataFrame, corpus: Corpus, seed: int = 42) -> pd.DataFrame:
    """Measure agreement after block CDF under every tie rule: an agreement frame whose `score` is the rule.

    `random` gives the same whole scores as `turn_index` does, in a random order; its rows are means over `DRAWS` orders,
    those of the interval's ends too. What the two differ by, the position contributes.
    """
    own, rng = stats.histories(corpus), np.random.default_rng(seed)

    def cdf(frame: pd.DataFrame, ties: stats.Ties) -> pd.Series:
        return stats.calibrated(frame, own, ["cdf"], score="real", ties=ties)["cdf"]

    shuffled = (verdicts.assign(turn=rng.permutation(len(verdicts))) for _ in range(DRAWS))
    at_random = {f"random{draw}": cdf(frame, "turn_index") for draw, frame in enumerate(shuffled)}
    frame = verdicts.assign(**at_random, **{rule: cdf(verdicts, rule) for rule in RULES})
    scores = ["real", RULES[0], *at_random, *RULES[1:]]
    found = stats.agreement(frame, corpus, scores=scores, metrics=SHOWN)
    found["score"] = found["score"].str.replace(r"^random\d+$", "random", regex=True)
    keys = ["judge", "score", "metric"]
    how = {name: "mean" if name.startswith("value") else "first" for name in found.columns.drop(keys)}
    return sort_by_judge(found.groupby(keys, sort=False, as_index=False).agg(how)[found.columns])


def sort_by_judge(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows judge by judge in the order in which they come, otherwise as they stand."""
    return frame.sort_values("judge", key=lambda names: pd.factorize(names)[0], kind="stable", ignore_index=True)


def describe_ties(agreed: pd.DataFrame, corpus: Corpus) -> dict[str, float]:
    """Return what the published tie rule lends to a judge that gives every reply the same score.

    by_turn, at_random (r with either rule), within_by_turn, within_at_random (within blocks), and how the test users
    rate the first reply of a session and later ones on average: first, later.
    """
    own = agreed[agreed["judge"] == "constant 4"].set_index(["metric", "score"])["value"].astype(float)
    rated = corpus.turns.dropna(subset="score")
    rated = rated[rated["user"].isin(corpus.split().get("test", []))]
    mean = rated["score"].groupby(rated["turn"] == 0).mean()
    r, within = own["pearson"], own["wb_pearson"]
    return {
        "by_turn": r["turn_index"],
        "at_random": r["random"],
        "within_by_turn": within["turn_index"],
        "within_at_random": within["random"],
        "first": mean.get(True, np.nan),
        "later": mean.get(False, np.nan),
    }


# -- calibrators -------------------------------------------------------------------------------------------


def judge_train_users(judges: Iterable[Judge], corpus: Corpus) -> pd.DataFrame:
    """Return verdicts on the train users' replies with `gold`, none by a judge that had learned from the same user.

    `LearnedJudge` keeps such verdicts from its own fitting. Other judges that learn are fitted anew for each part of
    the train users, on the other parts.
    """
    train = corpus.split().get("train", [])
    if len(train) < 2:
        raise PerslibError(f"{corpus.name} has {len(train)} train users; calibrators are learned from two or more")
    frames = []
    for judge in judges:
        if isinstance(judge, LearnedJudge):
            if not hasattr(judge, "held_out"):
                compute(partial(judge.fit, corpus.of_users(train)))
            found = judge.held_out.assign(judge=judge.name)
        else:
            parts = _folds(train) if judge.sees.train else [train]
            found = pd.concat([evaluate(copy(judge), corpus, users=users) for users in parts])
            found = stats.with_gold(found, corpus, ["raw", "expected", *_P])
        frames.append(found[["judge", *TURN, "gold", "raw", "expected", *_P]])
    every = pd.concat([f.astype(dict.fromkeys(("raw", "expected", *_P), "Float64")) for f in frames])
    return every.assign(real=every["expected"].fillna(every["raw"])).reset_index(drop=True)


def _folds(users: Sequence[str]) -> list[Sequence[str]]:
    return [users[i::FOLDS] for i in range(min(FOLDS, len(users)))]


def calibrate_each_way(verdicts: pd.DataFrame, taught: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the verdicts of each judge with a column for every way in `WAYS`.

    `taught` are the same judges' verdicts on train users. `cdf_shrunk` reads scores off histories shrunk towards the train
    users' distribution; so do the fitted ways. `thresholds` and `ordinal_thresholds` are whole scores, cut where kappa on
    the train users is greatest.
    """
    own, shrunk = stats.histories(corpus), shrink_histories(corpus)
    verdicts = stats.calibrated(verdicts, own, score="real")
    more = stats.calibrated(verdicts, shrunk, ["cdf"], score="real", min_history=0)
    verdicts = verdicts.assign(cdf_shrunk=more["cdf"], cdf_shrunk_fallback=more["cdf_fallback"])
    found = []
    for judge, part in verdicts.groupby("judge", sort=False):
        lesson = taught[taught["judge"] == judge]
        part = stats.fit_ordinal(lesson, shrunk, score="real").transform(part, shrunk)
        part = stats.fit_isotonic(lesson, shrunk, score="real").transform(part, shrunk)
        part = stats.fit_thresholds(lesson, "real").transform(part, "thresholds")
        part = stats.fit_thresholds(cross_calibrate(lesson, shrunk), "ordinal").transform(part, "ordinal_thresholds")
        if lesson[_P].notna().all(axis=1).any():
            part = stats.fit_tilt(lesson, shrunk).transform(part, shrunk)
        found.append(part)
    return pd.concat(found, ignore_index=True)


def shrink_histories(corpus: Corpus) -> pd.DataFrame:
    """Return the histories of all blocks, shrunk towards the score distribution of the train users."""
    train = corpus.of_users(corpus.split()["train"])
    return stats.fit_population(train).shrink(stats.histories(corpus))


def cross_calibrate(lesson: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Calibrate one judge's verdicts on train users, each user by what was learned from the other users."""
    parts = []
    for fold in _folds(list(lesson["user"].drop_duplicates())):
        here = lesson["user"].isin(fold)
        parts.append(stats.fit_ordinal(lesson[~here], own, score="real").transform(lesson[here], own))
    return pd.concat(parts, ignore_index=True)


def find_best_ways(agreed: pd.DataFrame) -> pd.DataFrame:
    """Find how far calibration takes judges that read nothing, and how far those that read.

    Columns: metric, blind, blind_judge, blind_way (the best of the controls), value, judge, way (the best of those that
    read), as_given (the best of these without calibration).
    """
    rows = []
    for metric in ("qwk", "f1_dsat"):
        own = agreed[(agreed["metric"] == metric) & agreed["value"].notna()].sort_values("value")
        is_blind = own["judge"].isin(CONTROLS)
        reading = own[~is_blind]
        if len(reading) in (0, len(own)):
            continue
        blind, best = own[is_blind].iloc[-1], reading.iloc[-1]
        rows.append(
            {
                "metric": metric,
                "blind": blind["value"],
                "blind_judge": blind["judge"],
                "blind_way": blind["score"],
                "value": best["value"],
                "judge": best["judge"],
                "way": best["score"],
                "as_given": reading[reading["score"] == "real"]["value"].max(),
            }
        )
    return pd.DataFrame(rows)


# -- sets --------------------------------------------------------------------------------------------------


def measure_score_sets(verdicts: pd.DataFrame, taught: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Measure the coverage of each judge's score sets, over users, and how many scores a set holds.

    Sets stand on the ordinal calibration of `calibrate_each_way`; their thresholds on the train users, each with
    a distribution learned from the others. Columns: judge, stated, covered, covered_low, covered_high, size, learned_from.
    """
    shrunk = shrink_histories(corpus)
    rows = []
    for judge, part in verdicts.groupby("judge", sort=False):
        calibration = cross_calibrate(taught[taught["judge"] == judge], shrunk)
        gold = stats.with_gold(part, corpus, [f"ordinal_p{s}" for s in range(1, 6)])
        for level in LEVELS:
            fitted = stats.fit_conformal(calibration, alpha=round(1 - level, 6), p="ordinal_p")
            found = stats.coverage(fitted.transform(gold))
            rows.append({"judge": judge, "stated": level, **found, "learned_from": fitted.users})
    return pd.DataFrame(rows).drop(columns=["turns", "lowest_user"])


def describe_sets(found: pd.DataFrame) -> dict[str, Any]:
    """Return what score sets promise and contain.

    users (train users behind them), stated (the coverage from which so many users give no guarantee), smallest (the row of
    the smallest sets at the highest stated coverage below; None if there is none), short (judges whose coverage is clearly
    below the stated one somewhere under that).
    """
    users = int(found["learned_from"].max())
    stated = users / (users + 1)
    useful = found[found["stated"] < stated]
    highest = useful[useful["stated"] == useful["stated"].max()].sort_values("size").to_dict("records")
    short = useful[useful["covered_high"] < useful["stated"]]["judge"].unique()
    return {"users": users, "stated": stated, "smallest": next(iter(highest), None), "short": list(short)}


# -- variants of the judge that asks -----------------------------------------------------------------------


def parse_families(vary: str, look: Extent) -> list[str]:
    """Return the families that a parameter names, separated by commas; empty is what suits the backbone."""
    named = listed(vary)
    for name in named:
        if name not in FAMILIES:
            raise UnknownName("thing to vary", name, FAMILIES)
    return named or list(FIRST_LOOK if look.is_short else USUAL)


def make_variants(
    vary: Iterable[str], manner: Manner, memory: Mapping[str, Any], languages: Sequence[str] = ()
) -> dict[str, list[Judge]]:
    """Make the base and the variants of each family, each of which differs from the base in one thing.

    `memory` is what the base's memory is built with, `languages` those that the model reads.
    """

    def personal(name: str, how: Manner = manner, built: Mapping[str, Any] = memory, **own: Any) -> Judge:
        return Personal(Structured(how.language, **built), how, name=name, **own)

    def full(budget: int) -> dict[str, Any]:
        return {"evidence": "full", "budget": budget}

    other, in_other = _OTHER[manner.language]
    written = replace(manner, written=not manner.written)
    windows = {size: name for size, name in _WINDOWS.items() if size != manner.window}
    families: dict[str, list[Judge]] = {
        "memory": [make_judge("no memory", manner)],
        "evidence": [personal(f"evidence {n}", built=full(n)) for n in BUDGETS],
        "window": [personal(name, replace(manner, window=size)) for size, name in windows.items()],
        "language": [personal(in_other, replace(manner, language=other))],
        "written": [personal("written analysis" if written.written else "score alone", written)],
        "repeat": [personal(f"{SAMPLES} samples", replace(manner, samples=SAMPLES))],
        "update": [personal(f"updated {how}", update=how) for how in ("per session", "per turn")],
    }
    if memory["evidence"] != "full":  # else a first look: more would take too long
        named = ("measured", "scores only", "personal + measured")
        families["memory"] += [make_judge(name, manner, **memory) for name in named]
        families["memory"].append(personal("full evidence", built=full(BUDGETS[1])))
    if languages and other not in languages:
        families["language"] = []
    return {"base": [personal(BASE)], **{family: families[family] for family in vary}}


def compare_to_base(verdicts: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Compare each variant's agreement with the base's: an agreement frame of the variants, whose `gain` is over the base.

    Gains are on the replies that both scored, and corrected over the variants of a metric and score.
    """
    parts = [
        stats.agreement(verdicts, corpus, scores=[score], metrics=SHOWN, controls=[BASE]) for score in ("real", "cdf")
    ]
    found = pd.concat(parts, ignore_index=True)
    return found[found["judge"] != BASE].reset_index(drop=True)


def measure_shifts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Measure what a variant does to the scores themselves, whichever is right.

    Columns: judge, judged, unscored, mean_score, and over the replies that the base scored too: moved (mean |difference|),
    r_with_base (missing where either is constant, or for fewer than `FEWEST_REPLIES`).
    """
    wide = verdicts.pivot(index=TURN, columns="judge", values="real").astype(float)
    others = wide.drop(columns=BASE)
    with np.errstate(invalid="ignore", divide="ignore"):  # of constant scores
        r = others.apply(lambda own: own.corr(wide[BASE], min_periods=FEWEST_REPLIES))
    moved = others.sub(wide[BASE], axis=0).abs().mean()
    scored = {"judged": len(wide), "unscored": wide.isna().sum(), "mean_score": wide.mean()}
    table = pd.DataFrame({**scored, "moved": moved, "r_with_base": r})
    return table.reindex(pd.Index(verdicts["judge"].unique(), name="judge")).reset_index()
