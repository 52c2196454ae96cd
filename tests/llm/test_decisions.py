"""Typed questions: both published forms over HTTP, odd answers, and models that only complete texts."""

from __future__ import annotations

import json
import math

import pytest
from deciding_endpoint import USAGE, Deciding
from endpoint import HASTY, completion, status
from hypothesis import given
from hypothesis import strategies as st

from perslib.errors import BackboneError, Refused
from perslib.llm import Cache, Request, backbone, dry_run
from perslib.llm.questions import MOST, Choice, Predicate, Score
from perslib.llm.structured.decisions import FORMS, read_decisions

SCORE = Score("score", "How satisfied?", {"1": "not at all", "2": "", "3": "", "4": "", "5": "fully"})
REASON = Choice("reason", "Why?", {"too long": "more than was asked", "wrong": ""})
PRICES = Predicate("M1", "It goes against: wants prices.")
ALL = (SCORE, REASON, PRICES)


@pytest.fixture
def deciding(home):
    with Deciding() as server:
        yield server


@pytest.fixture
def made(home, deciding):
    def make(**options):
        options = {"base_url": deciding.base_url, "patience": HASTY, "kind": "decisions", "model": "luna", **options}
        return backbone("openai", key_env="", **options)

    return make


def ask(model, questions=ALL, text="A reply.", **more):
    return model.ask(Request(text, questions=questions, **more))


@pytest.mark.parametrize("form", ["decisions", "systemone"])
def test_one_request_gives_every_probability(made, deciding, form):
    answer = ask(made(decisions=form), cache_key="block 7")
    assert answer.ok and answer.mode == "decided" and len(deciding.bodies) == 1
    assert list(answer.data) == ["score", "reason", "M1"]
    assert answer.data["score"]["p"] == pytest.approx(dict(zip("12345", [0.05 / 3] * 3 + [0.85, 0.1])))
    assert answer.data["reason"]["p"] == pytest.approx({"too long": 0.9, "wrong": 0.1})
    assert answer.data["M1"]["p"] == pytest.approx({"yes": 0.9, "no": 0.1})
    (body,) = deciding.bodies
    assert body.get("prompt_cache_key") == ("block 7" if form == "decisions" else None)
    assert (answer.tokens_in, answer.tokens_cached) == ((100, 64) if form == "decisions" else (50, 0))


def test_a_second_time_it_comes_from_the_cache_whatever_the_cache_key(made, deciding):
    first, again = ask(made(), cache_key="one"), ask(made(), cache_key="another")
    assert again.cached and again.data == first.data and len(deciding.bodies) == 1
    assert not ask(made(), (SCORE, REASON)).cached, "other questions are another request"
    renamed = Score("score", "How satisfied?", {"1": "not at all", "2": "", "3": "", "4": "", "5": "quite"})
    assert not ask(made(), (renamed, REASON, PRICES)).cached


def test_four_hundred_questions_go_in_one_request(made, deciding):
    many = tuple(Predicate(f"M{i}", f"Statement {i}.") for i in range(MOST))
    assert len(ask(made(), many).data) == MOST and len(deciding.bodies) == 1
    with pytest.raises(ValueError, match="at most 400"):
        Request("A reply.", questions=(*many, SCORE))
    with pytest.raises(ValueError, match="different names"):
        Request("A reply.", questions=(SCORE, SCORE))


ANSWER = {"type": "score", "name": "score", "score": 3.0, "confidence": 0.5}
LEVELS = [{"label": str(i), "value": i - 1, "probability": 0.2} for i in range(1, 6)]
GOOD = {**ANSWER, "probabilities": LEVELS}
YES = {"type": "predicate", "name": "M1", "probability": 0.7}
ODD = {
    "refusal": ({"type": "refusal", "name": "score"}, "declined"),
    "sum": ({**ANSWER, "probabilities": LEVELS[:3]}, "sum to 0.6"),
    "not a number": ({**ANSWER, "probabilities": [{**LEVELS[0], "probability": math.nan}, *LEVELS[1:]]}, "nan"),
    "above one": ({**ANSWER, "probabilities": [{**LEVELS[0], "probability": 1.2}, *LEVELS[1:]]}, "'1.2'"),
    "text": ({**ANSWER, "probabilities": [{**LEVELS[0], "probability": "0.2"}, *LEVELS[1:]]}, "no probability"),
    "none": (ANSWER, "sum to 0"),
    "another option": ({**ANSWER, "probabilities": [{**LEVELS[0], "label": "6"}, *LEVELS[1:]]}, "no option"),
    "without a label": ({**ANSWER, "probabilities": [{"value": 1, "probability": 1.0}]}, "no option"),
    "twice": ({**ANSWER, "probabilities": [*LEVELS, LEVELS[0]]}, "two probabilities"),
    "another type": ({"type": "predicate", "name": "score", "probability": 0.5}, "a score was asked for"),
    "no answer": (None, "left the question out"),
}  # fmt: skip


