"""JupyterLab and Voilà on loopback, started for the tests and stopped after them.

Both see a workspace of their own with copies of the notebooks, and no configuration, kernels or sessions of the
person whose machine this is.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from perslib.report import app

ROOT = Path(__file__).resolve().parents[2]
_START = 180.0
#: Nothing is asked of the network; every cell is in the page, not only those in view.
_QUIET = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
_SETTINGS = {"windowingMode": "none"}


@dataclass(frozen=True)
class Workspace:
    """A folder that JupyterLab and Voilà work in: `notebooks/` copied from the checkout, the rest made by tests.

    It is `PERSLIB_HOME` of every kernel, so a `backbones.toml` written here is heard by the next kernel.
    """

    folder: Path

    def notebook(self, name: str) -> Path:
        """A fresh copy of the checkout's notebook, as committed and without outputs."""
        copy = self.folder / "notebooks" / name
        original = ROOT / "notebooks" / name
        if original.is_file():
            shutil.copyfile(original, copy)
        return copy

    def write_notebook(self, name: str, *cells: str) -> Path:
        """A notebook of the test's own, from the sources of its code cells."""
        import nbformat

        kernel = {"name": "python3", "display_name": "python3", "language": "python"}
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells], metadata={"kernelspec": kernel}
        )
        path = self.folder / "notebooks" / name
        nbformat.write(notebook, path)
        return path


@dataclass(frozen=True)
class Server:
    """A running server: where it listens, what it works in, what it has said."""

    url: str
    workspace: Workspace
    log: Path
    token: str = ""

    def ask(self, path: str, method: str = "GET") -> object:
        """What its REST interface answers."""
        request = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or b"null")

    def end_kernels(self) -> None:
        """Shut down every kernel, so that a notebook opened next starts from nothing."""
        for session in self.ask("/api/sessions"):  # type: ignore[attr-defined]
            self.ask(f"/api/sessions/{session['id']}", "DELETE")


def make_workspace(folder: Path) -> Workspace:
    """A workspace with all notebooks of the checkout."""
    (folder / ".perslib").mkdir(parents=True)
    (folder / "notebooks").mkdir()
    workspace = Workspace(folder)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        workspace.notebook(path.name)
    return workspace


@contextmanager
def jupyterlab(workspace: Workspace, scratch: Path) -> Iterator[Server]:
    """JupyterLab on the workspace, without a token, on loopback."""
    port = _free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ServerApp.ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"]
    command += [f"--ServerApp.root_dir={workspace.folder}", "--LabApp.expose_app_in_browser=True"]
    command += [f"--LabApp.workspaces_dir={scratch / 'workspaces'}"]
    command += [f"--LabApp.user_settings_dir={scratch / 'settings'}"]
    server = Server(f"http://127.0.0.1:{port}", workspace, scratch / "jupyterlab.log")
    with _running(server, command, _environment(workspace, scratch), "/api/status"):
        yield server


@contextmanager
def voila(workspace: Workspace, scratch: Path) -> Iterator[Server]:
    """Voilà as `perslib app` starts it, on a folder: `/voila/render/NAME.ipynb` is the app of a notebook."""
    port = _free_port()
    command = app.command(workspace.folder / "notebooks", port, browser=False)
    token = secrets.token_hex()
    environment = app.environment(_environment(workspace, scratch)) | {"JUPYTER_TOKEN": token}
    server = Server(f"http://127.0.0.1:{port}", workspace, scratch / "voila.log", token)
    with _running(server, command, environment, "/voila/tree"):
        yield server


@contextmanager
def _running(server: Server, command: list[str], environment: dict[str, str], alive: str) -> Iterator[None]:
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=server.workspace.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_until_alive(server, alive, process)
        yield
    finally:
        with suppress(OSError, ValueError):
            server.end_kernels()
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_alive(server: Server, path: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(server.url + path, timeout=10):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{server.url} did not start:\n{server.log.read_text('utf-8')[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(workspace: Workspace, scratch: Path) -> dict[str, str]:
    """That of the tests, with the person's own Jupyter and IPython folders exchanged for empty ones."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
    _write(scratch / "config" / "labconfig" / "page_config.json", _QUIET)
    _write(scratch / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings", _SETTINGS)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": command, "display_name": "Python 3 (ipykernel)", "language": "python"}
    _write(scratch / "data" / "kernels" / "python3" / "kernel.json", kernel)
    return {
        **kept,
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "IPYTHONDIR": str(scratch / "ipython"),
        "PERSLIB_HOME": str(workspace.folder),
        "PERSLIB_PROGRESS": "0",
    }


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
