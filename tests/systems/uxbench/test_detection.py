"""Metrics of UX judges: worked numbers of the published tables, and of small examples done by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perslib.errors import DataError, UnknownName
from perslib.stats import calibration_bins, cohen, compare_paired, krippendorff, mcnemar, raters_agreement, wilson
from perslib.stats.agreement.raters import count_ratings, gwet
from perslib.systems.uxbench.bench import REWARD_MODEL, read_ux_table
from perslib.systems.uxbench.statistics import (
    at_learned_threshold,
    best_threshold,
    compare_auroc,
    detection,
    escapes,
    measure_verdicts,
    reward_numbers,
)
from perslib.systems.uxbench.statistics.probabilities import probability_metrics

# -- published tables ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table3() -> pd.DataFrame:
    table = read_ux_table("table3")
    found = detection(10 * table["bad_acc"], 1000, 1000 - 10 * table["good_acc"], 1000)
    return table.assign(d=found.d_prime, se=found.d_prime_se, c=found.criterion, best=found.at_best)


@pytest.fixture(scope="module")
def zero_shot(table3: pd.DataFrame) -> pd.DataFrame:
    return table3[table3["model"] != REWARD_MODEL]


def test_accuracy_is_the_mean_of_both_sides(table3):
    assert ((table3["good_acc"] + table3["bad_acc"]) / 2 - table3["accuracy"]).abs().max() <= 0.0501
    assert len(table3) == 27


def test_positive_bias_of_the_published_judges(zero_shot):
    bias = zero_shot["good_acc"] - zero_shot["bad_acc"]
    assert (bias.min(), bias.max(), bias.mean()) == pytest.approx((19.9, 88.1, 57.89), abs=0.005)


@pytest.mark.parametrize(
    ("x", "y", "values"),
    [
        ("accuracy", "eval_good", (0.012, 0.014, 0.071)),
        ("accuracy", "recovery_good", (0.360, 0.356, 0.242)),
        ("eval_good", "recovery_good", (0.656, 0.654, 0.496)),
        ("good_acc", "bad_acc", (-0.897, -0.895, -0.744)),
    ],
)
def test_correlations_of_the_published_tasks(zero_shot, x, y, values):
    for correlate, value in zip((stats.pearsonr, stats.spearmanr, stats.kendalltau), values):
        assert correlate(zero_shot[x], zero_shot[y])[0] == pytest.approx(value, abs=0.0006)


@pytest.mark.parametrize(
    ("model", "d", "c"),
    [("GRM", 1.51, 0.16), ("DeepSeek V3", 1.55, 1.97), ("GPT-5.2", 1.42, 0.32), ("Gemini 3.0 Flash", 1.67, 1.16)],
)
def test_sensitivity_and_criterion(table3, model, d, c):
    row = table3.set_index("model").loc[model]
    assert (row["d"], row["c"]) == pytest.approx((d, c), abs=0.005)


def test_most_of_the_published_gain_is_a_threshold(table3, zero_shot):
    assert zero_shot["accuracy"].corr(zero_shot["c"]) == pytest.approx(-0.958, abs=0.0006)
    assert zero_shot["accuracy"].corr(zero_shot["d"]) == pytest.approx(0.394, abs=0.0006)
    rows = table3.set_index("model")
    assert (zero_shot["d"] >= rows.loc[REWARD_MODEL, "d"]).sum() == 9
    for model, best in (("Claude Opus 4.7", 77.7), ("Gemini 3.0 Flash", 79.8), ("GPT-5.1", 79.2), ("GRM", 77.5)):
        assert 100 * rows.loc[model, "best"] == pytest.approx(best, abs=0.06)
    for model, error in (("GRM", 0.06), ("Claude Opus 4.7", 0.06), ("DeepSeek V3", 0.20)):
        assert rows.loc[model, "se"] == pytest.approx(error, abs=0.01)


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [
        (1545, 2000, 75.36, 79.03),
        (1506, 2000, 73.36, 77.14),
        (2798, 4900, 55.71, 58.48),
        (64, 500, 10.15, 16.01),
        (20, 500, 2.60, 6.10),
        (25, 30, 66.44, 92.66),
    ],
)
def test_wilson_intervals(x, n, low, high):
    assert 100 * np.array(wilson(x, n)) == pytest.approx([low, high], abs=0.005)


def test_a_table_that_is_not_there_brings_the_near_ones():
    with pytest.raises(UnknownName, match="table9"):
        read_ux_table("table99")


# -- judges ---------------------------------------------------------------------------------------------------


def test_detection_stays_finite_at_the_ends():
    found = detection([1000, 0], 1000, [0, 0], 1000)
    assert np.isfinite(found.d_prime).all() and found.d_prime[1] == pytest.approx(0, abs=1e-9)
    assert found.accuracy.tolist() == [1.0, 0.5]
    assert np.isnan(detection(0, 0, 3, 10).d_prime)
    assert detection(0, 50, 0, 720).d_prime == pytest.approx(0, abs=1e-9), "always good: it tells nothing apart"
    from_equal = stats.norm.ppf(1000.5 / 1001) - stats.norm.ppf(0.5 / 1001)
    assert found.d_prime[0] == pytest.approx(from_equal)


GOLD = [1, 1, 1, 1, -1, -1, -1, -1]
SAID = [1, 1, 1, None, 1, -1, -1, None]


def row(frame: pd.DataFrame) -> dict[str, float]:
    found = measure_verdicts(frame.assign(case=range(len(frame)), judge="j"))
    return dict(zip(found["metric"], found["value"]))


def test_what_could_not_be_read_is_wrong_and_counted():
    found = row(pd.DataFrame({"gold": GOLD, "said": SAID}))
    assert (found["accuracy"], found["good_acc"], found["bad_acc"]) == (5 / 8, 3 / 4, 1 / 2)
    assert (found["parse_rate"], found["accuracy_read"]) == (6 / 8, 5 / 6)
    assert (found["good_acc_read"], found["bad_acc_read"]) == (1.0, 2 / 3)
    assert found["positive_bias"] == 0.25 and found["balanced_accuracy"] == 5 / 8
    # One rule: d′ and criterion are those of the accuracies, and so is what comes of probabilities.
    d, c = detection(2, 4, 1, 4).d_prime, detection(2, 4, 1, 4).criterion
    assert (found["d_prime"], found["criterion"]) == (pytest.approx(d), pytest.approx(c))


@pytest.mark.parametrize("lost", [0, 1])
def test_a_case_that_was_not_read_is_wrong_at_every_threshold_and_in_every_pair(lost):
    gold = np.array([1, -1] * 20)
    p = np.where(gold == 1, 0.9, 0.1)
    p[lost] = np.nan
    said = np.where(np.isnan(p), np.nan, gold)
    frame = pd.DataFrame({"judge": "j", "case": range(40), "user": "", "gold": gold, "said": said, "p_good": p})
    numbers, good = reward_numbers(frame), 39 / 40
    assert row(frame.drop(columns="judge"))["accuracy"] == good == at_learned_threshold(gold, p)
    assert numbers["balanced_accuracy"] == good and numbers["d_prime"] == row(frame)["d_prime"]
    others = frame.assign(judge="mute", p_good=np.nan), frame.assign(judge="sure", p_good=np.where(gold == 1, 1.0, 0.0))
    ranked = compare_auroc(pd.concat([frame, *others])).set_index("judge")
    assert ranked.loc["j", "auroc"] == numbers["auroc"] == 1 - 1 / 20 and ranked.loc["sure", "auroc"] == 1
    assert np.isnan(ranked.loc["mute", "auroc"]) and (ranked["cases"] == 40).all()
    assert np.isnan(at_learned_threshold(gold, np.full(40, np.nan)))


def test_measures_are_those_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score, f1_score, matthews_corrcoef

    rng = np.random.default_rng(3)
    gold, said = rng.choice([1, -1], 200), rng.choice([1, 1, -1, 0], 200)
    found = row(pd.DataFrame({"gold": gold, "said": said}))
    assert found["mcc"] == pytest.approx(matthews_corrcoef(gold, said))
    assert found["kappa"] == pytest.approx(cohen_kappa_score(gold, said))
    assert found["macro_f1"] == pytest.approx(f1_score(gold, said, labels=[1, -1], average="macro"))


def test_intervals_come_from_resampled_cases_and_users():
    rng = np.random.default_rng(5)
    users = np.repeat(np.arange(40), 10)
    gold = rng.choice([1, -1], 400)
    mood = rng.random(40)[users] < 0.5  # a user's cases are right together
    said = np.where(mood, gold, -gold)
    frame = pd.DataFrame({"gold": gold, "said": said, "case": range(400), "user": users, "judge": "j"})
    by_case = measure_verdicts(frame, metrics=["accuracy"]).iloc[0]
    by_user = measure_verdicts(frame, metrics=["accuracy"], unit="user").iloc[0]
    assert by_case["value_high"] - by_case["value_low"] == pytest.approx(
        by_case["wilson_high"] - by_case["wilson_low"], abs=0.02
    )
    assert by_user["value_high"] - by_user["value_low"] > 2 * (by_case["value_high"] - by_case["value_low"])
    assert by_case["unread"] == 0 and by_user["units"] == 40


def test_neutral_is_an_escape_not_an_error_of_reading():
    frame = pd.DataFrame({"judge": "j", "gold": [1, 1, -1, -1, -1], "said": [1, 0, 0, 0, 1]})
    table = escapes(frame).set_index("side")
    assert table.loc["bad", ["right", "neutral", "missed", "unread"]].tolist() == [0, 2, 1, 0]
    assert table.loc["good", "neutral_percent"] == 50.0
    assert table.loc["bad", "neutral_percent"] == pytest.approx(200 / 3) and row(frame)["parse_rate"] == 1


def test_labels_that_are_none_are_named():
    with pytest.raises(DataError, match=r"said row 1: is 2"):
        measure_verdicts(pd.DataFrame({"gold": [1, -1], "said": [1, 2], "case": [0, 1], "judge": "j"}))
    with pytest.raises(DataError, match="no column case"):
        measure_verdicts(pd.DataFrame({"gold": [1], "said": [1], "judge": "j"}))
    with pytest.raises(UnknownName, match="kapa"):
        measure_verdicts(pd.DataFrame({"gold": [1], "said": [1], "case": [1], "judge": "j"}), metrics=["kapa"])


# -- probabilities ----------------------------------------------------------------------------------------------


def test_probabilities_by_hand():
    found = probability_metrics([1, 1, -1, -1], [0.9, 0.6, 0.7, 0.2], bins=2)
    assert found["auroc"] == 0.75
    assert found["brier"] == pytest.approx((0.01 + 0.16 + 0.49 + 0.04) / 4)
    assert found["ece"] == pytest.approx((abs(0.4 - 0.5) + abs(0.8 - 0.5)) / 2)
    assert found["uncertainty"] == 0.25
    assert found["auprc"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)


def test_brier_falls_apart_into_its_parts():
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3, 0.6, 0.9], 5000)
    gold = np.where(rng.random(5000) < p, 1, -1)
    found = probability_metrics(gold, p)
    assert found["reliability"] - found["resolution"] + found["uncertainty"] == pytest.approx(found["brier"])
    assert found["ece"] < 0.02 and calibration_bins(gold == 1, p)["cases"].sum() == 5000


def test_a_threshold_gives_back_what_the_criterion_took():
    rng = np.random.default_rng(1)
    gold = rng.choice([1, -1], 2000)
    x = rng.normal(gold * 0.8, 1)
    lenient = 1 / (1 + np.exp(-(1.6 * x + 3)))  # a fine judge that hardly ever says bad
    found = at_learned_threshold(gold, lenient)
    assert found == pytest.approx(stats.norm.cdf(0.8), abs=0.02) and best_threshold(gold == 1, lenient) > 0.9
    noise = at_learned_threshold(gold, rng.random(2000))
    assert noise == pytest.approx(0.5, abs=0.04), "cross-validated: nothing is gained from noise"


def test_the_best_threshold_does_not_part_equal_values():
    good = np.array([False, True, True, False])
    assert best_threshold(good, np.array([0.2, 0.5, 0.5, 0.5])) == pytest.approx(0.35)
    assert best_threshold(np.array([True, True]), np.array([0.2, 0.5])) == 0.5
    with pytest.raises(DataError, match="expected a probability"):
        probability_metrics([1, -1], [0.5, 1.5])


# -- comparisons --------------------------------------------------------------------------------------------------


def test_mcnemar_is_the_binomial_of_the_discordant():
    assert mcnemar(0, 6) == 2 / 64
    assert mcnemar(3, 3) == 1.0 == mcnemar(0, 0)


def outcomes(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    right = {name: (rng.normal(size=n) + skill > hard).astype(float) for name, skill in zip("abc", (1.2, 0.0, 0.0))}
    return pd.DataFrame(right)


def test_pairs_on_the_same_cases():
    table = compare_paired(outcomes(400), tests=("bootstrap", "mcnemar")).set_index(["a", "b"])
    better, equal = table.loc[("a", "b")], table.loc[("b", "c")]
    assert better["difference_low"] > 0 and better["difference_p_holm"] < 0.01
    assert better["difference_p_mcnemar_holm"] < 0.001
    assert equal["difference_low"] < 0 < equal["difference_high"] and equal["difference_p_mcnemar"] > 0.05
    assert better["ahead"] - better["behind"] == pytest.approx(400 * better["difference"])


# -- agreement coefficients ---------------------------------------------------------------------------------------


def test_krippendorff_of_his_own_example():
    """Krippendorff (2011), section C: four observers, twelve units, missing ratings."""
    nan = np.nan
    ratings = pd.DataFrame(
        {
            "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
            "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
            "C": [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
            "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
        }
    )
    assert krippendorff(ratings) == pytest.approx(0.743, abs=0.0006)
    assert krippendorff(ratings, "ordinal") == pytest.approx(0.815, abs=0.0006)
    assert krippendorff(ratings, "interval") == pytest.approx(0.849, abs=0.0006)
    assert np.isnan(krippendorff(ratings[["A"]]))


def test_krippendorff_of_sparse_ratings():
    """The example that is passed on with his coefficient: three observers, fifteen units, most rated by two."""
    rows = {"A": "*****34121133*3", "B": "1*213343*******", "C": "**21344*21133*4"}
    ratings = pd.DataFrame({name: [np.nan if c == "*" else int(c) for c in row] for name, row in rows.items()})
    found = [krippendorff(ratings, level) for level in ("nominal", "ordinal", "interval")]
    assert found == pytest.approx([0.691, 0.807, 0.811], abs=0.0006)


def test_ac1_stands_where_kappa_falls():
    """Two raters who agree on 95 of 100, nearly all of one kind: κ is near zero, AC1 is not."""
    pairs = [(1, 1)] * 95 + [(1, 0)] * 3 + [(0, 1)] * 2
    one, other = zip(*pairs)
    table = count_ratings(pd.DataFrame({"one": one, "other": other}))
    assert cohen(one, other) < 0 < 0.94 < gwet(table)
    share = 0.975
    by_chance = 2 * share * (1 - share)
    assert gwet(table) == pytest.approx((0.95 - by_chance) / (1 - by_chance))
    assert raters_agreement(pd.DataFrame({"one": one, "other": other}))["equal"] == pytest.approx(0.95)
