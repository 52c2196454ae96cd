"""What the corpus page draws and says, from the frames that `perslib.studies.corpus` computes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, SCORES, draw_intervals, literal
from perslib.report.words import name_of
from perslib.text import as_paragraph, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _name(value: str) -> str:
    return translate("all turns") if value == "all" else literal(name_of(value))


def _score_legend(ax: Axes) -> None:
    """Word and colours in one line over the figure."""
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in ("none", *SCORES.values())]
    labels = [translate("score"), *(str(s) for s in SCORES)]
    ax.figure.legend(handles, labels, ncol=6, loc="outside upper left", handletextpad=0.5)


def score_distribution_figure(frame: pd.DataFrame) -> Figure:
    """Shares of the scores 1–5, one bar for all turns and one a scenario; their means at the right."""
    groups = list(dict.fromkeys(frame["scenario"]))
    fig, ax = plt.subplots(figsize=(8, 0.9 + 0.46 * len(groups)))
    rows = np.array([0, *np.arange(1.35, len(groups))])[: len(groups)]  # all turns stand a little apart
    start = np.zeros(len(groups))
    for score, color in SCORES.items():
        share = frame[frame["score"] == score].set_index("scenario")["share"].reindex(groups).to_numpy()
        ax.barh(rows, share, left=start, color=color, height=0.68, edgecolor="white", linewidth=0.8)
        for y, x, s in zip(rows, start, share):
            if s >= 0.045:
                ink = "white" if score in (1, 5) else INK
                ax.text(x + s / 2, y, f"{s:.0%}", ha="center", va="center", fontsize=8.5, color=ink)
        start += share
    levels = frame.groupby("scenario", sort=False)[["mean", "mean_low", "mean_high"]].first().reindex(groups)
    ax.text(1.015, rows[0] - 0.72, translate("mean score"), fontsize=9, color=FAINT, va="center")
    for y, (mean, low, high) in zip(rows, levels.to_numpy(float)):
        ax.text(1.015, y, f"{mean:.2f}", va="center", fontsize=10)
        if np.isfinite(low):
            ax.text(1.075, y, f"[{low:.2f}, {high:.2f}]", va="center", fontsize=8.5, color=FAINT)
    ax.set(
        yticks=rows,
        yticklabels=[_name(g) for g in groups],
        xlim=(0, 1),
        xlabel=translate("share of turns"),
    )
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.spines["left"].set_visible(False)
    ax.invert_yaxis()
    _score_legend(ax)
    return fig


def users_figure(frame: pd.DataFrame) -> Figure:
    """Every user a column: shares of their scores, strictest user first, and the mean over it."""
    names = list(dict.fromkeys(frame["user"]))
    fig, (top, ax) = plt.subplots(2, 1, figsize=(8, 4.4), sharex=True, height_ratios=[1, 2.4])
    x, width = np.arange(len(names)), 0.86 if len(names) <= 60 else 1.0
    means = frame.groupby("user", sort=False)["mean"].first()
    top.plot(x, means, color=ACCENT, marker="o", markersize=3.2 if len(x) <= 60 else 2, linewidth=0)
    top.axhline(3.5, color=FAINT, linewidth=0.7, linestyle=(0, (4, 3)))
    top.set(ylabel=translate("mean score"), ylim=(min(3.0, means.min() - 0.2), 5.1))
    top.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    base = np.zeros(len(names))
    for score, color in SCORES.items():
        share = frame[frame["score"] == score]["share"].to_numpy()
        ax.bar(x, share, bottom=base, color=color, width=width)
        base += share
    ax.set(
        xlabel=translate("users, sorted by mean score"),
        ylabel=translate("share of turns"),
        ylim=(0, 1),
        xticks=[],
    )
    ax.set_xlim(-0.7, len(names) - 0.3)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    top.spines["bottom"].set_visible(False)
    top.tick_params(bottom=False)
    fig.align_ylabels()
    _score_legend(ax)
    return fig


def _intervals(
    ax: Axes, at: Any, frame: pd.DataFrame, columns: tuple[str, str, str], upright: bool, color: Any
) -> None:
    middle, low, high = (frame[c].astype(float).to_numpy() for c in columns)
    draw_intervals(ax, at, low, high, color, upright=upright)
    ax.scatter(*((at, middle) if upright else (middle, at)), color=color, s=34, zorder=3)


_MEAN = ("mean", "mean_low", "mean_high")
_DISSATISFIED = ("dissatisfied", "dissatisfied_low", "dissatisfied_high")


def turn_position_figure(frame: pd.DataFrame) -> Figure:
    """Mean score and share scored ≤ 3 by turn number, with intervals over users."""
    current()
    fig, axes = plt.subplots(1, 2, figsize=(8, 3.3))
    at = frame["position"].to_numpy()
    for ax, columns, color in zip(axes, (_MEAN, _DISSATISFIED), (ACCENT, SCORES[2])):
        ax.plot(at, frame[columns[0]], color=color, linewidth=1, alpha=0.5)
        _intervals(ax, at, frame, columns, upright=True, color=color)
        ax.grid(axis="y")
        names = [str(p + 1) for p in at]
        if len(names) > 1 and frame["turns"].iloc[-1] and at[-1] == 5:
            names[-1] = translate("{n}+", n=at[-1] + 1)
        ax.set(
            xticks=at,
            xticklabels=names,
            xlabel=translate("turn in the conversation"),
            xlim=(at.min() - 0.5, at.max() + 0.5),
        )
    axes[0].set_title(translate("mean score"))
    axes[1].set_title(translate("share scored 3 or lower"))
    axes[1].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[1].set_ylim(bottom=0)
    return fig


def reasons_figure(frame: pd.DataFrame) -> Figure:
    """Reasons of the turns scored 3 or lower, most frequent first."""
    fig, ax = plt.subplots(figsize=(8, 0.75 + 0.42 * len(frame)))
    y = np.arange(len(frame))
    ax.barh(y, frame["share"], color=SCORES[2], height=0.62)
    for row, share, turns in zip(y, frame["share"], frame["turns"]):
        ax.text(share + 0.006, float(row), f"{share:.0%}  ({turns:,})", va="center", fontsize=9, color=INK)
    ax.set(yticks=y, yticklabels=[_name(r) for r in frame["reason"]], xlim=(0, frame["share"].max() * 1.16))
    ax.set_xlabel(translate("share of turns scored 3 or lower"))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.spines["left"].set_visible(False)
    ax.invert_yaxis()
    return fig


def lengths_figure(frame: pd.DataFrame) -> Figure:
    """How long requests and replies are, in characters on a logarithmic axis, medians marked."""
    fig, ax = plt.subplots(figsize=(8, 3.1))
    top = max(frame["characters"].max(), 10)
    start = max(frame["characters"].clip(lower=1).min() / 1.5, 1)
    bins = np.geomspace(start, top * 1.05, 46).tolist()
    for quantity, color in (("requests", CATEGORIES[1]), ("replies", CATEGORIES[0])):
        values = frame.loc[frame["quantity"] == quantity, "characters"].clip(lower=1)
        if values.empty:
            continue
        share = np.full(len(values), 1 / len(values))
        ax.hist(values, bins=bins, weights=share, color=color, alpha=0.72, label=name_of(quantity))
        median = float(values.median())
        ax.axvline(median, color=color, linewidth=1.2, linestyle=(0, (4, 3)))
        text = translate("median {n}", n=f"{median:,.0f}")
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (5, 0)}
        place["textcoords"] = "offset points"
        ax.annotate(text, (median, 1), va="top", fontsize=9, color=INK, **place)
    ax.set(xscale="log", xlabel=translate("characters"), ylabel=translate("share"), xlim=(1, top * 1.1))
    ax.set_ylim(top=ax.get_ylim()[1] * 1.12)
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    fig.legend(loc="outside upper left", ncol=2)
    return fig


def assistants_figure(frame: pd.DataFrame) -> Figure:
    """Mean score and share scored ≤ 3 an assistant, with intervals over users."""
    current()
    fig, axes = plt.subplots(
        1, 2, figsize=(8, 1.25 + 0.42 * len(frame)), sharey=True, gridspec_kw={"wspace": 0.08}
    )
    y = np.arange(len(frame))
    for ax, columns, color in zip(axes, (_MEAN, _DISSATISFIED), (ACCENT, SCORES[2])):
        _intervals(ax, y, frame, columns, upright=False, color=color)
        ax.grid(axis="x")
        ax.spines["left"].set_visible(False)
    axes[0].set(yticks=y, yticklabels=[literal(a) for a in frame["assistant"]], ylim=(len(frame) - 0.5, -0.5))
    axes[0].set_title(translate("mean score"))
    axes[1].set_title(translate("share scored 3 or lower"))
    axes[1].xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return fig


@as_paragraph
def user_share(share: Mapping[str, float]) -> Iterator[str]:
    """How much of a score is known from the user alone."""
    is_known = not math.isnan(share["r"])
    if is_known:
        yield translate("**What a judge has to beat.**")
    if not math.isnan(share["between_users"]):
        yield translate("{between_users:.0%} of the variance of the scores lies between users.", **share)
    if is_known:
        interval = "" if math.isnan(share["low"]) else f" [{share['low']:.2f}, {share['high']:.2f}]"
        yield translate(
            "Predicting every score as the user's mean in the *other* scenarios, without reading a reply, "
            "correlates with the scores at **r = {r:.2f}**{interval} ({turns:,} turns). Agreement of this size "
            "shows that a judge knows the user's level, not that it reads the reply; all agreement tables of the "
            "studies therefore include this control.",
            interval=interval,
            **share,
        )
    else:
        yield translate(
            "No user gave scores that differ in more than one scenario, so what is known of a user beforehand "
            "cannot be compared with the scores."
        )
