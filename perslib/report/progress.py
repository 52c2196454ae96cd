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
from pathlib import Path
from typing import Any

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
        self._latest: dict[str, dict[str, Any]] = {}

    def environment(self) -> dict[str, str]:
        """What the kernel is told: where to write progress."""
        return {FILE_VARIABLE: str(self._file)}

    def cell_started(self, number: int) -> None:
        """A code cell begins; called from the thread that runs the notebook."""
        self._bar.n = number - 1

    def __call__(self) -> None:
        """Read what is new and draw the line again."""
        with suppress(FileNotFoundError), self._file.open("rb") as file:
            file.seek(self._read)
            for line in file.read().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                with suppress(ValueError):
                    said = json.loads(line)
                    self._latest[f"{said.get('backbone')}/{said.get('stage')}"] = said
        if text := self.line():
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.refresh()

    def line(self) -> str:
        """Stage, calls, hits and cost so far, in one line."""
        return ""

    def ledger(self) -> dict[str, Any]:
        """Calls, cache hits, tokens, seconds and cost a stage, as the notebook's models recorded them."""
        return {}

    def ended(self, run: Any) -> None:
        """Leave one line on the terminal for this page."""
        self._bar.close()
        how = {"success": "done", "failed": "FAILED", "cancelled": "cancelled"}[run.status]
        print(
            f"{self._name:<16} {self._what:<28} {how} in {took(run.seconds, 'en')}",
            file=sys.stderr,
            flush=True,
        )
