"""The kernel a notebook runs in: this very Python, whatever kernels are registered on the machine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from perslib.report.controls import controls_shown, without_ansi


class Kernels:
    """Makes kernels of the running interpreter, with an environment of their own, and can stop them.

    User start-up files, IPython history and a user's IPython configuration play no part in a report:
    `scratch` stands in for `~/.ipython`.
    """

    def __init__(self, scratch: Path, environment: Mapping[str, str]):
        self._pids: list[int] = []
        self._environment = {**_threads(), **environment, "IPYTHONDIR": str(scratch / "ipython")}
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

    def interrupt(self) -> None:
        """What Ctrl-C does in a notebook: the running cell ends with KeyboardInterrupt."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End kernels that an interrupt did not end."""
        self._signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)

    def _signal(self, number: int) -> None:
        for pid in self._pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _threads() -> dict[str, str]:
    """One thread for libraries that compute: the arrays of a page are small, and several threads wait for each other."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {name: "1" for name in names if name not in os.environ}
