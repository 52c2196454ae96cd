"""What the page on rationales draws and says: who names which reason, which are named too often, the patterns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import PercentFormatter

from perslib.corpus.schema import labels
from perslib.report.style import ACCENT, FAINT, INK, RULE, label_rows, literal_name
from perslib.report.tables import formatted, interval, label
from perslib.report.words import name_of
from perslib.stats.reasons import NO_REASON, SATISFIED
from perslib.studies.grounding import HABIT
from perslib.studies.rationales import PATTERNS
from perslib.studies.rationales import SATISFIED as JUDGE_SATISFIED
from perslib.studies.shared import by_side
from perslib.text import LANGUAGES, as_paragraph, join, mark, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SHADES = LinearSegmentedColormap.from_list("shares", ["#ffffff", ACCENT])
#: The paper's three patterns in colours that differ in lightness too; what is none of them in greys.
_COLORS = dict(
    zip((*PATTERNS, JUDGE_SATISFIED), ("#2a6ca3", "#9cc3e0", "#d9822b", "#d5dae1", "#eceff3", "#a9b2bd"))
)


def confusion_figure(frame: pd.DataFrame, most: int = 4) -> Figure:
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
        ax.set_xticks(range(len(labels)), [literal_name(r) for r in labels], rotation=35, ha="right")
        ax.set_yticks(range(len(labels)), [literal_name(r) for r in labels])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(literal_name(judge), fontsize=10, loc="left")
    fig.supxlabel(translate("Reason the judge named"), fontsize=10)
    fig.supylabel(translate("Reason the user gave"), fontsize=10)
    return fig


def _frame_diagonal(ax: Axes, labels: int) -> None:
    for i in range(labels):
        ax.add_patch(
            plt.Rectangle((i - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=FAINT, linewidth=0.8, clip_on=False)
        )


def given_and_said_figure(frame: pd.DataFrame, most: int = 4) -> Figure:
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
        ax.plot(given, at, "o", color=INK, markerfacecolor="white", label=translate("given by users"))
        ax.plot(said, at, "o", color=ACCENT, label=translate("named by the judge"))
        ax.set_title(literal_name(judge), fontsize=10, loc="left")
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set_xlim(left=-0.02)
        ax.grid(axis="x")
    label_rows(axes[0][0], labels)
    fig.supxlabel(translate("Share of turns that both found dissatisfying"), fontsize=10)
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncol=2)
    return fig


def patterns_figure(frame: pd.DataFrame, most: int = 4) -> Figure:
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
        label_rows(ax, labels)
        ax.set_xlim(0, 1)
        ax.spines["left"].set_visible(False)
        ax.set_title(literal_name(judge), fontsize=10, loc="left")
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    handles = [plt.Rectangle((0, 0), 1, 1, color=_COLORS[p]) for p in used]
    fig.legend(handles, [literal_name(p) for p in used], loc="outside upper left", ncol=3)
    return fig


#: Fewer turns than this, or users, say nothing of how often something happens.
FEW = 30
#: The reason that the paper finds named too often, as corpora of either language store it.
DETAIL = {labels(language)["insufficient detail"] for language in LANGUAGES}


def shares_table(frame: pd.DataFrame) -> pd.DataFrame:
    """What `rationales.shares` gives, as a paper prints it."""
    share = interval("share", digits=3, zero=False)
    return formatted(frame, judge="judge", pattern=label(), turns="turns", pattern_share=share)


def agreement_table(frame: pd.DataFrame) -> pd.DataFrame:
    """What `rationales.against_blind` gives, as a paper prints it."""
    numbers = {
        f"reason_{n}": interval(n, digits=3, zero=False) for n in ("accuracy", "gain", "kappa", "found")
    }
    columns = [*frame, *(c for c in ("gain", "gain_low", "gain_high") if c not in frame)]
    named = frame.reindex(columns=columns).replace({"named_by": {"": "itself"}})
    return formatted(named, judge="judge", named_by=label(), turns="turns", **numbers)


def bias_table(frame: pd.DataFrame) -> pd.DataFrame:
    """What `rationales.bias` gives, as a paper prints it."""
    same = {c: c for c in ("judge", "reason", "given")}
    ratio = interval(zero=False)
    return formatted(
        frame, **same, named="said", given_share="given_share", said_share="said_share", ratio=ratio
    )


@as_paragraph
def judged(found: pd.DataFrame, first_look: bool = False) -> Iterator[str]:
    """How much there is to look at."""
    yield translate(
        "{written:,} of {scored:,} scored verdicts have a rationale.",
        written=found["rationale"].notna().sum(),
        scored=len(found),
    )
    low, both = found["pattern"].notna().sum(), found["pattern"].isin(PATTERNS).sum()
    if low:
        yield translate(
            "For {low:,} verdicts the user was dissatisfied and gave a reason, and for {both:,} of these the "
            "judge is dissatisfied too.",
            low=low,
            both=both,
        )
    else:
        yield translate("None of them is on a reply with a reason for dissatisfaction.")
    if first_look:
        yield translate(
            "**This is a first look** with a small model on this machine, whose rationales say little. For "
            "results use a larger backbone."
        )
    elif both < FEW:
        yield translate("**That is too few to estimate frequencies**: read what follows as examples.")


@as_paragraph
def agreement(frame: pd.DataFrame) -> Iterator[str]:
    """Whether the judge names reasons better than somebody who reads nothing."""
    blind = frame[(frame["named_by"] != "") & frame["accuracy"].notna()].sort_values(
        "accuracy", kind="stable"
    )
    best = blind.drop_duplicates("judge", keep="last").sort_index().set_index("judge")
    if best.empty:
        yield translate(
            "There is no turn on which user and judge are both dissatisfied, or no reason given by train users, so agreement "
            "on reasons cannot be compared."
        )
    yield from by_side(
        best["gain_low"],
        best["gain_high"],
        mark("These judges name the user's own reason more often than the best control: **{judges}**."),
        mark("These judges name the user's own reason less often than the best control: **{judges}**."),
        mark("Not distinguishable from the best control: **{judges}**."),
    )


@as_paragraph
def detail(frame: pd.DataFrame) -> Iterator[str]:
    """Is "insufficient detail" over-predicted, as the paper says?"""
    own = frame[frame["reason"].isin(DETAIL) & frame["ratio"].astype(float).lt(float("inf"))]
    own = own.set_index("judge")
    if own.empty:
        yield translate(
            "No user gave *insufficient detail* as a reason on these turns, so a bias towards it cannot be "
            "measured."
        )
    yield from by_side(
        own["ratio_low"] - 1,
        own["ratio_high"] - 1,
        mark("*Insufficient detail* is over-predicted by: **{judges}**."),
        mark("*Insufficient detail* is under-predicted by: **{judges}**."),
        mark("*Insufficient detail* is not clearly over-predicted or under-predicted by: **{judges}**."),
    )


@as_paragraph
def off_task(found: pd.DataFrame, moved: pd.DataFrame) -> Iterator[str]:
    """How many rationales are off-task, and how far that can be trusted."""
    decided = found[found["rationale"].notna() & found["habit"].ge(HABIT).fillna(False).astype(bool)]
    if decided.empty:
        yield translate(
            "Off-task rationales were not identified: to know a judge's stock phrases takes {habit} rationales on "
            "other users' replies in the same scenario, and there are fewer.",
            habit=HABIT,
        )
        return
    yield translate(
        "Of {decided:,} rationales that could be classified, satisfied turns included, {share:.1%} are "
        "off-task.",
        decided=len(decided),
        share=decided["off_task"].astype(float).mean(),
    )
    if moved.empty:
        yield translate("Sensitivity could not be tested: no user was judged in two scenarios.")
    for row in moved.to_dict("records"):
        yield translate(
            "Sensitivity: when rationales of **{judge}** are moved to a reply of another scenario of the same "
            "user, {share:.0%} of {tried:,} are recognised as off-task.",
            **row | {"judge": name_of(row["judge"])},
        )


def no_case(patterns: set[str]) -> str:
    """Which patterns have no case to show."""
    missing = [f"*{name_of(p)}*" for p in PATTERNS[:3] if p not in patterns]
    if not missing:
        return translate("There are cases of all three patterns.")
    return translate("Among the judged replies there is no case of: {patterns}.", patterns=join(missing))
