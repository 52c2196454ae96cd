"""The structured-output ladder: which rung is asked, what is recorded, what is remembered."""

import json

import pytest
from endpoint import completion, raw, reasoner, says, status

from perslib.errors import Refused
from perslib.judge.asking.scores import read_score_verdict
from perslib.llm import Ledger, Request, RetryPolicy
from perslib.llm.ledger import describe_spending
from perslib.llm.structured.parsing import is_closed

SCORE = {
    "title": "verdict",
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["score"],
    "additionalProperties": False,
}


def rungs(server):
    """How each call asked for its form."""
    return [(body.get("response_format") or {"type": "text"})["type"] for body in server.bodies]


def test_the_schema_is_sent_and_the_rung_recorded(server, model):
    server.reply = lambda body: '{"score": 4}'
    answer = model().ask("Rate it.", schema=SCORE)
    assert (answer.data, answer.mode, answer.error) == ({"score": 4}, "schema", None)
    sent = server.bodies[0]
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": SCORE, "strict": True},
    }
    assert sent["messages"] == [{"role": "user", "content": "Rate it."}], "an enforced schema needs no words"


@pytest.mark.parametrize(("rung", "sent"), [("json", "json_object"), ("text", "text")])
def test_lower_rungs_spell_the_schema_out_at_the_end(server, model, rung, sent):
    server.reply = lambda body: '{"score": 4}'
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Rate it."}]
    answer = model(structured=rung).ask(messages, schema=SCORE)
    assert answer.mode == rung
    assert rungs(server) == [sent]
    first, last = server.bodies[0]["messages"]
    assert first == messages[0]
    assert last["content"].startswith("Rate it.\n\nAnswer with one JSON object")
    assert json.dumps(SCORE) in last["content"]


def test_a_chinese_prompt_is_continued_in_chinese(server, model):
    server.next(says('{"score": 7}'), says('{"score": 4}'))
    answer = model(structured="text").ask("请给这条回复打分。", schema=SCORE)
    assert answer.mode == "reask"
    assert "只输出一个 JSON 对象" in server.bodies[0]["messages"][-1]["content"]
    assert "上面的回复无法使用" in server.bodies[1]["messages"][-1]["content"]


def test_an_endpoint_that_refuses_the_form_is_asked_one_rung_lower_and_remembered(server, model):
    def reply(body):
        form = body.get("response_format", {}).get("type")
        if form == "json_schema":
            return status(400, "This response_format type is unavailable now")
        if form == "json_object":
            return status(422, "extra fields not permitted: response_format")
        return 'Sure! {"score": 4}'

    server.reply = reply
    first = model().ask("Rate it.", schema=SCORE)
    assert (first.data, first.mode) == ({"score": 4}, "text")
    assert rungs(server) == ["json_schema", "json_object", "text"]
    model().ask("Rate another.", schema=SCORE)
    assert rungs(server)[3:] == ["text"], "in this process it is not asked again"


def test_a_refusal_about_something_else_is_not_taken_for_one_about_the_form(server, model):
    server.next(status(400, "temperature must be 1"))
    with pytest.raises(Refused, match="temperature must be 1"):
        model().ask("Rate it.", schema=SCORE)
    assert len(server.bodies) == 1


def test_repaired_writing_is_recorded_as_text(server, model):
    server.next(says("```json\n{'score': '4',}\n```"))
    answer = model().ask("Rate it.", schema=SCORE)
    assert (answer.data, answer.mode) == ({"score": 4}, "text")
    assert answer.raw == "```json\n{'score': '4',}\n```"


def test_out_of_range_is_asked_again_with_its_fault_shown(server, model):
    server.next(says('{"score": 7}'), says('{"score": 5}'))
    answer = model().ask("Rate it.", schema=SCORE)
    assert (answer.data, answer.mode, answer.error) == ({"score": 5}, "reask", None)
    assert (answer.raw, answer.earlier) == ('{"score": 5}', ('{"score": 7}',))
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out) == (200, 80, 20)
    asked, said, again = server.bodies[1]["messages"]
    assert asked["content"] == "Rate it."
    assert said == {"role": "assistant", "content": '{"score": 7}'}
    assert "score: 7 is greater than the maximum of 5" in again["content"]


