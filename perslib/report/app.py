"""A notebook as an app: Voilà shows what its cells put out, without their code, Markdown in its parameter `language`.

`jupyter/` beside this file holds Voilà's settings and page: nothing is loaded from elsewhere, and a content
security policy sees to it, whatever a conversation on the page contains. The server refuses requests for another host name
or without its token, so that no web page reads along, and ends a kernel ten minutes after its page was left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perslib.paths import workspace

SETTINGS = Path(__file__).parent / "jupyter"
PORT = 8866


def command(notebooks: Path, port: int = PORT, browser: bool = True) -> list[str]:
    """The command that serves a notebook, or a folder of them, on this machine only."""
    options = ["--Voila.ip=127.0.0.1", f"--port={port}", *([] if browser else ["--no-browser"])]
    return [sys.executable, "-m", "perslib.report.served", str(notebooks), *options]


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What the command needs to know: where the settings are, and the folder that its reader works in."""
    return {
        "PERSLIB_HOME": str(workspace()),
        **given,
        "JUPYTER_PATH": os.pathsep.join(filter(None, [str(SETTINGS), given.get("JUPYTER_PATH")])),
        "JUPYTER_CONFIG_PATH": os.pathsep.join(
            filter(None, [str(SETTINGS), given.get("JUPYTER_CONFIG_PATH")])
        ),
    }
