"""How long the nearest-history baselines take on a corpus of PersTurnBench's size: `python benchmarks/nearest.py`.

The synthetic world of 115 users has about as many replies to judge as the published test set (6,474), some
600 characters long; the published code takes 92 s for k = 1 and 128 s for k = 3 on that set.
"""

from __future__ import annotations

import time
from functools import partial

from perslib.judge import nearest_baselines
from perslib.llm import run_with_answers
from perslib.worlds import world


def main() -> None:
    corpus = world(users=115, seed=42, language="zh")
    start = time.perf_counter()
    blocks = list(corpus.blocks("test"))
    seconds = time.perf_counter() - start
    print(f"{len(blocks)} blocks, {sum(map(len, blocks)):,} replies, laid out in {seconds:.1f} s")
    for judge in nearest_baselines():
        start = time.perf_counter()
        verdicts = [verdict for block in blocks for verdict in run_with_answers(partial(judge.judge, block))]
        seconds = time.perf_counter() - start
        print(f"{judge.name:20} {len(verdicts):,} verdicts in {seconds:5.1f} s")


if __name__ == "__main__":
    main()
