"""What every panel is made of: fields, buttons, HTML from a template, and asking a model while the kernel stays free.

The questions run on perslib's own loop; the kernel stays free for the next click. What comes back is handled on the
kernel's loop again, so panels need no locks.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, TypeVar

import ipywidgets as widgets

from perslib.errors import PerslibError
from perslib.explorer.explorer_state import ExplorerState
from perslib.llm import Method, Spending
from perslib.report.show.html import fill
from perslib.text import paragraph, translate, using_language

T = TypeVar("T")
W = TypeVar("W", bound=widgets.Widget)
#: Messages shown before a reply; earlier ones are folded.
WINDOW = 5


def render_macro(part: str, **values: Any) -> str:
    """Return the HTML of a macro of `perslib/report/show/template/explorer.html.j2`."""
    return fill(part, "explorer.html.j2", **values)


def div(kind: str, content: object, role: str = "") -> str:
    """Return the text of one kind: `small`, `empty`, `nowhere` (what is wrong with it), `part` (a heading) …"""
    return render_macro("div", kind=kind, text=str(content), role=role)


def line(text: str, kind: str = "said") -> str:
    """Return what came of an action, as a line that screen readers speak."""
    return render_macro("line", text=text, kind=kind)


def reply_place(session: str, turn: int) -> str:
    """Return where a reply stands in its scenario, in words."""
    return translate("session {session}, reply {turn}", session=session, turn=turn + 1)


def heading(text: str) -> widgets.HTML:
    """Return the heading of a part of a panel; translated here."""
    return widgets.HTML(f"<h3 class='pl-h'>{translate(text)}</h3>")


def bar(*children: widgets.Widget) -> widgets.HBox:
    """Return widgets in a row that wraps."""
    return widgets.HBox(children).add_class("pl-bar")


def columns(left: list[widgets.Widget], right: list[widgets.Widget]) -> widgets.HBox:
    """Return a panel in two columns, one under the other on a narrow screen."""
    both = [widgets.VBox(left).add_class("pl-left"), widgets.VBox(right).add_class("pl-right")]
    return widgets.HBox(both).add_class("pl-columns")


def make_field(kind: Callable[..., W], label: str = "", hint: str = "", width: str = "", **further: Any) -> W:
    """Return a field with its whole description; texts are translated here. The `width` is one of CSS."""
    texts = {name: translate(text) for name, text in (("description", label), ("placeholder", hint)) if text}
    layout = {"width": width} if width else {}
    return kind(**texts, style={"description_width": "initial"}, layout=layout, **further)


def button(
    state: ExplorerState, label: str, act: Callable[[], object], icon: str = "", tip: str = "", **further: Any
) -> widgets.Button:
    """Return a button as wide as its label, with texts translated here; its errors are shown at the top."""
    texts = {name: translate(text) for name, text in (("description", label), ("tooltip", tip)) if text}
    made = widgets.Button(**texts, icon=icon, layout={"width": "auto"}, **further)
    made.on_click(state.report_errors(lambda _: act()))
    return made


def watch(state: ExplorerState, field: widgets.Widget, act: Callable[[Any], object]) -> None:
    """Do something with every value that a person gives a field; errors are shown at the top."""
    reporting = state.report_errors(lambda change: act(change["new"]))
    field.observe(lambda change: None if state.is_filling else reporting(change), "value")


def failure(error: Exception | str) -> str:
    """Return what went wrong, as a sentence: our own errors say it themselves, others by their kind too."""
    what = str(error) if isinstance(error, (PerslibError, str)) else repr(error)
    return translate("This did not work: {what}", what=what)


class RequestStatus(widgets.HBox):
    """One line of the interface: nothing while nothing is asked, else what is asked and how to stop it."""

    def __init__(self, state: ExplorerState):
        self.state, self.busy = state, False
        self._line = widgets.HTML(layout={"flex": "1 1 auto"})
        self._cancel = button(state, "Stop", self.cancel, "times")
        self._again = button(state, "Try again", lambda: self._retry(), "refresh")
        self._retry: Callable[[], object] = lambda: None
        self._future: Future[Any] | None = None
        super().__init__([self._line])
        self.add_class("pl-asking")

    def start(self, method: Method[T], done: Callable[[T], None], label: str, asks: bool = True) -> Future[T] | None:
        """Start the method and hand its result to `done`; what was asked before is given up.

        `label` says what is done, in the researcher's words. What asks no model says nothing of its cost. Returns the work,
        for whoever goes on from there.
        """
        self.cancel()
        self.busy = True
        self._retry = lambda: self.start(method, done, label, asks)
        self._show("asking", label)
        begun, before, back = time.monotonic(), self._sum_spending(), _way_back()
        try:
            self._future = future = self.state.backbone.begin(method)
        except PerslibError as error:
            self.fail(error)
            return None

        def finish() -> None:
            with using_language(self.state.language):
                if future is self._future:  # neither cancelled nor asked anew meanwhile
                    self._finish(future, done, lambda: self._cost(before, time.monotonic() - begun) if asks else "")

        future.add_done_callback(lambda _: back(finish))
        return future

    def cancel(self) -> None:
        """Give up what is under way; answers that have come are in the cache."""
        future, self._future = self._future, None
        if self.busy and future is not None:
            future.cancel()
            self._show("cancelled", _make_stop_note())
        self.busy = False

    def clear(self) -> None:
        """Give up what is under way and say nothing of it."""
        self.cancel()
        self._line.value = ""
        self.children = [self._line]

    def fail(self, error: Exception | str) -> None:
        """Say what went wrong, in place."""
        self.busy = False
        self._show("failed", failure(error))

    def _finish(self, future: Future[T], done: Callable[[T], None], cost: Callable[[], str]) -> None:
        try:
            done(future.result())
            what = cost()
            kind, message = "asked", translate("Done: {what}", what=what) if what else ""
        except CancelledError:
            kind, message = "cancelled", _make_stop_note()
        except Exception as error:  # whatever it is, the researcher reads it here and can try again
            kind, message = "failed", failure(error)
        if future is self._future:  # what was done has not asked anew
            self._show(kind, message)
            self._future, self.busy = None, False

    def _sum_spending(self) -> Spending:
        return self.state.backbone.ledger.total

    def _cost(self, before: Spending, seconds: float) -> str:
        now = self._sum_spending()
        calls = now.calls - before.calls
        if not calls:
            return translate("answer from the cache, no call (no cost)")
        cost = translate(
            "calls: {calls}, tokens: {tokens:,} ({cached:,} of them from the model's prefix cache), {seconds:.1f} s.",
            calls=calls,
            tokens=now.tokens_in + now.tokens_out - before.tokens_in - before.tokens_out,
            cached=now.tokens_cached - before.tokens_cached,
            seconds=seconds,
        )
        money = None if now.cost is None or before.cost is None else now.cost - before.cost
        return paragraph(cost, translate("Cost: {money:.4f}.", money=money) if money else "")

    def _show(self, kind: str, message: str) -> None:
        self._line.value = line(message, kind) if message else ""
        buttons = {"asking": [self._cancel], "asked": []}.get(kind, [self._again])
        self.children = [self._line, *buttons]


def _make_stop_note() -> str:
    return translate("Stopped. Answers received so far are kept.")


def _way_back() -> Callable[[Callable[[], None]], None]:
    """Return how a thread hands something to whoever called this: on its event loop, or at once where there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda act: act()
    context = contextvars.copy_context()

    def on_loop(act: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(act, context=context)

    return on_loop


class JudgeButtons(widgets.VBox):
    """A panel with two buttons that ask the judge; what it said is shown until something else is open."""

    def __init__(self, state: ExplorerState):
        self.state, self.asking, self.shown = state, RequestStatus(state), widgets.HTML()
        score, write = partial(self.ask, written=False), partial(self.ask, written=True)
        self.score = button(state, "Score only", score, "tachometer", "the score alone, one token")
        self.write = button(state, "Score with reasons", write, "pencil", "score, reason, evidence, rationale")
        super().__init__()

    def ask(self, *, written: bool) -> None:
        """Ask the judge, for scores alone or with what it writes about them."""
        raise NotImplementedError

    def clear(self, change: Any = None) -> None:
        """Show nothing, and give up what is under way."""
        self.asking.clear()
        self.shown.value = ""
