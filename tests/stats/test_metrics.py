"""Agreement metrics: worked numbers, the same numbers by scipy and scikit-learn, and agreement tables."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import real
from hypothesis import given, settings
from hypothesis import strategies as st
from made import tiny_corpus
from scipy import stats
from sklearn import metrics as sk

from perslib.corpus import Corpus, load
from perslib.errors import DataError, UnknownName
from perslib.report.show.tables import agreement_table, format_number
from perslib.stats import (
    METRICS,
    agreement,
    agreement_between,
    disagreements,
    measure,
    reason_agreement,
    reason_confusion,
    reason_pairs,
    reliability,
)

GOLD = [5, 4, 3, 4, 2, 5, 5, 4, 5, 3, 2, 4]
SCORE = [4, 4, 3, 5, 3, 5, 4, 4, 5, 4, 3, 4]
USER = list("AAAAABBBBCCC")
TURN = ["user", "scenario", "session", "turn"]
GIVEN = (("score", int), ("raw", float), ("user", object), ("scenario", object))


def test_worked_example():
    expected = {
        "pearson": 0.7730206825,
        "spearman": 0.7462025072,
        "mae": 0.5,
        "rmse": 0.7071067812,
        "qwk": 0.7,
        "f1_dsat": 0.8571428571,
        "f1_sat": 0.9411764706,
        "f1_macro": 0.8991596639,
        "precision_dsat": 1.0,
        "recall_dsat": 0.75,
        "precision_sat": 8 / 9,
        "recall_sat": 1.0,
        "false_sat": 0.25,
        "false_dsat": 0.0,
        "accuracy": 0.9166666667,
        "kappa": 0.8,
        "auc": 0.921875,
        "wc_pearson": 0.6880318147,
        "wc_spearman": 0.6281138790,
        "wc_mae": 0.5027777778,
        "wc_rmse": 0.5927806415,
        "pu_pearson": 0.7139879590,
        "pu_spearman": 0.7332398988,
        "pu_kappa": 0.5558943089,
        "pu_mae": 0.5,
    }
    found = measure(GOLD, SCORE, USER)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-10), name
    alone = [measure(GOLD[a:b], SCORE[a:b])["pearson"] for a, b in ((0, 5), (5, 9), (9, 12))]
    assert alone == pytest.approx([0.6813851439, 0.5773502692, 0.8660254038], abs=1e-10)


# -- against scipy and scikit-learn --------------------------------------------------------------------------


def by_others(gold: np.ndarray, score: np.ndarray, user: np.ndarray, scenario: np.ndarray) -> dict[str, float]:
    """What scipy and scikit-learn say."""
    whole = np.clip(np.round(score), 1, 5).astype(int)
    sat, said = gold >= 4, whole >= 4
    frame = pd.DataFrame({"g": gold.astype(float), "s": score.astype(float), "u": user, "b": scenario})
    centred = frame[["g", "s"]] - frame.groupby("u")[["g", "s"]].transform("mean")
    blocked = frame[["g", "s"]] - frame.groupby(["u", "b"])[["g", "s"]].transform("mean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = [
            (np.arctanh(np.clip(stats.pearsonr(own["g"], own["s"])[0], -0.9999, 0.9999)), len(own))
            for _, own in frame.groupby("u")
            if len(own) >= 3 and own["g"].nunique() > 1 and own["s"].nunique() > 1
        ]
        values = {
            "pearson": stats.pearsonr(gold, score)[0],
            "spearman": stats.spearmanr(gold, score)[0],
            "mae": sk.mean_absolute_error(gold, score),
            "rmse": math.sqrt(sk.mean_squared_error(gold, score)),
            "qwk": sk.cohen_kappa_score(gold, whole, labels=range(1, 6), weights="quadratic"),
            "accuracy": sk.accuracy_score(sat, said),
            "f1_sat": sk.f1_score(sat, said, zero_division=0),
            "f1_dsat": sk.f1_score(~sat, ~said, zero_division=0),
            "precision_sat": sk.precision_score(sat, said, zero_division=0),
            "precision_dsat": sk.precision_score(~sat, ~said, zero_division=0),
            "recall_sat": sk.recall_score(sat, said, zero_division=0),
            "recall_dsat": sk.recall_score(~sat, ~said, zero_division=0),
            "kappa": sk.cohen_kappa_score(sat, said),
            "auc": sk.roc_auc_score(sat, score) if len(set(sat)) > 1 else np.nan,
            "false_sat": said[~sat].mean() if (~sat).any() else np.nan,
            "false_dsat": (~said)[sat].mean() if sat.any() else np.nan,
            "wc_mae": (centred["g"] - centred["s"]).abs().mean(),
            "wc_pearson": stats.pearsonr(centred["g"], centred["s"])[0] if (centred.std() > 1e-9).all() else np.nan,
            "wb_pearson": stats.pearsonr(blocked["g"], blocked["s"])[0] if (blocked.std() > 1e-9).all() else np.nan,
            "pu_pearson": np.tanh(np.average([a for a, _ in z], weights=[n for _, n in z])) if z else np.nan,
        }
    return values


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 60), st.integers(1, 6))
def test_every_metric_is_what_scipy_and_sklearn_say(seed, whole, turns, users):
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, turns)
    score = rng.integers(1, 6, turns) if whole else rng.uniform(0.5, 5.5, turns)
    user = rng.integers(0, users, turns)
    scenario = rng.integers(0, 3, turns)
    found = measure(gold, score, user, scenario=scenario)
    for name, value in by_others(gold, score, user, scenario).items():
        assert found[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


def test_scores_that_do_not_vary():
    found = measure([5, 4, 3, 2], [4.1] * 4, list("aabb"))
    for name in ("pearson", "spearman", "wc_pearson", "wc_spearman", "pu_pearson", "pu_spearman"):
        assert math.isnan(found[name]), name
    assert found["qwk"] == 0 and found["f1_dsat"] == 0 and found["false_sat"] == 1 and found["auc"] == 0.5


def test_satisfied_is_what_rounds_to_four():
    # 3.5 rounds half to even, up to 4; 3.9 is satisfied and not cut down to 3; 2.5 goes to 2, 5.9 to 5.
    found = measure([4, 4, 2, 5], [3.5, 3.9, 2.5, 5.9])
    assert found["accuracy"] == 1 and found["qwk"] == 1
    assert found["mae"] == pytest.approx((0.5 + 0.1 + 0.5 + 0.9) / 4)


def test_a_user_with_one_turn_has_no_correlation_and_changes_no_within_correlation():
    with_one = measure([*GOLD, 1], [*SCORE, 5], [*USER, "D"])
    without = measure(GOLD, SCORE, USER)
    for name in ("pu_pearson", "pu_spearman", "pu_kappa"):
        assert with_one[name] == pytest.approx(without[name])
    assert with_one["wc_pearson"] == pytest.approx(without["wc_pearson"])
    assert with_one["pearson"] < without["pearson"]


def test_empty_classes_and_unknown_metrics():
    found = measure([4, 5, 5], [4, 4, 5])
    assert math.isnan(found["false_sat"]) and math.isnan(found["auc"]) and found["f1_dsat"] == 0
    assert measure([], []).isna()[["pearson", "mae", "qwk", "accuracy"]].all()
    assert measure([3, None, 4], [3, 4, None])["mae"] == 0  # what is missing on one side is left out
    with pytest.raises(UnknownName, match="Did you mean pearson"):
        measure(GOLD, SCORE, metrics=["pearsen"])


# -- agreement tables ------------------------------------------------------------------------------------------


def rated(users: int = 12, turns: int = 8, seed: int = 0) -> Corpus:
    """A corpus of users with levels of their own, two scenarios each, scores in plenty."""
    rng = np.random.default_rng(seed)
    names = [f"u{i:02d}" for i in range(users)]
    keys = [(u, s, "0") for u in names for s in ("gift", "travel")]
    sessions = pd.DataFrame(keys, columns=TURN[:3]).assign(task="t", assistant="a")
    level = dict(zip(names, rng.normal(3.8, 0.6, users)))
    rows = [
        (*key, t, "q", "r", int(np.clip(round(level[key[0]] + rng.normal(0, 0.9)), 1, 5)))
        for key in keys
        for t in range(turns)
    ]
    frame = pd.DataFrame(rows, columns=[*TURN, "request", "response", "score"])
    frame["reason"] = np.where(frame["score"] <= 3, rng.choice(["detail", "diversity"], len(frame)), None)
    return Corpus("rated", "en", pd.DataFrame({"user": names}), sessions, frame)


def judged(corpus: Corpus, noise: dict[str, float], seed: int = 1, backbone: str | None = None) -> pd.DataFrame:
    """Verdicts of judges that see the gold score through this much noise; inf is the constant 4."""
    rng = np.random.default_rng(seed)
    gold = corpus.turns["score"].to_numpy(float)
    parts = [
        corpus.turns[TURN].assign(
            judge=name,
            backbone=backbone,
            raw=4.0 if math.isinf(sd) else np.clip(np.rint(gold + rng.normal(0, sd, len(gold))), 1, 5),
        )
        for name, sd in noise.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_agreement_is_long_and_tidy_and_says_what_it_rests_on():
    corpus = rated()
    verdicts = judged(corpus, {"good": 0.7, "bad": 3.0})
    verdicts.loc[:4, "raw"] = np.nan
    found = agreement(verdicts, corpus, metrics=("pearson", "mae"))
    assert list(found.columns) == [
        *("judge", "backbone", "score", "metric", "value", "value_low", "value_high"),
        *("turns", "users", "unscored", "coverage", "without_gold"),
    ]
    assert found["judge"].tolist() == ["good", "good", "bad", "bad"]
    first = found.iloc[0]
    assert (first["turns"], first["users"], first["unscored"]) == (187, 12, 5)
    assert first["coverage"] == pytest.approx(187 / 192)
    expected = stats.pearsonr(corpus.turns["score"].to_numpy(float)[5:], verdicts["raw"].iloc[5:192])[0]
    assert first["value"] == pytest.approx(expected) and first["value_low"] < expected < first["value_high"]
    assert found.equals(agreement(verdicts, corpus, metrics=("pearson", "mae")))


def test_order_of_verdicts_does_not_matter():
    corpus = rated()
    verdicts = judged(corpus, {"good": 0.7})
    shuffled = verdicts.sample(frac=1, random_state=0)
    one, other = (agreement(v, corpus) for v in (verdicts, shuffled))
    assert one.select_dtypes("number").to_numpy() == pytest.approx(
        other.select_dtypes("number").to_numpy(), nan_ok=True
    )


def test_gain_over_the_best_control():
    corpus = rated()
    verdicts = judged(corpus, {"good": 0.7, "weak": 2.0, "weaker": 4.0, "constant": math.inf})
    found = agreement(verdicts, corpus, metrics=("pearson", "mae"), controls=("weak", "weaker", "constant")).set_index(
        ["judge", "metric"]
    )
    good = found.loc["good", "pearson"]
    assert good["control"] == "weak"
    assert good["gain"] == pytest.approx(good["value"] - found.loc[("weak", "pearson"), "value"])
    assert 0 < good["gain_low"] < good["gain"] < good["gain_high"] and good["gain_p"] < 0.01
    error = found.loc["good", "mae"]
    assert error["gain"] > 0  # smaller errors are a gain
    assert found.loc["weak"]["gain"].isna().all() and math.isnan(found.loc[("constant", "pearson"), "value"])
    only = agreement(verdicts, corpus, metrics=("pearson",), controls=("constant",))
    assert only["control"].isna().all() and only["gain"].isna().all()
    with pytest.raises(UnknownName, match="control"):
        agreement(verdicts, corpus, controls=("nobody",))


def test_judges_are_compared_on_the_turns_that_both_scored():
    corpus = rated()
    verdicts = judged(corpus, {"a": 0.8, "b": 1.5})
    verdicts.loc[:15, "raw"] = np.nan  # a leaves out the first 16
    verdicts.loc[192 + 176 :, "raw"] = np.nan  # b the last 16
    how = {"metrics": ("mae", "pearson"), "controls": ("b",)}
    row = agreement(verdicts, corpus, **how).set_index(["judge", "metric"]).loc["a"]
    gold = corpus.turns["score"].to_numpy(float)[16:176]
    a, b = verdicts["raw"].to_numpy()[16:176], verdicts["raw"].to_numpy()[192 + 16 : 192 + 176]
    assert row.loc["mae", "gain"] == pytest.approx(np.abs(b - gold).mean() - np.abs(a - gold).mean())
    assert row.loc["pearson", "gain"] == pytest.approx(stats.pearsonr(a, gold)[0] - stats.pearsonr(b, gold)[0])
    assert (row["gain_p_holm"] >= row["gain_p"]).all()
    again = pd.concat([verdicts, verdicts[verdicts["judge"] == "b"].assign(judge="itself")], ignore_index=True)
    itself = agreement(again, corpus, **how).set_index("judge").loc["itself"]
    assert (itself["gain"] == 0).all() and (itself["gain_p"] == 1).all()


def test_one_user_alone_has_values_and_no_intervals():
    corpus = rated(users=1)
    verdicts = judged(corpus, {"a": 1.0, "b": 2.0})
    found = agreement(verdicts, corpus, controls=("b",))
    assert found["value"].notna().all() and found[["value_low", "value_high", "gain_p"]].isna().all(axis=None)


def test_several_backbones_and_score_columns():
    corpus = rated()
    verdicts = pd.concat(
        [
            judged(corpus, {"p": 0.8}, backbone="m1"),
            judged(corpus, {"p": 1.6}, 2, backbone="m2"),
            judged(corpus, {"c": 3.0}, 3),
        ],
        ignore_index=True,
    )
    verdicts["cdf"] = verdicts["raw"].clip(lower=2)
    found = agreement(verdicts, corpus, scores=("raw", "cdf"), metrics=("mae",), controls=("c",))
    assert len(found) == 6 and (found.loc[found["judge"] == "p", "control"] == "c").all()
    with pytest.raises(DataError, match="several backbones"):
        agreement_between(verdicts, "p", "c")
    between = agreement_between(verdicts, ("p", "m1"), ("p", "m2"), metrics=("mae",))
    assert between["value"][0] > 0
    with pytest.raises(UnknownName, match="column of the verdicts"):
        agreement(verdicts, corpus, scores=("mean_shift",))


def test_strata():
    corpus = rated()
    verdicts = judged(corpus, {"a": 1.0})
    found = agreement(verdicts, corpus, by="scenario", metrics=("mae",))
    assert found["scenario"].tolist() == ["gift", "travel"] and found["turns"].tolist() == [96, 96]
    assert agreement(verdicts, corpus, by="assistant", metrics=("mae",))["turns"].tolist() == [192]
    with pytest.raises(UnknownName, match="column"):
        agreement(verdicts, corpus, by="weather")


def test_nothing_is_dropped_in_silence():
    corpus = tiny_corpus()
    verdicts = corpus.turns[TURN].assign(judge="j", raw=[4.0, 3.0, 5.0, None, 4.0])
    with pytest.raises(DataError, match=r"row 5: j on ada / travel / 0 / 0 is a second verdict"):
        agreement(pd.concat([verdicts, verdicts.head(1)]), corpus)
    strange = verdicts.assign(turn=[0, 9, 0, 0, 0])
    with pytest.raises(DataError, match=r"row 1: j on ada / travel / 0 / 9 is on a turn that corpus 'tiny'"):
        agreement(strange, corpus)
    with pytest.raises(DataError, match="which the user did not rate"):
        agreement(verdicts.assign(candidate="m"), corpus)
    corpus.turns.loc[0, "score"] = pd.NA
    row = agreement(verdicts, corpus, metrics=("mae",)).iloc[0]
    assert (row["turns"], row["unscored"], row["without_gold"], row["coverage"]) == (3, 1, 1, 0.75)
    nothing = agreement(verdicts.assign(raw=np.nan), corpus)
    assert nothing["value"].isna().all() and (nothing["coverage"] == 0).all()


def test_the_paper_table():
    corpus = rated()
    verdicts = judged(corpus, {"good": 0.7, "constant": math.inf})
    found = agreement(verdicts, corpus, metrics=("pearson", "mae"), controls=("constant",))
    wide = agreement_table(found, gains=("mae",))
    assert list(wide.columns) == ["judge", "calibration", "turns", "pearson", "mae", "gain: mae"]
    first = found.iloc[0]
    assert wide["pearson"].tolist() == [
        f"{format_number(first['value'])} [{format_number(first['value_low'])}, {format_number(first['value_high'])}]",
        "–",
    ]
    assert str(wide["gain: mae"][0]).endswith("*")
    assert list(agreement_table(found, (), gains=("mae",)))[-1] == "gain: mae"
    assert [format_number(v) for v in (0.36, -0.0421, 1.25, -0.0001, math.nan)] == [
        "0.360",
        "−0.042",
        "1.250",
        "0.000",
        "–",
    ]


# -- turns, reasons, calibration -----------------------------------------------------------------------------


def test_disagreements_come_first():
    corpus = tiny_corpus()
    verdicts = pd.concat(
        [
            corpus.turns[TURN].assign(judge="a", raw=[4.0, 4, 5, 3, None]),
            corpus.turns[TURN].assign(judge="b", raw=[4.0, 1, 4, 4, 4.0]),
        ]
    )
    found = disagreements(verdicts, corpus)
    assert found["spread"].tolist() == [3, 1, 1, 0]  # the last turn only b scored
    assert (found.loc[0, "a"], found.loc[0, "b"], found.loc[0, "gold"], found.loc[0, "turn"]) == (4, 1, 2, 1)
    assert found["sides"].tolist() == [True, False, True, False]


def test_reasons():
    corpus = rated()
    turns = corpus.turns
    verdicts = turns[TURN].assign(judge="a", raw=turns["score"].astype(float), reason=turns["reason"])
    sure = reason_agreement(verdicts, corpus).set_index("metric")["value"]
    assert sure[["accuracy", "kappa", "accuracy_all"]].tolist() == [1, 1, 1]
    low = np.flatnonzero(turns["score"].to_numpy(int) <= 3)
    verdicts.loc[low[:4], "raw"] = 5.0  # satisfied where the user was not
    verdicts.loc[low[4:6], "reason"] = "other"
    found = reason_agreement(verdicts, corpus).set_index("metric")
    n = len(low)
    assert found.loc["accuracy", "value"] == pytest.approx((n - 6) / (n - 4))
    assert found.loc["accuracy_all", "value"] == pytest.approx((n - 6) / n)
    both = verdicts.loc[low[4:]]
    kappa = sk.cohen_kappa_score(turns["reason"].loc[low[4:]].tolist(), both["reason"].tolist())
    assert found.loc["kappa", "value"] == pytest.approx(kappa)
    confusion = reason_confusion(verdicts, corpus).query("gold_reason != 'satisfied'")
    counted = confusion.groupby("reason")["turns"].sum()
    assert confusion["turns"].sum() == n and counted["satisfied"] == 4 and counted["other"] == 2


def test_a_reason_is_measured_beside_the_users_usual_one_elsewhere():
    corpus = rated()
    gift, low = corpus.turns["scenario"] == "gift", corpus.turns["score"] <= 3
    turns = corpus.turns.assign(reason=None)
    turns.loc[low & ~gift, "reason"] = np.where(turns["user"] < "u06", "detail", "diversity")[low & ~gift]
    turns.loc[low & gift, "reason"] = "detail"
    corpus = replace(
        corpus, turns=turns, meta={"splits": {"train": ["u00"], "test": [f"u{i:02d}" for i in range(1, 12)]}}
    )
    verdicts = turns[gift & turns["user"].gt("u00")][TURN].assign(judge="a", raw=2.0, reason="diversity")
    found = reason_agreement(verdicts, corpus).set_index("metric")
    pairs = reason_pairs(verdicts, corpus)
    of_early = (pairs["user"] < "u06").mean()
    assert set(pairs.loc[pairs["user"] < "u06", "own_reason"]) == {"detail"} and set(pairs["common_reason"]) == {
        "detail"
    }
    assert found.loc["accuracy", ["value", "own", "common"]].tolist() == pytest.approx([0, of_early, 1])
    assert found.loc["gain_own", "value"] == pytest.approx(-of_early) and found.loc["gain_common", "value"] == -1


def test_reliability():
    corpus = rated()
    verdicts = judged(corpus, {"a": 1.0})
    found = reliability(verdicts, corpus)
    gold = corpus.turns["score"].astype(float)
    for row in found.itertuples():
        assert row.gold == pytest.approx(gold[verdicts["raw"] == row.predicted].mean())
    assert found["turns"].sum() == 192 and found["predicted"].is_monotonic_increasing
    fine = reliability(verdicts.assign(raw=verdicts["raw"] + np.linspace(0, 0.1, 192)), corpus)
    assert len(fine) == 5


# -- real users ------------------------------------------------------------------------------------------------

ARCHIVE = "persturnbench/persturnbench_42users.tar.gz"


@pytest.fixture(scope="module")
def people() -> Corpus:
    return load(real.ROOT / ARCHIVE)


def history_verdicts(corpus: Corpus, split: str) -> pd.DataFrame:
    """The reply-blind user: mean and median of the user's scores in the other scenarios, never the reply."""
    parts = []
    for block in corpus.blocks(split):
        scores = block.evidence["score"].dropna().astype(float)
        own = block.targets[TURN]
        parts += [own.assign(judge="mean", raw=scores.mean()), own.assign(judge="median", raw=scores.median())]
    return pd.concat(parts, ignore_index=True)


