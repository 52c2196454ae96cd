"""Calls to an endpoint: how many at once and a minute, when to try again, how long to wait, and when to stop.

Limits are kept per process and endpoint: several studies in one notebook share them, several processes do not.
They are used on one event loop, so there are no locks.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, TypeVar

from perslib.errors import GaveUp, Refused
from perslib.llm import event_loop
from perslib.llm.answerers.http import Transport, TransportError
from perslib.llm.request import Answer


class ConcurrencyLimit:
    """A bound on calls in flight that halves when the endpoint says 429 and grows back with success.

    Additive increase, multiplicative decrease: `bound` calls that went well in a row raise it by one. Calls
    that were under way before the last decrease cannot decrease it again, so one burst of refusals counts once.
    Those who wait enter in the order they came.
    """

    def __init__(self, most: int):
        self.most = most
        self.bound = float(most)
        self.inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._shrunk_at = self._closed_until = 0.0

    async def enter(self) -> float:
        """Wait for a place; returns the moment of entry, which `shrink` wants to know."""
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        self._admit()
        try:
            await place
            while (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # we had been let in
            raise
        return time.monotonic()

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1
        self._admit()

    def _admit(self) -> None:
        while self._queue and self.inside < int(self.bound):
            place = self._queue.popleft()
            if not place.done():
                self.inside += 1
                place.set_result(None)

    def shrink(self, entered: float) -> None:
        """Lower the limit: the endpoint had too much of a call that entered then."""
        if entered >= self._shrunk_at:
            self.bound = max(1.0, self.bound / 2)
            self._shrunk_at = time.monotonic()

    def grow(self) -> None:
        """Raise the limit, for a call went well."""
        self.bound = min(self.most, self.bound + 1 / self.bound)

    def close_for(self, seconds: float) -> None:
        """Let nobody start for a while: the endpoint said when it wants to hear from us again."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)


@dataclass
class Slot:
    """A call that counts in the current minute, with the tokens it is believed to take."""

    at: float
    tokens: int


@dataclass
class Pace:
    """At most `calls` starts and `tokens` tokens in any stretch of `minute` seconds.

    A call counts with an estimate of its tokens until `settle` says how many there were.
    """

    calls: int | None = None
    tokens: int | None = None
    minute: float = 60.0
    _slots: deque[Slot] = field(default_factory=deque)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, estimate: int) -> Slot | None:
        """Wait until one more call of about `estimate` tokens fits."""
        if self.calls is None and self.tokens is None:
            return None
        async with self._turn:
            while (pause := self._pause(estimate)) > 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)
            slot = Slot(time.monotonic(), estimate)
            self._slots.append(slot)
            return slot

    def settle(self, slot: Slot | None, tokens: int) -> None:
        """Note that the call is over and took `tokens`."""
        if slot is not None and tokens:
            slot.tokens = tokens
            self._changed.set()

    def _pause(self, estimate: int) -> float:
        """Return seconds until the oldest call that is in the way leaves the minute; 0 when there is room."""
        now = time.monotonic()
        while self._slots and self._slots[0].at <= now - self.minute:
            self._slots.popleft()
        if not self._slots:  # a call larger than the whole allowance goes alone, or it would never go
            return 0.0
        tokens = sum(slot.tokens for slot in self._slots) + estimate
        is_full = len(self._slots) >= (self.calls or inf) or tokens > (self.tokens or inf)
        return self._slots[0].at + self.minute - now if is_full else 0.0


Came = TypeVar("Came", bound=Any)
"""What an exchange brings: a frozen dataclass with `tokens_in`, `tokens_out` and `retries`."""

# Our own generator: waiting must not move the random numbers of a study.
_jitter = random.Random()


@dataclass(frozen=True)
class RetryPolicy:
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


@dataclass
class TimeBudget:
    """What one question may take for its tries and the waits between them, in seconds; our own queue does not count."""

    most: float
    taken: float = 0.0

    @property
    def remaining(self) -> float:
        """What is left of it."""
        return self.most - self.taken


