"""Audits of place and length: judges whose bias is known are found out, fair ones are not accused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scripted import Scripted

from perslib.corpus import Block, Corpus, load
from perslib.errors import DataError, PerslibError
from perslib.judge import Computed, Constant, evaluate, select_blocks
from perslib.llm import Answer, Request
from perslib.systems.uxbench.bench import PairJudge, pad_reply, padding_audit, pairs_of, position_audit
from perslib.systems.uxbench.statistics import length_audit


class ByLength(Computed):
    """The longer the better."""

    name = "by length"

    def scores(self, block: Block) -> pd.Series:
        return block.targets["response"].str.len().rank(pct=True) * 4 + 1


class ByCharacters(Computed):
    """The longer the better, whatever stands beside."""

    name = "by characters"

    def scores(self, block: Block) -> pd.Series:
        return (1 + block.targets["response"].str.len() / 1000).clip(upper=5)


class ByPlace(Computed):
    """What comes first is better."""

    name = "by place"

    def scores(self, block: Block) -> Sequence[float]:
        return [5.0 - min(4, i) for i in range(len(block))]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load("sample/en")


@pytest.fixture(scope="module")
def blocks(corpus: Corpus) -> list[Block]:
    return list(select_blocks(corpus, limit=150))


@pytest.fixture(scope="module")
def pairs(corpus: Corpus) -> pd.DataFrame:
    return pairs_of(corpus.extras["candidates"].head(600), 40)


def test_pairs_are_of_the_same_turn_and_drawn_by_the_seed(corpus, pairs):
    assert len(pairs) == 40 and (pairs["a"] != pairs["b"]).all() and (pairs["reply_a"] != pairs["reply_b"]).all()
    assert pairs.equals(pairs_of(corpus.extras["candidates"].head(600), 40))
    assert not pairs.equals(pairs_of(corpus.extras["candidates"].head(600), 40, seed=1))


def test_a_judge_of_places_and_a_fair_one(corpus, pairs):
    pairs = pairs.head(12)
    place = position_audit(ByPlace(), pairs, corpus, progress=False).iloc[0]
    assert (place["consistent"], place["first_twice"], place["position_bias"]) == (0, 1, 1)
    assert place["position_bias_p"] < 0.001 and place["units"] <= 12
    fair = position_audit(ByCharacters(), pairs, corpus, progress=False).iloc[0]
    assert fair["consistent"] == 1 and fair["position_bias"] == 0 and fair["position_bias_p"] == 1
    ties = position_audit(Constant(4), pairs, corpus, progress=False).iloc[0]
    assert ties["consistent"] == 1 and pd.isna(ties["first_share"])


def test_a_judge_of_pairs_is_shown_both_orders(corpus, pairs):
    def first_where_long(request: Request) -> Answer:
        said = request.messages[-1]["content"]
        one, other = said.index("Reply 1"), said.index("Reply 2")
        return Answer(data={"better": "1"}) if (other - one) > 200 else Answer(text="hm", error="no JSON")

    model = Scripted(reply=first_where_long)
    row = position_audit(PairJudge(), pairs.head(6), corpus, model, progress=False).iloc[0]
    assert row["pairs"] + row["left_out"] == 6 and row["first_twice"] == 1
    assert len(model.asked) == 12
    with pytest.raises(PerslibError, match="asks a model"):
        position_audit(PairJudge(), pairs, corpus)


def test_pairs_that_the_corpus_does_not_have(corpus, pairs):
    with pytest.raises(DataError, match="no column reply_b"):
        position_audit(Constant(4), pairs.drop(columns="reply_b"), corpus)
    with pytest.raises(DataError, match="has no turn"):
        position_audit(Constant(4), pairs.assign(turn=999).head(1), corpus, progress=False)


def test_length_is_seen_at_equal_gold(corpus, blocks):
    long = length_audit(evaluate(ByCharacters(), corpus, blocks=blocks), corpus).iloc[0]
    assert long["at_equal_gold"] > 0.7 and long["at_equal_gold_low"] > 0.5 and long["excess_low"] > 0.5
    none = length_audit(evaluate(Constant(4), corpus, blocks=blocks), corpus).iloc[0]
    assert none["of_score"] == none["at_equal_gold"] == 0
    own = evaluate(Constant(4), corpus, blocks=blocks)
    gold = own.merge(corpus.turns[["user", "scenario", "session", "turn", "score"]]).assign(
        raw=lambda f: f["score"].astype("Float64")
    )
    honest = length_audit(gold.drop(columns="score"), corpus).iloc[0]
    assert abs(honest["excess"]) < 1e-9 and abs(honest["at_equal_gold"]) < 1e-6


def test_length_where_nobody_rated_and_where_nobody_scored(corpus, blocks):
    found = evaluate(ByCharacters(), corpus, blocks=blocks)
    bare = Corpus("bare", "en", corpus.users, corpus.sessions, corpus.turns.assign(score=None))
    row = length_audit(found, bare).iloc[0]
    assert (row["turns"], row["users"], row["unscored"]) == (0, 0, 0)
    assert row[["of_score", "of_gold", "excess"]].isna().all() and row.filter(like="at_equal_gold").isna().all()
    mute = length_audit(found.assign(raw=pd.NA), corpus).iloc[0]
    assert (mute["turns"], mute["unscored"]) == (0, len(found)) and np.isnan(mute["of_score"])

    keys = ["user", "scenario", "session", "turn"]
    turns = corpus.turns.merge(found[keys].head(30), on=keys, how="left", indicator="judged")
    some = turns.assign(score=turns["score"].mask(turns["judged"].eq("both"))).drop(columns="judged")
    half = length_audit(found, Corpus("half", "en", corpus.users, corpus.sessions, some)).iloc[0]
    assert (half["turns"], half["unscored"]) == (len(found) - 30, 0), "unrated turns are not unscored"
    assert list(half.index) == list(row.index)


def test_padding_raises_only_the_score_of_who_counts_characters(corpus):
    up = padding_audit(ByCharacters(), corpus, limit=100, progress=False).iloc[0]
    assert up["padding_change"] > 0.5 and up["padding_change_low"] > 0 and up["raised"] > 0.8 and up["lowered"] == 0
    same = padding_audit(Constant(4), corpus, limit=100, progress=False).iloc[0]
    assert same["padding_change"] == 0 and same["raised"] == 0 and same["turns"] == 100


def test_padding_says_nothing_and_is_about_as_long():
    assert pad_reply("x" * 1000, "en").startswith("x" * 1000) and 1700 < len(pad_reply("x" * 1000, "en")) < 2400
    assert "总而言之" in pad_reply("好", "zh")
