"""Faithful citations: scores move without the turns that are cited, more than without others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from made import shortened

from perslib.corpus import Corpus, load
from perslib.judge import Judge, JudgeInputs, LearnedJudge, Nearest, Verdict, select_blocks
from perslib.judge.evaluate import fit_judge
from perslib.memory import turn_id
from perslib.studies.faithfulness import (
    compare_deletions,
    compare_edits,
    compare_to_planted,
    delete_cited_turns,
    edit_named_traits,
)
from perslib.worlds import world


class Last(Judge):
    """Scores as the user scored the last rated turn, and cites that one, or another one."""

    inputs = JudgeInputs(history=True)

    def __init__(self, honest: bool):
        self.name, self.place = ("honest", -1) if honest else ("dishonest", 0)

    async def judge(self, block, ask):
        rated = block.evidence[block.evidence["score"].notna()]
        row = rated.iloc[self.place]
        cited = turn_id(row["scenario"], row["session"], int(row["turn"]))
        return [Verdict(raw=float(rated["score"].iloc[-1]), evidence=(cited, "M1", "nowhere/0/0"))] * len(block)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rows = [
        (f"u{user:02}", scenario, "0", f"wish {turn}", f"reply {turn}", 1 + (user + turn) % 5)
        for user in range(24)
        for scenario in ("gift", "travel")
        for turn in range(4)
    ]
    return corpus_of(rows)


def test_who_cites_what_it_rests_on_is_told_from_who_does_not(corpus):
    found = {}
    for honest in (True, False):
        moved = delete_cited_turns(Last(honest), corpus)
        assert (moved["cited"] == 1).all() and len(moved)
        found[honest] = compare_deletions(moved).iloc[0]
    assert found[True]["cited"] > 0.9 and found[True]["others"] == 0 and found[True]["more_low"] > 0
    assert found[True]["share"] == 1.0
    assert found[False]["cited"] == 0 and found[False]["more"] < 0 and found[False]["share"] < 0.5


def test_a_judge_that_cites_nothing_is_no_row(corpus):
    class Silent(Last):
        async def judge(self, block, ask):
            return [Verdict(raw=3.0)] * len(block)

    assert compare_deletions(delete_cited_turns(Silent(True), corpus)).empty


class Measuring(Judge):
    """Scores some replies by their length and some not; says of the first that it does, or of the others."""

    def __init__(self, honest: bool):
        self.name = "honest" if honest else "dishonest"

    async def judge(self, block, ask):
        found = []
        for reply in block.targets["response"]:
            counts = "2" in reply or "3" in reply
            score = min(5.0, 1 + len(reply) / 10) if counts else 3.0
            found.append(Verdict(raw=score, rationale="its length" if counts == (self.name == "honest") else "fine"))
        return found


def test_who_names_what_moves_the_score_is_told_from_who_does_not(corpus):
    more = [" and more of it" * (1 + int(user[1:]) % 2) for user in corpus.turns["user"]]
    long = replace(corpus, turns=corpus.turns.assign(response="2 " + corpus.turns["response"] + more))
    short = corpus.turns["turn"] % 2 == 0
    long.turns.loc[short, "response"] = long.turns.loc[short, "response"].str.replace(r"[23]", "1", regex=True)
    found = {judge: edit_named_traits(Measuring(judge), long) for judge in (True, False)}
    for judge, frame in found.items():
        assert {*frame["edit"]} == {"second half cut off", "numbers taken out"}, "no structure, nothing to strip"
        row = compare_edits(frame).set_index("edit").loc["second half cut off"]
        assert row["replies"] == 2 * row["named"] > 100
        assert sorted((row["moved_named"], row["moved_others"])) == pytest.approx([0, 1.5], abs=0.5)
        assert (row["more_low"] > 0) if judge else (row["more_high"] < 0)


def test_without_rationales_nothing_is_edited(corpus):
    assert compare_edits(edit_named_traits(Last(True), corpus)).empty


@pytest.mark.sample
def test_what_is_planted_is_found_by_a_judge_that_knows_the_user_and_by_no_other():
    known = world(24, 5, "en")
    judge = LearnedJudge()
    fit_judge(judge, known, select_blocks(known))
    found = compare_to_planted(judge, known).set_index("planted")
    assert found.loc["strictness", "rho"] > 0.6 and found.loc["strictness", "rho_low"] > 0
    rng = np.random.default_rng(3)
    turns = known.turns.assign(score=pd.array(rng.permutation(known.turns["score"]), "Int64"))
    dealt = replace(known, turns=turns)
    assert compare_to_planted(judge, dealt).set_index("planted").loc["strictness", "rho"] < 0.5
    assert compare_to_planted(judge, replace(known, extras={})).empty


@pytest.mark.sample
def test_judges_of_the_library_rest_on_what_they_cite():
    sample = shortened(load("sample/en"), sessions=1)
    for judge in (LearnedJudge(), Nearest()):
        row = compare_deletions(delete_cited_turns(judge, sample, limit=60)).iloc[0]
        assert row["replies"] > 40 and row["more_low"] > 0 and row["share"] > 0.6
