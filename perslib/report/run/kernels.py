"""Kernels that begin at once: forked from a process that is started with the first, and has imported what pages import.

A kernel of its own for each page costs two seconds of imports; forked, it costs a tenth of that, and is as separate. Where
Python cannot fork safely (not on Linux) each kernel is started anew.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from jupyter_client.provisioning import LocalProvisioner

from perslib.paths import workspace

CAN_FORK = sys.platform == "linux"
_PROGRAM = Path(__file__).with_name("_warm.py")
_lock = Lock()
_warm: subprocess.Popen[str] | None = None


class ForkedKernel:
    """A process that is not a child of this one, with as much of `subprocess.Popen` as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], environment: dict[str, str], folder: str, log: str) -> None:
        line = json.dumps({"arguments": arguments, "environment": environment, "folder": folder, "log": log})
        with _lock:
            warm = _find_or_start(environment)
            assert warm.stdin and warm.stdout
            warm.stdin.write(line + "\n")
            warm.stdin.flush()
            self.pid = int(warm.stdout.readline())

    def poll(self) -> int | None:
        """Return None while it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Return at once: the provisioner asks only for what has ended."""
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal to it."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def warm_up(environment: dict[str, str]) -> None:
    """Start the process to fork from, where there can be one: it imports while the first page is prepared.

    What hinders it (the workspace may not be there yet) is met when the first kernel is asked for.
    """
    if CAN_FORK:
        with _lock, suppress(OSError):
            _find_or_start(environment)


def _find_or_start(environment: dict[str, str]) -> subprocess.Popen[str]:
    """Return the process to fork from; what imports read of the environment (threads, fonts) is what kernels have."""
    global _warm
    if _warm is not None and _warm.poll() is None:
        return _warm
    _warm = subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=workspace(),
        start_new_session=True,  # Ctrl-C is for pages
    )
    atexit.register(_warm.communicate)  # it ends with its input
    return _warm


class Forking(LocalProvisioner):
    """Provides kernels that are forked."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Fork a kernel for the arguments of a command that would start one; start one where that fails."""
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        try:
            forked = ForkedKernel(arguments, kwargs["env"], str(kwargs["cwd"]), kwargs["stdout"].name)
        except (OSError, ValueError):
            return await super().launch_kernel(cmd, **kwargs)
        self.process = forked  # type: ignore[assignment]
        self.pid = self.pgid = forked.pid
        self.cwd = kwargs["cwd"]
        return self.connection_info
