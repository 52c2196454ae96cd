"""Verdicts are read as stated or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perslib.systems.uxbench.bench import parse_verdict


@pytest.mark.parametrize(
    ("text", "neutral", "label"),
    [
        ("好", False, 1),
        ("差", False, -1),
        ("**好**。", False, 1),
        ("不好", False, -1),
        ("友好", False, None),
        ("误差较大", False, None),
        ("好的，我认为这个回复很差", False, None),
        ("好的，我认为这个回复很差\n差", False, -1),
        ("", False, None),
        ("   \n", False, None),
        ('{"verdict": 0}', True, 0),
        ('{"verdict": 0}', False, -1),
        ("答：好", False, 1),
        ("好/差：差", False, -1),
        ("不太好", False, -1),
        ("The answer is bad.", False, -1),
        ("The verdict is good, but bad", False, None),
        ("The answer is not clear.\n\nGood", False, 1),
        ("问答：好", False, None),
        ('{"verdict":"1"}', False, 1),
        ('{"verdict": 1.0}', False, 1),
        ('{"verdict": true}', False, 1),
        ('{"verdict": "false"}', False, -1),
        ('{"verdict": "good"}', False, 1),
        ('{"verdict": "neutral"}', True, 0),
        ('{"verdict": "neutral"}', False, None),
        ('```json\n{"verdict": "bad"}\n```', False, -1),
        ('{"verdict":1} 再想想 {"verdict":-1}', False, -1),
        ('{"reason": "it says {good}", "verdict": "bad"}', False, -1),
        ('{"reason": "good"}', False, None),
        ('<think>{"verdict": 1}</think>{"verdict": -1}', False, -1),
        ("Verdict: good", False, 1),
        ("**Verdict:** bad\n", False, -1),
        ("结论：差", False, -1),
        ("结论：不差", False, None),
        ("After some thought\nbad", False, -1),
        ("The reply is good", False, None),
        ("-1", False, -1),
        ("−1", False, -1),
        ("０", True, 0),
        ("10", False, None),
        ('{"verdict": 7}', False, None),
        ('{"verdict": ["good"]}', False, None),
        ('{"verdict": "good"', False, 1),
        ("输出：好", False, 1),
        ("判定结果：差", False, -1),
        ("**判定**：差\n理由：没有回答问题", False, -1),
        ("Output: good", False, 1),
        ("结果：用户得到了他要的", False, None),
        ("差\n理由：没有回答用户的问题，内容空泛。", False, -1),
        ("Good\n\nThe reply answers the question.", False, 1),
        ("输出：好\n结论：差", False, -1),
    ],
)
def test_verdicts(text, neutral, label):
    assert parse_verdict(text, neutral=neutral).label == label


@pytest.mark.parametrize("said", ["不好", "不差", "好的，我认为这个回复很差", "not good", "not bad", "不满意"])
def test_a_negated_word_is_never_its_opposite(said):
    label = parse_verdict(said).label
    assert label != 1 if "好" in said or "good" in said or "满意" in said else label != -1


def test_the_rule_is_told():
    assert parse_verdict('{"verdict": "bad"}').rule == "json"
    assert parse_verdict("verdict = good").rule == "stated"
    assert parse_verdict("x\n好").rule == "last line"
    assert parse_verdict("好\nx").rule == "first line"


@given(st.text(), st.booleans())
def test_any_text_can_be_read(text, neutral):
    assert parse_verdict(text, neutral=neutral).label in ((1, 0, -1, None) if neutral else (1, -1, None))
