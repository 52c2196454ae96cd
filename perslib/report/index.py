"""The first page of `reports/`: every page of every run found there, whoever rendered it and when."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from perslib.report.atomic import write_text
from perslib.report.leaderboard import write_leaderboard
from perslib.report.manifest import NAME
from perslib.report.shelf import Page, common_language, pages_under, shelf_css, template
from perslib.report.times import day, took
from perslib.report.words import word

_THUMBNAIL_WIDTH = 560


@dataclass(frozen=True)
class Card:
    """One page on the index."""

    href: str
    title: str
    language: str
    status: str
    date: str
    took: str
    picture: str
    figures: str
    tables: str
    manifest: str
    trouble: str

    @property
    def state(self) -> str:
        """The status in the page's language."""
        return word(self.status, self.language)


def write_index(root: Path) -> Path:
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook.

    The leaderboard is written with it, and linked where there is one.
    """
    pages = pages_under(root)
    shelves: dict[str, dict[str, list[Card]]] = {}
    for page in pages:
        shelves.setdefault(page.corpus, {}).setdefault(page.folder.name, []).append(_card(page))
    board = write_leaderboard(root)
    language = common_language(pages)
    return write_text(
        root / "index.html",
        template("shelf.html.j2").render(
            shelves=shelves,
            leaderboard=board.name if board else "",
            language=language,
            word=word,
            css=shelf_css(),
        ),
    )


def _card(page: Page) -> Card:
    entry, language = page.entry, page.language
    figures, tables = entry.get("figures", {}), entry.get("tables", {})
    failure = entry.get("failure") or {}
    trouble = ""
    if entry["status"] == "failed" and failure:
        trouble = word("index_failed", language, n=failure.get("cell"), error=failure.get("error"))
    return Card(
        href=page.href,
        title=entry.get("title") or page.name,
        language=language,
        status=entry["status"],
        date=day(entry.get("started", "")),
        took=took(entry.get("seconds"), language),
        picture=_thumbnail(page.folder, figures),
        figures=_counted("figure", len(figures), language),
        tables=_counted("table", len(tables), language),
        manifest=(page.folder / NAME).relative_to(page.root).as_posix(),
        trouble=trouble,
    )


def _counted(kind: str, n: int, language: str) -> str:
    """Such as “6 figures” or “1 figure”, or nothing for none."""
    return word(f"n_{kind}s" if n > 1 else f"one_{kind}", language, n=n) if n else ""


def _thumbnail(folder: Path, figures: dict[str, list[str]]) -> str:
    """The page's first figure, small, as part of the index itself."""
    from PIL import Image

    for files in figures.values():
        for file in files:
            if file.endswith(".png") and (folder / file).is_file():
                with Image.open(folder / file) as full:
                    small = full.convert("RGB")
                    small.thumbnail((_THUMBNAIL_WIDTH, 4 * _THUMBNAIL_WIDTH))
                    buffer = io.BytesIO()
                    small.save(buffer, "PNG", optimize=True)
                return base64.b64encode(buffer.getvalue()).decode()
    return ""
