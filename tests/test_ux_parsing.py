"""Verdicts are read as stated or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perslib.errors import UnknownName
from perslib.ux import parse_verdict


@pytest.mark.parametrize(
    ("text", "scheme", "label"),
    [
        ("好", "binary", 1),
        ("差", "binary", -1),
        ("**好**。", "binary", 1),
        ("不好", "binary", -1),
        ("友好", "binary", None),
        ("误差较大", "binary", None),
        ("好的，我认为这个回复很差", "binary", None),
        ("好的，我认为这个回复很差\n差", "binary", -1),
        ("", "binary", None),
        ("   \n", "binary", None),
        ('{"verdict": 0}', "binary01", -1),
        ('{"verdict": 0}', "three", 0),
        ('{"verdict": 0}', "binary", None),
        ('{"verdict":"1"}', "binary", 1),
        ('{"verdict": 1.0}', "binary01", 1),
        ('{"verdict": true}', "binary", 1),
        ('{"verdict": "false"}', "binary", -1),
        ('{"verdict": "good"}', "binary", 1),
        ('{"verdict": "neutral"}', "three", 0),
        ('{"verdict": "neutral"}', "binary", None),
        ('```json\n{"verdict": "bad"}\n```', "binary", -1),
        ('{"verdict":1} 再想想 {"verdict":-1}', "binary", -1),
        ('{"reason": "it says {good}", "verdict": "bad"}', "binary", -1),
        ('{"reason": "good"}', "binary", None),
        ('<think>{"verdict": 1}</think>{"verdict": -1}', "binary", -1),
        ("Verdict: good", "binary", 1),
        ("**Verdict:** bad\n", "binary", -1),
        ("结论：差", "binary", -1),
        ("结论：不差", "binary", None),
        ("After some thought\nbad", "binary", -1),
        ("The reply is good", "binary", None),
        ("-1", "binary", -1),
        ("−1", "binary", -1),
        ("０", "binary01", -1),
        ("10", "binary", None),
        ('{"verdict": 7}', "binary", None),
        ('{"verdict": ["good"]}', "binary", None),
        ('{"verdict": "good"', "binary", 1),
        ("输出：好", "binary", 1),
        ("判定结果：差", "binary", -1),
        ("**判定**：差\n理由：没有回答问题", "binary", -1),
        ("Output: good", "binary", 1),
        ("结果：用户得到了他要的", "binary", None),
        ("差\n理由：没有回答用户的问题，内容空泛。", "binary", -1),
        ("Good\n\nThe reply answers the question.", "binary", 1),
        ("输出：好\n结论：差", "binary", -1),
    ],
)
def test_verdicts(text, scheme, label):
    assert parse_verdict(text, scheme).label == label


@pytest.mark.parametrize("said", ["不好", "不差", "好的，我认为这个回复很差", "not good", "not bad", "不满意"])
def test_a_negated_word_is_never_its_opposite(said):
    label = parse_verdict(said).label
    assert label != 1 if "好" in said or "good" in said or "满意" in said else label != -1


def test_the_rule_is_told_and_the_scheme_never_guessed():
    assert parse_verdict('{"verdict": "bad"}').rule == "json"
    assert parse_verdict("verdict = good").rule == "stated"
    assert parse_verdict("x\n好").rule == "last line"
    assert parse_verdict("好\nx").rule == "first line"
    with pytest.raises(UnknownName, match="binary01"):
        parse_verdict("1", "binary10")  # type: ignore[arg-type]


@given(st.text(), st.sampled_from(["binary", "binary01", "three"]))
def test_any_text_can_be_read(text, scheme):
    assert parse_verdict(text, scheme).label in (1, 0, -1, None)
    assert scheme == "three" or parse_verdict(text, scheme).label != 0