def test_two_replies_that_do_not_fit_are_unscored_with_the_reason_and_the_raw(server, model):
    server.reply = lambda body: '{"score": 7}'
    answer = model().ask("Rate it.", schema=SCORE)
    assert (answer.data, answer.mode) == (None, "unscored")
    assert answer.error == "after a re-ask, score: 7 is greater than the maximum of 5"
    assert answer.raw == '{"score": 7}'
    assert len(server.bodies) == 2
    assert model().ask("Rate it.", schema=SCORE) == answer.with_(cached=True)
    assert len(server.bodies) == 2, "a complete reply that does not fit is final"


def test_an_unscored_reply_is_read_again_from_the_cache(server, model, monkeypatch):
    server.reply = lambda body: '{"score": 4}!'
    with monkeypatch.context() as dull:
        dull.setattr("perslib.llm.structured.fallbacks.parse", lambda text, schema: (None, "cannot read it"))
        assert model().ask("Rate it.", schema=SCORE).mode == "unscored"
    again = model().ask("Rate it.", schema=SCORE)
    assert (again.data, again.mode, again.error, again.cached) == ({"score": 4}, "reask", None, True)
    assert len(server.bodies) == 2


def test_a_reask_that_fails_leaves_the_row_unscored_and_open(server, model):
    server.next(says('{"score": 7}'), status(500), says('{"score": 4}'))
    backbone = model(patience=RetryPolicy(tries=1))
    answer = backbone.ask("Rate it.", schema=SCORE)
    assert answer.mode == "unscored"
    assert answer.error.startswith("score: 7 is greater than the maximum of 5; asked again: gave up")
    assert backbone.ask("Rate it.", schema=SCORE).data == {"score": 4}


def test_a_cut_reply_is_unscored_without_asking_again(server, model):
    server.next(says('{"score": 4, "analysis": "The user', finish="length"))
    answer = model().ask("Rate it.", schema=SCORE, max_tokens=10)
    assert (answer.mode, answer.error) == ("unscored", "truncated at 10 tokens")
    assert len(server.bodies) == 1


def test_a_reply_that_was_cut_is_none_even_if_it_reads_well(server, model):
    """What a model that had more to say would have concluded is not known."""
    server.next(says('{"score": 4}\nOn second thoughts', finish="length"))
    assert model().ask("Rate it.", schema=SCORE).error == "truncated at 10 tokens"
    server.next(says('{"score": 5}'))
    assert model().ask("Rate it.", schema=SCORE).data == {"score": 5}, "and it was not cached"


def test_every_request_is_a_call_and_the_ledger_says_what_did_not_fit(server, model):
    server.reply = lambda body: '{"score": 9}'
    backbone = model()
    verdicts = [read_score_verdict(backbone.ask(f"Rate {i}.", schema=SCORE), "en") for i in range(3)]
    spent = backbone.ledger.total
    assert spent.calls == len(server.bodies) == 6 and spent.unreadable == len(verdicts) == 3
    assert "3 not as asked for (the first: after a re-ask, score: 9" in describe_spending(spent)
    assert Ledger.from_dict(backbone.ledger.as_dict()).total == spent


@pytest.mark.parametrize("finish", ["length", "content_filter", "another_end"])
@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"score": 4}', 4),
        ('```json\n{"score": 4}\n```', 4),
        ('{"score": 4} but', None),
        ('{"score": 4, "why": "Th', None),
        ("Score: 4, for", None),
    ],
)
def test_what_is_scored_is_kept_however_it_ended_and_what_is_not_is_asked_again(server, model, finish, text, score):
    server.reply = lambda body: completion(text, finish=finish)
    asked = []
    for _ in range(2):
        answer = model().ask("Rate it.", schema=SCORE)
        assert read_score_verdict(answer, "en").raw == score and answer.ok == (score is not None)
        asked.append(len(server.bodies))
    assert asked == ([1, 1] if score else [1, 2])
    assert answer.raw == text and (answer.ok or not answer.text), "nobody reads a score from what was cut"


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_of_a_reply_in_words_that_was_cut_there_is_the_text_but_no_score(server, model, finish):
    server.reply = lambda body: completion("Score: 4", finish=finish)
    answer = model().ask("Rate it.", max_tokens=8)
    assert answer.text == "Score: 4" and answer.error and read_score_verdict(answer, "en").raw is None


