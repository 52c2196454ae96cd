"""How a method asks a model, and how many methods are worked on side by side.

A method that needs a model is an ordinary `async` function whose last argument without a default is `ask`:

    async def judge(self, block, ask):
        answers = await ask([self.request(target) for target in block], stage="judge")
        return [self.read(answer) for answer in answers]

`ask` is all that it knows of a model. `Backbone.work` gives it a live one, with the answer cache, for hundreds of
methods at the same time; a test gives it a script (`answered`); a method that asks nothing gets `no_model`. What can be
asked side by side goes into `asyncio.gather`.

`Work` begins a method only when there is room for its questions, so methods end roughly in the order they are given,
what belongs together is asked together (and meets the endpoint's prefix cache), and a run of thousands holds few of
them open. It runs on the background loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from perslib.errors import PerslibError
from perslib.llm import loop
from perslib.llm.run import Run
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


class _Question(NamedTuple):
    """A question that waits; in the order of rank and asking."""

    rank: int
    number: int
    key: str
    request: Request
    stage: str


class Work(Generic[T]):
    """Methods, worked on together. Equal questions that are on their way are asked once.

    Results go to `sink`, in the order of their methods, as soon as it is their turn.
    """

    def __init__(self, run: Run, methods: Iterable[Method[T]], sink: Callable[[T], object]):
        self.run, self._methods, self._sink = run, methods, sink
        self._open: deque[asyncio.Task[T]] = deque()
        self._all_begun = False
        self._queue: asyncio.PriorityQueue[_Question] = asyncio.PriorityQueue()
        self._waiting: dict[str, list[tuple[asyncio.Future[Answer], str]]] = {}
        self._numbers = count()
        self._answered = self._idle = 0
        self._room = asyncio.Event()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def finish(self) -> None:
        """Work until all methods have ended; the first error ends everything."""
        self.run.check_cap()
        tasks = [asyncio.create_task(self._answer_questions()) for _ in range(self.run.entry.concurrency)]
        tasks.append(asyncio.create_task(self._begin_methods()))
        for task in tasks:
            task.add_done_callback(self._check)
        try:
            await self._ended
        finally:
            futures = [waits for waiting in self._waiting.values() for waits, _ in waiting]
            pending: list[asyncio.Future[Any]] = [*tasks, *self._open, *futures]
            for future in pending:
                future.cancel()
            await asyncio.gather(*tasks, *self._open, return_exceptions=True)

    async def _begin_methods(self) -> None:
        """Begin one method after another, each as soon as a worker has nothing to ask."""
        for method in self._methods:
            await self._room.wait()
            begun = asyncio.Event()
            task = asyncio.create_task(_result(method, partial(self._ask, begun)))
            self._open.append(task)
            task.add_done_callback(lambda _, begun=begun: begun.set())  # type: ignore[misc]
            task.add_done_callback(self._hand_on)
            await begun.wait()
        self._all_begun = True
        if not self._open:
            self._end()

    async def _ask(
        self, begun: asyncio.Event, requests: Sequence[Request], stage: str = "ask", rank: int = 0
    ) -> list[Answer]:
        """What a method calls as `ask`: what the cache has, then what the workers bring."""
        keys = [self.run.key(request) for request in requests]
        stored = self.run.found(list(zip(keys, requests)), stage)
        answers: list[Answer | asyncio.Future[Answer]] = []
        seen: set[str] = set()
        for key, request in zip(keys, requests):
            if key not in stored:
                answers.append(self._queued(key, request, stage, rank))
            else:
                answers.append(self.run.again(stored[key], stage) if key in seen else stored[key])
                seen.add(key)
        begun.set()
        return [a if isinstance(a, Answer) else await a for a in answers]

    def _queued(self, key: str, request: Request, stage: str, rank: int) -> asyncio.Future[Answer]:
        """The answer to come; where an equal question is on its way, the one that it gets."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if key not in self._waiting:
            self._queue.put_nowait(_Question(rank, next(self._numbers), key, request, stage))
            self._look()
        self._waiting.setdefault(key, []).append((future, stage))
        return future

    async def _answer_questions(self) -> None:
        """A worker: one question after another."""
        while True:
            self._idle += 1
            self._look()
            question = await self._queue.get()
            self._idle -= 1
            self._look()
            if await self.run.is_spent():
                left = sum(map(len, self._waiting.values()))
                raise self.run.at_the_cap(self._answered, self._answered + left)
            answer = await self.run.paid(question.request, question.key, question.stage)
            for i, (future, stage) in enumerate(self._waiting.pop(question.key)):
                self._answered += 1
                if not future.done():
                    future.set_result(self.run.again(answer, stage) if i else answer)
            await asyncio.sleep(0)  # what the methods ask next comes before what another would begin with

    def _look(self) -> None:
        """Let the next method begin when a worker has nothing to ask."""
        if self._idle and self._queue.empty():
            self._room.set()
        else:
            self._room.clear()

    def _hand_on(self, task: asyncio.Task[T]) -> None:
        """Give the sink what is next in order, now that this method has ended."""
        if not self._check(task):
            return
        try:
            while self._open and self._open[0].done():
                self._sink(self._open.popleft().result())
        except Exception as error:
            self._end(error)
        if self._all_begun and not self._open:
            self._end()

    def _check(self, task: asyncio.Task[Any]) -> bool:
        """Whether all is well; an error ends everything."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._end(error)
        return not self._ended.done()

    def _end(self, error: BaseException | None = None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)


async def _result(method: Method[T], ask: Ask) -> T:
    return await method(ask)
