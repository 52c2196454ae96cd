"""The stages of a construction as they are worked off: counted, and written to a folder when they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from perslib.errors import DataError, Problem
from perslib.llm import Backbone, Steps
from perslib.ux.construct.rules import Rejection, plain, readable

T = TypeVar("T")
X = TypeVar("X")
#: What a stage keeps of an item, and what it rejects of it.
Sifted = tuple[list[T], list[Rejection]]


@dataclass
class Stages:
    """Works the stages off, keeps count, and writes them down."""

    folder: Path | None
    progress: bool
    cap: float | None
    rejects: list[Rejection] = field(default_factory=list)
    funnel: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.folder is not None:
            if self.folder.exists() and not self.folder.is_dir():
                raise DataError(Problem(str(self.folder), "is a file, expected a folder"))
            self.folder.mkdir(parents=True, exist_ok=True)

    def map(
        self, stage: str, model: Backbone, method: Callable[[X], Steps[T]], items: Sequence[X]
    ) -> list[T]:
        """What the method returns for each item; on a cluster, where the model has a scheduler."""
        totals = {f"ux {stage}": len(items)}
        return model.map(method, items, progress=self.progress, totals=totals, cap=self.cap)

    def staged(
        self, stage: str, model: Backbone, method: Callable[[X], Steps[Sifted[T]]], items: Sequence[X]
    ) -> list[list[T]]:
        """What a stage leaves of each item; its method returns what it keeps and what it rejects."""
        given = self.map(stage, model, method, items)
        why = [one for _, rejected in given for one in rejected]
        left = [kept for kept, _ in given]
        count = sum(map(len, left))
        self.end(stage, count + len(why), count, why)
        self.write({"mine": "2_mined", "grade": "3_graded"}[stage], [one for kept in left for one in kept])
        return left

    def end(self, stage: str, came: int, left: int, why: Iterable[Rejection]) -> None:
        """Put a stage on record."""
        why = [one._replace(detail=readable(one.detail)) for one in why]
        self.rejects += why
        self.funnel.append({"stage": stage, "in": came, "left": left, "rejected": len(why)})

    def write(self, name: str, rows: Iterable[Any]) -> None:
        """One file a stage, a line each."""
        if self.folder is not None:
            lines = (json.dumps(plain(row), ensure_ascii=False) for row in rows)
            text = "".join(f"{line}\n" for line in lines)
            (self.folder / f"{name}.jsonl").write_text(text, encoding="utf-8", errors="replace")
