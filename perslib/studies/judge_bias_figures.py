"""What the page on judge bias draws: mildness apart from sensitivity, open ranks, own families, pairs, and audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import norm

from perslib.report.style import (
    ACCENT,
    CATEGORIES,
    FAINT,
    INK,
    RULE,
    SCORES,
    draw_intervals,
    label_rows,
    literal_name,
)
from perslib.studies.judge_bias import LABELS
from perslib.text import translate
from perslib.ux import REWARD_MODEL, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAD, _GOOD = SCORES[2], SCORES[5]
_MARKERS = ["o", "s", "^", "v", "P", "X", "<", ">", "*", "p", "h", "8", "d", "H"]


def _looks(of: pd.Series) -> dict[str, tuple[str, str]]:
    """A colour and a marker a family, so that no colour is needed to tell them apart; the trained judge in ink."""
    names = [f for f in dict.fromkeys(of) if f != "reward model"]
    colors = [*CATEGORIES, "#c0627a", *CATEGORIES]
    return {**dict(zip(names, zip(colors, _MARKERS))), "reward model": (INK, "D")}


def mildness(table: pd.DataFrame) -> Figure:
    """Recall of good and of bad cases, a line a judge: the longer the line, the milder the judge."""
    ordered = table.sort_values("positive_bias", kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, ax = plt.subplots(figsize=(7.6, 1.1 + 0.235 * len(ordered)))
    ax.hlines(at, ordered["bad_acc"], ordered["good_acc"], color=RULE, linewidth=3)
    for column, color, label in (
        ("bad_acc", _BAD, translate("bad cases recognised")),
        ("good_acc", _GOOD, translate("good cases recognised")),
    ):
        ax.plot(ordered[column], at, "o", color=color, markersize=6, label=label)
    ax.plot(ordered["accuracy"], at, "|", color=INK, markersize=9, label=translate("accuracy"))
    for y, bias in zip(at.tolist(), ordered["positive_bias"]):
        ax.text(103, y, f"{bias:+.0f}", va="center", fontsize=8.5, color=FAINT)
    ax.set_yticks(at, [literal_name(m) for m in ordered["model"]], fontsize=8.5)
    for tick, model in zip(ax.get_yticklabels(), ordered["model"]):
        tick.set_fontweight("bold" if model == REWARD_MODEL else "normal")
    ax.set(xlim=(0, 110), ylim=(len(ordered) - 0.4, -0.6), xticks=range(0, 101, 20))
    ax.set_xlabel(translate("Percent; on the right: positive bias, points"))
    fig.legend(loc="outside upper left", ncol=3)
    return fig


def sensitivity(table: pd.DataFrame) -> Figure:
    """d′ against c with 95 % intervals of d′; along the grey lines accuracy is the same."""
    fig, ax = plt.subplots(figsize=(7.8, 4.7))
    c = np.linspace(-0.25, 2.15, 200)
    for share in (0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
        line = _d_for(share, c)
        ax.plot(c, line, color=RULE, linewidth=0.9, zorder=0)
        place = int(np.argmin(np.abs(line - 0.93))) if line[50] < 0.9 else 40
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(
            c[place], line[place], f"{share:.0%}", fontsize=8, color=FAINT, ha="center", va="center", bbox=box
        )
    looks = _looks(table["family"])
    reach = norm.ppf(0.975) * table["d_prime_se"]
    for family, own in table.groupby("family", sort=False):
        color, marker = looks[str(family)]
        ax.errorbar(
            own["criterion"],
            own["d_prime"],
            reach[own.index],
            fmt="none",
            ecolor=color,
            alpha=0.35,
            linewidth=1.2,
        )
        ax.plot(
            own["criterion"], own["d_prime"], marker, color=color, markersize=6, label=literal_name(family)
        )
    trained = table[table["model"] == REWARD_MODEL].iloc[0]
    ax.axhline(trained["d_prime"], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(xlim=(-0.33, 2.15), ylim=(0.85, 2.1))
    ax.set_xlabel(translate("Criterion c: above zero, reluctant to say bad"))
    ax.set_ylabel(translate("Sensitivity d′"))
    fig.legend(loc="outside right upper", fontsize=8.5)
    return fig


def _d_for(accuracy: float, c: np.ndarray) -> np.ndarray:
    """The d′ with which a judge of criterion c has this accuracy: (Φ(d′/2 − c) + Φ(d′/2 + c)) / 2 = accuracy."""
    low, high = np.zeros(len(c)), np.full(len(c), 8.0)
    for _ in range(40):
        d = (low + high) / 2
        too_low = (norm.cdf(d / 2 - c) + norm.cdf(d / 2 + c)) / 2 < accuracy
        low, high = np.where(too_low, d, low), np.where(too_low, high, d)
    return (low + high) / 2


def ranks(table: pd.DataFrame) -> Figure:
    """A panel a task: the rank as published, and all ranks that the numbers leave open; a dark line is tied for first."""
    tasks = list(dict.fromkeys(table["task"]))
    models = len(table) // len(tasks)
    fig, axes = plt.subplots(1, len(tasks), figsize=(9.4, 1.0 + 0.2 * models))
    for ax, task in zip(axes, tasks):
        own = table[table["task"] == task].reset_index(drop=True)
        at = np.arange(len(own))
        colors = [ACCENT if tied else FAINT for tied in own["tied_first"]]
        ax.hlines(at, own["best_rank"], own["worst_rank"], color=colors, linewidth=2.2, alpha=0.55)
        ax.scatter(own["rank"], at, c=colors, s=14, zorder=3)
        ax.set_yticks(at, [literal_name(m) for m in own["model"]], fontsize=7.5)
        ax.set(ylim=(len(own) - 0.4, -0.6), xlim=(0, models + 1))
        ax.set_title(literal_name(task), fontsize=10, loc="left")
    fig.supxlabel(translate("Rank set"), fontsize=10)
    return fig


def own_family(residual: pd.DataFrame) -> Figure:
    """The double-centred matrix: blue where a judge gives a model more than both lead one to expect; own family framed."""
    of = families()
    order = sorted(residual.index, key=lambda m: (of[m], m))
    shown = residual.loc[order]
    most = float(np.abs(shown.to_numpy()).max())
    fig, ax = plt.subplots(figsize=(6.2, 1.2 + 0.26 * len(shown)))
    ax.imshow(shown, cmap="RdBu", vmin=-most, vmax=most, aspect="auto", alpha=0.85)
    for y, model in enumerate(shown.index):
        for x, judge in enumerate(shown.columns):
            value = shown.loc[model, judge]
            ink = "white" if abs(value) > 0.55 * most else INK
            ax.text(
                x, y, f"{value:+.1f}".replace("-", "−"), ha="center", va="center", fontsize=8.5, color=ink
            )
            if of[model] == of[judge]:
                ax.add_patch(
                    plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, fill=False, edgecolor=INK, linewidth=1.4)
                )
    ax.set_xticks(range(shown.shape[1]), [literal_name(j) for j in shown.columns], fontsize=9)
    ax.set_yticks(range(len(shown)), [literal_name(m) for m in shown.index], fontsize=8.5)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return fig


def gaps(table: pd.DataFrame) -> Figure:
    """Own family less others, raw and double-centred, with permutation intervals."""
    own = table[table["raw"].notna()].reset_index(drop=True)
    at = np.arange(len(own))
    fig, ax = plt.subplots(figsize=(7.4, 1.2 + 0.5 * len(own)))
    kinds = (
        (-0.14, "raw", "raw_low", "raw_high", FAINT, translate("raw")),
        (0.14, "adjusted", "low", "high", ACCENT, translate("double-centred")),
    )
    for shift, value, low, high, color, label in kinds:
        ends = own[[low, high]].clip(-30, 60).to_numpy(float)
        ax.hlines(at + shift, ends[:, 0], ends[:, 1], color=color, linewidth=2, alpha=0.5)
        ax.plot(own[value], at + shift, "o", color=color, label=label)
    ax.axvline(0, color=INK, linewidth=0.7)
    label_rows(ax, own["judge"])
    ax.set_xlabel(translate("Own family minus others, percentage points"))
    fig.legend(loc="outside upper left", ncol=2)
    return fig


def pairs(table: pd.DataFrame) -> Figure:
    """How often each judge prefers its own family's reply, of 500 cases a pair, ties half; intervals by Wilson."""
    judges = list(dict.fromkeys(table["judge"]))
    fig, ax = plt.subplots(figsize=(7.8, 1.2 + 0.27 * len(table)))
    at = np.arange(len(table))
    colors = [CATEGORIES[judges.index(j)] for j in table["judge"]]
    ax.hlines(at, table["low"], table["high"], color=colors, linewidth=2.4, alpha=0.5)
    ax.scatter(table["share"], at, c=colors, s=24, zorder=3)
    ax.axvline(0.5, color=INK, linewidth=0.7)
    ax.set_yticks(
        at, [f"{literal_name(a)} – {literal_name(b)}" for a, b in zip(table["a"], table["b"])], fontsize=8.5
    )
    ax.set(ylim=(len(table) - 0.4, -0.6), xlim=(0, 1))
    ax.set_xlabel(translate("Share for the judge's own family (left of the dash), ties count half"))
    handles = [plt.Line2D([], [], marker="o", linestyle="", color=CATEGORIES[i]) for i in range(len(judges))]
    fig.legend(handles, [literal_name(j) for j in judges], loc="outside upper left", ncol=len(judges))
    return fig


