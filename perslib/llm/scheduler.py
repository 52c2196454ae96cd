"""Questions on their way: many methods side by side; the cache first, then the answerer; every answer into the ledger.

A method is begun only when there is room for its questions, so methods end roughly in the order they are given, what
belongs together is asked together (and meets the endpoint's prefix cache), and a run of thousands holds few of them
open. Everything here runs on the background loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Generic, TypeVar

from perslib.llm.cache.answers import CachedAnswers
from perslib.llm.cache.claims import RENEWED
from perslib.llm.request import Answer, Answerer, Ask, Method, QueuedRequest, Request
from perslib.llm.spending import Account
from perslib.llm.structured.expansion import combine_answers, expand_questions

T = TypeVar("T")
LOOK = 0.2
"""Seconds between two looks for the answers of another process."""


@dataclass
class _Asking:
    """How far a method is: whether it has asked, and whether it goes on by answers that were made up."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    has_made_up: bool = False


class QuestionScheduler(Generic[T]):
    """Methods, worked on together. Equal questions that are on their way are asked once.

    Results go to `sink`, in the order of their methods, as soon as it is their turn.
    """

    def __init__(
        self,
        answerer: Answerer,
        cached: CachedAnswers,
        account: Account,
        methods: Iterable[Method[T]],
        sink: Callable[[T], object],
    ):
        self.answerer, self.cached, self.account = answerer, cached, account
        self._methods, self._sink = methods, sink
        self._begun: asyncio.Queue[asyncio.Task[T] | None] = asyncio.Queue()
        self._queue: asyncio.PriorityQueue[QueuedRequest] = asyncio.PriorityQueue()
        self._waiting: dict[str, list[tuple[asyncio.Future[Answer], str]]] = {}
        self._numbers = count()
        self._answered = self._idle = 0
        self._room = asyncio.Event()
        self._elsewhere: dict[str, QueuedRequest] = {}
        self._is_some_elsewhere = asyncio.Event()

    async def finish(self) -> None:
        """Work until all methods have ended; the first error ends everything."""
        try:
            async with asyncio.TaskGroup() as group:
                at_once = range(self.account.entry.concurrency)
                workers = [group.create_task(self._answer_questions()) for _ in at_once]
                workers += [group.create_task(self._renew_claims()), group.create_task(self._wait_for_others())]
                group.create_task(self._begin_methods(group))
                while (method := await self._begun.get()) is not None:
                    self._sink(await method)
                for worker in workers:
                    worker.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            self.cached.claims.end()

    async def _begin_methods(self, group: asyncio.TaskGroup) -> None:
        """Begin one method after another, each as soon as a worker has nothing to ask."""
        for method in self._methods:
            await self._room.wait()
            asking = _Asking()
            task = group.create_task(_result(method, partial(self._ask, asking)))
            task.add_done_callback(lambda _, begun=asking.begun: begun.set())  # type: ignore[misc]
            self._begun.put_nowait(task)
            await asking.begun.wait()
        self._begun.put_nowait(None)

    async def _ask(
        self, asking: _Asking, requests: Sequence[Request], stage: str = "ask", rank: int = 0
    ) -> list[Answer]:
        """Return what a method calls as `ask`: the answers, those to typed questions put together from their parts."""
        abilities = self.cached.abilities
        parts = [expand_questions(request, abilities) for request in requests]
        answers = iter(await self._ask_parts(asking, [one for part in parts for one in part], stage, rank))
        return [combine_answers(request, part, [next(answers) for _ in part]) for request, part in zip(requests, parts)]

    async def _ask_parts(self, asking: _Asking, requests: Sequence[Request], stage: str, rank: int) -> list[Answer]:
        """Return what the cache has, then what the workers bring."""
        keys = [self.cached.address(request) for request in requests]
        stored, ours = self._claim(dict(zip(keys, requests)), stage)
        answers: list[Answer | asyncio.Future[Answer]] = []
        seen: set[str] = set()
        for key, request in zip(keys, requests):
            if key not in stored:
                question = QueuedRequest(rank, next(self._numbers), key, request, stage, asking.has_made_up)
                answers.append(self._queue_question(question, key in ours))
            else:
                answers.append(self._count_again(stored[key], stage) if key in seen else stored[key])
                seen.add(key)
        asking.begun.set()
        given = [a if isinstance(a, Answer) else await a for a in answers]
        asking.has_made_up |= any(answer.is_made_up for answer in given)
        return given

    def _claim(self, asked: Mapping[str, Request], stage: str) -> tuple[dict[str, Answer], set[str]]:
        """Return the answers that the cache has, counted, and which of the other questions are ours to ask."""
        stored, ours = self.cached.claim(asked)
        return {key: self.account.count(answer, stage) for key, answer in stored.items()}, ours

    def _count_again(self, answer: Answer, stage: str) -> Answer:
        """Count the answer to a question that was asked already: a hit."""
        return self.account.count(answer.with_(cached=True, retries=0), stage)

    def _queue_question(self, question: QueuedRequest, is_ours: bool) -> asyncio.Future[Answer]:
        """Return the answer to come; where an equal question is on its way, the one that it gets."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if question.key not in self._waiting:
            if is_ours:
                self._queue.put_nowait(question)
                self._look()
            else:
                self._elsewhere[question.key] = question
                self._is_some_elsewhere.set()
        self._waiting.setdefault(question.key, []).append((future, question.stage))
        return future

    async def _renew_claims(self) -> None:
        while True:
            await asyncio.sleep(RENEWED)
            self.cached.claims.renew()

    async def _wait_for_others(self) -> None:
        """Take the answers of other runs to what they are asking; what they leave unanswered is asked here."""
        while await self._is_some_elsewhere.wait():
            await asyncio.sleep(LOOK)
            for stage in {question.stage for question in self._elsewhere.values()}:
                asked = {key: one.request for key, one in self._elsewhere.items() if one.stage == stage}
                stored, ours = self._claim(asked, stage)
                for key, answer in stored.items():
                    del self._elsewhere[key]
                    self._give(key, answer)
                for key in ours:
                    self._queue.put_nowait(self._elsewhere.pop(key))
            if not self._elsewhere:
                self._is_some_elsewhere.clear()
            self._look()

    async def _answer_questions(self) -> None:
        """Answer one question after another, as a worker."""
        while True:
            self._idle += 1
            self._look()
            question = await self._queue.get()
            self._idle -= 1
            self._look()
            if await self.account.is_spent():
                left = sum(map(len, self._waiting.values()))
                raise self.account.make_budget_error(self._answered, self._answered + left)
            with self.account.holding(question.request):
                answer = await self.cached.keep(question, await self.answerer.answer(question))
                self.account.count(answer, question.stage)
            self.account.check_is_priced(answer)
            self._give(question.key, answer)
            await asyncio.sleep(0)  # what the methods ask next comes before what another would begin with

    def _give(self, key: str, answer: Answer) -> None:
        """Hand an answer to all who wait for it."""
        for i, (future, stage) in enumerate(self._waiting.pop(key)):
            self._answered += 1
            if not future.done():
                future.set_result(self._count_again(answer, stage) if i else answer)

    def _look(self) -> None:
        """Let the next method begin when a worker has nothing to ask."""
        if self._idle and self._queue.empty():
            self._room.set()
        else:
            self._room.clear()


async def _result(method: Method[T], ask: Ask) -> T:
    return await method(ask)
