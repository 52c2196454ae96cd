"""A run that is killed and started again: nothing answered is asked twice, and the table is the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from endpoint import status

from perslib.llm import Cache
from perslib.llm.cache import claims
from perslib.llm.cache.claims import Claims

SCRIPT = """
import json, sys
from perslib.llm import Request, backbone
model = backbone("vllm-qwen3-8b", base_url=sys.argv[1], concurrency=8, structured="schema")
schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
questions = [Request(f"question {n}", schema=schema, temperature=0) for n in range(120)]
if sys.argv[2] == "together":
    answers = model.ask_many(questions, stage="judge", progress=False)
else:
    async def one(question, ask):
        return (await ask([question], "judge"))[0]
    answers = model.map(one, questions, progress=False)
print(json.dumps([[a.digest, a.data, a.mode, a.tokens_in, a.cost] for a in answers]))
print(json.dumps([sum(a.cached for a in answers), len(answers)]))
"""


def start(url, folder, form="together"):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url, form],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PERSLIB_HOME": str(folder)},
    )


@pytest.mark.process
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


@pytest.mark.process
def test_started_again_after_the_end_it_asks_nothing(server, tmp_path):
    first, _ = start(server.base_url, tmp_path).communicate(timeout=60)
    asked = len(server.bodies)
    second, _ = start(server.base_url, tmp_path).communicate(timeout=60)
    assert len(server.bodies) == asked
    assert first.splitlines()[0] == second.splitlines()[0]


def shown_by(process):
    """The table, and how many answers were hits."""
    table, counts = process.communicate(timeout=60)[0].splitlines()
    return table, json.loads(counts)[0]


@pytest.mark.process
@pytest.mark.parametrize("form", ["together", "apart"])
def test_two_processes_with_the_same_run_ask_each_question_once(server, tmp_path, form):
    server.latency = 0.02
    server.reply = lambda body: '{"score": 4}'
    runs = [start(server.base_url, tmp_path, form) for _ in range(2)]
    (table, hits), (same, others) = map(shown_by, runs)
    times = Counter(body["messages"][0]["content"] for body in server.bodies)
    assert (len(times), max(times.values())) == (120, 1)
    assert table == same
    assert hits + others == 120


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_what_a_killed_process_was_asking_is_taken_over(server, tmp_path):
    server.latency = 0.05
    server.reply = lambda body: '{"score": 4}'
    killed = start(server.base_url, tmp_path)
    while len(server.bodies) < 16:
        time.sleep(0.005)
    waiting = start(server.base_url, tmp_path)
    while len(server.bodies) < 48:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    shown_by(waiting)
    times = Counter(body["messages"][0]["content"] for body in server.bodies)
    assert len(times) == 120
    assert sum(number > 1 for number in times.values()) <= 8, "only what was in flight"


def test_what_gets_no_answer_is_left_to_others_at_once(server, tmp_path, model):
    """One run fails with its questions, another waits for them and asks."""
    server.latency = 0.3
    server.reply = lambda body: status(400, "content filter: no") if len(server.bodies) <= 3 else "fine"
    first, second = model(), model()
    questions = [f"question {n}" for n in range(3)]
    with ThreadPoolExecutor(2) as threads:
        failing = threads.submit(first.ask_many, questions, progress=False)
        time.sleep(0.15)
        good = threads.submit(second.ask_many, questions, progress=False).result()
    assert [a.error is None for a in failing.result()] == [False] * 3
    assert [a.text for a in good] == ["fine"] * 3
    assert len(server.bodies) == 6


def test_a_claim_that_nobody_renews_is_taken_over(home, monkeypatch):
    with Cache() as cache:
        old, new = Claims(cache), Claims(cache)
        assert old.take(["a", "b"]) == ({"a", "b"}, False)
        assert new.take(["a", "b", "c"]) == ({"c"}, False)
        monkeypatch.setattr(claims, "STALE", -1.0)
        assert new.take(["a"]) == ({"a"}, False)
        monkeypatch.undo()
        assert old.take(["a", "b"]) == ({"b"}, False)
        old.end()
        assert new.take(["b"]) == ({"b"}, False)


def test_an_answer_that_came_in_between_is_seen_with_the_claim(home):
    with Cache() as cache:
        assert Claims(cache).take(["a"]) == ({"a"}, False)
        cache.put("a", {"text": "yes"}, {})
        assert Claims(cache).take(["a"]) == ({"a"}, True)
