"""Work spread over two processes: the same table, whoever dies in between, and nothing asked twice."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections import Counter

import pandas as pd
import pytest
from endpoint import HASTY, Endpoint

pytest.importorskip("distributed")

from distributed import LocalCluster
from two_workers import two_workers

from perslib.cluster import connect_cluster, spread, write_value
from perslib.errors import BackboneError, DataError, PerslibError, Problem, UnknownName
from perslib.judge import JudgeSettings, Nearest, Personal, evaluate
from perslib.llm import backbone
from perslib.llm.backbone import share
from perslib.llm.entries import entry
from perslib.worlds import world

VERDICT = {"score": 4, "reason": "satisfied", "rationale": "Fits."}
TOLD = ["user", "scenario", "session", "turn", "raw", "reason", "rationale", "tokens_in", "tokens_out", "prompt"]
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def cluster():
    quick = {
        "distributed.scheduler.locks.lease-timeout": "2s",
        "distributed.scheduler.locks.lease-validation-interval": "0.2s",
    }
    with two_workers(quick) as made:
        yield made


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def corpus():
    return world(users=4, seed=7, language="en")


def judged(corpus, url, home, **options):
    os.environ["PERSLIB_HOME"] = str(home)
    model = backbone("vllm-qwen3-8b", base_url=url, structured="schema", concurrency=8, patience=HASTY, **options)
    judge = Personal(None, JudgeSettings("en"))
    return evaluate(judge, corpus, model, split=None, limit=40, progress=False), model


def test_the_table_is_the_one_of_this_process_and_the_ledger_adds_up(cluster, home, corpus):
    with Endpoint(lambda body: json.dumps(VERDICT)) as server:
        here, alone = judged(corpus, server.base_url, home / "here")
        there, spread_out = judged(corpus, server.base_url, home / "there", scheduler=cluster)
        pd.testing.assert_frame_equal(here[TOLD], there[TOLD])
        assert spread_out.ledger.total.calls == alone.ledger.total.calls == len(here) == 40
        again, cached = judged(corpus, server.base_url, home / "there", scheduler=cluster)
        pd.testing.assert_frame_equal(there.drop(columns=["seconds", "cost"]), again.drop(columns=["seconds", "cost"]))
        assert (cached.ledger.total.calls, cached.ledger.total.hits) == (0, 40)
        assert len(server.bodies) == 80
    assert not list((home / "there" / ".perslib" / "spread").iterdir()), "nothing is left behind"


def test_a_worker_that_is_killed_costs_nothing_that_was_answered(cluster, home, corpus):
    with Endpoint(lambda body: json.dumps(VERDICT), latency=0.05) as server:
        here, _ = judged(corpus, server.base_url, home / "here")
        asked = len(server.bodies)

        def kill():
            while len(server.bodies) < asked + 12:
                time.sleep(0.01)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        there, _ = judged(corpus, server.base_url, home / "there", scheduler=cluster)
        killer.join()
        pd.testing.assert_frame_equal(here[TOLD], there[TOLD])
        questions = Counter(json.dumps(body["messages"]) for body in server.bodies[asked:])
        # What was on its way when the worker died was not written: at most its seat's share of the calls in flight.
        assert len(questions) == 40 and sum(questions.values()) - 40 <= 4


def square(numbers):
    return [n * n for n in numbers]


def slow_square(numbers):
    time.sleep(0.2)
    return [n * n for n in numbers]


def test_results_come_in_order_and_those_with_a_key_are_kept(cluster, home):
    chunks = [[i, i + 1] for i in range(20)]
    expected = [square(chunk) for chunk in chunks]
    with connect_cluster(cluster) as at:
        assert list(spread(at, square, chunks)) == expected
        kept = home / "kept"
        assert list(spread(at, square, chunks, keys=str, folder=kept)) == expected

        def fails(numbers):
            raise AssertionError("asked for what is there")

        assert list(spread(at, fails, chunks, keys=str, folder=kept)) == expected


def test_a_run_whose_scheduler_is_lost_goes_on_under_the_next(home):
    """The scheduler in a thread of its own loop is stopped in mid-run; another one takes its place."""
    kept = home / "kept"
    chunks = [[i] for i in range(12)]
    taken = []
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as first,
        pytest.raises(PerslibError, match="The Dask scheduler is gone"),
        connect_cluster(first) as at,
    ):
        for found in spread(at, slow_square, chunks, keys=str, folder=kept):
            taken += found
            if len(taken) == 3:
                threading.Thread(target=first.close).start()
    done = len(list(kept.glob("result-*")))
    assert 3 <= done < 12
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as second,
        connect_cluster(second) as at,
    ):
        again = list(spread(at, slow_square, chunks, keys=str, folder=kept))
    assert again == [[i * i] for i in range(12)] and taken == [0, 1, 4]


def test_bounds_are_divided_and_never_exceeded():
    whole = entry("vllm-qwen3-8b", concurrency=64, rpm=100, tpm=None)
    part, seats = share(whole, 6)
    assert seats == 6 and part.concurrency * seats <= 64 and part.rpm * seats <= 100 and part.tpm is None
    part, seats = share(entry("vllm-qwen3-8b", concurrency=3), 8)
    assert (part.concurrency, seats) == (1, 3), "with more workers than calls in flight, some wait"


def test_what_cannot_be_is_said(cluster, home, corpus, monkeypatch):
    monkeypatch.setattr("perslib.cluster.CONNECT", "1s")
    with (
        pytest.raises(PerslibError, match=r"No Dask scheduler can be reached .*dask scheduler"),
        connect_cluster("tcp://127.0.0.1:1"),
    ):
        pass
    model = backbone("vllm-qwen3-8b", base_url="http://127.0.0.1:1/v1", scheduler=cluster)
    with pytest.raises(BackboneError, match="spending cap cannot be kept"):
        evaluate(Personal(None, JudgeSettings("en")), corpus, model, split=None, limit=4, cap=1.0, progress=False)


def refuses(numbers):
    raise DataError(Problem("turns.jsonl:17", "score is 7, expected 1–5"), "Mend it.")


def test_errors_of_workers_come_whole(cluster, home):
    with connect_cluster(cluster) as at, pytest.raises(DataError, match="score is 7") as caught:
        list(spread(at, refuses, [[1]]))
    assert caught.value.problems[0].place == "turns.jsonl:17" and caught.value.remedy == "Mend it."
    unknown = pickle.loads(pickle.dumps(UnknownName("judge", "persnal", ["personal"])))
    assert str(unknown) == str(UnknownName("judge", "persnal", ["personal"])) and unknown.known == ["personal"]


def test_a_judge_that_asks_nothing_needs_no_cluster(corpus):
    assert len(evaluate(Nearest(), corpus, None, split=None, limit=8, progress=False)) == 8


def test_equal_values_are_written_once(tmp_path):
    one, two = write_value(tmp_path, {"a": [1, 2]}), write_value(tmp_path, {"a": [1, 2]})
    assert one == two and pickle.loads(one.read_bytes()) == {"a": [1, 2]} and len(list(tmp_path.iterdir())) == 1


class Lazy:
    """A client whose workers begin a chunk only when its result is asked for."""

    def wait_for_workers(self, number, timeout):
        pass

    def nthreads(self):
        return {"a worker": 1}

    def submit(self, function, *given, key, pure):
        class Future:
            def result(self):
                return function(*given)

        return Future()


def test_equal_chunks_do_not_share_a_file_and_none_of_an_earlier_run_is_taken(home, tmp_path):
    chunks = [[1], [1], [2]]
    assert list(spread(Lazy(), square, chunks, folder=tmp_path)) == [[1], [1], [4]]
    for name in ("chunk-00000000", "result-00000001"):
        write_value(tmp_path, [7], name)
    assert list(spread(Lazy(), square, chunks, folder=tmp_path)) == [[1], [1], [4]]
