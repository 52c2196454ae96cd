"""Run one notebook in a kernel of its own, with papermill's parameters and nbclient, and say how it ended."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from perslib.paths import scratch, workspace
from perslib.registry import VARIABLE, named_plugins
from perslib.report.page.rendering import INJECTED, code_number
from perslib.report.run.plan import Study
from perslib.text import remove_ansi, show_hidden

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
LOOK_EVERY = 0.2
_PATIENCE_AFTER_INTERRUPT = 10.0
_LONGEST_PATH_OF_A_SOCKET = 100  # bytes; 103 on macOS, 107 on Linux
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
    status: Literal["success", "failed", "cancelled"]
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

    `watch` is called a few times a second meanwhile, `cell_started` with the number of each code cell. KeyboardInterrupt,
    by Ctrl-C or raised by `watch`, interrupts the running cell; the run then ends as cancelled, with everything before it.
    """
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    started, reached = time.monotonic(), 0
    nb = load_notebook_node(str(study.path))
    if parameters:
        nb = parameterize_notebook(nb, dict(parameters), kernel_name="python3", language="python")

    def begins(cell: Any, cell_index: int) -> None:
        nonlocal reached
        if cell.cell_type == "code":
            reached = cell_index
            if INJECTED not in cell.metadata.tags:
                cell_started(code_number(nb, cell_index))

    workspace().mkdir(parents=True, exist_ok=True)  # $PERSLIB_HOME may name a folder that is not there yet
    with scratch("report") as folder, ThreadPoolExecutor(1, thread_name_prefix="notebook") as pool:
        client, log = _client(nb, folder, begins), folder / "kernel.log"
        running = pool.submit(_run, client, kernel_environment(folder, environment), log)
        cancelled = _wait(running, client, watch)
        error = running.exception()
        last_words = _last_words(log) or f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started
    if error is None and not cancelled:
        return Run(nb, "success", seconds)
    failure = _failure(nb, reached, error, last_words)
    nb.cells = nb.cells[: reached + 1]
    return Run(nb, "cancelled" if cancelled else "failed", seconds, failure)


# -- the kernel --------------------------------------------------------------------------------------------


def kernel_environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return what the kernel finds in its environment.

    User start-up files, IPython history and a user's IPython configuration play no part in a report: a folder stands in
    for `~/.ipython`. Libraries that compute take one thread: arrays of a page are small, and several threads wait for
    each other.
    """
    named = {VARIABLE: ",".join(named_plugins()), "IPYTHONDIR": str(folder / "ipython")}
    return {**dict.fromkeys(_THREADS, "1"), **os.environ, **given, **named}


def _client(nb: Any, folder: Path, begins: Callable[[Any, int], None]) -> Any:
    """Return a client for a kernel of the running interpreter, whatever kernels are installed for the user.

    It talks to its kernel over sockets in the folder: a port that is chosen here can be taken by another kernel that starts
    at the same time. Ports are used where there are no such sockets, or the folder has too long a path for them.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    from perslib.report.run.kernels import CAN_FORK, Forking

    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]

    class ThisPython(AsyncKernelManager):
        kernel_spec = KernelSpec(argv=command, display_name="Python", language="python")

    file = folder / "kernel.json"
    in_folder = hasattr(socket, "AF_UNIX") and len(os.fsencode(file)) < _LONGEST_PATH_OF_A_SOCKET
    manager = ThisPython(connection_file=str(file), transport="ipc" if in_folder else "tcp")
    if CAN_FORK:
        manager.provisioner = Forking(kernel_id="", kernel_spec=ThisPython.kernel_spec, parent=manager)
    # Output that does not come is an error, as in papermill, and not a page without it.
    options = {"raise_on_iopub_timeout": True, "on_cell_start": begins}
    return NotebookClient(nb, manager, resources={"metadata": {"path": str(workspace())}}, **options)


def _run(client: Any, environment: dict[str, str], log: Path) -> None:
    # What a kernel says outside of its cells is no part of a report, nor of the terminal.
    with log.open("ab") as file:
        asyncio.run(client.async_execute(cleanup_kc=True, env=environment, stdout=file, stderr=file))


def _wait(running: Future[None], client: Any, watch: Callable[[], None]) -> bool:
    """Wait for the run; True when Ctrl-C ended it."""
    try:
        while not wait([running], LOOK_EVERY).done:
            watch()
        return False
    except KeyboardInterrupt:
        _signal(client, signal.SIGINT)
        with suppress(KeyboardInterrupt):  # a second one means it
            wait([running], _PATIENCE_AFTER_INTERRUPT)
        if not running.done():
            _signal(client, _KILL)
        wait([running])
        return True


def _signal(client: Any, number: int) -> None:
    """Send the kernel a signal: SIGINT does what Ctrl-C does in a notebook."""
    provisioner = client.km and client.km.provisioner  # neither, once the kernel has ended
    if pid := getattr(provisioner, "pid", None):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


# -- how it failed -----------------------------------------------------------------------------------------


def _last_words(log: Path) -> str:
    """Return the last line that the kernel wrote outside of its cells: why it died, if it said so."""
    lines = log.read_text("utf-8", "replace").split("\n") if log.is_file() else []
    words = [line.strip() for line in lines if line.strip() and not line.startswith("[IPKernelApp]")]
    return show_hidden(remove_ansi(words[-1]))[:300] if words else ""


def _failure(nb: Any, reached: int, error: BaseException | None, last_words: str) -> Failure:
    """Return what went wrong in the cell that was reached: its error, or what the kernel left."""
    number = code_number(nb, reached)
    outputs = nb.cells[reached].get("outputs", [])
    errors = [(output.ename, output.evalue, output.traceback) for output in outputs if output.output_type == "error"]
    if name := getattr(error, "ename", ""):  # where IPython could not format it, there is no output
        errors.append((name, getattr(error, "evalue", ""), []))
    for ename, evalue, trace in errors[:1]:
        line, code = _line_in_cell(remove_ansi("\n".join(trace)))
        message = remove_ansi(f"{ename}: {evalue}").strip().rstrip(":")
        return Failure(number, show_hidden(message), line, show_hidden(code))
    return Failure(number, f"the kernel stopped: {last_words}", kernel_died=True)


def _line_in_cell(trace: str) -> tuple[int | None, str]:
    """Return the line number and text of the cell's own line in a traceback; the frames below it are the library's."""
    for frame in re.split(r"(?=^(?:Cell In\[|File ))", trace, flags=re.MULTILINE):
        if frame.startswith("Cell In") and (arrow := _ARROW.search(frame)):
            return int(arrow[1]), arrow[2].strip()
    return None, ""
