"""Memories before the same judge: each is built and counted, agreement is beside cost, and the page says what it is."""

from __future__ import annotations

import dataclasses
import json
import re
from functools import partial
from typing import Any

import pandas as pd
import pytest
from elsewhere import each_elsewhere
from endpoint import Endpoint
from scripted import MEMORY

from perslib.corpus import Corpus
from perslib.errors import NotEnough, UnknownName
from perslib.judge.evaluate import select_blocks
from perslib.judge.memory_records import note_memories
from perslib.judge.scope import StudyScope
from perslib.llm import Answer, Backbone
from perslib.llm.embeddings import CharacterTfidf
from perslib.studies import memories_as_evidence as study
from perslib.studies import verification
from perslib.worlds import world

USUAL = StudyScope(60, 5, "published", 6000, False)
FIRST = StudyScope(4, 1, "full", 600, True)


def answer(body: dict[str, Any]) -> str:
    """A portrait where one is to be written; else a digit: 5 for a long reply, and 4 as a matter of course."""
    if "four_vs_five_distinction" in json.dumps(body.get("response_format", "")):
        return json.dumps(MEMORY)
    asked = "\n".join(str(m["content"]) for m in body["messages"])
    return "5" if len(re.findall(r"\w+", asked)) % 2 else "4"


@pytest.fixture(scope="module")
def small() -> Corpus:
    """Three users to learn from, six to judge."""
    corpus = world(users=9, seed=7, language="en")
    users = list(corpus.users["user"])
    parts = {"train": users[:3], "test": users[3:]}
    return dataclasses.replace(corpus, meta={**corpus.meta, "splits": parts})


@pytest.mark.system("mem_pal")
def test_the_parameter_says_which_memories(small):
    assert study.choose_memories("", FIRST) == list(study.FIRST_LOOK_MEMORIES)
    assert study.choose_memories("", USUAL) == study.choose_memories("all", FIRST) == study.list_memories()
    assert study.choose_memories("measured, scores", USUAL) == ["no memory", "measured", "scores"]
    assert {"H²Memory", "turn-level RAG", "session-level RAG", "RecurSum"} <= set(study.list_memories())
    with pytest.raises(UnknownName, match="structured"):
        study.choose_memories("structurd", USUAL)


@pytest.mark.sample
def test_every_memory_meets_the_same_judge_on_the_same_replies(small, model, server: Endpoint):
    server.reply = answer
    backbone: Backbone = model()
    names = "scores, measured, RAG, structured, vanilla (with log)"
    found = study.judge_memories(names, small, backbone, USUAL, "en")
    asked = found.model_verdicts
    assert list(dict.fromkeys(asked["judge"])) == [
        "no memory",
        "memory: scores",
        "memory: measured",
        "RAG",
        "memory: structured",
        "memory: vanilla (with log)",
    ]
    assert (asked.groupby("judge").size() == 60).all() and "H²Memory" in found.left_out

    spent = study.sum_costs(found).set_index("judge")
    blocks = len(asked[["user", "scenario"]].drop_duplicates())
    assert len(found.notes["memory: structured"]) == blocks
    assert spent.loc["memory: structured", "build_calls"] >= 1 and spent.loc["no memory", "build_calls"] == 0
    own = spent.loc["memory: structured"]
    assert own["tokens"] == pytest.approx(own["answer_tokens"] + own["build_tokens"] * blocks / 60)
    assert spent.loc["memory: measured", "build_tokens"] == 0 < spent.loc["memory: measured", "build_seconds"]

    again = study.sum_costs(study.judge_memories("structured", small, model(), USUAL, "en")).set_index("judge")
    assert again.loc["memory: structured", "build_tokens"] == own["build_tokens"]  # out of the cache

    agreed = study.compare_memories(found, small)
    gain = agreed.set_index(["judge", "metric"])
    row = gain.loc[("memory: measured", "pearson")]
    assert row["control"] == "no memory"
    assert row["gain"] == pytest.approx(row["value"] - gain.loc[("no memory", "pearson"), "value"])
    assert pd.isna(gain.loc[("user mean", "pearson"), "control"])  # another matter: it asks no model

    scores = verification.pivot_with_gold(found.verdicts, small, "raw")
    assert len(scores) == 60 and scores["gold"].between(1, 5).all() and "memory: structured" in scores


