"""Judge bias: the published numbers, and simulated judges whose bias is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perslib.errors import DataError
from perslib.systems.uxbench.bench import families, read_ux_table
from perslib.systems.uxbench.statistics import bradley_terry, centre_doubly, order_effects, own_family_gaps, preferences
from perslib.systems.uxbench.statistics.choices import exact_test
from perslib.systems.uxbench.statistics.own_family_gaps import permutation_test

FAMILY = {
    "A1": "A",
    "A2": "A",
    "B1": "B",
    "B2": "B",
    "C1": "C",
    "C2": "C",
    "judge A": "A",
    "judge B": "B",
    "judge C": "C",
}
MODELS, JUDGES = list(FAMILY)[:6], list(FAMILY)[6:]


# -- the published matrix ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table9() -> pd.DataFrame:
    return read_ux_table("table9").set_index("model").drop(columns="family")


def test_published_judges_in_numbers(table9):
    assert table9.mean().round(2).tolist() == [47.76, 94.99, 84.01]
    assert table9.std().round(2).tolist() == [12.39, 1.34, 7.07]
    reward = read_ux_table("table3").set_index("model")["eval_good"].dropna()
    shared = table9.join(reward, how="inner")
    assert len(shared) == 17
    for judge, rho in (("GPT-5.2", -0.334), ("Gemini 2.5 Flash", 0.556), ("Gemini 3.1 Pro", 0.636)):
        assert stats.spearmanr(shared[judge], shared["eval_good"])[0] == pytest.approx(rho, abs=0.0006)
    between = table9.corr("spearman").to_numpy()[np.triu_indices(3, 1)]
    assert sorted(between) == pytest.approx([0.151, 0.242, 0.472], abs=0.0006)


def test_published_self_preference(table9):
    gaps = own_family_gaps(table9, families()).set_index("judge")
    assert gaps["raw_gap"].iloc[:3].round(2).tolist() == [29.53, 0.87, 0.49]
    assert gaps["adjusted_gap"].iloc[:3].round(2).tolist() == [18.47, 2.84, 2.47]
    assert gaps.loc["GPT-5.2", "adjusted_gap_p"] == pytest.approx(1 / 816, rel=1e-9) and gaps.loc["GPT-5.2", "exact"]
    assert gaps.loc["GPT-5.2", "adjusted_gap_low"] > 10 and gaps.loc["Gemini 3.1 Pro", "adjusted_gap_low"] < 0
    assert gaps.loc["all judges", "adjusted_gap"] == pytest.approx(7.93, abs=0.005)


def test_published_pairs():
    table = read_ux_table("table10")
    counts = table.assign(**{n: (5 * table[n]).round().astype(int) for n in ("a_wins", "b_wins")})
    counts["ties"] = (5 * table["tie"]).round().astype(int)
    assert (counts[["a_wins", "b_wins", "ties"]].sum(axis=1) == 500).all()
    found = preferences(counts)
    assert (found["share_p_holm"] < 0.001).sum() == 13
    fitted = bradley_terry(counts, families(), by_judge=True)
    own = fitted[fitted["kind"] == "own family"].set_index("term")["estimate"]
    assert own["GPT-5.2"] > 1.5 and own["Gemini 3.1 Pro"] > 0.9 and own["Claude Opus 4.7"] < -0.3
    judges = ["GPT-5.2", "Gemini 3.1 Pro", "Claude Opus 4.7"]
    assert own[judges].tolist() == pytest.approx([1.923, 1.169, -0.597], abs=0.0006)
    rows = fitted[fitted["kind"] != "strength"].set_index("term")
    assert rows.loc["tie", "estimate"] == pytest.approx(-3.168, abs=0.0006)
    assert rows.loc[[*judges, "tie"], "se"].tolist() == pytest.approx([0.097, 0.099, 0.090, 0.089], abs=0.0006)
    assert rows.loc[judges, "estimate_p"].max() < 1e-9


# -- gaps between families ----------------------------------------------------------------------------------------


def test_double_centring_takes_out_models_and_judges():
    quality, mildness = np.array([10.0, 30, 50, 60, 65, 70]), np.array([0.0, 20, 5])
    shares = pd.DataFrame(quality[:, None] + mildness, MODELS, JUDGES)
    assert centre_doubly(shares).abs().to_numpy().max() < 1e-9
    gaps = own_family_gaps(shares, FAMILY).set_index("judge")
    assert abs(gaps.loc["judge C", "raw_gap"]) > 10 and gaps["adjusted_gap"].abs().max() < 1e-9
    shares.loc[["C1", "C2"], "judge C"] += 12
    own = own_family_gaps(shares, FAMILY).set_index("judge").loc["judge C"]
    assert own["adjusted_gap"] == pytest.approx(12 * (1 - 1 / 3))
    assert own["adjusted_gap_p"] == pytest.approx(1 / 15), "two of six can be chosen in fifteen ways"
    assert own["adjusted_gap_low"] == -np.inf, "fifteen ways cannot reject anything at five per cent"


def test_permutation_intervals_cover():
    rng = np.random.default_rng(3)
    own = np.arange(12) < 4
    tried = [permutation_test(rng.normal(size=12) + 1.5 * own, own) for _ in range(150)]
    assert np.mean([found["gap_low"] <= 1.5 <= found["gap_high"] for found in tried]) >= 0.9
    shifted = permutation_test(np.r_[10.0 + np.arange(4), np.arange(8)], own)
    assert shifted["gap_p"] < 0.05 and 0 < shifted["gap_low"] < shifted["gap"] < shifted["gap_high"]


def test_a_family_that_nobody_named_is_an_error():
    shares = pd.DataFrame(np.random.default_rng(0).uniform(0, 100, (6, 3)), MODELS, JUDGES)
    with pytest.raises(DataError, match="C2"):
        own_family_gaps(shares, {k: v for k, v in FAMILY.items() if k != "C2"})
    shares.loc["A1", "judge A"] = np.nan
    with pytest.raises(DataError, match="judge A"):
        own_family_gaps(shares, FAMILY)


# -- pairs --------------------------------------------------------------------------------------------------------


def test_exact_tests_with_ties():
    assert exact_test(8, 2) == pytest.approx(stats.binomtest(2, 10).pvalue)
    assert exact_test(8, 2, 4, split=True) == pytest.approx(stats.binomtest(4, 14).pvalue)
    assert exact_test(8, 2, 1, split=True) == pytest.approx(stats.binomtest(3, 11).pvalue)
    assert exact_test(0, 0) == 1.0


def choices(n: int, first: float = 0.0, own: float = 0.0, tie: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """Two judges on pairs of four models, each pair of replies in both orders."""
    rng = np.random.default_rng(seed)
    strength = {"A1": 0.6, "B1": 0.0, "C1": -0.6}
    rows = []
    for case in range(n):
        for a, b in (("A1", "B1"), ("B1", "C1"), ("A1", "C1")):
            for judge in ("judge A", "judge B"):
                mu = {m: strength[m] + own * (FAMILY[m] == FAMILY[judge]) for m in (a, b)}
                for shown in ("a", "b"):
                    apart = mu[a] - mu[b] + (first if shown == "a" else -first)
                    w = np.array([np.exp(apart / 2), np.exp(-apart / 2), tie])
                    rows.append((judge, a, b, case, shown, rng.choice(["a", "b", "tie"], p=w / w.sum())))
    return pd.DataFrame(rows, columns=["judge", "a", "b", "case", "first", "choice"])


def counts_of(frame: pd.DataFrame) -> pd.DataFrame:
    by = frame.groupby(["judge", "a", "b", "first"])["choice"].value_counts().unstack(fill_value=0)
    return by.rename(columns={"a": "a_wins", "b": "b_wins", "tie": "ties"}).reset_index()


def test_bradley_terry_finds_what_was_put_in():
    fitted = bradley_terry(counts_of(choices(400, first=0.4, own=0.8)), FAMILY)
    fitted = fitted.set_index("term")
    rows, effects = fitted["estimate"], ["own family", "shown first"]
    assert rows[["A1", "B1", "C1"]].tolist() == pytest.approx([0.6, 0.0, -0.6], abs=0.15)
    assert rows["own family"] == pytest.approx(0.8, abs=0.15) and rows["shown first"] == pytest.approx(0.4, abs=0.1)
    assert np.exp(rows["tie"]) == pytest.approx(0.2, abs=0.03)
    assert fitted.loc[effects, "estimate_p"].max() < 1e-6
    fair = bradley_terry(counts_of(choices(200, seed=3)), FAMILY)
    assert fair.set_index("term").loc[effects, "estimate_p"].min() > 0.01


def test_bradley_terry_without_ties_and_with_an_unbeaten_model():
    counts = pd.DataFrame(
        {"judge": "j", "a": ["x", "y"], "b": ["y", "z"], "a_wins": [20, 8], "b_wins": [0, 8], "ties": 0}
    )
    rows = bradley_terry(counts).set_index("term")
    assert np.isfinite(rows.loc[["x", "y", "z"], "estimate"]).all()
    assert rows.loc["x", "estimate"] > rows.loc["y", "estimate"]


def test_order_effects_by_hand():
    frame = pd.DataFrame(
        [
            *(("j", "x", "y", 0, "a", "a"), ("j", "x", "y", 0, "b", "a")),  # the same reply twice
            *(("j", "x", "y", 1, "a", "a"), ("j", "x", "y", 1, "b", "b")),  # the first place twice
            *(("j", "x", "y", 2, "a", "b"), ("j", "x", "y", 2, "b", "a")),  # the second place twice
            *(("j", "x", "y", 3, "a", "a"), ("j", "x", "y", 3, "b", "b")),
            *(("j", "x", "y", 4, "a", "tie"), ("j", "x", "y", 4, "b", None)),  # one could not be read
        ],
        columns=["judge", "a", "b", "case", "first", "choice"],
    )
    row = order_effects(frame).iloc[0]
    assert (row["pairs"], row["left_out"]) == (4, 1)
    assert (row["consistent"], row["first_twice"], row["second_twice"]) == (0.25, 0.5, 0.25)
    assert row["position_bias"] == 0.25 and row["position_bias_p"] == 1.0


def test_a_judge_of_places_is_found_out():
    row = order_effects(choices(80, first=2.5, tie=0.01)).set_index("judge").loc["judge A"]
    assert row["position_bias_low"] > 0.5 and row["position_bias_p"] < 1e-6 and row["first_share"] > 0.8
    fair = order_effects(choices(80)).set_index("judge").loc["judge A"]
    assert fair["position_bias_low"] < 0 < fair["position_bias_high"]
    with pytest.raises(DataError, match="choice is 'neither'"):
        order_effects(choices(2).assign(choice="neither"))
