"""Questions in steps: a method says what it wants to ask next, without knowing who asks or how.

A method that needs a model is written as a generator. It yields an `Ask`, gets the answers in the same order,
and goes on; what it returns is its result:

    def verdict(target):
        (answer,) = yield Ask([prompt.render(...)], stage="judge")
        return answer.data

So one method serves a live model, an answer cache and a test alike, and `Backbone.work` can run hundreds of
them side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import ParamSpec, TypeVar

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
