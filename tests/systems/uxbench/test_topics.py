"""What requests are about: rules in both languages, a model's labels, and how far the two agree."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
import pytest
from scripted import Scripted

import perslib.systems.uxbench.tasks.labels as topics
from perslib.llm import Answer, Request
from perslib.prompts import PromptSettings
from perslib.systems.uxbench.bench import (
    INTENTS,
    SCENARIOS,
    Case,
    label_topic_by_rules,
    labeller_agreement,
    read_ux_table,
    topics_of,
)

DOMAINS = [domain for domains in INTENTS.values() for domain in domains]


def test_there_are_as_many_domains_as_the_paper_has_and_its_own_names():
    assert len(DOMAINS) == len(set(DOMAINS)) == 83
    assert list(INTENTS) == list(read_ux_table("intents")["intent"])
    assert list(SCENARIOS) == list(read_ux_table("scenarios")["scenario"])
    assert read_ux_table("intents")["cases"].sum() == 7400
    assert read_ux_table("scenarios")["percent"].sum() == pytest.approx(95.59)


def test_every_domain_is_told_in_both_languages_and_belongs_to_a_scenario():
    said = tomllib.loads((Path(topics.__file__).parent / "topics.toml").read_text("utf-8"))
    for group, domains in INTENTS.items():
        assert said[group]["en"] and said[group]["zh"]
        for domain in domains:
            own = said[group]["domains"][domain]
            assert (
                own["scenario"] in SCENARIOS and own["en"] and own["zh"] and len(set(own["cues"])) == len(own["cues"])
            )
            assert all(cue == cue.casefold() for cue in own["cues"]), "cues are looked for in folded text"


@pytest.mark.parametrize(
    ("query", "scenario", "intent", "domain"),
    [
        ("Translate this letter into English", "work_productivity", "content_processing", "translation"),
        ("Write a story about a lighthouse", "creative_content", "writing", "story"),
        ("What is the capital of France?", "information_knowledge", "knowledge_qa", "earth"),
        ("Which laptop should I buy, and what is a fair price?", "product_service", "knowledge_qa", "shopping"),
        ("I feel so lonely lately", "emotional_support", "chat_roleplay", "comfort"),
        ("公积金怎么提取", "private_daily_life", "knowledge_qa", "public_services"),
        ("帮我写首诗，写一首关于秋天的", "creative_content", "writing", "poem"),
        ("把这段话翻译成英文", "work_productivity", "content_processing", "translation"),
        ("我们来玩成语接龙", "entertainment", "chat_roleplay", "text_game"),
        ("该不该买这只股票，还是买基金", "decision_support", "knowledge_qa", "finance"),
        ("xyzzy", "other", "other", "other"),
        ("", "other", "other", "other"),
    ],
)  # fmt: skip
def test_rules_by_hand(query, scenario, intent, domain):
    found = label_topic_by_rules(query)
    assert (found.scenario, found.intent, found.domain) == (scenario, intent, domain)


def test_what_says_nothing_by_itself_is_about_what_was_asked_before():
    before = ["Plan a trip to Bath", "And in short?"]
    assert label_topic_by_rules("Once more, please.", before).domain == "travel"
    assert label_topic_by_rules("Translate it into Chinese.", before).domain == "translation"


def test_a_cue_is_a_word_and_not_a_part_of_one():
    assert label_topic_by_rules("I am careful with scarves").domain == "other"  # no car in either
    assert label_topic_by_rules("Cars and engines").domain == "cars"
    assert label_topic_by_rules("ＴＡＸ").domain == "taxes", "width does not count"


def test_a_model_labels_and_is_held_against_the_rules():
    cases = [
        Case("a", "Translate this into English", user="u"),
        Case("b", "Plan a trip to Bath", ({"role": "user", "content": "Hello"},), user="u"),
        Case("c", "What is a molecule?", user="v"),
    ]

    def label(request: Request) -> Answer:
        text = str(request.messages[-1]["content"])
        if "Bath" in text:
            assert "Hello" in text
            return Answer(data={"scenario": "private_daily_life", "domain": "travel"})
        if "molecule" in text:
            return Answer(data={"scenario": "information_knowledge", "domain": "physics"})
        return Answer(text="I cannot say")

    model = Scripted(reply=label)
    out = topics_of(cases, PromptSettings("en"), model).set_index("case")
    assert out.loc["b", "intent_labelled"] == "knowledge_qa" and out.loc["b", "domain_labelled"] == "travel"
    assert pd.isna(out.loc["a", "scenario_labelled"]) and "no label in 'I cannot" in out.loc["a", "label_error"]
    request = model.asked[0][1]
    assert request.schema["properties"]["domain"]["enum"] == [*DOMAINS, "other"]
    assert "- pets: animals at home" in str(request.messages[0]["content"])
    table = labeller_agreement(
        out.reset_index(), one="domain", other="domain_labelled", names=("travel", "physics")
    ).set_index("label")
    # Of two labelled cases one is equal: observed ½, by chance ¼ (travel on both sides), so κ = ⅓.
    assert table.loc["all", "equal"] == 0.5 and table.loc["all", "kappa"] == pytest.approx(1 / 3)
    assert table.loc["travel", "kappa"] == 1 and table.loc["all", "unlabelled"] == 1


def test_the_prompt_is_in_chinese_where_asked():
    model = Scripted(reply=lambda request: Answer(data={"scenario": "other", "domain": "other"}))
    out = topics_of([Case("a", "猫为什么怕水")], PromptSettings("zh"), model)
    assert "pets：家里的动物" in str(model.asked[0][1].messages[0]["content"])
    assert out.loc[0, ["scenario_labelled", "intent_labelled"]].tolist() == ["other", "other"]
