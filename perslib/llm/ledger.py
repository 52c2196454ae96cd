"""What the questions cost (calls, cache hits, failures, tokens, seconds, money), and how far a run has got.

Costs are kept per stage and in total. Progress is shown as a bar in a terminal, a widget in a notebook, a line, a file,
or not at all: `PERSLIB_PROGRESS` is `0` for silence or `plain` for one status line on the error stream. With
`PERSLIB_PROGRESS_FILE` nothing is printed; JSON lines are appended to that file for whoever runs the notebook:
ledger, backbone, stage, done, total, eta (seconds), and the sums of `Spending` for the stage so far.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from perslib.llm.request import NOT_IN_CACHE, Answer
from perslib.text import show_hidden

PROGRESS = "PERSLIB_PROGRESS_FILE"
LONGEST_FAULT = 120
"""Characters shown of what was wrong with an answer."""


@dataclass(frozen=True)
class Spending:
    """Sums over answers. What was read from the cache counts as a hit and costs nothing again."""

    calls: int = 0
    """Requests to the endpoint that brought a reply, or in the end none; a question that was put once more is two."""
    hits: int = 0
    """Questions answered from the cache."""
    unreadable: int = 0
    """Answers, of calls and hits, that are not the wanted object; a judge may still read the score in one."""
    fault: str = ""
    """What was wrong with the first of them."""
    errors: int = 0
    """Other answers, of calls and hits, that cannot be used: refused, cut short, given up."""
    unpriced: int = 0
    """Calls whose price is not known."""
    retries: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    tokens_thought: int = 0
    seconds: float = 0.0
    """Time the endpoint took, summed over calls; with many in flight it is more than the clock shows."""
    cost: float | None = 0.0
    """Of the calls that have a price; None when there are calls and none of them has."""

    @classmethod
    def of(cls, answer: Answer) -> Spending:
        """Return what one answer took."""
        unreadable = int(answer.mode == "unscored" and not answer.is_made_up)
        failed: dict[str, Any] = {"unreadable": unreadable, "errors": int(answer.error is not None) - unreadable}
        failed |= {"fault": (answer.error or "") if unreadable else ""}
        if answer.cached or answer.error == NOT_IN_CACHE:
            return cls(hits=int(answer.cached), **failed)
        is_unpriced = answer.cost is None and bool(answer.finish or answer.tokens_in + answer.tokens_out)
        taken = {name: getattr(answer, name) for name in _TAKEN}
        cost = None if is_unpriced else answer.cost or 0.0
        return cls(calls=answer.calls, unpriced=int(is_unpriced), cost=cost, **failed, **taken)

    def __add__(self, other: Spending) -> Spending:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        known = [one.cost for one in (self, other) if one.cost is not None]
        has_price = sums["calls"] > sums["unpriced"] or not sums["calls"]
        return Spending(**sums, cost=sum(known) if has_price else None, fault=self.fault or other.fault)


_TAKEN = (
    "retries",
    "tokens_in",
    "tokens_cached",
    "tokens_out",
    "tokens_thought",
    "seconds",
)  # as answers name them too
_COUNTS = [field.name for field in fields(Spending) if field.name not in ("cost", "fault")]
_numbers = itertools.count(1)


class Ledger:
    """The spending of each stage, counted as answers come, from any thread.

    Ledgers add up (`earlier + later`) and travel as plain data.
    """

    def __init__(self, stages: Mapping[str, Spending] | None = None):
        self.number = next(_numbers)  # tells the ledgers of one process apart
        self._stages = dict(stages or {})
        self._lock = threading.Lock()

    def record(self, stage: str, answer: Answer) -> None:
        """Count one answer."""
        self._count({stage: Spending.of(answer)})

    def add(self, other: Ledger) -> None:
        """Count what another ledger counted."""
        self._count(other.stages)

    def _count(self, stages: Mapping[str, Spending]) -> None:
        with self._lock:
            for stage, spent in stages.items():
                self._stages[stage] = self._stages.get(stage, Spending()) + spent

    def multiply(self, factor: float, before: Mapping[str, Spending]) -> None:
        """Count what came after `before` this many times."""
        with self._lock:
            for stage, now in self._stages.items():
                then = before.get(stage, Spending())
                grown = {
                    name: type(getattr(now, name))(round(a + factor * (getattr(now, name) - a), 9))
                    for name in _COUNTS
                    for a in [getattr(then, name)]
                }
                cost = None if now.cost is None else (then.cost or 0) + factor * (now.cost - (then.cost or 0))
                self._stages[stage] = replace(now, **grown, cost=cost)

    def stage(self, name: str) -> Spending:
        """Return what a stage took so far."""
        return self.stages.get(name, Spending())

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
        """Return one row a stage and a last one for the total; an unknown cost is missing, not 0."""
        rows = {**self.stages, "total": self.total}
        frame = pd.DataFrame([{"stage": name, **asdict(spending)} for name, spending in rows.items()]).drop(
            columns="fault"
        )
        return frame.astype({"stage": "str", "seconds": "float64", "cost": "Float64"})

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the stage → sums, as plain data."""
        return {name: asdict(spending) for name, spending in self.stages.items()}

    @classmethod
    def from_dict(cls, stages: Mapping[str, Mapping[str, Any]]) -> Ledger:
        """Return the inverse of `as_dict`; sums it does not know are left out."""
        known = {"cost", "fault", *_COUNTS}
        return cls({name: Spending(**{k: s[k] for k in known & s.keys()}) for name, s in stages.items()})

    def __add__(self, other: Ledger) -> Ledger:
        both = Ledger(self.stages)
        both.add(other)
        return both

    def __repr__(self) -> str:
        return f"Ledger({describe_spending(self.total)})"


