"""The first page of `reports/`: every page of every run found there, whoever rendered it and when."""

from __future__ import annotations

import base64
import io
import warnings
from pathlib import Path
from typing import Any

from perslib.report.leaderboard import write_leaderboard
from perslib.report.manifest import NAME, Page, common_language, files_of, pages_under, write_text
from perslib.report.render import shelf_css
from perslib.report.show import fill, template
from perslib.text import using_language

_THUMBNAIL_WIDTH = 560


def write_index(root: Path) -> Path:
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook.

    The leaderboard is written with it, and linked where there is one.
    """
    pages = pages_under(root)
    shelves: dict[str, dict[str, list[str]]] = {}
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


def _card(page: Page) -> str:
    """What the index says of a page, in the page's language."""
    last, failed = page.entry.get("last_run") or {}, page.folder / f"{page.name}.failed.html"
    return fill(
        "card",
        page=page,
        entry=page.entry,
        last=last,
        failure="failed" in (page.entry["status"], last.get("status"))
        and (last or page.entry).get("failure"),
        picture=_thumbnail(page),
        manifest=(page.folder / NAME).relative_to(page.root).as_posix(),
        failed=failed.relative_to(page.root).as_posix() if last and failed.is_file() else "",
    )


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
