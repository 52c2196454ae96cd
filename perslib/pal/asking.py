"""How PAL-Bench asks: what a memory recalls, as prompts show it; a checked answer; and what answers took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from perslib.llm import Answer, Ask, Method
from perslib.llm.types import changed
from perslib.memory.checked import Question, Reading, checked
from perslib.memory.long import LongTermMemory, Piece, Purpose, Session, Store

T = TypeVar("T")
#: What some answers took, as columns.
Spent = dict[str, Any]


async def ask_one(question: Question[Any], ask: Ask) -> Reading[Any]:
    """One question by itself."""
    (reading,) = await checked([question], ask)
    return reading


def error_of(reading: Reading[Any]) -> str | None:
    """Why there is no answer; None where there is one."""
    return "; ".join(reading.faults) if reading.value is None else None


def text_of(key: str) -> Callable[[Any], Reading[str]]:
    """A reader of the text under this key of an answer; an empty one is a fault."""

    def read(data: Any) -> Reading[str]:
        text = data[key].strip()
        return Reading(text) if text else Reading(None, (f"{key} is empty",))

    return read


def spent_on(answers: Sequence[Answer]) -> Spent:
    """What answers took, also those read from the cache: `seconds` one after another, `cost` as priced."""
    tokens = {f"tokens_{name}": sum(getattr(a, f"tokens_{name}") for a in answers) for name in ("in", "cached", "out")}
    costs = [a.cost for a in answers if a.cost is not None]
    seconds = sum((a.seconds for a in answers), 0.0)
    return {"calls": len(answers), **tokens, "seconds": seconds, "cost": sum(costs) if costs else None}


async def counted(method: Method[T], ask: Ask, stage: str | None = None) -> tuple[T, Spent]:
    """What a method returns and what its answers took; its questions under another line of the ledger, if named."""
    heard: list[Answer] = []
    value = await method(changed(ask, hear=heard.extend, stage=stage))
    return value, spent_on(heard)


async def looked_up(
    memory: LongTermMemory, store: Store, session: Session, query: str, purpose: Purpose, ask: Ask
) -> list[Piece]:
    """What a memory recalls; one that has `reflected` may ask a model whether that suffices."""
    if reflected := getattr(memory, "reflected", None):
        pieces: list[Piece] = await reflected(store, session, query, purpose, ask)
        return pieces
    return memory.recall(store, session, query, purpose)


def blocks(pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """Pieces as prompts show them: together by field, fields and pieces in the order they were recalled."""
    fields: dict[str, list[str]] = {}
    for piece in pieces:
        fields.setdefault(piece.field, []).append(piece.text)
    return [{"field": field, "texts": texts} for field, texts in fields.items()]
