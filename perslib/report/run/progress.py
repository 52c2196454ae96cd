"""What the terminal shows before notebooks run and while they do: what will be asked, one line, and one for every page.

The language-model layer, in the notebook's kernel, writes its progress to the file named in
$PERSLIB_PROGRESS_FILE, one JSON object a line; it is read here, outside, so nothing of it can end up on a page.

What a page will ask for is said before its first call: its notebook is run with stand-ins for models. The cells tagged
`asks` are enough for it, where a notebook has any; of others all cells run, which takes as long as the page itself
without its calls.
"""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from perslib.llm.answerers.choice import run_environment
from perslib.llm.entries import NO_MODEL, entries
from perslib.llm.ledger import PROGRESS, Ledger, Spending, describe
from perslib.llm.probe import seconds
from perslib.paths import scratch
from perslib.report.run.execution import Run, execute
from perslib.report.run.plan import Planned, read_notebook
from perslib.report.show.words import took


@contextmanager
def watched(page: Planned, place: str, stopped: threading.Event) -> Iterator[Progress]:
    """Show on the terminal how one notebook run gets on."""
    from tqdm import tqdm

    cells = sum(c.cell_type == "code" for c in read_notebook(page.study.path).cells)
    look = {"bar_format": "{desc} |{bar:24}| {n_fmt}/{total_fmt} cells, {elapsed}{postfix}", "leave": False}
    look |= {"file": sys.stderr, "disable": not sys.stderr.isatty()}
    with scratch("progress") as folder, tqdm(total=cells, desc=f"{place} {page.name}", **look) as bar:
        yield Progress(folder / "progress.jsonl", bar, stopped)


class Progress:
    """One notebook run, a few times a second: the cell it is in, and what its calls cost so far."""

    def __init__(self, file: Path, bar: Any = None, stopped: threading.Event | None = None):
        self._file, self._bar, self._stopped = file, bar, stopped
        self._read, self._computing = 0, 0.0
        self._last: dict[str, Any] = {}
        self._stages: dict[tuple[int, str], dict[str, Any]] = {}

    def environment(self) -> dict[str, str]:
        """What the kernel is told: where to write progress."""
        return {PROGRESS: str(self._file)}

    def cell_started(self, number: int) -> None:
        """A code cell begins; called from the thread that runs the notebook."""
        self._bar.n = number - 1

    def __call__(self) -> None:
        """Read what is new and draw the line again; KeyboardInterrupt when the run is to stop."""
        if self._stopped and self._stopped.is_set():
            raise KeyboardInterrupt
        self._catch_up()
        self._bar.set_postfix_str(self.line(), refresh=False)
        self._bar.refresh()

    def _catch_up(self) -> None:
        """Every line holds the sums of its stage so far, so the last line of a stage is what it took."""
        with suppress(FileNotFoundError), self._file.open("rb") as file:
            file.seek(self._read)
            text = file.read()
            text = text[: text.rfind(b"\n") + 1]  # a line that is being written is read next time
            self._read += len(text)
            for line in text.splitlines():
                with suppress(ValueError, KeyError, TypeError):
                    said = json.loads(line)
                    self._computing += said.get("computing", 0.0)
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
        return sum((Ledger.from_dict({stage: sums}) for (_, stage), sums in self._stages.items()), Ledger())

    def by_backbone(self) -> dict[str, Spending]:
        """What each backbone was asked for."""
        self._catch_up()
        spent: dict[str, Spending] = {}
        for (_, stage), sums in self._stages.items():
            own = Ledger.from_dict({stage: sums}).total
            spent[sums["backbone"]] = spent.get(sums["backbone"], Spending()) + own
        return spent

    def computing(self) -> float:
        """Seconds of computing that a rehearsal left out."""
        self._catch_up()
        return self._computing

    def ledger(self) -> dict[str, Any]:
        """Calls, cache hits, tokens, seconds and cost a stage and in total, as the notebook's models counted."""
        self._catch_up()
        spent = self._spent()
        return {"stages": spent.as_dict(), "total": asdict(spent.total)}

    def ended(self, run: Run, entry: Mapping[str, Any], page: Planned) -> None:
        """Leave one line on the terminal for this page, and where it is."""
        file = page.file()
        self._bar.close()
        how = {"success": "done", "failed": "FAILED", "cancelled": "cancelled"}[run.status]
        spent = self._spent().total
        asked = f", {describe(spent)}" if spent.calls + spent.hits else ""
        if "judgments" in entry:
            asked += f"; {entry['unscored']:,} of {entry['judgments']:,} judgments unscored"
        where = f"\n    {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}"
        print(f"{page.title} {how} in {took(run.seconds, 'en')}{asked}{page.note}{where}", file=sys.stderr, flush=True)


