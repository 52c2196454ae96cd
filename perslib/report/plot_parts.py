"""Parts of the figures in `perslib.report.plots`: panels, colours, marks, guides, labels and legends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from perslib.report.page import current
from perslib.report.style import CATEGORIES, FAINT, INK, literal_name
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a figure that fills one column of a paper, or its text.
WIDTHS = {"column": 3.5, "text": 7.6}
#: Mark and dash of the first, second, third … line.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "8", "d")
DASHES = ("-", "--", "-.", ":")
Palette = str | Sequence[str] | Mapping[Any, str] | None
Width = str | float


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
    frame: pd.DataFrame, column: str, width: Width, height: Callable[[int], float]
) -> tuple[Figure, Iterator[tuple[Axes, pd.DataFrame]]]:
    """Open a figure with a panel for each value of the column, at most four side by side; give each panel with its part."""
    titles = values_of(frame, column) if column else [None]
    columns = min(1 if width == "column" else 4, len(titles)) or 1
    lines = -(-len(titles) // columns) or 1
    fig, axes = subplots(lines, columns, width, height(len(titles)) * lines, sharey=True, sharex=False)
    for ax in axes[len(titles) :]:
        ax.set_visible(False)
    for ax, title in zip(axes, titles):
        ax.set_title("" if title is None else literal_name(title), fontsize=10, loc="left")
    return fig, ((ax, frame if t is None else frame[frame[column] == t]) for ax, t in zip(axes, titles))


def draw_guides(ax: Axes, level: float | None, diagonal: bool, upright: float | None = None) -> None:
    """Draw thin lines to compare with."""
    look: dict[str, Any] = {"color": FAINT, "linewidth": 0.7, "zorder": 0}
    if level is not None:
        ax.axhline(level, **look)
    if upright is not None:
        ax.axvline(upright, **look)
    if diagonal:
        ax.axline((0, 0), slope=1, linestyle=(0, (4, 3)), **look)


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


def mark_handle(marker: str, color: Any, label: object, edge: Any = None) -> Any:
    """Return a mark for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {
        "marker": marker,
        "color": edge or color,
        "markerfacecolor": color,
        "linestyle": "",
        "markersize": 5,
    }
    return Line2D([], [], **look, label=literal_name(label))


def line_handle(place: int, color: Any, label: object) -> Any:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {
        "marker": MARKS[place % len(MARKS)],
        "linestyle": DASHES[place % len(DASHES)],
        "markersize": 5,
    }
    return Line2D([], [], color=color, **look, label=literal_name(label))


def cell_frame(column: int, row: int) -> Any:
    """Return the frame of a cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, linewidth=1.4)


def add_legend(fig: Figure, handles: Iterable[Any], place: Any = "outside upper left") -> Figure:
    """Add a legend where there is something to explain; return the figure."""
    if handles := list(handles):
        columns = 1 if "right" in place else min(len(handles), 5)
        fig.legend(handles=handles, loc=place, ncol=columns, fontsize=9, handlelength=2.2)
    return fig
