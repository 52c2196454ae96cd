"""Runs side by side: made from two pages whose judges are known to differ."""

from __future__ import annotations

import json

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from perslib.cli import main
from perslib.corpus import TURN, load
from perslib.errors import DataError, NotEnough, UnknownName
from perslib.report import compare_runs, run_report
from perslib.stats import agreement
from perslib.studies import compare as study

PARAMETERS = 'corpus = ""\nbackbone = ""\nlanguage = "en"\nskill = 0.5\nskip = 0\njudges = ""\nseed = 42\nout = ""'
#: A judge that knows the truth, as far as its skill goes; it leaves out the first replies that it is told to skip.
JUDGING = """
import numpy as np
from perslib import report
from perslib.corpus import load
from perslib.judge import Computed, JudgeInputs, evaluate
from perslib.stats import floats

data = load(corpus)
given = data.turns.set_index(["user", "scenario", "session", "turn"])["score"]

class Knows(Computed):
    name = "knows"
    inputs = JudgeInputs(reply=True)

    def scores(self, block):
        draw = np.random.default_rng(len(block.evidence))
        key = (block.user, block.scenario)
        return [skill * floats([given[(*key, t.session, t.turn)]])[0] + (1 - skill) * draw.uniform(1, 5) for t in block]

report.begin(out, language)
verdicts = evaluate(Knows(), data).iloc[skip:]
verdicts = verdicts.assign(real=verdicts["expected"].fillna(verdicts["raw"]))
report.save_verdicts(verdicts, "judges")
"""