#: More digits than a float has room for: what JSON may hold, and nothing may choke on.
HUGE = 10**400


@given(st.dictionaries(st.sampled_from("012345"), st.floats(0.1, 1), min_size=1, max_size=5), st.sampled_from(FORMS))
def test_any_levels_in_any_order_come_back_by_name(shares, form):
    """Levels that were left out have no share, and shift nobody's; places are `systemone`'s, where a key is no level."""
    total = sum(shares.values())
    answer = {"name": "score", "type": "score", "probabilities": {k: p / total for k, p in shares.items()}}
    got = read_decisions(form, [SCORE], {"answers": [answer] if form == "decisions" else {"score": answer}}).data[
        "score"
    ]
    names = {str(i): str(i + 1) for i in range(5)} if "0" in shares else {}
    if not names or (form == "systemone" and "5" not in shares):
        expected = {names.get(k, k): p / total for k, p in shares.items()}
        assert got["p"] == pytest.approx({level: expected.get(level, 0) for level in "12345"})
    else:
        assert "no option" in got["error"]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_four_hundred_digits_cost_one_answer_at_most(form):
    answers = [{"name": "M1", "type": "predicate", "probability": HUGE}, {"name": "score", **GOOD}]
    usage = {"input_tokens": HUGE, "output_tokens": -HUGE, "input_tokens_details": {"cached_tokens": HUGE}}
    given = answers if form == "decisions" else {answer["name"]: answer for answer in answers}
    read = read_decisions(form, (SCORE, PRICES), {"answers": given, "usage": usage})
    assert "no probability" in read.data["M1"]["error"] and read.data["score"]["p"]["5"] == 0.2
    assert (read.tokens_in, read.tokens_cached, read.tokens_out) == (0, 0, 0)


@pytest.mark.parametrize("name", ODD)
def test_of_an_odd_answer_only_its_own_question_is_lost(made, deciding, name):
    odd, words = ODD[name]
    deciding.reply = lambda body: {"model": "m", "answers": [one for one in (YES, odd) if one], "usage": USAGE}
    answer = ask(made(), (SCORE, PRICES))
    assert words in answer.data["score"]["error"] and answer.data["M1"]["p"]["yes"] == 0.7, "in whatever order"
    assert answer.ok


def test_rounded_probabilities_are_made_to_sum_to_one(made, deciding):
    rounded = [{**one, "probability": 0.199} for one in LEVELS]
    deciding.reply = lambda body: {"model": "m", "answers": [{**ANSWER, "probabilities": rounded}], "usage": USAGE}
    assert sum(ask(made(), (SCORE,)).data["score"]["p"].values()) == pytest.approx(1)


def test_where_nothing_was_answered_there_is_an_error_and_nothing_is_kept(made, deciding):
    deciding.reply = lambda body: {"model": "m", "answers": [{"type": "refusal", "name": "score"}], "usage": USAGE}
    assert ask(made(), (SCORE,)).error == "the model declined to answer"
    deciding.reply = lambda body: {"model": "m", "answers": [GOOD], "usage": USAGE}
    assert ask(made(), (SCORE,)).ok, "asked anew"


def test_answers_without_names_go_by_their_order(made, deciding):
    plain = [{**GOOD, "name": None}, {**YES, "name": None}]
    deciding.reply = lambda body: {"model": "m", "answers": plain, "usage": None}
    answer = ask(made(), (SCORE, PRICES))
    assert answer.data["M1"]["p"]["yes"] == 0.7 and answer.data["score"]["p"]["1"] == pytest.approx(0.2)
    deciding.reply = lambda body: {"model": "m", "answers": plain[:1], "usage": None}
    assert "left the question out" in ask(made(), (SCORE, PRICES), "Another.").error, "which one is not told"


def test_a_reply_without_answers_is_tried_again_then_given_up(made, deciding):
    deciding.reply = lambda body: {"model": "m", "choices": []}
    answer = ask(made())
    assert "the reply has no answers" in answer.error and len(deciding.bodies) == HASTY.tries


def test_what_is_no_decision_model_says_so_and_ends_the_run_at_once(made, deciding):
    deciding.next(status(501, "This model is not a decision model"))
    with pytest.raises(Refused, match="This model is not a decision model"):
        ask(made(decisions="systemone"))
    assert len(deciding.bodies) == 1, "another try would end the same way"


