"""Why candidates differ: parts are those of the judge, and users for whom the order turns round are found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
from made import shortened

from perslib.judge import LearnedJudge, select_blocks
from perslib.judge.evaluate import fit_judge
from perslib.llm import compute
from perslib.replay.replies import blocks_of
from perslib.studies.replay_why import compare_groups, find_turned_round, trace_candidates
from perslib.worlds import world


@pytest.fixture(scope="module")
def replayed():
    corpus = shortened(world(16, 3, "en", candidates=1.0), sessions=1, turns=3)
    judge = LearnedJudge()
    fit_judge(judge, corpus, select_blocks(corpus))
    replies = corpus.extras["candidates"]
    return corpus, judge, replies[replies["user"].isin(corpus.split()["test"])].reset_index(drop=True)


@pytest.mark.sample
def test_parts_are_those_of_the_judge_and_differences_add_up(replayed):
    corpus, judge, replies = replayed
    traced = trace_candidates(judge, corpus, replies)
    first, user = traced["candidate"].iloc[0], traced["user"].iloc[0]
    own = replies[(replies["candidate"] == first) & (replies["user"] == user)]
    parts = []
    for block, rows in blocks_of(corpus, own):
        written = replace(block, targets=block.targets.assign(response=own.loc[rows, "response"].to_numpy()))
        parts.append(compute(partial(judge.explain, written)).parts)
    wanted = pd.concat(parts).groupby(["side", "group"])["points"].sum() / len(own)
    rows = traced[(traced["candidate"] == first) & (traced["user"] == user)].set_index("group")
    for side, column in (("everybody", "everybody"), ("this user", "own")):
        assert rows[column].to_numpy() == pytest.approx(wanted[side].reindex(rows.index).to_numpy(), abs=1e-9)
    table = compare_groups(traced, first)
    assert first not in set(table["candidate"]) and (table.groupby("candidate").size() <= 3).all()
    assert table["points"].to_numpy() == pytest.approx((table["everybody"] + table["own"]).to_numpy(), abs=1e-9)


@pytest.mark.sample
def test_users_for_whom_the_order_turns_round_are_those_with_the_opposite_taste(replayed):
    corpus, judge, replies = replayed
    traced = trace_candidates(judge, corpus, replies)
    first, user = traced["candidate"].iloc[0], traced["user"].iloc[0]
    liked = traced.assign(everybody=(traced["candidate"] == first) * 1.0, own=0.0)
    assert find_turned_round(liked, first, judge, corpus).empty
    liked.loc[(liked["candidate"] == first) & (liked["user"] == user), "own"] = -2.0
    turned = find_turned_round(liked, first, judge, corpus)
    assert set(turned["user"]) == {user} and set(turned["candidate"]) == set(traced["candidate"]) - {first}
    assert (turned["points"] < 0).all() and (turned["own"] < turned["points"]).all() and (turned["users"] == 1).all()
