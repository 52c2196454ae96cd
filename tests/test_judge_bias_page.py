"""The page on judge bias: what its study computes, and an audit with judges whose bias is known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from perslib.corpus import Block, load
from perslib.judge import Computed, Constant, Manner, Personal
from perslib.report import begin, plots
from perslib.studies import judge_bias as study
from perslib.studies.extent import Extent


class Long(Computed):
    """The longer the better."""

    name = "long"

    def scores(self, block: Block) -> pd.Series:
        return (1 + block.targets["response"].str.len() / 600).clip(upper=5)


@pytest.fixture(scope="module")
def audit() -> study.Audit:
    return study.audit([Long(), Constant(4)], load("sample/en"), pairs=6, limit=240)


def test_published_tables_in_numbers():
    judged, gaps = study.sensitivity(), study.gaps().set_index("judge")
    mild, sensitive = study.summarize_mildness(judged), study.summarize_sensitivity(judged)
    assert (mild["n"], mild["strictest"], mild["mildest"]) == (26, "GPT-5.2", "DeepSeek V3")
    assert (mild["least"], mild["most"], mild["mean"]) == pytest.approx((19.9, 88.1, 57.89), abs=0.005)
    assert sensitive["with_c"] == pytest.approx(-0.958, abs=0.0006) and sensitive["equal"] == 9
    trained = judged.set_index("family").loc["reward model"]
    assert trained[["accuracy", "accuracy_low", "accuracy_high"]].round(1).tolist() == [77.2, 75.3, 79.0]
    own = gaps.loc["GPT-5.2", ["adjusted_gap", "adjusted_gap_low", "adjusted_gap_high"]].astype(float)
    assert own.round(1).tolist() == [18.5, 13.6, 23.5]
    assert (gaps["adjusted_gap_low"] > 0).tolist() == [True, False, False, False]
    assert gaps.loc["all judges", "adjusted_gap"] == pytest.approx(7.93, abs=0.005)
    between = study.between_tasks().set_index(["ranking", "with"])
    assert between.loc[("UXBench", "AlpacaEval"), "pearson_r"] == pytest.approx(0.655, abs=0.0006)
    assert study.escapes()["quantity"].nunique() == 3 and study.sizes()["rho_50"].tolist()[2] == 2181


def test_published_pairs_and_ranks():
    ranked, pairs = study.ranks(), study.pairs()
    assert ranked[ranked["tied_first"]].groupby("task").size()["UX Recovery"] == 20
    assert (pairs["share_p_holm"] < 0.05).sum() == 13 and pairs["pair"].is_unique
    assert study.strengths()["odds"].round(1).tolist() == [6.8, 3.2, 0.6]
    assert (study.strengths()["own_family_effect_p"] < 0.001).all()


def test_curves_of_equal_accuracy_hold_the_judges():
    judged = study.sensitivity()
    of_curve = 100 * study.accuracy_at(judged["d_prime"], judged["criterion"])
    assert np.abs(of_curve - (judged["good_acc"] + judged["bad_acc"]) / 2).max() < 1e-9


def test_own_families_are_framed():
    own = study.is_own_family(study.residuals())
    assert own.sum().tolist() == study.gaps()["own_models"].dropna().tolist()
    assert own.loc["GPT-5.2", "GPT-5.2"] and not own.loc["GPT-5.2", "Gemini 3.1 Pro"]


def test_families_are_told_apart_without_colour():
    begin(language="zh")
    fig = plots.points(study.sensitivity(), "criterion", "d_prime", marks="family")
    marks = [handle.get_marker() for handle in fig.legends[0].legend_handles]
    assert len(marks) == len(set(marks)) == study.sensitivity()["family"].nunique() >= 10
    plt.close("all")


def test_an_audit_names_who_goes_by_length(audit):
    assert audit.quality["judge"].tolist() == ["long", Constant(4).name, *study.BESIDE]
    assert audit.biased() == {"long": ["long"], "padded": ["long"], "placed": []}
    constant = audit.quality.set_index("judge").loc[Constant(4).name]
    assert constant["balanced_accuracy"] == 0.5 and constant["d_prime"] == pytest.approx(0, abs=1e-9)
    found = audit.compare_with_baselines()
    assert found["best"] == "length only" and found["first"] == "long" and found["better"] == []
    assert audit.length["users"].min() > 8 and audit.length.filter(like="_low").notna().all(axis=None)
    assert audit.position["consistent"].tolist() == [1, 1] and audit.cases == 118


def test_slopes_take_thirty_replies():
    few = study.audit([Long()], load("sample/en"), limit=20)
    assert few.length["at_equal_gold"].isna().all() and few.length["padding_change"].notna().all()
    assert few.biased()["long"] == []


def test_a_limit_of_minus_one_is_all_replies():
    look = Extent(4, 1, "full", 600, True)
    computing, asking = [Constant(4)], [Constant(4), Personal(None, Manner("en"))]
    assert [study.replies(computing, look, limit) for limit in (-1, 0, 7)] == [None, study.JUDGED, 7]
    assert study.replies(asking, look, 7) == 4
