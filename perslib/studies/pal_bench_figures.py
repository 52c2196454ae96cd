"""What the PAL-Bench page draws: methods, differences, published numbers, outcomes, costs, and how a memory grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Arc
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from perslib.report.page import current
from perslib.report.style import (
    ACCENT,
    CATEGORIES,
    FAINT,
    INK,
    RULE,
    SCORES,
    draw_intervals,
    draw_shares,
    label_rows,
    literal,
    literal_name,
)
from perslib.report.words import name_of
from perslib.studies.pal_bench import FAULTLESS, OURS
from perslib.studies.pal_bench_memory import MOST_LOGS, Graph
from perslib.studies.pal_bench_tables import ASPECTS, METRICS
from perslib.studies.shared import OUTCOMES, outcome_looks
from perslib.text import translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: The panels: what of a task stands for it.
PANELS: tuple[tuple[str, int | str], ...] = (
    ("requirement", 1),
    ("requirement", "g"),
    ("solution", 1),
    ("selection", "s"),
)
_ABLATED = "#7fb2d6"
CORRECTED = 0.05


def _metric(metric: str) -> str:
    return literal_name(METRICS.get(metric, metric))


def _color(method: str) -> str:
    if method in (OURS, FAULTLESS):
        return ACCENT
    return _ABLATED if method.startswith(OURS) else FAINT


def _panel(table: pd.DataFrame, task: str, metric: int | str) -> pd.DataFrame:
    """The rows of a panel; BLEU goes by the name that the language's way to cut texts gives it."""
    own = table[table["task"] == task]
    if isinstance(metric, str):
        return own[own["metric"] == metric]
    return own[own["metric"].str.endswith(f"bleu_{metric}")]


def scores(table: pd.DataFrame) -> Figure:
    """A row a method, a panel a metric, 95 % intervals where there are any; chance is marked where it is known."""
    methods = list(dict.fromkeys(table["method"]))
    fig, axes = _panels(methods)
    for ax, (task, metric) in zip(axes, PANELS):
        own = _panel(table, task, metric).set_index("method").reindex(methods)
        _dots(ax, own[["value", "low", "high"]], [_color(m) for m in methods])
        ax.set_title(_title(task, own["metric"].dropna()), fontsize=9.5, loc="left")
        if metric == "s":
            ax.axvline(0, color=SCORES[2], linewidth=1, linestyle=(0, (4, 3)))
            ax.text(0, -0.62, translate("chance"), fontsize=8, color=SCORES[1], ha="center", va="bottom")
        _roomy(ax)
    return fig


def differences(table: pd.DataFrame) -> Figure:
    """H²Memory minus each other method on the samples of both; filled where the corrected p is below 0.05."""
    methods = list(dict.fromkeys(table["other"]))
    fig, axes = _panels(methods)
    for ax, (task, metric) in zip(axes, PANELS):
        own = _panel(table, task, metric).set_index("other").reindex(methods)
        sure = (own["p_holm"] < CORRECTED).tolist()
        _dots(ax, own[["difference", "low", "high"]], [_color(m) for m in methods], sure)
        ax.axvline(0, color=INK, linewidth=0.7)
        ax.set_title(_title(task, own["metric"].dropna()), fontsize=9.5, loc="left")
        _roomy(ax)
    return fig


def _roomy(ax: Axes, least: float = 10.0) -> None:
    """Points of ten and more, so that what hardly differs looks so."""
    low, high = ax.get_xlim()
    if high - low < least:
        ax.set_xlim((low + high - least) / 2, (low + high + least) / 2)


def _panels(methods: Sequence[str]) -> tuple[Figure, Sequence[Axes]]:
    fig, axes = plt.subplots(1, 4, figsize=(8.8, 1.3 + 0.31 * len(methods)), sharey=True)
    axes[0].set_yticks(range(len(methods)), [literal_name(m) for m in methods])
    axes[0].set_ylim(len(methods) - 0.4, -0.65)
    for ax in axes:
        ax.locator_params(axis="x", nbins=4)
        ax.margins(x=0.12)
    return fig, axes


