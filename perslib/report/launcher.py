"""What the lab's first page lists: pages that were rendered, and models that can be asked."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from perslib.paths import workspace
from perslib.report.manifest import Page, pages_under
from perslib.report.page import say
from perslib.report.show import escape, show_html, show_table
from perslib.report.words import day, name_of
from perslib.text import translate


def show_reports(root: str | Path | None = None) -> None:
    """Link every rendered page under `reports/`, by corpus and backbone."""
    folder = Path(root) if root else workspace() / "reports"
    pages = [found for found in pages_under(folder) if found.href]
    if not pages:
        say("Nothing has been run yet: make report, or perslib report, runs the bundled studies.")
        return
    overviews = {"index.html": translate("Reports"), "leaderboard.html": translate("Leaderboard")}
    parts = [_link(folder / file, title) for file, title in overviews.items() if (folder / file).is_file()]
    rows = [f"<p>{' · '.join(parts)}</p>"] if parts else []
    for (corpus, backbone), shelf in groupby(pages, lambda found: (found.corpus, found.folder.name)):
        items = "".join(f"<li>{_page_link(folder, found)}</li>" for found in shelf)
        rows.append(f"<p><b>{escape(corpus)}</b>, {escape(backbone)}</p><ul>{items}</ul>")
    show_html("".join(rows), "\n".join(found.href for found in pages))


def _page_link(folder: Path, page: Page) -> str:
    """A page by its title, with the day of its run, and its state where it is not complete."""
    status = page.entry["status"]
    notes = [day(page.entry.get("started", "")), "" if status == "success" else name_of(f"state_{status}")]
    shown = _link(folder / page.href, page.entry.get("title") or page.name)
    return " · ".join([shown, *(escape(note) for note in notes if note)])


def _link(path: Path, text: str) -> str:
    """A link to a file: in a browser tab of its own where Jupyter serves it, else seen from the notebook's folder.

    In a tab of its own, since a frame of JupyterLab runs no scripts and long tables could not be sorted.
    """
    from jupyter_server.serverapp import list_running_servers

    path = path.resolve()
    href = quote(Path(os.path.relpath(path, Path.cwd().resolve())).as_posix())
    for server in list_running_servers():
        root = Path(server["root_dir"]).resolve()
        if server["pid"] == os.getppid() and path.is_relative_to(root):
            href = f"{escape(server['base_url'])}files/{quote(path.relative_to(root).as_posix())}"
    return f'<a href="{href}">{escape(text)}</a>'


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
