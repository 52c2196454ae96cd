"""An executed notebook as one self-contained HTML page that reads without its code."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from perslib.report.controls import without_ansi
from perslib.report.markup import narrative
from perslib.report.outputs import output_html
from perslib.report.show import stylesheet
from perslib.report.words import word

HERE = Path(__file__).parent
INJECTED = "injected-parameters"
_H1 = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_IN = re.compile(r"\bIn\[(\d+)\]")
_H2 = re.compile(r'<h2 id="([^"]*)">(.*?)</h2>', re.DOTALL)


@dataclass
class PageInfo:
    """What the frame of a page shows around the notebook."""

    language: str
    corpus: str
    backbone: str
    index: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    figures: Mapping[str, list[str]] = field(default_factory=dict)
    tables: Mapping[str, list[str]] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    title: str = ""
    contents: list[tuple[str, str]] = field(default_factory=list)
    css: str = ""
    script: str = ""

    def word(self, key: str, **fields: object) -> str:
        """A label in the page's language."""
        return word(key, self.language, **fields)

    @property
    def script_hash(self) -> str:
        """What the page's content security policy knows its one script by; no other runs."""
        digest = hashlib.sha256(self.script.encode()).digest()
        return f"sha256-{base64.b64encode(digest).decode()}"


def render_page(nb: Any, info: PageInfo) -> str:
    """The page of an executed notebook: narrative in the page's language, figures, tables, code folded."""
    nb = readable(nb, info.language)
    info.title = info.title or title_of(nb, info.language)
    pieces = [c.metadata["html"] for c in nb.cells if c.cell_type == "markdown"]
    info.contents = [(i, t) for piece in pieces for i, t in _H2.findall(piece)]
    info.css = page_css()
    shown = (piece for cell in nb.cells for piece in cell.metadata.get("shown", ()))
    if any("pl-sortable" in piece for piece in shown):
        info.script = (HERE / "sort.js").read_text(encoding="utf-8")
    page, _ = _exporter().from_notebook_node(nb, resources={"page": info})
    return str(page)


def title_of(nb: Any, language: str) -> str:
    """The first top heading of the narrative in this language."""
    for cell in nb.cells:
        if cell.cell_type == "markdown" and speaks(cell, language) and (found := _H1.search(cell.source)):
            return found[1].strip()
    return str(nb.metadata.get("title", ""))


def speaks(cell: Any, language: str) -> bool:
    """Whether a Markdown cell belongs on a page in this language: tagged for it, or for none."""
    tagged = [t for t in cell.metadata.get("tags", []) if t.startswith("lang-")]
    return not tagged or f"lang-{language}" in tagged


def code_number(nb: Any, index: int) -> int:
    """The number that JupyterLab gives a code cell when the notebook is run from the top.

    The cell of injected parameters is not in the source; it counts as the parameters cell before it.
    """
    cells = nb.cells[: index + 1]
    return sum(c.cell_type == "code" and INJECTED not in c.metadata.get("tags", []) for c in cells)


def readable(nb: Any, language: str) -> Any:
    """A copy of the notebook whose cells carry what the page shows: prose, safe outputs, names of cells."""
    nb = copy.deepcopy(nb)
    numbers = {c.get("execution_count"): code_number(nb, i) for i, c in enumerate(nb.cells)}
    for index, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            injected = INJECTED in cell.metadata.get("tags", [])
            number = code_number(nb, index)
            cell.metadata["anchor"] = "parameters" if injected else f"cell-{number}"
            cell.metadata["label"] = (
                word("parameters", language) if injected else word("code_n", language, n=number)
            )
            shown = [output_html(renumbered(o, numbers), language) for o in merged(cell.outputs)]
            cell.metadata["shown"] = [s for s in shown if s]
    nb.cells = [c for c in nb.cells if c.cell_type != "markdown" or speaks(c, language)]
    titled = False
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            # The page's head shows the first top heading.
            source, found = (cell.source, 0) if titled else _H1.subn("", cell.source, count=1)
            titled = titled or bool(found)
            cell.metadata["html"] = narrative(source)
    return nb


def renumbered(output: Any, numbers: Mapping[Any, int]) -> Any:
    """An error whose traceback calls cells by the page's numbers; the kernel counted the injected one too."""
    if output["output_type"] == "error":

        def cell(match: re.Match[str]) -> str:
            return f"In[{numbers.get(int(match[1]), match[1])}]"

        output["traceback"] = [_IN.sub(cell, line) for line in map(without_ansi, output["traceback"])]
    return output


def merged(outputs: list[Any]) -> list[Any]:
    """The outputs of a cell, consecutive pieces of one stream joined."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            last
            and output["output_type"] == last["output_type"] == "stream"
            and output["name"] == last["name"]
        ):
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined


@cache
def page_css() -> str:
    """All styles of a page: the page's own, those of shown things, and the colours of code."""
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    own = (HERE / "page.css").read_text(encoding="utf-8")
    shown = re.sub(r"</?style>", "", stylesheet())
    light = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    code = re.sub(r"^(pre|td|span)[^{]*\{[^}]*\}\n?", "", light, flags=re.MULTILINE)
    night = re.sub(r"^(pre|td|span)[^{]*\{[^}]*\}\n?", "", dark, flags=re.MULTILINE)
    return f"{shown}\n{code}\n@media screen and (prefers-color-scheme: dark) {{\n{night}\n}}\n{own}"


def _exporter() -> Any:
    from nbconvert import HTMLExporter

    return HTMLExporter(template_name="template", extra_template_basedirs=[str(HERE)])
