"""How fast behaviour is mined from logs, and in how much memory: `python benchmarks/signals.py`.

Sessions are put together from the bundled sample's requests and replies, Chinese and English by turns, replies of 800
characters on average, every message another one. Times are the process' own CPU time, the best of three fresh logs, and
beside them the clock on the wall; on a machine that others use, both are more than the work takes. So is the yardstick,
a fixed loop of Python that takes 1.0 where the machine is free: divide by it to compare.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from perslib.corpus import load
from perslib.signals import mined, parallel, session, similarity, table, words

MEAN_REPLY = 800
START = 1_767_225_600
YARDSTICK = 0.0287  # seconds of the loop below on a free core of the machine that the README names
AGAIN, CLOSING = 0.15, 0.08


class Writer:
    """Writes dialogues that nobody had, out of what was said in the sample."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        turns = {lang: load(f"sample/{lang}").turns for lang in ("zh", "en")}
        self.asked = {lang: t["request"].dropna().tolist() for lang, t in turns.items()}
        self.said = {lang: "\n\n".join(t["response"].head(400)) for lang, t in turns.items()}
        self.closing = {
            "zh": ["谢谢", "好的", "算了", "不对，重新写", "继续"],
            "en": ["thanks", "ok", "never mind", "that's wrong", "more"],
        }

    def record(self, messages: int) -> dict[str, Any]:
        """One session as a log has it."""
        rng = self.rng
        lang = rng.choice(("zh", "en"))
        history: list[dict[str, Any]] = []
        clock, last = START + rng.random() * 1e7, ""
        for i in range(messages):
            if i % 2:
                clock += rng.uniform(2, 20)
                text = self.reply(lang)
            else:
                clock += rng.uniform(2, 180)
                last = text = self.request(lang, last)
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(clock))
            history.append(
                {
                    "turn_index": i,
                    "role": ("user", "assistant")[i % 2],
                    "message": text,
                    "create_time": stamp,
                    "is_unliked": int(rng.random() < 0.01),
                }
            )
        return {"cid": f"{rng.getrandbits(64):x}", "history": history}

    def request(self, lang: str, last: str) -> str:
        """A request, at times the last one again, at times a word that closes."""
        draw = self.rng.random()
        if last and draw < AGAIN:
            return last if draw < AGAIN / 2 else f"{last}{self.rng.choice('吗呢吧？?')}"
        if last and draw < AGAIN + CLOSING:
            return self.rng.choice(self.closing[lang])
        text = self.rng.choice(self.asked[lang])
        return f"{text[: self.rng.randint(12, 60)]}{self.rng.randint(1, 99)}"

    def reply(self, lang: str) -> str:
        """A piece of what was replied, its length gamma-distributed around the mean."""
        length = min(6_000, max(20, int(self.rng.gammavariate(4, MEAN_REPLY / 4))))
        begin = self.rng.randrange(len(self.said[lang]) - length)
        return self.said[lang][begin : begin + length]

    def log(self, messages: int, each: int) -> list[dict[str, Any]]:
        """About so many messages, in sessions of `each`."""
        return [self.record(each) for _ in range(max(1, messages // each))]


def yardstick() -> float:
    """How much slower than a free core this one is just now."""
    best = min(timed(lambda: sum(i * i % 7 for i in range(400_000)))[0] for _ in range(3))
    return best / YARDSTICK


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds and seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def rates(writer: Writer, messages: int, each: int) -> dict[str, tuple[float, float, float]]:
    """Stage → messages a second of CPU time, of the wall, and of CPU time over the yardstick."""
    best: dict[str, tuple[float, float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            records = writer.log(messages, each)
            n = sum(len(r["history"]) for r in records)
            sessions = [session(record) for record in records]
            log = Path(folder) / "log.jsonl"
            log.write_text(
                "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8"
            )
            stages: dict[str, Callable[[], Any]] = {
                "signals": lambda s=sessions: table(s, private=False),
                "de-identified": lambda s=sessions: table(s, private=True),
                "from JSONL": lambda p=log: mined(p),
            }
            for name, work in stages.items():
                slow = yardstick()
                cpu, wall = timed(work)
                here = (n / cpu, n / wall, n / cpu * slow)
                best[name] = max(best.get(name, here), here, key=lambda one: one[2])
    return best


def pair() -> float:
    """Milliseconds for two messages of 20,000 characters that share their words."""
    rng = random.Random(1)
    text = "".join(
        rng.choice("我们今天去公园看花草树木天气很好大家都开心然后回家吃饭休息") for _ in range(20_000)
    )
    other = text[:9_000] + text[9_300:] + text[:300]

    def work() -> None:
        a, b = words(text), words(other)
        similarity(a, b, 0.5)
        parallel(text, other, a, b)

    return timed(work)[0] * 1_000


def peak(file: Path) -> float:
    """Megabytes that mining a file takes at most, in a process of its own."""
    code = "import resource, sys; from perslib.signals import mined; mined(sys.argv[1], sys.argv[2]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(file.parent / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / (1024 if sys.platform != "darwin" else 1 << 20)


def grown(writer: Writer, folder: Path, sizes: list[int]) -> Iterator[tuple[int, float, float]]:
    """Messages, megabytes of the Parquet file, and peak memory of mining it."""
    for size in sizes:
        file = folder / f"{size}.parquet"
        made: pq.ParquetWriter | None = None
        for _ in range(0, size, 5_000):
            part = pa.Table.from_pylist(writer.log(5_000, 10))
            made = made or pq.ParquetWriter(file, part.schema)
            made.write_table(part)
        if made is not None:
            made.close()
        yield size, file.stat().st_size / 1e6, peak(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--lengths", type=int, nargs="*", default=[10, 50, 200, 1_000, 2_000])
    parser.add_argument("--grown", type=int, nargs="*", default=[20_000, 80_000, 320_000])
    asked = parser.parse_args()
    writer = Writer(7)
    table([session(r) for r in writer.log(2_000, 10)])  # cue lists are read and compiled
    print(f"yardstick {yardstick():.2f}; messages a second: CPU, wall, CPU over yardstick")
    for each in asked.lengths:
        for name, (cpu, wall, free) in rates(writer, asked.messages, each).items():
            print(f"{each:6,} messages a session  {name:14} {cpu:10,.0f} {wall:10,.0f} {free:10,.0f}")
    print(f"a pair of 20,000 characters: {min(pair() for _ in range(3)):.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        for size, megabytes, most in grown(writer, Path(folder), asked.grown):
            print(f"{size:9,} messages, {megabytes:7.1f} MB of Parquet: at most {most:6.0f} MB")
    print(f"this process took {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s of CPU time")


if __name__ == "__main__":
    main()
