"""What judging costs as a corpus grows: processor time and memory a turn at 1, 4, 16 and 64 times PersTurnBench's size.

A synthetic corpus of 115 users is stored N times over, users and replies marked so that every question is another
one, and judged whole in a process of its own: memories built, 64 calls in flight, every answer in the cache. The
backbone answers at once inside the process, so that what is measured is perslib. `--workers` judges the first size on
a Dask cluster of one process and of so many, and says how much more so many processes do on this machine when they
share nothing: what threads of one core gain by each other bounds what any cluster on it can.

    python benchmarks/growth.py --sizes 1 4 16 64
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from evaluator import reply

from perslib.corpus import load, save
from perslib.judge import JudgeSettings, Personal, evaluate
from perslib.llm import backbone
from perslib.llm.answerers.http import Transport
from perslib.memory import Structured
from perslib.worlds import world

USERS = 115


async def answered(self: Transport, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A memory or a verdict that fits the schema of the request, at once."""
    assert body is not None
    message = {"role": "assistant", "content": reply(dict(body))}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"model": "none", "choices": [choice], "usage": usage, "seconds": 0.0, "size": 0}


def dask_setup(worker: Any) -> None:
    """Called by a Dask worker that preloads this file."""
    Transport.exchange = answered  # type: ignore[method-assign]


def grown(once: Path, folder: Path, times: int) -> Path:
    """The corpus stored in `once`, so many times over, laid out as `save` does it."""
    folder.mkdir()
    for name in ("users", "sessions", "turns", "events"):
        table = pq.read_table(once / f"{name}.parquet")
        copies = pa.concat_tables(_marked(table, copy) for copy in range(times))
        pq.write_table(copies, folder / f"{name}.parquet", compression="zstd")
    card = json.loads((once / "corpus.json").read_text("utf-8"))
    card |= {
        "name": f"grown-{times}",
        "extras": [],
        "files": {},
        "meta": {"scenarios": card["meta"].get("scenarios", [])},
    }
    (folder / "corpus.json").write_text(json.dumps(card), "utf-8")
    return folder


def _marked(table: pa.Table, copy: int) -> pa.Table:
    for column, mark in (("user", f"-{copy}"), ("response", f" ({copy})")):
        if column in table.column_names:
            place = table.column_names.index(column)
            kind = table.schema.field(column).type
            marked = pc.binary_join_element_wise(table[column].cast(kind), pa.scalar(mark, kind), pa.scalar("", kind))
            table = table.set_column(place, table.schema.field(column), marked)
    return table


def judge(folder: Path, scheduler: Any = None) -> dict[str, float]:
    """Judge it; turns, seconds, processor seconds and the largest memory of this process in MB."""
    Transport.exchange = answered  # type: ignore[method-assign]
    corpus = load(folder)
    before = most_held()
    spread = {} if scheduler is None else {"scheduler": scheduler}
    model = backbone("vllm-qwen3-8b", base_url="http://127.0.0.1:9", concurrency=64, structured="schema", **spread)
    clock, processor = time.perf_counter(), time.process_time()
    verdicts = evaluate(Personal(Structured("en"), JudgeSettings("en")), corpus, model, split=None, progress=False)
    took = {"seconds": time.perf_counter() - clock, "processor": time.process_time() - processor}
    assert verdicts["raw"].notna().all() and len(verdicts) == len(corpus.turns), verdicts["error"].iloc[0]
    asked = model.ledger.total.calls
    return {"turns": len(verdicts), "calls": asked, "loaded": before, "peak": most_held(), **took}


def most_held() -> float:
    """The largest memory of this process so far in MB; `ru_maxrss` would count what started it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


def on_workers(folder: Path, number: int) -> dict[str, float]:
    """Judge it on a cluster of so many processes."""
    from dask.distributed import LocalCluster

    with LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None, preload=[__file__]) as cluster:
        return judge(folder, cluster)


def _busy(rounds: int) -> float:
    """Seconds for work as judging is made of: Python objects, no files, no waiting."""
    clock = time.perf_counter()
    for number in range(rounds):
        json.loads(json.dumps({f"{number}-{i}": [i, str(i)] for i in range(200)}))
    return time.perf_counter() - clock


def bound(workers: int, rounds: int = 10_000) -> float:
    """How many times the work of one process this machine does with so many that share nothing."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(_busy, [100] * workers, chunksize=1)  # all have started
        one = pool.apply(_busy, (rounds,))
        together = max(pool.map(_busy, [rounds] * workers, chunksize=1))
    return workers * one / together


def alone(folder: Path, workers: int = 0) -> dict[str, float]:
    """`judge` in a process and a workspace of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, __file__, "--judge", str(folder), "--workers", str(workers)]
        done = subprocess.run(
            command, env={**os.environ, "PERSLIB_HOME": home}, stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def line(name: str, took: Mapping[str, float]) -> str:
    """A row of the table."""
    per = [1e3 * took[which] / took["turns"] for which in ("seconds", "processor")]
    return (
        f"{name:<12}{took['turns']:>9,.0f}{took['calls']:>9,.0f}{took['seconds']:>9.1f}{per[0]:>9.2f}{per[1]:>9.2f}"
        f"{took['loaded']:>10,.0f}{took['peak']:>9,.0f}{1e3 * took['peak'] / took['turns']:>9.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 16], help="times 115 users")
    parser.add_argument("--workers", type=int, default=0, help="also on a cluster of one and of so many")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        took = on_workers(options.judge, options.workers) if options.workers else judge(options.judge)
        return print(json.dumps(took))
    print(
        f"{'':<12}{'turns':>9}{'calls':>9}{'seconds':>9}{'ms/turn':>9}{'CPU ms':>9}{'loaded MB':>10}{'peak MB':>9}{'kB/turn':>9}"
    )
    with tempfile.TemporaryDirectory() as place:
        once = save(world(users=USERS, seed=options.seed, language="en"), Path(place) / "once")
        for times in options.sizes:
            folder = grown(once, Path(place) / f"times-{times}", times)
            print(line(f"{times} ×", alone(folder)), flush=True)
            for workers in (1, options.workers) if options.workers and times == options.sizes[0] else ():
                print(line(f"  {workers} workers", alone(folder, workers)), flush=True)
    if options.workers:
        print(
            f"{options.workers} processes that share nothing do {bound(options.workers):.2f} times the work of one here"
        )


if __name__ == "__main__":
    main()
