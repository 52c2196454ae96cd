"""The page that a notebook is writing: its language, its folder, its running numbers.

A notebook opens it once, `report.begin(out=out, language=language)`; figures, tables, labels and sentences
then come out in that language and go to that folder. In JupyterLab, where `out` is empty, files go to
`reports/lab`.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from perslib.errors import FewTrainUsers, NoModel, NotEnough, ReportError
from perslib.paths import workspace
from perslib.text import current_language, set_language, translate

if TYPE_CHECKING:
    from perslib.corpus import Corpus

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
#: How a number that is not defined is written.
_UNDEFINED = re.compile(r"^–|\bnan\b")


@dataclass
class OpenPage:
    """Folder of the page being written, and the numbers given to its figures and tables."""

    out: Path | None = None
    numbers: dict[str, dict[str, int]] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)
    """Warnings that the page has in words."""

    @property
    def language(self) -> str:
        """The language that the page is in."""
        return current_language()

    def number(self, kind: str, name: str) -> int:
        """Return the running number of a figure or table; running a cell again does not count it twice."""
        given = self.numbers.setdefault(kind, {})
        return given.setdefault(name, len(given) + 1)

    def _ipython_display_(self) -> None:
        """Show nothing when `begin` is the last line of a cell."""

    def folder(self, kind: str) -> Path:
        """Return where figures or tables go; made when it is not there."""
        folder = (self.out or workspace() / "reports" / "lab") / kind
        folder.mkdir(parents=True, exist_ok=True)
        return folder


_current = OpenPage()


def begin(out: str | Path = "", language: str = "en", data: Corpus | None = None) -> OpenPage:
    """Open a page: set the style of figures, the language of labels, and the folder that files go to.

    Of `data` it says on which scale people rated and what judges know of a user, where that is not the usual. On a page that
    is rendered, the warning that a judge has few train users is a sentence, once; in a kernel of the user's, warnings are theirs.
    """
    global _current
    from perslib.llm.ledger import PROGRESS
    from perslib.report.show.style import figure_style

    set_language(language or "en")
    figure_style(current_language())
    if PROGRESS in os.environ:
        warnings.showwarning = _show_warning
    _current = OpenPage(Path(out) if out else None)
    if data is not None and not data.scale.is_five:
        say(
            "People rated on {scale}. Scores on this page are these ratings on 1–5: {dissatisfied:g} is dissatisfied."
            if data.scale.highest_dissatisfied <= data.scale.low
            else "People rated on {scale}. Scores on this page are these ratings on 1–5: {dissatisfied:g} or less is dissatisfied "
            "or neutral, and one point is about {points:.3g} points of theirs.",
            scale=str(data.scale),
            dissatisfied=data.scale.highest_dissatisfied,
            points=(data.scale.high - data.scale.low) / 4,
        )
    if data is not None and data.meta.get("judged") == "conversations":
        say(
            "People rated whole conversations: what is called a reply below is a conversation, and a block is all of one user's in a scenario."
        )
    if data is not None and data.evidence != "scenarios":
        say(
            "Of a user, judges know all conversations but the judged one."
            if data.evidence == "conversations"
            else "Of a user, judges know the conversations before the judged one."
        )
    return _current


def get_open_page() -> OpenPage:
    """Return the page being written; an English one without a folder until `begin` is called."""
    return _current


def check_name(name: str) -> str:
    """Return a name that can be a file on any system and a LaTeX label."""
    if not _NAME.match(name):
        raise ReportError(f"{name!r} cannot name a figure or table: use letters, digits, - and _ only")
    return name


_show_as_usual = warnings.showwarning


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    if isinstance(message, FewTrainUsers):
        if str(message) not in _current.warned:
            say(translate(message.message, **message.values))
        _current.warned.add(str(message))
    else:
        _show_as_usual(message, *where, **more)


def say(message: str, *, counted: Mapping[str, int] | None = None, **values: object) -> None:
    """Show a sentence in the page's language: for narrative with computed numbers in it, as Markdown.

    `values` fill in what stands in braces. `counted` goes to the manifest and the head of the page: `judgments` asked
    for and those `unscored`. Of an empty message nothing is shown.
    """
    if message or counted:
        _show(translate(message, **values), {"kind": "judgments", **counted} if counted else None)


def answer(message: str, **values: object) -> None:
    """Show a sentence of what the page found. A rendered page opens with these, and its card on the index has them.

    Where one of the values in it is no number, too little data is the finding.
    """
    if not message:
        return
    named = {name for _, name, *_ in Formatter().parse(message)}
    if any(_UNDEFINED.search(str(value)) for name, value in values.items() if name in named):
        _show_missing(
            translate(
                "This answer needs a number that is not defined here: there are too few users or scores, or scores that do not differ."
            )
        )
    else:
        text = translate(message, **values)
        _show(text, {"kind": "answer", "text": text})


def _show_missing(lacking: str) -> None:
    _show(lacking, {"kind": "missing", "text": lacking})


def _show(text: str, record: Mapping[str, Any] | None) -> None:
    from perslib.report.page.markup import prose
    from perslib.report.show.html import show_html

    show_html(prose(text), plain=text, record=record)


@contextmanager
def section() -> Iterator[None]:
    """Hold one part of a page: where there is too little data for it, say what is missing, and the page goes on.

    Only `NotEnough` is caught; any other error ends the page.
    """
    try:
        yield
    except NoModel as missing:
        say(missing.message)
    except NotEnough as missing:
        _show_missing(translate(missing.message, **missing.values))
