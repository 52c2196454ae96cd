"""An evaluation that is killed and run again: one verdict a reply, and no question asked twice but those in flight."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from endpoint import Endpoint
from scripted import MEMORY

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
IN_FLIGHT, TURNS = 8, 90

RUN = """
import json, sys
from perslib.corpus import load
from perslib.judge import JudgeSettings, Personal, evaluate
from perslib.llm import backbone
from perslib.memory import Structured
model = backbone("vllm-qwen3-8b", base_url=sys.argv[1], concurrency=8, structured="schema")
judge = Personal(Structured("en"), JudgeSettings("en"))
verdicts = evaluate(judge, load("sample/en"), model, limit=90, progress=False)
print(verdicts[["user", "scenario", "session", "turn", "raw", "memory", "mode"]].to_json(orient="values"))
"""


def words(body: dict) -> str:
    return body["messages"][-1]["content"]


def is_judging(body: dict) -> bool:
    return "Write the memory" not in words(body)


def reply(body: dict) -> str:
    said = {"score": 1 + len(words(body)) % 5, "reason": "other", "evidence": ["M1"], "rationale": "so"}
    return json.dumps(said if is_judging(body) else MEMORY)


def start(server: Endpoint, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, server.base_url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PERSLIB_HOME": str(home)},
    )


def finished(process: subprocess.Popen[str]) -> list[list]:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)


@pytest.mark.process
def test_killed_at_a_third_and_run_again(tmp_path):
    with Endpoint(reply, latency=0.05) as server:
        killed = start(server, tmp_path)
        while sum(map(is_judging, server.bodies)) < TURNS // 3:
            assert killed.poll() is None
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=60)
        before = sum(map(is_judging, server.bodies))
        assert before < TURNS * 2 / 3, "killed too late to mean anything"

        resumed = finished(start(server, tmp_path))
        assert len({tuple(row[:4]) for row in resumed}) == len(resumed) == TURNS
        assert {row[5] for row in resumed} == {"structured"} and all(row[4] for row in resumed)

        asked = Counter(words(body) for body in server.bodies if is_judging(body))
        assert len(asked) == TURNS and asked.total() <= TURNS + IN_FLIGHT
        memories = Counter(words(body) for body in server.bodies if not is_judging(body))
        assert len(memories) == len({tuple(row[:2]) for row in resumed})
        assert memories.total() <= len(memories) + IN_FLIGHT

        # A finished run that is repeated asks nothing and ends in the same table.
        so_far = len(server.bodies)
        assert finished(start(server, tmp_path)) == resumed and len(server.bodies) == so_far
