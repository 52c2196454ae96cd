"""What the lab's first page lists: pages that were rendered, and models that can be asked."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pandas as pd

from perslib.paths import workspace
from perslib.report.page import current
from perslib.report.shelf import Page, pages_under
from perslib.report.show import escape, show_html, show_table
from perslib.report.words import day, name_of
from perslib.text import translate


def show_reports(root: str | Path | None = None) -> None:
    """Link every rendered page under `reports/`, by corpus and backbone."""
    folder = Path(root) if root else workspace() / "reports"
    current()
    pages = [found for found in pages_under(folder) if found.href]
    if not pages:
        nothing = translate(
            "Nothing has been run yet: make report, or perslib report, runs the bundled studies."
        )
        show_html(f"<p>{escape(nothing)}</p>", nothing)
        return
    overviews = [("index.html", translate("Reports")), ("leaderboard.html", translate("Leaderboard"))]
    parts = [_link(folder / file, title) for file, title in overviews if (folder / file).is_file()]
    shelves: dict[tuple[str, str], list[Page]] = {}
    for found in pages:
        shelves.setdefault((found.corpus, found.folder.name), []).append(found)
    rows = [f"<p>{' · '.join(parts)}</p>"] if parts else []
    for (corpus, backbone), shelf in shelves.items():
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
    path = path.resolve()
    for server in _servers():
        if path.is_relative_to(server["root_dir"]):
            inside = path.relative_to(server["root_dir"]).as_posix()
            return f'<a href="{escape(server["base_url"])}files/{quote(inside)}">{escape(text)}</a>'
    href = Path(os.path.relpath(path, Path.cwd().resolve())).as_posix()
    return f'<a href="{quote(href)}">{escape(text)}</a>'


def _servers() -> list[dict[str, str]]:
    """The Jupyter server that started this kernel; none where another program did."""
    from jupyter_server.serverapp import list_running_servers

    return [
        {"root_dir": str(Path(found["root_dir"]).resolve()), "base_url": found["base_url"]}
        for found in list_running_servers()
        if found["pid"] == os.getppid()
    ]


def show_backbones() -> None:
    """Show the models that `backbones.toml` names, ours and the reader's own; none of them is asked anything."""
    from perslib.llm.registry import entries

    def key(variable: str) -> str:
        if not variable:
            return translate("none needed")
        if os.environ.get(variable):
            return translate("{name}, set", name=variable)
        return translate("{name}, not set", name=variable)

    rows = [
        {
            translate("Backbone"): entry.name,
            translate("Model name"): entry.model or None,
            translate("Where"): translate("started on this machine")
            if entry.kind == "embedded"
            else entry.base_url,
            translate("Key"): key(entry.key_env),
        }
        for entry in entries().values()
    ]
    show_table(pd.DataFrame(rows))
