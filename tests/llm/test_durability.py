"""Runs that are killed, run side by side, or run out of disk: real processes against a real loopback server."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint

from perslib.llm.cache.store import Cache

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals, limits and permissions")

#: A run over questions `first` … `last`; prints its table, as a notebook would show it.
RUN = """
import json, sys
from perslib.llm.backbone import backbone
url, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = backbone("vllm-qwen3-8b", base_url=url, concurrency=4)
answers = model.ask_many([f"question {n}" for n in range(first, last)], stage="judge", progress=False)
print(json.dumps([[n, a.text, a.error] for n, a in zip(range(first, last), answers)]))
"""


def reply(body: dict) -> str:
    return f"the answer to {body['messages'][-1]['content']}"


def table(first: int, last: int) -> list[list]:
    return [[n, f"the answer to question {n}", None] for n in range(first, last)]


@pytest.fixture
def slow() -> Iterator[Endpoint]:
    with Endpoint(reply, latency=0.03) as server:
        yield server


def start(code: str, *arguments: object, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PERSLIB_HOME": str(home)},
    )


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    said, noise = process.communicate(timeout=60)
    assert process.returncode == 0, noise
    return said, noise


def asked(server: Endpoint) -> list[str]:
    return [body["messages"][-1]["content"] for body in server.bodies]


def stored(home: Path) -> set[str]:
    """The questions whose answers are in the cache, which must be whole."""
    file = home / ".perslib" / "cache.sqlite"
    look = sqlite3.connect(file)
    assert look.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    keys = [key for (key,) in look.execute("SELECT digest FROM entries")]
    look.close()
    with Cache(file, "only") as cache:
        return {a["text"].removeprefix("the answer to ") for a in cache.get_many(keys).values()}


@pytest.mark.process
def test_killed_and_resumed_gives_the_same_table_and_asks_nothing_twice(slow, tmp_path):
    run = start(RUN, slow.base_url, 0, 80, home=tmp_path)
    while len(slow.bodies) < 30:
        time.sleep(0.005)
    run.kill()
    run.communicate()
    kept = stored(tmp_path)
    in_flight = set(asked(slow)) - kept
    assert len(kept) >= 20 and len(in_flight) <= 8, "only what was under way is lost"
    time.sleep(0.1)  # calls of the dead process still arrive
    before = len(slow.bodies)
    said, _ = finished(start(RUN, slow.base_url, 0, 80, home=tmp_path))
    again = asked(slow)[before:]
    assert json.loads(said) == table(0, 80)
    assert not kept & set(again) and len(again) == 80 - len(kept)


@pytest.mark.process
def test_an_answer_that_was_handed_out_survives_any_kill(slow, tmp_path):
    """Each answer is printed the moment the caller has it; after a kill, all that was printed is kept."""
    code = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from perslib.llm.backbone import backbone
        model = backbone("vllm-qwen3-8b", base_url=sys.argv[1], concurrency=8)

        def ask(n):
            answer = model.ask(f"question {n}")
            sys.stdout.write(answer.text.removeprefix("the answer to ") + "\\n")
            sys.stdout.flush()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(ask, range(500)))
    """
    run = start(code, slow.base_url, home=tmp_path)
    assert run.stdout is not None
    seen = [run.stdout.readline().strip() for _ in range(25)]
    time.sleep(random.Random(7).uniform(0, 0.05))
    run.kill()
    seen += [line for line in run.communicate()[0].splitlines() if line.startswith("question ")]
    complete = {line for line in seen if line in set(asked(slow))}
    assert len(complete) >= 25
    assert complete <= stored(tmp_path)


@pytest.mark.process
def test_killed_while_writing_at_full_speed_the_file_stays_whole(tmp_path):
    code = """
        import os, sys
        from perslib.llm.cache.store import Cache
        cache = Cache(sys.argv[1])
        for n in range(int(sys.argv[2]), 10**9):
            cache.put(f"k{n}", {"text": os.urandom(600).hex()}, {"stage": "judge"})
            os.write(1, b"%d\\n" % n)
    """
    file, pause = tmp_path / "cache.sqlite", random.Random(1)
    expected: list[int] = []
    for _ in range(3):
        run = start(code, file, len(expected) + 1000, home=tmp_path)
        assert run.stdout is not None
        lines = [run.stdout.readline()]
        time.sleep(pause.uniform(0.02, 0.2))
        run.kill()
        lines += run.communicate()[0].splitlines()
        expected += [int(line) for line in lines if line.strip()]
        with Cache(file) as cache:
            assert len(cache.get_many([f"k{n}" for n in expected])) == len(set(expected))
            assert cache.connection().execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.mark.process
