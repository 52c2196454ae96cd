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

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
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


def asks_nothing(method: Callable[P, T]) -> Callable[P, Steps[T]]:
    """A method that needs no model, as a method in steps that ends at its first."""

    @wraps(method)
    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[T]:
        return method(*args, **kwargs)
        yield Ask(())  # without it this were no generator

    return steps
