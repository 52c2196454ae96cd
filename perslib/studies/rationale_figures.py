"""What the page on rationales draws: who names which reason, which are named too often, the patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import PercentFormatter

from perslib.metrics.reasons import NO_REASON, SATISFIED
from perslib.report.page import current
from perslib.report.style import ACCENT, FAINT, INK, RULE, literal
from perslib.report.words import name_of
from perslib.studies.rationales import PATTERNS
from perslib.studies.rationales import SATISFIED as JUDGE_SATISFIED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHADES = LinearSegmentedColormap.from_list("shares", ["#ffffff", ACCENT])
#: The paper's three patterns in colours that differ in lightness too; what is none of them in greys.
_COLORS = dict(
    zip((*PATTERNS, JUDGE_SATISFIED), ("#2a6ca3", "#9cc3e0", "#d9822b", "#d5dae1", "#eceff3", "#a9b2bd"))
)


def _name(label: str) -> str:
    return literal(name_of(label, current().language))


def confusion(frame: pd.DataFrame, most: int = 4) -> Figure:
    """Reasons of the users down, of the judge across; counts, shaded by their share of the row."""
    judges = list(dict.fromkeys(frame["judge"]))[:most]
    columns = min(2, len(judges))
    lines = -(-len(judges) // columns)
    labels = list(dict.fromkeys(frame["gold_reason"]))
    side = 0.52 * len(labels)
    size = ((side + 0.6) * columns + 2.4, (side + 0.6) * lines + 1.5)
    fig, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, sharex=True, sharey=True)
    for ax in axes.flat[len(judges) :]:
        ax.set_visible(False)
    for ax, judge in zip(axes.flat, judges):
        own = frame[frame["judge"] == judge]
        counts = own.pivot(index="gold_reason", columns="reason", values="turns").reindex(
            index=labels, columns=labels
        )
        share = own.pivot(index="gold_reason", columns="reason", values="share").reindex(
            index=labels, columns=labels
        )
        ax.imshow(share.fillna(0).to_numpy(float), cmap=_SHADES, vmin=0, vmax=1)
        for (y, x), n in np.ndenumerate(counts.to_numpy()):
            if n:
                dark = share.to_numpy(float)[y, x] > 0.6
                ax.text(x, y, f"{n}", ha="center", va="center", fontsize=9, color="white" if dark else INK)
        _frame_diagonal(ax, len(labels))
        ax.set_xticks(range(len(labels)), [_name(r) for r in labels], rotation=35, ha="right")
        ax.set_yticks(range(len(labels)), [_name(r) for r in labels])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(_name(judge), fontsize=10, loc="left")
    fig.supxlabel(current().word("reason_of_judge"), fontsize=10)
    fig.supylabel(current().word("reason_of_user"), fontsize=10)
    return fig


def _frame_diagonal(ax: Axes, labels: int) -> None:
    for i in range(labels):
        ax.add_patch(
            plt.Rectangle((i - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=FAINT, linewidth=0.8, clip_on=False)
        )


def given_and_said(frame: pd.DataFrame, most: int = 4) -> Figure:
    """For each reason the share of the turns for which users gave it, and for which the judge named it."""
    judges = list(dict.fromkeys(frame["judge"]))[:most]
    labels = [r for r in dict.fromkeys(frame["reason"]) if r not in (SATISFIED, NO_REASON)]
    fig, axes = plt.subplots(
        1,
        len(judges),
        figsize=(max(6.4, 2.6 + 2.2 * len(judges)), 1.3 + 0.4 * len(labels)),
        sharey=True,
        sharex=True,
        squeeze=False,
    )
    for ax, judge in zip(axes[0], judges):
        own = frame[frame["judge"] == judge].set_index("reason").reindex(labels)
        given, said = (own[c].fillna(0).to_numpy(float) for c in ("given_share", "said_share"))
        at = np.arange(len(labels))
        ax.hlines(at, given, said, color=RULE, linewidth=3, zorder=1)
        ax.plot(given, at, "o", color=INK, markerfacecolor="white", label=current().word("given_by_users"))
        ax.plot(said, at, "o", color=ACCENT, label=current().word("named_by_judge"))
        ax.set_title(_name(judge), fontsize=10, loc="left")
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set_xlim(left=-0.02)
        ax.grid(axis="x")
    axes[0][0].set_yticks(range(len(labels)), [_name(r) for r in labels])
    axes[0][0].set_ylim(len(labels) - 0.5, -0.5)
    fig.supxlabel(current().word("share_of_both_low"), fontsize=10)
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncol=2)
    return fig


def patterns(frame: pd.DataFrame, most: int = 4) -> Figure:
    """One bar for each reason of the users: which share of the rationales shows which pattern."""
    judges = list(dict.fromkeys(frame["judge"]))[:most]
    labels = list(dict.fromkeys(frame["gold_reason"]))
    fig, axes = plt.subplots(
        len(judges),
        1,
        figsize=(8, 0.9 + (0.35 + 0.4 * len(labels)) * len(judges)),
        sharex=True,
        squeeze=False,
    )
    used = [p for p in _COLORS if p in set(frame["pattern"])]
    for ax, judge in zip(axes[:, 0], judges):
        own = frame[frame["judge"] == judge]
        turns = own.groupby("gold_reason")["turns"].sum().reindex(labels).fillna(0).to_numpy(float)
        start = np.zeros(len(labels))
        for pattern in used:
            share = own[own["pattern"] == pattern].set_index("gold_reason")["share"].reindex(labels)
            width = share.fillna(0).to_numpy(float)
            color = _COLORS[pattern]
            ax.barh(range(len(labels)), width, left=start, color=color, height=0.68, edgecolor="white")
            start += width
        for y, n in enumerate(turns):
            ax.text(1.01, y, f"{n:.0f}", va="center", fontsize=9, color=FAINT)
        ax.set_yticks(range(len(labels)), [_name(r) for r in labels])
        ax.set(xlim=(0, 1), ylim=(len(labels) - 0.5, -0.5))
        ax.spines["left"].set_visible(False)
        ax.set_title(_name(judge), fontsize=10, loc="left")
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    handles = [plt.Rectangle((0, 0), 1, 1, color=_COLORS[p]) for p in used]
    fig.legend(handles, [_name(p) for p in used], loc="outside upper left", ncol=3)
    return fig
