"""Many methods in steps side by side, with as many questions in flight as the endpoint takes.

A method is begun only when there is room for its questions, so methods end roughly in the order they are
given, what belongs together is asked together (and meets the endpoint's prefix cache), and a run of thousands
holds few of them open. Everything here runs on the background loop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from perslib.llm.run import Run
from perslib.llm.steps import WAIT, Ask, Results, Steps, Together, stuck
from perslib.llm.types import Answer

T = TypeVar("T")


@dataclass
class _Method(Generic[T]):
    """A method under way: the questions it waits for, and the answers that are there."""

    number: int
    steps: Steps[T]
    asked: Ask = field(default_factory=lambda: Ask(()))
    answers: list[Answer | None] = field(default_factory=list)
    group: _Group | None = None
    """The group it belongs to, where another method wants it worked on."""


@dataclass
class _Group:
    """Methods that one method wants worked on, each at its own pace."""

    owner: _Method[Any]
    size: int
    results: dict[int, Any] = field(default_factory=dict)
    waiting: list[_Method[Any]] = field(default_factory=list)
    """Those that need what others of the group have not found yet."""


class Work(Generic[T]):
    """Methods, worked on together. Equal questions that are on their way are asked once.

    Results go to `sink`, in the order of their methods, as soon as it is their turn.
    """

    def __init__(self, run: Run, methods: Iterable[Steps[T]], sink: Callable[[T], object]):
        self.run = run
        self._methods = enumerate(methods)
        self._sink, self._handed = sink, 0
        self._results: dict[int, T] = {}
        self._members: deque[_Method[Any]] = deque()
        self._queue: list[tuple[int, int, _Method[Any], int, str]] = []
        self._counted = count()
        self._waiting: dict[str, list[tuple[_Method[Any], int]]] = defaultdict(list)
        self._under_way: set[str] = set()
        self._open = self._answered = 0
        self._changed = asyncio.Event()

    async def finish(self) -> None:
        """Work until all methods have ended."""
        self.run.check_cap()
        workers = [asyncio.ensure_future(self._worker()) for _ in range(self.run.entry.concurrency)]
        try:
            await asyncio.gather(*workers)  # the first error ends them all
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _worker(self) -> None:
        while await self._has_next():
            *_, method, place, key = heappop(self._queue)
            if key in self._under_way or key not in self._waiting:
                continue  # whoever asked first hands, or has handed, the answer on
            self._under_way.add(key)
            if await self.run.is_spent():
                left = sum(map(len, self._waiting.values()))
                raise self.run.at_the_cap(self._answered, self._answered + left)
            answer = await self.run.paid(method.asked.requests[place], key, method.asked.stage)
            self._under_way.remove(key)
            (first, *others) = self._waiting.pop(key)
            self._receive(*first, answer)
            for other, where in others:
                self._receive(other, where, self.run.again(answer, other.asked.stage))

    async def _has_next(self) -> bool:
        """Wait for a question; False when all methods have ended."""
        while not self._queue:
            if self._members:
                self._go_on(self._members.popleft(), None)
                await asyncio.sleep(0)
            elif (started := next(self._methods, None)) is not None:
                self._open += 1
                self._go_on(_Method(*started), None)
                await asyncio.sleep(0)  # a run from the cache must not hold up the loop
            elif not self._open:
                self._changed.set()
                return False
            else:
                self._changed.clear()
                await self._changed.wait()
        return True

    def _receive(self, method: _Method[T], place: int, answer: Answer) -> None:
        self._answered += 1
        method.answers[place] = answer
        if None not in method.answers:
            self._go_on(method, method.answers)

    def _stored(self, ask: Ask, keys: list[str]) -> list[Answer | None]:
        """What the cache has of an `Ask`; a question that came before in it is a hit of its own."""
        found = self.run.found(list(zip(keys, ask.requests)), ask.stage)
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        answers = []
        for place, key in enumerate(keys):
            answer = found.get(key)
            is_repeated = answer is not None and first[key] < place
            answers.append(self.run.again(answer, ask.stage) if answer and is_repeated else answer)
        return answers

    def _go_on(self, method: _Method[Any], answers: list[Any] | None) -> None:
        """Let the method take its next step, and with it those of its group that waited for this."""
        self._step(method, answers)
        group, found = method.group, True
        while group and found:
            waiting, group.waiting = group.waiting, []
            for other in waiting:
                self._step(other, [])
            found = len(group.waiting) < len(waiting)
        self._changed.set()
        if group and len(group.results) == group.size:
            self._go_on(group.owner, Results(group.results[i] for i in range(group.size)))
        elif group and len(group.results) + len(group.waiting) == group.size:
            raise stuck()

    def _step(self, method: _Method[Any], answers: list[Any] | None) -> None:
        """The method's next step, and further ones as long as the cache answers them."""
        try:
            while True:
                ask = method.steps.send(answers)  # type: ignore[arg-type]
                if isinstance(ask, Together) and ask.methods:
                    group = _Group(method, len(ask.methods))
                    self._members += [_Method(i, s, group=group) for i, s in enumerate(ask.methods)]
                    return
                if ask is WAIT and method.group:
                    method.group.waiting.append(method)
                    return
                keys = [self.run.key(request) for request in ask.requests]
                answers = self._stored(ask, keys)
                if None in answers:
                    break
        except StopIteration as end:
            if method.group:
                method.group.results[method.number] = end.value
            else:
                self._results[method.number] = end.value
                self._open -= 1
                self._hand_on()
        else:
            method.asked, method.answers = ask, answers
            # In the order of asking, but what the first of a group ask comes before what its later ones do.
            rank = method.number if method.group else 0
            for i, key in enumerate(keys):
                if answers[i] is None:
                    self._waiting[key].append((method, i))
                    heappush(self._queue, (rank, next(self._counted), method, i, key))

    def _hand_on(self) -> None:
        while self._handed in self._results:
            self._sink(self._results.pop(self._handed))
            self._handed += 1
