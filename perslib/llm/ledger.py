"""What the questions cost: calls, cache hits, failures, tokens, seconds and money, per stage and in total."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.llm.types import NOT_IN_CACHE, Answer


@dataclass(frozen=True)
class Spending:
    """Sums over answers. What was read from the cache counts as a hit and costs nothing again."""

    calls: int = 0
    """Questions put to the endpoint."""
    hits: int = 0
    """Questions answered from the cache."""
    unscored: int = 0
    """Answers, of calls and hits, from which the wanted object could not be read."""
    errors: int = 0
    """Other answers, of calls and hits, that cannot be used: refused, cut short, given up."""
    unpriced: int = 0
    """Calls whose price is not known."""
    retries: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    """Time the endpoint took, summed over calls; with many in flight it is more than the clock shows."""
    cost: float | None = 0.0
    """Of the calls that have a price; None when there are calls and none of them has."""

    @classmethod
    def of(cls, answer: Answer) -> Spending:
        """What one answer took."""
        failed = {"unscored": int(answer.mode == "unscored")}
        failed["errors"] = int(answer.error is not None) - failed["unscored"]
        if answer.cached:
            return cls(hits=1, **failed)
        if answer.error == NOT_IN_CACHE:
            return cls(**failed)
        is_unpriced = answer.cost is None and bool(answer.finish or answer.tokens_in + answer.tokens_out)
        return cls(
            calls=1,
            **failed,
            unpriced=int(is_unpriced),
            retries=answer.retries,
            tokens_in=answer.tokens_in,
            tokens_cached=answer.tokens_cached,
            tokens_out=answer.tokens_out,
            seconds=answer.seconds,
            cost=None if is_unpriced else answer.cost or 0.0,
        )

    def __add__(self, other: Spending) -> Spending:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        known = [one.cost for one in (self, other) if one.cost is not None]
        has_price = sums["calls"] > sums["unpriced"] or not sums["calls"]
        return Spending(**sums, cost=sum(known) if has_price else None)


_COUNTS = [field.name for field in fields(Spending) if field.name != "cost"]
_numbers = itertools.count(1)


class Ledger:
    """The spending of each stage, counted as answers come, from any thread.

    Ledgers add up (`earlier + later`) and travel as JSON, so that a resumed run carries its totals on.
    """

    def __init__(self, stages: Mapping[str, Spending] | None = None):
        self.number = next(_numbers)  # tells the ledgers of one process apart
        self._stages = dict(stages or {})
        self._lock = threading.Lock()

    def record(self, stage: str, answer: Answer) -> None:
        """Count one answer."""
        spent = Spending.of(answer)
        with self._lock:
            self._stages[stage] = self._stages.get(stage, Spending()) + spent

    def add(self, other: Ledger) -> None:
        """Count what another ledger counted."""
        with self._lock:
            for stage, spent in other.stages.items():
                self._stages[stage] = self._stages.get(stage, Spending()) + spent

    def stage(self, name: str) -> Spending:
        """What a stage took so far."""
        with self._lock:
            return self._stages.get(name, Spending())

    @property
    def stages(self) -> dict[str, Spending]:
        """All stages, in the order in which they began."""
        with self._lock:
            return dict(self._stages)

    @property
    def total(self) -> Spending:
        """What everything took so far."""
        return sum(self.stages.values(), Spending())

    def table(self) -> pd.DataFrame:
        """One row a stage and a last one for the total; an unknown cost is missing, not 0."""
        rows = {**self.stages, "total": self.total}
        frame = pd.DataFrame([{"stage": name, **asdict(spending)} for name, spending in rows.items()])
        return frame.astype({"stage": "str", "seconds": "float64", "cost": "Float64"})

    def save(self, path: Path | str) -> None:
        """Write the ledger as JSON, in one move: a reader never sees half of it."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_text(json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")
        beside.replace(path)

    @classmethod
    def load(cls, path: Path | str) -> Ledger:
        """A saved ledger; an empty one if there is no such file."""
        path = Path(path)
        return cls.from_dict(json.loads(path.read_text("utf-8"))) if path.is_file() else cls()

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Stage → sums, as plain data."""
        return {name: asdict(spending) for name, spending in self.stages.items()}

    @classmethod
    def from_dict(cls, stages: Mapping[str, Mapping[str, Any]]) -> Ledger:
        """The inverse of `as_dict`; sums it does not know are left out."""
        known = (*_COUNTS, "cost")
        return cls(
            {name: Spending(**{k: v for k, v in sums.items() if k in known}) for name, sums in stages.items()}
        )

    def __add__(self, other: Ledger) -> Ledger:
        stages = self.stages
        for name, spending in other.stages.items():
            stages[name] = stages.get(name, Spending()) + spending
        return Ledger(stages)

    def __repr__(self) -> str:
        return f"Ledger({describe(self.total)})"


def describe(spending: Spending) -> str:
    """One short line: `120 calls, 30 hits, 2 unscored, 51.2k tokens, $0.0312`."""
    counts = [
        f"{getattr(spending, name):,} {name}"
        for name in ("calls", "hits", "unscored", "errors", "retries")
        if name == "calls" or getattr(spending, name)
    ]
    return ", ".join([*counts, f"{short(spending.tokens_in + spending.tokens_out)} tokens", _money(spending)])


def short(count: int) -> str:
    """51234 → 51.2k."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _money(spending: Spending) -> str:
    if spending.cost is None:
        return "unpriced"
    amount = f"${spending.cost:,.2f}" if spending.cost >= 1 or not spending.cost else f"${spending.cost:.2g}"
    return amount + f" and {spending.unpriced:,} unpriced calls" * bool(spending.unpriced)
