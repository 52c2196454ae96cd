"""The page on judge bias: what its study computes, and an audit with judges whose bias is known."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from scripted import Scripted

from perslib.corpus import TURN, Block, Corpus, load
from perslib.judge import Computed, Constant, JudgeInputs
from perslib.judge.evaluate import evaluate
from perslib.judge.scope import choose_scope
from perslib.replay.candidates import family_of
from perslib.report import begin
from perslib.report.show import plots
from perslib.systems.uxbench.bench import REWARD_MODEL, compare_with_best_baseline, families, read_ux_table
from perslib.systems.uxbench.statistics import bradley_terry, order_effects, own_family_gaps, preferences
from perslib.systems.uxbench.studies import judge_bias as study
from perslib.systems.uxbench.studies import published_bias


class Long(Computed):
    """The longer the better."""

    name = "long"

    def scores(self, block: Block) -> pd.Series:
        return (1 + block.targets["response"].str.len() / 600).clip(upper=5)


def shares() -> pd.DataFrame:
    return read_ux_table("table9").set_index("model").drop(columns="family")


@pytest.fixture(scope="module")
def audit() -> study.Audit:
    return study.audit_judges([Long(), Constant(4)], load("sample/en"), pairs=6, limit=240)


def test_published_tables_in_numbers():
    judged, gaps = published_bias.measure_sensitivity(), own_family_gaps(shares(), families()).set_index("judge")
    mild, sensitive = published_bias.summarize_mildness(judged), published_bias.summarize_sensitivity(judged)
    assert (mild["n"], mild["strictest"], mild["mildest"]) == (26, "GPT-5.2", "DeepSeek V3")
    assert (mild["least"], mild["most"], mild["mean"]) == pytest.approx((19.9, 88.1, 57.89), abs=0.005)
    assert sensitive["with_c"]["pearson_r"] == pytest.approx(-0.958, abs=0.0006) and sensitive["equal"] == 9
    trained = judged.set_index("family").loc["reward model"]
    assert trained[["accuracy", "accuracy_low", "accuracy_high"]].round(1).tolist() == [77.2, 75.3, 79.0]
    own = gaps.loc["GPT-5.2", ["adjusted_gap", "adjusted_gap_low", "adjusted_gap_high"]].astype(float)
    assert own.round(1).tolist() == [18.5, 13.6, 23.5]
    assert (gaps["adjusted_gap_low"] > 0).tolist() == [True, False, False, False]
    assert gaps.loc["all judges", "adjusted_gap"] == pytest.approx(7.93, abs=0.005)
    between = published_bias.correlate_tasks().set_index(["ranking", "with"])
    assert between.loc[("UXBench", "AlpacaEval"), "pearson_r"] == pytest.approx(0.655, abs=0.0006)
    assert (
        published_bias.list_neutral_and_effort()["quantity"].nunique() == 3
        and published_bias.compute_sample_sizes()["rho_50"].tolist()[2] == 2181
    )


def test_correlations_over_models_have_intervals():
    rng = np.random.default_rng(1)
    x = pd.Series(rng.normal(size=26))
    y = x + rng.normal(size=26)
    found = published_bias.correlate_models(x, y)
    by_scipy = pearsonr(x, y).confidence_interval()
    assert found["models"] == 26
    assert (found["pearson_r_low"], found["pearson_r_high"]) == pytest.approx(tuple(by_scipy), abs=1e-4)
    for name in ("spearman_rho", "kendall_tau_b"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"] < 1
    # Of few models the interval is wide, and a correlation of .66 is compatible with none.
    last = published_bias.correlate_tasks().set_index("with").loc["AlpacaEval"]
    assert last["models"] == 9 and last["pearson_r_low"] < 0 < last["pearson_r_high"] < 0.95


def test_published_pairs_and_ranks():
    ranked, pairs = published_bias.list_rank_sets(), preferences(published_bias.count_pair_outcomes())
    assert ranked[ranked["tied_first"]].groupby("task").size()["UX Recovery"] == 20
    assert (pairs["share_p_holm"] < 0.05).sum() == 13
    fitted = bradley_terry(published_bias.count_pair_outcomes(), families(), by_judge=True).query(
        "kind == 'own family'"
    )
    assert np.exp(fitted["estimate"]).round(1).tolist() == [6.8, 3.2, 0.6]
    assert (fitted["estimate_p"] < 0.001).all()


def test_curves_of_equal_accuracy_hold_the_judges():
    judged = published_bias.measure_sensitivity()
    of_curve = 100 * published_bias.compute_accuracy(judged["d_prime"], judged["criterion"])
    assert np.abs(of_curve - (judged["good_acc"] + judged["bad_acc"]) / 2).max() < 1e-9


def test_own_families_are_framed():
    own = published_bias.mark_own_family(shares())
    assert own.sum().tolist() == own_family_gaps(shares(), families())["own_models"].dropna().tolist()
    assert own.loc["GPT-5.2", "GPT-5.2"] and not own.loc["GPT-5.2", "Gemini 3.1 Pro"]


def test_families_are_told_apart_without_colour():
    begin(language="zh")
    fig = plots.points(published_bias.measure_sensitivity(), "criterion", "d_prime", marks="family")
    marks = [handle.get_marker() for handle in fig.legends[0].legend_handles]
    assert len(marks) == len(set(marks)) == published_bias.measure_sensitivity()["family"].nunique() >= 10
    plt.close("all")


@pytest.mark.sample
def test_an_audit_names_who_goes_by_length(audit):
    assert audit.quality["judge"].tolist() == ["long", Constant(4).name, *study.BIAS_BASELINES]
    assert audit.list_biased_judges() == {"long": ["long"], "padded": ["long"], "placed": [], "own": None}
    constant = audit.quality.set_index("judge").loc[Constant(4).name]
    assert constant["balanced_accuracy"] == 0.5 and constant["d_prime"] == pytest.approx(0, abs=1e-9)
    found = compare_with_best_baseline(audit.quality)
    assert found["best"] == "length only" and found["above"] == []
    assert audit.length["users"].min() > 8 and audit.length.filter(like="_low").notna().all(axis=None)
    assert audit.position["consistent"].tolist() == [1, 1] and audit.quality["cases"].max() > 100


class Loyal(Long):
    """A judge that is a model, and gives its own family a point more."""

    name, inputs = "loyal", JudgeInputs(reply=True, model=True)

    def scores(self, block: Block) -> pd.Series:
        return 3.0 + block.targets["assistant"].str.lower().str.startswith("gpt").astype(float)


class OfGPT(Scripted):
    """A backbone of a known family."""

    name, model = "large", "openai/gpt-5.2"


def of_families() -> Corpus:
    """The sample as if its assistants, and those who answered its requests again, were known models."""
    sample = load("sample/en")
    names = {"aster-large": "GPT-5.1", "brook-mini": "Kimi K2.5", "cedar-chat": "gpt-5 mini", "delta-plus": "GLM-5"}
    sessions = sample.sessions.assign(assistant=sample.sessions["assistant"].replace(names))
    return replace(sample, sessions=sessions, extras={})


@pytest.mark.sample
def test_a_judge_that_prefers_its_own_family_is_named():
    corpus, model = of_families(), OfGPT()
    audit = study.audit_judges([Loyal(), Long()], corpus, model, limit=240)
    (row,) = audit.family.to_dict("records")
    assert (row["judge"], row["family"], row["families"]) == ("loyal", "gpt", "ember, glm, gpt, kimi")
    assert row["preference"] == pytest.approx(row["own"] - row["others"]) and row["rows"] == 240
    assert row["preference_low"] < row["preference"] < row["preference_high"]
    assert audit.list_biased_judges()["own"] == (["loyal"] if row["preference_low"] > 0 else [])
    gold = evaluate(Loyal(), corpus, model, limit=240, progress=False)
    gold = gold.drop(columns="candidate").merge(corpus.turns[[*TURN, "score"]], on=TURN)
    own = gold["raw"] == 4
    above = gold["raw"] - gold["score"].astype(float)
    assert row["preference"] == pytest.approx(above[own].mean() - above[~own].mean())
    # Without a family of its own among the replies, or with no model, there is nothing to measure, and why is said.
    other = study.audit_judges([Loyal()], corpus, Scripted(), limit=40).family.iloc[0]
    assert np.isnan(other["preference"]) and other["why"].startswith("no candidate of its own family")
    assert study.audit_judges([Long()], corpus, limit=40).family.empty


def test_candidates_that_users_rated_count_for_the_own_family():
    corpus = of_families()
    turns = corpus.turns[corpus.turns["user"].isin(corpus.split()["test"])].groupby("user").head(6)
    again = [turns[TURN].assign(candidate=c, response=turns["response"] + c, score=3) for c in ("GPT-5", "Qwen3")]
    extras = {"candidates": pd.concat(again, ignore_index=True)}
    found = study.audit_judges([Loyal()], replace(corpus, extras=extras), OfGPT(), pairs=6, limit=40).family
    assert found["rows"].tolist() == [40 + 12] and "qwen" in found["families"].iloc[0]


def test_families_of_published_models_are_those_of_their_names():
    known = {model: family for model, family in families().items() if model != REWARD_MODEL}
    assert {model: family_of(model) for model in known} == {model: own.lower() for model, own in known.items()}


def test_slopes_take_thirty_replies():
    few = study.audit_judges([Long()], load("sample/en"), limit=20)
    assert few.length["at_equal_gold"].isna().all() and few.length["padding_change"].notna().all()
    assert few.list_biased_judges()["long"] is None


def test_a_limit_of_minus_one_is_all_replies():
    assert [choose_scope(None, limit, 400).turns for limit in (-1, 0, 7)] == [None, 400, 7]


def test_a_judge_whose_choices_cannot_be_read_has_no_position_bias():
    about = {"judge": "mute", "a": "x", "b": "y", "case": "1", "choice": None}
    found = order_effects(pd.DataFrame([{**about, "first": first} for first in "ab"]))
    assert found["left_out"].tolist() == [1] and found["position_bias"].isna().all()


@pytest.mark.sample
def test_a_judge_of_pairs_is_audited_for_place_alone():
    class Pairwise(Long):
        name = "pairwise"

    found = study.audit_judges([Constant(4)], load("sample/en"), pairwise=Pairwise(), pairs=4, limit=40)
    assert set(found.position["judge"]) == {"constant 4", "pairwise"}
    assert set(found.length["judge"]) == {"constant 4"}
