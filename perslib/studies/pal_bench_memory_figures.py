"""What the PAL-Bench page draws of a memory: its growth, a session's log graph, and outlines by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Arc
from matplotlib.ticker import MaxNLocator

from perslib.report.page import current
from perslib.report.style import CATEGORIES, FAINT, INK, RULE, literal
from perslib.report.words import name_of
from perslib.studies.pal_bench_memory import MOST_LOGS, Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KEPT = ("situations", "outlines", "principles", "aspects")
_SIZES = ("situations_size", "background_size", "outlines_size", "principles_size")
_LINES: dict[str, Any] = {"caused_by": "-", "follows": (0, (3, 2))}


def growth(frame: pd.DataFrame) -> Figure:
    """Left, pieces of each kind after each session; right, the characters heard against the characters kept."""
    page = current()
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    at = np.arange(1, len(frame) + 1)
    ends = []
    for kind, color in zip(_KEPT, CATEGORIES):
        values = frame[kind].to_numpy(float)
        left.plot(at, values, "-o", color=color, markersize=3.5 if len(at) > 1 else 6)
        ends.append((values[-1], _name(kind), color))
    _labels(left, float(at[-1]), ends)
    left.set_title(page.word("pal_pieces_kept"), fontsize=10, loc="left")
    heights = frame[list(_SIZES)].to_numpy(float).T
    right.plot(at, frame["heard"], "-o", color=FAINT, markersize=3.5, label=page.word("pal_heard"))
    right.stackplot(
        at, heights, colors=[*CATEGORIES[:1], CATEGORIES[3], CATEGORIES[1], CATEGORIES[2]], alpha=0.75,
        labels=[_name(kind) for kind in _SIZES],
    )  # fmt: skip
    right.set_title(page.word("pal_characters"), fontsize=10, loc="left")
    right.legend(loc="upper left", fontsize=8.5)
    top = max(frame["heard"].max(), heights.sum(axis=0).max())
    right.set_ylim(0, top * 1.45)
    for ax in (left, right):
        ax.set_xlabel(page.word("pal_sessions_heard"))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        ax.set_xlim(at[0] - 0.2 * (len(at) == 1), at[-1] + 0.2 * (len(at) == 1))
    left.set_ylim(bottom=0)
    right.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return fig


def _labels(ax: Axes, x: float, ends: list[tuple[float, str, str]]) -> None:
    """Names of lines at their right ends, moved apart where they would cover one another."""
    top = max(value for value, _, _ in ends) or 1.0
    low, gap = -np.inf, 0.075 * top
    for value, text, color in sorted(ends):
        low = max(value, low + gap)
        ax.annotate(
            f"{text} {value:g}", (x, low), (7, 0), textcoords="offset points", va="center", fontsize=9,
            color=color, annotation_clip=False,
        )  # fmt: skip


def log_graph(graph: Graph) -> Figure:
    """Logs from top to bottom in the order of time; arcs to the earlier logs they go back to; a colour a group."""
    page = current()
    logs = graph.logs.head(MOST_LOGS)
    edges = graph.edges[(graph.edges["log"] < len(logs)) & (graph.edges["earlier"] < len(logs))]
    spans = (edges["log"] - edges["earlier"]).to_numpy(float)
    reach = max(2.0, min(8.0, float(spans.max()) / 2 if len(spans) else 2.0))
    fig, ax = plt.subplots(figsize=(8.6, 0.9 + 0.235 * len(logs)))
    for edge in edges.itertuples():
        color = _color(int(logs["group"].iloc[edge.log]))
        height = edge.log - edge.earlier
        width = 2 * reach * (0.25 + 0.75 * height / max(spans.max(), 1))
        middle = (edge.log + edge.earlier) / 2
        ax.add_patch(
            Arc((0, middle), width, height, theta1=90, theta2=270, color=color, linewidth=1.3,
                linestyle=_LINES[edge.kind])
        )  # fmt: skip
    colors = [_color(int(group)) for group in logs["group"]]
    ax.scatter(np.zeros(len(logs)), logs["log"], c=colors, s=26, zorder=3)
    days = ""
    for row in logs.itertuples():
        day, clock = str(row.at)[:10], str(row.at)[11:16]
        shown = f"{day[5:]} {clock}" if day != days else clock
        days = day
        ax.text(0.35, row.log, shown, fontsize=8, color=FAINT, va="center", ha="left")
        number = f"{row.group}" if row.group else ""
        ax.text(3.0, row.log, number, fontsize=8.5, color=_color(int(row.group)), va="center", weight="bold")
        ax.text(3.5, row.log, literal(row.content, 92), fontsize=8.5, color=INK, va="center")
    ax.set(xlim=(-reach - 0.3, 22), ylim=(len(logs) - 0.4, -0.9))
    ax.axis("off")
    handles = [
        plt.Line2D([], [], color=FAINT, linestyle=style, label=page.word(f"pal_{kind}"))
        for kind, style in _LINES.items()
    ]
    fig.legend(handles=handles, loc="outside upper left", ncol=2, handlelength=2.4)
    return fig


def _color(group: int) -> str:
    """Groups by turns in the colours for categories; a log by itself is grey."""
    hues = [*(color for color in CATEGORIES if color != "#6b7a8f"), "#39424e"]
    return hues[(group - 1) % len(hues)] if group else "#b4bcc7"


def outlines(frame: pd.DataFrame, kinds: pd.DataFrame) -> Figure:
    """Outlines by likeness, a colour a cluster with its number; the kinds of requirement beside them."""
    page = current()
    fig, (ax, words) = plt.subplots(
        1, 2, figsize=(8.6, max(3.6, 0.9 + 0.36 * len(kinds))), width_ratios=[1.05, 1]
    )
    for cluster, own in frame.groupby("cluster", dropna=False):
        number = 0 if pd.isna(cluster) else int(cluster)
        color = _color(number)
        middle = own[["x", "y"]].mean()
        for row in own.itertuples():
            ax.plot([middle["x"], row.x], [middle["y"], row.y], color=color, linewidth=0.7, alpha=0.5)
        ax.scatter(
            own["x"], own["y"], color=color, s=30, zorder=3, alpha=0.85, edgecolor="white", linewidth=0.5
        )
        if number:
            ax.text(
                middle["x"], middle["y"], str(number), color=color, fontsize=11, weight="bold", ha="center", va="center",
                zorder=4, bbox={"boxstyle": "circle,pad=0.22", "facecolor": "white", "edgecolor": color, "linewidth": 1},
            )  # fmt: skip
    ax.margins(0.12)
    first, second = frame.attrs.get("explained", (0.0, 0.0))
    ax.set_xlabel(page.word("pal_direction", n=1, share=f"{first:.0%}"))
    ax.set_ylabel(page.word("pal_direction", n=2, share=f"{second:.0%}"))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(RULE)
    words.axis("off")
    words.set(xlim=(0, 1), ylim=(max(len(kinds), 6) - 0.5, -0.7))
    for place, row in enumerate(kinds.itertuples()):
        color = _color(int(row.cluster))
        words.text(0.0, place, f"{row.cluster}", color=color, weight="bold", fontsize=10, va="center")
        words.text(0.07, place, _short(row.requirement_kind), fontsize=9, color=INK, va="center")
    return fig


def _short(text: str) -> str:
    return literal(text, 28 if current().language == "zh" else 52)


def _name(kind: str) -> str:
    return literal(name_of(kind, current().language))