@real.needs(ARCHIVE)
@pytest.mark.parametrize(
    ("split", "blocks", "turns", "of_mean"),
    [("test", 80, 1594, [0.363925, 0.414142, 0.246745]), ("train", 85, 1413, [0.344980, 0.350929, 0.209478])],
)
def test_reply_blind_history_of_real_users(people, split, blocks, turns, of_mean):
    """The published controls on the users at hand, as scipy and scikit-learn compute them too."""
    assert sum(1 for _ in people.blocks(split)) == blocks
    verdicts = history_verdicts(people, split)
    found = agreement(verdicts, people, metrics=tuple(METRICS))
    assert (found["turns"] == turns).all() and (found["coverage"] == 1).all()
    gold = verdicts.merge(people.turns[[*TURN, "score"]], on=TURN, how="left")
    for judge, own in gold.groupby("judge"):
        ours = found[found["judge"] == judge].set_index("metric")["value"]
        columns = (own[c].to_numpy(kind) for c, kind in GIVEN)
        for name, value in by_others(*columns).items():
            assert ours[name] == pytest.approx(value, abs=1e-9, nan_ok=True), (judge, name)
    mean = found[found["judge"] == "mean"].set_index("metric")["value"]
    assert mean[["pearson", "spearman", "qwk"]].tolist() == pytest.approx(of_mean, abs=1e-6)
    assert mean["wc_pearson"] < 0  # leaving the scenario out turns the mean against what is left within users
    assert np.isnan(mean["wb_pearson"])  # one value a block says nothing within it