def test_what_is_cut_at_our_own_limit_under_a_seed_is_not_asked_again(server, model):
    cut = says('{"score": 4}\nOn second', finish="length")
    for schema in (SCORE, None):
        server.next(cut)
        first = model().ask("Rate it.", schema=schema, max_tokens=10, seed=1)
        again = model().ask("Rate it.", schema=schema, max_tokens=10, seed=1)
        assert first.error == again.error == "truncated at 10 tokens" and again.cached and again.data is None
    server.reply = lambda body: '{"score": 5}'
    assert model().ask("Rate it.", schema=SCORE, max_tokens=20, seed=1).data == {"score": 5}, (
        "a higher limit is a new one"
    )


def test_a_key_withdrawn_between_a_reply_and_its_reask_ends_the_run(server, model):
    server.next(says('{"score": 7}'), status(401, "key revoked"))
    with pytest.raises(Refused, match="key revoked"):
        model().ask("Rate it.", schema=SCORE)


@pytest.mark.parametrize(
    "message",
    [
        {"content": '<think>{"score": 1}</think>\n{"score": 4}'},
        {"content": 'hm {"score": 1}\n</think>{"score": 4}'},
        {"content": '{"score": 4}', "reasoning_content": "I weighed it."},
        {"content": '{"score": 4}', "reasoning": "I weighed it."},
        {"content": None, "reasoning_content": '{"score": 4}'},
        {"content": [{"type": "text", "text": '{"score": '}, {"type": "text", "text": "4}"}]},
    ],
)
def test_reasoning_never_breaks_a_score(server, model, message):
    content = message.pop("content")
    server.reply = lambda body: completion(content, **message)
    answer = model().ask("Rate it.", schema=SCORE)
    assert (answer.data, answer.error) == ({"score": 4}, None)
    assert len(server.bodies) == 1


def test_reasoning_is_kept_apart_from_the_text(server, model):
    server.next(says("<think>in tags</think>Hello.", reasoning_content="in a field"))
    answer = model().ask("Hello?")
    assert (answer.text, answer.reasoning) == ("Hello.", "in a field\nin tags")
    assert answer.raw == "<think>in tags</think>Hello."


