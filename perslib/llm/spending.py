"""What a run spends: every answer goes into the ledger, and a cap ends the run before it is passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from perslib.errors import BackboneError, BudgetReached
from perslib.llm.entries import BackboneEntry
from perslib.llm.ledger import Ledger
from perslib.llm.request import Answer, Request
from perslib.llm.tokens import USUAL_REPLY, tokens_of_messages


@dataclass
class Account:
    """One run's ledger and cap; `step` is called with the stage and each answer as it comes."""

    entry: BackboneEntry
    ledger: Ledger
    step: Callable[[str, Answer], object]
    cap: float | None = None

    def __post_init__(self) -> None:
        if self.cap is not None and self.entry.prices is None:
            raise BackboneError(
                f"Backbone {self.entry.name!r} has no prices, so a spending cap cannot be kept: add prices to "
                "its entry in backbones.toml, or leave the cap out.",
                backbone=self.entry.name,
            )
        self._spent_before, self._ended = self._sum_cost(), 0
        self._under_way: list[float] = []
        self._one_ended = asyncio.Event()

    def count(self, answer: Answer, stage: str) -> Answer:
        """Count an answer; what a dry run gave before is neither asked again nor an answer that the cache has."""
        if not (answer.is_made_up and answer.cached):
            self.ledger.record(stage, answer)
        self.step(stage, answer)
        return answer

    @contextmanager
    def holding(self, request: Request) -> Iterator[None]:
        """Hold back what a call may cost while it is under way."""
        at_most = 0.0
        if self.cap is not None:
            tokens = tokens_of_messages(request.messages)
            at_most = self.entry.cost(tokens, 0, request.max_tokens or USUAL_REPLY) or 0.0
        self._under_way.append(at_most)
        try:
            yield
            self._ended += 1
        finally:
            self._under_way.remove(at_most)
            self._one_ended.set()

    def check_is_priced(self, answer: Answer) -> None:
        """Refuse to go on under a cap when an endpoint does not say what a call took."""
        if self.cap is not None and answer.cost is None and answer.finish:
            raise BackboneError(
                f"Backbone {self.entry.name!r} does not say how many tokens a call took, so a spending cap cannot be "
                "kept. What was answered is in the cache; run again without the cap.",
                backbone=self.entry.name,
            )

    async def is_spent(self) -> bool:
        """Return whether the cap is reached; where only calls under way may reach it, wait and see."""
        while self.cap is not None and self._sum_cost() + self._cost_under_way() >= self.cap:
            if not self._under_way:
                return True
            self._one_ended.clear()
            await self._one_ended.wait()
        return False

    def make_budget_error(self, answered: int, wanted: int) -> BudgetReached:
        """Return the error that ends a run at its cap."""
        return BudgetReached(
            f"Stopped at the spending cap of ${self.cap:,.2f}: ${self._sum_cost():,.2f} spent, {answered:,} of "
            f"{wanted:,} requests answered. The answers are in the cache; the same run with a higher cap goes on.",
            backbone=self.entry.name,
        )

    def _sum_cost(self) -> float:
        return self.ledger.total.cost or 0.0

    def _cost_under_way(self) -> float:
        """Return calls under way count with the mean cost of those that ended, and before one has, with what they may
        cost.
        """
        if self._ended:
            return len(self._under_way) * (self._sum_cost() - self._spent_before) / self._ended
        return sum(self._under_way)