def quality(table: pd.DataFrame) -> Figure:
    """Judges of a corpus and the baselines: d′, criterion, and balanced accuracy as it is and at a learned threshold."""
    judges = list(dict.fromkeys(table["judge"]))
    grey = set(table.loc[table["is_baseline"], "judge"])
    panels = (("balanced", 0.5), ("d_prime", 0.0), ("criterion", 0.0))
    fig, axes = plt.subplots(1, 3, figsize=(8.8, 1.3 + 0.31 * len(judges)), sharey=True)
    at = np.arange(len(judges))
    colors = [FAINT if j in grey else ACCENT for j in judges]
    for ax, (metric, zero) in zip(axes, panels):
        own = table[table["metric"] == metric].set_index("judge").reindex(judges)
        _dots(ax, own, at, colors)
        if metric == "balanced":
            learned = table[table["metric"] == "at_learned"].set_index("judge").reindex(judges)
            ax.scatter(
                learned["value"], at, facecolors="none", edgecolors=colors, s=40, linewidths=1.4, zorder=4
            )
        ax.axvline(zero, color=INK, linewidth=0.7)
        ax.set_title(literal_name(LABELS.get(metric, metric)), fontsize=10, loc="left")
        ax.locator_params(axis="x", nbins=4)
    label_rows(axes[0], judges)
    return fig


