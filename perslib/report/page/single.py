"""A page by itself, without a notebook: a sentence, a figure, a table, and what they rest on."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from perslib.report.page.rendering import page_css
from perslib.report.show.html import load_template, table_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_single_page(
    path: Path, title: str, answer: str, figure: Figure, caption: str, table: pd.DataFrame, notes: Sequence[str]
) -> Path:
    """Write a page that needs nothing beside it; return its path."""
    import matplotlib.pyplot as plt

    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    plt.close(figure)
    page = {"title": title, "answer": answer, "caption": caption, "notes": notes, "css": page_css()}
    page |= {"picture": base64.b64encode(picture.getvalue()).decode(), "table": table_html(table)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(load_template("single.html.j2").render(page), "utf-8")
    return path
