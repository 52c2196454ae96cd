"""Replies unlike all that people rated, the lead of the first candidate, and what a judge goes by beside quality."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from made import shortened

from perslib.corpus import TURN, load
from perslib.errors import FewTrainUsers
from perslib.judge import Constant, LearnedJudge
from perslib.judge.evaluate import evaluate
from perslib.replay import ORIGINAL, name_differences
from perslib.studies import replay_standings as results
from perslib.studies.shared import describe_judge


@pytest.fixture(scope="module", params=["sample/en", pytest.param("sample/zh", marks=pytest.mark.sample)])
def corpus(request):
    return shortened(load(request.param), sessions=2)


NONSENSE = {
    "letters": "asdkjh qwez xcv k",
    "invented words": "blorf snix quavel",
    "a picture": "👍",
    "one word again and again": "good " * 1000,
    "another language": "Это совершенно другой язык, которого здесь никто не писал.",
    "rare characters": "矗犇淼焱垚鑫森晶磊龘靐",
    "too short": "OK.",
}


def marked(corpus, turns, text_of):
    """What is named of these turns' replies, where each is what `text_of` makes of its row."""
    return marked_each(corpus, turns, {"a": text_of})["a"]


def marked_each(corpus, turns, made):
    """The same of several replies to each turn, looked at in one go: by the name of what made them."""
    rows = turns.to_dict("records")
    replies = [turns[TURN].assign(candidate=name, response=list(map(made[name], rows))) for name in made]
    found = name_differences(corpus, pd.concat(replies, ignore_index=True)).to_numpy().reshape(len(made), -1)
    return {name: pd.Series(own) for name, own in zip(made, found)}


@pytest.mark.sample
@pytest.mark.parametrize("train", [None, 1])
def test_nonsense_is_unlike_and_replies_to_other_users_are_not(corpus, train):
    """With all train users, and with one; the same reply is judged by what its own user asked."""
    split = corpus.split()
    if train is not None:
        kept = {"train": split["train"][:train], "test": split["test"]}
        corpus = dataclasses.replace(corpus, meta={**corpus.meta, "splits": kept})
    turns = corpus.turns[corpus.turns["user"].isin(split["test"])]
    few = turns.groupby("user").head(2)
    made = {name: lambda row, text=text: text for name, text in NONSENSE.items()}
    made |= {"the request": lambda row: row["request"], "thousandfold": lambda row: row["response"] * 20}
    found = marked_each(corpus, few, {**made, "nothing": lambda row: None})
    missed = {name: float(found[name].eq("").mean()) for name in made}
    assert max(missed.values()) <= 0.05, missed
    assert set(found["the request"]) == {"copied words"} and found["nothing"].isna().all()
    assert marked(corpus, turns, lambda row: row["response"]).ne("").mean() < 0.02


@pytest.mark.sample
def test_a_users_own_history_is_not_unlike_and_few_replies_say_nothing():
    corpus = load("sample/en")
    user = corpus.split()["test"][0]
    own = corpus.turns["user"] == user
    told = corpus.turns["response"].mask(own, "Это совершенно другой язык, которого здесь никто не писал.")
    odd = dataclasses.replace(corpus, turns=corpus.turns.assign(response=told))
    assert marked(odd, odd.turns[own], lambda row: row["response"]).eq("").all()
    assert marked(corpus, odd.turns[own], lambda row: row["response"]).ne("").all()
    alone = corpus.of_users([user])
    alone = dataclasses.replace(alone, turns=alone.turns.groupby(["scenario", "session"]).head(1).head(20), meta={})
    assert marked(alone, alone.turns, lambda row: "👍").isna().all()


def test_marked_replies_are_counted_by_candidate():
    names = [ORIGINAL, ORIGINAL, "a", "a", "b", "b"]
    replies = pd.DataFrame({"candidate": names, "unusual_feature": ["length", "", "spelling", "", "spelling", None]})
    found = results.sum_up_unlike(replies)
    counts = {"n": 2, "all": 3, "own": 1, "recorded": 2}
    assert found == {**counts, "candidates": ["a", "b"], "features": ["spelling"]}


@pytest.mark.parametrize(("lead", "is_sure"), [(0.5, True), (0.0, False)])
def test_the_first_leads_where_its_interval_says_so(lead, is_sure):
    rng, turns = np.random.default_rng(0), 120
    scores = {"a": 3 + lead, "b": 3.0}
    frames = [
        pd.DataFrame(
            {
                "user": [f"u{i % 12}" for i in range(turns)],
                "scenario": "gift",
                "session": "0",
                "turn": range(turns),
                "candidate": name,
                "judge": "j",
                "backbone": None,
                "reference_cdf": pd.array(mean + rng.normal(0, 0.3, turns), "Float64"),
            }
        )
        for name, mean in scores.items()
    ]
    verdicts = pd.concat(frames, ignore_index=True)
    found = results.measure_lead(verdicts, pd.DataFrame({"candidate": ["a", "b"]}))
    own = found["lead"]
    assert (own.side == "above") == is_sure and own.low < own.value < own.high
    assert own.value == pytest.approx(lead, abs=0.15)
    for tied in ([True, False], [True, True]):
        ranked = pd.DataFrame({"candidate": ["a", "b"], "tied_first": tied, "users": 12})
        wording, _ = results.describe_first(ranked, found)
        assert ("exclude this" in wording) == (is_sure and not tied[1])
    assert results.measure_lead(verdicts, pd.DataFrame({"candidate": ["a"]})) is None


@pytest.mark.system("uxbench")
@pytest.mark.sample
def test_what_a_judge_goes_by_is_measured_where_it_costs_nothing():
    from perslib.systems.uxbench.studies import judge_bias

    corpus = shortened(load("sample/en"), sessions=2)
    split = corpus.split()
    corpus = dataclasses.replace(corpus, meta={"splits": {**split, "train": split["train"][:4]}})
    own = LearnedJudge()
    with pytest.warns(FewTrainUsers) as warned:
        verdicts = evaluate(own, corpus, limit=200, progress=False)
        found = judge_bias.sum_up_bias(own, corpus, verdicts)
        noticed, length = describe_judge(LearnedJudge(), corpus, verdicts, has_learned=False)
    assert "*learned* notices" in noticed and "one of double length" in length
    assert len(warned) == 1, "once, with the verdicts"
    assert found["at_equal_gold_low"] < found["at_equal_gold"] < found["at_equal_gold_high"]
    assert found["padding_change_low"] < found["padding_change"] < found["padding_change_high"]
    constant = Constant()
    assert (
        judge_bias.sum_up_bias(constant, corpus, evaluate(constant, corpus, limit=200, progress=False))[
            "padding_change"
        ]
        == 0
    )
    few = judge_bias.sum_up_bias(own, corpus, evaluate(own, corpus, limit=20, progress=False))
    assert "at_equal_gold" not in few
