"""A log mined by two processes: the same bytes, whoever dies in between, and no finished shard made twice."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time

import pandas as pd
import pytest

pytest.importorskip("distributed")

import distributed
from two_workers import two_workers

from perslib.errors import DataError
from perslib.systems.uxbench.signals import mine_log, mining
from perslib.systems.uxbench.signals.mining import REJECTED, SHARDS, TABLE

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]
ASKED = ["公积金怎么提取", "公积金怎么提取？", "太啰嗦了，说重点", "谢谢", "my mail is a.b@example.org", "never mind"]


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as made:
        yield made


@pytest.fixture
def passed(monkeypatch):
    """The size of what is given to the scheduler, task by task."""
    sizes = []
    submit = distributed.Client.submit

    def noted(self, *args, **options):
        sizes.append(len(pickle.dumps((args, options))))
        return submit(self, *args, **options)

    monkeypatch.setattr(distributed.Client, "submit", noted)
    return sizes


def talks(n):
    for i in range(n):
        history = []
        for j in range(1 + i % 5):
            history.append({"role": "user", "message": ASKED[(i + j) % len(ASKED)]})
            history.append({"role": "assistant", "message": "先准备材料，再去窗口。" * (1 + i % 70)})
        yield {"cid": f"c{i % 97}-{i}", "history": history}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same sessions a line and a message a row; among the lines some that are none."""
    folder = tmp_path_factory.mktemp("logs")
    rows = list(talks(120))
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines[7:7] = ["[]", "{not json", ""]
    (folder / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    flat = pd.DataFrame([{"cid": row["cid"], **m} for row in rows for m in row["history"]])
    flat.to_parquet(folder / "flat.parquet", row_group_size=7)
    return folder


def written(out):
    assert sorted(file.name for file in out.iterdir()) == [REJECTED, TABLE], "no shard is left behind"
    return (out / TABLE).read_bytes(), (out / REJECTED).read_bytes()


@pytest.mark.parametrize("name", ["log.jsonl", "flat.parquet"])
def test_the_files_are_those_of_one_process_to_the_byte(cluster, folder, passed, tmp_path, name):
    cut = {"size": 9_000, "rows": 31}  # rows of Parquet: no multiple of a session's
    here = mine_log(folder / name, tmp_path / "here", **cut)
    there = mine_log(folder / name, tmp_path / "there", scheduler=cluster, **cut)
    assert written(tmp_path / "there") == written(tmp_path / "here")
    assert there.counts.equals(here.counts) and (there.rejected, there.notes) == (here.rejected, here.notes)
    assert here.sessions == 120 and dict(here.rejected) == (
        {"not an object": 1, "not JSON": 1} if "json" in name else {}
    )
    assert len(passed) > 12 and max(passed) < 1_500, "names travel, never what was said"


def test_without_a_folder_the_table_comes_back(cluster, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    frame = pd.read_parquet(folder / "flat.parquet")
    there = mine_log(frame, rows=100, scheduler=cluster, key=b"k")
    assert there.arrow.equals(mine_log(frame, rows=100, key=b"k").arrow)


def test_a_run_that_broke_off_goes_on_from_its_shards(cluster, folder, passed, tmp_path, monkeypatch):
    out, taken = tmp_path / "out", []

    def stopped(*args):
        taken.append(args)
        if len(taken) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(mining, "_count", stopped)
        mine_log(folder / "log.jsonl", out, size=9_000, scheduler=cluster)
    done = len(list((out / SHARDS).glob("result-*.pkl")))
    passed.clear()
    mine_log(folder / "log.jsonl", out, size=9_000, scheduler=cluster)
    here = mine_log(folder / "log.jsonl", tmp_path / "here", size=9_000)
    assert done >= 4 and written(out) == written(tmp_path / "here")
    blocks = sum(1 for _ in mining.read_log_blocks(folder / "log.jsonl", size=9_000))
    assert len(passed) <= blocks - done and here.replies > 0


def test_a_worker_that_is_killed_costs_nothing(cluster, folder, tmp_path):
    out = tmp_path / "out"

    def kill():
        while not list((out / SHARDS).glob("result-*.pkl")):
            time.sleep(0.002)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    mine_log(folder / "log.jsonl", out, size=3_000, scheduler=cluster)
    killer.join(timeout=10)
    mine_log(folder / "log.jsonl", tmp_path / "here", size=3_000)
    assert not killer.is_alive() and written(out) == written(tmp_path / "here")


def test_processes_beside_a_scheduler_are_too_many(folder):
    with pytest.raises(DataError, match="is 2 beside a scheduler"):
        mine_log(folder / "log.jsonl", processes=2, scheduler="local")
