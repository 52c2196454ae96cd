"""What the ablations draw: every judge a colour, every variant or calibration a row, every metric a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MultipleLocator

from perslib.report import CATEGORIES, word
from perslib.report.page import current
from perslib.report.style import FAINT, RULE
from perslib.studies.figures import handle, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ["o", "s", "D", "^", "v", "P"]


def strips(
    frame: pd.DataFrame, metrics: Sequence[str], *, rows: str = "score", marks: str = "judge"
) -> Figure:
    """One panel a metric, one row a value of `rows`, one mark with its 95 % interval for each value of `marks`.

    What has no value in any panel gets no row.
    """
    frame = frame[frame["value"].notna()]
    lines, dots = list(dict.fromkeys(frame[rows])), list(dict.fromkeys(frame[marks]))
    height = 1.2 + max(0.3, 0.13 * len(dots)) * len(lines)
    fig, axes = plt.subplots(1, len(metrics), figsize=(8.6, height), sharey=True, squeeze=False)
    for ax, metric in zip(axes[0], metrics):
        of = frame[frame["metric"] == metric]
        for place, dot in enumerate(dots):
            own = of[of[marks] == dot].set_index(rows).reindex(lines)
            _marks(ax, own, place, len(dots))
        ax.set_title(label(metric), fontsize=10, loc="left")
        ax.axvline(0, color=FAINT, linewidth=0.7)
        ax.locator_params(axis="x", nbins=4)
        for line in range(1, len(lines)):
            ax.axhline(line - 0.5, color=RULE, linewidth=0.6)
    axes[0][0].set_yticks(range(len(lines)), [label(line) for line in lines])
    axes[0][0].set_ylim(len(lines) - 0.5, -0.5)
    if len(dots) > 1:
        fig.legend(
            [_handle(place) for place in range(len(dots))],
            [label(dot) for dot in dots],
            loc="outside upper left",
            ncol=min(5, len(dots)),
        )
    return fig


def _marks(ax: Axes, own: pd.DataFrame, place: int, of: int) -> None:
    at = np.arange(len(own)) + (place - (of - 1) / 2) * (0.74 / of)
    middle, low, high = own[["value", "low", "high"]].to_numpy(float).T
    color, known = CATEGORIES[place % len(CATEGORIES)], np.isfinite(low)
    ax.hlines(at[known], low[known], high[known], color=color, linewidth=1.4, alpha=0.5)
    ax.plot(
        middle, at, _MARKERS[place % len(_MARKERS)], color=color, markersize=4.2, linestyle="", clip_on=False
    )


def _handle(place: int) -> plt.Line2D:
    return handle(_MARKERS[place % len(_MARKERS)], CATEGORIES[place % len(CATEGORIES)])


def coverage(frame: pd.DataFrame) -> Figure:
    """Left: how often sets hold the true score, against what they promise. Right: how many scores they hold."""
    language = current().language
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    judges = list(dict.fromkeys(frame["judge"]))
    stated = np.unique(frame["stated"].to_numpy(float))
    step = 0.011
    left.plot(stated, stated, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    for place, judge in enumerate(judges):
        own = frame[frame["judge"] == judge].astype({"low": float, "high": float})
        at = own["stated"] + (place - (len(judges) - 1) / 2) * step
        look = {"color": CATEGORIES[place % len(CATEGORIES)], "marker": _MARKERS[place % len(_MARKERS)]}
        left.vlines(at, own["low"], own["high"], color=look["color"], linewidth=1.4, alpha=0.5)
        left.plot(at, own["covered"], linestyle="", markersize=4.2, **look)
        right.plot(at, own["size"], linestyle="-", linewidth=0.6, markersize=4.2, **look)
    left.set(title=word("coverage", language), xlabel=word("stated_coverage", language), ylim=(None, 1.03))
    right.set(
        title=word("scores_in_a_set", language), xlabel=word("stated_coverage", language), ylim=(0.8, 5.2)
    )
    for ax in (left, right):
        ax.set_xticks(stated)
    right.yaxis.set_major_locator(MultipleLocator(1))
    fig.legend(
        [_handle(i) for i in range(len(judges))],
        [label(j) for j in judges],
        loc="outside upper left",
        ncol=5,
    )
    return fig