def _title(task: str, metrics: pd.Series) -> str:
    metric = _metric(metrics.iloc[0]) if len(metrics) else ""
    return f"{literal_name(f'pal_{task}')}\n{metric}"


def _dots(ax: Axes, frame: pd.DataFrame, colors: Sequence[str], filled: Sequence[bool] | None = None) -> None:
    values, low, high = frame.to_numpy(float).T
    draw_intervals(ax, np.arange(len(frame)), low, high, colors)
    for y, (middle, color) in enumerate(zip(values, colors)):
        face = color if filled is None or filled[y] else "white"
        ax.plot(middle, y, "o", color=color, markerfacecolor=face, markersize=5.5)


def beside_published(frame: pd.DataFrame) -> Figure:
    """Here and in the paper, told apart by their marks: other users, other models, another judge."""
    methods = list(dict.fromkeys(frame["method"]))
    fig, axes = plt.subplots(1, 2, figsize=(8.6, 1.5 + 0.31 * len(methods)), sharey=True)
    at = {method: y for y, method in enumerate(methods)}
    for ax, metric in zip(axes, ("g", "s")):
        own = frame[frame["metric"] == metric]
        places = [at[m] for m in own["method"]]
        draw_intervals(ax, places, own["low"], own["high"], ACCENT)
        ax.plot(own["value"], places, "o", color=ACCENT, markersize=6, label=translate("measured here"))
        ax.plot(own["published"], places, "D", color=FAINT, markerfacecolor="white", markersize=5.5,
                label=translate("published by Mem-PAL, under other conditions"))  # fmt: skip
        ax.set_title(_metric(metric), fontsize=10, loc="left")
        ax.margins(x=0.1)
    label_rows(axes[0], methods)
    axes[1].axvline(0, color=SCORES[2], linewidth=1, linestyle=(0, (4, 3)))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncol=2)
    return fig


def outcomes(table: pd.DataFrame) -> Figure:
    """Table 3 as bars: shares of topics won, tied and lost, a panel a dimension."""
    others = list(dict.fromkeys(table["other"]))
    dimensions = list(dict.fromkeys(table["dimension"]))
    fig, axes = plt.subplots(
        1, len(dimensions), figsize=(8.6, 1.4 + 0.36 * len(others)), sharey=True, squeeze=False
    )
    for ax, dimension in zip(axes[0], dimensions):
        own = table[table["dimension"] == dimension].set_index("other").reindex(others)
        counts = own[list(OUTCOMES)].fillna(0).to_numpy(float)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        draw_shares(ax, shares, outcome_looks(), counts.astype(int).astype(str), least=0.08, dark=[0])
        ax.set_title(literal_name(ASPECTS[dimension]), fontsize=10, loc="left")
        ax.set_xlabel(translate("Share of topics"))
    label_rows(axes[0][0], others)
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncol=3)
    return fig


