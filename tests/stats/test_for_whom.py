"""For whom probabilities are right: known truths, chance levels, and users drawn towards the mean of all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perslib.stats.agreement.for_whom import measure_for_whom, measure_losses

SCORES = np.arange(1, 6)


def draw_users(users=60, replies=20, bias=0.0, seed=1, certain=1.0):
    """Replies whose probabilities are right but for a tilt of each user's own, and shares from thirty other replies."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), replies)
    middle = 3.5 + rng.normal(0, 0.7, users)[user] + rng.normal(0, 0.7, len(user))
    true = np.exp(-((SCORES - middle[:, None]) ** 2) / 1.3)
    true /= true.sum(axis=1, keepdims=True)
    gold = 1 + (rng.random(len(user))[:, None] > true.cumsum(axis=1)).sum(axis=1)
    given = true**certain * np.exp(rng.normal(0, bias, users)[user][:, None] * SCORES)
    usual = np.stack([true[user == u].mean(axis=0) for u in range(users)])
    history = np.stack([rng.multinomial(30, one) + 0.5 for one in usual])
    return given / given.sum(axis=1, keepdims=True), gold, user, (history / history.sum(axis=1, keepdims=True))[user]


def test_a_judge_that_is_right_shows_no_more_than_chance():
    drawn = [measure_for_whom(*draw_users(seed=seed)).numbers for seed in range(12)]
    for name in ("ece", "user_ece"):
        assert np.mean([one[name] / one[f"{name}_chance"] for one in drawn]) == pytest.approx(1, abs=0.1)
    worse, chance = (np.mean([one[name] for one in drawn]) for name in ("users_worse", "users_worse_chance"))
    assert worse == pytest.approx(chance, abs=0.02) and chance < 0.05
    numbers = drawn[0]
    assert numbers["gain_low"] > 0 and (numbers["replies"], numbers["users"]) == (1200, 60)


def test_users_on_both_sides_are_seen_by_user_and_not_over_all():
    numbers = measure_for_whom(*draw_users(bias=0.6)).numbers
    assert numbers["ece"] < 2.2 * numbers["ece_chance"], "what is too high for one is too low for another"
    assert numbers["user_ece"] > 1.2 * numbers["user_ece_chance"]


def test_where_everybody_is_off_the_pooled_error_shows_it_too():
    p, gold, users, history = draw_users()
    tilted = p * np.exp(1.2 * SCORES)
    numbers = measure_for_whom(tilted / tilted.sum(axis=1, keepdims=True), gold, users, history).numbers
    assert numbers["ece"] > 4 * numbers["ece_chance"]


def test_worse_counts_users_for_whom_their_own_shares_are_better():
    p, gold, users, history = draw_users(certain=4.0)
    found = measure_for_whom(p, gold, users, history)
    assert found.numbers["users_worse"] > 0.9 > 0.2 > found.numbers["users_worse_chance"] and found.numbers["gain"] < 0
    none = measure_for_whom(history, gold, users, history)
    assert none.numbers["gain"] == 0 and set(none.users["p_worse"]) == {0.5}


def test_a_user_with_few_replies_is_drawn_towards_all():
    p, gold, users, history = draw_users(bias=0.8)
    few = (users != 0) | (np.arange(len(users)) < 2)
    whole, part = (measure_for_whom(p[k], gold[k], users[k], history[k]).users for k in (few | True, few))
    mean = part["error"].mean()
    assert abs(part["error"][0] - mean) < abs(whole["error"][0] - mean) or part["replies"][0] == 2
    width = part["error_high"] - part["error_low"]
    assert width[0] == width.max() and (width > 0).all()


def test_losses_are_those_of_their_definitions():
    p = np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0.0, 0.0, 0.0, 0.0, 1.0]])
    loss, rps = measure_losses(p, np.array([3, 1]))
    assert loss == pytest.approx([-np.log(0.4), -np.log(1e-4)])
    assert rps == pytest.approx([(0.01 + 0.09 + 0.09 + 0.01) / 4, 1.0])


def test_one_user_has_values_and_no_intervals():
    p, gold, users, history = draw_users(users=1)
    numbers = measure_for_whom(p, gold, users, history).numbers
    assert np.isfinite(numbers["log_loss"]) and np.isnan(numbers["log_loss_low"])
    assert isinstance(measure_for_whom(p, gold, users, history).users, pd.DataFrame)