class Client:
    """One endpoint as this process sees it: its connections and its limits."""

    def __init__(self, transport: Transport, patience: RetryPolicy, minute: float = 60.0):
        entry = transport.entry
        self.transport = transport
        self.patience = patience
        self.gate = ConcurrencyLimit(entry.concurrency)
        self.pace = Pace(entry.rpm, entry.tpm, minute)
        self.answered = False
        self.failures = 0
        """Calls given up since the last one that was answered."""

    @property
    def name(self) -> str:
        """The name of its backbone."""
        return self.transport.entry.name

    def allowance(self) -> TimeBudget:
        """Return the time of a new question."""
        entry = self.transport.entry
        return TimeBudget(entry.deadline or 3 * entry.timeout + self.patience.total)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], Answer],
        tokens: int = 0,
        allowance: TimeBudget | None = None,
    ) -> Answer:
        """Return what `read` makes of the reply to one request; `tokens` is our estimate of its size, for the pace.

        `allowance` is what its question has left. Raises `GaveUp` when that, retries or waiting are used up,
        `Unreachable` when nobody is there, `Refused` when the endpoint said no for good.
        """

        async def attempt() -> Answer:
            reply = await self.transport.exchange("POST", path, body)
            return await event_loop.run_in_thread(reply["size"], read, reply)

        return await self.call_with_retries(attempt, tokens, allowance)

    async def call_with_retries(
        self, attempt: Callable[[], Awaitable[Came]], tokens: int, allowance: TimeBudget | None = None
    ) -> Came:
        """Return what `attempt` brings, tried again as long as it fails with a `TransportError` and patience lasts."""
        allowance = allowance or self.allowance()
        waited, tried = 0.0, 0
        while True:
            tried += 1
            try:
                reply = await self._once(attempt, tokens, allowance)
            except Refused:
                self.failures = 0  # the endpoint is well, it answered
                raise
            except TransportError as fault:
                pause = self.patience.pause(tried, fault.retry_after)
                self._stop(fault, tried, waited, pause, allowance)
                if fault.retry_after:
                    self.gate.close_for(fault.retry_after)
            else:
                self.answered, self.failures = True, 0
                return reply if tried == 1 else replace(reply, retries=tried - 1)
            waited += pause
            allowance.taken += pause
            await asyncio.sleep(pause)

    async def _once(self, attempt: Callable[[], Awaitable[Came]], tokens: int, allowance: TimeBudget) -> Came:
        """Return one try inside the limits; the place is given back while we wait for the next."""
        await self.transport.open()  # before the clock of the pace starts
        entered = await self.gate.enter()
        try:
            slot = await self.pace.start(tokens)
            reply = await self._try_within(attempt, allowance)
        except TransportError as fault:
            if fault.status == 429:
                self.gate.shrink(entered)
            raise
        finally:
            self.gate.leave()
        self.gate.grow()
        self.pace.settle(slot, reply.tokens_in + reply.tokens_out)
        return reply

    async def _try_within(self, attempt: Callable[[], Awaitable[Came]], allowance: TimeBudget) -> Came:
        """Return one try within what is left of the question's time."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(allowance.remaining):
                return await attempt()
        except TimeoutError:
            words = f"no complete reply within the {allowance.most:g} s that a question may take"
            raise TransportError(words, hopeless=True) from None
        finally:
            allowance.taken += time.monotonic() - started

    def _stop(self, fault: TransportError, tried: int, waited: float, pause: float, allowance: TimeBudget) -> None:
        """Raise when this was the last try."""
        most, total = self.patience.tries, self.patience.total
        if fault.nobody and not self.answered:
            most = min(most, self.patience.greeting)
        left, bound = min(
            (total - waited, f"the bound of {total:g} s"),
            (allowance.remaining, f"the {allowance.most:g} s that a question may take"),
        )
        is_over = tried >= most or fault.hopeless
        if not is_over and pause <= left:
            return
        if fault.nobody:
            raise self.transport.unreachable(fault.words) from None
        self.failures += 1
        too_long = "" if is_over else f" (the next wait of {pause:.0f} s would pass {bound})"
        tries = "1 try" if tried == 1 else f"{tried} tries"
        raise GaveUp(f"gave up after {tries}{too_long}: {fault.words}", backbone=self.transport.entry.name) from None
