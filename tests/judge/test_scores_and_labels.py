"""From what a model answered to a verdict: the score it names, or why it names none; never a guess."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest
from endpoint import completion
from scripted import in_rounds

from perslib.errors import DataError
from perslib.judge import JudgeSettings
from perslib.judge.asking.scores import find_score, read_digit, read_score_verdict
from perslib.judge.asking.settings import pool_verdicts
from perslib.llm import Answer

SHOWN = {"scenario": "trip", "task": "plan", "conversation": [], "reply": "a plan", "written": True}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("4", 4),
        ("四", 4),
        ("４。", 4),
        ("4.0", 4),
        ("4/5", 4),
        ("4 / 5 stars", 4),
        ("4 out of 5 stars", 4),
        ("四分", 4),
        ("我给四分（满分5分）", 4),
        ("评分：2，因为不够细致", 2),
        ("满意度为**3**", 3),
        ("Score: 4. Three days are missing.", 4),
        ("On a scale of 1 to 5, my rating is 2.", 2),
        ("**Rating:** 5", 5),
        ("I would give it a score of 4", 4),
        ("Score: 2\nFinal score: 2", 2),
        ('{"score": 4, "reason": "cut off he', 4),
    ],
)
def test_a_score_in_words(text, score):
    assert find_score(text) == score


@pytest.mark.parametrize(
    "text",
    [
        *["7", "0", "10", "45", "4.5", "4.5/5", "-", "", "5.5分", "十四分", "第4分"],
        *["3 or 4", "between 3 and 4", "between 3 and 4 stars", "3-4分", "3到4分", "三四分", "score: 3 or 4"],
        *["8/10", "4/10", "score: 4 out of 10", "Score: 4.5", "3分或4分", "2/5, no, 4/5"],
        *["五分之四", "4分钟", "因此扣1分", "一分钱一分货", "The hotel has 4 stars hotel prices"],
        *["It makes 3 points.", "I cannot judge that.", "抱歉，我无法评分。", "2026/4/5", "score 5 would need a map"],
    ],
)
def test_no_score_in_words(text):
    assert find_score(text) is None


def answer(text, data=None, **further):
    return Answer(text=text, raw=text, data=data, **further)


def test_an_object_gives_all_its_fields():
    data = {"score": 2, "reason": "不够细致", "rationale": "没有时间", "evidence": ["M1", "M3"]}
    verdict = read_score_verdict(answer("…", data, mode="schema", tokens_in=7, cost=0.5), "zh")
    assert (verdict.raw, verdict.reason, verdict.rationale) == (2.0, "不够细致", "没有时间")
    assert (verdict.evidence, verdict.mode, verdict.error) == (("M1", "M3"), "schema", None)
    assert (verdict.tokens_in, verdict.cost) == (7, 0.5)


@pytest.mark.parametrize(
    ("score", "said", "label"),
    [
        (2, "满意", "其它"),
        (2, "其他", "其它"),
        (2, "insufficient detail", "不够细致"),
        (2, None, "其它"),
        (3, "太短", "其它"),
        (5, "不可用", "满意"),
        (4, "unusable", "满意"),
    ],
)
def test_reasons_are_made_legal(score, said, label):
    given = {"score": score, "reason": said, "rationale": ""}
    assert read_score_verdict(answer("…", given), "zh").reason == label


def test_an_object_that_does_not_fit_the_schema_counts_by_its_score():
    error = "after a re-ask, reason: 'insufficient detail' is not one of […]"
    said = {"score": "4", "reason": "insufficient detail", "rationale": "x" * 400, "evidence": "M1"}
    verdict = read_score_verdict(answer(f"```json\n{json.dumps(said)}\n```", mode="unscored", error=error), "zh")
    assert (verdict.raw, verdict.mode, verdict.error) == (4.0, "text", None)
    assert (verdict.reason, len(verdict.rationale), verdict.evidence) == ("满意", 400, ())


@pytest.mark.parametrize("score", [7, 0, 4.5, "4.5", "3 or 4", None, True, [4], "", {}])
def test_an_object_with_another_score_is_unscored(score):
    text = json.dumps({"score": score, "rationale": "I would give 4 stars"})
    verdict = read_score_verdict(answer(text, mode="unscored", error="score: 7 is greater than the maximum of 5"), "en")
    assert verdict.raw is None and verdict.reason is None
    assert (verdict.mode, verdict.error) == ("unscored", "score: 7 is greater than the maximum of 5")
    assert read_score_verdict(answer("…", {"score": score}), "en").error == "no score from 1 to 5 in the answer"


def test_what_a_model_thought_is_not_what_it_said():
    thought = Answer(text="I cannot say.", raw="<think>score: 2, maybe</think>I cannot say.", mode="unscored")
    assert read_score_verdict(thought, "en").error == "no score in the answer"


def token(text, p, **others):
    top = [(text, math.log(p)), *((other, math.log(q)) for other, q in others.items())]
    return {"token": text, "logprob": math.log(p), "top": top}


def test_one_digit_without_log_probabilities():
    verdict = read_digit(answer(" 4"))
    assert (verdict.raw, verdict.p, verdict.expected, verdict.mode) == (4.0, None, None, "digit")
    assert read_digit(answer("四")).raw == 4.0
    for text in ("7", "The", ""):
        unscored = read_digit(answer(text))
        assert (unscored.raw, unscored.mode) == (None, "unscored")
        assert unscored.error == f"expected a digit from 1 to 5, found {text!r}"
    assert read_digit(answer("", error="timed out")).error == "timed out"


def test_one_digit_with_its_distribution():
    verdict = read_digit(answer("4", logprobs=[token("4", 0.6, **{"5": 0.3, "3": 0.1})]))
    assert verdict.p == pytest.approx((0, 0, 0.1, 0.6, 0.3)) and verdict.expected == pytest.approx(4.2)


def test_a_digit_that_was_weighed_but_not_written():
    """However likely a digit was: what was written instead may have been a refusal."""
    for p in (0.4, 0.001):
        verdict = read_digit(answer("I", logprobs=[token("I", 0.5, **{"4": p})]))
        assert (verdict.raw, verdict.p, verdict.mode) == (None, None, "unscored")


def test_a_digit_that_was_weighed_counts_where_that_is_wanted():
    said = answer("<<", logprobs=[token("<<", 0.5, **{"4": 0.03, "2": 0.01})])
    verdict = read_digit(said, weighed=True)
    assert (verdict.raw, verdict.mode) == (4.0, "weighed")
    assert verdict.p == pytest.approx((0, 0.25, 0, 0.75, 0)) and verdict.expected == pytest.approx(3.5)
    hardly = answer("I", logprobs=[token("I", 0.9, **{"4": 1e-6})])
    assert read_digit(hardly, weighed=True).mode == "unscored"
    assert read_digit(answer("4 or 5", logprobs=[token("4", 0.9), token(" or", 1.0), token(" 5", 1.0)])).raw is None


def test_a_written_answer_has_the_distribution_at_its_score():
    pieces = ['{"', "score", '":', " ", "2", ', "reason": "other"}']
    tokens = [token(piece, 0.9) for piece in pieces]
    tokens[4] = token("2", 0.75, **{"3": 0.25})
    given = answer("".join(pieces), {"score": 2, "reason": "other", "rationale": ""}, logprobs=tokens)
    verdict = read_score_verdict(given, "en")
    assert verdict.p == pytest.approx((0, 0.75, 0.25, 0, 0)) and verdict.expected == pytest.approx(2.25)


def written(score, **further):
    return read_score_verdict(answer("…", {"score": score, "reason": None, "rationale": f"a {score}"}, **further), "en")


def test_draws_are_pooled_into_shares():
    failed = read_score_verdict(answer("no idea", tokens_in=10), "en")
    verdict = pool_verdicts([written(5, tokens_in=10), failed, written(2, tokens_in=10), written(2, tokens_in=10)])
    assert verdict.raw == 2.0 and verdict.rationale == "a 2" and verdict.mode == "samples"
    assert verdict.p == pytest.approx((0, 2 / 3, 0, 0, 1 / 3)) and verdict.expected == pytest.approx(3.0)
    assert verdict.tokens_in == 40 and verdict.error is None
    assert pool_verdicts([written(5), written(3), written(4)]).raw == 4.0, "of equally common scores the middle one"


def test_draws_that_all_fail_are_one_unscored_verdict():
    verdict = pool_verdicts(
        [read_score_verdict(answer("no idea", tokens_in=10), "en"), read_digit(answer("x", tokens_in=10))]
    )
    assert (verdict.raw, verdict.p, verdict.mode) == (None, None, "unscored")
    assert (verdict.error, verdict.tokens_in) == ("no score in the answer", 20)


def test_how_often_and_with_what_a_question_is_put():
    (once,) = JudgeSettings().requests("judge_generic", SHOWN)
    assert (once.temperature, once.seed, once.sample, once.top_logprobs) == (0.2, 42, 0, 20)
    draws = JudgeSettings(samples=3).requests("judge_generic", SHOWN)
    assert [(d.sample, d.seed, d.temperature) for d in draws] == [(0, 42, 0.2), (1, 43, 0.2), (2, 44, 0.2)]
    (digit,) = JudgeSettings(with_rationale=False).requests("judge_generic", SHOWN | {"written": False})
    assert (digit.schema, digit.max_tokens, digit.temperature) == (None, 1, 0.0)
    hot = JudgeSettings(with_rationale=False, samples=2).requests("judge_generic", SHOWN | {"written": False})
    assert [d.temperature for d in hot] == [1.0, 1.0]
    (warm,) = JudgeSettings(temperature=0.3, seed=None).requests("judge_generic", SHOWN)
    assert (warm.temperature, warm.seed) == (0.3, None)


def test_answers_of_several_draws_go_to_their_question():
    def reply(stage, requests):
        assert len(requests) == 4 and stage == "judge"
        return [answer("…", {"score": s}) for s in (1, 1, 5, 5)]

    questions = [SHOWN, SHOWN | {"reply": "another"}]
    verdicts = in_rounds(partial(JudgeSettings(samples=2).ask, "judge_generic", questions), reply)
    assert [v.raw for v in verdicts] == [1.0, 5.0]
    assert all(v.prompt.startswith("en/judge_generic@") for v in verdicts)


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"samples": 2, "temperature": 0}, {"window": -1}])
def test_manners_that_cannot_be(wrong):
    with pytest.raises(DataError, match=next(iter(wrong)) if len(wrong) == 1 else "temperature"):
        JudgeSettings(**wrong)


def test_bad_answers_over_the_wire(server, model):
    """Each first answer is bad and so is the one to the re-ask; what can be read_score_verdict is read_score_verdict, the rest says why."""
    good = {"score": 4, "reason": "satisfied", "rationale": "fits"}
    cases = {
        json.dumps(good | {"score": 7}): (None, "unscored"),
        json.dumps(good | {"score": "4"}): (4.0, "text"),
        f"Here you are:\n```json\n{json.dumps(good)}\n```": (4.0, "text"),
        json.dumps(good | {"reason": "满意"}): (4.0, "text"),
        "4/5": (4.0, "prose"),
        "四分": (4.0, "prose"),
        "It is a fine plan, I like it.": (None, "unscored"),
        "I'm sorry, but I cannot help with that.": (None, "unscored"),
        "": (None, "unscored"),
    }
    texts = list(cases)
    server.reply = lambda body: texts[int(body["messages"][1]["content"].split("number ")[1].split("\n")[0])]
    questions = [SHOWN | {"reply": f"number {i}"} for i in range(len(texts))]
    refused = completion(None, refusal="I will not judge people")
    verdicts = model().work([partial(JudgeSettings().ask, "judge_generic", questions)], progress=False)[0]
    assert {t: (v.raw, v.mode) for t, v in zip(texts, verdicts)} == cases
    assert all(v.error for v in verdicts if v.raw is None) and not any(v.error for v in verdicts if v.raw)
    assert all(v.p is None for v in verdicts if v.raw is None)

    server.reply = lambda body: refused
    (verdict,) = model().work([partial(JudgeSettings().ask, "judge_generic", [SHOWN])], progress=False)[0]
    assert verdict.raw is None and "I will not judge people" in verdict.error
