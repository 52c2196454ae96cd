"""Borrowed memories: the evidence of whom is said, nothing of what is judged is seen, and what is a person's is found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of
from made import shortened

from perslib.corpus import Corpus, load
from perslib.errors import NotEnough, UnknownName
from perslib.judge import Computed, JudgeInputs, LearnedJudge, UserMean, lend_history
from perslib.llm import run_with_answers
from perslib.memory import make_memory
from perslib.memory.borrowed import Lender
from perslib.studies.whose_memory import (
    ALL,
    LEAST,
    NEAREST,
    NOTHING,
    OTHERS,
    STATEMENTS,
    compare_owners,
    compare_sizes,
    describe_ladder,
    find_smallest,
    judge_with_memories_of,
    judge_without_model,
    trace_ladder,
)

LEVELS = {"ada": (5, 5, 4), "bo": (5, 4, 4), "cy": (1, 2, 2), "di": (3, 3, 4)}


@pytest.fixture(scope="module")
def four() -> Corpus:
    """Four users with levels of their own; in gifts, which are judged, everybody scores the other way round."""
    rows = []
    for user, scores in LEVELS.items():
        for scenario in ("travel", "recipe"):
            rows += [(user, scenario, "0", f"{user} asks {i}", f"a {scenario} reply", s) for i, s in enumerate(scores)]
        rows += [(user, "gift", "0", "a wish", "a present", 6 - s) for s in scores]
    return corpus_of(rows)


def askers(corpus: Corpus, whose: str, user: str = "ada") -> set[str]:
    """Whose requests are in the evidence that is lent."""
    lent = Lender(corpus, whose).lend(corpus.block(user, "gift"))
    assert set(lent.evidence["scenario"]) <= {"travel", "recipe"} and set(lent.evidence["user"]) <= {user}
    return set(lent.evidence["request"].str.split().str[0])


def test_each_way_lends_the_history_of_whom_it_says(four):
    assert askers(four, "nearest") == {"bo"} and askers(four, "farthest") == {"cy"}
    assert askers(four, "nearest", "cy") == {"di"} and len(askers(four, "random")) == 1
    assert askers(four, "random") <= {"bo", "cy", "di"}
    assert askers(four, "nothing") == set() and askers(four, "level") == {"ada"}
    lent = Lender(four, "pooled").lend(four.block("ada", "gift"))
    assert "ada" not in set(lent.evidence["request"].str.split().str[0])
    assert len(lent.evidence) == 6 and lent.sessions[["scenario", "session"]].duplicated().sum() == 0


def test_level_keeps_scores_and_replies_and_parts_them(four):
    block = four.block("cy", "gift")
    lent = Lender(four, "level", seed=3).lend(block)
    assert sorted(lent.evidence["score"]) == sorted(block.evidence["score"])
    assert lent.evidence["response"].tolist() == block.evidence["response"].tolist()
    assert lent.evidence["score"].tolist() != block.evidence["score"].tolist()
    low = lent.evidence["score"] <= 3
    assert lent.evidence["reason"].notna().tolist() == low.tolist(), "a reason goes with its score"


@pytest.mark.parametrize("whose", OTHERS)
def test_what_is_judged_decides_nothing(four, whose):
    """Neither the user's own labels of the judged scenario nor those of others there change what is lent."""
    gifts = four.turns["scenario"] == "gift"
    other = replace(four, turns=four.turns.assign(score=four.turns["score"].where(~gifts, 3)))
    for user in LEVELS:
        one, two = (Lender(corpus, whose).lend(corpus.block(user, "gift")) for corpus in (four, other))
        pd.testing.assert_frame_equal(one.evidence, two.evidence)
        pd.testing.assert_frame_equal(one.sessions, two.sessions)
        assert list(one.targets["response"]) == ["a present"] * 3


def test_the_same_seed_lends_the_same(four):
    for whose in OTHERS:
        one, two = (Lender(four, whose, seed=7).lend(four.block("di", "gift")).evidence for _ in range(2))
        pd.testing.assert_frame_equal(one, two)


def test_somebody_else_is_needed_and_names_are_checked(four):
    with pytest.raises(NotEnough, match="Nobody but ada"):
        Lender(four.of_users(["ada"]), "nearest").lend(four.block("ada", "gift"))
    with pytest.raises(UnknownName, match="nearest"):
        Lender(four, "neerest")


def test_any_memory_and_any_judge_borrows(four):
    block = four.block("ada", "gift")
    memory = lend_history(make_memory("scores"), four, "farthest")
    assert memory.name == "scores, farthest"
    built = run_with_answers(partial(memory.build, block))
    assert built.user == "ada" and built.counts == (2, 4, 0, 0, 0)
    judge = lend_history(UserMean(), four, "nearest")
    assert judge.name == "user mean, nearest" and judge.inputs == UserMean().inputs
    assert run_with_answers(partial(judge.judge, block))[0].raw == pytest.approx(13 / 3)


def test_device_logs_before_the_judged_sessions_stay():
    sample = shortened(load("sample/en"), sessions=1)
    block = sample.block("u003", "travel")
    lent = Lender(sample, "nearest").lend(block)
    here = [events[events["scenario"] == "travel"].reset_index(drop=True) for events in (block.events, lent.events)]
    pd.testing.assert_frame_equal(*here)
    assert set(lent.events["user"]) == {"u003"} and (lent.events["scenario"] != "travel").any()


