"""Run one notebook by papermill and say how it ended."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from perslib.paths import workspace
from perslib.report.controls import controls_shown, without_ansi
from perslib.report.kernel import Kernels
from perslib.report.parameters import Study, read_notebook
from perslib.report.render import INJECTED, code_number

Status = Literal["started", "success", "failed", "cancelled"]

_LOOK_EVERY = 0.2
_PATIENCE_AFTER_INTERRUPT = 10.0
_ARROW = re.compile(r"^-+> ?(\d+) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Failure:
    """Where a notebook stopped: the cell as JupyterLab numbers it, the line in it, and what was said."""

    cell: int
    error: str
    line: int | None = None
    code: str = ""
    kernel_died: bool = False

    def __str__(self) -> str:
        at = f"cell {self.cell}" + (f", line {self.line} (`{self.code}`)" if self.line else "")
        return f"{at}: {self.error}"


@dataclass(frozen=True)
class Run:
    """A notebook as executed, as far as it came."""

    notebook: Any
    status: Status
    seconds: float
    failure: Failure | None = None


def execute(
    study: Study,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    watch: Callable[[], None] = lambda: None,
    cell_started: Callable[[int], None] = lambda number: None,
) -> Run:
    """Run a study in a fresh kernel of this Python, in the workspace.

    `watch` is called a few times a second meanwhile, `cell_started` with the number of each code cell. Ctrl-C
    interrupts the running cell; the run then ends as cancelled, with everything before that cell.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perslib-report-") as folder:
        scratch = Path(folder)
        kernels = Kernels(scratch, environment)
        written = scratch / "executed.ipynb"
        with ThreadPoolExecutor(1, thread_name_prefix="papermill") as pool:
            running = pool.submit(_papermill, study, parameters, kernels, written, cell_started)
            cancelled = _wait(running, kernels, watch)
        error = running.exception()
        last_words = kernels.last_words() or f"{type(error).__name__}: {error}"
        # papermill writes the notebook down after every cell; before the first one there is only the source.
        nb = read_notebook(written) if written.is_file() else read_notebook(study.path)
    nb.cells = [c for c in nb.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    seconds = time.monotonic() - started
    if error is None and not cancelled:
        return Run(nb, "success", seconds)
    if error is not None and not isinstance(error, Exception):
        raise error
    reached = _reached(nb)
    failure = _failure(nb, reached, last_words)
    nb.cells = nb.cells[: reached + 1]
    return Run(nb, "cancelled" if cancelled else "failed", seconds, failure)


def _papermill(
    study: Study,
    parameters: Mapping[str, Any],
    kernels: Kernels,
    written: Path,
    cell_started: Callable[[int], None],
) -> None:
    from jupyter_core.utils import ensure_event_loop
    from papermill.execute import execute_notebook

    begun = count(1)

    def begins(cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code" and INJECTED not in cell.metadata.get("tags", []):
            cell_started(next(begun))

    try:
        execute_notebook(
            read_notebook(study.path),
            written,
            dict(parameters),
            kernel_name="python3",
            language="python",
            progress_bar=False,
            # what follows goes to nbclient
            kernel_manager_class=kernels.manager_class(),
            on_cell_start=begins,
            resources={"metadata": {"path": str(workspace())}},
        )
    finally:
        # nbclient made this thread's event loop, and nobody else closes it.
        ensure_event_loop().close()


def _wait(running: Future[None], kernels: Kernels, watch: Callable[[], None]) -> bool:
    """Wait for the run; True when Ctrl-C ended it."""
    try:
        while True:
            try:
                running.exception(timeout=_LOOK_EVERY)
                return False
            except StillRunning:
                watch()
    except KeyboardInterrupt:
        kernels.interrupt()
        killer = threading.Timer(_PATIENCE_AFTER_INTERRUPT, kernels.kill)
        killer.start()
        try:
            running.exception()
        except KeyboardInterrupt:  # a second one means it
            kernels.kill()
            running.exception()
        killer.cancel()
        return True


# -- how it failed -----------------------------------------------------------------------------------------


def _reached(nb: Any) -> int:
    """Index of the last cell that was started."""
    begun = [i for i, c in enumerate(nb.cells) if c.metadata.get("papermill", {}).get("start_time")]
    return max((i for i in begun if nb.cells[i].cell_type == "code"), default=0)


def _failure(nb: Any, reached: int, last_words: str) -> Failure:
    """What went wrong in the cell that was reached, from its error output, or from what the kernel left."""
    number = code_number(nb, reached)
    for output in nb.cells[reached].get("outputs", []):
        if output.output_type == "error":
            said = without_ansi(f"{output.ename}: {output.evalue}").strip().rstrip(":")
            line, code = _line_in_cell(without_ansi("\n".join(output.traceback)))
            return Failure(number, controls_shown(said), line, controls_shown(code))
    return Failure(number, f"the kernel stopped: {last_words}", kernel_died=True)


def _line_in_cell(trace: str) -> tuple[int | None, str]:
    """Line number and text of the cell's own line in a traceback; the frames below it are the library's."""
    for frame in re.split(r"(?=^(?:Cell In\[|File ))", trace, flags=re.MULTILINE):
        if frame.startswith("Cell In") and (arrow := _ARROW.search(frame)):
            return int(arrow[1]), arrow[2].strip()
    return None, ""
