"""The baselines that a judge has to beat (UXBench, section 4.1): what can be had without reading the reply against the
request; and a reward model beside them (`out_of_fold`), learned from the same cases.

Good requests of the published set are half as long again as bad ones, so a judge may be right about the selection of
cases and know nothing of replies. Each baseline sees one thing only, learns from labelled cases, and predicts cases of
other users (or sessions): its verdicts are a frame like those of `judge_each_case`, and go through the same metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from perslib.corpus.schema import BAD, GOOD
from perslib.errors import NotEnough
from perslib.stats import SEED, compare_paired
from perslib.systems.uxbench.reward import Reward
from perslib.systems.uxbench.statistics import at_learned_threshold, measure_verdicts
from perslib.systems.uxbench.statistics.thresholds import verdict_of
from perslib.systems.uxbench.tasks.cases import Case, WeightedCase, case_weights, goods, owners

FOLDS = 5
MOST_CHARACTERS = 4_000


def _lengths(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """Return log lengths of request, reply and history, and the number of messages before."""
    rows = [[len(c.query), len(c.reply), sum(len(m["content"]) for m in c.history), len(c.history)] for c in cases]
    return np.log1p(np.array(rows, dtype=float))


def _text(cut: Callable[[Case], str]) -> tuple[Callable[[Sequence[Case]], Any], Callable[[], Any]]:
    # Counting is the same for all folds, so it is done once; how rare a gram is, is learned in each.
    grams = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=2**17, alternate_sign=False, norm=None)
    learner = _logistic(lambda: TfidfTransformer(sublinear_tf=True))
    return lambda cases: grams.transform([cut(c)[:MOST_CHARACTERS] for c in cases]), learner


def _logistic(scaler: Any) -> Callable[[], Any]:
    return lambda: make_pipeline(scaler(), LogisticRegression(class_weight="balanced", max_iter=2000))


#: Baseline → what it sees of cases, and what learns from that; nothing for the one that gives all cases one answer.
BASELINES: dict[str, tuple[Callable[[Sequence[Case]], Any], Callable[[], Any]] | None] = {
    "majority": None,
    "length only": (_lengths, _logistic(StandardScaler)),
    "scenario only": (
        lambda cases: np.array([[c.scenario] for c in cases], dtype=object),
        _logistic(lambda: OneHotEncoder(handle_unknown="ignore")),
    ),
    "history only": _text(lambda c: "\n".join(m["content"] for m in c.history[-6:]) or " "),
    "query only": _text(lambda c: c.query),
    "reply only": _text(lambda c: c.reply),
}


def judge_with_baselines(
    cases: Sequence[Case], names: Sequence[str] = tuple(BASELINES), *, seed: int = SEED
) -> pd.DataFrame:
    """Return out-of-fold verdicts of the baselines, one row a baseline and case: judge, case, user, scenario, gold,
    said, p_good.

    A user's cases are in one fold, and gold is spread over folds evenly. The constant answer is the more frequent one of all
    cases. Learned by folds it would not be constant: each fold would get what the others have more of, which on a balanced
    set is mostly wrong.
    """
    own, parts = _folds(cases, seed)
    gold = np.array([c.gold for c in own])
    tables = []
    for name in names:
        learns = BASELINES[name]
        p = np.full(len(own), (gold == GOOD).mean() if learns is None else np.nan)
        if learns is not None:
            sees, build = learns
            shown = sees(own)
            for train, test in parts:
                model = build().fit(shown[train], gold[train])
                p[test] = model.predict_proba(shown[test])[:, list(model.classes_).index(GOOD)]
        labels = verdict_of(p)
        about = {"case": [c.case for c in own], "user": [c.user for c in own], "scenario": [c.scenario for c in own]}
        tables.append(pd.DataFrame({"judge": name, **about, "gold": gold, "said": labels, "p_good": p}))
    return pd.concat(tables, ignore_index=True).astype({"gold": "Int64", "said": "Int64", "p_good": "Float64"})


def out_of_fold(reward: Reward, cases: Sequence[Case], *, seed: int = SEED) -> pd.DataFrame:
    """Return verdicts on all labelled cases, each by a model like `reward` that has not seen its user: as
    `Reward.verdicts`, with logit and fold.

    What is learned from is weighed to the share of good ones in all cases. Without its fold's good cases a share is lower: of few
    cases, probabilities would rise where the labels fall.
    """
    own, parts = _folds(cases, seed)
    share, tables = goods(own).mean(), []
    for fold, (train, test) in enumerate(parts):
        lessons, unseen = [own[i] for i in train], [own[i] for i in test]
        here = goods(lessons).mean()
        weights = case_weights(lessons) * np.where(goods(lessons), share / here, (1 - share) / (1 - here))
        known = [WeightedCase(**{**vars(case), "weight": float(weight)}) for case, weight in zip(lessons, weights)]
        model = reward.copy_unfitted().learn(known)
        verdicts = model.verdicts(unseen).assign(logit=model.logits(unseen), fold=fold)
        tables.append(verdicts.set_axis(test))
    return pd.concat(tables).sort_index()


def _folds(
    cases: Sequence[Case], seed: int
) -> tuple[list[Case], list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]]:
    """Return the labelled cases, and what is learned from and tested on in each fold."""
    own = [case for case in cases if case.gold is not None]
    good, (group, names) = goods(own), pd.factorize(owners(own))
    users = len(names)
    least = min(int(good.sum()), int((~good).sum()), users)
    if least < 2:
        raise NotEnough(
            "Baselines and reward models need two or more good cases and two or more bad ones of several users; the cases are "
            "of one kind, of one user, or too few: {good} good, {bad} bad, users: {users}. Add cases of the other "
            "kind, or of other users.",
            good=good.sum(),
            bad=(~good).sum(),
            users=users,
        )
    splitter = StratifiedGroupKFold(min(FOLDS, least), shuffle=True, random_state=seed)
    parts = splitter.split(good, good, group)
    return own, [(train, test) for train, test in parts if len(set(good[train].tolist())) == 2]


#: What is measured of judges and baselines: metrics of `perslib.systems.uxbench.statistics.measure_verdicts`.
METRICS = ("balanced_accuracy", "good_acc", "bad_acc", "positive_bias", "d_prime", "criterion", "parse_rate")


def measure_with_baselines(verdicts: pd.DataFrame, baselines: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """Measure judges and baselines on their cases, a row each; intervals are over users, where they are known.

    Columns: judge, is_baseline, cases, good and bad (how many of them), each of `METRICS` with bounds, and at_learned, the
    balanced accuracy at a threshold learned on other users.
    """
    both = pd.concat([verdicts, baselines], ignore_index=True)
    both["is_baseline"] = both.index >= len(verdicts)
    both["unit"] = both["user"].where(both["user"] != "", both["case"])
    measured = measure_verdicts(both, metrics=METRICS, unit="unit")
    table = measured[["judge", "cases"]].drop_duplicates("judge", ignore_index=True)
    table.insert(1, "is_baseline", table["judge"].map(both.groupby("judge")["is_baseline"].first()))
    wide = measured.pivot(index="judge", columns="metric", values=["value", "value_low", "value_high"])
    wide.columns = pd.Index([f"{metric}{part.removeprefix('value')}" for part, metric in wide.columns])
    wide["good"], wide["bad"] = ((both["gold"] == side).groupby(both["judge"]).sum() for side in (GOOD, BAD))
    wide["at_learned"] = pd.Series(
        {
            judge: at_learned_threshold(own["gold"], own["p_good"], own["unit"], seed=seed)
            for judge, own in both.groupby("judge")
        }
    )
    return table.join(wide, on="judge")


def compare_with_best_baseline(quality: pd.DataFrame) -> dict[str, Any]:
    """Return which judges of `measure_with_baselines` beat the best baseline, and whose loss is its threshold.

    Returns best and line (the best baseline and its balanced accuracy), above (judges whose interval lies above it), has_intervals
    (whether any judge has one), first and rival (the best judge and baseline at learned thresholds, with first_value and rival_value; empty where none gives
    probabilities), gained (what its threshold changes for the first), most (whom a learned threshold changes most; empty
    for nobody), before and after (its balanced accuracy).
    """
    known = quality.dropna(subset="balanced_accuracy").set_index("judge")
    own, base = (known[known["is_baseline"] == side] for side in (False, True))
    if own.empty or base.empty:
        raise NotEnough(
            "{n} cases, {good} good and {bad} bad. Comparing judges with baselines needs a judge, and several "
            "cases of both kinds.",
            n=quality["cases"].max(),
            good=quality["good"].max(),
            bad=quality["bad"].max(),
        )
    best, line = base["balanced_accuracy"].idxmax(), base["balanced_accuracy"].max()
    low = own["balanced_accuracy_low"]
    row = {"best": best, "line": line, "above": list(own.index[low > line]), "has_intervals": low.notna().any()}
    for name, side in (("first", own), ("rival", base)):
        row |= {name: _most(side["at_learned"]), f"{name}_value": side["at_learned"].max()}
    gains = own["at_learned"] - own["balanced_accuracy"]
    most = _most(gains)
    before, after = (own[column].get(most) for column in ("balanced_accuracy", "at_learned"))
    return row | {"gained": gains.get(row["first"], 0.0), "most": most, "before": before, "after": after}


def _most(values: pd.Series) -> str:
    return str(values.idxmax()) if values.notna().any() else ""


def compare_with_baselines(
    verdicts: pd.DataFrame, baselines: pd.DataFrame, *, unit: str = "case", seed: int = SEED
) -> pd.DataFrame:
    """Compare each judge with each baseline on the cases of both, paired: does it beat them all?

    Columns: judge, baseline, cases, judge_accuracy, baseline_accuracy, difference, difference_low, difference_high,
    difference_p (McNemar's for cases, for other units that of the interval), beaten (the whole interval is above zero).
    A judge that does not beat `query only` may be telling which cases were selected.
    """
    rows = []
    right = {name: _right(own) for name, own in baselines.groupby("judge", sort=False)}
    for judge, own in verdicts.groupby("judge", sort=False):
        units = own.drop_duplicates("case").set_index("case", drop=False)[unit]
        for name, of_baseline in right.items():
            both = pd.concat({"judge": _right(own), "baseline": of_baseline}, axis=1, join="inner")
            named = units.loc[both.index].to_numpy(object)
            pair = compare_paired(both, named, tests=("mcnemar" if unit == "case" else "t",), seed=seed).iloc[0]
            means = both.mean().add_suffix("_accuracy")
            about = {"judge": judge, "baseline": name, "cases": int(pair["rows"]), **means}
            difference = pair[["difference", "difference_low", "difference_high", "difference_p"]]
            rows.append({**about, **difference.to_dict(), "beaten": bool(pair["difference_low"] > 0)})
    return pd.DataFrame(rows)


def _right(own: pd.DataFrame) -> pd.Series:
    known = own[own["gold"].notna()]
    return (known["said"] == known["gold"]).fillna(False).astype(float).set_axis(known["case"])
