"""What endpoints do wrong, over real HTTP on loopback."""

import asyncio
import json
import re
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web
from endpoint import HASTY, completion, empty, endless, html, raw, reset, says, silent, status
from histories import corpus_of, scored_past

from perslib.errors import BudgetReached, GaveUp, MissingKey, Refused, Unreachable
from perslib.judge import Generic, JudgeSettings, evaluate
from perslib.judge.asking.scores import read_score_verdict as read_verdict
from perslib.llm import Request, RetryPolicy
from perslib.llm.cache.store import CacheWarning
from perslib.report.run.manifest import without_secrets

KEY = "sk-live-0123456789abcdefghij"
SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["score"],
}


@pytest.mark.parametrize(
    "fault",
    [
        status(408),
        status(409),
        status(429, "slow down"),
        status(500),
        status(503, retry_after="0.01"),
        html(502),
        reset(),
        empty(),
        raw("{"),
        raw('{"choices": [{"message": {"content": "cut o'),
        raw("<html>Welcome to the hotel WiFi</html>", "text/html"),
        raw('"a string"'),
        raw('{"error": {"code": 429, "message": "upstream is busy"}}'),
    ],
)
def test_passing_faults_are_retried(server, model, fault):
    server.next(fault, fault)
    answer = model().ask("Hello?")
    assert (answer.text, answer.error, answer.retries) == ("ok", None, 2)
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(500, "kaput"), "500: kaput"),
        (html(502), "502: 502 Bad Gateway nginx"),
        (reset(), "the connection broke"),
        (empty(), "no choices"),
        (raw("oops"), "not JSON: 'oops'"),
    ],
)
def test_a_lasting_fault_is_an_answer_without_text(server, model, fault, words):
    server.next(*[fault] * 9)
    backbone = model()
    answer = backbone.ask("Hello?")
    assert answer.error.startswith("gave up after 4 tries: ")
    assert words in answer.error
    assert answer.text == ""
    assert len(server.bodies) == HASTY.tries
    server.faults.clear()
    assert backbone.ask("Hello?").text == "ok", "a failure must not be cached"


@pytest.mark.parametrize("when", ["seconds", "date"])
def test_retry_after_is_honoured(server, model, when):
    wait = 0.4 if when == "seconds" else 2.0
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=wait), usegmt=True)
    server.next(status(429, retry_after="0.4" if when == "seconds" else date))
    assert model(patience=RetryPolicy(backoff=0.001)).ask("Hello?").ok
    # A date has whole seconds, so up to one of the two may be gone when it is read_score_verdict.
    assert server.times[1] - server.times[0] >= (0.4 if when == "seconds" else 0.9)


def test_retry_after_holds_back_the_other_calls_too(server, model):
    server.next(status(429, retry_after="0.3"))
    server.reply = lambda body: "ok"
    assert all(a.ok for a in model(concurrency=2).ask_many(["a", "b", "c", "d"], progress=False))
    early = [t for t in server.times if t - server.times[0] < 0.25]
    assert len(early) <= 3, "only calls that were already under way may arrive before the time is up"


def test_waiting_is_bounded(server, model):
    server.next(*[status(429, "come back tomorrow", retry_after="86400")] * 2)
    started = time.monotonic()
    answer = model().ask("Hello?")
    assert time.monotonic() - started < 1
    assert "the next wait of 86400 s would pass the bound of 2 s" in answer.error
    assert "come back tomorrow" in answer.error
    assert len(server.bodies) == 1


@pytest.mark.parametrize("fault", [endless(), silent()])
def test_a_body_that_never_ends_is_given_up(server, model, fault):
    server.next(fault, fault)
    answer = model(timeout=0.2, patience=RetryPolicy(tries=2, backoff=0.01)).ask("Hello?")
    assert answer.error == "gave up after 2 tries: no complete reply within 0.2 s"


def test_tries_and_waits_of_a_question_have_one_bound(server, model):
    asked = model(timeout=0.1, deadline=0.3, patience=RetryPolicy(tries=50, backoff=0.1, longest=0.1))
    server.next(*[silent(), status(503), reset()] * 20)
    started = time.monotonic()
    answer = asked.ask("Hello?")
    assert time.monotonic() - started < 1
    assert "0.3 s that a question may take" in answer.error and not answer.ok
    server.faults.clear()
    assert asked.ask("Hello?").text == "ok", "what ran out of time is not kept"


