"""Users left out: weights, intervals, Holm, and what intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import t

from perslib.stats import correlation, holm, interval, leave_out, pearson_from_moments, resample_users, sign_flip
from perslib.stats.agreement.metrics import METRICS, measure_under
from perslib.stats.resample.agreement_sums import AgreementSums
from perslib.stats.resample.leave_one_out import FEWEST_CARRIERS, Resamples, count_carriers, drop_if_few


def test_weights_are_the_sample_itself_and_then_draws_of_as_many_users():
    weights = resample_users(12, 500, seed=1)
    assert weights.shape == (12, 501)
    assert (weights[:, 0] == 1).all() and (weights.sum(axis=0) == 12).all()
    assert weights[:, 1:].mean() == pytest.approx(1) and weights[:, 1:].std() == pytest.approx(0.957, abs=0.05)
    assert (weights == resample_users(12, 500, seed=1)).all()
    assert (weights != resample_users(12, 500, seed=2)).any()
    assert resample_users(9, 500).shape == (9, 1), "of so few users there is no interval"


def test_every_unit_is_left_out_once_and_many_in_groups():
    assert leave_out(3).tolist() == [[1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
    many = leave_out(1234)
    assert many.shape == (1234, 501)
    assert ((many == 0).sum(axis=1) == 1).all()
    assert set((many[:, 1:] == 0).sum(axis=0)) == {2, 3}
    assert leave_out(0).shape == (0, 1)


def test_interval_of_a_mean_by_hand():
    """Of equal weights, dᵢ = (xᵢ − x̄) / (U − 1), so se is s / √U; ten users, of which each carries a tenth."""
    x = np.array([1.0, -1.0] * 5)
    values = np.append(0.0, (0 - x) / 9)
    low, high, p = interval(values)
    se = x.std(ddof=1) / math.sqrt(10)
    assert (low, high) == pytest.approx((-t.ppf(0.975, 9) * se, t.ppf(0.975, 9) * se))  # 1.5 K = 15, at most U − 1
    assert p == 1.0
    heavy = np.append(x, [30.0] + [0.0] * 9)  # one of twenty users carries nearly all
    low, high, _ = interval(np.append(heavy.mean(), (heavy.sum() - heavy) / 19))
    squares = ((heavy - heavy.mean()) / 19) ** 2
    df = max(1.0, 1.5 * squares.sum() ** 2 / (squares**2).sum())
    assert (high - low) / 2 == pytest.approx(t.ppf(0.975, df) * heavy.std(ddof=1) / math.sqrt(20))
    assert df < 2


@pytest.mark.parametrize(
    ("scale", "least", "most"),
    [("score", 1, 5), ("correlation", -1, 1), ("share", 0, 1), ("percent", 0, 100), ("error", 0, math.inf)],
)
def test_an_interval_stays_within_what_such_a_number_can_be(scale, least, most):
    rng = np.random.default_rng(0)
    for at in (least + 0.02, min(most, 50) - 0.02):
        values = np.append(at, at + rng.normal(0, 0.01, 12))
        low, high, _ = interval(values, scale)
        assert least <= low <= at <= high <= most


def test_who_makes_no_difference_does_not_count():
    rng = np.random.default_rng(1)
    few = np.append(0.5, 0.5 + rng.normal(0, 0.01, 12))
    with_others = np.append(few, [0.5] * 30)
    assert np.array(interval(few)) == pytest.approx(np.array(interval(with_others)))
    assert np.isnan(interval(few[:10])).all(), "nine users are too few"
    assert np.isnan(interval(np.append(few, np.nan))).all(), "not defined without somebody"
    assert np.isnan(interval(np.full(30, 0.5))).all(), "nobody matters"


def test_intervals_of_many_rows_at_once_are_those_of_each():
    rng = np.random.default_rng(2)
    values = 0.3 + rng.normal(0, 0.02, (4, 5, 21))
    low, high, p = interval(values, "correlation")
    one = interval(values[2, 3], "correlation")
    assert (low[2, 3], high[2, 3], p[2, 3]) == pytest.approx(tuple(map(float, one)))


def test_holm_worked_example():
    # Of four p-values: 4 · .005, 3 · .01, 2 · .03, then .04 which may not fall below its forerunner.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    adjusted = holm(np.array([0.02, np.nan, 0.9]))
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.9]) and math.isnan(adjusted[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(p):
    given_p = np.array(p)
    adjusted = holm(given_p)
    assert (adjusted >= given_p).all() and (adjusted <= np.minimum(len(p) * given_p, 1) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(given_p, kind="stable")]) >= 0).all()


def test_sign_flip_of_few_users_is_near_the_exact_test():
    # Of the 2^5 sign patterns, all plus and all minus reach the observed mean: p = 2 / 32.
    assert sign_flip(np.array([1.0, 2.0, 3.0, 1.0, 2.0])) == pytest.approx(2 / 32, abs=0.01)
    assert sign_flip(np.array([1.0, -1.0])) == 1.0
    assert math.isnan(sign_flip(np.array([np.nan])))


def cluster_sample(rng: np.random.Generator, users: int, turns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold and scores that share a user's level: within a user, turns resemble each other."""
    user = np.repeat(np.arange(users), turns)
    level = rng.normal(0, 1, users)[user]
    gold = level + rng.normal(0, 0.7, len(user))
    return gold, level + rng.normal(0, 0.7, len(user)), user


