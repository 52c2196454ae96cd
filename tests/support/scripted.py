"""A backbone that says what a test wants, without a server, and a way to answer a method's questions in rounds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from perslib.llm import Answer, Method, Request, event_loop

Reply = Callable[[str, Sequence[Request]], Sequence[Answer]]


def in_rounds(method: Method[Any], reply: Reply, *, at_once: int = 10**6, rounds: list[int] | None = None) -> Any:
    """The result of a method. `reply(stage, requests)` answers what is asked before any answer came, all in one round.

    A round holds `at_once` questions at most, those of the lowest rank first; `rounds` gets their numbers.
    """
    waiting: list[tuple[int, int, str, Sequence[Request], asyncio.Future[Any]]] = []
    number = iter(range(10**9))

    async def ask(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Any:
        future = asyncio.get_running_loop().create_future()
        waiting.append((rank, next(number), stage, requests, future))
        return await future

    async def drive() -> Any:
        task = asyncio.ensure_future(method(ask))
        while True:
            for _ in range(30):  # so long as anything goes on without an answer
                await asyncio.sleep(0)
            if task.done():
                return task.result()
            assert waiting, "the method waits for nothing that was asked"
            waiting.sort(key=lambda w: w[:2])
            now, asked = 0, 0
            while now < len(waiting) and (not now or asked + len(waiting[now][3]) <= at_once):
                asked += len(waiting[now][3])
                now += 1
            if rounds is not None and asked:
                rounds.append(asked)
            for _, _, stage, requests, future in [waiting.pop(0) for _ in range(now)]:
                try:
                    future.set_result(list(reply(stage, requests)))
                except Exception as error:
                    future.set_exception(error)

    return event_loop.run_on_loop(drive())


STATEMENT = {"statement": "Wants prices.", "turns": [1]}
#: A whole structured memory.
MEMORY = {
    "scoring_style": STATEMENT,
    "four_vs_five_distinction": STATEMENT,
    "three_vs_four_distinction": STATEMENT,
    "user_specific_requirements": [],
    "preferred_response_format": STATEMENT,
    "task_specific_observations": [],
}
#: One written without scores.
NOTES = {
    "user_specific_requirements": [{"statement": "Never after ten.", "turns": [1]}],
    "preferred_response_format": {"statement": "Short lists.", "turns": [5]},
    "task_specific_observations": [],
}


class Scripted:
    """Memories get `NOTES` unless told otherwise; a candidate's question gets what `reply` makes of it."""

    name, model = "scripted", "Qwen/Qwen3-8B"

    def __init__(
        self,
        memory: Answer | None = None,
        reply: Callable[[Request], Answer] = lambda request: Answer(text="Here you are.", finish="stop"),
    ):
        self.memory, self.reply = memory or Answer(data=NOTES), reply
        self.asked: list[tuple[str, Request]] = []

    def work(self, methods: Iterable[Method[Any]], **settings: Any) -> list[Any]:
        """One method after another."""
        return [self._worked(method) for method in methods]

    def map(self, method: Any, items: Iterable[Any], **settings: Any) -> list[Any]:
        """`work` on the method of each item."""
        return self.work([partial(method, item) for item in items], **settings)

    def each(self, method: Any, items: Any, sink: Any, **settings: Any) -> None:
        """`map`, handed on one by one."""
        for found in self.map(method, items, **settings):
            sink(found)

    def _worked(self, method: Method[Any]) -> Any:
        return in_rounds(method, self._reply)

    def _reply(self, stage: str, requests: Sequence[Request]) -> list[Answer]:
        self.asked += [(stage, request) for request in requests]
        return [self.memory if stage == "memory" else self.reply(request) for request in requests]


class _Enough(Exception):
    """Raised once a method has asked."""


def first_asked(method: Method[Any]) -> list[Request]:
    """What a method asks first."""
    asked: list[Request] = []

    def reply(stage: str, requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        raise _Enough

    with contextlib.suppress(_Enough):
        in_rounds(method, reply)
    return asked
