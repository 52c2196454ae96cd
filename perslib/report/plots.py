"""Figures of estimates, shares, curves, points, matrices and rankings, from tidy frames.

    fig = plots.intervals(agreed, "value", rows="judge", panels="metric", marks="score", muted=controls)
    fig.axes[0].set_xlim(-0.1, 0.6)
    report.save_figure(fig, "agreement", agreed, "Agreement with the users' own scores.")

An estimate `x` has its bounds in `x_low` and `x_high`, where the frame has them. Each function returns an ordinary
Figure. Stored values are written by their labels in the page's language. All take

    width     "text" (both columns of a paper), "column", or inches
    palette   colours, or the name of one of seaborn's palettes
    order     the values of rows or lines to show, in this order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from perslib.report.plot_parts import (
    DASHES,
    MARKS,
    Palette,
    Width,
    add_legend,
    cell_frame,
    colors_of,
    draw_guides,
    label_axes,
    line_handle,
    mark_handle,
    panels_of,
    subplots,
    values_of,
)
from perslib.report.style import FAINT, INK, RULE, literal_name
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def intervals(
    frame: pd.DataFrame,
    x: str | Sequence[str] = "value",
    rows: str = "judge",
    *,
    panels: str = "",
    marks: str = "",
    muted: Sequence[object] = (),
    published: str = "",
    line: float | None = 0.0,
    connected: bool = False,
    log: bool = False,
    xlabel: str = "",
    width: Width = "text",
    palette: Palette = None,
    order: Sequence[object] | None = None,
) -> Figure:
    """Draw estimates with their intervals, a row for each value of `rows`, the first on top.

    Parameters
    ----------
    x : column of the estimates; of several columns each is a mark of its own in the row.
    panels, marks : columns whose values get a panel each, and a place and mark in the row each.
    muted : rows in grey, such as controls.
    published : column of numbers to compare with, as hollow diamonds.
    line : where a vertical line stands.
    connected : whether the marks of a row are joined by a line.
    log : whether the axis is logarithmic.
    """
    if not isinstance(x, str):
        frame, x, marks = stack(frame, x), "value", "quantity"
    names = values_of(frame, rows, order)
    kinds = values_of(frame, marks) if marks else [None]
    colors = colors_of(palette, kinds)
    fig, axes = panels_of(frame, panels, width, lambda _: 0.9 + 0.3 * len(names) + 0.25 * (len(kinds) > 1))
    for ax, own in axes:
        at = pd.Series(np.arange(len(names)), names)
        if connected:
            ends = own.groupby(rows)[x].agg(["min", "max"]).reindex(names)
            ax.hlines(at, ends["min"], ends["max"], color=RULE, linewidth=2.4, zorder=1)
        for place, kind in enumerate(kinds):
            shift = 0 if connected else (place - (len(kinds) - 1) / 2) * min(0.3, 0.7 / len(kinds))
            part = own if kind is None else own[own[marks] == kind]
            part = part[part[rows].isin(names)]
            y = part[rows].map(at).to_numpy(float) + shift
            middle, low, high = estimates(part, x)
            shades = [FAINT if name in muted else colors[kind] for name in part[rows]]
            ax.hlines(y, low, high, color=shades, linewidth=1.8, alpha=0.5)
            ax.scatter(middle, y, c=shades, marker=MARKS[place % len(MARKS)], s=26, zorder=3)
        if published:
            ax.scatter(own[published], own[rows].map(at), marker="D", s=26, facecolor="none", edgecolor=FAINT)
        if log:
            ax.set_xscale("log")
        elif line is not None:
            ax.axvline(line, color=FAINT, linewidth=0.7, zorder=0)
            ax.locator_params(axis="x", nbins=4 if panels else 8)
        ax.set_yticks(range(len(names)), [literal_name(name) for name in names])
        ax.set_ylim(max(1, len(names)) - 0.5, -0.5)
    label_axes(fig, xlabel)
    handles = [mark_handle(MARKS[i % len(MARKS)], colors[k], k) for i, k in enumerate(kinds) if k is not None]
    if published:
        handles.append(mark_handle("D", "none", translate("published"), edge=FAINT))
    return add_legend(fig, handles)


def shares(
    frame: pd.DataFrame,
    rows: str,
    parts: Sequence[str] | Mapping[str, str],
    *,
    panels: str = "",
    least: float = 0.05,
    dark: Sequence[str] = (),
    xlabel: str = "",
    width: Width = "text",
    palette: Palette = None,
    order: Sequence[object] | None = None,
) -> Figure:
    """Draw a bar for each row, divided into parts: columns that hold shares between 0 and 1.

    `parts` names the columns, or maps each to its label. Parts larger than `least` carry their share, in white on those
    that are `dark`.
    """
    from matplotlib.ticker import PercentFormatter

    labels = parts if isinstance(parts, Mapping) else {part: literal_name(part) for part in parts}
    names = values_of(frame, rows, order)
    colors = colors_of(palette, list(labels))
    fig, axes = panels_of(frame, panels, width, lambda _: 1.1 + 0.34 * len(names))
    for ax, own in axes:
        values = (
            own.drop_duplicates(rows).set_index(rows)[list(labels)].reindex(names).astype(float).fillna(0)
        )
        start = np.zeros(len(names))
        for part in labels:
            size = values[part].to_numpy()
            ax.barh(range(len(names)), size, left=start, color=colors[part], height=0.7)
            for y in np.flatnonzero(size > least).tolist():
                ink = "white" if part in dark else INK
                ax.text(
                    start[y] + size[y] / 2,
                    y,
                    f"{size[y]:.0%}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=ink,
                )
            start += size
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_yticks(range(len(names)), [literal_name(name) for name in names])
        ax.set_ylim(max(1, len(names)) - 0.5, -0.5)
    label_axes(fig, xlabel)
    return add_legend(fig, [mark_handle("s", colors[part], label) for part, label in labels.items()])


def curves(
    frame: pd.DataFrame,
    x: str,
    y: str | Sequence[str] = "value",
    *,
    lines: str = "",
    panels: str = "",
    units: str = "",
    level: float | None = None,
    diagonal: bool = False,
    bars: bool = False,
    log: bool = False,
    percent: bool = False,
    xlabel: str = "",
    ylabel: str = "",
    width: Width = "text",
    palette: Palette = None,
    order: Sequence[object] | None = None,
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
    from matplotlib.ticker import PercentFormatter

    if not isinstance(y, str):
        frame, y, panels = stack(frame, y), "value", "quantity"
    kinds = values_of(frame, lines, order) if lines else [None]
    colors = colors_of(palette, kinds)
    fig, axes = panels_of(frame, panels, width, lambda count: 3.4 if count < 4 else 2.4)
    for ax, own in axes:
        for place, kind in enumerate(kinds):
            part = (own if kind is None else own[own[lines] == kind]).sort_values(x, kind="stable")
            look = {"color": colors[kind], "linestyle": DASHES[place % len(DASHES)]}
            if units:
                for _, one in part.groupby(units):
                    ax.plot(one[x], one[y], color=colors[kind], linewidth=0.7, alpha=0.35)
                part = part.groupby(x, as_index=False)[y].mean()
            at = part[x].to_numpy(float)
            middle, low, high = estimates(part, y)
            if bars:
                ax.vlines(at, low, high, color=colors[kind], linewidth=1.5, alpha=0.5)
            else:
                ax.fill_between(at, low, high, color=colors[kind], alpha=0.15, linewidth=0)
            ax.plot(at, middle, **look, marker="" if units else MARKS[place % len(MARKS)], markersize=4.5)
        if log:
            ax.set_xscale("log")
            ticks = sorted(set(own[x]))
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        if percent:
            ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        draw_guides(ax, level, diagonal)
    label_axes(fig, xlabel, ylabel)
    return add_legend(
        fig, [line_handle(i, colors[kind], kind) for i, kind in enumerate(kinds) if kind is not None]
    )


def points(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    marks: str = "",
    labels: str = "",
    sizes: str = "",
    panels: str = "",
    muted: Sequence[object] = (),
    level: float | None = None,
    upright: float | None = None,
    diagonal: bool = False,
    log: bool = False,
    xlabel: str = "",
    ylabel: str = "",
    width: Width = "text",
    palette: Palette = None,
    order: Sequence[object] | None = None,
) -> Figure:
    """Draw y against x, a point a row of the frame, with intervals in both directions where the frame has them.

    Parameters
    ----------
    marks : column whose values have a colour and mark each, explained in the legend.
    labels : column whose values are written beside the points.
    sizes : column that the area of points is in proportion to.
    muted : values of `marks` in grey.
    level, upright, diagonal : horizontal and vertical lines, and the line y = x.
    log : whether the x axis is logarithmic.
    """
    kinds = values_of(frame, marks, order) if marks else [None]
    colors = {**colors_of(palette, kinds), **dict.fromkeys(muted, FAINT)}
    fig, axes = panels_of(frame, panels, width, lambda count: 4.2 if count < 2 else 3.0 if count < 4 else 2.3)
    for ax, own in axes:
        for place, kind in enumerate(kinds):
            part = own if kind is None else own[own[marks] == kind]
            (across, left, right), (up, low, high) = estimates(part, x), estimates(part, y)
            ax.hlines(up, left, right, color=colors[kind], alpha=0.4, linewidth=1.5)
            ax.vlines(across, low, high, color=colors[kind], alpha=0.4, linewidth=1.5)
            area = 12 + 90 * part[sizes].astype(float) / own[sizes].astype(float).sum() if sizes else 30
            ax.scatter(across, up, s=area, color=colors[kind], marker=MARKS[place % len(MARKS)], zorder=3)
            for at, name in zip(zip(across, up), part[labels] if labels else ()):
                ax.annotate(literal_name(name), at, (5, 3), textcoords="offset points", fontsize=8, color=INK)
        if log:
            ax.set_xscale("log")
        draw_guides(ax, level, diagonal, upright)
    label_axes(fig, xlabel, ylabel)
    handles = [mark_handle(MARKS[i % len(MARKS)], colors[k], k) for i, k in enumerate(kinds) if k is not None]
    return add_legend(fig, handles, "outside right upper" if len(handles) > 6 else "outside upper left")


def heatmap(
    frame: pd.DataFrame,
    *,
    panels: Mapping[str, pd.DataFrame] | None = None,
    texts: pd.DataFrame | str = ".2g",
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
    texts : what the cells say: a matrix of texts, or a format of numbers.
    framed : matrix of which cells get a frame.
    center : the value that is white, for values on both sides of it.
    """
    import seaborn as sns

    matrices = panels or {"": frame}
    tallest = max(map(len, matrices.values()))
    fig, axes = subplots(1, len(matrices), width, 1.3 + 0.36 * tallest, sharey=True)
    colors = palette or ("vlag_r" if center is not None else "Blues")
    for ax, (title, matrix) in zip(axes, matrices.items()):
        own = (
            {"annot": texts, "fmt": ""} if isinstance(texts, pd.DataFrame) else {"annot": True, "fmt": texts}
        )
        sns.heatmap(
            matrix.astype(float),
            ax=ax,
            cmap=colors,
            center=center,
            cbar=False,
            linewidths=0.6,
            annot_kws={"size": 8},
            **own,
        )
        ax.set_xticklabels(
            [literal_name(c) for c in matrix.columns], rotation=40, ha="right", rotation_mode="anchor"
        )
        ax.set_yticklabels([literal_name(r) for r in matrix.index], rotation=0)
        ax.set(xlabel="", ylabel="")
        ax.tick_params(length=0)
        ax.set_title(literal_name(title) if title else "", fontsize=10, loc="left")
        for row, column in np.argwhere(framed.to_numpy(bool)) if framed is not None else ():
            ax.add_patch(cell_frame(column, row))
    label_axes(fig, xlabel, ylabel)
    return fig


