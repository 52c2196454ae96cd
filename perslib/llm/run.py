"""Questions of one stage on their way: the cache first, then the endpoint; every answer into the ledger.

Everything here runs on the background loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perslib.errors import BackboneError, BudgetReached, GaveUp
from perslib.llm.address import content_address
from perslib.llm.cache import Cache, Meta
from perslib.llm.estimate import USUAL_REPLY, tokens_of_messages
from perslib.llm.ladder import Ladder, reread, unanswered
from perslib.llm.ledger import Ledger
from perslib.llm.types import NOT_IN_CACHE, Answer, Request

IN_VAIN = 16
"""Calls given up in a row, beyond those in flight, after which a run stops: the endpoint is not well."""


class Run:
    """Questions with one ledger and one cap; `step` is called with the stage and each answer as it comes."""

    def __init__(
        self,
        ladder: Ladder,
        cache: Cache,
        ledger: Ledger,
        *,
        model: str,
        weights: str,
        step: Callable[[str, Answer], Any] | None = None,
        cap: float | None = None,
    ):
        self.ladder, self.entry, self.cache, self.ledger = ladder, ladder.entry, cache, ledger
        self.model, self.weights, self.step, self.cap = model, weights, step, cap
        self._spent_before, self._ended = self._spent(), 0
        self._under_way: list[float] = []
        self._one_ended = asyncio.Event()
        self._unwritten: list[tuple[str, Mapping[str, Any], Meta]] = []
        self._written: asyncio.Future[None]

    async def one(self, request: Request, stage: str) -> Answer:
        """The answer to one question."""
        key = self.key(request)
        if (answer := self.found([(key, request)], stage).get(key)) is not None:
            return answer
        return self._counted(await self._called(request, key, stage), stage)

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

    def found(self, asked: Sequence[tuple[str, Request]], stage: str) -> dict[str, Answer]:
        """Answers that the cache has, by key; each is counted as a hit."""
        requests = dict(asked)
        records = self.cache.get_many(list(requests))
        whole = {key: record for key, record in records.items() if self._is_whole(record, requests[key])}
        return {key: self._counted(_hit(record, requests[key]), stage) for key, record in whole.items()}

    def again(self, answer: Answer, stage: str) -> Answer:
        """The answer for a question that was on its way already: a hit."""
        return self._counted(answer.with_(cached=True, retries=0), stage)

    def _is_whole(self, record: Mapping[str, Any], request: Request) -> bool:
        """False of an answer without the log probabilities that are wanted and that could be had by now."""
        wants = bool(request.top_logprobs) and self.ladder.is_known_for_logprobs
        return not wants or record.get("logprobs") is not None or self.cache.policy == "only"

    async def _called(self, request: Request, key: str, stage: str) -> Answer:
        """The answer to a question that is not in the cache."""
        if self.cache.policy == "only":
            answer, is_kept = unanswered(request, NOT_IN_CACHE), False
        else:
            answer, is_kept = await self.ladder.answer(request)
            self._stop_in_vain(answer)
        # An endpoint tells the dated version; of a file, its path is nobody's business.
        told = answer.model if self.entry.kind == "endpoint" else ""
        model = Path(told).name if told.endswith(".gguf") else told or self.model
        answer = answer.with_(backbone=self.entry.name, model=model, digest=key)
        if is_kept:
            meta = {
                "backbone": self.entry.name,
                "model": model,
                "stage": stage,
                "prompt": request.prompt,
            }
            await self._keep(key, answer.stored(), meta)
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
        expected = self._expected(request)
        self._under_way.append(expected)
        try:
            answer = self._counted(await self._called(request, key, stage), stage)
            self._ended += 1
        finally:
            self._under_way.remove(expected)
            self._one_ended.set()
        if self.cap is not None and answer.cost is None and answer.finish:
            raise BackboneError(
                f"Backbone {self.entry.name!r} does not say how many tokens a call took, so a spending cap cannot be "
                "kept. What was answered is in the cache; run again without the cap.",
                backbone=self.entry.name,
            )
        return answer

    def _expected(self, request: Request) -> float:
        """What a call may cost at most, as far as its request tells."""
        if self.cap is None:
            return 0.0
        tokens = tokens_of_messages(request.messages)
        return self.entry.cost(tokens, 0, request.max_tokens or USUAL_REPLY) or 0.0

    def _counted(self, answer: Answer, stage: str) -> Answer:
        self.ledger.record(stage, answer)
        if self.step is not None:
            self.step(stage, answer)
        return answer

    def _stop_in_vain(self, answer: Answer) -> None:
        """End the run when call after call comes to nothing."""
        line, most = self.ladder.line, IN_VAIN + self.entry.concurrency
        if line.in_vain < most:
            return
        line.in_vain = 0
        raise GaveUp(
            f"Stopped: {most} calls in a row to backbone {self.entry.name!r} came to nothing; the last one: "
            f"{answer.error}. What was answered is in the cache; run again later.",
            backbone=self.entry.name,
        )

    def _spent(self) -> float:
        return self.ledger.total.cost or 0.0

    async def is_spent(self) -> bool:
        """Whether the cap is reached; where only calls under way may reach it, wait and see."""
        while self._may_be_spent():
            if not self._under_way:
                return True
            self._one_ended.clear()
            await self._one_ended.wait()
        return False

    def _may_be_spent(self) -> bool:
        """Whether another call may pass the cap.

        Calls under way count with the mean cost of those that ended, and before one has, with what they may cost.
        """
        if self.cap is None:
            return False
        under_way = sum(self._under_way)
        if self._ended:
            under_way = len(self._under_way) * (self._spent() - self._spent_before) / self._ended
        return self._spent() + under_way >= self.cap

    def at_the_cap(self, answered: int, wanted: int) -> BudgetReached:
        """The error that ends a run at its cap."""
        return BudgetReached(
            f"Stopped at the spending cap of ${self.cap:,.2f}: ${self._spent():,.2f} spent, {answered:,} of "
            f"{wanted:,} requests answered. The answers are in the cache; the same run with a higher cap goes on.",
            backbone=self.entry.name,
        )


def _hit(record: Mapping[str, Any], request: Request) -> Answer:
    answer = Answer.restored(record)
    return answer if request.schema is None else reread(answer, request.schema)
