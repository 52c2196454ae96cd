"""Verdicts that came with the data are a judge like any other."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pages import run_cells

from perslib.corpus import TURN, load, save
from perslib.errors import DataError, UnknownName
from perslib.judge import Recorded, evaluate, list_recorded
from perslib.stats import agreement


@pytest.fixture
def corpus():
    """The sample with a recorded judge that is near people's scores, and silent on each seventh reply."""
    sample = load("sample/en")
    draw = np.random.default_rng(0)
    near = (sample.turns["score"].astype(float) + draw.normal(0, 0.8, len(sample.turns))).clip(1, 5).round(1)
    turns = sample.turns.assign(gpt=near.mask(np.arange(len(near)) % 7 == 0), side="a")
    return type(sample)(
        sample.name,
        sample.language,
        sample.users,
        sample.sessions,
        turns,
        meta={**sample.meta, "recorded": {"side": "pairs"}},
    )


def test_its_verdicts_are_those_of_the_column(corpus):
    (judge,) = list_recorded(corpus, "gpt=GPT")
    verdicts = evaluate(judge, corpus)
    both = verdicts.merge(corpus.turns[[*TURN, "gpt"]], on=TURN)
    silent = both["gpt"].isna()
    assert (both["judge"] == "GPT").all() and both.loc[silent, "raw"].isna().all() and silent.any()
    assert both.loc[~silent, "raw"].tolist() == both.loc[~silent, "gpt"].tolist()
    assert both.loc[silent, "error"].eq("no score: no verdict is recorded").all()
    assert agreement(verdicts, corpus, metrics=["pearson"])["value"].item() > 0.6


def test_a_scale_that_is_not_peoples_is_refused_with_the_first_place(corpus):
    off = corpus.turns.assign(gpt=corpus.turns["gpt"] * 20)
    wide = type(corpus)(corpus.name, corpus.language, corpus.users, corpus.sessions, off)
    with pytest.raises(DataError, match=r"u\d+ / .* gpt is \d+.*expected 1–5"):
        Recorded(wide, "gpt", "GPT")
    with pytest.raises(UnknownName, match="column of recorded verdicts"):
        list_recorded(corpus, "gtp=GPT")


def test_verdicts_on_pairs_are_no_scores(corpus):
    assert list_recorded(corpus) == []


def test_page_01_compares_it_with_the_controls(corpus, tmp_path, capsys):
    save(corpus, tmp_path / "c")
    run_cells("01_verification", corpus=str(tmp_path / "c"), recorded="gpt=GPT", out=str(tmp_path / "out"))
    table = pd.read_csv(tmp_path / "out/tables/gains.csv")
    assert "GPT" in set(table["judge"])
    assert pd.read_csv(tmp_path / "out/tables/reading.csv").loc[0, "rest_low"] > 0.1, (
        "it knows the labels but for noise"
    )
    shown = capsys.readouterr().out.splitlines()
    assert "GPT" in next(line for line in shown if line.startswith("On "))
    assert any("GPT reads what the learned judge misses" in line for line in shown)


def test_another_reply_has_no_recorded_verdict(corpus):
    (judge,) = list_recorded(corpus, "gpt=GPT")
    block = next(iter(corpus.blocks("test")))
    edited = replace(block, targets=block.targets.assign(response="Something else."))
    verdicts = asyncio.run(judge.judge(edited, None))
    assert [verdict.raw for verdict in verdicts] == [None] * len(block)


def test_page_03_reads_reasons_and_rationales_beside_the_scores(corpus, tmp_path):
    satisfied = corpus.turns["gpt"] >= 3.5
    words = {
        "gpt_reason": corpus.turns["reason"].mask(satisfied),
        "gpt_rationale": "The reply " + corpus.turns["response"].str[:60],
    }
    data = replace(corpus, turns=corpus.turns.assign(**words))
    save(data, tmp_path / "c")
    run_cells("03_rationales", corpus=str(tmp_path / "c"), recorded="gpt=GPT", out=str(tmp_path / "out"))
    table = pd.read_csv(tmp_path / "out/tables/reason_agreement.csv")
    own = table[table["judge"] == "GPT"]
    assert own["reason_accuracy"].max() == 1
    edits = pd.read_csv(tmp_path / "out/tables/edited_replies.csv")
    assert "GPT" not in set(edits["judge"])
