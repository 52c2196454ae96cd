"""How PAL-Bench puts its questions, and what they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from perslib.llm import Answer, Ask, Request, Steps
from perslib.llm.paced import through
from perslib.memory.long import LongTermMemory, Piece, Purpose, Session, Store
from perslib.prompts import prompt

T = TypeVar("T")


@dataclass(frozen=True)
class Form:
    """Language of the prompts, temperature (None: as the prompt says, 0.7 and 0 for judges) and seed."""

    language: str = "en"
    temperature: float | None = None
    seed: int | None = 42
    prompts: str | Path | None = None
    """A folder with prompts of one's own."""

    def request(self, name: str, **fields: Any) -> Request:
        """The question of this prompt."""
        request = prompt(name, self.language, self.prompts).render(**fields)
        temperature = request.temperature if self.temperature is None else self.temperature
        return replace(request, temperature=temperature, seed=self.seed)


@dataclass(frozen=True)
class Spent:
    """What some answers took, also those read from the cache: `seconds` one after another, `cost` as priced."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost: float | None = None

    def and_for(self, answers: Sequence[Answer]) -> Spent:
        """With further answers."""
        costs = [c for c in (self.cost, *(a.cost for a in answers)) if c is not None]
        return Spent(
            self.calls + len(answers),
            self.tokens_in + sum(a.tokens_in for a in answers),
            self.tokens_cached + sum(a.tokens_cached for a in answers),
            self.tokens_out + sum(a.tokens_out for a in answers),
            self.seconds + sum(a.seconds for a in answers),
            sum(costs) if costs else None,
        )

    def row(self) -> dict[str, Any]:
        """As columns."""
        return asdict(self)


def counted(steps: Steps[T], stage: str | None = None) -> Steps[tuple[T, Spent]]:
    """What a method returns and what its answers took; its questions under another line of the ledger, if named."""
    heard: list[Answer] = []
    value = yield from through(
        steps, lambda ask: ask if stage is None else Ask(ask.requests, stage), heard.extend
    )
    return value, Spent().and_for(heard)


@runtime_checkable
class Reflects(Protocol):
    """A memory that may ask a model whether what it found suffices."""

    def reflected(self, store: Store, session: Session, query: str, purpose: Purpose) -> Steps[list[Piece]]:
        """What is recalled in the end."""
        ...


@runtime_checkable
class Strengthens(Protocol):
    """A memory that keeps better what was recalled."""

    def recalled(self, store: Store, pieces: Sequence[Piece], at: str) -> Store:
        """The memory once these pieces were recalled."""
        ...


def looked_up(
    memory: LongTermMemory, store: Store, session: Session, query: str, purpose: Purpose
) -> Steps[list[Piece]]:
    """What a memory recalls, with the reflection of those that reflect."""
    if isinstance(memory, Reflects):
        return (yield from memory.reflected(store, session, query, purpose))
    return memory.recall(store, session, query, purpose)


def blocks(pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """Pieces as prompts show them: together by field, fields and pieces in the order they were recalled."""
    fields: dict[str, list[str]] = {}
    for piece in pieces:
        fields.setdefault(piece.field, []).append(piece.text)
    return [{"field": field, "texts": texts} for field, texts in fields.items()]
