"""The server behind `perslib app`: Voilà, whose browser opens at an address that carries the token.

python -m perslib.report.served NOTEBOOK
"""

from __future__ import annotations

import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from traitlets.config import Config
from voila.app import Voila

from perslib.report.parameters import assigned_parameters
from perslib.text import LANGUAGES, translate_markdown, using_language


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


class Served(Voila):
    """Voilà; it opens the browser without the token, at its login page."""

    def launch_browser(self) -> None:
        """Open the browser by way of a file: a command line could be read by everybody on this machine."""
        address = f"{self.connection_url}?token={quote(self.identity_provider.token)}"
        page = Path(self.connection_dir) / "open.html"  # a folder that only its owner reads; Voilà removes it
        page.write_text(f'<meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
        threading.Thread(target=webbrowser.open, args=[page.as_uri()], daemon=True).start()


if __name__ == "__main__":
    Served.launch_instance(config=Config({"VoilaConfiguration": {"prelaunch_hook": translate_page}}))
