"""What a person does before JupyterLab and Voilà, as a test says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from servers import Server, Workspace

#: A kernel that starts, imports and draws on a busy machine.
PATIENCE = 120_000


@dataclass(frozen=True)
class Lab:
    """JupyterLab in a browser."""

    server: Server

    @property
    def workspace(self) -> Workspace:
        """The folder it works in."""
        return self.server.workspace

    def open(self, page: Any, name: str) -> Notebook:
        """Open a notebook of the workspace, a fresh copy where the checkout has it, and wait for its kernel."""
        self.workspace.notebook(name)
        page.goto(f"{self.server.url}/lab/tree/notebooks/{name}?reset")
        page.locator(".jp-NotebookPanel .jp-Notebook .jp-Cell").first.wait_for(timeout=PATIENCE)
        page.wait_for_function(_READY, timeout=PATIENCE)
        return Notebook(page)


_CURRENT = "window.jupyterapp.shell.currentWidget"
_READY = f"() => {_CURRENT}?.sessionContext?.session?.kernel?.status === 'idle'"
_RUN_ALL = """async () => {
  const done = await window.jupyterapp.commands.execute('notebook:run-all-cells');
  return done;
}"""


@dataclass(frozen=True)
class Notebook:
    """A notebook open in JupyterLab, its kernel running."""

    page: Any

    @property
    def outputs(self) -> Any:
        """All outputs, as a Playwright locator."""
        return self.page.locator(".jp-NotebookPanel .jp-OutputArea-output")

    def run_all(self) -> None:
        """Run every cell and wait for the last; a cell that fails, fails the test with its error."""
        self.page.set_default_timeout(PATIENCE)
        self.page.evaluate(_RUN_ALL)
        self.page.set_default_timeout(30_000)
        errors = self.page.locator(".jp-NotebookPanel [data-mime-type='application/vnd.jupyter.error']")
        assert errors.count() == 0, errors.first.inner_text()

    def wait_for(self, text: str, timeout: float = 30_000) -> Any:
        """Wait until an output shows the text; the innermost element that does."""
        return _wait_for(self.page.locator(".jp-NotebookPanel"), text, timeout)


@dataclass(frozen=True)
class App:
    """Voilà in a browser."""

    server: Server

    @property
    def workspace(self) -> Workspace:
        """The folder it works in."""
        return self.server.workspace

    def open(self, page: Any, name: str) -> Shown:
        """Open a notebook of the workspace as an app, a fresh copy where the checkout has it."""
        self.workspace.notebook(name)
        page.goto(f"{self.server.url}/voila/render/{name}?token={self.server.token}", timeout=PATIENCE)
        page.locator("#rendered_cells").wait_for(state="visible", timeout=PATIENCE)
        return Shown(page)


@dataclass(frozen=True)
class Shown:
    """A notebook shown by Voilà."""

    page: Any

    def wait_for(self, text: str, timeout: float = PATIENCE) -> Any:
        """Wait until the app shows the text; the innermost element that does."""
        return _wait_for(self.page.locator("#rendered_cells"), text, timeout)


def _wait_for(within: Any, text: str, timeout: float) -> Any:
    found = within.get_by_text(text).locator("visible=true").first
    found.wait_for(timeout=timeout)
    return found
