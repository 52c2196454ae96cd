"""Asking: from scripts and loops, many at once, cached, capped, interrupted."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from endpoint import completion, says, status

from perslib.errors import BackboneError, BudgetReached, Refused
from perslib.llm import Request, backbone, dry_run, event_loop

PRICES = {"in": 1.0, "cached": 0.5, "out": 10.0}
#: What the loopback endpoint reports: 100 tokens in, 40 of them cached, 10 out.
PRICE = (60 * 1.0 + 40 * 0.5 + 10 * 10.0) / 1e6


def test_an_answer_tells_where_it_comes_from_and_what_it_took(server, model):
    answer = model(prices=PRICES).ask("Hello?")
    assert (answer.text, answer.mode, answer.finish, answer.error) == ("ok", "plain", "stop", None)
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out) == (100, 40, 10)
    assert answer.cost == pytest.approx(PRICE)
    assert (answer.backbone, answer.model) == ("vllm-qwen3-8b", "m"), "the model that the endpoint says it is"
    assert answer.digest == model().digest("Hello?")
    assert 0 < answer.seconds < 5


def test_a_cost_that_the_endpoint_tells_is_taken(server, model):
    body = completion()
    body["usage"]["cost"] = 0.25
    server.reply = lambda sent: body
    assert model(prices=PRICES).ask("Hello?").cost == 0.25
    assert model(prices=None).ask("Again?").cost == 0.25


def test_ask_works_where_a_loop_is_running(server, model):
    """As in a notebook cell: a plain call and an await, side by side, in a loop that is not ours."""
    asked = model()

    async def cell():
        plain = asked.ask("Hello?")
        awaited = await asked.ask_async("Hello again?")
        many = await asyncio.gather(*(asked.ask_async(text) for text in "ab"))
        return [plain, awaited, *many]

    assert [answer.text for answer in asyncio.run(cell())] == ["ok"] * 4


@pytest.mark.process
def test_ask_works_in_a_plain_script_and_ends_cleanly(server, home):
    script = (
        "from perslib.llm import backbone\n"
        f"model = backbone('vllm-qwen3-8b', base_url={server.base_url!r})\n"
        "print(model.ask('Hello?').text, len(model.ask_many(['a', 'b'], progress=False)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONASYNCIODEBUG": "0"},
    )
    assert (done.stdout, done.returncode) == ("ok 2\n", 0)
    assert "Unclosed" not in done.stderr
    assert "Warning" not in done.stderr


def test_a_plain_call_that_would_wait_for_itself_says_so(model):
    async def inside():
        return model().ask("Hello?")

    with pytest.raises(RuntimeError, match="would wait for itself: await it"):
        event_loop.run_on_loop(inside())


def test_many_threads_may_ask(server, model):
    asked, texts = model(), []
    threads = [threading.Thread(target=lambda n=n: texts.append(asked.ask(str(n)).text)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["ok"] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_can_ask(server, model):
    asked = model(cache="off")
    asked.ask("Hello?")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if asked.ask("From the child").text == "ok" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_answers_come_in_the_order_of_the_questions_and_calls_start_in_it(server, model):
    server.reply = lambda body: body["messages"][0]["content"]
    names = [f"question {n}" for n in range(30)]
    answers = model(concurrency=1).ask_many(names, progress=False)
    assert [answer.text for answer in answers] == names
    assert [body["messages"][0]["content"] for body in server.bodies] == names


def test_nothing_to_ask(model):
    assert model().ask_many([], progress=False) == []


def test_equal_questions_are_asked_once_unless_drawn_repeatedly(server, model):
    asked = model(cache="off")
    answers = asked.ask_many(["a", "b", "a"], progress=False)
    assert len(server.bodies) == 2
    assert [answer.cached for answer in answers] == [False, False, True]
    draws = [Request("a", temperature=1.0, sample=n) for n in range(3)]
    asked.ask_many(draws, progress=False)
    assert len(server.bodies) == 5
    assert "sample" not in server.bodies[-1]


def test_the_cache_answers_and_its_policies(server, model):
    first = model().ask("Hello?")
    again = model().ask("Hello?")
    assert again == first.with_(cached=True)
    assert len(server.bodies) == 1
    server.reply = lambda body: "new"
    assert model(cache="off").ask("Hello?").text == "new"
    assert model().ask("Hello?").text == "ok"
    assert model(cache="refresh").ask("Hello?").text == "new"
    assert model(cache="only").ask("Hello?").text == "new"
    missing = model(cache="only").ask("Never asked")
    assert (missing.text, missing.error, len(server.bodies)) == ("", "not in the cache", 3)


@pytest.mark.parametrize(
    "change",
    [
        {"messages": "Bye?"},
        {"messages": [{"role": "system", "content": "Hello?"}]},
        {"schema": {"type": "object"}},
        {"schema": {"type": "object", "title": "b"}},
        {"temperature": 0.0},
        {"max_tokens": 5},
        {"seed": 1},
        {"top_logprobs": 5},
        {"stop": ["\n"]},
        {"extra": {"top_p": 0.5}},
        {"sample": 1},
    ],
)
def test_whatever_can_change_the_answer_is_in_the_address(model, change):
    base = model().digest("Hello?")
    assert model().digest(Request(**{"messages": "Hello?", **change})) != base
    assert model().digest(Request("Hello?", prompt="en/judge@1:ab")) == base


def test_endpoint_and_model_are_in_the_address_names_and_limits_are_not(server, model):
    base = model().digest("Hello?")
    assert model(model="other").digest("Hello?") != base
    assert model(extra_body={"top_k": 1}).digest("Hello?") != base
    assert model(base_url="http://127.0.0.1:1/v1").digest("Hello?") != base
    assert model(cache_as="node").digest("Hello?") == model(base_url="http://n2/v1", cache_as="node").digest("Hello?")
    same = model(concurrency=1, rpm=5, prices=PRICES, timeout=9, about="x")
    assert same.digest("Hello?") == base


def test_the_order_of_a_schemas_fields_is_in_the_address(model):
    """A model writes the fields in that order: a score before its reason is another question."""
    first = {"type": "object", "properties": {"reason": {"type": "string"}, "score": {"type": "integer"}}}
    other = {"type": "object", "properties": dict(reversed(first["properties"].items()))}
    assert model().digest(Request("a", schema=first)) != model().digest(Request("a", schema=other))


def test_a_dry_run_counts_calls_tokens_and_cost(server, model):
    asked = model(prices=PRICES)
    asked.ask("x" * 40)
    dry = dry_run(asked.entry, cache="read")
    dry.ask_many(["x" * 40, *[Request("y" * 40, max_tokens=100)] * 2, Request("偏好" * 20, max_tokens=50)])
    spent = dry.ledger.total
    assert (spent.calls, spent.hits) == (2, 1), "one is in the cache, one is asked once for two"
    # 4 a message for its frame; 40 ASCII characters are 10 tokens, 40 Chinese ones 30.
    assert (spent.tokens_in, spent.tokens_out) == (4 + 10 + 4 + 30, 150)
    assert spent.cost == pytest.approx((48 * 1.0 + 150 * 10.0) / 1e6)
    unpriced = dry_run(model(prices=None).entry)
    unpriced.ask_many(["a"])
    assert unpriced.ledger.total.cost is None


def test_a_cap_stops_cleanly_and_the_run_goes_on_with_a_higher_one(server, model):
    asked = model(prices=PRICES, concurrency=4)
    questions = [str(n) for n in range(40)]
    with pytest.raises(BudgetReached, match=r"Stopped at the spending cap of \$0.00: .* of 40 requests answered"):
        asked.ask_many(questions, cap=10 * PRICE, progress=False)
    made = len(server.bodies)
    assert 10 <= made <= 13, "calls under way are counted, so the cap is passed by less than they cost"
    assert asked.ledger.total.cost == pytest.approx(made * PRICE)
    answers = asked.ask_many(questions, cap=50 * PRICE, progress=False)
    assert all(answer.ok for answer in answers)
    assert len(server.bodies) == 40, "nothing is paid for twice"


def test_a_cap_needs_prices(server, model):
    with pytest.raises(BackboneError, match="has no prices, so a spending cap cannot be kept"):
        model(prices=None).ask_many(["a"], cap=1.0, progress=False)
    assert server.bodies == []


def test_a_refusal_ends_a_run_at_once(server, model):
    server.latency = 0.05
    server.next(status(401, "no such key"))
    with pytest.raises(Refused, match="no such key"):
        model(concurrency=2).ask_many(map(str, range(50)), progress=False)
    assert len(server.bodies) <= 3


def test_the_ledger_counts_by_stage(server, model):
    asked = model(prices=PRICES)
    server.next(status(500))
    asked.ask("a", stage="memory")
    asked.ask_many(["a", "b"], stage="judge", progress=False)
    table = asked.ledger.table().set_index("stage")
    assert table.loc["memory", "calls"] == 1
    assert table.loc["memory", "retries"] == 1
    assert table.loc["judge", "hits"] == 1
    assert table.loc["judge", "calls"] == 1
    assert asked.ledger.total.cost == pytest.approx(2 * PRICE)


def test_a_cancelled_wait_cancels_the_calls(server, model):
    server.latency = 0.2
    asked = model(concurrency=2)

    async def impatient():
        async with asyncio.timeout(0.3):
            await asyncio.gather(*(asked.ask_async(str(i)) for i in range(50)))

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    begun = len(server.bodies)
    time.sleep(1)  # room for ten calls, if they went on
    assert len(server.bodies) <= begun + 2 < 50
    server.latency = 0
    assert asked.ask("still here").ok


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_comes_through_and_leaves_no_call_behind(server, model):
    server.latency = 0.2
    asked = model(concurrency=2)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        asked.ask_many(map(str, range(100)), progress=False)
    made = len(server.bodies)
    time.sleep(0.4)
    assert len(server.bodies) <= made + 1
    server.latency = 0
    assert asked.ask("still here").ok


def test_settings_may_be_given_with_the_question(server, model):
    model().ask("Hello?", temperature=0.5, max_tokens=7)
    assert (server.bodies[0]["temperature"], server.bodies[0]["max_tokens"]) == (0.5, 7)


@pytest.mark.parametrize("messages", ["", [], [{"role": "user"}], [{"role": "robot", "content": "x"}], ["text"]])
def test_a_malformed_request_is_refused_before_it_is_sent(messages):
    with pytest.raises(ValueError, match=r"Request\.messages"):
        Request(messages)


def test_shown_in_one_line(home):
    assert repr(backbone("openai")) == "Backbone('openai', model='gpt-4.1-mini')"


def test_json_lines_of_answers_survive_a_round_trip(server, model):
    server.next(says("Hé “好”\u2028"))
    answer = model().ask("Hello?")
    assert type(answer).from_record(json.loads(json.dumps(answer.to_record()))) == answer.with_(cached=True)


def test_the_cap_holds_from_the_first_call_on(server, model):
    asked = model(prices={"in": 1000, "out": 1000}, concurrency=64)
    with pytest.raises(BudgetReached):
        asked.ask_many([Request(f"q{n}", max_tokens=100) for n in range(200)], progress=False, cap=0.25)
    assert len(server.bodies) <= 3, "each call may cost 0.1"


def test_a_cap_needs_to_know_what_a_call_took(server, model):
    server.reply = lambda body: {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    asked = model(prices={"in": 1, "out": 1}, concurrency=1)
    with pytest.raises(BackboneError, match="does not say how many tokens"):
        asked.ask_many([f"q{n}" for n in range(5)], progress=False, cap=1.0)
    assert len(server.bodies) == 1 and asked.ledger.total.unpriced == 1


def test_a_cut_reply_is_no_answer_to_one_who_wants_all_of_it(server, model):
    server.next(says("The user is", finish="length"))
    assert model().ask("?", max_tokens=5, brief=True).text == "The user is"
    assert model().ask("?", max_tokens=5).text == "ok"


def test_two_model_files_of_one_name_and_size_are_told_apart(tmp_path):
    from perslib.llm.cache.address import fingerprint_model
    from perslib.llm.entries import BackboneEntry

    found = []
    for folder, filling in (("a", b"1"), ("b", b"2")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "model.gguf"
        file.write_bytes(b"GGUF" + filling * 100_000)
        found.append(fingerprint_model(BackboneEntry(name="x", kind="embedded", model=str(file))))
    assert found[0] != found[1]


def test_answers_without_log_probabilities_are_asked_again_once_they_can_be_had(server, model):
    assert model(logprobs=False).ask("?", top_logprobs=5).logprobs is None
    assert not model(logprobs=True).ask("?", top_logprobs=5).cached
    assert model(logprobs=False).ask("?", top_logprobs=5).cached


def test_what_was_not_asked_is_no_call(server, model):
    model().ask("something else")
    asked = model(cache="only")
    assert asked.ask("?").error == "not in the cache"
    assert (asked.ledger.total.calls, asked.ledger.total.errors) == (0, 1)


def test_an_entry_may_add_a_query_and_headers(server, model):
    model(query={"api-version": "2025-04-01"}, headers={"X-Project": "p1"}).ask("Hello?")
    assert server.queries == [{"api-version": "2025-04-01"}] and server.headers[0]["X-Project"] == "p1"