def describe_spending(spending: Spending) -> str:
    """Return one short line: `120 calls, 30 hits, 2 not as asked for (the first: …), 51.2k tokens, $0.0312`."""
    first = f" (the first: {show_hidden(spending.fault[:LONGEST_FAULT])})" if spending.fault else ""
    names = {"hits": "hits", "unreadable": f"not as asked for{first}", "errors": "errors", "retries": "retries"}
    counts = [f"{getattr(spending, name):,} {words}" for name, words in names.items() if getattr(spending, name)]
    cost = "unpriced"
    if spending.cost is not None:
        is_small = 0 < spending.cost < 1
        cost = f"${spending.cost:.2g}" if is_small else f"${spending.cost:,.2f}"
        cost += f" and {spending.unpriced:,} unpriced calls" * bool(spending.unpriced)
    tokens = _short(spending.tokens_in + spending.tokens_out)
    return ", ".join([f"{spending.calls:,} calls", *counts, f"{tokens} tokens", cost])


def _short(count: int) -> str:
    """Return 51234 → 51.2k."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


_EVERY = {"bar": 0.1, "plain": 2.0, "file": 0.5, "": math.inf}  # seconds between two reports
_TERMINAL = 0.2  # a terminal's status line is overwritten in place, so it may be quicker


class StageProgress:
    """Counts the answers of one stage and shows how it gets on; `step` may be called from any thread.

    `enabled=False` shows nothing; the file is written all the same.
    """

    def __init__(self, total: int | None, stage: str, ledger: Ledger, *, enabled: bool = True):
        self.total, self.stage, self.ledger = total, stage, ledger
        self.done = self._called = 0
        self._backbone = ""
        self._lock = threading.Lock()
        self._bar: Any = None
        self._file = os.environ.get(PROGRESS, "")
        asked = os.environ.get("PERSLIB_PROGRESS", "").strip().lower()
        shown = "" if not enabled or asked in ("0", "off", "no", "false") else "bar"
        self._way = "file" if self._file else "plain" if shown and asked == "plain" else shown

    def __enter__(self) -> StageProgress:
        if self._way == "bar":
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self.total, desc=self.stage, unit="", mininterval=_EVERY["bar"])
        self._started = self._shown_at = time.monotonic()
        if self._way == "file":
            self._write()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._show(at_the_end=True)
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def step(self, answer: Answer) -> None:
        """Count one answer, which the ledger has counted before."""
        self._backbone = answer.backbone or self._backbone
        self.move(1, int(not answer.cached))

    def move(self, done: int, called: int) -> None:
        """Count things that are done, and of these the calls."""
        with self._lock:
            self.done += done
            self._called += called
            if self._bar is not None:
                self._bar.update(done)
            is_terminal = self._way == "plain" and sys.stderr.isatty()
            if time.monotonic() - self._shown_at >= (_TERMINAL if is_terminal else _EVERY[self._way]):
                self._show()

    @property
    def eta(self) -> float | None:
        """Seconds left, if what is left must be asked for and takes as long as what was asked so far."""
        if self.total is None or not self.done:
            return None
        left = self.total - self.done
        return left * (time.monotonic() - self._started) / (self._called or self.done)

    def _show(self, *, at_the_end: bool = False) -> None:
        self._shown_at = time.monotonic()
        if self._way == "file":
            self._write()
        elif self._way == "plain":
            self._print(at_the_end)
        elif self._bar is not None:
            self._bar.set_postfix_str(describe_spending(self.ledger.stage(self.stage)), refresh=at_the_end)

    def _print(self, at_the_end: bool) -> None:
        total = "?" if self.total is None else f"{self.total:,}"
        left = "" if at_the_end or self.eta is None else f", {self.eta:,.0f} s left"
        line = f"{self.stage} {self.done:,}/{total}: {describe_spending(self.ledger.stage(self.stage))}{left}"
        is_terminal = sys.stderr.isatty()
        line = f"\r{line}\x1b[K" if is_terminal else line
        print(line, end="\n" if at_the_end or not is_terminal else "", file=sys.stderr, flush=True)

    def _write(self) -> None:
        """Append one line in one write, so that runs side by side do not mix theirs."""
        eta = self.eta
        report = {
            "ledger": self.ledger.number,
            "backbone": self._backbone,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "eta": None if eta is None else round(eta, 1),
            **asdict(self.ledger.stage(self.stage)),
        }
        # The run is worth more than the report of it: a file that is gone or full stops nothing.
        with contextlib.suppress(OSError), Path(self._file).open("ab", 0) as file:
            file.write(json.dumps(report).encode() + b"\n")


def note_computing(seconds: float) -> None:
    """Tell whoever runs this notebook as a dry run that the run itself will compute for so long."""
    if file := os.environ.get(PROGRESS):
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"computing": seconds}) + "\n")


class ProgressByStage:
    """The progress of work in several stages, each shown from its first answer on."""

    def __init__(self, ledger: Ledger, totals: Mapping[str, int] | None = None, *, enabled: bool = True):
        self.ledger, self.totals, self.enabled = ledger, dict(totals or {}), enabled
        self._shown: dict[str, StageProgress] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> ProgressByStage:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def step(self, stage: str, answer: Answer) -> None:
        """Count one answer of a stage, which the ledger has counted before."""
        if stage not in self._shown:
            shown = StageProgress(self.totals.get(stage), stage, self.ledger, enabled=self.enabled)
            self._shown[stage] = self._open.enter_context(shown)
        self._shown[stage].step(answer)
