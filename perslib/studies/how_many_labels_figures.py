"""What the page on label budgets draws: widths and coverage, the ranking, and what a judge is worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter, PercentFormatter

from perslib.inference import LEVEL
from perslib.report.page import current
from perslib.report.style import ACCENT, FAINT, INK, RULE, literal
from perslib.report.words import name_of
from perslib.studies.how_many_labels_draws import ALONE, BOTH, LABELS, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = {LABELS: (INK, "-o"), BOTH: (ACCENT, "-o"), ALONE: (FAINT, "--")}


def _name(label: object) -> str:
    return literal(name_of(str(label), current().language), longest=48)


def budgets(table: pd.DataFrame) -> Figure:
    """How wide intervals are, and how often they hold the truth, by the number of labelled users."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.5))
    _lines(left, table, "interval_width")
    left.set_ylim(bottom=0)
    left.set_ylabel(current().word("hml_width"))
    right.axhline(LEVEL, color=RULE, linewidth=1.2)
    _lines(right, table, "holds_truth")
    right.set_ylim(0, 1.03)
    right.set_ylabel(current().word("hml_holds_truth"))
    return _finished(fig, [left, right], [right], table["labelled"])


def ranking(table: pd.DataFrame) -> Figure:
    """How often the best candidate is found, and which share of pairs is told apart, by labelled users."""
    columns = [c for c in ("best", "apart") if c in table]
    fig, axes = plt.subplots(1, len(columns), figsize=(4.3 * len(columns), 3.5), squeeze=False)
    for ax, column in zip(axes[0], columns):
        _lines(ax, table, column)
        ax.set_ylim(0, 1.03)
        ax.set_ylabel(current().word(f"hml_{column}"))
    return _finished(fig, axes[0], axes[0], table["labelled"])


def _lines(ax: Axes, table: pd.DataFrame, column: str) -> None:
    for method, (color, style) in _LINES.items():
        own = table[table["method"] == method].sort_values("labelled")
        low, high = own[f"{column}_low"].to_numpy(float), own[f"{column}_high"].to_numpy(float)
        ax.fill_between(
            own["labelled"],
            low,
            np.minimum(high, 1) if column != "interval_width" else high,
            color=color,
            alpha=0.14,
            linewidth=0,
        )
        ax.plot(own["labelled"], own[column], style, color=color, markersize=4.5, label=_name(method))


def _finished(fig: Figure, axes: Iterable[Axes], shares: Iterable[Axes], labelled: pd.Series) -> Figure:
    axes = list(axes)
    for ax in axes:
        at = sorted(set(labelled.astype(int)))
        ax.set_xscale("log")
        ax.set_xticks(at, [str(x) for x in at])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.tick_params(axis="x", which="minor", length=0)
        ax.set_xlabel(current().word("hml_labelled"))
    for ax in shares:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncol=3)
    return fig


def worth(table: pd.DataFrame) -> Figure:
    """How many labelled users each judge makes of those there are, for a candidate's mean and for a difference."""
    columns = [c for c in ("worth", "worth_pairs") if c in table]
    own = table[table["method"].isin([BOTH, PLAIN])]
    judges = list(dict.fromkeys(own["judge"]))
    fig, axes = plt.subplots(
        1, len(columns), figsize=(8.6, 1.5 + 0.42 * len(judges)), sharey=True, squeeze=False
    )
    for ax, column in zip(axes[0], columns):
        ax.axvline(float(table["labelled"].iloc[0]), color=RULE, linewidth=1.2)
        for method, shift, face in ((BOTH, -0.13, ACCENT), (PLAIN, 0.13, "white")):
            rows = own[own["method"] == method].set_index("judge").loc[judges]
            at = np.arange(len(judges)) + shift
            ax.hlines(
                at, rows[f"{column}_low"], rows[f"{column}_high"], color=ACCENT, linewidth=2, alpha=0.45
            )
            ax.plot(
                rows[column], at, "o", color=ACCENT, markerfacecolor=face, markersize=6, label=_name(method)
            )
        ax.set_xlim(0, 1.08 * max(own[[c, f"{c}_high"]].max(axis=None) for c in columns))
        ax.set_title(current().word(f"hml_{column}"), fontsize=10, loc="left")
    axes[0][0].set_yticks(range(len(judges)), [_name(j) for j in judges])
    axes[0][0].set_ylim(len(judges) - 0.5, -0.5)
    fig.supxlabel(current().word("hml_labelled"), fontsize=10)
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncol=2)
    return fig
