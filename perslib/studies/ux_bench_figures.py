"""What the page on UXBench draws: signals, memories, judges among the published ones, shares, strategies, a reward model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, RULE, literal
from perslib.studies.ux_bench import published_points
from perslib.studies.ux_bench_tables import called
from perslib.text import translate
from perslib.ux import REWARD_MODEL, published, reliability, selective_risk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _name(label: object) -> str:
    return literal(called(label))


def _rows(ax: Axes, labels: pd.Series | list[str]) -> None:
    """One labelled row each, the first on top."""
    ax.set_yticks(range(len(labels)), [_name(label) for label in labels], fontsize=9)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _dots(
    ax: Axes, at: np.ndarray, own: pd.DataFrame, value: str, low: str, high: str, color: str, **more: object
) -> None:
    ax.hlines(at, own[low], own[high], color=color, linewidth=2, alpha=0.5)
    ax.plot(own[value], at, "o", color=color, markersize=5.5, **more)  # type: ignore[arg-type]


def signals(counts: pd.DataFrame) -> Figure:
    """In how many sessions each signal was found; hollow diamonds are the paper's, of another log."""
    own = counts[~counts["signal"].isin(["continue", "no_followup"])].reset_index(drop=True)
    at = np.arange(len(own))
    fig, ax = plt.subplots(figsize=(7.4, 1.2 + 0.3 * len(own)))
    some = own["found"] > 0
    _dots(ax, at[some], own[some], "sessions_percent", "low", "high", ACCENT, label=translate("here"))
    ax.plot(
        own["published_percent"], at, "D", mfc="none", mec=FAINT, label=translate("published (another log)")
    )
    _rows(ax, own["signal"])
    ax.set_xscale("log")
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.set_xlim(0.08, 110)
    ax.set_xlabel(translate("Percent of sessions with the signal (log scale)"))
    fig.legend(loc="outside upper left", ncol=2)
    return fig


def by_signal(table: pd.DataFrame) -> Figure:
    """How far the users' scores of replies with a signal are from those of all others."""
    fig, ax = plt.subplots(figsize=(7.2, 1.1 + 0.3 * len(table)))
    _dots(ax, np.arange(len(table)), table, "difference", "low", "high", ACCENT)
    ax.axvline(0, color=INK, linewidth=0.7)
    _rows(ax, table["signal"])
    ax.set_xlabel(translate("Users' mean score with minus without the signal"))
    return fig


def kept(table: pd.DataFrame) -> Figure:
    """Agreement with the users' scores by what is remembered."""
    judges, memories = list(dict.fromkeys(table["judge"])), list(dict.fromkeys(table["memory"]))
    fig, ax = plt.subplots(figsize=(7.4, 1.3 + 0.52 * len(judges)))
    colors = dict(zip(memories, [ACCENT, CATEGORIES[1], FAINT]))
    for i, memory in enumerate(memories):
        own = table[table["memory"] == memory]
        at = np.array([judges.index(j) for j in own["judge"]]) + 0.2 * (i - 1)
        _dots(ax, at, own, "r", "low", "high", colors[memory], label=_name(f"memory: {memory}"))
    ax.axvline(0, color=INK, linewidth=0.7)
    _rows(ax, judges)
    ax.set_xlabel(translate("r with the users' scores"))
    fig.legend(loc="outside upper left", ncol=len(memories))
    return fig


