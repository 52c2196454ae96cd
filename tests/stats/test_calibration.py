"""Calibration on a user's own scale: worked numbers, what must not matter, and what happens with too little."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import real
from hypothesis import given, settings
from hypothesis import strategies as st
from made import tiny_corpus

from perslib.corpus import load
from perslib.errors import DataError, UnknownName
from perslib.stats import calibrate_verdicts, fallbacks, histories, to_scale
from perslib.stats.calibrate.user_scale import cdf, mean_shift

RAW, TURN, ONE = [4, 4, 3, 5, 4, 2], [0, 1, 2, 0, 1, 2], [0] * 6
HISTORY = [[0, 1, 2, 3, 4]]
REFERENCE = [4, 4, 3, 5, 4, 2]


def fallback_counts(done):
    reasons, times = np.unique(done.fallback[done.fallback != ""], return_counts=True)
    return dict(zip(reasons.tolist(), times.tolist()))


def same(done, expected):
    np.testing.assert_allclose(done.scores, expected, atol=1e-12)
    assert not fallback_counts(done)


# -- worked numbers ------------------------------------------------------------------------------------


def test_rounding_is_half_to_even_and_clipped():
    np.testing.assert_array_equal(to_scale([3.5, 4.5, 2.5, 0.2, 5.5, np.nan]), [4, 4, 2, 1, 5, np.nan])


def test_mean_shift():
    same(mean_shift(RAW, ONE, HISTORY), [4, 4, 3, 5, 4, 2])
    # 3.5, 4.5, 5.5 with a history mean of 4.5
    same(mean_shift([3, 4, 5], [0] * 3, [[0, 0, 0, 3, 3]]), [4, 4, 5])


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("turn_index", [4, 4, 3, 5, 5, 2]),
        ("mid", [4, 4, 3, 5, 4, 2]),
        ("min", [4, 4, 3, 5, 4, 2]),
        ("max", [5, 5, 3, 5, 5, 2]),
        ("expected", [13 / 3, 13 / 3, 3, 5, 13 / 3, 2]),
    ],
)
def test_cdf(ties, expected):
    same(cdf(RAW, ONE, HISTORY, ties=ties, turn=TURN), expected)


def test_a_block_of_equal_scores():
    equal = [4] * 6
    same(cdf(equal, ONE, HISTORY, ties="turn_index", turn=TURN), [2, 4, 5, 3, 4, 5])
    same(cdf(equal, ONE, HISTORY, ties="mid"), [4] * 6)
    same(cdf(equal, ONE, HISTORY), [23 / 6] * 6)


def test_random_ties_tend_to_the_expected_values():
    rng = np.random.default_rng(3)
    orders = [rng.permutation(6) for _ in range(2000)]
    drawn = [cdf(RAW, ONE, HISTORY, ties="turn_index", turn=order).scores for order in orders]
    assert sorted(drawn[0]) == [2, 3, 4, 4, 5, 5]
    np.testing.assert_allclose(np.mean(drawn, axis=0), cdf(RAW, ONE, HISTORY).scores, atol=0.05)


def test_cdf_of_a_reference():
    reference = (REFERENCE, ONE)
    same(cdf([4, 5], [0, 0], HISTORY, reference, ties="mid"), [4, 5])
    # Ranks 2 to 5 of 7 read 4, 4, 5, 5; ranks 5 and 6 read 5.
    same(cdf([4, 5], [0, 0], HISTORY, reference), [4.5, 5])
    same(cdf([4], [0], HISTORY, reference, ties="min"), [4])
    same(cdf([4], [0], HISTORY, reference, ties="max"), [5])


def test_mean_shift_of_a_reference():
    same(mean_shift([4, 5], [0, 0], HISTORY, (REFERENCE, ONE)), [4, 5])


# -- too little to go by -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [mean_shift, cdf])
def test_the_raw_score_stands_where_there_is_too_little(method):
    raw, block = [3.5, 2, 4, 4.4, 5, np.nan, 2], [0, 0, 1, 2, 2, 2, 3]
    history = [[0, 0, 0, 2, 2], [0, 0, 0, 0, 9], [0, 0, 0, 0, 0], [5, 0, 0, 0, 0]]
    done = method(raw, block, history)
    np.testing.assert_array_equal(done.scores, [4, 2, 4, 4, 5, np.nan, 2])
    assert fallback_counts(done) == {"short history": 2, "single prediction": 2, "no history": 2}
    assert fallback_counts(method([1, 3], [0, 0], history, min_history=4)) == {}


@pytest.mark.parametrize("method", [mean_shift, cdf])
def test_unscored_replies_stay_unscored_and_count_for_nothing(method):
    with_gaps = method([4, np.nan, 3, 5, np.nan], [0] * 5, HISTORY)
    np.testing.assert_array_equal(with_gaps.scores[[1, 4]], [np.nan, np.nan])
    np.testing.assert_array_equal(with_gaps.scores[[0, 2, 3]], method([4, 3, 5], [0] * 3, HISTORY).scores)


@pytest.mark.parametrize("method", [mean_shift, cdf])
def test_no_reference_is_counted(method):
    history = [*HISTORY, [0, 0, 0, 0, 0]]
    assert fallback_counts(method([4, 2], [0, 0], history, ([], []))) == {"no reference": 2}
    assert fallback_counts(method([4, 2], [1, 1], history, ([3.0], [1]))) == {"no history": 2}
    assert fallback_counts(method([4, np.nan], [0, 0], history, ([np.nan], [0]))) == {"no reference": 1}


def test_tie_rules_that_do_not_fit():
    with pytest.raises(UnknownName, match="tie rule"):
        cdf([4], [0], HISTORY, ties="average")
    with pytest.raises(UnknownName, match="tie rule"):
        cdf([4], [0], HISTORY, ([4], [0]), ties="turn_index", turn=[0])
    with pytest.raises(ValueError, match="turn="):
        cdf([4, 4], [0, 0], HISTORY, ties="turn_index")


# -- what must not matter ------------------------------------------------------------------------------

counts = st.lists(st.integers(0, 9), min_size=5, max_size=5)
cases = st.integers(1, 3).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.tuples(st.integers(0, n - 1), st.sampled_from([1, 2, 3, 3.5, 4, 5, np.nan])), min_size=1, max_size=25
        ),
        st.lists(counts, min_size=n, max_size=n),
    )
)
quick = settings(max_examples=80, deadline=None)


def both(case):
    entries, history = case
    block, raw = (np.array(x) for x in zip(*entries))
    return raw.astype(float), block, np.array(history)


@given(cases, st.sampled_from(["expected", "mid", "min", "max"]), st.randoms())
@quick
def test_order_and_other_blocks_do_not_matter(case, ties, lot):
    raw, block, history = both(case)
    order = np.array(lot.sample(range(len(raw)), len(raw)))
    whole = cdf(raw, block, history, ties=ties).scores
    np.testing.assert_array_equal(cdf(raw[order], block[order], history, ties=ties).scores, whole[order])
    for b in np.unique(block):
        own = block == b
        alone = cdf(raw[own], block[own], history, ties=ties).scores
        np.testing.assert_array_equal(alone, whole[own])
        np.testing.assert_array_equal(
            mean_shift(raw[own], block[own], history).scores, mean_shift(raw, block, history).scores[own]
        )


@given(cases, st.sampled_from(["expected", "mid", "min", "max", "turn_index"]))
@quick
def test_a_higher_raw_score_never_ends_lower_in_its_block(case, ties):
    raw, block, history = both(case)
    after = cdf(raw, block, history, ties=ties, turn=np.arange(len(raw))[::-1]).scores
    for b in np.unique(block):
        own = (block == b) & ~np.isnan(raw)
        sooner = raw[own][:, None] < raw[own][None, :]
        assert (after[own][:, None] <= after[own][None, :])[sooner].all()
    scored = ~np.isnan(raw)
    np.testing.assert_array_equal(np.isnan(after), ~scored)
    assert ((after[scored] >= 1) & (after[scored] <= 5)).all()


@given(cases)
@quick
def test_expected_is_the_mean_over_all_orders_of_the_ties(case):
    raw, block, history = both(case)
    by_turn = cdf(raw, block, history, ties="turn_index", turn=np.arange(len(raw))).scores
    expected = cdf(raw, block, history).scores
    for b in np.unique(block):
        for score in np.unique(raw[(block == b) & ~np.isnan(raw)]):
            tied = (block == b) & (raw == score)
            assert expected[tied] == pytest.approx(by_turn[tied].mean())


@given(cases, cases)
@quick
def test_a_candidates_score_does_not_depend_on_its_neighbours(case, others):
    raw, block, history = both(case)
    reference, reference_block, _ = both(others)
    reference_block = reference_block % len(history)
    together = cdf(raw, block, history, (reference, reference_block)).scores
    for i in range(len(raw)):
        alone = cdf(raw[[i]], block[[i]], history, (reference, reference_block))
        np.testing.assert_array_equal(alone.scores, together[[i]])


# -- on frames -----------------------------------------------------------------------------------------


def test_histories_are_the_evidence_of_every_block():
    corpus = load("sample/en")
    table = histories(corpus).set_index(["user", "scenario"])
    blocks = list(corpus.blocks())
    assert len(blocks) > 50
    for block in blocks:
        given_scores = block.evidence["score"].dropna().astype(int)
        expected = np.bincount(given_scores, minlength=6)[1:]
        np.testing.assert_array_equal(table.loc[(block.user, block.scenario)], expected)


def test_histories_of_a_user_with_one_scenario_are_empty():
    table = histories(tiny_corpus()).set_index(["user", "scenario"])
    assert table.loc[("ada", "travel")].tolist() == [0, 0, 1, 0, 1]
    assert table.loc[("ada", "gift")].tolist() == [0, 1, 0, 1, 0]
    assert table.loc[("bo", "travel")].tolist() == [0] * 5


def verdicts(raw=RAW, judge="a", candidate=None):
    keys = {"user": "u", "scenario": "t", "session": ["0", "0", "0", "10", "2", "2"], "turn": [0, 1, 2, 0, 0, 1]}
    who = {"judge": judge, "backbone": None, "candidate": candidate}
    return pd.DataFrame({**keys, "raw": pd.array(raw, dtype="Float64"), **who})


LOCAL = pd.DataFrame({"user": ["u"], "scenario": ["t"], **{f"n{s + 1}": [HISTORY[0][s]] for s in range(5)}})


def test_calibrated_treats_every_judge_on_its_own():
    both_judges = pd.concat([verdicts(), verdicts([1, 1, 1, 1, None, 1], "b")]).set_index(np.arange(12) * 7)
    done = calibrate_verdicts(both_judges, LOCAL)
    assert done.index.equals(both_judges.index)
    assert done["cdf"].dtype == done["mean_shift"].dtype == "Float64"
    assert done["cdf"].iloc[:6].tolist() == pytest.approx([13 / 3, 13 / 3, 3, 5, 13 / 3, 2])
    assert done["cdf"].iloc[6:].isna().tolist() == [False] * 4 + [True, False]
    np.testing.assert_allclose(done["cdf"].iloc[6:].dropna(), cdf([1] * 5, [0] * 5, HISTORY).scores)
    assert done["mean_shift"].iloc[6:].dropna().tolist() == [4] * 5
    assert fallbacks(done).empty
    for other in (both_judges.sample(frac=1, random_state=1), both_judges.iloc[6:]):
        pd.testing.assert_frame_equal(calibrate_verdicts(other, LOCAL), done.loc[other.index])


def test_calibrated_says_where_it_fell_back():
    strangers = verdicts([None, *RAW[1:]]).assign(user="v")
    done = calibrate_verdicts(pd.concat([verdicts(), strangers], ignore_index=True), LOCAL, ["cdf"])
    assert done["cdf_fallback"].isna().sum() == 7
    found = fallbacks(done)
    assert found[["judge", "method", "reason", "n", "verdicts"]].values.tolist() == [["a", "cdf", "no history", 5, 12]]
    assert pd.isna(done["cdf"].iloc[6])
    assert done["cdf"].iloc[7:].tolist() == RAW[1:]


def test_calibrated_other_scores_and_wrong_names():
    given_expected = verdicts().assign(expected=[4.1, 4.2, 3, 5, 4.3, 2])
    done = calibrate_verdicts(given_expected, LOCAL, ["cdf"], score="expected")
    assert done["cdf"].tolist() == [4, 4, 3, 5, 5, 2]
    with pytest.raises(UnknownName, match="calibration method"):
        calibrate_verdicts(verdicts(), LOCAL, ["cfd"])
    with pytest.raises(UnknownName, match="column of the verdicts"):
        calibrate_verdicts(verdicts(), LOCAL, score="rwa")
    with pytest.raises(DataError, match="twice"):
        calibrate_verdicts(verdicts(), pd.concat([LOCAL, LOCAL]))


def by_reference(new, recorded, **options):
    return calibrate_verdicts(new, LOCAL, ["cdf", "cdf_pooled", "mean_shift"], reference=recorded, **options)


def test_the_published_rule_ranks_all_of_a_candidates_replies_with_the_reference():
    new = verdicts([None, 4, None, None, None, 5], candidate="m").iloc[[1, 5]]
    assert by_reference(new, verdicts())["reference_cdf_pooled"].tolist() == [4, 5]
    assert by_reference(new[:1], verdicts())["reference_cdf_pooled"].tolist() == [5]  # alone, it scores higher
    with pytest.raises(UnknownName, match="calibration method"):
        calibrate_verdicts(new, LOCAL, ["cdf_pooled"])


def test_candidates_are_calibrated_by_the_recorded_replies():
    recorded = pd.concat([verdicts(), verdicts([1] * 6, "b")], ignore_index=True)
    new = verdicts([None, 4, None, None, None, 5], candidate="m").iloc[[1, 5]]
    every = ["reference_cdf", "reference_cdf_pooled", "reference_mean_shift"]
    done = by_reference(new, recorded)
    assert done["reference_cdf"].tolist() == [4.5, 5]
    for method in every[1:]:
        assert done[method].tolist() == [4, 5], method
    twice = pd.concat([new, new.assign(candidate="n")], ignore_index=True)
    again = by_reference(twice, recorded)
    assert again[every].iloc[:2].values.tolist() == done[every].values.tolist()
    elsewhere = by_reference(new.assign(user="v"), recorded)
    assert set(fallbacks(elsewhere)["reason"]) == {"no reference"}
    assert by_reference(new, recorded, ties="mid")["reference_cdf"].tolist() == [4, 5]


def test_a_judge_that_never_judged_the_recorded_replies_is_refused():
    recorded, new = verdicts(), verdicts(candidate="m")
    for wrong, named in (
        (new.assign(judge="c"), "judge c"),
        (new.assign(backbone="q"), "judge a, backbone q"),
        (new.assign(corpus="en"), "corpus en, judge a"),
    ):
        with pytest.raises(DataError, match=rf"reference: has no verdict of {named}\n.*same judge and backbone"):
            by_reference(pd.concat([new, wrong]), recorded)
    with pytest.raises(DataError, match="no verdict of judge a"):
        by_reference(new, recorded[:0])
    unnamed = recorded.assign(backbone=pd.array([None] * 6, dtype="str"))
    done = by_reference(new, unnamed)["reference_cdf"]
    assert done.tolist() == by_reference(new, recorded)["reference_cdf"].tolist()
    assert by_reference(new[:0], recorded[:0]).empty


def test_a_candidate_that_repeats_the_recorded_replies_ties_with_them():
    recorded, methods = verdicts(), ["reference_cdf", "reference_mean_shift"]
    own, again = by_reference(recorded, recorded), by_reference(verdicts(candidate="m"), recorded)
    assert own[methods].values.tolist() == again[methods].values.tolist()


# -- on people -----------------------------------------------------------------------------------------


@real.needs("persturnbench/persturnbench_42users.tar.gz")
def test_a_constant_judge_agrees_with_people_by_its_tie_rule_alone():
    corpus = load(real.ROOT / "persturnbench/persturnbench_42users.tar.gz")
    keys = ["user", "scenario", "session", "turn"]
    targets = pd.concat([block.targets[keys] for block in corpus.blocks("test")], ignore_index=True)
    assert len(targets) == 1594
    gold = targets.merge(corpus.turns, on=keys, how="left")["score"].astype(float)
    constant = targets.assign(judge="constant", raw=4.0)

    def agreement(ties, verdicts=constant):
        done = calibrate_verdicts(verdicts, histories(corpus), ["cdf"], ties=ties)["cdf"].astype(float)
        return [round(gold.corr(done), 3), round(gold.rank().corr(done.rank()), 3)]

    assert agreement("expected") == [0.361, 0.410]
    assert agreement("mid") == [0.316, 0.377]
    assert agreement("turn_index") == [0.285, 0.329]
    shuffled = constant.assign(turn=np.random.default_rng(0).permutation(len(constant)))
    assert agreement("turn_index", shuffled)[0] == pytest.approx(0.16, abs=0.04)
