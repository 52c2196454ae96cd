"""Means from few labels and many judgments: the formula, what intervals cover, and what a judge is worth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from perslib.errors import DataError
from perslib.stats import classical_mean, ppi_difference, ppi_mean


def test_the_formula_by_hand():
    # mean Y = 4, mean f = 3, mean f̃ = 3.5: θ̂(λ) = 4 − λ (3 − 3.5).
    gold, judged, others = [5, 4, 3, 4, 4], [4, 3, 2, 3, 3], [4, 3, 4, 3]
    assert ppi_mean(gold, judged, others, lam=1).value == pytest.approx(4.5)
    assert ppi_mean(gold, judged, others, lam=0.4).value == pytest.approx(4.2)
    # λ = 1: Y − f is 1 everywhere, so what is left is the spread of f̃: Σ (f̃ − 3.5)² / 4² = 1/16, five labels
    # put 5/4 before it, and t of four degrees of freedom is 2.776.
    estimate = ppi_mean(gold, judged, others, lam=1)
    assert estimate.high - estimate.value == pytest.approx(2.7764451 * math.sqrt(5 / 4 / 16))
    assert (estimate.n, estimate.N, estimate.clusters) == (5, 4, 5)
    # Σ a b = 2/25, Σ b² = 2/25 + 1/16.
    tuned = ppi_mean(gold, judged, others)
    assert tuned.lam == pytest.approx(0.08 / (0.08 + 0.0625))
    assert tuned.value == pytest.approx(4 + 0.5 * tuned.lam)


def test_the_classical_mean_is_that_of_the_textbook():
    gold = np.array([5, 4, 3, 4, 2, 4, 5.0])
    alone = classical_mean(gold)
    half = 2.4469119 * gold.std(ddof=1) / math.sqrt(7)
    assert (alone.low, alone.high) == pytest.approx((gold.mean() - half, gold.mean() + half))
    assert ppi_mean(gold, gold, [], lam=0)[:3] == pytest.approx(alone[:3])
    assert ppi_mean(gold, gold[::-1], [4, 3, 4], lam=0)[:4] == pytest.approx(alone[:4])
    # Equal clusters: the t interval of the users' means.
    users = classical_mean(np.repeat(gold, 3) + np.tile([-1, 0, 1], 7), cluster=np.repeat(range(7), 3))
    assert users[:3] == pytest.approx(alone[:3]) and users.clusters == 7


def sample(rng: np.random.Generator, by: str, noise: float | None, users: int = 80, labelled: int = 20):
    """Six turns a user, mean 3; a biased judge that sees through some noise, or (None) nothing at all."""
    user = np.repeat(np.arange(users), 6)
    gold = 3 + rng.normal(0, 0.4, users)[user] + rng.normal(0, 0.8, len(user))
    judged = rng.normal(3, 1, len(user))
    if noise is not None:
        judged = 1.3 + 0.8 * (gold - 3) + rng.normal(0, noise, len(user)) + rng.normal(0, 0.2, users)[user]
    if by == "users":
        known = np.isin(user, rng.choice(users, labelled, replace=False))
    else:
        known = np.isin(np.arange(len(user)), rng.choice(len(user), labelled * 6, replace=False))
    return gold, judged, user, known


@pytest.mark.parametrize("by", ["users", "turns"])
@pytest.mark.parametrize("noise", [0.4, None], ids=["informative", "noise"])
@pytest.mark.simulation
def test_intervals_cover_as_they_say_and_a_good_judge_narrows_them(by, noise):
    rng, trials = np.random.default_rng(1), 300
    covered, narrower, weights = {(kind, level): 0 for kind in (0, 1) for level in (0.9, 0.95)}, [], []
    for _ in range(trials):
        gold, judged, user, known = sample(rng, by, noise)
        of = {"cluster": user[known], "cluster_unlabelled": user[~known]}
        for level in (0.9, 0.95):
            both = ppi_mean(gold[known], judged[known], judged[~known], **of, level=level)
            alone = classical_mean(gold[known], cluster=user[known], level=level)
            covered[0, level] += both.low <= 3 <= both.high
            covered[1, level] += alone.low <= 3 <= alone.high
        narrower.append((both.high - both.low) / (alone.high - alone.low))
        weights.append(both.lam)
    for (_, level), count in covered.items():
        assert abs(count / trials - level) < 3.5 * math.sqrt(level * (1 - level) / trials)
    if noise is None:
        assert np.median(weights) < 0.05 and np.mean(weights) < 0.15 and np.mean(narrower) < 1.03
    else:
        assert 0.5 < np.mean(weights) < 0.85 and np.mean(narrower) < 0.8


def test_turns_taken_for_independent_promise_too_much():
    rng, inside = np.random.default_rng(2), 0
    for _ in range(200):
        gold, judged, _, known = sample(rng, "users", None)
        estimate = ppi_mean(gold[known], judged[known], judged[~known])
        inside += estimate.low <= 3 <= estimate.high
    assert inside / 200 < 0.9


def test_difference_of_two_candidates_is_the_mean_of_paired_differences():
    rng = np.random.default_rng(3)
    gold, judged, user, known = sample(rng, "turns", 0.4)
    other, judged_other = gold - 0.5 + rng.normal(0, 0.3, len(gold)), judged - 0.4
    of = {"cluster": user[known], "cluster_unlabelled": user[~known]}
    two = ppi_difference(
        *(gold[known], other[known], judged[known], judged_other[known]), *(judged[~known], judged_other[~known]), **of
    )
    one = ppi_mean((gold - other)[known], (judged - judged_other)[known], (judged - judged_other)[~known], **of)
    assert two == pytest.approx(one)
    assert two.low < 0.5 < two.high


def test_turns_that_the_judge_left_unscored_keep_their_labels():
    gold = pd.Series([5, 4, 3, 4, 4, 2], dtype="Int64")
    judged = pd.array([4, None, 2, 3, 3, None], dtype="Float64")
    estimate = ppi_mean(gold, judged, [4, 3, np.nan], lam=1)
    # The scored ones are 4, 2, 3, 3, 4, 3; their mean, 19/6, stands in for the missing ones.
    mean = 19 / 6
    assert estimate.value == pytest.approx(22 / 6 - ((12 + 2 * mean) / 6 - (7 + mean) / 3))
    assert (estimate.n, estimate.N) == (6, 3)
    nothing = ppi_mean(gold, [np.nan] * 6, [np.nan] * 3)
    assert nothing.lam == 0 and nothing[:3] == pytest.approx(classical_mean(gold)[:3])


def test_four_users_have_a_mean_and_no_interval():
    estimate = ppi_mean([5, 4, 3, 4], [4, 4, 3, 4], [3, 4, 4])
    assert math.isfinite(estimate.value) and math.isnan(estimate.low) and math.isnan(estimate.high)


@pytest.mark.parametrize(
    ("said", "arguments", "named"),
    [
        ("2 gold scores, but 1 judged", ([4, 3], [4], [3]), {}),
        ("There is no gold score", ([], [], [3]), {}),
        ("level: 95 is not between 0 and 1", ([4, 3], [4, 3], [3]), {"level": 95}),
        ("1 of 2 gold scores are missing", ([4, None], [4, 3], [3]), {}),
        ("one part only", ([4, 3], [4, 3], [3]), {"cluster": ["a", "b"]}),
        ("2 users are named for 3", ([4, 3], [4, 3], [3]), {"cluster": ["a", "b"], "cluster_unlabelled": []}),
        ("1 turns have no user", ([4, 3], [4, 3], [3]), {"cluster": ["a", None], "cluster_unlabelled": ["a"]}),
    ],
)
def test_input_that_does_not_fit_is_refused(said, arguments, named):
    with pytest.raises(DataError, match=said):
        ppi_mean(*arguments, **named)