def test_a_question_that_is_asked_again_has_no_more_time(server, model):
    asked = model(timeout=5, deadline=0.4)
    server.latency, server.reply = 0.25, lambda body: "hardly a score"
    answer = asked.ask("Score?", schema=SCORE)
    assert (answer.text, answer.mode, len(server.bodies)) == ("hardly a score", "unscored", 2)
    assert "asked again: gave up after 1 try: no complete reply within the 0.4 s" in answer.error
    server.latency, server.reply = 0, lambda body: '{"score": 4}'
    assert asked.ask("Score?", schema=SCORE).ok


def test_the_queue_before_a_question_is_none_of_its_time(server, model):
    server.latency = 0.2
    asked = model(concurrency=1, deadline=0.35)

    async def all_at_once():
        return await asyncio.gather(*(asked.ask_async(name) for name in "abcd"))

    assert all(answer.ok for answer in asyncio.run(all_at_once()))


def test_without_a_word_a_question_has_three_timeouts_and_the_waits(server, model):
    server.reply = lambda body: silent()
    started = time.monotonic()
    answer = model(timeout=0.2, patience=RetryPolicy(tries=50, backoff=0.01, longest=0.01, total=0.2)).ask("?")
    assert 0.6 < time.monotonic() - started < 2
    assert "the 0.8 s that a question may take" in answer.error


def test_a_body_without_bound_is_not_read_into_memory(server, model, monkeypatch):
    monkeypatch.setattr("perslib.llm.answerers.http.LARGEST", 2**20)
    server.next(endless(pause=0, chunk=b" " * 65536))
    answer = model().ask("Hello?")
    assert "the reply is larger than 1 MB" in answer.error
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("code", "message", "remedy"),
    [
        (400, "Unrecognized request argument: top_k", ""),
        (401, "No such key", "check the key in SOME_KEY"),
        (403, "Not for your region", "check the key in SOME_KEY"),
        (404, "The model `m` does not exist", "check base_url and model ('Qwen/Qwen3-8B')"),
        (402, "Insufficient balance", ""),
        (307, "elsewhere", "check base_url"),
    ],
)
def test_refusals_come_at_once_with_the_servers_words(server, model, monkeypatch, code, message, remedy):
    monkeypatch.setenv("SOME_KEY", KEY)
    server.next(status(code, message))
    with pytest.raises(Refused) as caught:
        model(key_env="SOME_KEY").ask("Hello?")
    assert caught.value.status == code
    assert caught.value.backbone == "vllm-qwen3-8b"
    assert message in str(caught.value)
    assert remedy in str(caught.value)
    assert len(server.bodies) == 1


