"""A run that is killed and started again: nothing answered is asked twice, and the table is the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

SCRIPT = """
import json, sys
from perslib.llm import Request, backbone
model = backbone("vllm-qwen3-8b", base_url=sys.argv[1], concurrency=8, structured="schema")
schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
questions = [Request(f"question {n}", schema=schema, temperature=0) for n in range(120)]
answers = model.ask_many(questions, stage="judge", progress=False)
print(json.dumps([[a.digest, a.data, a.mode, a.tokens_in, a.cost] for a in answers]))
print(json.dumps([sum(a.cached for a in answers), len(answers)]))
"""


def start(url, folder):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PERSLIB_HOME": str(folder)},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_in_mid_run(server, tmp_path):
    server.latency = 0.02
    server.reply = lambda body: json.dumps({"score": 1 + len(body["messages"][0]["content"]) % 5})

    whole, _ = start(server.base_url, tmp_path / "whole").communicate(timeout=60)
    server.bodies.clear()

    killed = start(server.base_url, tmp_path / "killed")
    while len(server.bodies) < 50:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    asked_before = len(server.bodies)
    assert asked_before < 120, "killed too late to mean anything"

    resumed, _ = start(server.base_url, tmp_path / "killed").communicate(timeout=60)
    table, counts = resumed.splitlines()
    assert table == whole.splitlines()[0]

    times = Counter(body["messages"][0]["content"] for body in server.bodies)
    assert len(times) == 120
    asked_twice = sum(number > 1 for number in times.values())
    assert asked_twice <= 8, "only what was in flight when it was killed is asked again"
    hits, total = json.loads(counts)
    assert (hits, total) == (120 - (len(server.bodies) - asked_before), 120)
    assert hits >= asked_before - 8


def test_started_again_after_the_end_it_asks_nothing(server, tmp_path):
    first, _ = start(server.base_url, tmp_path).communicate(timeout=60)
    asked = len(server.bodies)
    second, _ = start(server.base_url, tmp_path).communicate(timeout=60)
    assert len(server.bodies) == asked
    assert first.splitlines()[0] == second.splitlines()[0]
