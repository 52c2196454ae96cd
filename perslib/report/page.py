"""The page that a notebook is writing: its language, its folder, its running numbers.

A notebook opens it once, `report.begin(out=out, language=language)`; figures, tables, labels and sentences
then come out in that language and go to that folder. In JupyterLab, where `out` is empty, files go to
`reports/lab`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from perslib.errors import ReportError, UnknownName
from perslib.paths import workspace
from perslib.report.words import LANGUAGES, word

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")


@dataclass
class Page:
    """Language and folder of the page being written, and the numbers given to its figures and tables."""

    language: str = "en"
    out: Path | None = None
    numbers: dict[str, dict[str, int]] = field(default_factory=dict)

    def word(self, key: str, **fields: object) -> str:
        """A label in the page's language."""
        return word(key, self.language, **fields)

    def number(self, kind: str, name: str) -> int:
        """The running number of a figure or table; running a cell again does not count it twice."""
        given = self.numbers.setdefault(kind, {})
        return given.setdefault(name, len(given) + 1)

    def _ipython_display_(self) -> None:
        """Nothing to see when `begin` is the last line of a cell."""

    def folder(self, kind: str, out: str | Path | None = None) -> Path:
        """Where figures or tables go; made when it is not there."""
        base = Path(out) if out else self.out or workspace() / "reports" / "lab"
        (base / kind).mkdir(parents=True, exist_ok=True)
        return base / kind


_current = Page()


def begin(out: str | Path = "", language: str = "en") -> Page:
    """Open a page: set the style of figures, the language of labels, and the folder that files go to."""
    global _current
    from perslib.report.style import figure_style

    language = language or "en"
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    figure_style()
    _current = Page(language, Path(out) if out else None)
    return _current


def current() -> Page:
    """The page being written; an English one without a folder until `begin` is called."""
    return _current


def check_name(name: str) -> str:
    """A name that can be a file on any system and a LaTeX label."""
    if not _NAME.match(name):
        raise ReportError(f"{name!r} cannot name a figure or table: use letters, digits, - and _ only")
    return name


def text(en: str, zh: str) -> str:
    """The one of two texts that is in the page's language: for captions and titles."""
    return zh if _current.language == "zh" else en


def say(en: str, zh: str) -> None:
    """Show a sentence in the page's language: for narrative with computed numbers in it, as Markdown."""
    from perslib.report.markup import prose
    from perslib.report.show import show_html

    said = text(en, zh)
    show_html(prose(said), plain=said)
