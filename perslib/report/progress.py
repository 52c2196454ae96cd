"""What the terminal shows while notebooks run: one line, and one that stays for every page.

The language-model layer, in the notebook's kernel, writes its progress to the file named in
$PERSLIB_PROGRESS_FILE, one JSON object a line; it is read here, outside, so nothing of it can end up on a page.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perslib.llm.ledger import Ledger, describe
from perslib.report.execute import Run
from perslib.report.parameters import read_notebook
from perslib.report.times import took

FILE_VARIABLE = "PERSLIB_PROGRESS_FILE"


class Watch:
    """Shows how a report gets on. `with watch.page(…) as looking:` stands for one notebook run."""

    def __init__(self, pages: int):
        self._pages = pages
        self._at = 0

    @contextmanager
    def page(self, name: str, what: str, notebook: Path) -> Iterator[Looking]:
        """Watch one notebook run."""
        from tqdm import tqdm

        self._at += 1
        cells = sum(c.cell_type == "code" for c in read_notebook(notebook).cells)
        with (
            tempfile.TemporaryDirectory(prefix="perslib-progress-") as folder,
            tqdm(
                total=cells,
                desc=f"{self._at}/{self._pages} {name}",
                bar_format="{desc} |{bar:24}| {n_fmt}/{total_fmt} cells, {elapsed}{postfix}",
                leave=False,
                disable=not sys.stderr.isatty(),
                file=sys.stderr,
            ) as bar,
        ):
            yield Looking(Path(folder) / "progress.jsonl", bar, name, what)


class Looking:
    """One notebook run, looked at a few times a second: the cell it is in, and what its calls cost so far."""

    def __init__(self, file: Path, bar: Any, name: str, what: str):
        self._file, self._bar, self._name, self._what = file, bar, name, what
        self._read = 0
        self._last: dict[str, Any] = {}
        self._stages: dict[tuple[int, str], dict[str, Any]] = {}

    def environment(self) -> dict[str, str]:
        """What the kernel is told: where to write progress."""
        return {FILE_VARIABLE: str(self._file)}

    def cell_started(self, number: int) -> None:
        """A code cell begins; called from the thread that runs the notebook."""
        self._bar.n = number - 1

    def __call__(self) -> None:
        """Read what is new and draw the line again."""
        self._catch_up()
        self._bar.set_postfix_str(self.line(), refresh=False)
        self._bar.refresh()

    def _catch_up(self) -> None:
        """Every line holds the sums of its stage so far, so the last line of a stage is what it took."""
        with suppress(FileNotFoundError), self._file.open("rb") as file:
            file.seek(self._read)
            for line in file.read().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                with suppress(ValueError, KeyError, TypeError):
                    said = json.loads(line)
                    self._stages[said["ledger"], said["stage"]] = self._last = said

    def line(self) -> str:
        """Stage, time left, calls, hits and cost so far, in one line."""
        if not self._last:
            return ""
        done, total, eta = (self._last.get(key) for key in ("done", "total", "eta"))
        stage = f"{self._last['stage']} {done}/{total or '?'}"
        left = f", {eta:,.0f} s left" if eta and done != total else ""
        return f"{stage}{left}; {describe(self._spent().total)}"

    def _spent(self) -> Ledger:
        spent = Ledger()
        for (_, stage), sums in self._stages.items():
            spent += Ledger.from_dict({stage: sums})
        return spent

    def ledger(self) -> dict[str, Any]:
        """Calls, cache hits, tokens, seconds and cost a stage and in total, as the notebook's models counted."""
        self._catch_up()
        spent = self._spent()
        return {"stages": spent.as_dict(), "total": asdict(spent.total)}

    def ended(self, run: Run) -> None:
        """Leave one line on the terminal for this page."""
        self._bar.close()
        how = {"success": "done", "failed": "FAILED", "cancelled": "cancelled"}[run.status]
        spent = self._spent().total
        asked = f", {describe(spent)}" if spent.calls + spent.hits else ""
        line = f"{self._name:<27} {self._what:<28} {how} in {took(run.seconds, 'en')}{asked}"
        print(line, file=sys.stderr, flush=True)
