"""Runs the cells of a notebook in the test itself: no kernel to start, no page to render."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from perslib.paths import find_bundled
from perslib.report.page import export
from perslib.report.page.rendering import render_page
from perslib.report.show.html import table_html


def run_cells(notebook: str, ends: str = "", **parameters: object) -> None:
    """Run a bundled notebook, cell by cell; with `ends`, none from that heading on.

    A cell that raises fails the test; what they say is printed.
    """
    cells = json.loads(find_bundled(f"notebooks/{notebook}.ipynb").read_text("utf-8"))["cells"]
    text = ["".join(cell["source"]) for cell in cells]
    stop = next((i for i, own in enumerate(text) if ends and ends in own), len(cells))
    code = [i for i, cell in enumerate(cells[:stop]) if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(export.FIGURES, "png")  # the others take most of the time of a small page
        for i in code:
            exec(compile(text[i], f"{notebook}, cell {i}", "exec"), names)
            if i == code[0]:
                names |= parameters
    plt.close("all")


def rendered(*frames: pd.DataFrame, before: str = "") -> str:
    """A page with these tables."""
    outputs = [nbformat.v4.new_output("display_data", {"text/html": before + table_html(frame)}) for frame in frames]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs)])
    return render_page(
        notebook, {"language": "en", "title": "Tables", "corpus": "tiny", "backbone": "none", "index": "index.html"}
    )
