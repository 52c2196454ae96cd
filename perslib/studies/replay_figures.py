"""What the replay page draws: standings with distributions, wins and losses, and how firm the ranking is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from perslib.replay import ORIGINAL
from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, RULE, SCORES, literal
from perslib.report.words import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours for candidates; the grey one is the recorded reply's.
_HUES = [color for color in CATEGORIES if color != "#6b7a8f"]
_OUTCOMES = {"win": SCORES[5], "tie": "#e3e7ec", "lose": SCORES[2]}


def _name(label: str) -> str:
    return literal(name_of(str(label), current().language))


def standings(summary: pd.DataFrame) -> Figure:
    """The paper's Figure 2: user macro with its interval; beside it the distribution, with the share at 3 and below."""
    ordered = summary.sort_values("user_macro", ascending=False, kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 1.2 + 0.36 * len(ordered)), sharey=True, width_ratios=[1, 1.25]
    )
    middle, low, high = ordered[["user_macro", "user_macro_low", "user_macro_high"]].to_numpy(float).T
    colors = [FAINT if c == ORIGINAL else ACCENT for c in ordered["candidate"]]
    if np.isfinite(low).any():
        left.hlines(at, low, high, colors=colors, linewidth=2, alpha=0.5)
    left.scatter(middle, at, c=colors, s=26, zorder=3)
    left.set_xlabel(current().word("user_macro_95"))
    left.set_yticks(at, [_name(c) for c in ordered["candidate"]])
    left.set_ylim(len(ordered) - 0.5, -0.5)

    shares = ordered[[f"share{s}" for s in range(1, 6)]].fillna(0).to_numpy(float)
    start = np.zeros(len(ordered))
    for score in range(1, 6):
        right.barh(at, shares[:, score - 1], left=start, color=SCORES[score], height=0.7, label=f"{score}")
        start += shares[:, score - 1]
    for y, share in enumerate(ordered["dsat"].to_numpy(float)):
        right.text(1.02, y, f"{share:.1%}", va="center", fontsize=9, color=SCORES[1])
    right.text(
        1.02, -0.75, current().word("at_most_3"), fontsize=8.5, color=SCORES[1], ha="left", va="bottom"
    )
    right.set(xlim=(0, 1))
    right.set_xlabel(current().word("score_distribution"))
    right.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    right.spines["left"].set_visible(False)
    right.tick_params(axis="y", length=0)
    fig.legend(*right.get_legend_handles_labels(), loc="outside upper left", ncol=5, title=None)
    return fig


