"""How far a run has got: a bar in a terminal, a widget in a notebook, a line, a file, or nothing.

`PERSLIB_PROGRESS` is `0` for silence or `plain` for one status line on the error stream. With
`PERSLIB_PROGRESS_FILE` nothing is printed; JSON lines are appended to that file for whoever runs the notebook:
ledger, backbone, stage, done, total, eta (seconds), and the sums of `Spending` for the stage so far.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perslib.llm.ledger import Ledger, describe
from perslib.llm.types import Answer

_EVERY = {"bar": 0.1, "plain": 2.0, "file": 0.5}  # seconds between two reports
_TERMINAL = 0.2  # a terminal's status line is overwritten in place, so it may be quicker


class Progress:
    """Counts the answers of one stage and shows how it gets on; `step` may be called from any thread.

    `enabled=False` shows nothing; the file is written all the same.
    """

    def __init__(self, total: int | None, stage: str, ledger: Ledger, *, enabled: bool = True):
        self.total, self.stage, self.ledger, self.enabled = total, stage, ledger, enabled
        self.done = self._called = 0
        self._backbone = ""
        self._lock = threading.Lock()
        self._file: Path | None = None
        self._bar: Any = None
        self._is_plain = False

    def __enter__(self) -> Progress:
        wanted = os.environ.get("PERSLIB_PROGRESS", "").strip().lower()
        if file := os.environ.get("PERSLIB_PROGRESS_FILE"):
            self._file = Path(file)
        elif self.enabled and wanted == "plain":
            self._is_plain = True
        elif self.enabled and wanted not in ("0", "off", "no", "false"):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self.total, desc=self.stage, unit="", mininterval=_EVERY["bar"])
        self._started = self._told = time.monotonic()
        if self._file:
            self._write(self._file)
        return self

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
            if self._is_due():
                self._tell()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._tell(at_the_end=True)
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    @property
    def eta(self) -> float | None:
        """Seconds left, if what is left must be asked for and takes as long as what was asked so far."""
        if self.total is None or not self.done:
            return None
        left = self.total - self.done
        return left * (time.monotonic() - self._started) / (self._called or self.done)

    def _is_due(self) -> bool:
        every = _EVERY["file" if self._file else "plain" if self._is_plain else "bar"]
        if self._is_plain and sys.stderr.isatty():
            every = _TERMINAL
        return time.monotonic() - self._told >= every

    def _tell(self, *, at_the_end: bool = False) -> None:
        self._told = time.monotonic()
        if self._file:
            self._write(self._file)
        elif self._is_plain:
            self._print(at_the_end)
        elif self._bar is not None:
            self._bar.set_postfix_str(describe(self.ledger.stage(self.stage)), refresh=at_the_end)

    def _print(self, at_the_end: bool) -> None:
        total = "?" if self.total is None else f"{self.total:,}"
        left = "" if at_the_end or self.eta is None else f", {self.eta:,.0f} s left"
        line = f"{self.stage} {self.done:,}/{total}: {describe(self.ledger.stage(self.stage))}{left}"
        if sys.stderr.isatty():
            line = f"\r{line}\x1b[K"
        print(line, end="\n" if at_the_end or not sys.stderr.isatty() else "", file=sys.stderr, flush=True)

    def _write(self, file: Path) -> None:
        """Append one line in one write, so that runs side by side do not mix theirs."""
        eta = self.eta
        said = {
            "ledger": self.ledger.number,
            "backbone": self._backbone,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "eta": None if eta is None else round(eta, 1),
            **asdict(self.ledger.stage(self.stage)),
        }
        # The run is worth more than the report of it: a file that is gone or full stops nothing.
        with contextlib.suppress(OSError):
            handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, json.dumps(said).encode() + b"\n")
            finally:
                os.close(handle)


class Stages:
    """The progress of work in several stages, each shown from its first answer on."""

    def __init__(self, ledger: Ledger, totals: Mapping[str, int] | None = None, *, enabled: bool = True):
        self.ledger, self.totals, self.enabled = ledger, dict(totals or {}), enabled
        self._shown: dict[str, Progress] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def step(self, stage: str, answer: Answer) -> None:
        """Count one answer of a stage, which the ledger has counted before."""
        if stage not in self._shown:
            shown = Progress(self.totals.get(stage), stage, self.ledger, enabled=self.enabled)
            self._shown[stage] = self._open.enter_context(shown)
        self._shown[stage].step(answer)
