"""The first page of `reports/`: every page of every run found there, whoever rendered it and when."""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

from perslib.report.leaderboard import write_leaderboard
from perslib.report.manifest import NAME, write_text
from perslib.report.shelf import Page, common_language, pages_under, shelf_css, template
from perslib.report.words import day, name_of, took
from perslib.text import plural, translate, using_language

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
    manifest_label: str
    state: str
    trouble: str
    failed: str
    """Where the page of a last run that failed is, beside the good one."""


def write_index(root: Path) -> Path:
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook.

    The leaderboard is written with it, and linked where there is one.
    """
    pages = pages_under(root)
    shelves: dict[str, dict[str, list[Card]]] = {}
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


def _card(page: Page) -> Card:
    entry = page.entry
    figures, tables = entry.get("figures", {}), entry.get("tables", {})
    failure = entry.get("failure") or {}
    trouble = failed = ""
    last = entry.get("last_run") or {}
    if last:
        failure = last.get("failure") or {}
        beside = page.folder / f"{page.name}.failed.html"
        failed = beside.relative_to(page.root).as_posix() if beside.is_file() else ""
        state = name_of(f"state_{last['status']}")
        trouble = translate("Last run {state}; this page is from the run before it.", state=state) + " "
    if failure and "failed" in (entry["status"], last.get("status")):
        trouble += translate(
            "Stopped at cell {n}: {error}", n=failure.get("cell"), error=failure.get("error")
        )
    return Card(
        href=page.href,
        title=entry.get("title") or page.name,
        language=page.language,
        status=entry["status"],
        date=day(entry.get("started", "")),
        took=took(entry.get("seconds")),
        picture=_thumbnail(page.folder, figures),
        figures=plural("1 figure", "{n} figures", len(figures)) if figures else "",
        tables=plural("1 table", "{n} tables", len(tables)) if tables else "",
        manifest_label=translate("Manifest"),
        state=name_of(f"state_{entry['status']}"),
        manifest=(page.folder / NAME).relative_to(page.root).as_posix(),
        trouble=trouble.strip(),
        failed=failed,
    )


def _thumbnail(folder: Path, figures: dict[str, list[str]]) -> str:
    """The page's first figure, small, as part of the index itself."""
    from PIL import Image

    for files in figures.values():
        for file in files:
            if file.endswith(".png") and (folder / file).is_file():
                try:
                    with Image.open(folder / file) as full:
                        small = full.convert("RGB")
                except (
                    OSError,
                    SyntaxError,
                    ValueError,
                    Image.DecompressionBombError,
                ) as error:  # a damaged file
                    warnings.warn(f"{folder / file} cannot be shown on the index: {error}", stacklevel=2)
                    continue
                small.thumbnail((_THUMBNAIL_WIDTH, 4 * _THUMBNAIL_WIDTH))
                buffer = io.BytesIO()
                small.save(buffer, "PNG", optimize=True)
                return base64.b64encode(buffer.getvalue()).decode()
    return ""
