"""Questions on their way: many methods side by side; the cache first, then the endpoint; every answer into the ledger.

A method is begun only when there is room for its questions, so methods end roughly in the order they are given, what
belongs together is asked together (and meets the endpoint's prefix cache), and a run of thousands holds few of them
open. Everything here runs on the background loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from perslib.errors import BackboneError, BudgetReached, GaveUp
from perslib.llm.cache.address import content_address
from perslib.llm.cache.claims import RENEWED, Claims
from perslib.llm.cache.store import Cache, Meta
from perslib.llm.estimate import USUAL_REPLY, Collector, StandIn, tokens_of_messages
from perslib.llm.ledger import Ledger
from perslib.llm.request import NOT_IN_CACHE, Answer, Ask, Method, Request, whole_characters
from perslib.llm.structured.fallbacks import Ladder, reread, unanswered

T = TypeVar("T")
LOOK = 0.2
"""Seconds between two looks for the answers of another process."""
MOST_FAILURES = 16
"""Calls given up in a row, beyond those in flight, after which a run stops: the endpoint is not well."""


@dataclass
class Run:
    """Questions with one ledger and one cap; `step` is called with the stage and each answer as it comes."""

    ladder: Ladder
    cache: Cache
    ledger: Ledger
    model: str
    weights: str
    step: Callable[[str, Answer], object]
    cap: float | None = None
    stand_in: StandIn | None = None

    def __post_init__(self) -> None:
        self.entry, self.claims = self.ladder.entry, Claims(self.cache)
        self._spent_before, self._ended = self._spent(), 0
        self._under_way: list[float] = []
        self._one_ended = asyncio.Event()
        self._unwritten: list[tuple[str, Mapping[str, Any], Meta]] = []
        self._written: asyncio.Future[None]

    def check_cap(self) -> None:
        """Raise if there is a cap that cannot be kept."""
        if self.cap is not None and self.entry.prices is None:
            raise BackboneError(
                f"Backbone {self.entry.name!r} has no prices, so a spending cap cannot be kept: add prices to "
                "its entry in backbones.toml, or leave the cap out.",
                backbone=self.entry.name,
            )

    def key(self, request: Request) -> str:
        """Content address of a question."""
        return content_address(self.entry, self.weights, request)

    def found(self, requests: Mapping[str, Request], stage: str) -> dict[str, Answer]:
        """Answers that the cache has, by key; each is counted as a hit."""
        records = self.cache.get_many(list(requests)) if requests else {}
        whole = {key: record for key, record in records.items() if self._is_whole(record, requests[key])}
        return {key: self._counted(_hit(record, requests[key]), stage, True) for key, record in whole.items()}

    def claim(self, asked: Mapping[str, Request], stage: str) -> tuple[dict[str, Answer], set[str]]:
        """Return the answers that the cache has, and which of the others are ours to ask: nobody else is asking them."""
        found = self.found(asked, stage)
        missing = asked.keys() - found.keys()
        if self.stand_in is not None or not missing:
            return found, missing
        ours, is_answered = self.claims.take(missing)
        late = self.found({key: asked[key] for key in ours}, stage) if is_answered else {}
        self.claims.release(late.keys())
        return found | late, ours - late.keys()

    def again(self, answer: Answer, stage: str, is_stored: bool = False) -> Answer:
        """The answer for a question that was on its way already, or that the cache has: a hit."""
        return self._counted(answer.with_(cached=True, retries=0), stage, is_stored)

    def _is_whole(self, record: Mapping[str, Any], request: Request) -> bool:
        """False of an empty answer, and of one without the log probabilities that are wanted and could be had by now."""
        if "text" not in record:
            return False
        if record.get("error") is None and not record["text"] and request.schema is None:
            return self.cache.policy == "only"  # older versions kept them
        wants = bool(request.top_logprobs) and self.ladder.is_known_for_logprobs
        return not wants or record.get("logprobs") is not None or self.cache.policy == "only"

    async def _called(self, request: Request, key: str, stage: str) -> Answer:
        """The answer to a question that is not in the cache."""
        is_kept = False
        if self.cache.policy == "only":
            answer = unanswered(request, NOT_IN_CACHE)
        elif self.stand_in is not None:
            answer = self.stand_in.answer(request, self.entry, key)
            context = self.ladder.context
            # A rough count keeps no question out of a batch.
            if context and answer.tokens_in > context and not isinstance(self.stand_in, Collector):
                words = f"too long: about {answer.tokens_in:,} tokens, and the model's context has {context:,}"
                answer = unanswered(request, words).with_(cached=answer.cached)
        else:
            answer, is_kept = await self.ladder.answer(request)
            self._stop_after_failures(answer)
        # An endpoint tells the dated version; of a file, its path is nobody's business.
        told = answer.model if self.entry.kind == "endpoint" else ""
        model = Path(told).name if told.endswith(".gguf") else told or self.model
        answer = answer.with_(backbone=self.entry.name, model=model, digest=key)
        if is_kept:
            meta = {"backbone": self.entry.name, "model": model, "stage": stage, "prompt": request.prompt}
            self.cache.put_sent([(key, self.ladder.sent(request))])
            await self._keep(key, answer.stored(), meta)
        else:
            self.claims.release([key])
        return answer

    async def _keep(self, key: str, answer: Mapping[str, Any], meta: Meta) -> None:
        """Write an answer, in one transaction with those that come in at the same time."""
        self._unwritten.append((key, answer, meta))
        if len(self._unwritten) == 1:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            loop.call_soon(self._write)
        await asyncio.shield(self._written)  # others wait for it too

    def _write(self) -> None:
        rows, self._unwritten = self._unwritten, []
        try:
            self.cache.put_many(rows)
        except Exception as error:
            self._written.set_exception(error)
        else:
            self._written.set_result(None)

    async def paid(self, request: Request, key: str, stage: str) -> Answer:
        """The endpoint's answer, counted, with what is under way in view of the cap."""
        at_most = 0.0
        if self.cap is not None:
            tokens = tokens_of_messages(request.messages)
            at_most = self.entry.cost(tokens, 0, request.max_tokens or USUAL_REPLY) or 0.0
        self._under_way.append(at_most)
        try:
            answer = self._counted(await self._called(request, key, stage), stage)
            self._ended += 1
        finally:
            self._under_way.remove(at_most)
            self._one_ended.set()
        if self.cap is not None and answer.cost is None and answer.finish:
            raise BackboneError(
                f"Backbone {self.entry.name!r} does not say how many tokens a call took, so a spending cap cannot be "
                "kept. What was answered is in the cache; run again without the cap.",
                backbone=self.entry.name,
            )
        return answer

    def _counted(self, answer: Answer, stage: str, is_stored: bool = False) -> Answer:
        # What a stand-in gave before is neither asked again nor an answer that the cache has.
        if is_stored or self.stand_in is None or not answer.cached:
            self.ledger.record(stage, answer)
        self.step(stage, answer)
        return answer

    def _stop_after_failures(self, answer: Answer) -> None:
        """End the run when call after call comes to nothing."""
        client, most = self.ladder.client, MOST_FAILURES + self.entry.concurrency
        if client.failures < most:
            return
        client.failures = 0
        raise GaveUp(
            f"Stopped: {most} calls in a row to backbone {self.entry.name!r} came to nothing; the last one: "
            f"{answer.error}. What was answered is in the cache; run again later.",
            backbone=self.entry.name,
        )

    def _spent(self) -> float:
        return self.ledger.total.cost or 0.0

    async def is_spent(self) -> bool:
        """Whether the cap is reached; where only calls under way may reach it, wait and see."""
        while self.cap is not None and self._spent() + self._cost_under_way() >= self.cap:
            if not self._under_way:
                return True
            self._one_ended.clear()
            await self._one_ended.wait()
        return False

    def _cost_under_way(self) -> float:
        """Calls under way count with the mean cost of those that ended, and before one has, with what they may cost."""
        if self._ended:
            return len(self._under_way) * (self._spent() - self._spent_before) / self._ended
        return sum(self._under_way)

    def at_the_cap(self, answered: int, wanted: int) -> BudgetReached:
        """The error that ends a run at its cap."""
        return BudgetReached(
            f"Stopped at the spending cap of ${self.cap:,.2f}: ${self._spent():,.2f} spent, {answered:,} of "
            f"{wanted:,} requests answered. The answers are in the cache; the same run with a higher cap goes on.",
            backbone=self.entry.name,
        )


