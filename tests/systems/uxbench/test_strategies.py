"""With what replies to a complaint open: rules, a model, and how far they agree."""

from __future__ import annotations

import pandas as pd
import pytest
from scripted import Scripted

from perslib.llm import Answer, Request
from perslib.prompts import PromptSettings
from perslib.systems.uxbench.bench import (
    STRATEGIES,
    label_by_rules,
    labeller_agreement,
    select_opening,
    strategies_of,
    strategy_shares,
)


def said(request: Request) -> str:
    return "\n".join(str(m["content"]) for m in request.messages)


@pytest.mark.parametrize(
    ("reply", "first", "every"),
    [
        ("I'm sorry about that. Here is the plan.", "apology", ("apology",)),
        ("抱歉，我误解了你的问题。正确的步骤如下：……", "apology", ("apology", "error_diagnosis")),
        ("You're right, that was no plan at all. Day one: baths.", "agreement", ("agreement",)),
        ("你说得对，确实太啰嗦了。", "agreement", ("agreement",)),
        ("I misread your question: you wanted a plan.", "error_diagnosis", ("error_diagnosis",)),
        ("问题出在我把日期看错了。", "error_diagnosis", ("error_diagnosis",)),
        ("Oops, my circuits took a day off!", "humor", ("humor",)),
        ("哈哈，翻车了，马上改。", "humor", ("humor",)),
        ("**Day 1**: the baths, then lunch.", "direct_fix", ("direct_fix",)),
        ("更正：应该是三天。", "direct_fix", ("direct_fix",)),
        ("Could you tell me how many days you have?", "clarification", ("clarification",)),
        ("您是想要两天的还是三天的行程？", "clarification", ("clarification",)),
        ("The baths open at nine.", "other", ()),
        ("I'm sorry to hear that.", "other", ()),
        ("不用道歉，我们继续。", "other", ()),
    ],
)
def test_rules_by_hand(reply, first, every):
    found = strategies_of(pd.DataFrame({"case": ["c"], "reply": [reply]}))
    assert (found["strategy"][0], found["strategies"][0]) == (first, every)


def test_only_the_opening_counts():
    assert label_by_rules("The baths open at nine. They are old. Sorry for that.") == ()
    assert len(select_opening("字" * 500)) == 120 and select_opening("One. Two. Three.") == "One. Two."
    assert strategies_of(pd.DataFrame({"case": ["c"], "reply": ["  "]}))["strategy"].isna().all()


def test_two_labellers_and_their_agreement():
    texts = ["Sorry. Here.", "You're right. Here.", "Oops! Here.", "Nine o'clock.", "Sorry! Again.", "I misread it."]
    names = ["apology", "agreement", "humor", "other", "apology", "apology"]
    replies = pd.DataFrame({"case": [f"c{i % 6}" for i in range(24)], "model": "m", "reply": texts * 4})

    def label(request: Request) -> Answer:
        at = next(i for i, text in enumerate(texts) if text in said(request))
        return Answer(data={"primary": names[at], "all": [names[at]]}) if at else Answer(text="I cannot say")

    out = strategies_of(replies, {"c0": "Too long."}, PromptSettings(), Scripted(reply=label))
    assert out["labelled"].isna().sum() == 4 and "no label in" in out["label_error"].dropna().iloc[0]
    table = labeller_agreement(out).set_index("label")
    assert table.loc["all", "equal"] == 0.8 and table.loc["all", "unlabelled"] == 4
    assert table.loc["humor", "kappa"] == 1 and table.loc["error_diagnosis", "kappa"] == 0
    shares = strategy_shares(out).set_index("strategy")
    assert shares["percent"].sum() == pytest.approx(100) and shares.loc["apology", "replies"] == 8
    assert set(shares.index) == {*STRATEGIES, "other"}
