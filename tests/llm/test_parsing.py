"""Reading a structured reply: what writing is forgiven, what content is not."""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perslib.llm import parse
from perslib.llm.answerers.completions import split_reasoning
from perslib.llm.structured.parsing import is_strict

SCORE = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "reason": {"type": "string"},
        "satisfied": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "side": {"enum": ["SAT", "DSAT"]},
    },
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 4}',
        '```json\n{"score": 4}\n```',
        '```\n{"score": 4}',
        'Here is my verdict:\n```JSON\n{"score": 4}\n```\nHope this helps {always}!',
        'I considered it. {"score": 4} That is all.',
        '{"score": 4,}',
        '{"score": 4, // four\n}',
        "{'score': 4}",
        "{“score”: 4}",
        "{“score”：4}",
        "｛“score”：4｝",
        '{"score": "4"}',
        '{"score": " 4 "}',
        '{"score": 4.0}',
        '{"score": "４"}',
        '[{"score": 4}]',
        '<think>They said {"score": 1} once</think>{"score": 4}',
        '<think>a</think>\n<think>{"score": 2}</think>\n{"score": 4}',
        'so it is {"score": 2}, no\n</think>\n\n{"score": 4}',
        '{"score": 2} would be harsh. Final: {"score": 4}',
        '{"score": 9} is impossible, so {"score": 4}',
    ],
)
def test_a_score_of_four_is_found(text):
    assert parse(text, SCORE) == ({"score": 4}, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("I would say 4.", "no complete JSON object"),
        ('{"score": 4, "reason": "and then', "no complete JSON object"),
        ('<think>{"score": 4}', "no complete JSON object"),
        ('{"score": 7}', "score: 7 is greater than the maximum of 5"),
        ('{"score": "7"}', "score: 7 is greater than the maximum of 5"),
        ('{"score": 4.5}', 'score: 4.5 is not of type "integer"'),
        ('{"score": true}', 'score: true is not of type "integer"'),
        ('{"score": null}', 'score: null is not of type "integer"'),
        ('{"score": NaN}', 'score: null is not of type "integer"'),
        ('{"rating": 4}', '"score" is a required property'),
        ("[1, 2]", 'not of type "object"'),
        ("{" * 5000, "no complete JSON object"),
    ],
)
def test_what_does_not_fit_says_why(text, problem):
    data, found = parse(text, SCORE)
    assert data is None
    assert problem in found


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{'score': 4, 'satisfied': True}", {"score": 4, "satisfied": True}),
        ('{"score": 4, "satisfied": "True"}', {"score": 4, "satisfied": True}),
        ('{"score": 4, "satisfied": False}', {"score": 4, "satisfied": False}),
        ('{"score": 4, "side": "sat"}', {"score": 4, "side": "SAT"}),
        ('{"score": 4, "tags": ["a", 5,]}', {"score": 4, "tags": ["a", "5"]}),
        ('{"score": 4, "reason": "two\nlines"}', {"score": 4, "reason": "two\nlines"}),
        ('{"score": 4, "reason": "他说“好”，{真}的"}', {"score": 4, "reason": "他说“好”，{真}的"}),
        ('Hm: {"score": 4, "reason": "a } and \\" in it"} ok', {"score": 4, "reason": 'a } and " in it'}),
        (
            '{"score": 4, "reason": "True, // and </think>{\\"score\\": 5}"}',
            {"score": 4, "reason": 'True, // and </think>{"score": 5}'},
        ),
    ],
)
def test_types_are_brought_to_the_schema_and_strings_are_left_alone(text, data):
    assert parse(text, SCORE) == (data, None)


def test_a_list_is_found_where_a_list_is_wanted():
    rules = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    assert parse('Rules: ["short", "with {prices}"].', rules) == (["short", "with {prices}"], None)


def test_strict_means_nothing_was_forgiven():
    for text, strict in {
        '{"score": 4}': True,
        '{"score": "4"}': False,
        '```json\n{"score": 4}\n```': False,
        '{"score": 4}, I think': False,
    }.items():
        data, problem = parse(text, SCORE)
        assert problem is None and is_strict(text, data) is strict


@pytest.mark.parametrize("text", [r"{'score': 4, 'reason': '\d'}", "{'score': 1if 2}", "{'a': 0or 1}"])
def test_python_has_nothing_to_warn_about(text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse(text, SCORE)
    assert caught == []


objects = st.fixed_dictionaries(
    {"score": st.integers(1, 5)},
    optional={"reason": st.text(), "satisfied": st.booleans(), "tags": st.lists(st.text(), max_size=3)},
)
prose = st.text(st.characters(exclude_characters='{}[]"<`“”｛｝'), max_size=40)


@given(objects, prose, prose, st.sampled_from(["{}", "```json\n{}\n```", "<think>so {{}}</think>{}"]))
def test_any_object_is_recovered_from_prose_fences_and_thought(data, before, after, frame):
    text = before + frame.replace("{}", json.dumps(data, ensure_ascii=False), 1) + after
    if frame.startswith("<think>"):
        text = frame.replace("{{}}", "x").replace("{}", json.dumps(data)) + after
    assert parse(text, SCORE) == (data, None)


@given(st.text())
def test_no_text_breaks_the_reading(text):
    data, problem = parse(text, SCORE)
    assert (data is None) == (problem is not None)


@pytest.mark.parametrize(
    ("raw", "text", "reasoning"),
    [
        ("Hello.", "Hello.", ""),
        ("<think>\nhm\n</think>\n\nHello.", "Hello.", "hm"),
        ("<think></think>Hello.", "Hello.", ""),
        ("  <thinking>a</thinking> <think>b</think>Hello.", "Hello.", "a\nb"),
        ("hm\n</think>\n\nHello.", "Hello.", "hm"),
        ("<think>never closed", "", "never closed"),
        ('{"reason": "</think> was quoted"}', '{"reason": "</think> was quoted"}', ""),
        ("Use a <b> tag & 1 < 2", "Use a <b> tag & 1 < 2", ""),
    ],
)
def test_reasoning_is_split_off(raw, text, reasoning):
    assert split_reasoning(raw) == (text, reasoning)
