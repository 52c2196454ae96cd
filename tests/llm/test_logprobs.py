"""Scores with distributions, worked by hand."""

import math

import pytest

from perslib.llm import Answer, digit_distribution


def tokens(*written):
    """Tokens of a reply; each a text, or (text, {alternative: probability})."""
    made = []
    for token in written:
        text, top = token if isinstance(token, tuple) else (token, {token: 1.0})
        pairs = [(alternative, math.log(p)) for alternative, p in top.items()]
        made.append({"token": text, "logprob": math.log(top.get(text, 1e-9)), "top": pairs})
    return Answer(logprobs=made)


def test_a_single_token_answer():
    found = digit_distribution(tokens(("4", {"4": 0.5, "5": 0.2, "3": 0.1, "The": 0.2})))
    assert found.mass == pytest.approx(0.8)
    assert found == pytest.approx({"1": 0, "2": 0, "3": 0.125, "4": 0.625, "5": 0.25})
    assert found.mean == pytest.approx(0.125 * 3 + 0.625 * 4 + 0.25 * 5)


def test_spellings_of_one_option_count_together():
    found = digit_distribution(tokens((" 4", {" 4": 0.4, "4": 0.2, "４": 0.1, " 2": 0.3})))
    assert found["4"] == pytest.approx(0.7)
    assert found["2"] == pytest.approx(0.3)


def test_the_digit_in_json_is_found_by_its_key():
    split = {"3": 0.25, "4": 0.75}
    asked = [
        tokens('{"', "count", '":', " 2", ",", ' "score', '":', " ", ("4", split), "}"),
        tokens('{"analysis": "1 of 5", "score": ', ("4", split), "}"),
        tokens('{"score', '":', (" 4", {" 3": 0.25, " 4": 0.75}), "}"),
        tokens('{"score": "', ("4", split), '"}'),
    ]
    for answer in asked:
        found = digit_distribution(answer)
        assert found["4"] == pytest.approx(0.75)
        assert found["3"] == pytest.approx(0.25)


def test_the_last_score_counts_and_thought_does_not():
    answer = tokens('<think>"score": ', ("1", {"1": 1.0}), "</think>", '{"score": ', ("5", {"5": 0.9, "4": 0.1}), "}")
    assert digit_distribution(answer)["5"] == pytest.approx(0.9)
    answer = tokens("<think>", "1", "</think>", "\n\n", ("5", {"5": 0.9, "4": 0.1}))
    assert digit_distribution(answer)["5"] == pytest.approx(0.9)


def test_a_chosen_token_missing_from_the_alternatives_counts():
    answer = tokens(("2", {"4": 0.6, "5": 0.4}))
    answer.logprobs[0]["logprob"] = math.log(0.1)
    assert digit_distribution(answer)["2"] == pytest.approx(0.1 / 1.1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer(logprobs=[]),
        tokens("The", " score", " is", " 4"),
        tokens('{"score": ', "null", "}"),
        tokens('{"score": ', "1", "0", "}"),
        tokens('{"score": ', "4", ".5", "}"),
        tokens('{"rating": ', "4", "}"),
    ],
)
def test_no_distribution_where_there_is_no_score_token(answer):
    assert digit_distribution(answer) is None


def test_other_options_and_keys():
    found = digit_distribution(tokens('{"side": "', ("A", {"A": 0.9, "B": 0.1}), '"}'), options=("A", "B"), key="side")
    assert found == pytest.approx({"A": 0.9, "B": 0.1})