def taken(table: pd.DataFrame) -> Figure:
    """What a method reaches against the tokens it takes for a user: memory built, and a task answered."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, max(3.0, 1.8 + 0.2 * len(table))))
    tokens = (table["build_tokens"] + table["answer_tokens"]).astype(float).clip(lower=1)
    for ax, metric in zip(axes, ("g", "s")):
        own = table.assign(tokens=tokens, reached=table[METRICS[metric]].astype(float)).dropna(
            subset="reached"
        )
        ax.set_title(_metric(metric), fontsize=10, loc="left")
        if own.empty:  # no method has an answer that could be graded
            ax.text(
                0.5,
                0.5,
                translate("No rows: nothing to list."),
                ha="center",
                va="center",
                color=FAINT,
            )
            ax.set(xticks=[], yticks=[])
            continue
        ax.set_xscale("log")
        wide = tokens.max() / tokens.min() > 30
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.scatter(own["tokens"], own["reached"], c=[_color(m) for m in own["method"]], s=34, zorder=3)
        low, high = own["reached"].min(), own["reached"].max()
        room = max(high - low, 10.0)
        gap = 0.06 * room
        reach = 0.12 * room + gap * len(own) / 3
        ax.set(ylim=(low - reach, high + reach), xlim=(tokens.min() / 2.2, tokens.max() * 2.6))
        _named(ax, own, 1.5 * gap)
        if metric == "s" and low <= 0 <= high + 0.2 * room:
            ax.axhline(0, color=SCORES[2], linewidth=1, linestyle=(0, (4, 3)))
        ax.set_xlabel(translate("Tokens: a user's memory plus one answer"))
        ax.grid(axis="y", color=RULE, linewidth=0.6)
    return fig


def _named(ax: Axes, own: pd.DataFrame, gap: float) -> None:
    """Names beside their points, apart from one another; a line leads to the point where a name had to move."""
    middle = np.sqrt(np.prod(ax.get_xlim()))
    ordered = own.sort_values("reached", kind="stable")
    for row, y in zip(ordered.itertuples(), spread(ordered["reached"].to_numpy(float), gap)):
        left, moved = row.tokens > middle, abs(y - row.reached) > gap / 4
        ax.annotate(
            literal_name(row.method), (row.tokens, row.reached), (row.tokens * (0.8 if left else 1.25), y),
            ha="right" if left else "left", va="center", fontsize=8, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.5} if moved else None,
        )  # fmt: skip


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Rising places moved as little as it takes, so that each is `gap` from the next: runs of near ones keep their mean."""
    runs: list[list[float]] = []
    for place in places.tolist():
        runs.append([place])
        while len(runs) > 1 and _ends(runs[-2], gap)[1] + gap > _ends(runs[-1], gap)[0]:
            runs[-2:] = [[*runs[-2], *runs[-1]]]
    return np.array([_ends(run, gap)[0] + gap * i for run in runs for i in range(len(run))])


def _ends(run: list[float], gap: float) -> tuple[float, float]:
    half = gap * (len(run) - 1) / 2
    middle = sum(run) / len(run)
    return middle - half, middle + half


_KEPT = ("situations", "outlines", "principles", "aspects")
_SIZES = ("situations_size", "background_size", "outlines_size", "principles_size")
_LINES: dict[str, Any] = {"caused_by": "-", "follows": (0, (3, 2))}