def test_used_up_credit_is_no_reason_to_wait(server, model):
    server.next(status(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(Refused, match="exceeded your current quota"):
        model().ask("Hello?")
    assert len(server.bodies) == 1


def test_a_refusal_of_one_request_does_not_end_the_run(server, model):
    def reply(body):
        if body["messages"][0]["content"] == "long":
            return status(400, "This model's maximum context length is 4096 tokens.")
        if body["messages"][0]["content"] == "rude":
            return status(400, "Input data may contain inappropriate content.", code="data_inspection_failed")
        return "ok"

    server.reply = reply
    fine, long, rude = model().ask_many(["fine", "long", "rude"], progress=False)
    assert fine.ok
    assert long.error.startswith("too long: ")
    assert "maximum context length is 4096" in long.error
    assert rude.error.startswith("content filter: ")


def test_an_ailing_endpoint_ends_the_run(server, model):
    server.reply = lambda body: status(500, "kaput")
    with pytest.raises(GaveUp, match=r"20 calls in a row .* kaput"):
        model(concurrency=4, patience=RetryPolicy(tries=1)).ask_many(map(str, range(100)), progress=False)
    assert len(server.bodies) < 30


def test_nobody_there():
    from perslib.llm import backbone

    with pytest.raises(Unreachable) as caught:
        backbone("vllm-qwen3-8b", base_url="http://127.0.0.1:9/v1", cache="off", patience=HASTY).ask("Hello?")
    assert str(caught.value) == (
        "Nobody answers at http://127.0.0.1:9/v1 for backbone 'vllm-qwen3-8b' (connection refused). Start it "
        "with `vllm serve Qwen/Qwen3-8B`, or correct base_url of [vllm-qwen3-8b] in backbones.toml."
    )


def test_missing_key(server, model, monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(MissingKey, match=r"needs a key in the environment variable SOME_KEY, which is not set"):
        model(key_env="SOME_KEY").ask("Hello?")
    monkeypatch.setenv("SOME_KEY", "sk-“pasted”")
    with pytest.raises(MissingKey, match="SOME_KEY holds characters") as caught:
        model(key_env="SOME_KEY").ask("Hello?")
    assert "pasted" not in str(caught.value)
    assert server.bodies == []


def test_the_key_is_sent_and_shown_nowhere(server, model, monkeypatch, home, caplog, capfd):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("SOME_KEY", KEY)
    backbone = model(key_env="SOME_KEY")
    server.next(says(f"Your key is {KEY}."))
    answer = backbone.ask("Hello?")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    server.next(status(401, f"Incorrect API key provided: {KEY}, or sk-live-****ghij"))
    with pytest.raises(Refused) as caught:
        backbone.ask("Again?")
    assert "Incorrect API key provided: [key], or [key]" in str(caught.value)
    seen = [repr(backbone), repr(answer), repr(backbone.entry), str(caught.value), caplog.text, *capfd.readouterr()]
    seen += [path.read_bytes().decode("latin-1") for path in home.rglob("*") if path.is_file()]
    assert not [text for text in seen if KEY in text]


def test_no_key_is_sent_where_none_is_named(server, model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    model().ask("Hello?")
    assert "Authorization" not in server.headers[0]
    assert "org-1" not in str(server.headers[0])


def test_server_words_are_plain_text(server, model):
    server.next(status(400, "\x1b[31mno\x1b[0m\x00 <script>alert(1)</script> <b>way</b>\n" + "long " * 500))
    with pytest.raises(Refused) as caught:
        model().ask("Hello?")
    assert "\x1b" not in str(caught.value)
    assert "no way long" in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    "words", ["top_logprobs must be <= 5, got 20", "max_tokens < 1, for the maximum context length is 8192 tokens"]
)
def test_what_is_no_tag_is_not_cut_from_a_servers_words(server, model, words):
    server.next(status(422, words))
    with pytest.raises(Refused) if "context" not in words else nullcontext() as caught:
        answer = model().ask("Hello?")
    assert words in (answer.error if caught is None else str(caught.value))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (says("I think the", finish="length"), "truncated at 10 tokens"),
        (says("I th", finish="content_filter"), "stopped by the endpoint's content filter"),
        (says(None, refusal="I cannot help with that."), "the model refused: I cannot help with that."),
        (says(""), "the reply is empty"),
        (says(None), "the reply is empty"),
    ],
)
@pytest.mark.parametrize("schema", [None, SCORE])
def test_a_reply_that_is_none_is_kept_as_such_and_not_cached(server, model, fault, error, schema):
    server.next(fault, fault)
    backbone = model()
    answer = backbone.ask("Hello?", schema=schema)
    assert error in answer.error
    assert answer.mode == ("plain" if schema is None else "unscored")
    server.faults.clear()
    server.reply = lambda body: '{"score": 4}'
    again = backbone.ask("Hello?", schema=schema)
    assert again.ok


def test_one_token_was_asked_for_and_one_came(server, model):
    server.next(says("4", finish="length"))
    answer = model().ask("Score?", max_tokens=1)
    assert (answer.text, answer.error) == ("4", None)
    server.next(says("4, be", finish="length"))
    assert model().ask("Score?", max_tokens=3, brief=True).ok
    assert model().ask("Score?", max_tokens=1).cached


@pytest.mark.parametrize("content", ["", None, "  \n", "<think>"])
def test_an_empty_answer_to_a_one_token_question_is_unscored_and_not_kept(server, model, content):
    asked = {"max_tokens": 1, "seed": 42}
    server.next(says(content, finish="length"))
    answer = model().ask("Score?", **asked)
    assert (answer.text, answer.error) == ("", "the reply is empty")
    assert model().ask("Score?", **asked).text == "ok"


def test_an_empty_answer_that_an_older_version_kept_is_asked_again(server, model):
    asked = model()
    asked.cache.put(asked.digest(Request("Score?", max_tokens=1)), {"text": "", "raw": "", "error": None}, {})
    assert (asked.ask("Score?", max_tokens=1).text, len(server.bodies)) == ("ok", 1)


# -- half answers and other people's words -----------------------------------------------------------------


@pytest.mark.parametrize("finish", ["insufficient_system_resource", "error", "abort", "network_error"])
def test_a_reply_that_the_endpoint_broke_off_is_tried_again(server, model, finish):
    server.next(says("half an ans", finish=finish))
    answer = model().ask("Whole?")
    assert (answer.text, answer.retries) == ("ok", 1)


def test_an_end_that_nobody_knows_is_not_kept(server, model):
    server.next(says("who knows", finish="cosmic_rays"))
    assert "ended for a reason we do not know: cosmic_rays" in model().ask("Why?").error
    assert model().ask("Why?").text == "ok"


def test_a_short_key_does_not_eat_into_replies(server, model, monkeypatch):
    monkeypatch.setenv("SHORT_KEY", "test")
    server.reply = lambda body: "This is a test of attestation"
    assert model(key_env="SHORT_KEY").ask("?").text == "This is a test of attestation"


def test_numbers_from_numpy_can_be_sent(server, model):
    import numpy as np

    assert model().ask("?", seed=np.int64(3), temperature=np.float32(0.5)).ok
    assert server.bodies[-1]["seed"] == 3


def test_a_refused_prompt_is_no_sign_of_a_sick_endpoint(server, model):
    too_long = "This model's maximum context length is 4096 tokens"
    server.next(*[status(400, too_long)] * 60)
    asked = model(concurrency=1)
    answers = asked.ask_many([f"question {n}" for n in range(61)], progress=False)
    assert [a.ok for a in answers] == [False] * 60 + [True]


# -- what an endpoint should not send ------------------------------------------------------------------------


def sends(**changes):
    """A completion with these texts put into its JSON as they are, for what no JSON library would write."""
    body = json.dumps(completion("CONTENT", model="MODEL", finish="FINISH"))
    for name, text in {"content": '"ok"', "model": '"m"', "finish": '"stop"', **changes}.items():
        body = body.replace(f'"{name.upper()}"', text) if name != "usage" else re.sub(r'"usage": .*', text + "}", body)
    return raw(body)


@pytest.mark.parametrize("field", ["content", "model"])
def test_half_a_character_is_replaced_and_every_answer_is_kept(server, model, field):
    half = sends(**{field: r'"a\ud83d\\b"'})
    whole = sends(content=r'"\ud83d\ude00"')
    server.reply = lambda body: half if "half" in body["messages"][0]["content"] else whole
    asked = model(concurrency=4)
    answers = asked.ask_many(["half", "one", "two"], progress=False)
    assert getattr(answers[0], "text" if field == "content" else field) == "a\ufffd\\b"
    assert [a.text for a in answers[1:]] == ["\U0001f600"] * 2
    assert all(a.cached for a in model().ask_many(["half", "one", "two"], progress=False))


def test_half_a_character_in_an_object_reaches_no_table(server, model):
    server.reply = lambda body: r'{"score": 4, "reason": "satisfied", "rationale": "so \ud83d"}'
    corpus = corpus_of(scored_past([4], 1))
    verdicts = evaluate(Generic(), corpus, model(), split=None, progress=False)
    assert set(verdicts["rationale"]) == {"so \ufffd"}


def test_half_a_character_that_an_older_version_kept_is_replaced(server, model):
    asked = model()
    asked.cache.put(asked.digest(Request("Hello?")), {"text": "a\ud83d", "raw": "a\ud83d"}, {"model": "m\ud83d"})
    assert asked.ask("Hello?").text == "a\ufffd" and server.bodies == []


@pytest.mark.parametrize("body", ["[1]", '{"text": 5}', '{"url": "x"}', "cut off {"])
@pytest.mark.parametrize("schema", [None, SCORE])
def test_what_somebody_else_put_into_the_cache_is_asked_anew(server, model, body, schema):
    server.reply = lambda _: '{"score": 4}'
    asked, question = model(), Request("Hello?", schema=schema)
    asked.cache.put(asked.digest(question), {"text": "x"}, {})
    asked.cache.connection().execute("UPDATE entries SET body = ?", (body.encode(),))
    with nullcontext() if "url" in body else pytest.warns(CacheWarning, match="one entry cannot be read"):
        assert asked.ask(question).text == '{"score": 4}'
    assert model(cache="only").ask(question).ok, "the answer has taken its place"


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        ('{"prompt_tokens": Infinity, "completion_tokens": 10}', 10, 1e-5),
        ('{"prompt_tokens": 1' + "0" * 30 + ', "completion_tokens": 10}', 10, 1e-5),
        ('{"prompt_tokens": 10, "completion_tokens": 10, "cost": 1' + "0" * 400 + "}", 20, 2e-5),
        ('{"prompt_tokens": 10, "completion_tokens": 10, "cost": NaN}', 20, 2e-5),
        ('{"prompt_tokens": 10, "completion_tokens": 10, "cost": -5}', 20, 2e-5),
        ('{"prompt_tokens": 10, "completion_tokens": 10, "cost": Infinity}', 20, 2e-5),
    ],
)
def test_numbers_that_can_be_none_are_not_told(server, model, usage, tokens, cost):
    server.reply = lambda body: sends(usage='"usage": ' + usage)
    asked = model(prices={"in": 1, "out": 1})
    answer = asked.ask("Hello?")
    assert (answer.text, answer.tokens_in + answer.tokens_out) == ("ok", tokens)
    assert answer.cost == pytest.approx(cost)
    with pytest.raises(BudgetReached):
        asked.ask_many(map(str, range(40)), progress=False, cap=10 * cost)