def _dots(ax: Axes, own: pd.DataFrame, at: np.ndarray, colors: list[str]) -> None:
    draw_intervals(ax, at, own["low"], own["high"], colors)
    ax.scatter(own["value"], at, c=colors, s=22, zorder=3)


def lengths(length: pd.DataFrame, padding: pd.DataFrame) -> Figure:
    """What a doubling of the reply goes with at equal gold, and what empty words do to the score."""
    judges = list(padding["judge"])
    at = np.arange(len(judges))
    fig, axes = plt.subplots(1, 2, figsize=(8.6, 1.35 + 0.36 * len(judges)), sharey=True)
    own = length.set_index("judge").reindex(judges) if len(length) else pd.DataFrame(index=judges, columns=["at_equal_gold", "low", "high"], dtype=float)  # fmt: skip
    _dots(axes[0], own.rename(columns={"at_equal_gold": "value"}), at, [ACCENT] * len(judges))
    _dots(axes[1], padding.rename(columns={"difference": "value"}), at, [ACCENT] * len(judges))
    titles = (
        translate("Per doubling of length, at equal gold labels (sd)"),
        translate("Change of score with empty words added"),
    )
    for ax, title in zip(axes, titles):
        ax.axvline(0, color=INK, linewidth=0.7)
        ax.set_title(title, fontsize=9.5, loc="left")
        ax.margins(x=0.15)
    label_rows(axes[0], judges)
    return fig
