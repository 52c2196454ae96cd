"""What the page on ablations draws and says: every judge a colour, every variant or calibration a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MultipleLocator

from perslib.corpus import Corpus
from perslib.report import CATEGORIES
from perslib.report.style import FAINT, RULE, draw_intervals, label_rows, literal_name
from perslib.report.tables import format_number
from perslib.report.words import name_of
from perslib.stats import FEWEST_USERS
from perslib.studies.shared import handle
from perslib.studies.verification import CONTROLS
from perslib.text import as_paragraph, join, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MARKERS = ["o", "s", "D", "^", "v", "P"]


def strips_figure(
    frame: pd.DataFrame, metrics: Sequence[str], *, rows: str = "score", marks: str = "judge"
) -> Figure:
    """One panel a metric, one row a value of `rows`, one mark with its 95 % interval for each value of `marks`.

    What has no value in any panel gets no row.
    """
    frame = frame[frame["value"].notna()]
    lines, dots = list(dict.fromkeys(frame[rows])), list(dict.fromkeys(frame[marks]))
    height = 1.2 + max(0.3, 0.13 * len(dots)) * len(lines)
    fig, axes = plt.subplots(1, len(metrics), figsize=(8.6, height), sharey=True, squeeze=False)
    for ax, metric in zip(axes[0], metrics):
        of = frame[frame["metric"] == metric]
        for place, dot in enumerate(dots):
            own = of[of[marks] == dot].set_index(rows).reindex(lines)
            _marks(ax, own, place, len(dots))
        ax.set_title(literal_name(metric), fontsize=10, loc="left")
        ax.axvline(0, color=FAINT, linewidth=0.7)
        ax.locator_params(axis="x", nbins=4)
        for line in range(1, len(lines)):
            ax.axhline(line - 0.5, color=RULE, linewidth=0.6)
    label_rows(axes[0][0], lines)
    if len(dots) > 1:
        fig.legend(
            [_handle(place) for place in range(len(dots))],
            [literal_name(dot) for dot in dots],
            loc="outside upper left",
            ncol=min(5, len(dots)),
        )
    return fig


def _marks(ax: Axes, own: pd.DataFrame, place: int, of: int) -> None:
    at = np.arange(len(own)) + (place - (of - 1) / 2) * (0.74 / of)
    middle, low, high = own[["value", "value_low", "value_high"]].to_numpy(float).T
    color = CATEGORIES[place % len(CATEGORIES)]
    draw_intervals(ax, at, low, high, color, 1.4)
    ax.plot(
        middle, at, _MARKERS[place % len(_MARKERS)], color=color, markersize=4.2, linestyle="", clip_on=False
    )


def _handle(place: int) -> plt.Line2D:
    return handle(_MARKERS[place % len(_MARKERS)], CATEGORIES[place % len(CATEGORIES)])


def coverage_figure(frame: pd.DataFrame) -> Figure:
    """Left: how often sets hold the true score, against what they promise. Right: how many scores they hold."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    judges = list(dict.fromkeys(frame["judge"]))
    stated = np.unique(frame["stated"].to_numpy(float))
    step = 0.011
    left.plot(stated, stated, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    for place, judge in enumerate(judges):
        own = frame[frame["judge"] == judge].astype({"covered_low": float, "covered_high": float})
        at = own["stated"] + (place - (len(judges) - 1) / 2) * step
        look = {"color": CATEGORIES[place % len(CATEGORIES)], "marker": _MARKERS[place % len(_MARKERS)]}
        left.vlines(
            at, own["covered_low"], own["covered_high"], color=look["color"], linewidth=1.4, alpha=0.5
        )
        left.plot(at, own["covered"], linestyle="", markersize=4.2, **look)
        right.plot(at, own["size"], linestyle="-", linewidth=0.6, markersize=4.2, **look)
    left.set(
        title=translate("Share of users' scores in their set"),
        xlabel=translate("stated coverage"),
        ylim=(None, 1.03),
    )
    right.set(title=translate("Scores in a set"), xlabel=translate("stated coverage"), ylim=(0.8, 5.2))
    for ax in (left, right):
        ax.set_xticks(stated)
    right.yaxis.set_major_locator(MultipleLocator(1))
    fig.legend(
        [_handle(i) for i in range(len(judges))],
        [literal_name(j) for j in judges],
        loc="outside upper left",
        ncol=5,
    )
    return fig


@as_paragraph
def ties(agreed: pd.DataFrame, corpus: Corpus, judge: str = "constant 4") -> Iterator[str]:
    """What the published tie rule lends to a judge that says the same of every reply."""
    own = agreed[agreed["judge"] == judge].set_index(["score", "metric"])["value"].astype(float)
    if own["turn_index", "pearson"] - own["random", "pearson"] > 0.02:
        yield translate("**The tie rule alone produces agreement.**")
    yield translate(
        "A judge that gives every reply a 4 reaches r = {by_turn} if ties are broken by turn number, and r = "
        "{at_random} if the same scores are assigned at random; within users it is {within_by_turn} against "
        "{within_at_random}.",
        by_turn=format_number(own["turn_index", "pearson"]),
        at_random=format_number(own["random", "pearson"]),
        within_by_turn=format_number(own["turn_index", "wc_pearson"]),
        within_at_random=format_number(own["random", "wc_pearson"]),
    )
    rated = corpus.turns.dropna(subset="score")
    rated = rated[rated["user"].isin(corpus.split().get("test", []))]
    yield translate(
        "The difference involves no judgment: first replies are rated {first:.2f} on average and later ones "
        "{later:.2f}, and the published rule gives earlier replies the lower scores.",
        first=rated[rated["turn"] == 0]["score"].mean(),
        later=rated[rated["turn"] != 0]["score"].mean(),
    )
    yield translate(
        "Even without position, r is {r}, which reflects only the user's own level.",
        r=format_number(own["expected", "pearson"]),
    )


@as_paragraph
def ways(agreed: pd.DataFrame) -> Iterator[str]:
    """How far calibration takes those who read nothing, and how far those who read."""
    for metric in ("qwk", "f1_dsat"):
        own = agreed[(agreed["metric"] == metric) & agreed["value"].notna()].sort_values("value")
        is_blind = own["judge"].isin(CONTROLS)
        reading = own[~is_blind]
        yield translate(
            "{metric}: at most {blind} without reading a reply, {best} with reading; scores as given reach "
            "{as_given}.",
            metric=name_of(metric),
            blind=_reached(own[is_blind].iloc[-1]),
            best=_reached(reading.iloc[-1]),
            as_given=format_number(reading[reading["score"] == "real"]["value"].iloc[-1]),
        )
    yield translate(
        "Each is the best of many on the test users and therefore slightly overestimated; see the intervals."
    )


def _reached(row: pd.Series) -> str:
    return translate(
        "{value} ({judge}, {calibration})",
        value=format_number(row["value"]),
        judge=name_of(row["judge"]),
        calibration=name_of(row["score"]),
    )


@as_paragraph
def sets(found: pd.DataFrame) -> Iterator[str]:
    """What sets hold, and from where on nothing can be promised."""
    users = int(found["learned_from"].max())
    reach = users / (users + 1)
    yield translate("The sets are based on {users} train users.", users=users)
    if reach <= found["stated"].max():
        yield translate(
            "From {stated:.2f} on, so few users give no guarantee, and sets contain almost all five scores.",
            stated=reach,
        )
    useful = found[found["stated"] < reach]
    if useful.empty:
        return
    smallest = useful[useful["stated"] == useful["stated"].max()].sort_values("size").iloc[0]
    yield translate(
        "At a stated {stated:.0%} the smallest sets are those of {judge}: {size:.1f} scores on average, and "
        "they contain {covered:.0%} of the scores.",
        judge=name_of(smallest["judge"]),
        **smallest.drop("judge"),
    )
    short = found[found["high"] < found["stated"]]["judge"].unique()
    if len(short):
        yield translate("Coverage clearly below the stated one: {judges}.", judges=join(map(name_of, short)))


def changes(found: pd.DataFrame) -> str:
    """Which variants differ from the base beyond chance."""
    users = int(found["users"].max()) if len(found) else 0
    if users < FEWEST_USERS:
        return translate(
            "Differences between variants are not tested: {users} users with scores are too few.",
            users=users,
        )
    sure = [
        f"{name_of(row['judge'])} ({name_of(row['metric'])}, {name_of(row['score'])}) {format_number(row['value'])}"
        for row in found[found["value_p_holm"] < 0.05].to_dict("records")
    ]
    return translate(
        "Differences from the base that are significant after Holm's correction: {differences}.",
        differences=translate("; ").join(sure[:12]) or translate("**none**"),
    )