def test_an_endpoint_that_forbids_log_probabilities_is_asked_without(server, model, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")

    def reply(body):
        refused = status(403, "You are not allowed to request logprobs from this model")
        return refused if "logprobs" in body else "4"

    server.reply = reply
    asked = [Request(f"Score {i}?", max_tokens=1, top_logprobs=5) for i in range(6)]
    answers = model(key_env="SOME_KEY", concurrency=3).ask_many(asked, progress=False)
    assert [(a.text, a.error) for a in answers] == [("4", None)] * 6
    assert sum("logprobs" in body for body in server.bodies) <= 3, "what was refused is remembered"


@pytest.mark.parametrize(
    ("words", "options", "remedy"),
    [
        ("Unsupported value: 'temperature' does not support 0.2.", {}, 'put omit = ["temperature"] into'),
        ("`seed` is not a known field", {}, 'put omit = ["seed"] into'),
        ("Unsupported parameter: seed", {}, 'put omit = ["seed"] into'),
        ("seed: Extra inputs are not permitted", {}, 'put omit = ["seed"] into'),
        ("top_k: extra inputs are not permitted", {"extra_body": {"top_k": 3}}, "take it out of extra_body in"),
    ],
)
def test_a_field_that_a_refusal_names_is_left_out_once_and_for_all(server, model, caplog, words, options, remedy):
    server.next(status(400, words))
    assert model(**options).ask("Hello?", temperature=0.2, seed=1).text == "ok"
    (field,) = server.bodies[0].keys() - server.bodies[1].keys()
    assert field in words and f"does not take '{field}'" in caplog.text
    model(**options, concurrency=3).ask("Again?", temperature=0.2, seed=1)
    assert field not in server.bodies[2] and len(server.bodies) == 3, "also by a client that has not met it"
    server.next(status(400, words))
    with pytest.raises(Refused, match="refused"):
        model(**options).ask("Once more?", temperature=0.2, seed=1)


def test_a_refusal_of_the_form_names_the_setting(server, model):
    server.reply = lambda body: status(400, "`tools` is required")
    with pytest.raises(Refused) as caught:
        model(extra_body={"response_format": {"type": "x"}}).ask("Hello?")
    assert not caught.value.field
    server.reply = lambda body: status(400, "response_format is unknown")
    with pytest.raises(Refused, match=r'put structured = "text" into|take it out of extra_body in'):
        model(extra_body={"response_format": {"type": "x"}}).ask("Hello?")


def test_a_reasoning_model_is_learned_and_gets_room_for_its_thoughts(server, model):
    """One digit with log probabilities is asked for; what comes is a digit after thoughts, without any setting."""
    server.reply = reasoner
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Score?"}]
    asked = Request(messages, max_tokens=1, temperature=0.6, top_logprobs=20)
    judge = model(effort="low", thoughts=500)
    answer = judge.ask(asked)
    assert (answer.text, answer.error, answer.tokens_thought) == ("4", None, 120), (
        "what the reply without room took counts"
    )
    last = server.bodies[-1]
    assert last["max_completion_tokens"] == 516 and last["reasoning_effort"] == "low"
    assert last["messages"] == [{"role": "user", "content": "You judge.\n\nScore?"}]
    before = len(server.bodies)
    assert judge.ask("And now?", max_tokens=1, temperature=0.6, top_logprobs=20).text == "4"
    assert len(server.bodies) == before + 1, "nothing is refused twice"
    assert judge.ledger.total.tokens_thought == 180


def test_of_calls_side_by_side_each_gets_room_for_thoughts_once(server, model):
    """All are under way when the first shows that the model thinks."""

    def think(body):
        number = int(body["messages"][0]["content"].split()[-1])
        is_cut = body["max_tokens"] <= 400
        reply = completion("" if is_cut and number % 2 else '{"score": ' if is_cut else '{"score": 4}')
        reply["choices"][0] |= {"finish_reason": "length" if is_cut else "stop"}
        if number % 3:  # some servers show thoughts, some count them, some do neither
            reply["choices"][0]["message"]["reasoning_content"] = "hm"
        elif number % 2 == 0:
            reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": 9}
        return reply

    server.reply, server.latency = think, 0.05
    questions = [Request(f"rate {n}", schema=SCORE, max_tokens=400) for n in range(12)]
    answers = model(concurrency=12).ask_many(questions, progress=False)
    assert [a.data for a in answers] == [{"score": 4}] * 12
    assert len(server.bodies) == 24, "each is asked with room once"
    assert [body["max_tokens"] > 400 for body in server.bodies] == [False] * 12 + [True] * 12


def test_a_reply_without_a_bound_that_ends_in_thoughts_is_not_asked_for_twice(server, model):
    server.reply = lambda body: completion("", finish="length", reasoning_content="hm")
    assert "truncated" in model().ask("Hello?").error
    assert len(server.bodies) == 1


def test_a_system_role_that_stands_alone_becomes_the_users(server, model):
    server.reply = reasoner
    model().ask([{"role": "system", "content": "Greet."}])
    assert server.bodies[-1]["messages"] == [{"role": "user", "content": "Greet."}]


def test_log_probabilities_are_left_out_whatever_else_a_refusal_names(server, model):
    server.next(status(400, "logprobs is not supported with temperature > 0"))
    answer = model().ask("Score?", max_tokens=1, top_logprobs=5, temperature=0.7)
    assert answer.text == "ok" and "logprobs" not in server.bodies[1]


def test_a_refused_key_is_no_refused_field(server, model):
    server.next(status(401, "Incorrect API key provided for user x"))
    with pytest.raises(Refused) as caught:
        model(extra_body={"user": "u1"}).ask("Hello?")
    assert not caught.value.field


@pytest.mark.parametrize(
    "words",
    [
        "/chat/completions: Invalid model name passed in model=nope. Call `/v1/models` to view available models.",
        "Model Not Exist",
        "qwen/nope is not a valid model ID",
    ],
)
def test_a_gateway_without_the_model_names_the_setting(server, model, words):
    server.next(status(400, words))
    with pytest.raises(Refused, match=r"check base_url and model \('Qwen/Qwen3-8B'\) of \[vllm-qwen3-8b\]"):
        model().ask("Hello?")


def test_logprobs_are_asked_for_and_kept(server, model):
    body = completion("4")
    top = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.4}]
    body["choices"][0]["logprobs"] = {"content": [{"token": "4", "logprob": -0.1, "top_logprobs": top}]}
    server.next(raw(json.dumps(body)))
    answer = model().ask("Score?", max_tokens=1, top_logprobs=5)
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (True, 5)
    assert answer.logprobs == [{"token": "4", "logprob": -0.1, "top": [("4", -0.1), ("5", -2.4)]}]
    again = model().ask("Score?", max_tokens=1, top_logprobs=5)
    assert again.cached
    assert again.logprobs == answer.logprobs