TAG = "asks"
LONGEST = 90.0
"""Seconds that a run waits for its plan; memories can take minutes to build, also without a model."""


def rehearsed(page: Planned, *, whole: bool, questions: Path | None = None) -> str:
    """What the page will ask for, in one line; without `whole`, "" for a notebook that does not tag what it asks.

    With a file for `questions`, those that can be asked now are added to it, for a batch.
    """
    import nbformat

    nb = read_notebook(page.study.path)
    tags = [set(cell.metadata.get("tags", [])) for cell in nb.cells]
    given = page.parameters(page.folder)
    if any(TAG in own for own in tags):
        if {given[name] for name in given if name.endswith(("backbone", "backbones"))} <= {NO_MODEL, ""}:
            return _and_computing("asks no model", page.study.seconds(page.corpus["turns"])) if whole else ""
        nb.cells = [cell for cell, own in zip(nb.cells, tags) if own & {TAG, "parameters"}]
    elif not whole:
        return ""
    late_at = time.monotonic() + (math.inf if whole else LONGEST)

    def stop_in_time() -> None:
        if time.monotonic() > late_at:
            raise KeyboardInterrupt  # as Ctrl-C would end it

    with scratch("rehearsal") as folder:
        copy = folder / page.study.path.name
        nbformat.write(nb, copy)
        progress = Progress(folder / "progress.jsonl")
        environment = {**progress.environment(), **run_environment(questions)}
        study = replace(page.study, path=copy)
        run = execute(study, page.parameters(folder), environment, stop_in_time)
        asked = what_is_asked(progress.by_backbone())
    if run.status == "success":
        said = f"about {asked}" if asked else "asks no model"
        return _and_computing(said, progress.computing() + page.study.seconds(page.corpus["turns"]))
    so_far = f"at least {asked or 'no calls'}"
    if time.monotonic() > late_at:
        return f"{so_far}; counting on took too long, `--dry-run` counts it all"
    if run.status == "cancelled":
        raise KeyboardInterrupt
    return f"{so_far}; counted up to an error: {run.failure.error if run.failure else ''}"


def _and_computing(said: str, seconds: float) -> str:
    return f"{said}; about {took(seconds, 'en')} of computing" if seconds else said


def what_is_asked(spent: Mapping[str, Spending]) -> str:
    """Calls, tokens, cost and time of all backbones; "" where nothing is asked."""
    total: Spending = sum(spent.values(), Spending())
    if not total.calls:
        return describe(total) if total.hits else ""
    asked = describe(replace(total, errors=0, unreadable=0))
    if too_long := total.errors:  # answers in the cache that cannot be read are no questions
        asked += f", {too_long:,} questions too long for the model's context"
    # A stage that was cut off before its first answer does not say which backbone it asked.
    pace = {
        name: seconds(entries()[name], one.tokens_in, one.tokens_out, one.calls) if name in entries() else None
        for name, one in spent.items()
        if one.calls
    }
    if unknown := [name or "an unnamed model" for name, time in pace.items() if time is None]:
        return f"{asked}, time unknown: no answer of {', '.join(unknown)} is in the cache to go by"
    return f"{asked}, about {took(sum(filter(None, pace.values())), 'en')} of answering"