def outcomes(compared: pd.DataFrame) -> Figure:
    """The paper's Figures 3 and 4: shares of turns won, tied and lost against one other candidate."""
    ordered = compared.sort_values("mean_delta", ascending=False, kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, ax = plt.subplots(figsize=(7.6, 1.1 + 0.36 * len(ordered)))
    start = np.zeros(len(ordered))
    for name, color in _OUTCOMES.items():
        width = ordered[name].to_numpy(float)
        ax.barh(at, width, left=start, color=color, height=0.7, label=current().word(f"outcome_{name}"))
        for y, x, w in zip(at.tolist(), start, width):
            if w > 0.055:
                ink = "white" if name == "win" else INK
                ax.text(x + w / 2, y, f"{w:.0%}", ha="center", va="center", fontsize=9, color=ink)
        start += width
    ax.set_yticks(at, [_name(c) for c in ordered["candidate"]])
    ax.set(xlim=(0, 1), ylim=(len(ordered) - 0.5, -0.5))
    ax.set_xlabel(current().word("share_of_turns_against", other=_name(ordered["other"].iloc[0])))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper left", ncol=3)
    return fig


def rank_lines(means: pd.DataFrame) -> Figure:
    """How each candidate ranks in each view (a judge, a calibration, a replay set); lines that cross are disagreement."""
    ranks = means.rank(ascending=False, method="average")
    views = list(ranks.columns)
    order = ranks.iloc[:, 0].sort_values().index
    fig, ax = plt.subplots(figsize=(max(5.6, 1.9 + 0.95 * len(views)), 1.5 + 0.36 * len(ranks)))
    for place, candidate in enumerate(order):
        color = FAINT if candidate == ORIGINAL else _HUES[place % len(_HUES)]
        line = ranks.loc[candidate].to_numpy(float)
        ax.plot(range(len(views)), line, "-o", color=color, linewidth=2, markersize=6)
        ax.text(-0.12, line[0], _name(candidate), ha="right", va="center", fontsize=9.5, color=color)
        ax.text(
            len(views) - 0.88, line[-1], f"{line[-1]:g}", ha="left", va="center", fontsize=9.5, color=color
        )
    ax.set_xticks(range(len(views)), [_view(v) for v in views], fontsize=9)
    ax.set(ylim=(len(ranks) + 0.5, 0.5), xlim=(-0.25, len(views) - 0.75))
    ax.set_yticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return fig


def _view(name: str) -> str:
    return "\n".join(_name(part) for part in name.split(" · "))


def taus(views: pd.DataFrame) -> Figure:
    """Kendall's τ between every two views, with intervals over resampled users; 1 is the same order."""
    ordered = views.sort_values("tau", kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, ax = plt.subplots(figsize=(7.6, 0.9 + 0.3 * len(ordered)))
    middle, low, high = ordered[["tau", "low", "high"]].to_numpy(float).T
    if np.isfinite(low).any():
        ax.hlines(at, low, high, color=ACCENT, linewidth=2, alpha=0.5)
    ax.plot(middle, at, "o", color=ACCENT)
    pairs = (f"{_one_line(a)} – {_one_line(b)}" for a, b in zip(ordered["view"], ordered["other"]))
    ax.set_yticks(at, list(pairs), fontsize=9)
    ax.set_xlim(min(-0.05, float(np.nanmin([*low, *middle])) - 0.05), 1.05)
    ax.axvline(0, color=RULE, linewidth=0.8)
    ax.set_xlabel(current().word("kendall_tau"))
    return fig


def _one_line(view: str) -> str:
    return ", ".join(_name(part) for part in view.split(" · "))


def truth(frame: pd.DataFrame) -> Figure:
    """Judged against true satisfaction, a point a candidate, a panel a judge; on the diagonal they are equal."""
    judges = list(dict.fromkeys(frame["judge"]))
    fig, axes = plt.subplots(
        1, len(judges), figsize=(min(8.6, 3.1 * len(judges) + 0.6), 3.2), squeeze=False, sharey=True
    )
    spread = frame[["user_macro", "true"]].to_numpy(float)
    ends = [np.nanmin(spread) - 0.12, np.nanmax(spread) + 0.12]
    for ax, judge in zip(axes[0], judges):
        own = frame[frame["judge"] == judge]
        ax.plot(ends, ends, color=FAINT, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.set(xlim=(ends[0] - 0.35, ends[1] + 0.35), ylim=ends)
        _points(ax, own)
        ax.set_title(_name(judge), fontsize=10, loc="left")
    fig.supxlabel(current().word("true_satisfaction"), fontsize=10)
    axes[0][0].set_ylabel(current().word("judged_satisfaction"))
    return fig


def _points(ax: Axes, own: pd.DataFrame) -> None:
    low, high = own["user_macro_low"].to_numpy(float), own["user_macro_high"].to_numpy(float)
    if np.isfinite(low).any():
        ax.vlines(own["true"], low, high, color=ACCENT, linewidth=1.6, alpha=0.4)
    ax.plot(own["true"], own["user_macro"], "o", color=ACCENT)
    for row in own.itertuples():
        above = row.user_macro > row.true  # labels point away from the diagonal
        place, side = ((-5, 4), "right") if above else ((5, -9), "left")
        at = (row.true, row.user_macro)
        ax.annotate(_name(row.candidate), at, place, textcoords="offset points", ha=side, fontsize=8)


def selections(profiles: pd.DataFrame, names: Sequence[str]) -> Figure:
    """What the users had given the recorded replies, in each replay set and in all turns of the split."""
    gold = profiles.xs("gold", level="part")[list(names)]
    at = np.arange(len(names))
    fig, ax = plt.subplots(figsize=(7.6, 1.0 + 0.4 * len(names)))
    start = np.zeros(len(names))
    for score in range(1, 6):
        width = gold.loc[str(score)].to_numpy(float)
        ax.barh(at, width, left=start, color=SCORES[score], height=0.7, label=f"{score}")
        for y, x, w in zip(at.tolist(), start, width):
            if w > 0.05:
                ink = "white" if score in (1, 5) else INK
                ax.text(x + w / 2, y, f"{w:.0%}", ha="center", va="center", fontsize=9, color=ink)
        start += width
    ax.set_yticks(at, [_name(n) for n in names])
    ax.set(xlim=(0, 1), ylim=(len(names) - 0.5, -0.5))
    ax.set_xlabel(current().word("scores_of_recorded_replies"))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper left", ncol=5)
    return fig