def _hit(record: Mapping[str, Any], request: Request) -> Answer:
    """An answer from the cache, read again in case reading has learned something since."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # older versions kept halves of characters, which no table or file takes
        record = json.loads(whole_characters(json.dumps(record)))
    answer = Answer.restored(record)
    return answer if request.schema is None else reread(answer, request.schema)


class _Question(NamedTuple):
    """A question that waits; in the order of rank and asking."""

    rank: int
    number: int
    key: str
    request: Request
    stage: str
    guessed: bool


@dataclass
class _Asking:
    """How far a method is: whether it has asked, and whether it goes by answers that a stand-in gave."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    guesses: bool = False


class Work(Generic[T]):
    """Methods, worked on together. Equal questions that are on their way are asked once.

    Results go to `sink`, in the order of their methods, as soon as it is their turn.
    """

    def __init__(self, run: Run, methods: Iterable[Method[T]], sink: Callable[[T], object]):
        self.run, self._methods, self._sink = run, methods, sink
        self._begun: asyncio.Queue[asyncio.Task[T] | None] = asyncio.Queue()
        self._queue: asyncio.PriorityQueue[_Question] = asyncio.PriorityQueue()
        self._waiting: dict[str, list[tuple[asyncio.Future[Answer], str]]] = {}
        self._numbers = count()
        self._answered = self._idle = 0
        self._room = asyncio.Event()
        self._elsewhere: dict[str, _Question] = {}
        self._is_some_elsewhere = asyncio.Event()

    async def finish(self) -> None:
        """Work until all methods have ended; the first error ends everything."""
        self.run.check_cap()
        try:
            async with asyncio.TaskGroup() as group:
                at_once = range(self.run.entry.concurrency)
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
            self.run.claims.end()

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
        """What a method calls as `ask`: what the cache has, then what the workers bring."""
        keys = [self.run.key(request) for request in requests]
        stored, ours = self.run.claim(dict(zip(keys, requests)), stage)
        answers: list[Answer | asyncio.Future[Answer]] = []
        seen: set[str] = set()
        for key, request in zip(keys, requests):
            if key not in stored:
                question = _Question(rank, next(self._numbers), key, request, stage, asking.guesses)
                answers.append(self._queued(question, key in ours))
            else:
                answers.append(self.run.again(stored[key], stage, True) if key in seen else stored[key])
                seen.add(key)
        asking.begun.set()
        given = [a if isinstance(a, Answer) else await a for a in answers]
        asking.guesses |= self.run.stand_in is not None and any(key not in stored for key in keys)
        return given

    def _queued(self, question: _Question, is_ours: bool) -> asyncio.Future[Answer]:
        """The answer to come; where an equal question is on its way, the one that it gets."""
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
            self.run.claims.renew()

    async def _wait_for_others(self) -> None:
        """Take the answers of other runs to what they are asking; what they leave unanswered is asked here."""
        while await self._is_some_elsewhere.wait():
            await asyncio.sleep(LOOK)
            for stage in {question.stage for question in self._elsewhere.values()}:
                asked = {key: one.request for key, one in self._elsewhere.items() if one.stage == stage}
                stored, ours = self.run.claim(asked, stage)
                for key, answer in stored.items():
                    del self._elsewhere[key]
                    self._give(key, answer)
                for key in ours:
                    self._queue.put_nowait(self._elsewhere.pop(key))
            if not self._elsewhere:
                self._is_some_elsewhere.clear()
            self._look()

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
            if isinstance(self.run.stand_in, Collector):
                self.run.stand_in.collect(self.run.ladder, question.request, answer, question.stage, question.guessed)
            self._give(question.key, answer)
            await asyncio.sleep(0)  # what the methods ask next comes before what another would begin with

    def _give(self, key: str, answer: Answer) -> None:
        """Hand an answer to all who wait for it."""
        for i, (future, stage) in enumerate(self._waiting.pop(key)):
            self._answered += 1
            if not future.done():
                future.set_result(self.run.again(answer, stage) if i else answer)

    def _look(self) -> None:
        """Let the next method begin when a worker has nothing to ask."""
        if self._idle and self._queue.empty():
            self._room.set()
        else:
            self._room.clear()


async def _result(method: Method[T], ask: Ask) -> T:
    return await method(ask)