def test_what_an_endpoint_does_not_take_is_left_out_and_remembered(server, model):
    def reply(body):
        if "logprobs" in body:
            return status(400, "logprobs is not supported with this model")
        if "max_tokens" in body:
            return status(400, "Use 'max_completion_tokens' instead of 'max_tokens'.")
        return "ok"

    server.reply = reply
    answer = model().ask("Hello?", max_tokens=5, top_logprobs=5)
    assert (answer.text, answer.logprobs) == ("ok", None)
    assert server.bodies[-1]["max_completion_tokens"] == 5
    model().ask("Again?", max_tokens=5, top_logprobs=5)
    assert len(server.bodies) == 4


def test_the_body_holds_what_was_asked_and_what_the_entry_adds(server, model):
    request = Request(
        "Hello?", temperature=0.2, max_tokens=9, seed=3, stop=["END"], extra={"top_p": 0.5}, prompt="en/x@1:ab"
    )
    model().ask(request)
    assert server.bodies[0] == {
        "model": "Qwen/Qwen3-8B",
        "messages": [{"role": "user", "content": "Hello?"}],
        "temperature": 0.2,
        "max_tokens": 9,
        "seed": 3,
        "stop": ["END"],
        "chat_template_kwargs": {"enable_thinking": False},
        "top_p": 0.5,
    }
    model(omit=["temperature", "seed"], max_tokens_as="max_completion_tokens").ask(request)
    assert server.bodies[1].keys() == server.bodies[0].keys() - {"temperature", "seed", "max_tokens"} | {
        "max_completion_tokens"
    }


def test_what_an_entry_omits_is_not_sent_for_a_judge_either(server, model):
    asked = Request("hi", extra={"reasoning_effort": "low", "top_p": 0.9})
    model(omit=["reasoning_effort"]).ask(asked)
    assert server.bodies[0]["top_p"] == 0.9
    assert "reasoning_effort" not in server.bodies[0]


def test_half_a_surrogate_pair_does_not_end_the_run(server, model):
    assert model().ask("broken \ud83d emoji").ok
    assert server.bodies[0]["messages"][0]["content"] == "broken ? emoji"


def test_closed_schemas_are_recognised():
    assert is_closed(SCORE)
    assert not is_closed({**SCORE, "required": []})
    assert not is_closed({"type": "object", "properties": {}})
    inner = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
    assert not is_closed({**SCORE, "properties": {"score": inner}})