@pytest.mark.sample
@pytest.mark.parametrize(
    ("most", "named", "is_by_characters"), [(10**9, "", False), (0, "", True), (0, "tfidf", False)]
)
def test_what_the_embedded_model_would_read_for_long_is_looked_up_by_characters(
    small, model, server: Endpoint, monkeypatch, most, named, is_by_characters
):
    server.reply = answer
    monkeypatch.setattr(study, "MOST_EMBEDDED_TOKENS", most)
    chosen = study.choose_embedder(named, small, FIRST)
    assert isinstance(chosen, CharacterTfidf) == is_by_characters
    if is_by_characters:
        names = "turn-level RAG, vanilla (with log), measured"
        found = study.judge_memories(names, small, model(), FIRST, "en", embedder=named)
        assert found.compared_by_characters == ("turn-level RAG",) and found.model_verdicts["raw"].notna().all()


@pytest.mark.system("mem_pal")
def test_the_answers_of_a_memory_that_works_on_its_parts_side_by_side_are_counted(small, model, server: Endpoint):
    """H²Memory hands its parts to whoever asks, who sends back results, not answers."""
    server.reply = lambda body: "nothing of use"
    judge, notes = note_memories(study.make_memory_judge("H²Memory", USUAL.make_settings("en"), embedder="tfidf"))
    backbone: Backbone = model()
    backbone.work([partial(judge.memory.build, next(select_blocks(small, limit=2)))], progress=False)
    (note,) = notes.values()
    assert all(isinstance(answer, Answer) for answer in note.answers)
    total = backbone.ledger.total
    asked = sum(1 if answer.cached else answer.calls for answer in note.answers)
    assert asked == total.calls + total.hits > 10
    assert 0 < note.seconds < 60


@pytest.mark.process
def test_what_building_takes_comes_home_from_other_processes(small, model, server: Endpoint, monkeypatch):
    server.reply = answer
    here = study.sum_costs(study.judge_memories("structured", small, model(), FIRST, "en")).set_index("judge")
    monkeypatch.setattr(Backbone, "each", each_elsewhere)
    there = study.sum_costs(study.judge_memories("structured", small, model(), FIRST, "en")).set_index("judge")
    columns = ["build_calls", "build_tokens", "tokens"]
    pd.testing.assert_frame_equal(here[columns], there[columns])
    assert there.loc["memory: structured", "build_calls"] >= 1


def test_the_best_memories_are_surely_better_or_the_cheapest_for_their_r():
    r = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.4}
    agreed = pd.DataFrame({"judge": list(r), "metric": "pearson", "value": list(r.values())}).assign(
        gain_low=[None, 0.1, -0.2, 0.1], gain_high=[None, 0.3, -0.1, 0.5], gain_p_holm=[None, 0.01, 0.02, 0.2]
    )
    spent = pd.DataFrame({"judge": list(r), "tokens": [10, 20, 30, 40]})
    best = study.find_best_memories(agreed.astype({"gain_low": float, "gain_high": float, "gain_p_holm": float}), spent)
    assert best == {"better": ["b"], "worse": ["c"], "frontier": ["a", "b", "d"]}


@pytest.mark.sample
def test_a_first_look_has_scores_and_no_correlation(small, model, server: Endpoint):
    server.reply = answer
    found = study.judge_memories("scores", small, model(), FIRST, "en")
    assert len(verification.pivot_with_gold(found.verdicts, small, "raw")) == 4
    with pytest.raises(NotEnough, match="Fewer than 30 judged replies"):
        study.compare_memories(found, small)


def told_the_average(body: dict[str, Any]) -> str:
    """A judge that says 5 to those who are told to have given more than 4.2 on average, else 4."""
    asked = "\n".join(str(m["content"]) for m in body["messages"])
    average = re.search(r"replies, mean (\d\.\d+)", asked)
    return "5" if average and float(average[1]) > 4.2 else "4"


@pytest.mark.sample
def test_a_judge_that_uses_what_it_is_told_gains_over_none(small, model, server: Endpoint):
    server.reply = told_the_average
    found = study.judge_memories("scores", small, model(), dataclasses.replace(USUAL, turns=120), "en")
    own = study.compare_memories(found, small).set_index(["judge", "metric"])
    assert pd.isna(own.loc[("no memory", "pearson"), "value"])  # it says 4 to everybody
    assert own.loc[("memory: scores", "pearson"), "value"] > 0.15
    qwk = own.loc[("memory: scores", "qwk")]
    assert qwk["gain"] > 0.05 and own.loc[("no memory", "qwk"), "value"] == pytest.approx(0)
