"""Run one notebook by papermill in a kernel of its own, and say how it ended."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from perslib.paths import scratch, workspace
from perslib.report.parameters import Study, read_notebook
from perslib.report.render import INJECTED, code_number
from perslib.report.words import controls_shown, without_ansi

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Kernels:
    """Makes kernels of the running interpreter, with an environment of their own, and can stop them.

    User start-up files, IPython history and a user's IPython configuration play no part in a report:
    `scratch` stands in for `~/.ipython`.
    """

    def __init__(self, scratch: Path, environment: Mapping[str, str]):
        self._pids: list[int] = []
        # One thread for libraries that compute: arrays of a page are small, and several threads wait for each other.
        threads = {name: "1" for name in _THREADS if name not in os.environ}
        self._environment = {**threads, **environment, "IPYTHONDIR": str(scratch / "ipython")}
        self._scratch = scratch
        self._log = scratch / "kernel.log"

    def manager_class(self) -> type:
        """A kernel manager class for nbclient, bound to this interpreter and environment."""
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client.manager import AsyncKernelManager

        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = KernelSpec(argv=command, display_name="Python", language="python", env=self._environment)
        pids, runtime, log = self._pids, self._scratch, self._log

        class ThisPython(AsyncKernelManager):
            kernel_spec = spec

            def __init__(self, **options: Any):
                super().__init__(connection_file=str(runtime / f"kernel-{len(pids)}.json"), **options)

            async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
                # What a kernel says outside of its cells is no part of a report, nor of the terminal.
                with log.open("ab") as file:
                    await super()._async_launch_kernel(kernel_cmd, stdout=file, stderr=file, **options)

            async def _async_post_start_kernel(self, **options: Any) -> None:
                await super()._async_post_start_kernel(**options)
                if pid := getattr(self.provisioner, "pid", None):
                    pids.append(pid)

        return ThisPython

    def last_words(self) -> str:
        """The last line that a kernel wrote outside of its cells: why it died, if it said so."""
        lines = self._log.read_text("utf-8", "replace").split("\n") if self._log.is_file() else []
        said = [line.strip() for line in lines if line.strip() and not line.startswith("[IPKernelApp]")]
        return controls_shown(without_ansi(said[-1]))[:300] if said else ""

    def signal(self, number: int) -> None:
        """Send a signal: SIGINT does what Ctrl-C does in a notebook, `KILL` ends what an interrupt did not end."""
        for pid in self._pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


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
    with scratch("report") as folder:
        kernels = Kernels(folder, environment)
        written = folder / "executed.ipynb"
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

    workspace().mkdir(parents=True, exist_ok=True)  # $PERSLIB_HOME may name a folder that is not there yet
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
        kernels.signal(signal.SIGINT)
        killer = threading.Timer(_PATIENCE_AFTER_INTERRUPT, kernels.signal, [KILL])
        killer.start()
        try:
            running.exception()
        except KeyboardInterrupt:  # a second one means it
            kernels.signal(KILL)
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