@pytest.mark.sample
def test_the_learned_judge_with_memories_of_others():
    sample = shortened(load("sample/en"), sessions=1)
    verdicts = judge_with_memories_of(LearnedJudge(), sample, whose=["nearest", "nothing"])
    assert verdicts.groupby("judge").size().nunique() == 1
    table = compare_owners(verdicts, sample).set_index(["whose", "metric"])
    assert list(dict.fromkeys(table.index.get_level_values("whose"))) == ["own", "nearest", "nothing"]
    less = table.loc["own", "value"] - table.loc["nearest", "value"]
    assert table.loc["nearest", "less"].to_numpy() == pytest.approx(less.to_numpy())
    assert table.loc["own", "less"].isna().all() and (table["less_low"].dropna() < table["less"].dropna()).all()


class Slope(Computed):
    """Everybody's mean, and how this user's scores go with the number of stars in a reply."""

    name, inputs = "slope", JudgeInputs(reply=True, history=True)

    def scores(self, block):
        stars, scores = block.evidence["response"].str.len().to_numpy(float), block.evidence["score"].to_numpy(float)
        slope = (stars - 5) @ (scores - scores.mean()) / ((stars - 5) @ (stars - 5) + 10)
        return [scores.mean() + slope * (len(target.response) - 5) for target in block]


def people(seed: int, differ: bool) -> Corpus:
    """Users who like stars, or dislike them, each as much as they do; or who are all alike."""
    rng, rows = np.random.default_rng(seed), []
    for user in range(12):
        taste = rng.choice([-0.5, 0.5]) * rng.uniform(0.5, 1.5) if differ else 0.3
        for scenario in ("travel", "gift"):
            for turn in range(16):
                stars = int(rng.integers(1, 10))
                score = int(np.clip(np.rint(3 + taste * (stars - 5) + rng.normal(0, 0.7)), 1, 5))
                rows.append((f"u{user:02}", scenario, "0", f"wish {turn}", "*" * stars, score))
    return corpus_of(rows)


@pytest.mark.simulation
def test_what_is_a_persons_own_is_found_and_nothing_where_all_are_alike():
    found = {}
    for differ in (True, False):
        signs = []
        for seed in range(3):
            corpus = people(seed, differ)
            corpus = replace(corpus, meta={"splits": {"train": [], "test": sorted(corpus.users["user"])}})
            verdicts = judge_with_memories_of(Slope(), corpus, whose=["nearest"])
            row = compare_owners(verdicts, corpus, ["wb_pearson"]).set_index("whose").loc["nearest"]
            signs.append(int(row["less_low"] > 0) - int(row["less_high"] < 0))
        found[differ] = signs
    assert found[True].count(1) == 3, "where people differ, their own memory beats the nearest other's"
    assert np.count_nonzero(found[False]) <= 1, "where all are alike, 5 % by chance"


@pytest.mark.sample
def test_memories_without_a_model_are_measured_by_size_and_by_owner():
    sample = shortened(load("sample/en"), sessions=1)
    judged = judge_without_model(sample, limit=60)
    sizes, owners = compare_sizes(judged, sample), compare_owners(judged.owners, sample)
    r = sizes[sizes["metric"] == "pearson"].set_index("memory")
    assert list(r.index) == [NOTHING, *STATEMENTS, NEAREST, ALL]
    read = r.loc[[NOTHING, *STATEMENTS, ALL], "characters"]
    assert read.is_monotonic_increasing and read[NOTHING] == 0 and read[ALL] > 10_000
    assert r.loc["5 statements", "value"] > r.loc[NOTHING, "value"]
    ladder = trace_ladder(judged, sample).query("metric == 'pearson'").set_index("step")
    assert ladder["value"].tolist() == r.loc[[NOTHING, "level", ALL], "value"].tolist()
    assert ladder["added"].sum() == pytest.approx(r.loc[ALL, "value"] - r.loc[NOTHING, "value"])
    wording, _ = describe_ladder(ladder.reset_index().assign(metric="pearson"))
    assert wording.startswith("**What this user likes adds") == (ladder.loc["tastes", "added_low"] > LEAST)
    small = {"added": 0.001, "added_low": 0.0005, "added_high": 0.0015, "added_p": 0.001}
    tiny = ladder.reset_index().assign(metric="pearson")
    tiny.loc[tiny["step"] == "tastes", list(small)] = list(small.values())
    assert "adds nothing" in describe_ladder(tiny)[0], "however sure, so little does not matter"
    few = find_smallest(sizes)
    assert few["reached"] >= few["all"] - 0.1 * (r.loc[ALL, "value"] - r.loc[NOTHING, "value"])
    dealt_out = owners[(owners["whose"] == "level") & (owners["metric"] == "pearson")]["value"].item()
    assert r.loc["level", "value"] != dealt_out, "the level alone is not the own scores dealt out anew"
    same = owners[owners["whose"] == "nothing"].merge(sizes[sizes["memory"] == NOTHING], on="metric")
    assert same["value_x"].tolist() == same["value_y"].tolist()
