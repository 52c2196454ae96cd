"""How a method asks a model: `answers = await ask(requests, stage="judge")`.

A method that needs a model is an ordinary `async` function whose last argument without a default is `ask`:

    async def judge(self, block, ask):
        answers = await ask([self.request(target) for target in block], stage="judge")
        return [self.read(answer) for answer in answers]

`ask` is all that it knows of a model. `Backbone.work` gives it a live one, with the answer cache, for hundreds of
methods at the same time; a test gives it a script (`answered`); a method that asks nothing gets `no_model`. What can be
asked side by side goes into `asyncio.gather`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from perslib.errors import PerslibError
from perslib.llm import loop
from perslib.llm.types import Answer, Request

T = TypeVar("T")


class Ask(Protocol):
    """Ask questions that can be asked at the same time."""

    def __call__(
        self, requests: Sequence[Request], stage: str = "ask", rank: int = 0
    ) -> Awaitable[Sequence[Answer]]:
        """Return the answers, in order.

        `stage` is the line of the ledger that they count under. Questions go out in the order of asking, those of a
        lower `rank` first: a chain of questions need not wait for many that nothing else waits for.
        """


#: What `Backbone.work` works on.
Method = Callable[[Ask], Awaitable[T]]


def changed(
    ask: Ask,
    change: Callable[[Request], Request] = lambda request: request,
    *,
    hear: Callable[[Sequence[Answer]], object] = lambda answers: None,
    stage: str | None = None,
    rank: int | None = None,
) -> Ask:
    """Return `ask` with each request changed, its answers shown to `hear`, and a stage and rank of its own."""

    own_stage, own_rank = stage, rank

    async def asked(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
        stage, rank = own_stage or stage, rank if own_rank is None else own_rank
        answers = await ask([change(request) for request in requests], stage, rank)
        hear(answers)
        return answers

    return asked


async def no_model(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
    """Answer no question: the `ask` of methods that need no model."""
    if requests:
        raise PerslibError("A model is asked here; say which with backbone=backbone('…').")
    return []


def compute(method: Method[T], ask: Ask = no_model) -> T:
    """Return the result of a method that asks no model, or asks this one."""

    async def result() -> T:
        return await method(ask)

    return loop.run(result())


def answered(method: Method[T], *batches: Sequence[Answer]) -> T:
    """Return the result of a method whose questions are answered by these batches, one after another."""
    given = iter(batches)

    async def ask(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
        await asyncio.sleep(0)  # what is asked side by side is asked before the first of it is answered
        return list(next(given, ()))

    return compute(method, ask)
