"""Figures of lines between places: rankings that cross, and rows that go back to earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from perslib.report.plot_parts import (
    DASHES,
    Palette,
    Width,
    add_legend,
    colors_of,
    line_handle,
    subplots,
    values_of,
)
from perslib.report.style import FAINT, INK, RULE, literal, literal_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        text = {"va": "center", "fontsize": 9.5, "color": colors[name], "textcoords": "offset points"}
        ax.annotate(literal_name(name), (0, at[0]), (-9, 0), ha="right", **text)
        ax.annotate(f"{at[-1]:g}", (last, at[-1]), (9, 0), ha="left", **text)
    views = ["\n".join(literal_name(part) for part in str(view).split(" · ")) for view in found]
    is_narrow = fig.get_figwidth() < 1.2 * len(views)
    turned: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if is_narrow else {}
    ax.set_xticks(range(last + 1), views, fontsize=9, **turned)
    ax.set(ylim=(max(len(found), 1) + 0.5, 0.5), xlim=(-0.25, last + 0.25), yticks=[])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return add_legend(fig)


def arcs(
    nodes: pd.DataFrame,
    edges: pd.DataFrame,
    *,
    text: str,
    label: str = "",
    group: str = "",
    kind: str = "",
    width: Width = "text",
    palette: Palette = None,
) -> Figure:
    """Draw rows from top to bottom, with arcs to the earlier rows that they go back to.

    Parameters
    ----------
    nodes : the rows; `text` and `label` (short, in front) name the columns written beside them.
    edges : from which row to which earlier one: the first two columns, as places among the rows.
    group : column of the rows' groups, a colour each; 0 or missing is none.
    kind : column of the edges' kinds, a dash each.
    """
    from matplotlib.patches import Arc

    groups = [g for g in values_of(nodes, group) if g] if group else []
    colors = colors_of(palette, groups)
    kinds = values_of(edges, kind) if kind else [None]
    fig, (ax,) = subplots(1, 1, width, 0.9 + 0.235 * len(nodes))
    owners = nodes[group].tolist() if group else [None] * len(nodes)
    ends = edges.iloc[:, :2].to_numpy(float)
    longest = np.ptp(ends, axis=1).max() if len(ends) else 1.0
    for (row, earlier), name in zip(ends, edges[kind] if kind else [None] * len(ends)):
        size = 4 * (0.25 + 0.75 * (row - earlier) / longest)
        look = {"color": colors.get(owners[int(row)], FAINT), "linestyle": DASHES[kinds.index(name)]}
        ax.add_patch(
            Arc((0, (row + earlier) / 2), size, row - earlier, theta1=90, theta2=270, linewidth=1.3, **look)
        )
    for place, (owner, words) in enumerate(zip(owners, nodes[text])):
        ax.scatter(0, place, color=colors.get(owner, RULE), s=26, zorder=3)
        start = f"{nodes[label].iloc[place]}  " if label else ""
        ax.text(0.35, place, literal(f"{start}{words}", 100), fontsize=8.5, color=INK, va="center")
    ax.set(xlim=(-2.3, 22), ylim=(len(nodes) - 0.4, -0.9))
    ax.axis("off")
    lines = [
        line_handle(i, FAINT, literal_name(name), marker="")
        for i, name in enumerate(kinds)
        if name is not None
    ]
    return add_legend(fig, lines)