def study_in(folder, name="knows"):
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), new_code_cell(JUDGING)]
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    return folder / f"{name}.ipynb"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A good run and a bad one; the bad one lacks the first ten replies."""
    folder = tmp_path_factory.mktemp("runs")
    own = study_in(folder)
    run_report(own, out=folder / "good", skill=0.9)
    run_report(own, out=folder / "bad", skill=0.1, skip=10)
    return [folder / name / "sample-en" / "none" / "knows" for name in ("good", "bad")]


@pytest.mark.kernel
def test_settings_that_differ_and_no_others(runs):
    opened = study.open_runs(runs)
    table = study.list_settings(opened).set_index("setting")
    assert set(table.index) == {"parameters.skill", "parameters.skip"}
    assert table.loc["parameters.skill"].tolist() == ["0.9", "0.1"]
    assert list(opened.pages) == [run.parents[2].name for run in runs], (
        "what differs of the folders, and no path of the machine"
    )


@pytest.mark.kernel
def test_differences_are_paired_on_the_same_replies(runs):
    opened = study.open_runs(runs)
    pairs = study.pair_systems(opened.select_rated_replies())
    table = study.compare_agreement(pairs, opened.corpus).set_index("metric")
    (pair,) = pairs
    assert (table["turns"] == len(pair) / 2).all() and len(pair) / 2 == opened.verdicts["system"].value_counts().min()
    for metric in ("pearson", "mae"):
        for end, name in (("a", pair["a"].iloc[0]), ("b", pair["b"].iloc[0])):
            own = pair[pair["system"] == name]
            alone = agreement(own, opened.corpus, scores=["compared"], metrics=[metric])["value"].iloc[0]
            assert table.loc[metric, f"value_{end}"] == pytest.approx(alone)
        row = table.loc[metric]
        assert row["difference"] == pytest.approx(row["value_a"] - row["value_b"])
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert table.loc["pearson", "difference_low"] > 0 > table.loc["mae", "difference_high"]
    assert (table["difference_p_holm"].dropna() >= table["difference_p"].dropna()).all()
    assert "Pearson r (knows" in study.describe_differences(table.reset_index())


@pytest.mark.kernel
def test_a_run_beside_itself_does_not_differ(runs, tmp_path):
    other = study_in(tmp_path)
    run_report(other, out=tmp_path / "again", skill=0.9)
    opened = study.open_runs([runs[0], tmp_path / "again" / "sample-en" / "none" / "knows"])
    pairs = study.pair_systems(opened.select_rated_replies())
    table = study.compare_agreement(pairs, opened.corpus)
    assert (
        table["difference"].eq(0).all()
        and table["difference_p_holm"].dropna().eq(1).all()
        and table["difference_p_holm"].notna().any()
    )
    assert study.find_different_scores(pairs, opened.corpus).empty
    assert "**none**" in study.describe_differences(table)


@pytest.mark.kernel
def test_replies_that_differ_most(runs):
    opened = study.open_runs(runs)
    apart = study.find_different_scores(study.pair_systems(opened.select_rated_replies()), opened.corpus)
    assert apart["gap"].is_monotonic_decreasing and len(apart) == 8
    wide = opened.select_rated_replies().pivot(index=TURN, columns="run", values="compared").dropna()
    assert apart["gap"].iloc[0] == pytest.approx(np.ptp(wide.to_numpy(float), axis=1).max())
    gold = apart.merge(opened.corpus.turns[[*TURN, "score"]], on=TURN)
    assert (gold["gold"] == gold["score"]).all()
    sides = study.list_sides(apart.iloc[0].to_dict())
    assert sides["score"].tolist() == apart.loc[0, ["score_a", "score_b"]].tolist()


@pytest.mark.kernel
def test_judges_of_one_run_are_compared_with_each_other(runs):
    opened = study.open_runs(runs[:1])
    assert study.pair_systems(opened.select_rated_replies()) == []
    second = opened.verdicts.assign(judge="other", system="other", real=3.0)
    verdicts = pd.concat([opened.select_rated_replies(), second.assign(compared=3.0)])
    (pair,) = study.pair_systems(verdicts)
    table = study.compare_agreement([pair], opened.corpus)
    assert table["a"].eq("knows").all() and table["b"].eq("other").all() and table["judge"].eq("").all()


@pytest.mark.kernel
def test_the_page(runs, monkeypatch, capsys):
    page = compare_runs(runs)
    assert page == runs[0].parents[2] / "sample-en" / "none" / "compare.html"
    entry = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert entry["status"] == "success" and {"compared", "apart", "compared_settings"} <= set(entry["tables"])
    saved = pd.read_csv(page.parent / "figures" / "compared.csv")
    assert saved.loc[saved["metric"] == "pearson", "difference_low"].iloc[0] > 0
    assert "Beyond chance" in entry["answer"][0]


@pytest.mark.kernel
def test_a_report_with_several_judges_named_ends_with_it(tmp_path):
    index = run_report(study_in(tmp_path), out=tmp_path / "pages", judges="a, b")
    page = tmp_path / "pages" / "sample-en" / "none" / "compare.html"
    assert page.is_file() and "compare.html" in index.read_text("utf-8")


@pytest.mark.kernel
def test_what_cannot_be_compared(runs, tmp_path, home, capsys):
    with pytest.raises(UnknownName, match="no run called 'nowhere/at/all'"):
        study.open_runs(["nowhere/at/all"])
    with pytest.raises(DataError, match="No run is named"):
        study.open_runs([])
    own = study_in(tmp_path)
    run_report(own, corpus="sample/zh", out=tmp_path / "zh")
    with pytest.raises(DataError, match="different corpora: sample/"):
        study.open_runs([runs[0], tmp_path / "zh" / "sample-zh" / "none" / "knows"])
    with pytest.raises(NotEnough, match="has a score of the kind cdf"):
        study.open_runs(runs).select_rated_replies("cdf")
    with pytest.raises(SystemExit):
        main(["compare", "nowhere"])
    assert "perslib: There is no run called 'nowhere'" in capsys.readouterr().err


@pytest.mark.kernel
def test_replays_are_compared_by_a_judge_that_all_have(runs):
    opened = study.open_runs(runs)
    frame = opened.verdicts.assign(table="replayed", candidate=opened.verdicts["run"], judge="frozen", backbone=None)
    own = frame.assign(judge="of one", table="replayed")[frame["run"] == opened.verdicts["run"].iloc[0]]
    both = study.Runs(opened.pages, opened.corpus, pd.concat([frame, own], ignore_index=True))
    kept = both.select_candidate_replies()
    assert set(kept["judge"]) == {"frozen"} and kept["candidate"].nunique() == 2
    assert load("sample/en").digest == opened.corpus.digest
