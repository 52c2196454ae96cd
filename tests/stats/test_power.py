"""Variance components of paired differences, the power of so many users, and the users that a power takes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perslib.errors import DataError, UnknownName
from perslib.stats import Components, estimate_components, power_of, users_needed


def frame(*by_user: list[float]) -> pd.DataFrame:
    rows = [(f"u{i}", d) for i, own in enumerate(by_user) for d in own]
    return pd.DataFrame(rows, columns=["user", "difference"])


def test_components_by_hand():
    # Means 1, 3, 5: MSB = 2 · (4 + 0 + 4) / 2 = 8; within each (−1, +1): MSW = 6 / 3 = 2; n₀ = 2.
    found = estimate_components(frame([0, 2], [2, 4], [4, 6]))
    assert found == pytest.approx(Components(difference=3, between=3, within=2, users=3, turns=6))
    # Unequal sizes 1, 3: grand mean 3/2, MSB = (3/2)² + 3 · (1/2)² = 3, MSW = 2/2, n₀ = 4 − 10/4 = 3/2.
    found = estimate_components(frame([0], [1, 2, 3]))
    assert (found.between, found.within, found.difference) == pytest.approx(((3 - 1) / 1.5, 1, 1))


def test_between_users_is_never_negative_and_single_turns_are_all_between():
    assert estimate_components(frame([-1, 1], [-1, 1], [-1, 1])).between == 0
    single = estimate_components(frame([1], [2], [3]))
    assert (single.between, single.within) == (1, 0)
    needed = users_needed(single, turns_per_user=[1, 10])
    assert needed["users"].nunique() == 1  # nothing is known of what further turns would do


def test_components_are_recovered():
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(2000), rng.integers(1, 6, 2000))
    difference = 0.2 + rng.normal(0, 0.3, 2000)[user] + rng.normal(0, 0.8, len(user))
    found = estimate_components(pd.DataFrame({"user": user, "difference": difference}))
    assert found.between == pytest.approx(0.09, abs=0.02) and found.within == pytest.approx(0.64, abs=0.03)


@pytest.mark.parametrize(("effect", "users"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_textbook_of_the_paired_t_test(effect, users):
    """Cohen's small, medium and large effect at 80 % power and 5 %."""
    table = users_needed(Components(effect, 1, 0, 10, 10), turns_per_user=[1])
    assert table["users"].tolist() == [users]
    about = {"difference": effect, "between": 1, "within": 0}
    assert power_of(users - 1, 1, **about) < 0.8 <= power_of(users, 1, **about) == table["power"].item()


def test_closed_form_of_many_users():
    # (1.959964 + 0.841621)² · (0.04 + 0.36 / m) / 0.01² and one or two more for t instead of z.
    table = users_needed(Components(0.5, 0.04, 0.36, 50, 150), to_detect=0.01)
    assert table["turns_per_user"].tolist() == [1, 2, 3, 5, 10]
    closed = 7.848879 * (0.04 + 0.36 / np.array([1, 2, 3, 5, 10])) / 0.0001
    assert (table["users"] - closed).between(0, 3).all()
    assert (table["turns"] == table["users"] * table["turns_per_user"]).all()
    assert table["difference"].eq(0.01).all() and (table["power"] >= 0.8).all()


@pytest.mark.parametrize(("turns", "difference"), [(1, 0.4), (3, 0.25)])
def test_the_stated_power_is_reached(turns, difference):
    made = Components(difference, 0.09, 0.5, 30, 90)
    users = int(users_needed(made, turns_per_user=[turns])["users"].item())
    rng, trials = np.random.default_rng(turns), 4000
    d = difference + rng.normal(0, 0.3, (trials, users, 1)) + rng.normal(0, math.sqrt(0.5), (trials, users, turns))
    found = (stats.ttest_1samp(d.mean(axis=2), 0, axis=1).pvalue < 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.03)


def test_power_at_the_ends():
    about = {"between": 0.1, "within": 0.5}
    assert power_of(30, 3, difference=0, **about) == pytest.approx(0.05)
    assert power_of(30, 3, difference=0, **about, level=0.9) == pytest.approx(0.1)
    assert power_of(30, 3, difference=9, **about) == pytest.approx(1)
    assert power_of(30, 3, difference=-0.2, **about) == power_of(30, 3, difference=0.2, **about)
    assert power_of(10_001, 3, difference=0.02, **about) == pytest.approx(
        power_of(10_000, 3, difference=0.02, **about), abs=1e-3
    )
    assert math.isnan(power_of(1, 3, difference=1, **about))
    assert power_of(2, 1, difference=1, between=0, within=0) == 1


def test_no_number_of_users_finds_no_difference():
    table = users_needed(frame([0, 0], [0, 0], [0, 0]))
    assert table["users"].isna().all() and table["power"].isna().all()


@pytest.mark.parametrize("difference", [1e-9, -1e-200, math.nan])
def test_a_difference_next_to_nothing_or_unknown_takes_no_number_of_users(difference):
    table = users_needed(Components(0.5, 0.04, 0.36, 50, 150), to_detect=difference)
    assert table[["users", "turns", "power"]].isna().all(axis=None)


def test_users_are_the_fewest_even_for_little_power():
    about = {"difference": 0.01, "between": 0.5, "within": 0.0}
    for power in (0.051, 0.06, 0.3, 0.99):
        users = users_needed(Components(**about, users=9, turns=9), power=power, turns_per_user=[1])["users"]
        assert power_of(users.item(), 1, **about) >= power > power_of(users.item() - 1, 1, **about)
    assert users_needed(Components(**about, users=9, turns=9), power=0.01)["users"].eq(2).all()


def test_bad_input_is_named():
    made = Components(0.5, 0.04, 0.36, 50, 150)
    for share in (0, 1.0, 80, math.nan):
        for name in ("power", "level"):
            with pytest.raises(DataError, match=rf"{name}: \S+ is not between 0 and 1"):
                users_needed(made, **{name: share})
    with pytest.raises(DataError, match=r"differences of 1 user\n[\s\S]*turns of further users"):
        estimate_components(frame([1, 2]))
    with pytest.raises(DataError, match="several judges"):
        estimate_components(frame([1, 2], [3]).assign(judge=["a", "a", "b"]))
    with pytest.raises(UnknownName, match="difference"):
        estimate_components(pd.DataFrame({"user": ["a"], "delta": [1.0]}))
