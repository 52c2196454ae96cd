"""The first page of `reports/`: every page of every run found there, whoever rendered it and when."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perslib.report.atomic import write_text
from perslib.report.manifest import NAME, read_manifest
from perslib.report.render import HERE, page_css
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
    """Write `index.html` over all manifests under `root`: by corpus, then backbone, then notebook."""
    shelves: dict[str, dict[str, list[Card]]] = {}
    spoken = set()
    for file in sorted(root.glob(f"*/*/{NAME}")):
        folder = file.parent
        for name, entry in read_manifest(folder)["pages"].items():
            corpus = entry.get("corpus", {}).get("label") or folder.parent.name
            shelves.setdefault(corpus, {}).setdefault(folder.name, []).append(
                _card(root, folder, name, entry)
            )
            spoken.add(entry.get("language", "en"))
    language = "zh" if spoken == {"zh"} else "en"
    return write_text(
        root / "index.html", _template().render(shelves=shelves, language=language, word=word, css=_css())
    )


def _card(root: Path, folder: Path, name: str, entry: dict[str, Any]) -> Card:
    language = entry.get("language", "en")
    page = folder / f"{name}.html"
    figures, tables = entry.get("figures", {}), entry.get("tables", {})
    failure = entry.get("failure") or {}
    trouble = ""
    if entry["status"] == "failed" and failure:
        trouble = word("index_failed", language, n=failure.get("cell"), error=failure.get("error"))
    return Card(
        href=page.relative_to(root).as_posix() if page.is_file() else "",
        title=entry.get("title") or name,
        language=language,
        status=entry["status"],
        date=day(entry.get("started", "")),
        took=took(entry.get("seconds"), language),
        picture=_thumbnail(folder, figures),
        figures=_counted("figure", len(figures), language),
        tables=_counted("table", len(tables), language),
        manifest=(folder / NAME).relative_to(root).as_posix(),
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


def _css() -> str:
    return page_css() + (HERE / "index.css").read_text(encoding="utf-8")


def _template() -> Any:
    import jinja2

    loader = jinja2.FileSystemLoader(HERE / "template")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(
        "shelf.html.j2"
    )