@pytest.mark.parametrize("value", ["1000", "1" + "0" * 400, "NaN", "1e999"])
def test_a_probability_that_is_none_leaves_the_score_without_a_distribution(server, model, value):
    body = completion("4", finish="length")
    body["choices"][0]["logprobs"] = {"content": [{"token": "4", "logprob": -7, "top_logprobs": []}]}
    server.reply = lambda _: raw(json.dumps(body).replace("-7", value))
    asked = model()
    verdicts = evaluate(
        Generic(settings=JudgeSettings("en", with_rationale=False)),
        corpus_of(scored_past([4], 1)),
        asked,
        split=None,
        progress=False,
    )
    assert set(verdicts["raw"]) == {4.0} and verdicts["p4"].isna().all()


@pytest.mark.parametrize("told", ["Sun, 22 Nov 2026 10:00:00 +" + "9" * 20, "nan", "Mon, 99 Nov 2026 10:00:00 GMT"])
def test_a_time_to_wait_that_is_none_is_not_waited_for(server, model, told):
    server.next(status(429, retry_after=told))
    assert model().ask("Hello?").text == "ok"


def test_a_date_to_wait_for_is_by_the_servers_clock(server, model):
    async def fault(request, body):
        headers = {"Retry-After": "Sun, 22 Nov 2009 10:00:01 GMT", "Date": "Sun, 22 Nov 2009 10:00:00 GMT"}
        return web.json_response({"error": {"message": "busy"}}, status=429, headers=headers)

    server.next(fault)
    assert model().ask("Hello?").ok
    assert server.times[1] - server.times[0] >= 0.9


