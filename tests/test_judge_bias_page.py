"""The page on judge bias: its tables, its sentences in both languages, and an audit with judges whose bias is known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from perslib.corpus import Block, load
from perslib.judge import Computed, Constant, Manner, Personal
from perslib.report import begin
from perslib.studies import judge_bias as study
from perslib.studies import judge_bias_figures as figures
from perslib.studies import judge_bias_shown as shown
from perslib.studies.extent import Extent
from perslib.text import using_language


class Long(Computed):
    """The longer the better."""

    name = "long"

    def scores(self, block: Block) -> pd.Series:
        return (1 + block.targets["response"].str.len() / 600).clip(upper=5)


@pytest.fixture(scope="module")
def audit() -> study.Audit:
    return study.audit([Long(), Constant(4)], load("sample/en"), pairs=6, limit=240)


@pytest.fixture(autouse=True)
def page():
    begin(language="zh")
    yield
    plt.close("all")


def test_published_tables_in_sentences():
    judged, gaps = study.sensitivity(), study.gaps()
    assert "57.9" in shown.mildness(judged)
    assert "多给自家模型好评的评判者：**GPT-5.2**" in shown.own_family(gaps)
    assert (study.strengths()[1]["p"] < 0.001).all()
    with using_language("en"):
        assert "57.9" in shown.mildness(judged)
        assert "−.958" in shown.sensitivity(judged) and "9 of 26" in shown.sensitivity(judged)
        assert "13 of 15" in shown.pairs(study.pairs())
        assert "20 in UX Recovery" in shown.ranks(study.ranks())


def test_published_tables_as_tables():
    assert shown.sensitivity_table(study.sensitivity()).iloc[0]["wilson"] == "77.2 [75.3, 79.0]"
    gaps = shown.gaps_table(study.gaps())
    assert (
        gaps["adjusted_gap"].tolist()[0] == "18.5 [13.6, 23.5]" and gaps["adjusted_gap"].tolist()[-1] == "7.9"
    )
    assert shown.strengths_table(study.strengths()[0])["odds"].round(1).tolist() == [6.8, 3.2, 0.6]
    between = study.between_tasks().set_index(["ranking", "with"])
    assert between.loc[("UXBench", "AlpacaEval"), "pearson_r"] == ".655"
    assert study.escapes()["quantity"].nunique() == 3 and study.sizes()["rho_50"].tolist()[2] == 2181


def test_every_figure_is_drawn(audit):
    judged = study.sensitivity()
    drawn = [
        figures.mildness(judged),
        figures.sensitivity(judged),
        figures.ranks(study.ranks()),
        figures.own_family(study.residuals()),
        figures.gaps(study.gaps()),
        figures.pairs(study.pairs()),
        figures.quality(audit.quality),
        figures.lengths(audit.length, audit.padding),
        figures.lengths(pd.DataFrame(), audit.padding),
    ]
    assert all(fig.axes for fig in drawn)


def test_families_are_told_apart_without_colour():
    judged = study.sensitivity()
    points = [
        line for line in figures.sensitivity(judged).axes[0].lines if line.get_marker() not in ("None", "")
    ]
    looks = {line.get_label(): line.get_marker() for line in points}
    assert len(looks) == judged["family"].nunique() == len(set(looks.values())) >= 10


def test_an_audit_names_who_goes_by_length(audit):
    assert set(audit.quality["judge"]) == {"long", Constant(4).name, *study.BESIDE}
    with using_language("en"):
        note = shown.audited(audit)
    assert note.startswith("At equal gold labels, longer replies get higher scores from: **long**.")
    assert "raise the score given by: **long**" in note and "affects: **none**" in note
    assert "d′" not in shown.beaten(audit.quality) and "基线" in shown.beaten(audit.quality)
    constant = audit.quality[audit.quality["judge"] == Constant(4).name].set_index("metric")["value"]
    assert constant["balanced"] == 0.5 and constant["d_prime"] == pytest.approx(0, abs=1e-9)
    assert audit.padding["users"].min() > 8 and audit.padding["low"].notna().all()
    assert shown.positions_table(audit.position)["consistent"].tolist() == ["100%", "100%"]
    assert (
        shown.quality_table(audit.quality).shape == (6, 8)
        and len(shown.lengths_table(audit.length, audit.padding)) == 2
    )


def test_a_limit_of_minus_one_is_all_replies():
    look = Extent(4, 1, "full", 600, True)
    computing, asking = [Constant(4)], [Constant(4), Personal(None, Manner("en"))]
    assert [study.replies(computing, look, limit) for limit in (-1, 0, 7)] == [None, study.JUDGED, 7]
    assert study.replies(asking, look, 7) == 4
