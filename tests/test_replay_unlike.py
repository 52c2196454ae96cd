"""Replies unlike all that people rated, the lead of the first candidate, and what a judge goes by beside quality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import load
from perslib.judge import Constant, LearnedJudge
from perslib.judge.evaluate import evaluate
from perslib.replay import ORIGINAL, Rated
from perslib.studies import judge_bias
from perslib.studies import replay_standings as results


@pytest.fixture(scope="module", params=["sample/en", "sample/zh"])
def corpus(request):
    return load(request.param)


NONSENSE = {
    "letters": "asdkjh qwez xcv k",
    "a picture": "👍",
    "nothing": "",
    "one word again and again": "good " * 1000,
    "another language": "Это совершенно другой язык, которого здесь никто не писал.",
    "rare characters": "矗犇淼焱垚鑫森晶磊龘靐",
    "too short": "OK.",
}


def test_nonsense_is_unlike_and_replies_to_other_users_are_not(corpus):
    users = sorted(corpus.users["user"])
    kept = corpus.of_users(users[5:])
    rated = Rated(kept)
    named = dict(zip(NONSENSE, rated.name_differences(NONSENSE.values())))
    assert [name for name, differences in named.items() if not differences] == []
    assert {"words", "word pairs"} <= set(named["letters"].split(", ")) and "variety" in named[
        "one word again and again"
    ]
    others = corpus.turns[corpus.turns["user"].isin(users[:5])]["response"]
    assert np.mean([name != "" for name in rated.name_differences(others)]) < 0.03
    # What only this user was told is not known, or rated replies would look more alike than others can.
    own = kept.turns["response"].iloc[0]
    strange = Rated(kept.of_users(sorted(kept.users["user"])[:1]))
    assert strange.low[3] == strange.high[3] == 0 and strange.name_differences([own, None])[1] == ""


def test_marked_replies_are_counted_by_candidate():
    replies = pd.DataFrame(
        {"candidate": [ORIGINAL, "a", "a", "b"], "unlike": ["length", "words, word pairs", "", "word pairs"]}
    )
    found = results.sum_up_unlike(replies)
    assert found == {"n": 2, "all": 3, "candidates": ["a", "b"], "features": ["word pairs", "words"]}


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
    assert found["is_sure"] == is_sure and found["lead"][1] < found["lead"][0] < found["lead"][2]
    assert found["lead"][0] == pytest.approx(lead, abs=0.15)
    assert results.measure_lead(verdicts, pd.DataFrame({"candidate": ["a"]})) is None


def test_what_a_judge_goes_by_is_measured_where_it_costs_nothing():
    corpus = load("sample/en")
    own = LearnedJudge()
    found = judge_bias.sum_up_bias(own, corpus, evaluate(own, corpus, limit=200, progress=False))
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
