"""What endpoints do wrong, over real HTTP on loopback."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from endpoint import HASTY, empty, endless, html, raw, reset, says, silent, status

from perslib.errors import GaveUp, MissingKey, Refused, Unreachable
from perslib.llm import Patience

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
    assert model(patience=Patience(backoff=0.001)).ask("Hello?").ok
    # A date has whole seconds, so up to one of the two may be gone when it is read.
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
    answer = model(timeout=0.2, patience=Patience(tries=2, backoff=0.01)).ask("Hello?")
    assert answer.error == "gave up after 2 tries: no complete reply within 0.2 s"


def test_a_body_without_bound_is_not_read_into_memory(server, model, monkeypatch):
    monkeypatch.setattr("perslib.llm.transport.LARGEST", 2**20)
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
        model(concurrency=4, patience=Patience(tries=1)).ask_many(map(str, range(100)), progress=False)
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
    with pytest.raises(
        MissingKey, match=r"needs a key in the environment variable SOME_KEY, which is not set"
    ):
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
    seen = [
        repr(backbone),
        repr(answer),
        repr(backbone.entry),
        str(caught.value),
        caplog.text,
        *capfd.readouterr(),
    ]
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
    # An empty reply to a request with a schema is a complete reply that does not fit: that one is final.
    assert again.ok != (schema is not None and error == "the reply is empty")


def test_one_token_was_asked_for_and_one_came(server, model):
    server.next(says("4", finish="length"))
    answer = model().ask("Score?", max_tokens=1)
    assert (answer.text, answer.error) == ("4", None)
    server.next(says("4, be", finish="length"))
    assert model().ask("Score?", max_tokens=3, brief=True).ok
    assert model().ask("Score?", max_tokens=1).cached


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