def test_a_reply_far_longer_than_asked_for_is_not_read(server, model):
    server.next(says("4" * 3 * 2**20, finish="length"))
    assert "the reply is larger than 1 MB" in model().ask("Score?", max_tokens=1).error


@pytest.mark.parametrize(
    "content", ['{"score": "' + '\\"' * 99_996, "<think></think>" * 60_000, "score" + " " * 200_000 + "1.", "a" + "\u0301\u0323" * 90_000]
)  # fmt: skip
def test_a_hostile_reply_is_read_in_time_and_holds_up_nobody(server, model, content):
    def reply(body):
        return content if "hostile" in body["messages"][0]["content"] else '{"score": 4}'

    server.reply = reply
    started = time.monotonic()
    answers = model(timeout=5).ask_many(
        [Request(name, schema=SCORE) for name in ("hostile", "a", "b", "c")], progress=False
    )
    assert [a.data for a in answers[1:]] == [{"score": 4}] * 3 and answers[0].error
    read_verdict(answers[0], "en")
    assert time.monotonic() - started < 5


def test_a_key_that_comes_back_escaped_is_hidden(server, model, monkeypatch, capsys):
    key = "abc/0123456789<x>y"
    monkeypatch.setenv("SOME_NAME", key)
    once = key.replace("/", r"\/").replace("<", r"\u003c").replace(">", r"\u003E")
    twice = once.replace("\\", "\\\\")
    server.next(raw(f'{{"choices": [{{"message": {{"content": "{{\\"k\\": \\"{twice}\\"}} {once}"}}}}]}}'))
    asked = model(key_env="SOME_NAME")
    answer = asked.ask("Hello?")
    assert answer.text == '{"k": "[key]"} [key]'
    server.next(raw(f'{{"error": {{"code": 401, "message": "no such key: {once}"}}}}'))
    with pytest.raises(Refused) as caught:
        asked.ask("Again?")
    assert "no such key: [key]" in str(caught.value)


def test_pages_hide_the_keys_that_backbones_name(home, monkeypatch):
    (home / "backbones.toml").write_text('[mine]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "MY_PASS"\n')
    monkeypatch.setenv("MY_PASS", "correct horse")
    assert without_secrets("said: correct horse") == "said: [MY_PASS]"
