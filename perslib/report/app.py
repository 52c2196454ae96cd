"""A notebook as an app: Voilà shows what its cells put out, without their code, Markdown in its parameter `language`.

    python -m perslib.report.app NOTEBOOK

`jupyter/` beside this file holds Voilà's settings and page: nothing is loaded from elsewhere, and a content
security policy sees to it, whatever a conversation on the page contains. The server refuses requests for another host name
or without its token, so that no web page reads along, and ends a kernel ten minutes after its page was left.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perslib.paths import workspace
from perslib.report.run.plan import assigned_parameters
from perslib.text import LANGUAGES, translate_markdown, using_language

SETTINGS = str(Path(__file__).parent / "jupyter")
PORT = 8866


def command(notebooks: Path, port: int = PORT, browser: bool = True) -> list[str]:
    """Return the command that serves a notebook, or a folder of them, on this machine only."""
    options = ["--Voila.ip=127.0.0.1", f"--port={port}", *([] if browser else ["--no-browser"])]
    return [sys.executable, "-m", "perslib.report.app", str(notebooks), *options]


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what the command needs to know: where the settings are, and the folder that its reader works in."""
    paths = {
        name: os.pathsep.join(filter(None, [SETTINGS, given.get(name)]))
        for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
    }
    return {"PERSLIB_HOME": str(workspace()), **given, **paths}


def translate_page(handler: Any, notebook: Any, cwd: str) -> None:
    """Put a notebook's Markdown into the language that is its parameter `language`."""
    language: object = "en"
    with suppress(SyntaxError, ValueError):  # a notebook of other code is shown as it is
        language = assigned_parameters(notebook).get("language")
    if language in LANGUAGES:
        with using_language(str(language)):
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = translate_markdown(cell.source)


def serve() -> None:
    """Serve the notebook that the command line names, until Ctrl-C."""
    from traitlets.config import Config
    from voila.app import Voila

    class Served(Voila):
        """Voilà; it opens the browser without the token, at its login page."""

        def launch_browser(self) -> None:
            """Open the browser by way of a file: a command line could be read by everybody on this machine."""
            address = f"{self.connection_url}?token={quote(self.identity_provider.token)}"
            page = Path(self.connection_dir) / "open.html"  # its owner alone reads it; Voilà removes it
            page.write_text(f'<meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
            threading.Thread(target=webbrowser.open, args=[page.as_uri()], daemon=True).start()

    Served.launch_instance(config=Config({"VoilaConfiguration": {"prelaunch_hook": translate_page}}))


if __name__ == "__main__":
    serve()