def detection(quality: pd.DataFrame) -> Figure:
    """d′ against c: published judges in grey, judges and baselines of this page on top, users resampled."""
    wide = {m: quality[quality["metric"] == m].set_index("judge") for m in ("d_prime", "criterion")}
    d, c = wide["d_prime"], wide["criterion"]
    theirs = published_points()
    fig, ax = plt.subplots(figsize=(7.8, 4.6))
    zero_shot, trained = (theirs[(theirs["model"] == REWARD_MODEL) == of] for of in (False, True))
    ax.plot(
        zero_shot["criterion"],
        zero_shot["d_prime"],
        "o",
        color=RULE,
        label=translate("published, zero-shot"),
    )
    ax.plot(
        trained["criterion"],
        trained["d_prime"],
        "D",
        color=FAINT,
        label=translate("published, trained"),
    )
    judges = [j for j in d.index if not d.loc[j, "is_baseline"]]
    colors = dict(zip(judges, [ACCENT, *CATEGORIES[1:], *CATEGORIES]))
    for judge in d.index:
        base = judge not in judges
        color, mark = (FAINT, "x") if base else (colors[judge], "o")
        x, y = c.loc[judge, "value"], d.loc[judge, "value"]
        if not base:
            ax.hlines(y, c.loc[judge, "value_low"], c.loc[judge, "value_high"], color=color, alpha=0.4)
            ax.vlines(x, d.loc[judge, "value_low"], d.loc[judge, "value_high"], color=color, alpha=0.4)
        ax.plot(x, y, mark, color=color, markersize=7, zorder=4, label=None if base else _name(judge))
        if base:
            ax.annotate(
                _name(judge), (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8, color=FAINT
            )
    ax.axvline(0, color=RULE, linewidth=0.8, zorder=0)
    ax.axhline(0, color=RULE, linewidth=0.8, zorder=0)
    ax.set_xlabel(translate("Criterion c: above zero, reluctant to say bad"))
    ax.set_ylabel(translate("Sensitivity d′"))
    fig.legend(loc="outside right upper", fontsize=8.5)
    return fig


def shares(table: pd.DataFrame) -> Figure:
    """Good% by the reward model: thick line users resampled, thin line Wilson; ring: what the users or the world say."""
    own = table.reset_index(drop=True)
    if own["how"].nunique() == 1:
        labels = own["model"]
    else:
        labels = own["how"] if own["model"].nunique() == 1 else own["model"] + ": " + own["how"]
    at = np.arange(len(own))
    fig, ax = plt.subplots(figsize=(7.4, 1.3 + 0.32 * len(own)))
    ax.hlines(at, own["wilson_low"], own["wilson_high"], color=FAINT, linewidth=1)
    _dots(ax, at, own, "percent", "low", "high", ACCENT, label=translate("by the reward model"))
    if "liked_percent" in own and own["liked_percent"].notna().any():
        ax.plot(
            own["liked_percent"],
            at,
            "o",
            mfc="none",
            mec=INK,
            markersize=8,
            label=translate("known truth (users' scores of 4 or more)"),
        )
    _rows(ax, list(labels))
    ax.set_xlim(0, 100)
    ax.set_xlabel(translate("Good (%)"))
    fig.legend(loc="outside upper left", ncol=2)
    return fig


def strategies(table: pd.DataFrame) -> Figure:
    """With what recoveries open: here by rules with intervals, diamonds the paper's Table 4."""
    own = table.reset_index(drop=True)
    there = published("table4").set_index("strategy")["share"]
    at = np.arange(len(own))
    fig, ax = plt.subplots(figsize=(7.2, 1.3 + 0.32 * len(own)))
    _dots(ax, at, own, "percent", "low", "high", ACCENT, label=translate("here"))
    ax.plot(
        own["strategy"].map(there), at, "D", mfc="none", mec=FAINT, label=translate("published (another log)")
    )
    _rows(ax, own["strategy"])
    ax.set_xlabel(translate("Percent of replies"))
    fig.legend(loc="outside upper left", ncol=2)
    return fig


def breakdown(table: pd.DataFrame, kind: str) -> Figure:
    """The tasks side by side, a row a scenario (or intent): thick line users resampled, thin line Wilson."""
    known = table[table["percent"].notna()]
    tasks = list(dict.fromkeys(known["task"]))
    names = [name for name in dict.fromkeys(table[kind]) if name in set(known[kind])]
    fig, axes = plt.subplots(
        1, max(1, len(tasks)), figsize=(8.8, 1.3 + 0.34 * max(1, len(names))), sharey=True, squeeze=False
    )
    for ax, task, color in zip(axes[0], tasks, [ACCENT, *CATEGORIES[1:]]):
        own = known[known["task"] == task]
        at = np.array([names.index(name) for name in own[kind]])
        ax.hlines(at, own["wilson_low"], own["wilson_high"], color=FAINT, linewidth=1)
        _dots(ax, at, own, "percent", "low", "high", color)
        _rows(ax, names)
        ax.set_xlim(0, 100)
        ax.set_xticks([20, 40, 60, 80])
        ax.set_title(_name(task), fontsize=10, loc="left")
    fig.supxlabel(translate("Percent; thick: bootstrap over users, thin: Wilson"), fontsize=9)
    return fig


def reward(verdicts: pd.DataFrame) -> Figure:
    """Left: the share of liked replies by P(good). Right: errors when only the surest verdicts are kept."""
    found, risk = reliability(verdicts["gold"], verdicts["p_good"]), selective_risk(verdicts)
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.7))
    left.plot([0, 1], [0, 1], color=RULE, linewidth=1)
    left.plot(found["predicted"], found["good"], "o-", color=ACCENT, markersize=5)
    left.set(xlim=(0, 1.02), ylim=(0, 1.02))
    left.set_xlabel(translate("P(good)"))
    left.set_ylabel(translate("Share liked"))
    for column, color, label in (
        ("risk", FAINT, translate("errors")),
        ("balanced_risk", ACCENT, translate("errors, balanced")),
    ):
        right.plot(risk["coverage"], risk[column], "o-", color=color, markersize=4, label=label)
    right.set(xlim=(0, 1.02), ylim=(0, None))
    right.set_xlabel(translate("Share of verdicts kept, most confident first"))
    right.legend(fontsize=8.5)
    return fig
