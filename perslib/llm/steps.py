"""Questions in steps: a method says what it wants to ask next, without knowing who asks or how.

A method that needs a model is written as a generator. It yields an `Ask`, gets the answers in the same order,
and goes on; what it returns is its result:

    def verdict(target):
        (answer,) = yield Ask([prompt.render(...)], stage="judge")
        return answer.data

So one method serves a live model, an answer cache and a test alike, and `Backbone.work` can run hundreds of
them side by side.

`paced([first, second, …])` makes one method of several that wait for each other. A chain (session 2 of a background
after session 1) is as long as it is, and everything else should be asked beside it. So a method that needs what another
has not found yet yields `WAIT`. `Backbone.work` lets each of the methods go on as soon as its own answers are there. In
rounds, at most `at_once` questions are asked, those of the first methods first, so that a chain is not held up by many
questions that could wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

from perslib.llm.types import Answer, Request

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class Ask:
    """Questions that can be asked at the same time; `stage` is the line of the ledger they count under."""

    requests: Sequence[Request]
    stage: str = "ask"


#: A method in steps: yields what to ask, is sent the answers, returns its result.
Steps = Generator[Ask, Sequence[Answer], T]


def answered(steps: Steps[T], *batches: Sequence[Answer]) -> T:
    """The result of `steps` when its questions are answered by these batches, one after another."""
    given = iter(batches)
    try:
        next(steps)
        while True:
            steps.send(next(given, ()))
    except StopIteration as end:
        result: T = end.value
        return result


def side_by_side(methods: Iterable[Steps[T]]) -> Steps[list[T]]:
    """Several methods as one: what they want to ask next is asked together; their results in order."""
    running = dict(enumerate(methods))
    given: dict[int, Sequence[Answer] | None] = dict.fromkeys(running)
    results: dict[int, T] = {}
    while running:
        wanted: dict[int, Ask] = {}
        for i, steps in list(running.items()):
            try:
                wanted[i] = steps.send(given[i])  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as end:
                results[i] = end.value
                del running[i]
        for stage in dict.fromkeys(ask.stage for ask in wanted.values()):
            alike = {i: ask.requests for i, ask in wanted.items() if ask.stage == stage}
            answers = iter(
                (yield Ask([request for requests in alike.values() for request in requests], stage))
            )
            given |= {i: list(islice(answers, len(requests))) for i, requests in alike.items()}
    return [results[i] for i in sorted(results)]


def asks_nothing(method: Callable[P, T]) -> Callable[P, Steps[T]]:
    """A method that needs no model, as a method in steps that ends at its first."""

    @wraps(method)
    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[T]:
        return method(*args, **kwargs)
        yield Ask(())  # without it this were no generator

    return steps


WAIT = Ask((), "wait")
"""Nothing to ask yet: go on when others have found more."""


@dataclass(frozen=True)
class Together(Ask):
    """No questions, but methods that may be worked on each at its own pace; who does so sends `Results`."""

    methods: tuple[Steps[Any], ...] = ()


class Results(list[Any]):
    """What the methods of a `Together` return, in order."""


def stuck() -> RuntimeError:
    """The error of methods that would wait for ever."""
    return RuntimeError("methods wait for each other in a circle")


def paced(methods: Iterable[Steps[T]], at_once: int = 32) -> Steps[list[T]]:
    """The results of the methods, in order."""
    running = dict(enumerate(methods))
    done = yield Together((), "wait", tuple(running.values()))
    if isinstance(done, Results):
        return list(done)
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
        if now := _first(wanted, at_once):
            asked = [request for i in now for request in wanted[i].requests]
            answers = iter((yield Ask(asked, wanted[now[0]].stage)))
            given |= {i: list(islice(answers, len(wanted.pop(i).requests))) for i in now}
        elif running and len(results) == ended:
            raise stuck()
    return [results[i] for i in sorted(results)]


def through(
    steps: Steps[T],
    change: Callable[[Ask], Ask] = lambda ask: ask,
    hear: Callable[[Sequence[Answer]], object] = lambda answers: None,
    took: Callable[[float], object] = lambda seconds: None,
) -> Steps[T]:
    """The method, with what it asks changed, the answers heard, and told what it computes between two questions `took`.

    All of it holds for methods that it has worked on together, too.
    """
    answers: Sequence[Answer] | None = None
    while True:
        begun = perf_counter()
        try:
            ask = steps.send(answers)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            took(perf_counter() - begun)
        if isinstance(ask, Together):
            members = tuple(through(method, change, hear, took) for method in ask.methods)
            answers = yield replace(ask, methods=members)
        else:
            answers = yield change(ask) if ask.requests else ask
        if not isinstance(answers, Results):
            hear(answers)


def _first(wanted: dict[int, Ask], at_once: int) -> list[int]:
    """The methods whose questions fit into a round, all of one stage, the first at any rate."""
    chosen: list[int] = []
    room = at_once
    for i in sorted(wanted):
        size, stage = len(wanted[i].requests), wanted[i].stage
        if not chosen or (size <= room and stage == wanted[chosen[0]].stage):
            chosen.append(i)
            room -= size
    return chosen
