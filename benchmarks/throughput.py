"""Calls a second: perslib's client beside a bare aiohttp loop and beside `AsyncOpenAI` as it comes.

A loopback server in a process of its own answers each call after 50 ms; 2,000 calls with prompts of 2,000
characters, 64 in flight, so no client can pass 64 / 0.05 s = 1,280 calls a second. `python
benchmarks/throughput.py` prints a table; a round takes about 20 seconds.

Rates depend on the machine and on what else runs there; hence the rounds, and the processor time a call, which
is what a client is answerable for. On a fast and idle machine all clients come near the 1,280 and their ratios
near one; `--in-flight 256` lifts that ceiling and shows what they are capable of.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from openai import AsyncOpenAI, DefaultAioHttpClient

from perslib.llm import Cache, Request, backbone

SERVER = Path(__file__).resolve().parents[1] / "tests" / "support" / "endpoint.py"
BARE, PLAIN, AIOHTTP = "bare aiohttp loop", "AsyncOpenAI as it comes", "AsyncOpenAI on aiohttp"
OURS, FILLING, WARM = "perslib, cache off", "perslib, cold cache", "perslib, warm cache"

Call = Callable[[int], Awaitable[Any]]


def messages(number: int, length: int) -> list[dict[str, str]]:
    text = f"{number} " + "How satisfied is this user with this reply? " * (length // 40 + 1)
    return [{"role": "user", "content": text[:length]}]


async def fan(call: Call, calls: int, in_flight: int) -> None:
    """Make the calls, `in_flight` at a time."""
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(worker() for _ in range(in_flight)))


async def bare(url: str, options: argparse.Namespace) -> None:
    connector = aiohttp.TCPConnector(limit=options.in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def call(number: int) -> None:
            body = {"model": "m", "messages": messages(number, options.length), "temperature": 0}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                assert (await response.json())["choices"]

        await fan(call, options.calls, options.in_flight)


async def sdk(url: str, options: argparse.Namespace, **client: Any) -> None:
    async with AsyncOpenAI(base_url=url, api_key="none", **client) as openai:

        async def call(number: int) -> None:
            asked: Any = messages(number, options.length)
            reply = await openai.chat.completions.create(model="m", messages=asked, temperature=0)
            assert reply.choices

        await fan(call, options.calls, options.in_flight)


def ours(url: str, options: argparse.Namespace, cache: Cache) -> None:
    model = backbone("vllm-qwen3-8b", base_url=url, concurrency=options.in_flight, cache=cache)
    requests = [Request(messages(n, options.length), temperature=0) for n in range(options.calls)]
    answers = model.ask_many(requests, progress=False)
    assert all(answer.ok for answer in answers)


def clients(url: str, options: argparse.Namespace) -> dict[str, Callable[[], object]]:
    """What is compared, in the order it is run: the warm cache is the one that the line above it filled."""
    return {
        BARE: lambda: asyncio.run(bare(url, options)),
        PLAIN: lambda: asyncio.run(sdk(url, options)),
        AIOHTTP: lambda: asyncio.run(sdk(url, options, http_client=DefaultAioHttpClient())),
        OURS: lambda: ours(url, options, Cache(policy="off")),
        FILLING: lambda: ours(url, options, Cache()),
        WARM: lambda: ours(url, options, Cache()),
    }


def rounds(url: str, options: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """(seconds, processor seconds) of every client in every round, interleaved."""
    measured: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PERSLIB_HOME"] = folder
            for name, run in clients(url, options).items():
                clock, processor = time.perf_counter(), time.process_time()
                run()
                took = time.perf_counter() - clock, time.process_time() - processor
                measured.setdefault(name, []).append(took)
    return measured


def table(measured: dict[str, list[tuple[float, float]]], options: argparse.Namespace) -> str:
    """Median rate of each client, its range over the rounds, and the ratios that matter, taken in each round."""

    def ratio(name: str, other: str) -> str:
        pairs = zip(measured[name], measured[other], strict=True)
        return f"{statistics.median(b[0] / a[0] for a, b in pairs):.2f}"

    ceiling = f" (no client can pass {options.in_flight / options.latency:,.0f})" if options.latency else ""
    lines = [
        f"{options.calls:,} calls of {options.length:,} characters, {options.in_flight} in flight, "
        f"server answers after {options.latency * 1000:g} ms{ceiling}; median of {options.rounds} rounds",
        "",
        f"{'':<26}{'calls/s':>9}{'range':>16}{'ms CPU/call':>13}{'x bare':>8}{'x plain':>9}",
    ]
    for name, took in measured.items():
        rates = sorted(options.calls / seconds for seconds, _ in took)
        processor = statistics.median(cpu for _, cpu in took) / options.calls * 1000
        lines.append(
            f"{name:<26}{statistics.median(rates):>9,.0f}{f'{rates[0]:,.0f}–{rates[-1]:,.0f}':>16}"
            f"{processor:>13.2f}{ratio(name, BARE):>8}{ratio(name, PLAIN):>9}"
        )
    best = options.in_flight / options.latency if options.latency else float("inf")
    plain = statistics.median(options.calls / seconds for seconds, _ in measured[PLAIN])
    processor = statistics.median(cpu for _, cpu in measured[OURS]) / options.calls * 1000
    lines += [
        "",
        f"perslib / bare loop          {ratio(OURS, BARE):>7}   wanted: 0.8 or more",
        f"perslib, ms of CPU a call    {processor:>7.2f}   wanted: 0.7 or less",
        f"perslib / AsyncOpenAI        {ratio(OURS, PLAIN):>7}   wanted: 2.5 or more; possible here: {best / plain:.2f}",
        f"warm cache / its cold run    {ratio(WARM, FILLING):>7}   wanted: 10 or more",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--length", type=int, default=2000, help="characters of a prompt")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds the server takes")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    command = [sys.executable, str(SERVER), "--latency", str(options.latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            print(table(rounds(json.loads(server.stdout.readline()), options), options))
        finally:
            server.stdin.close()


if __name__ == "__main__":
    main()
