"""What lies under `reports/`: every page of every run, whoever rendered it and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perslib.report.manifest import NAME, read_manifest
from perslib.report.render import HERE, page_css
from perslib.text import translate


@dataclass(frozen=True)
class Page:
    """A page that a manifest speaks of; its file may be missing, when the run goes on or was stopped."""

    root: Path
    folder: Path
    name: str
    entry: dict[str, Any]

    @property
    def href(self) -> str:
        """Where it is, seen from `root`; empty where there is no file."""
        path = self.folder / f"{self.name}.html"
        return path.relative_to(self.root).as_posix() if path.is_file() else ""

    @property
    def language(self) -> str:
        """The language it is written in."""
        return str(self.entry.get("language", "en"))

    @property
    def corpus(self) -> str:
        """What its corpus is called."""
        return str(self.entry.get("corpus", {}).get("label") or self.folder.parent.name)


def pages_under(root: Path) -> list[Page]:
    """All pages, folder by folder."""
    return [
        Page(root, file.parent, name, entry)
        for file in sorted(root.glob(f"*/*/{NAME}"))
        for name, entry in read_manifest(file.parent)["pages"].items()
    ]


def common_language(pages: Iterable[Page]) -> str:
    """Chinese where all pages are in Chinese, else English."""
    return "zh" if {page.language for page in pages} == {"zh"} else "en"


def template(name: str) -> Any:
    """A page template by its file's name; what is filled in is escaped."""
    import jinja2

    loader = jinja2.FileSystemLoader(HERE / "template")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals["_"] = translate
    return environment.get_template(name)


def shelf_css() -> str:
    """The styles of the index and of what stands beside it."""
    return page_css() + (HERE / "index.css").read_text(encoding="utf-8")
