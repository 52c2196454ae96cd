"""How much of a replay's prompts an endpoint reads from its prefix cache: in perslib's order, and shuffled.

Prompts of one block begin alike: the user's memory and profile, then the conversation so far. perslib asks them one
after another. Here the embedded model gets the questions of two tasks of a replay in that order, and the same
questions shuffled by a seed, each time by an engine of its own, without the answer cache:

    judging     three recorded assistants' replies to the same turns, before a judge with user memory
    answering   a candidate's replies to as many turns of these blocks, one token each

`python benchmarks/prefix_cache.py` prints the prompts' tokens and the seconds that they took. An engine keeps the
beginnings of all prompts that fit into its memory, which a few blocks do and a whole replay does not.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from perslib.corpus import TURN, Corpus, load
from perslib.judge import JudgeSettings, Personal
from perslib.llm import Answer, Request, backbone, compute
from perslib.memory import MeasuredSystem
from perslib.replay import Candidate, generate_replies, judge_candidates, select_recorded_replies

ORDERED, SHUFFLED = "in order", "shuffled"
TASKS = ("judging", "answering")


class Listener:
    """Stands in for a backbone: keeps the questions in the order in which they come, and answers 3."""

    name = model = "listener"

    def __init__(self) -> None:
        self.heard: list[Request] = []

    def each(self, method: Callable[..., Any], items: Iterable[Any], sink: Callable[[Any], object], **_: Any) -> None:
        """Work on one item after another."""

        async def ask(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> list[Answer]:
            self.heard += requests
            return [Answer(text="3", finish="stop") for _ in requests]

        for item in items:
            sink(compute(partial(method, item), ask))

    def map(self, method: Callable[..., Any], items: Iterable[Any], **_: Any) -> list[Any]:
        """The results of `each`."""
        results: list[Any] = []
        self.each(method, items, results.append)
        return results


def largest_blocks(corpus: Corpus, blocks: int, turns: int) -> pd.DataFrame:
    """The first turns, of those that the recorded assistants answer, of the blocks that have the most; each of
    another user."""
    ids = ["user", "scenario"]
    answered = corpus.extras["candidates"][TURN].drop_duplicates()
    sizes = answered.groupby(ids, sort=False).size().sort_values(ascending=False, kind="stable")
    chosen = sizes.index.to_frame(index=False).drop_duplicates("user").head(blocks)
    return chosen.merge(answered, on=ids).groupby(ids, sort=False).head(turns)


def questions(task: str, options: argparse.Namespace) -> list[Request]:
    """What perslib asks for this task, in its order."""
    corpus = load("sample/en")
    listener: Any = Listener()
    if task == "answering":
        turns = largest_blocks(corpus, options.blocks, options.turns * options.candidates)
        candidate = Candidate(context="profile", max_tokens=1)
        generate_replies(candidate, corpus, turns, listener, progress=False)
    else:
        turns = largest_blocks(corpus, options.blocks, options.turns)
        given = corpus.extras["candidates"].merge(turns, on=TURN)
        names = list(given["candidate"].unique()[: options.candidates])
        judge = Personal(MeasuredSystem("en"), JudgeSettings("en", with_rationale=False))
        judge_candidates(
            judge,
            corpus,
            select_recorded_replies(given[given["candidate"].isin(names)], turns),
            listener,
            progress=False,
        )
    return list(listener.heard)


def measured(task: str, order: str, options: argparse.Namespace) -> dict[str, float]:
    """Put the questions to an engine that has seen none of them."""
    asked = questions(task, options)
    if order == SHUFFLED:
        random.Random(options.seed).shuffle(asked)
    model = backbone("embedded", cache="off")
    model.ask("Hello.", max_tokens=1)  # the model is loaded
    started = time.perf_counter()
    answers = model.ask_many(asked, progress=False)
    seconds = time.perf_counter() - started
    assert all(answer.finish for answer in answers), answers[0].error
    return {"prompts": len(answers), "tokens": sum(answer.tokens_in for answer in answers), "seconds": seconds}


def in_a_process(task: str, order: str) -> dict[str, float]:
    """`measured`, in a process of its own, whose engine ends with it."""
    command = [sys.executable, __file__, *sys.argv[1:], "--measure", task, order]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def line(name: str, sums: dict[str, float]) -> str:
    """One measurement."""
    return f"{name:<22}{sums['prompts']:>8,.0f}{sums['tokens']:>9,.0f}{sums['seconds']:>9.1f}"


def compare(options: argparse.Namespace) -> None:
    """Print a line an order as soon as it is measured, then how much longer the shuffled questions took."""
    print(
        f"{options.blocks} blocks of sample/en, {options.turns} turns × {options.candidates} candidates a block\n\n"
        f"{'':<22}{'prompts':>8}{'tokens':>9}{'seconds':>9}",
        flush=True,
    )
    ratios = []
    for task in TASKS:
        seconds = []
        for order in (SHUFFLED, ORDERED):
            sums = in_a_process(task, order)
            seconds.append(sums["seconds"])
            print(line(f"{task}, {order}", sums), flush=True)
        ratios.append(f"{f'{task}, shuffled / in order':<30}{seconds[0] / seconds[1]:>18.2f}")
    print("", *ratios, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2, help="judged turns of a block")
    parser.add_argument("--candidates", type=int, default=3, help="replies to each judged turn, at most 5")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--measure", nargs=2, metavar=("TASK", "ORDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        task, order = options.measure
        print(json.dumps(measured(task, order, options)))
    else:
        compare(options)


if __name__ == "__main__":
    main()
