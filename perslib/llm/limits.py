"""How many calls may be under way at an endpoint, and how many requests and tokens a minute.

Both are kept per process and endpoint: several studies in one notebook share them, several processes do not.
Everything here runs on one event loop, so there are no locks.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field


class Gate:
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
        if self.inside < int(self.bound) and not self._queue:
            self.inside += 1
        else:
            place = asyncio.get_running_loop().create_future()
            self._queue.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self.leave()  # we had been let in
                raise
        try:
            while (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            self.leave()
            raise
        return time.monotonic()

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1
        while self._queue and self.inside < int(self.bound):
            place = self._queue.popleft()
            if not place.done():
                self.inside += 1
                place.set_result(None)

    def shrink(self, entered: float) -> None:
        """The endpoint had too much of a call that entered then."""
        if entered >= self._shrunk_at:
            self.bound = max(1.0, self.bound / 2)
            self._shrunk_at = time.monotonic()

    def grow(self) -> None:
        """A call went well."""
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
                try:
                    async with asyncio.timeout(pause):
                        await self._changed.wait()
                except TimeoutError:
                    pass
            slot = Slot(time.monotonic(), estimate)
            self._slots.append(slot)
            return slot

    def settle(self, slot: Slot | None, tokens: int) -> None:
        """The call is over and took `tokens`."""
        if slot is not None and tokens:
            slot.tokens = tokens
            self._changed.set()

    def _pause(self, estimate: int) -> float:
        """Seconds until the oldest call that is in the way leaves the minute; 0 when there is room."""
        now = time.monotonic()
        while self._slots and self._slots[0].at <= now - self.minute:
            self._slots.popleft()
        full = self.calls is not None and len(self._slots) >= self.calls
        # A call larger than the whole allowance goes alone, or it would never go.
        spent = sum(slot.tokens for slot in self._slots) if self.tokens is not None else 0
        full = full or (self.tokens is not None and bool(self._slots) and spent + estimate > self.tokens)
        return self._slots[0].at + self.minute - now if full else 0.0
