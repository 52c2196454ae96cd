"""The answerer without a model, and outlines looked up as the official program does."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from perslib.errors import PerslibError
from perslib.llm.event_loop import compute
from perslib.llm.tokens import count_tokens
from perslib.prompts import PromptSettings, prompt
from perslib.systems.mem_pal.bench import TrueMemory, list_bench_users, run
from perslib.systems.mem_pal.bench.extractive import RESTATED, Extractive
from perslib.systems.mem_pal.memory.h2 import OfficialMapping
from perslib.systems.mem_pal.studies import pal_bench as study
from perslib.systems.mem_pal.world import palset

CANDIDATES = [
    {"id": f"S{i}", "text": text}
    for i, text in enumerate(("a walk by the river", "an app that counts steps", "a personal coach"), 1)
]
SHOWN = {"query": "How do I move more?", "requirement": "The user sits all day and wants to move more."}


def ask(name, language="en", **shown):
    return Extractive(language).answer(prompt(name, language).render(**shown))


def selected(*texts):
    blocks = [{"field": "outline", "texts": list(texts)}] if texts else []
    return ask("pal_selection", **SHOWN, blocks=blocks, candidates=CANDIDATES)["selected_solutions"]


def test_liked_solutions_are_selected_and_disliked_ones_are_not():
    liked = "Solutions that the user welcomed:\n- counting steps with an app\n- walking by a river"
    assert set(selected(liked)) == {"S1", "S2"}
    assert "S3" not in selected("Solutions that the user turned down:\n- paying a personal coach")


def test_who_is_told_nothing_selects_at_random():
    texts = [
        [f"{word} {n}" for n in range(8)]
        for word in ("walk", "swim", "run", "read", "cook", "sing", "knit", "draw") * 10
    ]
    chosen = [
        int(id[1:])
        for i, own in enumerate(texts)
        for id in ask(
            "pal_selection",
            **SHOWN,
            blocks=[],
            candidates=[{"id": f"S{n}", "text": f"{i} {t}"} for n, t in enumerate(own, 1)],
        )["selected_solutions"]
    ]
    assert 3.8 < sum(chosen) / len(chosen) < 5.2 and len(set(chosen)) == 8


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_written_stands_in_what_was_read(language):
    turns = [
        {
            "user": "我想周末去爬山。" if language == "zh" else "I want to hike on Sunday.",
            "assistant": "可以去香山。" if language == "zh" else "Try the western hills. They are near.",
        }
    ] * 2
    said = ask("recursum_dialogue", language, summary="", at="–", turns=turns)["summary"]
    heard = " ".join(text for turn in turns for text in turn.values())
    assert said and all(line in heard for line in said.splitlines())
    blocks = [{"field": "turn", "texts": ["I want to hike on Sunday. The cat is old."]}]
    restated = ask("pal_requirement", query="Where to hike?", blocks=blocks)["requirement"]
    assert restated.startswith("Where to hike? I want to hike on Sunday.")
    assert ask("pal_requirement", query="Where to hike?", blocks=[])["requirement"] == "Where to hike?"


def test_a_restatement_is_as_long_whatever_was_handed_over():
    lines = [f"The user likes hike number {word} in the hills." for word in "abcdefghijklmnopqrstuvwxyz"]
    few, many = (
        ask("pal_requirement", query="Where to hike?", blocks=[{"field": "turn", "texts": lines[:n]}])["requirement"]
        for n in (14, 26)
    )
    assert len(few) == len(many) and count_tokens(many) <= RESTATED + count_tokens("Where to hike?") + 1


def test_needs_are_counted_by_their_words():
    needs = [{"need": "shoes that keep dry", "evidences": []}, {"need": "company of somebody slow", "evidences": []}]
    known = {"query": "Where to hike?", "requirement": "–", "needs": needs}
    grades = [
        ask("pal_grade", prediction=text, **known)["score"]
        for text in ("Where to hike?", "shoes that keep dry", "dry shoes, keep the company of somebody slow")
    ]
    assert grades[:2] == [0, 1] and grades[2] >= 1.5


def test_what_cannot_be_copied_is_said():
    with pytest.raises(PerslibError, match="h2_requirement cannot be answered by copying; name a backbone"):
        ask("h2_requirement", requirements=["a", "b"])


@pytest.fixture(scope="module")
def three():
    return palset(users=3, seed=5, language="en")


def test_the_official_mapping_changes_recall_alone(three):
    who = list_bench_users(three)
    memory = TrueMemory(three, embedder="tfidf")
    mapped = OfficialMapping(memory, (who[-1].user, who[-1].history))
    first, last = (compute(lambda ask, one=one: mapped.build(one.user, one.history, ask)) for one in (who[0], who[-1]))
    assert mapped.count_misplaced(last) == (0, len(last.outlines)) and mapped.count_misplaced(first)[0] > 0.3 * len(
        first.outlines
    )
    assert first == compute(lambda ask: memory.build(who[0].user, who[0].history, ask))
    session = who[0].query[0].before()
    query = who[0].scenes[0].topic.query
    one, other = (system.recall(first, session, query, "requirement") for system in (memory, mapped))
    assert [p for p in one if p.field != "principle"] == [p for p in other if p.field != "principle"]
    assert mapped.name == "faultless H²Memory (official mapping)"


@pytest.mark.sample
def test_all_methods_are_served_without_a_model(monkeypatch):
    monkeypatch.setattr(study, "ALL_USERS", 2)
    _, asked, memories = study.prepare_without_model("en")
    bench = study.run_single_turn(asked, memories)
    handed = bench.answers[bench.answers["method"] != "vanilla (without log)"].groupby("method")["context_tokens"]
    assert handed.max().eq(study.BUDGET).all() and handed.min().eq(study.BUDGET).sum() >= 10, "two have no more to say"
    assert bench.extractive_calls == bench.answers["calls"].sum() + sum(s.build["calls"] for s in bench.served)
    assert bench.judge == "extractive" and bench.failures["failed"] == bench.failures["pieces"] == 0
    scores = bench.samples.groupby(["method", "metric"])["value"].mean().unstack()
    assert len(scores) == 13 and scores["s_score"]["faultless H²Memory"] > 1 > scores["s_score"]["vanilla (with log)"]
    assert scores["g_score"]["faultless H²Memory"] > scores["g_score"]["vanilla (without log)"]
    counts = study.count_misplaced_outlines(memories, bench, asked.persons)
    assert 0 < counts["misplaced"] < counts["outlines"]


def test_an_answerer_without_a_model_is_the_same_every_time(three):
    who = list_bench_users(three)[:1]
    said = [
        run([TrueMemory(three, embedder="tfidf")], who, Extractive("en"), PromptSettings("en"))[0]["said"].tolist()
        for _ in range(2)
    ]
    assert said[0] == said[1] and not any(re.search("None", str(text)) for text in said[0])


@pytest.mark.process
def test_what_is_near_does_not_depend_on_how_python_orders_sets():
    """A sum over a set is another one in the last digit where the set has another order, and turns ties round."""
    code = (
        "from perslib.corpus import load; from perslib.systems.mem_pal.bench.extractive import Extractive;"
        "texts = load('sample/en').turns['response'].dropna().tolist()[:40];"
        "print([value.hex() for value in Extractive('en')._nearness(texts[:5], texts[5:]).ravel()])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
