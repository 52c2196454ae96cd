"""What a cell printed, made fit for a page: one safe piece of HTML an output, and no noise.

Progress bars, widgets and the standard error stream are left out; Python warnings are kept as notes.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from typing import Any

from perslib.report.controls import controls_shown, without_ansi
from perslib.report.markup import prose, safe_html
from perslib.report.show import stylesheet
from perslib.report.words import word

_BAR = re.compile(r"\d+%\|.*\|\s*\d+|\d+(it|\S*/\S+)? \[\d\d:\d\d.*\]")
_WARNING = re.compile(r"^(?P<place>\S.*?:\d+): (?P<kind>\w*Warning): (?P<text>.*)$")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")


def output_html(output: Any, language: str) -> str:
    """One output of a cell as safe HTML, empty when it is nothing for a reader."""
    if output["output_type"] == "stream":
        return _stream(str(output["text"]), output["name"], language)
    if output["output_type"] == "error":
        return _error(output)
    return _display(output["data"], output.get("metadata", {}), language)


# -- streams -----------------------------------------------------------------------------------------------


def _stream(text: str, name: str, language: str) -> str:
    if name == "stderr":
        return "".join(_note(kind, message, language) for kind, message in warnings_in(text))
    lines = (
        line.rstrip().rsplit("\r", 1)[-1] for line in without_ansi(text).replace("\r\n", "\n").split("\n")
    )
    kept = "\n".join(line for line in lines if not _BAR.search(line)).strip("\n")
    return f'<pre class="stream">{html.escape(controls_shown(kept))}</pre>' if kept.strip() else ""


def warnings_in(stderr: str) -> list[tuple[str, str]]:
    """The Python warnings in a standard error stream, each once: (category, message)."""
    found: dict[tuple[str, str], None] = {}
    lines = iter(without_ansi(stderr).replace("\r", "\n").split("\n"))
    for match in filter(None, map(_WARNING.match, lines)):
        found[match["kind"], " ".join([match["text"], *_rest_of_message(lines)])] = None
    return list(found)


def _rest_of_message(lines: Iterator[str]) -> Iterator[str]:
    """A message may run over several lines; the indented source line after it ends it."""
    for line in lines:
        if not line.strip() or line.startswith("  "):
            return
        yield line.strip()


def _note(kind: str, message: str, language: str) -> str:
    head = f"{word('warning', language)} · {kind}" if kind != "UserWarning" else word("warning", language)
    return f'<div class="note"><b>{head}</b> {html.escape(controls_shown(message))}</div>'


# -- results -----------------------------------------------------------------------------------------------


def _display(data: Any, metadata: Any, language: str) -> str:
    if _WIDGET in data:
        return ""
    if "text/html" in data:
        # Our own stylesheet is in every output for JupyterLab's sake; the page has it once.
        own = str(data["text/html"]).replace(stylesheet(), "")
        return f'<div class="output">{safe_html(controls_shown(own))}</div>'
    for kind in _PICTURES:
        if kind in data:
            return _picture(kind, str(data[kind]), metadata.get(kind, {}), word("picture", language))
    if "text/markdown" in data:
        return f'<div class="output">{prose(controls_shown(str(data["text/markdown"])))}</div>'
    if "text/plain" in data:
        return (
            f'<pre class="output">{html.escape(controls_shown(without_ansi(str(data["text/plain"]))))}</pre>'
        )
    return ""


def _picture(kind: str, content: str, size: Any, alt: str) -> str:
    """A picture as an image of the page itself; an SVG too, so that scripts in it stay dead."""
    code = (
        base64.b64encode(content.encode()).decode() if kind == "image/svg+xml" else content.replace("\n", "")
    )
    width = f' width="{int(size["width"])}"' if "width" in size else ""
    return f'<figure class="pl-figure"><img src="data:{kind};base64,{html.escape(code)}" alt="{alt}"{width}></figure>'


def _error(output: Any) -> str:
    trace = controls_shown(without_ansi("\n".join(output["traceback"])))
    said = controls_shown(without_ansi(f"{output['ename']}: {output['evalue']}"))
    return f'<div class="failure"><b>{html.escape(said)}</b><pre>{html.escape(trace)}</pre></div>'
