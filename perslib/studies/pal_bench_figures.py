"""What the PAL-Bench page draws of scores: methods, differences, published numbers, outcomes, and what they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from perslib.report.page import current
from perslib.report.style import ACCENT, FAINT, INK, RULE, SCORES, literal
from perslib.report.words import name_of
from perslib.studies.pal_bench import FAULTLESS, OURS
from perslib.studies.pal_bench_tables import ASPECTS, METRICS

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
_OUTCOMES = {"win": SCORES[5], "tie": "#e3e7ec", "lose": SCORES[2]}
_ABLATED = "#7fb2d6"
CORRECTED = 0.05


def _name(label: str) -> str:
    return literal(name_of(str(label), current().language))


def _metric(metric: str) -> str:
    return _name(METRICS.get(metric, metric))


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
            ax.text(
                0, -0.62, current().word("pal_chance"), fontsize=8, color=SCORES[1], ha="center", va="bottom"
            )
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
    axes[0].set_yticks(range(len(methods)), [_name(m) for m in methods])
    axes[0].set_ylim(len(methods) - 0.4, -0.65)
    for ax in axes:
        ax.locator_params(axis="x", nbins=4)
        ax.margins(x=0.12)
    return fig, axes


def _title(task: str, metrics: pd.Series) -> str:
    metric = _metric(metrics.iloc[0]) if len(metrics) else ""
    return f"{_name(f'pal_{task}')}\n{metric}"


def _dots(ax: Axes, frame: pd.DataFrame, colors: Sequence[str], filled: Sequence[bool] | None = None) -> None:
    for y, (middle, low, high) in enumerate(frame.to_numpy(float)):
        color = colors[y]
        if np.isfinite(low):
            ax.hlines(y, low, high, color=color, linewidth=1.8, alpha=0.5)
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
        ax.hlines(
            places,
            own["low"].astype(float),
            own["high"].astype(float),
            color=ACCENT,
            linewidth=1.8,
            alpha=0.5,
        )
        ax.plot(own["value"], places, "o", color=ACCENT, markersize=6, label=current().word("pal_here"))
        ax.plot(own["published"], places, "D", color=FAINT, markerfacecolor="white", markersize=5.5,
                label=current().word("pal_published"))  # fmt: skip
        ax.set_title(_metric(metric), fontsize=10, loc="left")
        ax.margins(x=0.1)
    axes[0].set_yticks(range(len(methods)), [_name(m) for m in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
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
        counts = own[list(_OUTCOMES)].fillna(0).to_numpy(float)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        start = np.zeros(len(others))
        for (name, color), width, count in zip(_OUTCOMES.items(), shares.T, counts.T):
            label = current().word(f"outcome_{name}")
            ax.barh(range(len(others)), width, left=start, color=color, height=0.7, label=label)
            for y, (x, w, n) in enumerate(zip(start, width, count)):
                if w > 0.08:
                    ink = "white" if name == "win" else INK
                    ax.text(x + w / 2, y, f"{n:.0f}", ha="center", va="center", fontsize=9, color=ink)
            start += width
        ax.set_title(_name(ASPECTS[dimension]), fontsize=10, loc="left")
        ax.set(xlim=(0, 1), ylim=(len(others) - 0.5, -0.5))
        ax.set_xlabel(current().word("pal_share_of_topics"))
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0][0].set_yticks(range(len(others)), [_name(other) for other in others])
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
        ax.set_title(_metric(metric), fontsize=10, loc="left")
        ax.set_xlabel(current().word("pal_tokens"))
        ax.grid(axis="y", color=RULE, linewidth=0.6)
    return fig


def _named(ax: Axes, own: pd.DataFrame, gap: float) -> None:
    """Names beside their points, apart from one another; a line leads to the point where a name had to move."""
    middle = np.sqrt(np.prod(ax.get_xlim()))
    ordered = own.sort_values("reached", kind="stable")
    for row, y in zip(ordered.itertuples(), spread(ordered["reached"].to_numpy(float), gap)):
        left, moved = row.tokens > middle, abs(y - row.reached) > gap / 4
        ax.annotate(
            _name(row.method), (row.tokens, row.reached), (row.tokens * (0.8 if left else 1.25), y),
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
