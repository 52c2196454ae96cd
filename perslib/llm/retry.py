"""Trying again: when, how long to wait, and when to stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

from perslib.errors import GaveUp
from perslib.llm.limits import Gate, Pace
from perslib.llm.reply import Reply, read
from perslib.llm.transport import Fault, Transport


class Counted(Protocol):
    """Whatever an exchange brings: a frozen dataclass that says how many tokens it took."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tokens_in(self) -> int:
        """Tokens sent."""

    @property
    def tokens_out(self) -> int:
        """Tokens received."""


Came = TypeVar("Came", bound=Counted)

# Our own generator: waiting must not move the random numbers of a study.
_jitter = random.Random()


@dataclass(frozen=True)
class Patience:
    """How long a call is worth waiting for; all times in seconds."""

    tries: int = 6
    backoff: float = 0.5
    """Mean wait before the second try is half of this; it doubles with each further one."""
    longest: float = 30.0
    """Longest single wait of our own choosing; a `Retry-After` may ask for more."""
    total: float = 300.0
    """Bound on all waiting between the tries of one call."""
    greeting: int = 2
    """Tries when nobody answers at an address that has never answered."""

    def pause(self, tried: int, retry_after: float | None) -> float:
        """Wait after `tried` tries: full jitter under an exponential bound, and at least what was asked for."""
        own = _jitter.uniform(0, min(self.longest, self.backoff * 2 ** (tried - 1)))
        return own if retry_after is None else retry_after + own / 10


class Line:
    """One endpoint as this process sees it: its connections, its limits, and what it was found to lack."""

    def __init__(self, transport: Transport, patience: Patience, minute: float = 60.0):
        entry = transport.entry
        self.transport = transport
        self.patience = patience
        self.gate = Gate(entry.concurrency)
        self.pace = Pace(entry.rpm, entry.tpm, minute)
        self.answered = False
        self.in_vain = 0
        """Calls given up since the last one that was answered."""
        self.lacks: set[str] = set()
        """What the endpoint refused to take: `schema`, `json`, `logprobs`, `max_tokens`."""

    async def complete(self, body: Mapping[str, Any], tokens: int = 0) -> Reply:
        """The reply to one chat completion; `tokens` is our estimate of its size, for the pace.

        Raises `GaveUp` when retries or waiting are used up, `Unreachable` when nobody is there, `Refused`
        when the endpoint said no for good.
        """

        async def attempt() -> Reply:
            return read(await self.transport.exchange("POST", "/chat/completions", body))

        return await self.persist(attempt, tokens)

    async def persist(self, attempt: Callable[[], Awaitable[Came]], tokens: int) -> Came:
        """What `attempt` brings, tried again as long as it fails with a `Fault` and patience lasts."""
        waited, tried = 0.0, 0
        while True:
            tried += 1
            try:
                reply = await self._once(attempt, tokens)
            except Fault as fault:
                pause = self.patience.pause(tried, fault.retry_after)
                self._stop(fault, tried, waited, pause)
                if fault.retry_after:
                    self.gate.close_for(fault.retry_after)
            else:
                self.answered, self.in_vain = True, 0
                return reply if tried == 1 else replace(reply, retries=tried - 1)
            waited += pause
            await asyncio.sleep(pause)

    async def _once(self, attempt: Callable[[], Awaitable[Came]], tokens: int) -> Came:
        """One try inside the limits; the place is given back while we wait for the next."""
        await self.transport.open()  # before the clock of the pace starts
        entered = await self.gate.enter()
        try:
            slot = await self.pace.start(tokens)
            reply = await attempt()
        except Fault as fault:
            if fault.status == 429:
                self.gate.shrink(entered)
            raise
        finally:
            self.gate.leave()
        self.gate.grow()
        self.pace.settle(slot, reply.tokens_in + reply.tokens_out)
        return reply

    def _stop(self, fault: Fault, tried: int, waited: float, pause: float) -> None:
        """Raise when this was the last try."""
        most = self.patience.tries
        if fault.nobody and not self.answered:
            most = min(most, self.patience.greeting)
        too_long = waited + pause > self.patience.total
        if tried < most and not too_long and not fault.hopeless:
            return
        if fault.nobody:
            raise self.transport.unreachable(fault.words) from None
        self.in_vain += 1
        reason = f"gave up after {tried} {'try' if tried == 1 else 'tries'}"
        if too_long and tried < most:
            reason += f" (the next wait of {pause:.0f} s would pass the bound of {self.patience.total:g} s)"
        raise GaveUp(f"{reason}: {fault.words}", backbone=self.transport.entry.name) from None
