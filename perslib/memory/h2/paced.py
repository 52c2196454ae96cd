"""Methods that wait for each other, as one method: in every round the questions of the first come first.

A chain (session 2 of a background after session 1) is as long as it is, and everything else should be asked beside
it. So a method that needs what another has not found yet yields `WAIT`, and each round takes what can be asked, in the
order of the methods, up to `at_once` questions: the chain is never held up by a heap of questions that could wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from perslib.llm import Answer, Ask, Steps
from perslib.memory.checked import STAGE

T = TypeVar("T")

WAIT = Ask((), STAGE)
"""Nothing to ask yet: go on when others have found more."""


def paced(methods: Iterable[Steps[T]], at_once: int) -> Steps[list[T]]:
    """The results of the methods, in order."""
    running = dict(enumerate(methods))
    given: dict[int, Sequence[Answer] | None] = dict.fromkeys(running)
    wanted: dict[int, Ask] = {}
    results: dict[int, T] = {}
    while running:
        ended = len(results)
        for i in [i for i in running if i not in wanted]:
            try:
                ask = running[i].send(given[i])  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as end:
                results[i] = end.value
                del running[i]
            else:
                given[i] = ()
                if ask.requests:
                    wanted[i] = ask
        now = _first(wanted, at_once)
        if now:
            asked = [request for i in now for request in wanted[i].requests]
            answers = iter((yield Ask(asked, STAGE)))
            given |= {i: list(islice(answers, len(wanted.pop(i).requests))) for i in now}
        elif running and len(results) == ended:
            raise RuntimeError("methods wait for each other in a circle")
    return [results[i] for i in sorted(results)]


def _first(wanted: dict[int, Ask], at_once: int) -> list[int]:
    """The methods whose questions fit into a round, the first at any rate."""
    chosen: list[int] = []
    room = at_once
    for i in sorted(wanted):
        size = len(wanted[i].requests)
        if size <= room or not chosen:
            chosen.append(i)
            room -= size
    return chosen
