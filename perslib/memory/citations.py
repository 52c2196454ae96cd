"""What a verdict cites, found again: statements of the user's memory, and turns of the user's history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from perslib.corpus import Block
from perslib.memory.base import Statement, UserMemory
from perslib.memory.retrieval import turn_id


@dataclass(frozen=True)
class Citations:
    """A verdict's citations, resolved."""

    statements: tuple[Statement | str, ...]
    """In the order of citing; by its name alone what is neither a statement nor a turn."""
    turns: dict[str, dict[Any, Any]]
    """By their ids, rows of the evidence: the cited ones, and those that cited statements rest on."""


def turns_by_id(block: Block) -> dict[str, dict[Any, Any]]:
    """The rows of a block's evidence by the ids under which they are cited."""
    keys = zip(block.evidence["scenario"], block.evidence["session"], block.evidence["turn"], strict=True)
    return dict(zip((turn_id(*key) for key in keys), block.evidence.to_dict("records"), strict=True))


def resolved(cited: Iterable[str], block: Block, memory: UserMemory | None = None) -> Citations:
    """What these names stand for in the block's evidence and the memory; ids of statements in either case."""
    statements = {s.id: s for s in memory.statements} if memory else {}
    turns = turns_by_id(block)
    said: list[Statement | str] = []
    behind: list[str] = []
    for name in dict.fromkeys(cited):
        if statement := statements.get(name.strip().upper()):
            said.append(statement)
            behind += statement.turns
        elif name in turns:
            behind.append(name)
        else:
            said.append(name)
    return Citations(tuple(said), {name: turns[name] for name in dict.fromkeys(behind) if name in turns})
