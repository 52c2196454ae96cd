"""What the page on patience draws: budgets running down, estimates against the truth, people, and ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, RULE, SCORES
from perslib.report.words import name_of
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def budgets(told: pd.DataFrame, reasons: Mapping[str, str], estimated: pd.DataFrame | None = None) -> Figure:
    """Budget left after each turn, a panel a user; dashed what was estimated, shaded what User 3 still expects to pay."""
    _page, names = current(), list(dict.fromkeys(told["user"]))
    fig, axes = plt.subplots(1, len(names), figsize=(9.2, 3.2), sharey=True)
    for ax, name in zip(axes, names):
        own = told[told["user"] == name]
        turn, left = own["turn"].to_numpy(), own["left"].to_numpy(float)
        won = reasons[name] == "success"
        ax.axhline(0, color=INK, linewidth=0.8)
        if own["needed"].any():
            ax.fill_between(
                turn,
                left - own["needed"],
                left,
                color=SCORES[3],
                alpha=0.45,
                linewidth=0,
                label=translate("expected cost of the rest"),
            )
        ax.plot(turn, left, "-o", color=ACCENT, markersize=4, linewidth=1.8, label=translate("budget left"))
        if estimated is not None and (estimated["user"] == name).any():
            guess = estimated[estimated["user"] == name]
            ax.plot(
                guess["turn"],
                guess["budget"],
                "--",
                color=SCORES[2],
                linewidth=1.6,
                label=translate("estimated"),
            )
        mark = {"marker": "*", "s": 130} if won else {"marker": "X", "s": 80}
        ax.scatter(turn[-1:], left[-1:], color=SCORES[5] if won else SCORES[1], zorder=4, **mark)
        ax.set_title(f"{name_of(name)}{translate(': ')}{name_of(f'left_{reasons[name]}')}", fontsize=10)
        ax.set_xlabel(translate("Turn"))
        ax.set_xticks(turn if len(turn) < 10 else turn[::2])
    axes[0].set_ylabel(translate("Budget"))
    handles = {label: h for ax in axes for h, label in zip(*ax.get_legend_handles_labels())}
    fig.legend(handles.values(), handles.keys(), loc="outside upper left", ncol=3)
    return fig


def against_truth(tables: pd.DataFrame, columns: int = 4) -> Figure:
    """Figures 2 to 5: mean ± std of the estimated reward at each true one, a panel a fit, with the fitted line.

    Columns: method, true, mean, std, turns; and paper, its mean there. Levels with few turns are pale and left out of
    the line.
    """
    _page, names = current(), list(dict.fromkeys(tables["method"]))
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    fig, axes = plt.subplots(
        rows, columns, figsize=(2.4 * columns + 0.6, 2.5 * rows + 0.5), sharex=True, squeeze=False
    )
    for ax, name in zip(axes.flat, names):
        own = tables[tables["method"] == name]
        often = own["turns"] >= 30
        for part, alpha in ((own[often], 1.0), (own[~often], 0.35)):
            ax.errorbar(
                part["true"],
                part["mean"],
                part["std"],
                fmt="o",
                color=ACCENT,
                markersize=4.5,
                capsize=2.5,
                alpha=alpha,
            )
        if often.sum() > 1:
            slope, start = np.polyfit(own.loc[often, "true"], own.loc[often, "mean"], 1)
            at = np.array([-7.0, -1.0])
            ax.plot(at, slope * at + start, color=FAINT, linewidth=1)
            ax.text(
                0.04,
                0.93,
                translate("slope {n}", n=f"{slope:.2f}"),
                transform=ax.transAxes,
                fontsize=8.5,
                va="top",
            )
        if own["paper"].notna().any():
            ax.scatter(
                own["true"],
                own["paper"],
                marker="D",
                s=22,
                facecolors="none",
                edgecolors=SCORES[2],
                linewidths=1.2,
                zorder=3,
            )
        ax.set_title(name_of(name), fontsize=9.5)
        ax.tick_params(labelbottom=True)  # below some panels there is none to carry them
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    fig.supxlabel(translate("True reward of a turn"), fontsize=10)
    fig.supylabel(translate("Estimated reward"), fontsize=10)
    return fig


def people(users: pd.DataFrame) -> Figure:
    """Relative patience of held-out people, estimated against true, without and with their profile."""
    _page, names = current(), list(dict.fromkeys(users["method"]))
    fig, axes = plt.subplots(
        1, len(names), figsize=(3.4 * len(names) + 0.6, 3.3), sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(axes.flat, names):
        own = users[users["method"] == name]
        ax.scatter(own["true"], own["estimated"], s=22, color=ACCENT, alpha=0.8)
        ax.axline((1.5, 1.5), slope=1, color=RULE, linewidth=1, zorder=0)
        ax.set_title(name_of(name), fontsize=10)
        ax.set_xlabel(translate("True patience ÷ eq. 17"))
    axes[0, 0].set_ylabel(translate("Estimated patience ÷ eq. 17"))
    return fig


def ratings(by_rating: pd.DataFrame, by_budget: pd.DataFrame) -> Figure:
    """Figure 6: mean remaining budget at each rating (one panel a rating), and success by remaining budget."""
    _page, names = current(), list(dict.fromkeys(by_rating["kind"]))
    fig, axes = plt.subplots(1, len(names) + 1, figsize=(9.2, 3.0))
    for ax, name in zip(axes, names):
        own = by_rating[by_rating["kind"] == name]
        _with_interval(ax, own["rating"], own["mean"], own["mean_low"], own["mean_high"], ACCENT)
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.set_xlabel(name_of(name))
        ax.set_xticks(range(1, 6))
    axes[0].set_ylabel(translate("Budget at the end"))
    last = axes[-1]
    _with_interval(
        last,
        by_budget["budget"],
        by_budget["success"],
        by_budget["success_low"],
        by_budget["success_high"],
        CATEGORIES[2],
    )
    last.axvline(0, color=INK, linewidth=0.8)
    last.set_xlabel(translate("Budget at the end"))
    last.set_ylabel(translate("Success"))
    last.set_ylim(0, 1.02)
    last.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return fig


def curves(learned: pd.DataFrame) -> Figure:
    """Success while agents learn, a line an agent, thin for each seed."""
    fig, ax = plt.subplots(figsize=(7.2, 3.4))
    for color, (name, own) in zip(CATEGORIES * 2, learned.groupby("agent", sort=False)):
        for _, one in own.groupby("seed"):
            ax.plot(one["step"], one["success"], color=color, linewidth=0.8, alpha=0.4)
        mean = own.groupby("step")["success"].mean()
        ax.plot(mean.index, mean, color=color, linewidth=2, label=name_of(name))
    ax.set(xlabel=translate("Steps"), ylabel=translate("Success"), ylim=(0, 1.02))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    fig.legend(loc="outside right upper")
    return fig


def _with_interval(ax: Axes, x: pd.Series, y: pd.Series, low: pd.Series, high: pd.Series, color: str) -> None:
    ax.vlines(x, low, high, color=color, alpha=0.5, linewidth=2)
    ax.plot(x, y, "-o", color=color, markersize=4.5, linewidth=1.2)
