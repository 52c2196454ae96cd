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
from perslib.studies import judge_bias_notes as said
from perslib.studies import judge_bias_tables as tables
from perslib.studies.extent import Extent


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
    assert "57.9" in said.mildness(judged)["en"] and "57.9" in said.mildness(judged)["zh"]
    assert "−.958" in said.sensitivity(judged)["en"] and "9 of 26" in said.sensitivity(judged)["en"]
    assert "**GPT-5.2** +18.5" in said.own_family(gaps)["zh"]
    fitted, tests = study.strengths()
    assert "13 of 15" in said.pairs(study.pairs(), fitted)["en"] and (tests["p"] < 0.001).all()
    assert "20 in UX Recovery" in said.ranks(study.ranks())["en"]


def test_published_tables_as_tables():
    assert tables.sensitivity(study.sensitivity()).iloc[0]["wilson"] == "77.2 [75.3, 79.0]"
    gaps = tables.gaps(study.gaps())
    assert (
        gaps["adjusted_gap"].tolist()[0] == "18.5 [13.6, 23.5]" and gaps["adjusted_gap"].tolist()[-1] == "7.9"
    )
    assert tables.strengths(study.strengths()[0])["odds"].round(1).tolist() == [6.8, 3.2, 0.6]
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


def test_an_audit_names_who_goes_by_length(audit):
    assert set(audit.quality["judge"]) == {"long", Constant(4).name, *study.BESIDE}
    note = said.audited(audit)
    assert note["en"].startswith("At equal gold, longer replies get higher scores from: **long**.")
    assert "raise the score given by: **long**" in note["en"] and "moves: **none**" in note["en"]
    assert "d′" not in said.beaten(audit.quality)["zh"] and "基线" in said.beaten(audit.quality)["zh"]
    constant = audit.quality[audit.quality["judge"] == Constant(4).name].set_index("metric")["value"]
    assert constant["balanced"] == 0.5 and constant["d_prime"] == pytest.approx(0, abs=1e-9)
    assert audit.padding["users"].min() > 8 and audit.padding["low"].notna().all()
    assert tables.positions(audit.position)["consistent"].tolist() == ["100%", "100%"]
    assert (
        tables.quality(audit.quality).shape == (6, 8)
        and len(tables.lengths(audit.length, audit.padding)) == 2
    )


def test_a_limit_of_minus_one_is_all_replies():
    look = Extent(4, 1, "full", 600, True)
    computing, asking = [Constant(4)], [Constant(4), Personal(None, Manner("en"))]
    assert [study.replies(computing, look, limit) for limit in (-1, 0, 7)] == [None, study.JUDGED, 7]
    assert study.replies(asking, look, 7) == 4