def ranks(
    means: pd.DataFrame, *, muted: Sequence[object] = (), width: Width = "text", palette: Palette = None
) -> Figure:
    """Draw how each row ranks in each column, as a line; lines that cross are disagreement. The greatest mean is first."""
    found = means.rank(ascending=False, method="average")
    order = list(found.iloc[:, 0].sort_values().index)
    colors = {**colors_of(palette, order), **dict.fromkeys(muted, FAINT)}
    fig, (ax,) = subplots(1, 1, width, 1.5 + 0.36 * len(found))
    last = found.shape[1] - 1
    for name in order:
        at = found.loc[name].to_numpy(float)
        ax.plot(range(last + 1), at, "-o", color=colors[name], linewidth=2, markersize=6)
        text = {"va": "center", "fontsize": 9.5, "color": colors[name]}
        ax.text(-0.12, at[0], literal_name(name), ha="right", **text)
        ax.text(last + 0.12, at[-1], f"{at[-1]:g}", ha="left", **text)
    views = ["\n".join(literal_name(part) for part in str(view).split(" · ")) for view in found]
    ax.set_xticks(range(last + 1), views, fontsize=9)
    ax.set(ylim=(len(found) + 0.5, 0.5), xlim=(-0.25, last + 0.25), yticks=[])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return fig


# -- frames --------------------------------------------------------------------------------------------------


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
