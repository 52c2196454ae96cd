"""One event loop in a background thread, so that async work can be asked for from anywhere.

A plain call blocks its own thread and nothing else: it works in a script, in a notebook cell whose kernel
already runs a loop, and in several threads at once. Nobody's loop is patched.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from perslib.llm.request import Answer, Ask, Method, Request, no_model

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_closing: list[Callable[[], Awaitable[None]]] = []

HEAVY = 50_000
"""Characters or bytes that are not read on the loop."""
LAST_WORDS = 2.0
"""Seconds given to connections to close when the process ends."""


def background() -> asyncio.AbstractEventLoop:
    """Return the loop, started on first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="perslib-llm", daemon=True).start()
        return _loop


def on_close(close: Callable[[], Awaitable[None]]) -> None:
    """Await `close()` on the loop before the process ends."""
    _closing.append(close)


def start_on_loop(work: Coroutine[Any, Any, T], stopped: threading.Event | None = None) -> concurrent.futures.Future[T]:
    """Start `work` on the background loop; `stopped` is set when it has ended, also by being cancelled."""
    if is_on_background_loop():
        work.close()
        raise RuntimeError("A plain call inside perslib's own event loop would wait for itself: await it")
    return asyncio.run_coroutine_threadsafe(_announce_end(work, stopped or threading.Event()), background())


def run_on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` and wait for it; Ctrl-C cancels it, waits until it has stopped, and comes through."""
    stopped = threading.Event()
    future = start_on_loop(work, stopped)
    try:
        # In slices, because a wait without end cannot be interrupted on every system.
        while not stopped.wait(0.5):
            pass
        return future.result()
    except BaseException:
        if future.cancel():
            stopped.wait(LAST_WORDS)
        raise


async def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` on the background loop and await it from any other; cancelling the wait cancels the work."""
    return await (work if is_on_background_loop() else asyncio.wrap_future(start_on_loop(work)))


async def run_in_thread(size: int, work: Callable[..., T], *given: Any) -> T:
    """Return `work(*given)`; in a thread of its own where the `size` of what it reads would hold up the loop."""
    return work(*given) if size < HEAVY else await asyncio.to_thread(work, *given)


def is_on_background_loop() -> bool:
    """Return whether this runs on the background loop, as methods that ask a model do."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def compute(method: Method[T], ask: Ask = no_model) -> T:
    """Return the result of a method that asks no model, or asks this one."""

    async def result() -> T:
        return await method(ask)

    return run_on_loop(result())


def run_with_answers(method: Method[T], *batches: Sequence[Answer]) -> T:
    """Return the result of a method whose questions are answered by these batches, one after another."""
    given = iter(batches)

    async def ask(requests: Sequence[Request], stage: str = "ask", rank: int = 0) -> Sequence[Answer]:
        await asyncio.sleep(0)  # what is asked side by side is asked before the first of it is answered
        return list(next(given, ()))

    return compute(method, ask)


async def _announce_end(work: Coroutine[Any, Any, T], stopped: threading.Event) -> T:
    try:
        return await work
    finally:
        stopped.set()


async def _close_all() -> None:
    for close in _closing:
        await close()


def _at_exit() -> None:
    if _loop is None or not _loop.is_running():
        return
    closing = asyncio.run_coroutine_threadsafe(_close_all(), _loop)
    concurrent.futures.wait([closing], timeout=LAST_WORDS)


def _after_fork() -> None:
    """Start anew in a forked child, which has the loop's memory but not its thread."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()
    _closing.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
