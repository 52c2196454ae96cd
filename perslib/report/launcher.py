"""What the lab's first page lists: pages that were rendered, and models that can be asked."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from perslib.paths import workspace
from perslib.report.manifest import pages_under
from perslib.report.page import say
from perslib.report.show import fill, show_html, show_table
from perslib.report.words import day, name_of
from perslib.text import translate


def show_reports(root: str | Path | None = None) -> None:
    """Link every rendered page under `reports/`, by corpus and backbone."""
    folder = Path(root) if root else workspace() / "reports"
    pages = [found for found in pages_under(folder) if found.href]
    if not pages:
        say("Nothing has been run yet: make report, or perslib report, runs the bundled studies.")
        return
    titles = {"index.html": translate("Reports"), "leaderboard.html": translate("Leaderboard")}
    overviews = [(_href(folder / file), title) for file, title in titles.items() if (folder / file).is_file()]
    shelves: dict[tuple[str, str], list[tuple[str, str, list[str]]]] = {}
    for page in pages:
        status = page.entry["status"]
        notes = [
            day(page.entry.get("started", "")),
            "" if status == "success" else name_of(f"state_{status}"),
        ]
        shown = (_href(folder / page.href), page.entry.get("title") or page.name, [*filter(None, notes)])
        shelves.setdefault((page.corpus, page.folder.name), []).append(shown)
    show_html(fill("reports", overviews=overviews, shelves=shelves), "\n".join(page.href for page in pages))


def _href(path: Path) -> str:
    """The address of a file: in a browser tab of its own where Jupyter serves it, else seen from the notebook's folder.

    In a tab of its own, since a frame of JupyterLab runs no scripts and long tables could not be sorted.
    """
    from jupyter_server.serverapp import list_running_servers

    path = path.resolve()
    href = quote(Path(os.path.relpath(path, Path.cwd().resolve())).as_posix())
    for server in list_running_servers():
        root = Path(server["root_dir"]).resolve()
        if server["pid"] == os.getppid() and path.is_relative_to(root):
            href = f"{server['base_url']}files/{quote(path.relative_to(root).as_posix())}"
    return href


def show_backbones() -> None:
    """Show the models that `backbones.toml` names, ours and the reader's own; none of them is asked anything."""
    from perslib.llm.registry import entries

    def key(variable: str) -> str:
        if not variable:
            return translate("none needed")
        is_set = bool(os.environ.get(variable))
        return translate("{name}, set" if is_set else "{name}, not set", name=variable)

    here = translate("started on this machine")
    rows = [
        (e.name, e.model or None, here if e.kind == "embedded" else e.base_url, key(e.key_env))
        for e in entries().values()
    ]
    heads = [translate("Backbone"), translate("Model name"), translate("Where"), translate("Key")]
    show_table(pd.DataFrame(rows, columns=heads))
