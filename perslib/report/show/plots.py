"""Figures of estimates, shares, curves, points and matrices, from tidy frames.

    fig = plots.intervals(agreed, "value", rows="judge", panels="metric", marks="score", muted=controls)
    fig.axes[0].set_xlim(-0.1, 0.6)
    report.save_figure(fig, "agreement", agreed, "Agreement with the users' own scores.")

An estimate `x` has its bounds in `x_low` and `x_high`, where the frame has them. Each function returns an ordinary
Figure. Stored values are written by their labels in the page's language. By keyword they take

    panels           column whose values get a panel each
    xlabel, ylabel   what the axes say
    width            "text" (both columns of a paper), "column", or inches
    palette          colours, or the name of one of seaborn's palettes
    order            the values of rows or lines to show, in this order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from perslib.report.show.plot_parts import (
    DASHES,
    Chart,
    Look,
    Palette,
    Width,
    add_legend,
    choose_width,
    draw_guides,
    draw_published,
    estimates,
    label_axes,
    line_handle,
    mark_handle,
    mark_of,
    stack,
    subplots,
    values_of,
)
from perslib.report.show.style import FAINT, INK, RULE, label_rows, literal_name
from perslib.text import show_minus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["contributions", "curves", "heatmap", "intervals", "points", "shares", "stack"]


def intervals(
    frame: pd.DataFrame,
    x: str | Sequence[str] = "value",
    rows: str = "judge",
    *,
    marks: str = "",
    muted: Sequence[object] = (),
    published: str = "",
    line: float | None = 0.0,
    connected: bool = False,
    log: bool = False,
    **look: Unpack[Look],
) -> Figure:
    """Draw estimates with their intervals, a row for each value of `rows`, the first on top.

    Parameters
    ----------
    x : column of the estimates; of several columns each is a mark of its own in the row.
    marks : column whose values have a place, colour and mark each in the row.
    muted : rows in grey, such as controls.
    published : column of numbers to compare with, as hollow diamonds.
    line : where a vertical line stands.
    connected : whether the marks of a row are joined by a line.
    log : whether the axis is logarithmic.
    """
    if not isinstance(x, str):
        frame, x, marks = stack(frame, x), "value", "quantity"
    names = values_of(frame, rows, look.get("order"))
    kinds = values_of(frame, marks) if marks else [None]
    chart = Chart(frame, look, lambda _: 0.9 + 0.3 * len(names) + 0.25 * (len(kinds) > 1), kinds, marks)
    at = pd.Series(np.arange(len(names)), names)
    for ax, own in chart.panels():
        if connected:
            ends = own.groupby(rows)[x].agg(["min", "max"]).reindex(names)
            ax.hlines(at, ends["min"], ends["max"], color=RULE, linewidth=2.4, zorder=1)
        for place, color, part in chart.parts(own):
            shift = 0 if connected else (place - (len(kinds) - 1) / 2) * min(0.3, 0.7 / len(kinds))
            part = part[part[rows].isin(names)]
            y = part[rows].map(at).to_numpy(float) + shift
            middle, low, high = estimates(part, x)
            shades = [FAINT if name in muted else color for name in part[rows]]
            ax.hlines(y, low, high, color=shades, linewidth=1.8, alpha=0.5)
            ax.scatter(middle, y, c=shades, marker=mark_of(place), s=26, zorder=3)
        if published:
            draw_published(ax, own[published], own[rows].map(at))
        if log:
            ax.set_xscale("log")
        elif line is not None:
            ax.axvline(line, color=FAINT, linewidth=0.7, zorder=0)
            ticks = 8 if not look.get("panels") else 4 if len(chart.figure.axes) < 5 else 3
            ax.locator_params(axis="x", nbins=ticks)
        if own[x].isna().all():
            ax.set_xticks([])
        label_rows(ax, names)
    return chart.finish(mark_handle, bool(published))


def shares(
    frame: pd.DataFrame,
    rows: str,
    parts: Sequence[str] | Mapping[str, str],
    *,
    dark: Sequence[str] = (),
    **look: Unpack[Look],
) -> Figure:
    """Draw a bar for each row, divided into parts: columns that hold shares between 0 and 1.

    `parts` names the columns, or maps each to a stored value that has its label. Parts larger than
    5 % carry their share, in white on those that are `dark`.
    """
    from matplotlib.ticker import PercentFormatter

    labels = dict(parts) if isinstance(parts, Mapping) else {part: part for part in parts}
    names = values_of(frame, rows, look.get("order"))
    chart = Chart(frame, look, lambda _: 1.1 + 0.34 * len(names), list(labels))
    for ax, own in chart.panels():
        values = own.drop_duplicates(rows).set_index(rows)[list(labels)].reindex(names)
        values = values.astype(float).fillna(0)
        start = np.zeros(len(names))
        for part in labels:
            size = values[part].to_numpy()
            ax.barh(range(len(names)), size, left=start, color=chart.colors[part], height=0.7)
            for y in np.flatnonzero(size > 0.05).tolist():
                color, at = "white" if part in dark else INK, start[y] + size[y] / 2
                ax.text(at, y, f"{size[y]:.0%}", ha="center", va="center", fontsize=8.5, color=color)
            start += size
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        label_rows(ax, names)
    return chart.finish(lambda _, *own: mark_handle(1, *own), names=labels)


def contributions(
    frame: pd.DataFrame, x: str = "points", rows: str = "group", parts: str = "side", **look: Unpack[Look]
) -> Figure:
    """Draw what adds to a number and what takes from it: a bar a row, to the right and to the left, a colour a part.

    Rows and parts that are nothing are left out.
    """
    frame = frame[frame[x].abs() > 1e-9]
    names = values_of(frame, rows, look.get("order"))
    chart = Chart(frame, look, lambda _: 0.9 + 0.3 * len(names), values_of(frame, parts), parts)
    for ax, own in chart.panels():
        ends = {1: np.zeros(len(names)), -1: np.zeros(len(names))}
        for _, color, part in chart.parts(own):
            sizes = part.groupby(rows)[x].sum().reindex(names).fillna(0).to_numpy(float)
            for sign, start in ends.items():
                size = np.where(sign * sizes > 0, sizes, 0.0)
                ax.barh(range(len(names)), size, left=start, color=color, height=0.7)
                ends[sign] = start + size
        ax.axvline(0, color=FAINT, linewidth=0.7)
        label_rows(ax, names)
    return chart.finish(lambda _, *own: mark_handle(1, *own))


def curves(
    frame: pd.DataFrame,
    x: str,
    y: str | Sequence[str] = "value",
    *,
    lines: str = "",
    units: str = "",
    level: float | None = None,
    diagonal: bool = False,
    bars: bool = False,
    log: bool = False,
    percent: bool = False,
    **look: Unpack[Look],
) -> Figure:
    """Draw y against x with a band for its interval, a line for each value of `lines`.

    Parameters
    ----------
    y : column of the estimates; of several columns each has a panel of its own.
    units : column of what is repeated (seeds, users): each is a thin line behind the mean.
    level, diagonal : a horizontal line to compare with, or the line y = x.
    bars : draw intervals as bars at each point instead of a band.
    log, percent : a logarithmic x axis; y in percent.
    """
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    shared = isinstance(y, str)  # several quantities have a scale each
    if not isinstance(y, str):
        frame, y, look["panels"] = stack(frame, y), "value", "quantity"
    kinds = values_of(frame, lines, look.get("order")) if lines else [None]
    chart = Chart(frame, look, lambda count: 3.4 if count < 4 else 2.4, kinds, lines, shared)
    for ax, own in chart.panels():
        for place, color, part in chart.parts(own):
            part = part.sort_values(x, kind="stable")
            if units:
                for _, one in part.groupby(units):
                    ax.plot(one[x], one[y], color=color, linewidth=0.7, alpha=0.35)
                part = part.groupby(x, as_index=False)[y].mean()
            at = part[x].to_numpy(float)
            middle, low, high = estimates(part, y)
            if bars:  # side by side, so that all can be seen
                step = 0.015 * (place - (len(kinds) - 1) / 2)
                low_x, high_x = own[x].min(), own[x].max()
                at = at * (high_x / low_x) ** step if log else at + (high_x - low_x) * step
                ax.vlines(at, low, high, color=color, linewidth=1.5, alpha=0.5)
            else:
                ax.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)
            dash, mark = DASHES[place % len(DASHES)], "" if units else mark_of(place)
            ax.plot(at, middle, color=color, linestyle=dash, marker=mark, markersize=4.5)
        if log:
            ax.set_xscale("log")
            ticks = sorted(set(own[x]))
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        elif pd.api.types.is_integer_dtype(own[x]):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if percent:
            ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        draw_guides(ax, level, diagonal)
    return chart.finish(line_handle)


def points(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    marks: str = "",
    labels: str = "",
    sizes: str = "",
    muted: Sequence[object] = (),
    published: str = "",
    shared: bool = True,
    level: float | None = None,
    upright: float | None = None,
    diagonal: bool = False,
    log: bool = False,
    **look: Unpack[Look],
) -> Figure:
    """Draw y against x, a point a row of the frame, with intervals in both directions where the frame has them.

    Parameters
    ----------
    marks : column whose values have a colour and mark each, explained in the legend.
    labels : column whose values are written beside the points.
    sizes : column that the area of points is in proportion to.
    muted : values of `marks` in grey.
    published : column of numbers to compare with y, as hollow diamonds.
    shared : whether panels have one y axis.
    level, upright, diagonal : horizontal and vertical lines, and the line y = x.
    log : whether the x axis is logarithmic.
    """
    from matplotlib.ticker import LogLocator

    kinds = values_of(frame, marks, look.get("order")) if marks else [None]
    chart = Chart(frame, look, lambda n: 4.2 if n < 2 else 3.0 if n < 4 else 2.3, kinds, marks, shared)
    chart.colors |= dict.fromkeys(muted, FAINT)
    for ax, own in chart.panels():
        for place, color, part in chart.parts(own):
            (across, left, right), (up, low, high) = estimates(part, x), estimates(part, y)
            ax.hlines(up, left, right, color=color, alpha=0.4, linewidth=1.5)
            ax.vlines(across, low, high, color=color, alpha=0.4, linewidth=1.5)
            area = 12 + 90 * part[sizes].astype(float) / own[sizes].astype(float).sum() if sizes else 30
            ax.scatter(across, up, s=area, color=color, marker=mark_of(place), zorder=3)
            for at, name in zip(zip(across, up), part[labels] if labels else ()):
                ax.annotate(literal_name(name), at, (5, 3), textcoords="offset points", fontsize=8, color=INK)
        if published:
            draw_published(ax, own[x], own[published])
        if log:
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter("{x:,g}")
            ax.minorticks_off()
        draw_guides(ax, level, diagonal, upright)
    return chart.finish(mark_handle, bool(published), aside=True)


def heatmap(
    frame: pd.DataFrame,
    *,
    panels: Mapping[str, pd.DataFrame] | None = None,
    texts: pd.DataFrame | Mapping[str, pd.DataFrame] | str = ".2g",
    framed: pd.DataFrame | None = None,
    center: float | None = None,
    xlabel: str = "",
    ylabel: str = "",
    width: Width = "text",
    palette: Palette = None,
) -> Figure:
    """Draw a matrix, shaded by its values.

    Parameters
    ----------
    frame : the matrix; with `panels`, title → matrix, a panel each, in its place.
    texts : what the cells say: a matrix of texts, one for each panel by its title, or a format of numbers.
    framed : matrix of which cells get a frame.
    center : the value that is white, for values on both sides of it.
    """
    import seaborn as sns
    from matplotlib.patches import Rectangle

    matrices = panels or {"": frame}
    tallest = max(map(len, matrices.values()))
    width, across = choose_width(width), len(matrices)
    lines = across if width == "column" else 1
    fig, axes = subplots(lines, across // lines, width, (1.3 + 0.36 * tallest) * lines, sharey=True)
    colors = palette or ("vlag_r" if center is not None else "Blues")
    look: dict[str, Any] = {"cmap": colors, "cbar": False, "linewidths": 0.6, "annot_kws": {"size": 8}}
    for ax, (title, matrix) in zip(axes, matrices.items()):
        if matrix.empty:
            continue
        if center is not None:
            far = float((matrix.astype(float) - center).abs().max(axis=None))
            look |= {"vmin": center - far, "vmax": center + far}
        own = texts[title] if isinstance(texts, Mapping) else texts
        numbers = matrix.astype(float)
        cells = numbers.map(f"{{:{own}}}".format).map(show_minus) if isinstance(own, str) else own
        sns.heatmap(numbers, ax=ax, annot=cells, fmt="", **look)
        ax.set_xticklabels([literal_name(c) for c in matrix.columns], rotation=40, ha="right", rotation_mode="anchor")
        ax.set_yticklabels([literal_name(r) for r in matrix.index], rotation=0)
        ax.set(xlabel="", ylabel="")
        ax.tick_params(length=0)
        ax.set_title(literal_name(title) if title else "", fontsize=10, loc="left")
        for row, column in np.argwhere(framed.to_numpy(bool)) if framed is not None else ():
            ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, linewidth=1.4))
    label_axes(fig, {"xlabel": xlabel, "ylabel": ylabel})
    return add_legend(fig)
