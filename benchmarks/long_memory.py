"""Building a memory of months, and asking a hundred of them: how much of the waiting is done side by side.

A loopback server in a process of its own answers each question of H²Memory after 50 ms, sensibly enough that the next
step has something to do. One user of PAL-Set's size (29 sessions, 996 device logs, 401 turns; about 8 groups of logs and
2.45 topics a session) is built with 32 calls in flight, then several users at once, then one whose run was stopped half
way. Then a thousand queries over a hundred memories, vectors at hand. At last a thousand queries over one long memory, and
the same with one thread of linear algebra.

    python benchmarks/long_memory.py

Wanted: wall time of one user at most a tenth of calls × latency; users at once up to the bound of the endpoint; what was
answered before the stop is not asked again; the thousand queries in under two seconds; the long memory no slower than with
one thread.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests" / "support"
sys.path.insert(0, str(TESTS))

from h2_mind import Mind, Words  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from perslib.llm import Backbone, backbone  # noqa: E402
from perslib.systems.mem_pal.memory.baselines import SessionRetrieval, TurnRetrieval  # noqa: E402
from perslib.systems.mem_pal.memory.h2 import H2Memory  # noqa: E402
from perslib.systems.mem_pal.memory.long_term import Exchange, Log, LongTermMemory, MemorySession  # noqa: E402

SESSIONS, LOGS, TURNS, GROUPS = 29, 996, 401, 8
LONG = 12
"""How many times as many logs and turns the long memory holds."""
#: The fields a reply must have tell which question was put.
QUESTIONS = {
    "relations": "h2_relations",
    "situation,aspects": "h2_situation",
    "updates": "h2_background",
    "outlines": "h2_outline",
    "requirement": "h2_refine",
    "general_requirement": "h2_requirement",
    "principle": "h2_principle",
    "adjust,general_requirement": "h2_requirement_update",
    "adjust,principle": "h2_principle_update",
}


class Listener(Mind):
    """Hears two or three topics in a dialogue, 2.45 on average."""

    def h2_outline(self, said: str) -> dict[str, Any]:
        """Topics of about equal length, from the first turn to the last."""
        topics = super().h2_outline(said)["outlines"]
        wanted = 2 + (len(topics[0]["requirement"]) % 20 < 9)
        turns = topics[-1]["last_turn"]
        starts = [round(i * turns / wanted) + 1 for i in range(wanted)]
        ends = [*(start - 1 for start in starts[1:]), turns]
        own = [{"first_turn": first, "last_turn": last} for first, last in zip(starts, ends)]
        return {"outlines": [{**topics[(span["first_turn"] - 1) // 2], **span} for span in own]}


def serve(latency: float) -> None:
    """Answer until standard input closes."""
    from endpoint import Endpoint

    mind = Listener()

    def reply(body: dict[str, Any]) -> str:
        wanted = body["response_format"]["json_schema"]["schema"]["required"]
        return json.dumps(getattr(mind, QUESTIONS[",".join(wanted)])(body["messages"][1]["content"]))

    with Endpoint(reply, latency=latency) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def past(user: int, times: int = 1) -> list[MemorySession]:
    """A user's months, drawn by the user's number; with so many times the usual logs and turns."""
    dice = random.Random(user)
    found = []
    for j in range(SESSIONS):
        month, first = j // 3 + 1, (j % 3) * 9 + 1
        totals = (LOGS * times, TURNS * times)
        logs, turns = (total * (j + 1) // SESSIONS - total * j // SESSIONS for total in totals)
        lines = []
        for i in range(logs):
            begins = not i or dice.random() < GROUPS / logs
            said = f"thing{dice.randrange(50)}" if begins else f"again thing{dice.randrange(50)}"
            at = f"2024-{month:02}-{first + i * 8 // logs:02} {8 + i % 12:02}:{i % 60:02}"
            lines.append(Log(at, f"{said}, note {dice.randrange(999)}"))
        lines.sort(key=lambda log: log.at)
        told = [Exchange(f"wish {dice.randrange(10**6)} word{dice.randrange(40)}", "reply " * 10) for _ in range(turns)]
        at = f"2024-{month:02}-{first + 8:02} 22:00:00"
        found.append(MemorySession(f"{user:04}_sample{j}", at, tuple(lines), tuple(told)))
    return found


def built(
    memory: LongTermMemory, users: list[int], url: str, options: argparse.Namespace
) -> tuple[int, float, float, int]:
    """Calls, seconds, processor seconds, and pieces that failed."""
    model = asked(url, options)
    clock, processor = time.perf_counter(), time.process_time()
    stores = model.work([partial(memory.build, str(user), past(user)) for user in users], progress=False)
    took = time.perf_counter() - clock, time.process_time() - processor
    return model.ledger.total.calls, *took, sum(len(store.failed) for store in stores)


def asked(url: str, options: argparse.Namespace) -> Backbone:
    return backbone("vllm-qwen3-8b", base_url=url, concurrency=options.in_flight, structured="schema")


def stopped(memory: LongTermMemory, user: int, url: str, options: argparse.Namespace) -> tuple[int, int]:
    """Calls of a run that ends half way, and of the run that goes on from there."""
    model = asked(url, options)

    async def half() -> None:
        work = asyncio.ensure_future(model.work_async([partial(memory.build, str(user), past(user))], progress=False))
        while model.ledger.total.calls < options.stop_after:
            await asyncio.sleep(0.005)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(half())
    first, again = model.ledger.total.calls, asked(url, options)
    again.work([partial(memory.build, str(user), past(user))], progress=False)
    return first, again.ledger.total.calls


def recalled(memory: LongTermMemory, queries: int, users: int) -> float:
    """Seconds of so many queries over so many users' memories, vectors at hand."""
    own = range(10)  # ten pasts, each of several users: what is searched is the same as with a hundred
    made = [Listener().work(partial(memory.build, str(user), past(user))) for user in own]
    places = [(i % users % 10, f"wish {i} word{i % 40}") for i in range(queries)]
    last = [past(user)[-1] for user in own]
    memory.space.vectors([query for _, query in places], "query")  # type: ignore[attr-defined]
    for user in own:
        memory.recall(made[user], last[user], places[user][1], "solution")
    clock = time.perf_counter()
    for user, query in places:
        memory.recall(made[user], last[user], query, "solution")
    return time.perf_counter() - clock


