"""Parts of the figures in `perslib.report.show.plots`: panels, colours, marks, guides, labels and legends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd

from perslib.report.page.page import get_open_page
from perslib.report.show.style import CATEGORIES, FAINT, escape_figure_text, literal_name
from perslib.report.show.words import name_of
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a figure that fills one column of a paper, or its text.
WIDTHS = {"column": 3.5, "text": 7.6}
#: The environment variable that gives all figures one width of these; where it is not set, each has its own.
WIDTH = "PERSLIB_FIGURE_WIDTH"
#: Size of type in a figure for one column, beside that of others.
SMALLER = 0.78
#: Mark and dash of the first, second, third … line.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "8", "d")
DASHES = ("-", "--", "-.", ":")
Palette = str | Sequence[str] | Mapping[Any, str] | None
Width = str | float


class Look(TypedDict, total=False):
    """What the figures take besides their frame; see `perslib.report.show.plots`."""

    panels: str
    xlabel: str
    ylabel: str
    width: Width
    palette: Palette
    order: Sequence[object] | None


def stack(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the frame once for each of these estimates: its name in the column quantity, its numbers in value,
    value_low, value_high.
    """
    own = {c: {c: "value", f"{c}_low": "value_low", f"{c}_high": "value_high"} for c in columns}
    every = {column for names in own.values() for column in names}
    about = [c for c in frame if c not in every]
    parts = [frame[[*about, *(c for c in names if c in frame)]].rename(columns=names) for names in own.values()]
    return pd.concat([part.assign(quantity=c) for c, part in zip(columns, parts)], ignore_index=True)


def estimates(frame: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a column of estimates and its bounds; bounds are missing where the frame has none."""
    bounds = frame.reindex(columns=[x, f"{x}_low", f"{x}_high"]).to_numpy(float, na_value=np.nan)
    return bounds[:, 0], bounds[:, 1], bounds[:, 2]


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


def choose_width(own: Width) -> Width:
    """Return the width that all figures of this run are asked to have, else the figure's own."""
    return os.environ.get(WIDTH) or own


def subplots(lines: int, columns: int, width: Width, height: float, **shared: Any) -> tuple[Figure, list[Axes]]:
    """Open a figure in the page's style; return it with its axes."""
    import matplotlib.pyplot as plt

    get_open_page()  # the page's style and language
    inches = WIDTHS[width] if isinstance(width, str) else width
    fig, axes = plt.subplots(lines, columns, figsize=(inches, height), squeeze=False, **shared)
    return fig, list(axes.flat)


class Chart:
    """A figure with a panel for each value of a column, at most five side by side, and a colour and mark for each kind.

    `kinds` are the values of the column `by`. With `shared` all panels have one y axis.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        look: Look,
        height: Callable[[int], float],
        kinds: Sequence[Any] = (None,),
        by: str = "",
        shared: bool = True,
    ):
        self._frame, self._look, self._by, self.kinds = frame, look, by, kinds
        self.colors = colors_of(look.get("palette"), kinds)
        self._column, width = look.get("panels", ""), choose_width(look.get("width", "text"))
        self._titles = values_of(frame, self._column) if self._column else [None]
        count = len(self._titles)
        columns = min(1 if width == "column" else 5 if count == 5 else 4, count) or 1
        lines = -(-count // columns) or 1
        self.figure, self._axes = subplots(lines, columns, width, height(count) * lines, sharey=shared)
        characters = int(self.figure.get_figwidth() * 10 / columns)
        for ax, title in zip(self._axes, self._titles):
            text = "" if title is None else fill(literal_name(title, 90), characters)
            ax.set_title(text, fontsize=10, loc="left")
        for ax in self._axes[count:]:
            ax.set_visible(False)

    def panels(self) -> Iterator[tuple[Axes, pd.DataFrame]]:
        """Yield each panel with its part of the frame."""
        for ax, title in zip(self._axes, self._titles):
            yield ax, self._frame if title is None else self._frame[self._frame[self._column] == title]

    def parts(self, own: pd.DataFrame) -> Iterator[tuple[int, Any, pd.DataFrame]]:
        """Yield each kind's place and colour with its part of the rows."""
        for place, kind in enumerate(self.kinds):
            yield place, self.colors[kind], own if kind is None else own[own[self._by] == kind]

    def finish(
        self,
        handle: Callable[..., Any],
        published: bool = False,
        aside: bool = False,
        names: Mapping[Any, str] | None = None,
    ) -> Figure:
        """Label the axes and explain each kind by a mark or line.

        With `aside` a long legend stands at the right; `names` maps kinds to the stored values that name them.
        """
        label_axes(self.figure, self._look)
        handles = [
            handle(i, self.colors[kind], name_of(str((names or {}).get(kind, kind))))
            for i, kind in enumerate(self.kinds)
            if kind is not None
        ]
        if published:
            handles.append(mark_handle(3, "none", translate("as published"), edge=FAINT))
        is_right = aside and len(handles) > 6
        return add_legend(self.figure, handles, "outside right upper" if is_right else "outside upper left")


def draw_published(ax: Axes, x: Any, y: Any) -> None:
    """Draw published numbers as hollow diamonds."""
    ax.scatter(x, y, marker="D", s=26, facecolor="none", edgecolor=FAINT, linewidth=1.2, zorder=4)


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


def label_axes(fig: Figure, look: Look) -> None:
    """Label the axes, or all panels together."""
    xlabel, ylabel = translate(look.get("xlabel", "")), translate(look.get("ylabel", ""))
    shown = [ax for ax in fig.axes if ax.get_visible()]
    if len(shown) == 1:
        shown[0].set(xlabel=xlabel, ylabel=ylabel)
        return
    if xlabel:
        fig.supxlabel(xlabel, fontsize=10)
    if ylabel:
        fig.supylabel(ylabel, fontsize=10)


def mark_of(place: int) -> str:
    """Return the mark of the first, second, third … kind."""
    return MARKS[place % len(MARKS)]


def mark_handle(place: int, color: Any, label: str, edge: Any = None) -> Any:
    """Return a mark for the legend."""
    return line_handle(place, edge or color, label, markerfacecolor=color, linestyle="")


def line_handle(place: int, color: Any, label: str, **look: Any) -> Any:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    usual = {"marker": mark_of(place), "linestyle": DASHES[place % len(DASHES)], "markersize": 5}
    return Line2D([], [], color=color, label=escape_figure_text(label), **{**usual, **look})


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
