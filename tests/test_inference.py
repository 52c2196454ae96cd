"""Resampled users: weights, intervals, paired p, Holm, and what they cover."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perslib.stats import correlation, holm, interval, pearson, resample_users, sign_flip
from perslib.stats.measures import METRICS, measure_under
from perslib.stats.resamples import two_sided_p
from perslib.stats.sums import Sums


def test_weights_are_the_sample_itself_and_then_draws_of_as_many_users():
    weights = resample_users(7, 500, seed=1)
    assert weights.shape == (7, 501)
    assert (weights[:, 0] == 1).all() and (weights.sum(axis=0) == 7).all()
    assert weights[:, 1:].mean() == pytest.approx(1) and weights[:, 1:].std() == pytest.approx(0.926, abs=0.05)
    assert (weights == resample_users(7, 500, seed=1)).all()
    assert (weights != resample_users(7, 500, seed=2)).any()


def test_interval_needs_most_resamples_to_have_a_value():
    assert interval(np.arange(1001.0)) == pytest.approx((25, 975))
    assert interval(np.r_[np.arange(1001.0), [np.nan] * 900]) == pytest.approx((25, 975))
    assert all(map(math.isnan, interval(np.r_[1.0, 2.0, np.nan, np.nan])))
    assert all(map(math.isnan, interval(np.array([]))))


def test_two_sided_p_goes_with_the_interval():
    assert two_sided_p(np.r_[[-1.0] * 24, [1.0] * 975]) == pytest.approx(0.05)
    assert two_sided_p(np.r_[[1.0] * 24, [-1.0] * 975]) == pytest.approx(0.05)
    assert two_sided_p(np.ones(9999)) == pytest.approx(0.0002)
    assert two_sided_p(np.zeros(100)) == 1.0
    assert math.isnan(two_sided_p(np.full(10, np.nan)))


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
    fast = measure_under(Sums(gold, score, user, 12), METRICS, weights)
    for column in range(41):
        parts = [(u, copy) for u in range(12) for copy in range(weights[u, column])]
        rows = np.concatenate([np.flatnonzero(user == u) for u, _ in parts])
        clone = np.concatenate([np.full(9, i) for i in range(len(parts))])
        naive = measure_under(Sums(gold[rows], score[rows], clone, len(parts)), METRICS, np.ones((len(parts), 1)))
        for name in METRICS:
            coarse = name == "wc_spearman" and not whole  # 108 × 108 values share a table of 32 × 32
            assert fast[name][column] == pytest.approx(naive[name][0], abs=0.01 if coarse else 1e-10, nan_ok=True), name


def test_pearson_by_sums_equals_numpy_in_every_resample():
    rng = np.random.default_rng(4)
    gold, score, user = cluster_sample(rng, 15, 8)
    weights = resample_users(15, 200)
    fast = measure_under(Sums(gold, score, user, 15), ["pearson"], weights)["pearson"]
    slow = [np.corrcoef(np.repeat(gold, w[user]), np.repeat(score, w[user]))[0, 1] for w in weights.T]
    assert fast == pytest.approx(slow, abs=1e-10)


def test_ranks_of_very_many_different_scores_are_nearly_exact():
    rng = np.random.default_rng(5)
    latent, score, user = cluster_sample(rng, 40, 50)
    gold = np.clip(np.rint(4 + latent), 1, 5)
    weights = resample_users(40, 60)
    coarse = measure_under(Sums(gold, score, user, 40), ["spearman", "auc", "wc_spearman"], weights)
    exact = measure_under(Sums(gold, score, user, 40, cells=10**7), ["spearman", "auc", "wc_spearman"], weights)
    for name in coarse:
        assert coarse[name][0] == pytest.approx(exact[name][0], abs=1e-12), name
    # Resampled values range over a tenth and more.
    assert np.abs(coarse["spearman"] - exact["spearman"]).max() < 1e-3
    assert np.abs(coarse["auc"] - exact["auc"]).max() < 1e-3
    assert np.abs(coarse["wc_spearman"] - exact["wc_spearman"]).max() < 3e-3


@pytest.mark.slow
def test_intervals_of_a_correlation_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(6)
    truth = 1 / 1.49  # variance shared over variance of each
    covered, by_turn = 0, 0
    for trial in range(200):
        gold, score, user = cluster_sample(rng, 40, 10)
        _, low, high = correlation(pd.Series(gold), pd.Series(score), pd.Series(user), 400, seed=trial)
        covered += low <= truth <= high
        _, low, high = correlation(pd.Series(gold), pd.Series(score), pd.Series(range(400)), 400, seed=trial)
        by_turn += low <= truth <= high
    assert 0.87 <= covered / 200 <= 0.99
    assert by_turn / 200 < 0.75  # turns taken for independent promise far too much


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1e3, 1e3))
@example(0, 68.97004781222483)
def test_pearson_of_moments(seed, shift):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 30))
    moments = np.array([30, x.sum(), y.sum(), x @ x, y @ y, x @ y])[:, None]
    assert pearson(moments)[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-10)
    constant = np.array([30, 30 * shift, y.sum(), 30 * shift**2, y @ y, shift * y.sum()])[:, None]
    assert math.isnan(pearson(constant)[0]), "what does not vary has no r, however far it lies from zero"
