"""How near evaluate() comes to what an endpoint allows: calls × latency / calls in flight, after start-up.

A loopback server in a process of its own answers each call after 50 ms. 32 blocks of a synthetic corpus are
judged with 64 calls in flight: without memory, with memories that are built first, and with memories that are
in the cache. `python benchmarks/evaluator.py` prints seconds, the ratio to the least possible, and the
processor time a call, which on a busy machine is the figure to go by.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from perslib.corpus import Corpus
from perslib.judge import JudgeSettings, Personal, evaluate
from perslib.judge.base import Judge
from perslib.llm import backbone
from perslib.memory import Structured
from perslib.worlds import world

TESTS = Path(__file__).resolve().parents[1] / "tests" / "support"
STATEMENT = {"statement": "Wants prices.", "turns": [1]}
MEMORY: dict[str, Any] = {
    "scoring_style": STATEMENT,
    "four_vs_five_distinction": STATEMENT,
    "three_vs_four_distinction": STATEMENT,
    "user_specific_requirements": [],
    "preferred_response_format": STATEMENT,
    "task_specific_observations": [],
}
VERDICT = {"score": 4, "reason": "satisfied", "evidence": ["M1"], "rationale": "Fits."}
NONE, COLD, WARM = "no memory", "memory, cold", "memory, cached"


def reply(body: dict[str, Any]) -> str:
    """A memory or a verdict that fits the schema of the request."""
    wanted = body["response_format"]["json_schema"]["schema"]["required"]
    said = MEMORY if "scoring_style" in wanted else VERDICT
    return json.dumps({name: said[name] for name in wanted})


def serve(latency: float) -> None:
    """Answer until standard input closes."""
    sys.path.insert(0, str(TESTS))
    from endpoint import Endpoint

    with Endpoint(reply, latency) as server:
        print(json.dumps(server.base_url), flush=True)
        sys.stdin.read()


def judged(judge: Judge, corpus: Corpus, users: list[str], url: str, in_flight: int) -> tuple[int, float, float]:
    """Calls made, seconds, processor seconds."""
    model = backbone("vllm-qwen3-8b", base_url=url, concurrency=in_flight, structured="schema")
    clock, processor = time.perf_counter(), time.process_time()
    verdicts = evaluate(judge, corpus, model, users=users, progress=False)
    took = time.perf_counter() - clock, time.process_time() - processor
    assert verdicts["raw"].notna().all(), verdicts["error"].iloc[0]
    return model.ledger.total.calls, *took


def rounds(options: argparse.Namespace, url: str) -> dict[str, list[tuple[int, float, float]]]:
    """Calls, seconds and processor seconds of each way of judging in every round."""
    corpus = world(users=10, seed=options.seed, language="en")
    users = sorted({user for user, _ in corpus.block_ids()})[: options.blocks // 4]
    measured: dict[str, list[tuple[int, float, float]]] = {}
    for number in range(options.rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PERSLIB_HOME"] = folder
            memory = Structured("en")
            judges = {
                NONE: Personal(None, JudgeSettings("en")),
                COLD: Personal(memory, JudgeSettings("en")),
                WARM: Personal(memory, JudgeSettings("en", seed=43)),  # other questions, the same memories
            }
            for name, judge in judges.items():
                took = judged(judge, corpus, users, url, options.in_flight)
                if number:  # the first round is start-up: imports, prompts, connections
                    measured.setdefault(name, []).append(took)
    return measured


def table(measured: dict[str, list[tuple[int, float, float]]], options: argparse.Namespace) -> str:
    """One way of judging a line, medians over the rounds."""
    lines = [
        f"{options.blocks} blocks, {options.in_flight} in flight, server answers after {options.latency * 1000:g} ms; "
        f"median of {options.rounds} rounds",
        "",
        f"{'':<16}{'calls':>7}{'seconds':>9}{'least':>8}{'ratio':>8}{'ms CPU/call':>13}",
    ]
    for name, took in measured.items():
        calls = took[0][0]
        seconds, processor = (statistics.median(t[i] for t in took) for i in (1, 2))
        least = calls * options.latency / options.in_flight
        lines.append(
            f"{name:<16}{calls:>7}{seconds:>9.2f}{least:>8.2f}{seconds / least:>8.2f}{processor / calls * 1000:>13.2f}"
        )
    return "\n".join([*lines, "", "ratio wanted: 1.15 or less"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=32, help="a multiple of 4, at most 40")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds the server takes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.latency)
    command = [sys.executable, __file__, "--serve", "--latency", str(options.latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            print(table(rounds(options, json.loads(server.stdout.readline())), options))
        finally:
            server.stdin.close()


if __name__ == "__main__":
    main()