def test_a_cache_key_that_is_not_taken_is_left_out_from_then_on(made, deciding):
    deciding.next(status(400, "Unknown parameter: prompt_cache_key"))
    assert ask(made(), cache_key="block 7").ok
    assert ask(made(), text="Another.", cache_key="block 7").ok
    assert ["prompt_cache_key" in body for body in deciding.bodies] == [True, False, False]


def test_an_entry_for_decisions_writes_no_texts(made, deciding):
    with pytest.raises(BackboneError, match="answers typed questions alone"):
        made().ask("Say hi.")
    assert not deciding.bodies


def test_check_finds_the_form_and_asks_nothing_else(made, deciding):
    probe = made().probe()
    assert probe.decisions == "decisions" and len(deciding.bodies) == 1
    assert "typed questions     answered at /decisions" in probe.describe()
    assert "typed questions, all on a reply in one request" in probe.verdict()


def test_check_finds_decisions_beside_chat_and_judges_go_by_it(made, deciding):
    deciding.reply = lambda body: completion("4") if "messages" in body else None
    model = made(kind="endpoint")
    assert model.probe().decisions == "decisions"
    before = len(deciding.bodies)
    assert ask(model).mode == "decided" and len(deciding.bodies) == before + 1


def test_check_says_why_there_are_none(model, server):
    probe = model().probe()
    assert probe.decisions == "" and "typed questions     no (404: Not Found)" in probe.describe()


# -- a model that completes texts ----------------------------------------------------------------------------


def token(shares: dict[str, float]):
    best = max(shares, key=lambda label: shares[label])
    top = [{"token": t, "logprob": math.log(p)} for t, p in shares.items()]
    reply = completion(best, finish="length")
    reply["choices"][0]["logprobs"] = {
        "content": [{"token": best, "logprob": math.log(shares[best]), "top_logprobs": top}]
    }
    return reply


def complete(body):
    """A digit where scores are asked for, a letter for other questions; with log probabilities."""
    text = body["messages"][-1]["content"]
    return (
        token({"4": 0.6, " 4": 0.1, "5": 0.3}) if "1, 2, 3, 4, 5" in text else token({"A": 0.25, "B": 0.5, "no": 0.2})
    )


def test_with_log_probabilities_each_question_takes_a_token(model, server):
    server.reply = complete
    asked = model(logprobs=True)
    answer = ask(asked)
    assert answer.mode == "token" and answer.ok
    assert answer.data["score"]["p"] == pytest.approx({"1": 0, "2": 0, "3": 0, "4": 0.7, "5": 0.3})
    assert answer.data["reason"]["p"] == pytest.approx({"too long": 1 / 3, "wrong": 2 / 3})
    assert answer.data["M1"]["p"] == pytest.approx({"yes": 1 / 3, "no": 2 / 3})
    assert [body["max_tokens"] for body in server.bodies] == [1, 1, 1] and asked.ledger.total.calls == 3
    texts = [body["messages"][0]["content"] for body in server.bodies]
    assert all(text.startswith("A reply.\n\n") for text in texts), "what they share comes first"
    assert "B = wrong" in texts[1] and "5 = fully" in texts[0]
    again = ask(asked, (SCORE, PRICES))
    assert again.cached and len(server.bodies) == 3, "each question is in the cache by itself"


def test_without_log_probabilities_the_option_is_the_answer(model, server):
    server.reply = lambda body: "4" if "1, 2, 3, 4, 5" in body["messages"][-1]["content"] else "Well…"
    answer = ask(model())
    assert answer.data["score"] == {"choice": "4"} and "expected one of A, B" in answer.data["reason"]["error"]


@pytest.mark.parametrize("options", [{"logprobs": False}, {"reasons": True}])
def test_a_model_that_gives_none_or_thinks_first_answers_in_json(model, server, options):
    server.reply = lambda body: json.dumps({"score": "4", "reason": "wrong", "M1": "no"})
    answer = ask(model(**options))
    assert answer.data == {"score": {"choice": "4"}, "reason": {"choice": "wrong"}, "M1": {"choice": "no"}}
    (body,) = server.bodies
    assert body["response_format"]["json_schema"]["schema"]["properties"]["reason"] == {"enum": ["too long", "wrong"]}


def test_a_dry_run_counts_what_would_be_asked(model, made, server):
    for known, calls in ((model(logprobs=True), 3), (model(logprobs=False), 1), (made(), 1)):
        dry = dry_run(known)
        answer = ask(dry)
        assert answer.is_made_up and list(answer.data) == ["score", "reason", "M1"]
        assert (dry.ledger.total.calls, dry.ledger.total.tokens_in > 20) == (calls, True)
    assert not server.bodies


def test_the_cache_alone_answers_or_says_that_it_cannot(made, deciding):
    ask(made())
    only = made(cache=Cache(policy="only"))
    assert ask(only).ok and ask(only, (SCORE,)).error == "not in the cache"
