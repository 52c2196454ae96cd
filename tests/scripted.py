"""A backbone that says what a test wants, without a server: for methods in steps that are worked on by `work`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from perslib.llm import Answer, Request, Steps

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

    def work(self, methods: Iterable[Steps[Any]], **settings: Any) -> list[Any]:
        """One method after another."""
        return [self._worked(steps) for steps in methods]

    def map(self, method: Any, items: Iterable[Any], **settings: Any) -> list[Any]:
        """`work` on the method of each item."""
        return self.work(map(method, items), **settings)

    def each(self, method: Any, items: Any, sink: Any, **settings: Any) -> None:
        """`map`, handed on one by one."""
        for found in self.map(method, items, **settings):
            sink(found)

    def _worked(self, steps: Steps[Any]) -> Any:
        try:
            ask = next(steps)
            while True:
                self.asked += [(ask.stage, request) for request in ask.requests]
                given = [self.memory if ask.stage == "memory" else self.reply(r) for r in ask.requests]
                ask = steps.send(given)
        except StopIteration as end:
            return end.value
