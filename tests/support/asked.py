"""A scripted backbone for the explorer: what is begun is answered at once, or when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from scripted import Scripted

from perslib.llm import Answer, Ledger, Method, Request
from perslib.llm.entries import BackboneEntry


def verdict(score: int, rationale: str = "As always.", **further: Any) -> Answer:
    """An answer to a judge's question."""
    reason = "satisfied" if score >= 4 else "unusable"
    data = {"score": score, "reason": reason, "rationale": rationale, **further}
    return Answer(text=str(score), data=data, mode="schema", finish="stop")


class Asked(Scripted):
    """`reply` answers judges; with `waits`, nothing is answered until `answer()`; `down` makes every question fail."""

    def __init__(
        self,
        reply: Callable[[Request], Answer] = lambda request: verdict(4),
        *,
        waits: bool = False,
        down: Exception | None = None,
    ):
        super().__init__(reply=reply)
        self.waits, self.down = waits, down
        self.ledger = Ledger()
        self.entry = BackboneEntry(name="asked")
        self._open: list[tuple[Method[Any], Future[Any]]] = []

    def begin(self, method: Method[Any]) -> Future[Any]:
        """Start on a method, as `Backbone.begin` does."""
        future: Future[Any] = Future()
        self._open.append((method, future))
        if not self.waits:
            self.answer()
        return future

    def answer(self) -> None:
        """Answer all that is open and was not given up."""
        todo, self._open = self._open, []
        for method, future in todo:
            if not future.set_running_or_notify_cancel():
                continue
            if self.down is not None:
                future.set_exception(self.down)
                continue
            try:
                future.set_result(self._worked(method))
            except Exception as error:
                future.set_exception(error)