@pytest.mark.parametrize("whole", [True, False], ids=["whole scores", "real-valued scores"])
def test_resampled_metrics_equal_the_naive_loop(whole):
    """Each metric under user weights is the metric of the turns repeated as often as their user was drawn."""
    rng = np.random.default_rng(3)
    latent, score, user = cluster_sample(rng, 12, 9)
    gold = np.clip(np.rint(4 + latent), 1, 5)
    score = np.clip(np.rint(4 + score), 1, 5) if whole else 4 + score
    weights = resample_users(12, 40, seed=5)
    fast = measure_under(AgreementSums(gold, score, user, 12), METRICS, weights)
    for column in range(41):
        parts = [(u, copy) for u in range(12) for copy in range(int(weights[u, column]))]
        rows = np.concatenate([np.flatnonzero(user == u) for u, _ in parts])
        clone = np.concatenate([np.full(9, i) for i in range(len(parts))])
        naive = measure_under(
            AgreementSums(gold[rows], score[rows], clone, len(parts)), METRICS, np.ones((len(parts), 1))
        )
        for name in METRICS:
            coarse = name == "wc_spearman" and not whole  # 108 × 108 values share a table of 32 × 32
            assert fast[name][column] == pytest.approx(naive[name][0], abs=0.01 if coarse else 1e-10, nan_ok=True), name


def test_pearson_by_sums_equals_numpy_in_every_resample():
    rng = np.random.default_rng(4)
    gold, score, user = cluster_sample(rng, 15, 8)
    weights = resample_users(15, 200)
    fast = measure_under(AgreementSums(gold, score, user, 15), ["pearson"], weights)["pearson"]
    slow = [
        np.corrcoef(np.repeat(gold, w[user].astype(int)), np.repeat(score, w[user].astype(int)))[0, 1]
        for w in weights.T
    ]
    assert fast == pytest.approx(slow, abs=1e-10)


def test_ranks_of_very_many_different_scores_are_nearly_exact():
    rng = np.random.default_rng(5)
    latent, score, user = cluster_sample(rng, 40, 50)
    gold = np.clip(np.rint(4 + latent), 1, 5)
    weights = resample_users(40, 60)
    coarse = measure_under(AgreementSums(gold, score, user, 40), ["spearman", "auc", "wc_spearman"], weights)
    exact = measure_under(
        AgreementSums(gold, score, user, 40, cells=10**7), ["spearman", "auc", "wc_spearman"], weights
    )
    for name in coarse:
        assert coarse[name][0] == pytest.approx(exact[name][0], abs=1e-12), name
    # Resampled values range over a tenth and more.
    assert np.abs(coarse["spearman"] - exact["spearman"]).max() < 1e-3
    assert np.abs(coarse["auc"] - exact["auc"]).max() < 1e-3
    assert np.abs(coarse["wc_spearman"] - exact["wc_spearman"]).max() < 3e-3


@pytest.mark.simulation
@pytest.mark.parametrize("users", [12, 40])
def test_intervals_of_a_correlation_cover_the_truth_as_often_as_they_say(users):
    rng = np.random.default_rng(6)
    truth = 1 / 1.49  # variance shared over variance of each
    covered, by_turn = 0, 0
    for _ in range(400):
        gold, score, user = (pd.Series(part) for part in cluster_sample(rng, users, 10))
        _, low, high = correlation(gold, score, user)
        covered += low <= truth <= high
        _, low, high = correlation(gold, score, pd.Series(range(10 * users)))
        by_turn += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.98
    assert by_turn / 400 < 0.8  # turns taken for independent promise far too much


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1e3, 1e3))
@example(0, 68.97004781222483)
def test_pearson_of_moments(seed, shift):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 30))
    moments = np.array([30, x.sum(), y.sum(), x @ x, y @ y, x @ y])[:, None]
    assert pearson_from_moments(moments)[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-10)
    constant = np.array([30, 30 * shift, y.sum(), 30 * shift**2, y @ y, shift * y.sum()])[:, None]
    assert math.isnan(pearson_from_moments(constant)[0]), "what does not vary has no r, however far it lies from zero"


def test_users_of_the_very_mean_count_and_a_rare_class_needs_units_that_have_it():
    scores = [1, 2, 3, 4, 5, 4, 3, 2, 1, 5]
    assert np.mean(scores) == scores[2], "without this user, or the other like it, the mean is the same"
    users = Resamples(range(10))
    assert np.isfinite(users.estimate(users.mean(scores))["value_low"])
    assert np.isnan(users.estimate(users.mean([*scores[:9], np.nan]))["value_low"]), "nine users have a score"
    assert np.isnan(Resamples(range(9)).estimate(Resamples(range(9)).mean(scores[:9]))["value_low"])
    unit = [f"u{i % 40}" for i in range(120)]
    few, enough = (np.arange(120) % 40 < n for n in (FEWEST_CARRIERS - 1, FEWEST_CARRIERS))
    assert (count_carriers(few, unit), count_carriers(~few, unit)) == (FEWEST_CARRIERS - 1,) * 2
    values = np.arange(41.0)
    assert drop_if_few(values, count_carriers(few, unit)).tolist() == [0.0]
    assert len(drop_if_few(values, count_carriers(enough, unit))) == 41


def test_what_few_users_carry_has_no_interval_where_the_judge_finds_it_for_few():
    unit, is_low = np.repeat(np.arange(40), 2), np.arange(80) % 2 == 0
    found_by_few = ~is_low | (unit >= FEWEST_CARRIERS - 1)  # the judge takes the others for satisfied
    assert count_carriers(~is_low, unit) == 40
    assert count_carriers(~is_low, unit, found_by_few) == FEWEST_CARRIERS - 1
    assert count_carriers(~is_low, unit, ~is_low) == 40
