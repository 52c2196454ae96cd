"""The first page of `reports/`: every page of every run found there, whoever rendered it and when."""

from __future__ import annotations

import base64
import io
import warnings
from pathlib import Path
from typing import Any

from perslib.report.leaderboard import write_leaderboard
from perslib.report.manifest import NAME, Page, common_language, files_of, pages_under, write_text
from perslib.report.render import shelf_css, template
from perslib.report.words import day, name_of, took
from perslib.text import plural, translate, using_language

_THUMBNAIL_WIDTH = 560


def write_index(root: Path) -> Path:
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook.

    The leaderboard is written with it, and linked where there is one.
    """
    pages = pages_under(root)
    shelves: dict[str, dict[str, list[dict[str, str]]]] = {}
    for page in pages:
        with using_language(page.language):
            shelves.setdefault(page.corpus, {}).setdefault(page.folder.name, []).append(_card(page))
    board = write_leaderboard(root)
    language = common_language(pages)
    with using_language(language):
        index = template("shelf.html.j2").render(
            shelves=shelves, leaderboard=board.name if board else "", language=language, css=shelf_css()
        )
    return write_text(root / "index.html", index)


def _card(page: Page) -> dict[str, str]:
    """What the index says of a page, in the page's language."""
    entry, last = page.entry, page.entry.get("last_run") or {}
    figures, tables = len(entry.get("figures", {})), len(entry.get("tables", {}))
    failure = (last or entry).get("failure") or {}
    failed = page.folder / f"{page.name}.failed.html"
    trouble = []
    if last:
        state = name_of(f"state_{last['status']}")
        trouble.append(translate("Last run {state}; this page is from the run before it.", state=state))
    if failure and "failed" in (entry["status"], last.get("status")):
        n, error = failure.get("cell"), failure.get("error")
        trouble.append(translate("Stopped at cell {n}: {error}", n=n, error=error))
    return {
        "href": page.href,
        "title": entry.get("title") or page.name,
        "language": page.language,
        "status": entry["status"],
        "state": name_of(f"state_{entry['status']}"),
        "date": day(entry.get("started", "")),
        "took": took(entry.get("seconds")),
        "picture": _thumbnail(page),
        "figures": plural("1 figure", "{n} figures", figures) if figures else "",
        "tables": plural("1 table", "{n} tables", tables) if tables else "",
        "manifest": (page.folder / NAME).relative_to(page.root).as_posix(),
        "manifest_label": translate("Manifest"),
        "trouble": " ".join(trouble),
        "failed": failed.relative_to(page.root).as_posix() if last and failed.is_file() else "",
    }


def _thumbnail(page: Page) -> str:
    """The page's first figure, small, as part of the index itself."""
    from PIL import Image

    damage: Any = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
    for file in (page.folder / name for name in files_of(page.entry) if name.endswith(".png")):
        if file.is_file():
            try:
                with Image.open(file) as full:
                    small = full.convert("RGB")
            except damage as error:
                warnings.warn(f"{file} cannot be shown on the index: {error}", stacklevel=2)
                continue
            small.thumbnail((_THUMBNAIL_WIDTH, 4 * _THUMBNAIL_WIDTH))
            buffer = io.BytesIO()
            small.save(buffer, "PNG", optimize=True)
            return base64.b64encode(buffer.getvalue()).decode()
    return ""
