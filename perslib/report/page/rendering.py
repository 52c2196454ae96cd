"""An executed notebook as one self-contained HTML page that reads without its code.

What a cell printed is one safe piece of HTML an output: progress bars, widgets and the standard error stream are left
out; Python warnings are kept as notes.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perslib.report.page.markup import narrative, prose, safe_html
from perslib.report.show.html import CALLABLE, fill, stylesheet
from perslib.text import remove_ansi, show_hidden, translate, translate_markdown

_BAR = re.compile(r"\d+%\|.*\|\s*\d+|\d+(it|\S*/\S+)? \[\d\d:\d\d.*\]")
_WARNING = re.compile(r"^(?P<place>\S.*?:\d+): (?P<kind>\w*Warning): (?P<text>.*)$")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")


def output_html(output: Any, numbers: Mapping[Any, int] | None = None) -> str:
    """Return one output of a cell as safe HTML, empty when it is nothing for a reader.

    `numbers` maps the kernel's numbers of cells to those that a traceback shows.
    """
    if output["output_type"] == "stream":
        return _stream(str(output["text"]), output["name"])
    if output["output_type"] == "error":
        return _error(output, numbers or {})
    return _display(output["data"], output.get("metadata", {}))


# -- streams -----------------------------------------------------------------------------------------------


def _stream(text: str, name: str) -> str:
    if name == "stderr":
        return "".join(fill("warning", kind=kind, message=message) for kind, message in warnings_in(text))
    lines = (line.rstrip().rsplit("\r", 1)[-1] for line in remove_ansi(text).replace("\r\n", "\n").split("\n"))
    without_bars = "\n".join(line for line in lines if not _BAR.search(line)).strip("\n")
    return fill("pre", kind="stream", text=without_bars) if without_bars.strip() else ""


def warnings_in(stderr: str) -> list[tuple[str, str]]:
    """Return the Python warnings in a standard error stream, each once: (category, message)."""
    warnings: dict[tuple[str, str], None] = {}
    lines = iter(remove_ansi(stderr).replace("\r", "\n").split("\n"))
    for match in filter(None, map(_WARNING.match, lines)):
        warnings[match["kind"], " ".join([match["text"], *_rest_of_message(lines)])] = None
    return list(warnings)


def _rest_of_message(lines: Iterator[str]) -> Iterator[str]:
    """Yield a message may run over several lines; the indented source line after it ends it."""
    for line in lines:
        if not line.strip() or line.startswith("  "):
            return
        yield line.strip()


# -- results -----------------------------------------------------------------------------------------------


def _display(data: Any, metadata: Any) -> str:
    if _WIDGET in data:
        return ""
    if "text/html" in data:
        # Our own stylesheet is in every output for JupyterLab's sake; the page has it once.
        own = str(data["text/html"]).replace(stylesheet(), "")
        return f'<div class="output">{safe_html(show_hidden(own))}</div>'
    for kind in _PICTURES:
        if kind in data:
            return _picture(kind, str(data[kind]), metadata.get(kind, {}))
    if "text/markdown" in data:
        return f'<div class="output">{prose(show_hidden(str(data["text/markdown"])))}</div>'
    plain = data.get("text/plain")
    return "" if plain is None else fill("pre", kind="output", text=remove_ansi(str(plain)))


def _picture(kind: str, content: str, size: Any) -> str:
    """Return a picture as an image of the page itself; an SVG too, so that scripts in it stay dead."""
    is_svg = kind == "image/svg+xml"
    code = base64.b64encode(content.encode()).decode() if is_svg else content.replace("\n", "")
    return fill("image", kind=kind, code=code, width=int(size["width"]) if "width" in size else None)


def _error(output: Any, numbers: Mapping[Any, int]) -> str:
    # The kernel counted the cell of injected parameters too.
    trace = _IN.sub(
        lambda cell: f"In[{numbers.get(int(cell[1]), cell[1])}]", remove_ansi("\n".join(output["traceback"]))
    )
    return fill("failure", message=remove_ansi(f"{output['ename']}: {output['evalue']}"), trace=trace)


HERE = Path(__file__).parent
INJECTED = "injected-parameters"
_H1 = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_IN = re.compile(r"\bIn\[(\d+)\]")
_H2 = re.compile(r'<h2 id="([^"]*)">(.*?)</h2>', re.DOTALL)


def render_page(nb: Any, frame: Mapping[str, Any]) -> str:
    """Return the page of an executed notebook: narrative in the page's language, figures, tables, code folded.

    `frame` has what the template shows around it: language, title, corpus, backbone, index, facts, figures, tables,
    failure.
    """
    nb = make_page_notebook(nb)
    pieces = [c.metadata["html"] for c in nb.cells if c.cell_type == "markdown"]
    if browser := frame.get("verdict_browser"):
        for cell in nb.cells:
            cell.metadata["shown"] = [_link_turns(piece, browser) for piece in cell.metadata.get("shown", ())]
    shown = [piece for cell in nb.cells for piece in cell.metadata.get("shown", ())]
    sorts = any("pl-sortable" in piece for piece in shown)
    script = (HERE / "sort.js").read_text(encoding="utf-8") if sorts else ""
    page = {
        **frame,
        "opening": nb.metadata["opening"],
        "contents": [match for piece in pieces for match in _H2.findall(piece)],
        "css": page_css(),
        "script": script,
        "script_hash": hash_script(script),
    }
    return str(_exporter().from_notebook_node(nb, resources={"page": page})[0])


def _link_turns(piece: str, browser: str) -> str:
    """Return a piece of the page whose rows on a reply lead to it in the file of all verdicts."""

    def link(cell: re.Match[str]) -> str:
        place = re.search(r'title="([^"]*)"', cell[1])
        href = f"{browser}#{quote(html.unescape(place[1]), safe='')}" if place else ""
        return f'<td{cell[1]}><a href="{html.escape(href)}">{cell[2]}</a></td>' if href else cell[0]

    return re.sub(r"<td\b([^>]*\bpl-turn\b[^>]*)>([^<]*)</td>", link, piece)


def title_of(nb: Any) -> str:
    """Return the first top heading of the narrative."""
    for cell in nb.cells:
        if cell.cell_type == "markdown" and (match := _H1.search(translate_markdown(cell.source))):
            return match[1].strip()
    return str(nb.metadata.get("title", ""))


_OUT = re.compile(r"^out = .*\n?", re.MULTILINE)


def list_code(nb: Any) -> list[str]:
    """Return the code of a notebook, cell by cell, without the cell that a run replaces: the first of injected parameters."""
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    replaced = next((cell for cell in code if INJECTED in cell.metadata.get("tags", [])), None)
    return [cell.source.strip() for cell in code if cell is not replaced]


def code_number(nb: Any, index: int) -> int:
    """Return the number that JupyterLab gives a code cell when the notebook is run from the top.

    The cell of injected parameters is not in the source; it counts as the parameters cell before it.
    """
    cells = nb.cells[: index + 1]
    return sum(c.cell_type == "code" and INJECTED not in c.metadata.get("tags", []) for c in cells)


def make_page_notebook(nb: Any) -> Any:
    """Return a copy of the notebook whose cells carry what the page shows: prose, safe outputs, names of cells.

    The notebook itself carries what the page opens with: the sentences of its answer, then the figures that lead.
    What is missing is said once between two headings, however many cells lack it.
    """
    from nbconvert.preprocessors import CoalesceStreamsPreprocessor

    nb, _ = CoalesceStreamsPreprocessor().preprocess(copy.deepcopy(nb), {})
    numbers = {c.get("execution_count"): code_number(nb, i) for i, c in enumerate(nb.cells)}
    titled, answers, leading, stated = False, list[str](), list[str](), set[str]()
    opens, kinds = opening_kind(nb), {record["kind"] for record in records_of(nb)}
    for index, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            n, injected = code_number(nb, index), INJECTED in cell.metadata.get("tags", [])
            label = translate("Parameters") if injected else translate("Code, cell {n}", n=n)
            if injected:  # where the page lies says nothing of it
                cell.source = _OUT.sub("", cell.source)
            shown: list[str] = []
            for output in cell.outputs:
                recorded = _record(output)
                place = answers if recorded.get("kind") == opens else leading if recorded.get("leads") else shown
                piece = output_html(output, numbers)
                if piece and not (recorded.get("kind") == "missing" and piece in stated):
                    place.append(piece)
                    stated.add(piece)
            anchor = "parameters" if injected else f"cell-{n}"
            figures = all("<figure" in piece for piece in shown)
            cell.metadata |= {"anchor": anchor, "label": label, "shown": shown, "figures": figures}
        elif cell.cell_type == "markdown":
            # The page's head shows the first top heading.
            source = translate_markdown(cell.source)
            if not titled and (heading := _H1.search(source)):
                source, titled = source.replace(heading[0], "", 1), True
            cell.metadata["html"], stated = narrative(source), set()
    renumber = _number_as_shown(nb)
    for cell in nb.cells:
        if "shown" in cell.metadata:
            cell.metadata["shown"] = [renumber(piece) for piece in cell.metadata["shown"]]
    nb.cells = list(_without_silent_sections(nb, "missing" in kinds))
    nb.metadata["opening"] = [*dict.fromkeys(answers), *map(renumber, leading)]
    return nb


def _number_as_shown(nb: Any) -> Callable[[str], str]:
    """Return what numbers the figures of the page in the order in which it shows them: those that lead come first."""
    saved = (_record(output) for cell in nb.cells for output in cell.get("outputs", []))
    was = list(dict.fromkeys(record.get("name") for record in saved if record.get("kind") == "figures"))
    shown = list(dict.fromkeys(record.get("name") for record in records_of(nb) if record["kind"] == "figures"))
    labels = {
        html.escape(translate("Figure {n}.", n=was.index(name) + 1)): html.escape(translate("Figure {n}.", n=n))
        for n, name in enumerate(shown, 1)
    }
    caption = re.compile("|".join(rf"(?<=<b>){re.escape(label)}(?=</b>)" for label in labels) or r"(?!)")
    return lambda piece: caption.sub(lambda match: labels[match[0]], piece, count=1)


def records_of(nb: Any) -> list[Mapping[str, Any]]:
    """Return what the outputs of a notebook say of themselves, each its `kind`: what leads the page, then the rest in
    its order.
    """
    records = (_record(output) for cell in nb.cells for output in cell.get("outputs", []))
    return sorted((record for record in records if "kind" in record), key=lambda record: not record.get("leads"))


def find_answers(nb: Any) -> list[str]:
    """Return the sentences that the page opens with, each once."""
    kind = opening_kind(nb)
    return list(dict.fromkeys(record["text"] for record in records_of(nb) if record["kind"] == kind))


def hash_script(script: str) -> str:
    """Return what a page's content security policy knows its one script by; no other runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def opening_kind(nb: Any) -> str:
    """Return the kind of sentences that the page opens with: its answers, or what is missing where it has none."""
    return "answer" if any(record["kind"] == "answer" for record in records_of(nb)) else "missing"


