"""How sure a ranking is: rank sets, views of it, judges that prefer their own, and the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perslib.corpus import load
from perslib.errors import DataError
from perslib.replay import (
    ORIGINAL,
    against_truth,
    prediction_powered,
    ranking_views,
    self_preference,
    summarize_candidates,
    summarize_rank_sets,
    view_means,
)
from perslib.stats import joint_sign_flip, resample_users, sign_flip
from perslib.stats.compare.best_reply import signs_of_pairs, tau

KEYS = ["user", "scenario", "session", "turn"]


def verdicts(
    rng: np.random.Generator, levels: dict[str, float], users: int = 30, noise: float = 0.6, judge: str = "j"
) -> pd.DataFrame:
    """Three turns a user; candidates differ by their level alone."""
    user = np.repeat([f"u{i:02}" for i in range(users)], 3)
    mood = np.repeat(rng.normal(0, 0.3, users), 3)
    parts = [
        pd.DataFrame(
            {
                "candidate": name,
                "judge": judge,
                "backbone": f"model-{judge}",
                "user": user,
                "scenario": np.tile(["gift", "skill", "travel"], users),
                "session": "0",
                "turn": 1,
                "reference_cdf": level + mood + rng.normal(0, noise, len(user)),
            }
        )
        for name, level in levels.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_joint_sign_flip_is_the_single_test_when_alone_and_beats_bonferroni():
    rng = np.random.default_rng(1)
    alone = rng.normal(0.3, 1, 20)
    assert joint_sign_flip(alone[:, None])[0] == pytest.approx(sign_flip(alone), abs=1e-12)
    # The same test many times over is one test.
    assert joint_sign_flip(np.repeat(alone[:, None], 30, axis=1)) == pytest.approx(np.full(30, sign_flip(alone)))
    several = rng.normal(0.4, 1, (20, 6))
    adjusted, single = joint_sign_flip(several), np.array([sign_flip(d) for d in several.T])
    assert (adjusted >= single - 0.02).all() and (adjusted <= np.minimum(1, 6 * single) + 0.02).all()
    missing = joint_sign_flip(np.column_stack([alone, np.full(20, np.nan), np.zeros(20)]))
    assert math.isnan(missing[1]) and missing[2] == 1


def test_joint_sign_flip_is_wrong_as_seldom_as_it_says():
    rng = np.random.default_rng(2)
    wrong = [joint_sign_flip(rng.normal(0, 1, (12, 8)), flips=199, seed=i).min() <= 0.1 for i in range(300)]
    assert np.mean(wrong) == pytest.approx(0.1, abs=0.055)


def test_ranks_that_the_data_rule_out():
    frame = verdicts(np.random.default_rng(3), {"low": 2.5, "top": 4.5, "twin": 4.48, "mid": 3.5})
    table = summarize_rank_sets(frame).set_index("candidate")
    assert list(table.index[2:]) == ["mid", "low"] and set(table.index[:2]) == {"top", "twin"}
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert table.loc[["top", "twin", "mid", "low"], "best_rank"].tolist() == [1, 1, 3, 4]
    assert table.loc[["top", "twin", "mid", "low"], "worst_rank"].tolist() == [2, 2, 3, 4]
    assert table["tied_first"].tolist() == [True, True, False, False]
    means = summarize_candidates(frame).set_index("candidate")
    assert table["user_macro_low"].to_dict() == pytest.approx(means["user_macro_low"].to_dict())


@pytest.mark.simulation
def test_equal_candidates_are_nearly_always_all_tied_for_first():
    rng, full = np.random.default_rng(4), 0
    for _ in range(60):
        table = summarize_rank_sets(verdicts(rng, dict.fromkeys("abcde", 4.0), users=15))
        full += table["best_rank"].eq(1).all() and table["worst_rank"].eq(5).all()
    assert full >= 51  # 57 expected; fewer than 51 with a probability of .2 %


def test_rank_sets_compare_on_common_turns_and_judges_one_by_one():
    frame = verdicts(np.random.default_rng(5), {"a": 4.0, "b": 3.9})
    frame["reference_cdf"] = frame["reference_cdf"].astype("Float64")
    # b is scored on the users' worst turns only, where it does better than a.
    easy = frame["scenario"] == "gift"
    frame.loc[easy & (frame["candidate"] == "a"), "reference_cdf"] += 3
    frame.loc[~easy & (frame["candidate"] == "b"), "reference_cdf"] += 2
    frame.loc[easy & (frame["candidate"] == "b"), "reference_cdf"] = pd.NA
    table = summarize_rank_sets(pd.concat([frame, frame.assign(judge="k")]))
    assert table["judge"].tolist() == ["j", "j", "k", "k"]
    one = table[table["judge"] == "j"].set_index("candidate")
    assert one["tied_first"].to_dict() == {"a": False, "b": True}
    assert one["unscored"].to_dict() == {"a": 0, "b": 30}


def test_four_users_rule_nothing_out():
    table = summarize_rank_sets(verdicts(np.random.default_rng(6), {"a": 1.0, "b": 5.0}, users=4))
    assert table["tied_first"].all() and table["worst_rank"].eq(2).all()
    assert table["user_macro_low"].isna().all()


def test_a_candidate_without_any_score_has_no_rank_and_takes_none():
    frame = verdicts(np.random.default_rng(3), {"low": 2.5, "top": 4.5, "mid": 3.5})
    silent = frame[frame["candidate"] == "low"].assign(candidate="silent", reference_cdf=np.nan)
    table = summarize_rank_sets(pd.concat([frame, silent])).set_index("candidate")
    ranks = ["rank", "best_rank", "worst_rank", "tied_first"]
    pd.testing.assert_frame_equal(
        table.loc[["top", "mid", "low"], ranks], summarize_rank_sets(frame).set_index("candidate")[ranks]
    )
    assert table.loc["silent", ranks[:3]].isna().all() and not table.loc["silent", "tied_first"]
    assert table.index[-1] == "silent" and table.loc["silent", "unscored"] == 90


def test_kendall_is_that_of_scipy():
    def kendall(one, other):
        return tau(*signs_of_pairs(one.T, other.T))

    rng = np.random.default_rng(7)
    one, other = rng.integers(0, 5, (2, 6, 50)).astype(float)
    slow = [stats.kendalltau(a, b).statistic for a, b in zip(one.T, other.T)]
    assert kendall(one, other) == pytest.approx(slow, nan_ok=True)
    one[2, 0] = np.nan
    rest = [0, 1, 3, 4, 5]
    assert kendall(one, other)[0] == pytest.approx(stats.kendalltau(one[rest, 0], other[rest, 0]).statistic)
    assert math.isnan(kendall(np.ones((3, 1)), np.arange(3.0)[:, None])[0])


def test_views_are_judges_calibrators_and_replay_sets():
    rng = np.random.default_rng(8)
    levels = {"a": 3.0, "b": 3.5, "c": 4.0}
    frame = pd.concat([verdicts(rng, levels, noise=0.2), verdicts(rng, levels, noise=0.2, judge="k")])
    frame["raw"] = -frame["reference_cdf"]
    table = ranking_views(frame, ["reference_cdf", "raw"]).set_index(["view", "other"])
    assert len(table) == 6
    same = table.loc[("j · model-j · reference_cdf", "k · model-k · reference_cdf")]
    assert (same["tau"], same["tau_low"], same["best_agrees"], same["worst_agrees"]) == (1, 1, True, True)
    assert (same["candidates"], same["users"]) == (3, 30)
    turned = table.loc[("j · model-j · reference_cdf", "j · model-j · raw")]
    assert (turned["tau"], turned["tau_high"], turned["best_agrees"]) == (-1, -1, False)
    few = frame[(frame["user"] < "u10") & (frame["judge"] == "k")]
    even = frame[(frame["candidate"] != "a") & (frame["judge"] == "k")]
    sets = ranking_views({"hard": few, "even": even})
    assert sets.loc[0, ["view", "other", "candidates", "users"]].tolist() == ["hard", "even", 2, 30]
    means = view_means(frame)
    expected = summarize_candidates(frame[frame["judge"] == "k"]).set_index("candidate")["user_macro"]
    assert means["k · model-k"].to_dict() == pytest.approx(expected.to_dict())


@pytest.mark.parametrize("shared", [0, 1])
def test_views_with_nothing_to_compare_do_not_agree(shared):
    rng = np.random.default_rng(17)
    one = verdicts(rng, {"a": 3.0, "b": 4.0})
    other = verdicts(rng, {"b" if shared else "c": 3.0, "d": 4.0}, judge="k")
    row = ranking_views(pd.concat([one, other])).iloc[0]
    assert row["candidates"] == shared and math.isnan(row["tau"])
    assert not row["best_agrees"] and not row["worst_agrees"]
    truth = one.assign(candidate=one["candidate"].replace("a", "x").replace("b", "b" if shared else "y"))
    row = against_truth(one, truth, true_score="reference_cdf").iloc[0]
    assert (row["candidates"], row["best_agrees"], row["worst_agrees"]) == (shared, False, False)


def test_interval_of_a_view_is_that_of_the_naive_loop():
    rng = np.random.default_rng(9)
    levels = dict.fromkeys("abcd", 4.0)
    frame = pd.concat([verdicts(rng, levels, users=11), verdicts(rng, levels, users=11, judge="k")])
    table = ranking_views(frame, seed=2)
    by_user = frame.groupby(["judge", "user", "candidate"])["reference_cdf"].mean().unstack()
    taus = []
    for weights in resample_users(11, seed=2).T:
        drawn = np.repeat(np.arange(11), weights.astype(int))
        one, other = (by_user.loc[j].to_numpy()[drawn].mean(axis=0) for j in "jk")
        taus.append(stats.kendalltau(one, other).statistic)
    assert table.loc[0, "tau"] == pytest.approx(taus[0])
    assert table.loc[0, ["tau_low", "tau_high"]].tolist() == pytest.approx(np.quantile(taus[1:], [0.025, 0.975]))


FAMILIES = {"q1": "qwen", "g1": "glm", "g2": "glm", "model-q": "qwen", "model-g": "glm"}


def two_judges(rng: np.random.Generator, favour: float) -> pd.DataFrame:
    """Judge q is milder to all by .3, and by `favour` more to its own family."""
    frame = verdicts(rng, {"q1": 3.5, "g1": 3.5, "g2": 4.0, "unknown": 3.0}, judge="g")
    own = frame.assign(judge="q", backbone="model-q")
    own["reference_cdf"] += 0.3 + favour * (own["candidate"] == "q1") + rng.normal(0, 0.3, len(own))
    return pd.concat([frame, own], ignore_index=True)


def test_a_judge_that_favours_its_own_family_is_found():
    table = self_preference(two_judges(np.random.default_rng(10), 0.5), FAMILIES).set_index("judge")
    own = table.loc["q"]
    assert (
        own["preference"] == pytest.approx(0.5, abs=0.1)
        and own["preference_low"] > 0.3
        and own["preference_p_holm"] < 0.01
    )
    assert own["others"] == pytest.approx(0.3, abs=0.1)
    counts = ["own_candidates", "other_candidates", "judges", "turns", "users"]
    assert own[counts].tolist() == [1, 2, 1, 270, 30]  # `unknown` has no family
    assert own["why"] is None or pd.isna(own["why"])
    fair = self_preference(two_judges(np.random.default_rng(11), 0.0), FAMILIES)
    assert (fair["preference_low"] < 0).all() and (fair["preference_high"] > 0).all()


def test_self_preference_says_what_is_lacking():
    frame = two_judges(np.random.default_rng(12), 0.0)

    def why(part: pd.DataFrame, families: dict[str, str]) -> list[str]:
        table = self_preference(part, families)
        assert table["preference"].isna().all() and table["preference_p_holm"].isna().all()
        return table["why"].tolist()

    assert why(frame[frame["judge"] == "q"], FAMILIES) == ["there is no judge of another family"]
    assert why(frame, {"q1": "qwen"}) == ["the judge's family is not known"] * 2
    strangers = {"model-q": "qwen", "model-g": "glm", "g1": "mistral", "q1": "mistral"}
    assert all("no candidate of its own family" in w for w in why(frame, strangers))
    only = frame[frame["candidate"] == "q1"]
    whys = self_preference(only, FAMILIES).set_index("judge")["why"]
    assert "no candidate of another family" in whys["q"] and "its own" in whys["g"]


def test_against_the_truth_of_each_reply():
    rng = np.random.default_rng(13)
    frame = verdicts(rng, {"a": 3.0, "b": 3.5, "c": 4.0, "d": 4.5}, noise=0.3)
    truth = frame.rename(columns={"reference_cdf": "expected"})[["candidate", *KEYS, "expected"]]
    frame["reference_cdf"] += 1.2 * (frame["candidate"] == "c")
    row = against_truth(frame, truth.sample(frac=1, random_state=1)).iloc[0]
    assert row["tau"] == pytest.approx(4 / 6) and row["tau_low"] <= 4 / 6 <= row["tau_high"]
    assert row[["best", "true_best", "worst", "true_worst"]].tolist() == ["c", "d", "a", "a"]
    assert (row["best_agrees"], row["worst_agrees"]) == (False, True)
    assert row[["candidates", "users", "turns", "left_out"]].tolist() == [4, 30, 360, 0]
    fewer = against_truth(frame, truth[truth["candidate"] != "c"]).iloc[0]
    assert (fewer["candidates"], fewer["left_out"], fewer["tau"]) == (3, 90, 1)
    assert fewer["best_agrees"] and fewer["best"] == "d"


def test_several_that_stand_first_together_are_all_named():
    frame = verdicts(np.random.default_rng(14), {"a": 3.0, "b": 4.0})
    truth = frame.assign(expected=frame["candidate"].map({"a": 3.0, "b": 4.0})).drop(columns="reference_cdf")
    row = against_truth(frame.assign(reference_cdf=4.0), truth).iloc[0]
    assert row["best"] == "a, b" and not row["best_agrees"] and math.isnan(row["tau"])


def test_labels_on_some_replies_sharpen_and_correct_the_judge():
    frame = verdicts(np.random.default_rng(15), {ORIGINAL: 3.0, "new": 3.6}, users=60)
    labels = frame.rename(columns={"reference_cdf": "score"})[["candidate", *KEYS, "score"]]
    frame["reference_cdf"] += 0.7 + np.random.default_rng(16).normal(0, 0.3, len(frame))  # a mild judge
    rated = labels[labels["user"].isin([f"u{i:02}" for i in range(0, 60, 3)])]
    table = prediction_powered(frame, rated).set_index("candidate")
    for name, truth in ((ORIGINAL, 3.0), ("new", 3.6)):
        row = table.loc[name]
        assert row["powered_low"] < truth < row["powered_high"] < summarize_candidates(frame)["micro"].max()
        assert row["powered_high"] - row["powered_low"] < 0.9 * (row["classical_high"] - row["classical_low"])
        assert row[["labelled", "unlabelled", "users", "left_out"]].tolist() == [60, 120, 20, 0]
        assert row["classical"] == pytest.approx(rated.loc[rated["candidate"] == name, "score"].mean())
    # Turns of a corpus are labels of the recorded replies; the other candidate then has none.
    recorded = rated[rated["candidate"] == ORIGINAL].drop(columns="candidate")
    fewer = frame[frame["user"] != "u00"]
    table = prediction_powered(fewer, recorded).set_index("candidate")
    assert table["labelled"].to_dict() == {ORIGINAL: 57, "new": 0}
    assert table["left_out"].to_dict() == {ORIGINAL: 3, "new": 0}
    assert table.loc["new", ["powered", "classical_low"]].isna().all()


def test_labels_match_whichever_way_their_keys_were_read():
    frame = verdicts(np.random.default_rng(15), {"1": 3.0, "2": 3.6}, users=12)
    frame["user"] = frame["user"].str.removeprefix("u").astype(int).astype(str)
    labels = frame.rename(columns={"reference_cdf": "score"})[["candidate", *KEYS, "score"]][::2]
    expected = prediction_powered(frame, labels)
    assert expected["labelled"].gt(0).all() and expected["left_out"].eq(0).all()
    read = labels.astype({"candidate": int, "user": int, "session": float, "turn": float})
    pd.testing.assert_frame_equal(prediction_powered(frame, read), expected)
    pd.testing.assert_frame_equal(
        against_truth(frame, read, true_score="score"), against_truth(frame, labels, true_score="score")
    )


def test_doubles_are_reported_where_they_stand():
    frame = verdicts(np.random.default_rng(15), {"a": 3.0, "b": 3.6}, users=6)
    labels = frame.rename(columns={"reference_cdf": "score"})[["candidate", *KEYS, "score"]]
    twice = pd.concat([labels, labels[4:5]], ignore_index=True)
    where = r"row 36: a on u01 / skill / 0 / 1 stands twice\n1 in all. Keep one row a candidate and turn\."
    with pytest.raises(DataError, match="labels " + where):
        prediction_powered(frame, twice)
    with pytest.raises(DataError, match="truth " + where):
        against_truth(frame, twice, true_score="score")
    with pytest.raises(DataError, match=r"verdicts row 4: [\s\S]*a judge, backbone, candidate and turn"):
        summarize_candidates(pd.concat([frame, frame[4:5]]))


def test_the_recorded_assistants_of_the_sample_judged_by_the_truth_itself():
    truth = load("sample/en").extras["candidates"]
    judged = truth[["candidate", *KEYS]].assign(judge="oracle", reference_cdf=truth["expected"])
    row = against_truth(judged, truth).iloc[0]
    assert (row["tau"], row["tau_low"], row["best_agrees"], row["worst_agrees"]) == (1, 1, True, True)
    table = summarize_rank_sets(judged).set_index("candidate")
    assert (table["best_rank"] <= table["rank"]).all() and (table["rank"] <= table["worst_rank"]).all()
    assert not table["tied_first"].all()
    for a, b in itertools.pairwise(table.index):
        assert table.loc[a, "user_macro"] >= table.loc[b, "user_macro"]