def recalled_long(memory: LongTermMemory, queries: int) -> float:
    """Seconds of so many queries over a memory of many turns."""
    sessions = past(0, LONG)
    store = Listener().work(partial(memory.build, "0", sessions))
    memory.recall(store, sessions[-1], "wish", "solution")
    clock = time.perf_counter()
    for i in range(queries):
        memory.recall(store, sessions[-1], f"wish {i} word{i % 40}", "solution")
    return time.perf_counter() - clock


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds the server takes")
    parser.add_argument("--users", type=int, nargs="*", default=[1, 2, 4, 8], help="users built at once")
    parser.add_argument("--stop-after", type=int, default=250, help="calls after which a run is stopped")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.latency)
    command = [sys.executable, __file__, "--serve", "--latency", str(options.latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            measure(server.stdout.readline().strip(), options)
        finally:
            server.stdin.close()


def measure(url: str, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PERSLIB_HOME"] = folder
        memory = H2Memory("en", embedder=Words())
        counts = Listener()
        counts.work(partial(memory.build, "counted", past(0)))
        print(f"One user: {SESSIONS} sessions, {LOGS} logs, {TURNS} turns; {len(counts.asked)} calls:")
        print("  " + ", ".join(f"{name} {count}" for name, count in counts.counts.items()))
        built(memory, [10_000], url, options)  # start-up: imports, prompts, connections
        print(
            f"{'users':>6}{'calls':>7}{'seconds':>9}{'of the sum':>12}{'of the bound':>14}{'ms CPU/call':>13}{'failed':>8}"
        )
        number = 0
        for users in options.users:
            calls, seconds, processor, failed = built(memory, list(range(number, number + users)), url, options)
            number += users
            total = calls * options.latency
            bound = total / options.in_flight
            print(
                f"{users:>6}{calls:>7}{seconds:>9.2f}{seconds / total:>12.3f}{bound / seconds:>14.2f}"
                f"{processor / calls * 1000:>13.2f}{failed:>8}"
            )
        first, rest = stopped(memory, number, url, options)
        print(f"stopped after {first} calls, the next run asks {rest} more")
        retrievers = [memory, TurnRetrieval("en", embedder=Words()), SessionRetrieval("en", embedder=Words())]
        for one in retrievers:
            print(
                f"{options.queries} queries over 100 memories, {one.name}: {recalled(one, options.queries, 100):.2f} s"
            )
        for one in retrievers[1:]:
            seconds = recalled_long(one, options.queries)
            with threadpool_limits(1, user_api="blas"):
                ratio = seconds / recalled_long(one, options.queries)
            print(
                f"{options.queries} queries over {LONG * TURNS:,} turns, {one.name}: {seconds:.2f} s, "
                f"{ratio:.2f} of one thread"
            )


if __name__ == "__main__":
    main()