def growth(frame: pd.DataFrame) -> Figure:
    """Left, pieces of each kind after each session; right, the characters heard against the characters kept."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    at = np.arange(1, len(frame) + 1)
    ends = []
    for kind, color in zip(_KEPT, CATEGORIES):
        values = frame[kind].to_numpy(float)
        left.plot(at, values, "-o", color=color, markersize=3.5 if len(at) > 1 else 6)
        ends.append((values[-1], literal_name(kind), color))
    _labels(left, float(at[-1]), ends)
    left.set_title(translate("Parts stored"), fontsize=10, loc="left")
    heights = frame[list(_SIZES)].to_numpy(float).T
    right.plot(
        at, frame["heard"], "-o", color=FAINT, markersize=3.5, label=translate("input (logs and dialogues)")
    )
    right.stackplot(
        at, heights, colors=[*CATEGORIES[:1], CATEGORIES[3], CATEGORIES[1], CATEGORIES[2]], alpha=0.75,
        labels=[literal_name(kind) for kind in _SIZES],
    )  # fmt: skip
    right.set_title(translate("Characters of input and memory"), fontsize=10, loc="left")
    right.legend(loc="upper left", fontsize=8.5)
    top = max(frame["heard"].max(), heights.sum(axis=0).max())
    right.set_ylim(0, top * 1.45)
    for ax in (left, right):
        ax.set_xlabel(translate("Sessions processed"))
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
    logs = graph.logs.head(MOST_LOGS)
    edges = graph.edges[(graph.edges["log"] < len(logs)) & (graph.edges["earlier"] < len(logs))]
    spans = (edges["log"] - edges["earlier"]).to_numpy(float)
    reach = max(2.0, min(8.0, float(spans.max()) / 2 if len(spans) else 2.0))
    fig, ax = plt.subplots(figsize=(8.6, 0.9 + 0.235 * len(logs)))
    for edge in edges.itertuples():
        color = _cluster_color(int(logs["group"].iloc[edge.log]))
        height = edge.log - edge.earlier
        width = 2 * reach * (0.25 + 0.75 * height / max(spans.max(), 1))
        middle = (edge.log + edge.earlier) / 2
        ax.add_patch(
            Arc((0, middle), width, height, theta1=90, theta2=270, color=color, linewidth=1.3,
                linestyle=_LINES[edge.kind])
        )  # fmt: skip
    colors = [_cluster_color(int(group)) for group in logs["group"]]
    ax.scatter(np.zeros(len(logs)), logs["log"], c=colors, s=26, zorder=3)
    days = ""
    for row in logs.itertuples():
        day, clock = str(row.at)[:10], str(row.at)[11:16]
        shown = f"{day[5:]} {clock}" if day != days else clock
        days = day
        ax.text(0.35, row.log, shown, fontsize=8, color=FAINT, va="center", ha="left")
        number = f"{row.group}" if row.group else ""
        ax.text(
            3.0,
            row.log,
            number,
            fontsize=8.5,
            color=_cluster_color(int(row.group)),
            va="center",
            weight="bold",
        )
        ax.text(3.5, row.log, literal(row.content, 92), fontsize=8.5, color=INK, va="center")
    ax.set(xlim=(-reach - 0.3, 22), ylim=(len(logs) - 0.4, -0.9))
    ax.axis("off")
    handles = [
        plt.Line2D([], [], color=FAINT, linestyle=style, label=name_of(f"pal_{kind}"))
        for kind, style in _LINES.items()
    ]
    fig.legend(handles=handles, loc="outside upper left", ncol=2, handlelength=2.4)
    return fig


def _cluster_color(group: int) -> str:
    """Groups by turns in the colours for categories; a log by itself is grey."""
    hues = [*(color for color in CATEGORIES if color != "#6b7a8f"), "#39424e"]
    return hues[(group - 1) % len(hues)] if group else "#b4bcc7"


def outlines(frame: pd.DataFrame, kinds: pd.DataFrame) -> Figure:
    """Outlines by likeness, a colour a cluster with its number; the kinds of requirement beside them."""
    fig, (ax, words) = plt.subplots(
        1, 2, figsize=(8.6, max(3.6, 0.9 + 0.36 * len(kinds))), width_ratios=[1.05, 1]
    )
    for cluster, own in frame.groupby("cluster", dropna=False):
        number = 0 if pd.isna(cluster) else int(cluster)
        color = _cluster_color(number)
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
    ax.set_xlabel(translate("Direction {n} ({share} of variance)", n=1, share=f"{first:.0%}"))
    ax.set_ylabel(translate("Direction {n} ({share} of variance)", n=2, share=f"{second:.0%}"))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(RULE)
    words.axis("off")
    words.set(xlim=(0, 1), ylim=(max(len(kinds), 6) - 0.5, -0.7))
    for place, row in enumerate(kinds.itertuples()):
        color = _cluster_color(int(row.cluster))
        words.text(0.0, place, f"{row.cluster}", color=color, weight="bold", fontsize=10, va="center")
        words.text(0.07, place, _short(row.requirement_kind), fontsize=9, color=INK, va="center")
    return fig


def _short(text: str) -> str:
    return literal(text, 28 if current().language == "zh" else 52)
