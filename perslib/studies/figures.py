"""Figures that several studies share: agreement with intervals, calibration plots, cost beside worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.report.page import current
from perslib.report.style import ACCENT, FAINT, INK, literal
from perslib.report.words import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How the second, third … score column of a judge is drawn.
_MARKS = [("o", "full"), ("o", "none"), ("D", "none"), ("s", "none")]


def forest(agreed: pd.DataFrame, metrics: Sequence[str], *, controls: Sequence[str] = ()) -> Figure:
    """One row a judge, one panel a metric: the estimate and its 95 % interval; controls in grey."""
    rows, scores = (list(dict.fromkeys(agreed[c])) for c in ("judge", "score"))
    fig, axes = plt.subplots(
        1, len(metrics), figsize=(8.6, 1.15 + 0.31 * len(rows)), sharey=True, squeeze=False
    )
    for ax, metric in zip(axes[0], metrics):
        of = agreed[agreed["metric"] == metric]
        for place, score in enumerate(scores):
            own = of[of["score"] == score].set_index("judge")
            _dots(ax, own.reindex(rows)[["value", "low", "high"]], place, len(scores), rows, controls)
        ax.set_title(label(metric), fontsize=10, loc="left")
        ax.axvline(0, color=FAINT, linewidth=0.7)
        ax.margins(y=0.03)
        ax.locator_params(axis="x", nbins=4)
    axes[0][0].set_yticks(range(len(rows)), [label(r) for r in rows])
    axes[0][0].invert_yaxis()
    if len(scores) > 1:
        marks = (_MARKS[place % len(_MARKS)] for place in range(len(scores)))
        handles = [handle(marker, INK, filled=fill == "full") for marker, fill in marks]
        fig.legend(handles, [label(s) for s in scores], loc="outside upper left", ncol=len(scores))
    return fig


def _dots(
    ax: Axes, frame: pd.DataFrame, place: int, of: int, rows: Sequence[str], controls: Sequence[str]
) -> None:
    at = np.arange(len(rows)) + (place - (of - 1) / 2) * 0.3
    middle, low, high = frame.to_numpy(float).T
    marker, fill = _MARKS[place % len(_MARKS)]
    for y, m, a, b, row in zip(at, middle, low, high, rows):
        color = FAINT if row in controls else ACCENT
        if np.isfinite(a):
            ax.hlines(y, a, b, color=color, linewidth=1.6, alpha=0.5)
        ax.plot(
            m,
            y,
            marker,
            color=color,
            fillstyle=fill,
            markersize=5,
            markerfacecolor=None if fill == "full" else "white",
        )


def handle(marker: str, color: str, *, filled: bool = True) -> plt.Line2D:
    """A mark for the legend."""
    face = color if filled else "white"
    return plt.Line2D([], [], marker=marker, color=color, markerfacecolor=face, linestyle="", markersize=5)


def label(name: str) -> str:
    """A name in the page's language, for a figure to write as it is."""
    return literal(name_of(name, current().language))


def reliability(frame: pd.DataFrame, most: int = 8) -> Figure:
    """Mean gold against the predicted score, one small panel a judge; on the diagonal a judge is right on average."""
    judges = list(dict.fromkeys(frame["judge"]))[:most]
    columns = min(4, len(judges))
    lines = -(-len(judges) // columns)
    fig, axes = plt.subplots(
        lines, columns, figsize=(8.6, 0.5 + 2.15 * lines), sharex=True, sharey=True, squeeze=False
    )
    for ax in axes.flat[len(judges) :]:
        ax.set_visible(False)
    for ax, judge in zip(axes.flat, judges):
        own = frame[frame["judge"] == judge].sort_values("predicted").astype({"low": float, "high": float})
        ax.plot([1, 5], [1, 5], color=FAINT, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.vlines(own["predicted"], own["low"], own["high"], color=ACCENT, linewidth=1.6, alpha=0.5)
        sizes = 12 + 90 * own["turns"].astype(float) / own["turns"].sum()
        ax.scatter(own["predicted"], own["gold"], s=sizes, color=ACCENT, zorder=3)
        ax.set_title(label(judge), fontsize=9.5, loc="left")
        ax.set(xlim=(0.8, 5.2), ylim=(0.8, 5.2), xticks=range(1, 6), yticks=range(1, 6))
    for ax in axes.flat[: len(judges)][-columns:]:  # nothing stands below these
        ax.tick_params(labelbottom=True)
    fig.supxlabel(current().word("predicted_score"), fontsize=10)
    fig.supylabel(current().word("mean_gold"), fontsize=10)
    return fig