def _record(output: Any) -> Mapping[str, Any]:
    """Return what an output says of itself: its kind, and whether it leads the page."""
    return output.get("metadata", {}).get("perslib", {})


def _without_silent_sections(nb: Any, every: bool) -> Iterator[Any]:
    """Yield the cells, without sections whose code shows nothing: all such, or those whose heading is tagged `optional`."""
    sections: list[list[Any]] = [[]]
    for cell in nb.cells:
        if "<h2" in cell.metadata.get("html", ""):
            sections.append([])
        sections[-1].append(cell)
    for own in sections:
        can_go = own is not sections[0] and (every or "optional" in own[0].metadata.get("tags", []))
        if not can_go or any(cell.get("outputs") for cell in own):
            yield from own


@cache
def page_css() -> str:
    """Return all styles of a page: the page's own, those of shown things, and the colours of code."""
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    own = (HERE / "page.css").read_text(encoding="utf-8")
    shown = re.sub(r"</?style>", "", stylesheet())
    code, night = (
        re.sub(r"^(pre|td|span)[^{]*\{[^}]*\}\n?", "", styles.get_style_defs(".highlight"), flags=re.MULTILINE)
        for styles in (HtmlFormatter(style="friendly"), HtmlFormatter(style="github-dark"))
    )
    return f"{shown}\n{code}\n@media screen and (prefers-color-scheme: dark) {{\n{night}\n}}\n{own}"


def shelf_css() -> str:
    """Return the styles of the index and of what stands beside it."""
    return page_css() + (HERE / "index.css").read_text(encoding="utf-8")


def _exporter() -> Any:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="template", extra_template_basedirs=[str(HERE.parent / "show")])
    exporter.environment.globals |= CALLABLE
    return exporter