def test_two_runs_share_one_cache(slow, tmp_path):
    one = start(RUN, slow.base_url, 0, 60, home=tmp_path)
    other = start(RUN, slow.base_url, 30, 90, home=tmp_path)
    said, noise = finished(one)
    said_other, noise_other = finished(other)
    assert json.loads(said) == table(0, 60) and json.loads(said_other) == table(30, 90)
    assert (noise, noise_other) == ("", "")
    assert stored(tmp_path) == {f"question {n}" for n in range(90)}
    assert 90 <= len(slow.bodies) <= 120
    before = len(slow.bodies)
    assert json.loads(finished(start(RUN, slow.base_url, 0, 90, home=tmp_path))[0]) == table(0, 90)
    assert len(slow.bodies) == before


@pytest.mark.process
def test_processes_that_make_the_same_new_file_at_once(tmp_path):
    code = """
        import sys, time
        from perslib.llm.cache.store import Cache
        me, moment = sys.argv[2], float(sys.argv[3])
        time.sleep(max(0, moment - time.time()))
        cache = Cache(sys.argv[1])
        for n in range(200):
            cache.put(f"{me}/{n}", {"by": me, "n": n}, {})
            cache.put(f"shared/{n}", {"n": n}, {})
            assert cache.get(f"{me}/{n}") == {"by": me, "n": n}
    """
    file, moment = tmp_path / "cache.sqlite", time.time() + 3
    runs = [start(code, file, me, moment, home=tmp_path) for me in range(4)]
    assert [finished(run) for run in runs] == [("", "")] * 4
    with Cache(file) as cache:
        assert len(cache) == 5 * 200
        assert cache.get("shared/199") == {"n": 199}


@pytest.mark.process
def test_a_disk_that_fills_up_loses_nothing_while_the_run_lasts_and_says_so(tmp_path):
    """A limit on the size of files stands for the full disk."""
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    )
    noise = random.Random(0)
    letters = "".join(chr(noise.randrange(0x4E00, 0x9FA5)) for _ in range(4000))
    with Endpoint(lambda body: f"{reply(body)} {letters}") as server:
        said, warned = finished(start(limit + RUN, server.base_url, 0, 40, home=tmp_path))
        answers = json.loads(said)
        assert [text.split(" ")[4] for _, text, _ in answers] == [str(n) for n in range(40)]
        assert warned.count("answers cannot be written") == 1 and "Free some space for" in warned
        assert "could not be written and are lost with this process" in warned
        kept = {text.split(" " + letters[:9])[0] for text in stored(tmp_path)}
        assert 0 < len(kept) < 40
        before = len(server.bodies)
        finished(start(RUN, server.base_url, 0, 40, home=tmp_path))
        assert not kept & set(asked(server)[before:]), "what did get in is not asked again"


@pytest.mark.skipif(
    os.geteuid() == 0 and not all(p.stat().st_mode & 0o001 for p in Path(__file__).resolve().parents),
    reason="run by root, in a folder that no other user can read",
)
def test_a_cache_that_cannot_be_written_is_refused_before_anything_is_paid(slow):
    code = (
        "import perslib.llm.backbone, perslib.llm.cache.store, os\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setuid(65534)\n"  # root may write anywhere
        f"{RUN}"
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / ".perslib").mkdir()
        (home / ".perslib").chmod(0o555)
        home.chmod(0o555)
        run = start(code, slow.base_url, 0, 5, home=home)
        _, noise = run.communicate(timeout=60)
        home.chmod(0o755)
    assert run.returncode == 1
    assert f"CacheError: The cache {home}/.perslib/cache.sqlite cannot be opened" in noise
    assert "set PERSLIB_HOME to a folder that is" in noise
    assert slow.bodies == []


@pytest.mark.process
def test_an_interrupt_keeps_what_was_answered(slow, tmp_path):
    run = start(RUN, slow.base_url, 0, 200, home=tmp_path)
    while len(slow.bodies) < 20:
        time.sleep(0.005)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    kept = stored(tmp_path)
    assert run.returncode != 0 and 10 <= len(kept) < 200
    before = len(slow.bodies)
    assert json.loads(finished(start(RUN, slow.base_url, 0, 200, home=tmp_path))[0]) == table(0, 200)
    assert not kept & set(asked(slow)[before:])
