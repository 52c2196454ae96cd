"""Parts of the figures in `perslib.report.plots`: panels, colours, marks, guides, labels and legends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.report.page import current
from perslib.report.style import CATEGORIES, FAINT, INK, literal, literal_name
from perslib.report.words import name_of
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a figure that fills one column of a paper, or its text.
WIDTHS = {"column": 3.5, "text": 7.6}
#: Size of type in a figure for one column, beside that of others.
SMALLER = 0.78
#: Mark and dash of the first, second, third … line.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "8", "d")
DASHES = ("-", "--", "-.", ":")
#: Marks of published numbers: a hollow mark has no edge in the style unless told.
PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "s": 26,
    "facecolor": "none",
    "edgecolor": FAINT,
    "linewidth": 1.2,
    "zorder": 4,
}
Palette = str | Sequence[str] | Mapping[Any, str] | None
Width = str | float


def stack(frame: pd.DataFrame, columns: Sequence[str], name: str = "quantity") -> pd.DataFrame:
    """Return the frame once for each of these estimates: its name in the column `name`, its numbers in value, value_low, value_high."""
    own = {c: {c: "value", f"{c}_low": "value_low", f"{c}_high": "value_high"} for c in columns}
    every = {column for names in own.values() for column in names}
    about = [c for c in frame if c not in every]
    parts = [
        frame[[*about, *(c for c in names if c in frame)]].rename(columns=names) for names in own.values()
    ]
    return pd.concat([part.assign(**{name: c}) for c, part in zip(columns, parts)], ignore_index=True)


def estimates(frame: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a column of estimates and its bounds; bounds are missing where the frame has none."""
    found = frame.reindex(columns=[x, f"{x}_low", f"{x}_high"]).to_numpy(float, na_value=np.nan)
    return found[:, 0], found[:, 1], found[:, 2]


def values_of(frame: pd.DataFrame, column: str, order: Sequence[object] | None = None) -> list[Any]:
    """Return the values of a column in their order, or those of `order` that are there."""
    there = list(dict.fromkeys(frame[column].dropna()))
    return there if order is None else [value for value in order if value in there]


def colors_of(palette: Palette, values: Sequence[Any]) -> dict[Any, Any]:
    """Return a colour for each value."""
    import seaborn as sns

    if isinstance(palette, Mapping):
        return {value: palette.get(value, FAINT) for value in values}
    chosen = CATEGORIES if palette is None else palette
    return dict(zip(values, sns.color_palette(chosen, len(values))))


def subplots(
    lines: int, columns: int, width: Width, height: float, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Open a figure in the page's style; return it with its axes."""
    import matplotlib.pyplot as plt

    current()  # the page's style and language
    inches = WIDTHS[width] if isinstance(width, str) else width
    fig, axes = plt.subplots(lines, columns, figsize=(inches, height), squeeze=False, **shared)
    return fig, list(axes.flat)


def panels_of(
    frame: pd.DataFrame, column: str, width: Width, height: Callable[[int], float], shared: bool = True
) -> tuple[Figure, Iterator[tuple[Axes, pd.DataFrame]]]:
    """Open a figure with a panel for each value of the column, at most four side by side; give each panel with its part.

    With `shared` they have one y axis.
    """
    titles = values_of(frame, column) if column else [None]
    most = 1 if width == "column" else 5 if len(titles) == 5 else 4
    columns = min(most, len(titles)) or 1
    lines = -(-len(titles) // columns) or 1
    fig, axes = subplots(lines, columns, width, height(len(titles)) * lines, sharey=shared, sharex=False)
    for ax in axes[len(titles) :]:
        ax.set_visible(False)
    for ax, title in zip(axes, titles):
        wide = int(fig.get_size_inches()[0] * 11 / columns)  # characters
        ax.set_title("" if title is None else fill(literal_name(title, 90), wide), fontsize=10, loc="left")
    return fig, ((ax, frame if t is None else frame[frame[column] == t]) for ax, t in zip(axes, titles))


def draw_guides(ax: Axes, level: float | None, diagonal: bool, upright: float | None = None) -> None:
    """Draw thin lines to compare with."""
    look: dict[str, Any] = {"color": FAINT, "linewidth": 0.7, "zorder": 0}
    if level is not None:
        ax.axhline(level, **look)
    if upright is not None:
        ax.axvline(upright, **look)
    if diagonal:
        at = max(ax.get_xlim()[0], ax.get_ylim()[0])  # within what is shown: the origin may be far away
        ax.axline((at, at), slope=1, linestyle=(0, (4, 3)), **look)


def label_axes(fig: Figure, xlabel: str, ylabel: str = "") -> None:
    """Label the axes, or all panels together."""
    shown = [ax for ax in fig.axes if ax.get_visible()]
    if len(shown) == 1:
        shown[0].set(xlabel=translate(xlabel), ylabel=translate(ylabel))
        return
    if xlabel:
        fig.supxlabel(translate(xlabel), fontsize=10)
    if ylabel:
        fig.supylabel(translate(ylabel), fontsize=10)


def handles_of(handle: Callable[..., Any], colors: Mapping[Any, Any], values: Iterable[Any]) -> list[Any]:
    """Return a mark or line for each value that the legend explains."""
    named = ((i, value) for i, value in enumerate(values) if value is not None)
    return [handle(place, colors[value], name_of(str(value))) for place, value in named]


def mark_handle(place: int, color: Any, label: str, edge: Any = None) -> Any:
    """Return a mark for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {
        "marker": MARKS[place % len(MARKS)],
        "markerfacecolor": color,
        "linestyle": "",
        "markersize": 5,
    }
    return Line2D([], [], color=edge or color, **look, label=literal(label))


def line_handle(place: int, color: Any, label: str, marker: str | None = None) -> Any:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {
        "marker": MARKS[place % len(MARKS)] if marker is None else marker,
        "linestyle": DASHES[place % len(DASHES)],
        "markersize": 5,
    }
    return Line2D([], [], color=color, **look, label=literal(label))


def cell_frame(column: int, row: int) -> Any:
    """Return the frame of a cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, linewidth=1.4)


def add_legend(fig: Figure, handles: Iterable[Any] = (), place: Any = "outside upper left") -> Figure:
    """Add a legend where there is something to explain, as many entries a line as fit; return the figure.

    In a figure for one column all type is smaller.
    """
    scale = SMALLER if fig.get_figwidth() <= WIDTHS["column"] else 1.0
    if handles := list(handles):
        widest = max(sum(2 if ord(c) > 0x2E7F else 1 for c in handle.get_label()) for handle in handles)
        room = fig.get_figwidth() * 13 / scale / (widest + 6)  # characters an inch, at 9 points
        columns = 1 if "right" in place else max(1, min(len(handles), 5, int(room)))
        fig.legend(handles=handles, loc=place, ncol=columns, fontsize=9, handlelength=2.2)
    if scale < 1:
        from matplotlib.text import Text

        for ax in fig.axes:
            ax.tick_params(labelsize=9 * scale)
        for text in fig.findobj(Text):
            size = float(text.get_fontsize())
            text.set_fontsize(size if size <= 9 * scale else size * scale)
    return fig
