"""Concurrency that shrinks and grows, requests and tokens a minute."""

import asyncio
import time

import pytest
from endpoint import HASTY, completion, status
from hypothesis import given
from hypothesis import strategies as st

from perslib.llm import Backbone, Cache, Request, RetryPolicy
from perslib.llm.answerers.limits import ConcurrencyLimit, Pace
from perslib.llm.entries import entry


def test_no_more_calls_in_flight_than_allowed(server, model):
    server.latency = 0.02
    model(concurrency=3).ask_many(map(str, range(20)), progress=False)
    assert server.most_in_flight == 3


def test_two_runs_share_one_bound(server, model):
    server.latency = 0.02
    first, second = model(concurrency=3), model(concurrency=3)

    async def both():
        calls = [(first if i < 10 else second).ask_async(str(i)) for i in range(20)]
        await asyncio.gather(*calls)

    asyncio.run(both())
    assert server.most_in_flight == 3


def test_the_bound_halves_once_for_a_burst_and_grows_back_one_by_one():
    async def play():
        gate = ConcurrencyLimit(8)
        entered = [await gate.enter() for _ in range(8)]
        for moment in entered:
            gate.shrink(moment)
        assert gate.bound == 4
        for _ in entered:
            gate.leave()
        moment = await gate.enter()
        gate.shrink(moment)
        assert gate.bound == 2
        for _ in range(2):
            gate.grow()
        assert gate.bound == pytest.approx(2 + 1 / 2 + 1 / 2.5)
        for _ in range(100):
            gate.grow()
        assert gate.bound == 8
        for _ in range(10):
            gate.shrink(time.monotonic())
        assert gate.bound == 1

    asyncio.run(play())


def test_an_endpoint_that_takes_four_is_soon_asked_four_at_a_time(server, model):
    """Everything above four in flight gets a 429: all calls are answered, most of them without a retry."""
    server.latency = 0.02

    def reply(body):
        return status(429) if server.in_flight > 4 else "ok"

    server.reply = reply
    backbone = model(concurrency=32, patience=RetryPolicy(tries=12, backoff=0.02, longest=0.1))
    answers = backbone.ask_many(map(str, range(150)), progress=False)
    assert all(answer.ok for answer in answers)
    late = answers[75:]
    assert sum(answer.retries for answer in late) < len(late)
    assert backbone.client.gate.bound < 16


def test_those_who_wait_enter_in_order_and_a_cancelled_one_leaves_its_place():
    async def play():
        gate, order = ConcurrencyLimit(1), []
        await gate.enter()

        async def caller(name):
            await gate.enter()
            order.append(name)
            gate.leave()

        tasks = [asyncio.ensure_future(caller(n)) for n in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        gate.leave()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [0, 2, 3]
        assert gate.inside == 0

    asyncio.run(play())


@given(st.lists(st.sampled_from(["grow", "shrink"]), max_size=60))
def test_the_bound_stays_between_one_and_the_most(events):
    gate = ConcurrencyLimit(5)
    for event in events:
        gate.grow() if event == "grow" else gate.shrink(time.monotonic())
        assert 1 <= gate.bound <= 5


def within(times, window):
    """Most of the moments that lie in any one window."""
    return max(sum(start <= t < start + window for t in times) for start in times)


def test_requests_a_minute(server, home):
    minute = 1.0
    backbone = Backbone(
        entry("vllm-qwen3-8b", base_url=server.base_url, rpm=4), Cache(policy="off"), None, HASTY, minute=minute
    )
    backbone.ask_many(map(str, range(10)), progress=False)
    # On a busy machine a request takes up to half a minute of these to arrive.
    assert within(server.times, minute * 0.5) <= 4
    assert server.times[-1] - server.times[0] >= 2 * minute * 0.7


def test_tokens_a_minute_count_what_was_really_used(server, home):
    minute = 1.0
    body = completion()
    body["usage"] = {"prompt_tokens": 10, "completion_tokens": 15}
    server.reply = lambda sent: body
    backbone = Backbone(
        entry("vllm-qwen3-8b", base_url=server.base_url, tpm=100, concurrency=1),
        Cache(policy="off"),
        None,
        HASTY,
        minute=minute,
    )
    # Each is estimated at 5 + 40 tokens and takes 25: the third fits (25 + 25 + 45), the fourth does not.
    backbone.ask_many([Request(f"q{n}", max_tokens=40) for n in range(6)], progress=False)
    assert within(server.times, minute * 0.5) == 3


def test_a_call_larger_than_the_allowance_goes_alone():
    async def play():
        pace = Pace(tokens=10, minute=0.1)
        started = time.monotonic()
        await pace.start(50)
        assert time.monotonic() - started < 0.05
        await pace.start(1)
        assert time.monotonic() - started >= 0.1

    asyncio.run(play())


def test_without_limits_nothing_waits():
    assert asyncio.run(Pace().start(10**9)) is None
