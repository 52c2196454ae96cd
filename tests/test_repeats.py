"""A judge asked again: its variances by hand and found again, what repeats are worth, sets, and many tests at once."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perslib.errors import DataError, UnknownName
from perslib.inference import (
    Retest,
    benjamini_hochberg,
    coverage,
    fit_conformal,
    holm,
    reliability,
    repeats_worth,
    resampled,
    retest,
)


def calls(*users: list[list[float]]) -> pd.DataFrame:
    """Scores by user, turn and call."""
    rows = [
        {"user": f"u{u}", "session": "s", "turn": t, "score": y}
        for u, turns in enumerate(users)
        for t, scores in enumerate(turns)
        for y in scores
    ]
    return pd.DataFrame(rows)


def judged(rng: np.random.Generator, users: int, turns: int, repeats: int, *sd: float) -> pd.DataFrame:
    """Users, turns and calls that vary with these standard deviations."""
    u, t = np.repeat(np.arange(users), turns * repeats), np.repeat(np.arange(users * turns), repeats)
    own, of_turn, noise = sd
    y = rng.normal(0, own, users)[u] + rng.normal(0, of_turn, users * turns)[t] + rng.normal(0, noise, len(t))
    return pd.DataFrame({"user": u, "turn": t % turns, "score": y})


def test_components_by_hand():
    # Calls differ by 2 in each turn: MSE = 2 (two of ±1). Turn means 2, 4 | 6, 12: MST = (4 + 36) / 2 = 20, so
    # σ_t² = (20 − 2) / 2 = 9. User means 3, 9: MSU = 4 · (9 + 9) / 1 = 72, so σ_u² = (72 − 20) / 4 = 13.
    found = retest(calls([[1, 3], [3, 5]], [[5, 7], [11, 13]]))
    assert found == pytest.approx(Retest(13, 9, 2, users=2, turns=4, calls=8))
    assert found.reliability() == pytest.approx(22 / 24)
    assert found.reliability(4) == pytest.approx(22 / 22.5)
    assert found.reliability(4, within_users=True) == pytest.approx(9 / 9.5)
    rho = found.reliability()
    assert found.reliability(3) == pytest.approx(3 * rho / (1 + 2 * rho)), "Spearman and Brown"
    # 13 / 2 + (9 + 2 / 2) / (2 · 2)
    assert found.error(2, 2, 2) == pytest.approx(math.sqrt(6.5 + 2.5))


def test_a_judge_that_repeats_itself_has_no_noise_and_a_die_nothing_else():
    same = retest(calls([[1, 1], [3, 3]], [[5, 5], [2, 2]]))
    assert same.noise == 0 and same.reliability() == 1
    die = retest(calls([[1, 5], [5, 1]], [[1, 5], [5, 1]]))
    assert (die.between_users, die.between_turns, die.noise) == (0, 0, 8) and die.reliability(100) == 0
    assert math.isnan(Retest(0, 0, 0, 5, 5, 10).reliability())


def test_components_are_found_again_where_numbers_are_unequal():
    rng = np.random.default_rng(1)
    whole = judged(rng, 400, 6, 3, 0.5, 0.7, 0.4)
    found = retest(whole.sample(frac=0.6, random_state=1))
    assert found.between_users == pytest.approx(0.25, abs=0.05)
    assert found.between_turns == pytest.approx(0.49, abs=0.05)
    assert found.noise == pytest.approx(0.16, abs=0.02)


def test_intervals_of_reliability_cover_as_they_say():
    """.25 + .49 of .9 at one call, .49 / (.49 + .16 / 3) within users at three."""
    truth = {"": 0.74 / 0.90, "within_": 0.49 / (0.49 + 0.16 / 3)}
    rng, trials = np.random.default_rng(2), 150
    held = {(name, level): 0 for name in truth for level in (0.9, 0.95)}
    for trial in range(trials):
        scores = judged(rng, 60, 5, 2, 0.5, 0.7, 0.4)
        for level in (0.9, 0.95):
            table = reliability(scores, [1, 3], level=level, resamples=400, seed=trial).set_index("repeats")
            for name, value in truth.items():
                row = table.loc[3 if name else 1]
                held[name, level] += row[f"{name}low"] <= value <= row[f"{name}high"]
    for (_, level), count in held.items():
        # A percentile interval of sixty users falls short by a point or two.
        assert abs(count / trials - level + 0.015) < 3 * math.sqrt(level * (1 - level) / trials)


def test_more_calls_are_more_reliable_and_four_users_have_no_interval():
    table = reliability(judged(np.random.default_rng(3), 30, 4, 2, 0.5, 0.5, 0.8), resamples=200)
    assert table["reliability"].is_monotonic_increasing and table["within"].is_monotonic_increasing
    assert table["ceiling"].to_numpy() ** 2 == pytest.approx(table["reliability"].to_numpy())
    assert (table["low"] < table["reliability"]).all() and (table["reliability"] < table["high"]).all()
    few = reliability(judged(np.random.default_rng(3), 4, 4, 2, 0.5, 0.5, 0.8))
    assert few["reliability"].notna().all() and few["low"].isna().all()


def test_the_best_number_of_repeats_is_cochrans():
    found = Retest(0.1, 0.25, 0.36, users=10, turns=100, calls=300)
    # √(.36 / .25 · 9 / 1) = 3.6: of one to ten, four has the least error where turns come in any number.
    table = repeats_worth(found, 1e7, call=1, turn=9, repeats=range(1, 11))
    assert table.loc[table["best"], "repeats"].tolist() == [4]
    free = repeats_worth(found, 1000, call=1)
    assert free.loc[free["best"], "repeats"].tolist() == [1], "a new turn tells more than the same one again"
    assert free["turns_per_user"].tolist() == [100, 50, 33, 20, 10]
    # No more than eight turns: what is left of the money goes into repeats.
    bounded = repeats_worth(found, 1000, call=1, turns_at_most=8)
    assert bounded.loc[bounded["best"], "repeats"].tolist() == [10]
    assert bounded["cost"].tolist() == [80, 160, 240, 400, 800]
    dear = repeats_worth(found, 100, call=1, user=5, turn=1)
    assert dear["turns_per_user"].tolist() == [2, 1, 1, 0, 0] and dear["error"].isna().tolist()[3:] == [
        True,
        True,
    ]


def test_bad_input_is_named():
    two = calls([[1, 3], [3, 5]], [[5, 7], [11, 13]])
    for said, scores in [
        ("scores are of one user", two[two["user"] == "u0"]),
        ("No turn was judged twice", two.drop_duplicates(["user", "turn"])),
        ("No turn was judged twice", two.assign(score=math.nan)),
        ("No column names the turns", two[["user", "score"]]),
        ("several judges", two.assign(judge=["a", "b"] * 4)),
    ]:
        with pytest.raises(DataError, match=said):
            retest(scores)
    with pytest.raises(UnknownName, match="score"):
        retest(two.rename(columns={"score": "raw"}))
    found = retest(two)
    with pytest.raises(DataError, match="A call costs something"):
        repeats_worth(found, 10, call=0)
    with pytest.raises(DataError, match="does not pay for one turn of each of 2 users"):
        repeats_worth(found, 1, call=1)


def test_benjamini_hochberg_worked_example():
    # 4/1 · .005, 4/2 · .01, then 4/3 · .03 = .04 and 4/4 · .04 = .04.
    assert benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    adjusted = benjamini_hochberg(np.array([0.02, np.nan, 0.9]))
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.9]) and math.isnan(adjusted[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_benjamini_hochberg_lies_between_p_and_holm(p):
    raw = np.array(p)
    adjusted = benjamini_hochberg(raw)
    assert (adjusted >= raw).all() and (adjusted <= holm(raw) + 1e-12).all()


def moody(rng: np.random.Generator, users: int) -> pd.DataFrame:
    """Whole scores of users with moods, and a judge's distribution that knows nothing of moods."""
    user = np.repeat(np.arange(users), 8)
    gold = np.clip(np.rint(3.3 + rng.normal(0, 0.7, users)[user] + rng.normal(0, 0.8, len(user))), 1, 5)
    p = dict(zip([f"p{s}" for s in range(1, 6)], [0.05, 0.15, 0.35, 0.3, 0.15]))
    return pd.DataFrame({"user": user, "gold": gold.astype(int)}).assign(**p)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_conformal_sets_hold_the_scores_of_new_users(level):
    rng, held, size = np.random.default_rng(6), [], []
    for _ in range(60):
        found = coverage(fit_conformal(moody(rng, 40), alpha=1 - level).transform(moody(rng, 20)))
        held.append(found["users"])
        size.append(found["size"])
    assert np.mean(held) >= level - 3 * np.std(held) / math.sqrt(len(held))
    assert np.mean(size) < 4.9, "not by holding everything"


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_resamples_are_the_same_in_any_process():
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    sums = np.random.default_rng(7).normal(size=(2, 30))

    def mean(weights: np.ndarray) -> np.ndarray:
        return sums @ weights / 30

    here = resampled(mean, 30, resamples=1_200)
    assert here.shape == (2, 1_201) and here[:, 0] == pytest.approx(sums.mean(axis=1))
    assert here[0, 1:].std() == pytest.approx(sums[0].std() / math.sqrt(30), rel=0.1)
    assert (resampled(mean, 30, resamples=700)[:, :501] == here[:, :501]).all(), "more are further ones"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        there = resampled(mean, 30, resamples=1_200, scheduler=cluster)
    assert there.tobytes() == here.tobytes() and there.dtype == here.dtype


def test_a_statistic_must_answer_for_every_resample():
    with pytest.raises(DataError, match="returned one value for 1 resamples"):
        resampled(lambda weights: np.float64(weights.sum()), 5, resamples=10)
    with pytest.raises(DataError, match="no user to resample"):
        resampled(np.sum, 0)
