"""A long table in the lab that is sorted by its heads; pages do it by themselves (`sort.js`), by the same rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.report.show import cell, header_of, is_numeric, stylesheet, table_html

if TYPE_CHECKING:
    from ipywidgets import Widget

_NUMBER = re.compile(r"[$¥<>≈]?\s*([+−-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+))(?=$|[\s%*†±\[(])")
_EMPTY = ("", "–", "—")
_ARROWS = {"ascending": " ▲", "descending": " ▼"}
_NARROWEST, _WIDEST = 6, 40


def sorting_key(column: pd.Series) -> pd.Series:
    """What a column is sorted by: numbers by value, also where text follows (`.371 [.237, .455]`), else its text.

    Cells with nothing in them, and dashes, are missing: they stay last either way.
    """
    if is_numeric(column) or pd.api.types.is_datetime64_any_dtype(column):
        return column
    texts = column.map(lambda value: cell(value, column=column.name).strip())
    texts = texts.where(~texts.isin(_EMPTY))
    found = texts.dropna().map(_NUMBER.match)
    if len(found) and found.map(bool).all():
        return found.map(lambda m: float(m[1].replace("−", "-").replace(",", ""))).reindex(column.index)
    return texts.map(_in_order, na_action="ignore")


def _in_order(text: str) -> tuple[tuple[int, str], ...]:
    """Text as people order it: `u2` before `u10`, capitals as small letters."""
    parts = re.split(r"(\d+)", text.casefold())
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts if part)


def sorted_by(frame: pd.DataFrame, column: int, direction: str) -> pd.DataFrame:
    """The frame sorted by its column number `column`, ascending or descending; ties stay as they came."""
    key = sorting_key(frame.iloc[:, column]).reset_index(drop=True)
    filled = key[key.notna()]
    order = sorted(
        filled.index, key=filled.__getitem__, reverse=direction == "descending"
    )  # stable either way
    return frame.iloc[[*order, *key.index[key.isna()]]]


def sortable(frame: pd.DataFrame, digits: int = 2) -> Widget:
    """Show a frame as a table with a button for each head: ascending, descending, as it came.

    For JupyterLab and Voilà. It is for looking only: a rendered page leaves widgets out, and sorts the tables of
    `show_table` and `save_table` itself.
    """
    import ipywidgets

    widths = _widths(frame, digits)
    shares = [100 * w / sum(widths) for w in widths]
    table = ipywidgets.HTML(layout={"width": "100%", "margin": "0"})
    layout = {"width": "auto", "margin": "0", "height": "auto"}
    buttons = [ipywidgets.Button(layout=layout, tooltip=header_of(c)) for c in frame.columns]
    state: dict[str, Any] = {"column": None, "direction": None}

    def show() -> None:
        column, direction = state["column"], state["direction"]
        shown = frame if direction is None else sorted_by(frame, column, direction)
        table.value = _body(shown, digits, shares, column, direction)
        for i, (button, name) in enumerate(zip(buttons, frame.columns)):
            button.description = header_of(name) + (_ARROWS[direction] if direction and i == column else "")

    def press(column: int) -> None:
        following = {None: "ascending", "ascending": "descending", "descending": None}
        was = state["direction"] if state["column"] == column else None
        state.update(column=column, direction=following[was])
        show()

    for i, button in enumerate(buttons):
        button.add_class("pl-head-button")
        if is_numeric(frame.iloc[:, i]):
            button.add_class("pl-head-number")
        button.on_click(lambda _, column=i: press(column))
    columns = " ".join(f"minmax(0, {share:.3f}%)" for share in shares)
    heads = ipywidgets.GridBox(buttons, layout={"grid_template_columns": columns, "width": "100%"})
    room = {"min_width": f"{0.55 * sum(widths):.0f}em", "max_width": f"{sum(widths):.0f}em", "width": "100%"}
    inner = ipywidgets.VBox([heads, table], layout=room)
    box = ipywidgets.Box([inner], layout={"overflow": "auto hidden", "width": "100%"})
    box.add_class("pl-sorted")
    show()
    return box


def _widths(frame: pd.DataFrame, digits: int) -> list[int]:
    """How many characters each column is given, head and arrow included."""
    longest = []
    for i, name in enumerate(frame.columns):
        texts = [header_of(name) + "  ▲", *(cell(v, digits, name) for v in frame.iloc[:, i])]
        longest.append(max(sum(1 + (ord(c) > 0x2E7F) for c in text) for text in texts))
    return [int(np.clip(n, _NARROWEST, _WIDEST)) + 3 for n in longest]


def _body(
    frame: pd.DataFrame, digits: int, shares: list[float], column: int | None, direction: str | None
) -> str:
    """The table under the buttons: its own head is there for those who hear the page, and holds the widths."""
    heads = iter(enumerate(shares))

    def head(match: re.Match[str]) -> str:
        i, share = next(heads)
        order = f" aria-sort='{direction}'" if direction and i == column else ""
        return f"<th style='width:{share:.3f}%'{order}"

    return stylesheet() + re.sub(r"<th(?=[ >])", head, table_html(frame, digits=digits))
