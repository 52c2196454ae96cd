"""Drawing cases with known chances, equal distributions, and windows in time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perslib.errors import DataError
from perslib.ux.construct import apportioned, inclusion, matched, sampled, splits, systematic

RNG = np.random.default_rng(7)


def cases(n, sides=("bad",), **columns):
    """Cases as the construction gives them, as far as drawing needs them."""
    frame = pd.DataFrame(
        {
            "case": [f"c{i}" for i in range(n)],
            "talk": [f"t{i}" for i in range(n)],
            "side": [sides[i % len(sides)] for i in range(n)],
            "dimension": [("verbosity", "factual_error", "factual_error")[i % 3] for i in range(n)],
            "scenario": [("entertainment", "decision_support")[i % 2] for i in range(n)],
            "query": ["word " * (1 + i % 40) for i in range(n)],
            "reply": [" ".join(f"w{(i * 31 + k * 7) % 997}" for k in range(30)) for i in range(n)],
            "history": [()] * n,
            "asked_at": [f"2026-{1 + i % 6:02d}-10 09:00:00" for i in range(n)],
            "complaint": ["That is wrong." if i % 4 == 0 else "" for i in range(n)],
            "signals": [
                ("complain",) if i % 4 == 0 else ("dislike",) if i % 4 == 1 else ("skim",) for i in range(n)
            ],
        }
    )
    return frame.assign(**columns)


# -- sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "n", "floor", "cap", "given"),
    [
        ([50, 30, 20], 10, 0, 1.0, [5, 3, 2]),
        ([500, 30, 4], 100, 5, 1.0, [91, 5, 4]),  # the smallest has no more
        ([343, 248, 115, 110, 101, 28, 22, 20, 9, 4], 100, 5, 0.4, [28, 21, 10, 9, 8, 5, 5, 5, 5, 4]),
        ([90, 5, 5], 10, 0, 0.4, [4, 3, 3]),  # what the cap takes goes to the others
        ([10, 10, 10], 2, 5, 1.0, [1, 1, 0]),  # no room for the floors
        ([3, 3], 100, 5, 1.0, [3, 3]),
        ([10, 0], 5, 5, 1.0, [5, 0]),
        ([], 5, 5, 1.0, []),
        ([4, 4], 0, 5, 0.4, [0, 0]),
    ],
)
def test_sizes_are_shared_out_by_largest_remainders(sizes, n, floor, cap, given):
    assert apportioned(sizes, n, floor, cap) == given


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 300), max_size=12), st.integers(0, 400), st.integers(0, 9), st.floats(0.05, 1.0)
)
def test_shares_keep_to_their_bounds(sizes, n, floor, cap):
    given = apportioned(sizes, n, floor, cap)
    most = [min(s, max(1, int(cap * n))) if n else 0 for s in sizes]
    assert all(0 <= g <= m for g, m in zip(given, most, strict=True))
    assert sum(given) == min(n, sum(most))
    if sum(min(floor, m) for m in most) <= n:
        assert all(g >= min(floor, m) for g, m in zip(given, most, strict=True))
    order = np.argsort(sizes)
    assert all(a <= b + 1 for a, b in zip(np.array(given)[order], np.array(given)[order][1:]))


# -- chances -----------------------------------------------------------------------------------------------


def test_chances_are_in_proportion_and_sum_to_n():
    assert inclusion([1, 1, 2], 2).tolist() == [0.5, 0.5, 1.0]
    assert inclusion([1, 1, 1, 9], 2) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert inclusion([1, 10, 100], 3).tolist() == [1, 1, 1]
    w = RNG.gamma(0.5, size=200) + 1e-3
    assert inclusion(w, 60).sum() == pytest.approx(60) and inclusion(w, 60).max() <= 1
    with pytest.raises(DataError, match="above 0"):
        inclusion([1, 0], 1)
    with pytest.raises(DataError, match="3 or more"):
        inclusion([1, 1], 3)


def test_draws_have_the_chances_that_are_said():
    chance = inclusion([1, 2, 3, 4, 5, 6, 7], 3)
    counts = np.zeros(7)
    for _ in range(4_000):
        drawn = systematic(chance, RNG)
        assert len(set(drawn.tolist())) == 3
        counts[drawn] += 1
    assert counts / 4_000 == pytest.approx(chance, abs=0.03)


def test_cells_get_what_is_their_due_rounded_up_or_down():
    cells = pd.Series([0] * 10 + [1] * 25 + [2] * 5)
    seen = set()
    for _ in range(200):
        drawn = cells.iloc[systematic(np.full(40, 0.25), RNG, cells)].value_counts()
        seen |= {(cell, int(drawn.get(cell, 0))) for cell in (0, 1, 2)}
    assert seen == {(0, 2), (0, 3), (1, 6), (1, 7), (2, 1), (2, 2)}


# -- samples -----------------------------------------------------------------------------------------------


def test_a_sample_is_seeded_and_its_chances_sum_to_its_size_in_each_dimension():
    pool = cases(300)
    drawn = sampled(pool, 60, floor=5, cap=0.6)
    assert drawn.cases.equals(sampled(pool, 60, floor=5, cap=0.6).cases)
    assert not drawn.cases["case"].equals(sampled(pool, 60, floor=5, cap=0.6, seed=1).cases["case"])
    assert drawn.cases["dimension"].value_counts().to_dict() == {"factual_error": 36, "verbosity": 24}
    chances = drawn.cases.groupby("dimension")["inclusion"].unique()
    assert chances["factual_error"] == pytest.approx([36 / 200]) and chances["verbosity"] == pytest.approx(
        [24 / 100]
    )
    assert drawn.strata["cases"].sum() == 300 and drawn.strata["drawn"].sum() == 60
    by_dimension = drawn.strata.groupby("dimension")["drawn"].sum()
    assert by_dimension.to_dict() == {"factual_error": 36, "verbosity": 24}
    assert drawn.cases["weight"].sum() == pytest.approx(300)  # Horvitz–Thompson of the population's size


def test_weighted_by_their_chances_draws_estimate_the_population():
    pool = cases(240)
    pool["length_of_query"] = pool["query"].str.len().astype(float)
    truth = pool["length_of_query"].mean()
    found = []
    for seed in range(25):
        one = sampled(pool, 40, weight="length_of_query", floor=0, cap=1.0, seed=seed).cases
        found.append((one["length_of_query"] * one["weight"]).sum() / 240)
        assert one["inclusion"].max() <= 1
    assert np.mean(found) == pytest.approx(truth, rel=0.03)
    plain = [sampled(pool, 40, seed=s).cases["length_of_query"].mean() for s in range(4)]
    heavy = [
        sampled(pool, 40, weight="length_of_query", seed=s).cases["length_of_query"].mean() for s in range(4)
    ]
    assert np.mean(heavy) > 1.2 * np.mean(plain)


def test_a_session_gives_one_case_and_its_chance_says_so():
    pool = cases(30, talk=[f"t{i // 3}" for i in range(30)], dimension="verbosity")
    drawn = sampled(pool, 5, floor=0, cap=1.0).cases
    assert drawn["talk"].is_unique and drawn["inclusion"].tolist() == pytest.approx([0.5 / 3] * 5)
    often = sum((sampled(pool, 5, floor=0, cap=1.0, seed=s).cases["case"] == "c0").sum() for s in range(60))
    assert often / 60 == pytest.approx(0.5 / 3, abs=0.13)
    assert sampled(pool, 30, per_session=False, cap=1.0).cases["inclusion"].tolist() == [1.0] * 30


def test_matched_sides_are_alike_in_length_and_place():
    pool = cases(200, sides=("bad", "good"))
    pool.loc[pool["side"] == "good", "query"] += "word " * 20  # good requests are longer
    pool["history"] = [
        ({"turn_index": 0, "role": "user", "content": "x"},) * (i // 2 % 4) for i in range(200)
    ]
    drawn = matched(pool, 30)
    table = drawn.cases.groupby(["length", "rounds", "side"]).size().unstack("side")
    assert (table["bad"] == table["good"]).all() and len(drawn.cases) == 60
    alike = drawn.strata.groupby("side")["drawn"].sum()
    assert alike["bad"] == alike["good"] == 30
    cell = drawn.cases.groupby(["length", "rounds", "side"])["inclusion"]
    sizes = drawn.strata.set_index(["length", "rounds", "side"])
    for key, chance in cell:
        assert chance.tolist() == pytest.approx(
            [sizes.loc[key, "drawn"] / sizes.loc[key, "cases"]] * len(chance)
        )


def test_sides_can_be_matched_by_one_column():
    pool = cases(100, sides=("bad", "good"))
    pool.loc[pool["side"] == "good", "query"] += "word " * 20
    pool.loc[pool.index[:40], "query"] = "short"
    pool["history"] = [()] * len(pool)
    drawn = matched(pool, 10, by=("length",))
    table = drawn.cases.groupby(["length", "side"]).size().unstack("side")
    assert (table["bad"] == table["good"]).all() and len(drawn.cases) == 20


def test_splits_share_no_session_and_keep_the_proportions_of_the_release():
    pool = cases(400, sides=("bad", "good"))
    pool["history"] = [()] * 400
    pool["talk"] = [f"t{i // 2}-{s}" for i, s in enumerate(pool["side"])]
    made = splits(pool)
    sizes = {name: len(one) for name, one in made.items()}
    assert sizes["task1_judge_bad"] == sizes["task1_judge_good"] == 32 and sizes["task3_recovery"] == 16
    bad = pd.concat([made[n] for n in ("task1_judge_bad", "task2_eval", "task3_recovery")])
    assert bad["case"].is_unique
    assert made["task3_recovery"]["complaint"].ne("").all()
    assert made["task2_eval"]["signals"].isin([("complain",), ("dislike",)]).all()
    asked = splits(pool, {"task1_judge_bad": 5, "task1_judge_good": 9})
    assert {n: len(one) for n, one in asked.items()} == {
        "task1_judge_bad": 5, "task1_judge_good": 5, "task2_eval": 0, "task3_recovery": 0,
    }  # fmt: skip
    with pytest.raises(DataError, match="0 or more"):
        splits(pool, {"task2_eval": -1})
