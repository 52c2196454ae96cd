"""What the terminal shows while notebooks run: a line for the page that runs, and one for every page that has; into a pipe or a
file, a line a minute.

The language-model layer, in the notebook's kernel, writes its progress to the file named in
$PERSLIB_PROGRESS_FILE, one JSON object a line; it is read here, outside, so nothing of it can end up on a page.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perslib.llm.ledger import PROGRESS, Ledger, Spending, describe_spending
from perslib.paths import scratch
from perslib.report.run.execution import Run
from perslib.report.run.plan import Planned, read_notebook
from perslib.report.show.words import format_duration

#: Seconds after which a run that nobody sees a bar of says again how far it is.
EVERY = 60.0


@contextmanager
def watch_run(page: Planned, place: str, stopped: threading.Event) -> Iterator[RunProgress]:
    """Show on the terminal how one notebook run gets on."""
    from tqdm import tqdm

    cells = sum(c.cell_type == "code" for c in read_notebook(page.study.path).cells)
    look = {"bar_format": "{desc} |{bar:24}| {n_fmt}/{total_fmt} cells, {elapsed}{postfix}", "leave": False}
    look |= {"file": sys.stderr, "disable": not sys.stderr.isatty()}
    with scratch("progress") as folder, tqdm(total=cells, desc=f"{place} {page.name}", **look) as bar:
        yield RunProgress(folder / "progress.jsonl", bar, stopped, f"{place} {page.name}")


class RunProgress:
    """One notebook run, a few times a second: the cell it is in, and what its calls cost so far."""

    def __init__(self, file: Path, bar: Any = None, stopped: threading.Event | None = None, title: str = ""):
        self._file, self._bar, self._stopped, self._title = file, bar, stopped, title
        self._begun = self._printed = time.monotonic()
        self._read, self._computing = 0, 0.0
        self._last: dict[str, Any] = {}
        self._stages: dict[tuple[int, str], dict[str, Any]] = {}

    def environment(self) -> dict[str, str]:
        """Return what the kernel is told: where to write progress."""
        return {PROGRESS: str(self._file)}

    def cell_started(self, number: int) -> None:
        """Note that a code cell begins; called from the thread that runs the notebook."""
        self._bar.n = number - 1

    def __call__(self) -> None:
        """Read what is new and draw the line again; KeyboardInterrupt when the run is to stop."""
        if self._stopped and self._stopped.is_set():
            raise KeyboardInterrupt
        self._catch_up()
        self._bar.set_postfix_str(self.line(), refresh=False)
        self._bar.refresh()
        if self._bar.disable and time.monotonic() - self._printed >= EVERY:  # into a pipe or a file
            self._printed = time.monotonic()
            at = f"cell {self._bar.n + 1} of {self._bar.total}, {format_duration(self._printed - self._begun, 'en')} so far"
            print("; ".join(filter(None, (f"{self._title}: {at}", self.line()))), file=sys.stderr, flush=True)

    def _catch_up(self) -> None:
        """Read the lines that are new: each holds the sums of its stage so far, so its last one is what it took."""
        with suppress(FileNotFoundError), self._file.open("rb") as file:
            file.seek(self._read)
            text = file.read()
            text = text[: text.rfind(b"\n") + 1]  # a line that is being written is read next time
            self._read += len(text)
            for line in text.splitlines():
                with suppress(ValueError, KeyError, TypeError):
                    record = json.loads(line)
                    self._computing += record.get("computing", 0.0)
                    self._stages[record["ledger"], record["stage"]] = self._last = record

    def line(self) -> str:
        """Return the stage, time left, calls, hits and cost so far, in one line."""
        if not self._last:
            return ""
        done, total, eta = (self._last.get(key) for key in ("done", "total", "eta"))
        stage = f"{self._last['stage']} {done}/{total or '?'}"
        left = f", {eta:,.0f} s left" if eta and done != total else ""
        return f"{stage}{left}; {describe_spending(self._sum_spending().total)}"

    def _sum_spending(self) -> Ledger:
        return sum((Ledger.from_dict({stage: sums}) for (_, stage), sums in self._stages.items()), Ledger())

    def by_backbone(self) -> dict[str, Spending]:
        """Return what each backbone was asked for."""
        self._catch_up()
        spent: dict[str, Spending] = {}
        for (_, stage), sums in self._stages.items():
            own = Ledger.from_dict({stage: sums}).total
            spent[sums["backbone"]] = spent.get(sums["backbone"], Spending()) + own
        return spent

    def computing(self) -> float:
        """Return seconds of computing that a rehearsal left out."""
        self._catch_up()
        return self._computing

    def ledger(self) -> dict[str, Any]:
        """Return calls, cache hits, tokens, seconds and cost a stage and in total, as the notebook's models counted."""
        self._catch_up()
        spent = self._sum_spending()
        return {"stages": spent.as_dict(), "total": asdict(spent.total)}

    def print_end(self, run: Run, entry: Mapping[str, Any], page: Planned) -> None:
        """Leave one line on the terminal for this page, and where it is."""
        file = page.file()
        self._bar.close()
        how = {"success": "done", "failed": "FAILED", "cancelled": "cancelled"}[run.status]
        spent = self._sum_spending().total
        asked = f", {describe_spending(spent)}" if spent.calls + spent.hits else ""
        if "judgments" in entry:
            unscored = f"{entry['unscored']:,} of {entry['judgments']:,} judgments unscored"
            asked += (
                f"; {unscored}"
                if entry["unscored"] or not spent.unreadable
                else "; the score of every judgment was read"
            )
        where = f"\n    {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}"
        print(
            f"{page.title} {how} in {format_duration(run.seconds, 'en')}{asked}{page.note}{where}",
            file=sys.stderr,
            flush=True,
        )
