"""Asking a model without making anybody wait: a line with a spinner, a cancel, and the error in place.

The questions run on perslib's own loop; the kernel stays free for the next click. What comes back is handled on the
kernel's loop again, so panels need no locks.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

import ipywidgets as widgets

from perslib.errors import PerslibError
from perslib.explorer.looking import Looking
from perslib.llm import Spending, Steps
from perslib.report.show import escape

T = TypeVar("T")


class Asking(widgets.HBox):
    """One line of the interface: nothing while nothing is asked, else what is asked and how to stop it."""

    def __init__(self, looking: Looking):
        self.looking = looking
        self.busy = False
        self._line = widgets.HTML(layout=widgets.Layout(flex="1 1 auto"))
        self._cancel = widgets.Button(description=self.looking.say("cancel"), icon="times")
        self._again = widgets.Button(description=self.looking.say("try_again"), icon="refresh")
        self._cancel.on_click(lambda _: self.cancel())
        self._again.on_click(lambda _: self._retry and self._retry())
        self._retry: Callable[[], None] | None = None
        self._future: Future[Any] | None = None
        self._number = 0
        super().__init__([self._line])
        self.add_class("pl-asking")

    def start(self, make: Callable[[], Steps[T]], done: Callable[[T], None], label: str) -> None:
        """Work on what `make()` gives and hand its result to `done`; what was asked before is given up.

        `label` says what is done, in the researcher's words.
        """
        self.cancel()
        self._number += 1
        self.busy = True
        self._retry = lambda: self.start(make, done, label)
        self._show("asking", label, self._cancel)
        before = self._spent()
        number, begun, back = self._number, time.monotonic(), _way_back()
        try:
            self._future = self.looking.backbone.begin(make())
        except PerslibError as error:
            self._fail(str(error))
            return

        def finished(future: Future[T]) -> None:
            back(lambda: self._finish(number, future, done, begun, before))

        self._future.add_done_callback(finished)

    def cancel(self) -> None:
        """Give up what is under way; answers that have come are in the cache."""
        if self.busy and self._future is not None:
            self._number += 1
            self._future.cancel()
            self._show("cancelled", "", self._again)
        self.busy, self._future = False, None

    def clear(self) -> None:
        """Give up what is under way and say nothing of it."""
        self.cancel()
        self._line.value = ""
        self.children = [self._line]

    def fail(self, error: Exception | str) -> None:
        """Say what went wrong, in place."""
        self.busy = False
        self._fail(str(error))

    def _finish(
        self, number: int, future: Future[T], done: Callable[[T], None], begun: float, before: Spending
    ) -> None:
        if number != self._number:
            return  # cancelled, or asked anew meanwhile
        self._future = None
        try:
            done(future.result())
            said = self._cost(before, time.monotonic() - begun)
        except CancelledError:
            kind, said = "cancelled", ""
        except Exception as error:  # whatever it is, the researcher reads it here and can try again
            kind, said = "failed", str(error) or repr(error)
        else:
            kind = "asked"
        if number == self._number:  # what was done has not asked anew
            self._show(kind, said, *([] if kind == "asked" else [self._again]))
            self.busy = False

    def _spent(self) -> Spending:
        return self.looking.backbone.ledger.total

    def _cost(self, before: Spending, seconds: float) -> str:
        now = self._spent()
        calls = now.calls - before.calls
        if not calls:
            return self.looking.say("cost_nothing")
        tokens = now.tokens_in + now.tokens_out - before.tokens_in - before.tokens_out
        cached = now.tokens_cached - before.tokens_cached
        said = self.looking.say(
            "cost", calls=calls, tokens=f"{tokens:,}", cached=f"{cached:,}", seconds=f"{seconds:.1f}"
        )
        money = None if now.cost is None or before.cost is None else now.cost - before.cost
        return said + (self.looking.say("cost_money", money=f"{money:.4f}") if money else "")

    def _fail(self, error: str) -> None:
        self._show("failed", error, self._again)

    def _show(self, kind: str, label: str, *buttons: widgets.Button) -> None:
        role = "alert" if kind == "failed" else "status"
        said = self.looking.say(kind, what=escape(label))
        spinner = '<span class="pl-spinner" aria-hidden="true"></span>' if kind == "asking" else ""
        self._line.value = f'<div class="pl-line pl-line-{kind}" role="{role}">{spinner}{said}</div>'
        self.children = [self._line, *buttons]


def _way_back() -> Callable[[Callable[[], None]], None]:
    """How a thread hands something to whoever called this: on its event loop, or at once where there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda act: act()
    context = contextvars.copy_context()

    def on_loop(act: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(act, context=context)

    return on_loop
