"""What several pages draw and say: agreement with intervals, calibration plots, sentences with computed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.corpus import TURN
from perslib.report.style import ACCENT, FAINT, INK, SCORES, draw_intervals, literal_name
from perslib.report.tables import format_number, with_interval
from perslib.report.words import name_of
from perslib.studies.extent import Extent
from perslib.text import as_paragraph, join, plural, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: How comparisons end, in this order, and their colours.
OUTCOMES = {"win": SCORES[5], "tie": "#e3e7ec", "lose": SCORES[2]}
#: How the second, third … score column of a judge is drawn.
_MARKS = [("o", "full"), ("o", "none"), ("D", "none"), ("s", "none")]


def forest(agreed: pd.DataFrame, metrics: Sequence[str], *, controls: Sequence[str] = ()) -> Figure:
    """One row a judge, one panel a metric: the estimate and its 95 % interval; controls in grey."""
    rows, scores = (list(dict.fromkeys(agreed[c])) for c in ("judge", "score"))
    fig, axes = plt.subplots(
        1, len(metrics), figsize=(8.6, 1.15 + 0.31 * len(rows)), sharey=True, squeeze=False
    )
    for ax, metric in zip(axes[0], metrics):
        of = agreed[agreed["metric"] == metric]
        for place, score in enumerate(scores):
            own = of[of["score"] == score].set_index("judge")
            _dots(
                ax,
                own.reindex(rows)[["value", "value_low", "value_high"]],
                place,
                len(scores),
                rows,
                controls,
            )
        ax.set_title(literal_name(metric), fontsize=10, loc="left")
        ax.axvline(0, color=FAINT, linewidth=0.7)
        ax.margins(y=0.03)
        ax.locator_params(axis="x", nbins=4)
    axes[0][0].set_yticks(range(len(rows)), [literal_name(r) for r in rows])
    axes[0][0].invert_yaxis()
    if len(scores) > 1:
        marks = (_MARKS[place % len(_MARKS)] for place in range(len(scores)))
        handles = [handle(marker, INK, filled=fill == "full") for marker, fill in marks]
        fig.legend(handles, [literal_name(s) for s in scores], loc="outside upper left", ncol=len(scores))
    return fig


def _dots(
    ax: Axes, frame: pd.DataFrame, place: int, of: int, rows: Sequence[str], controls: Sequence[str]
) -> None:
    at = np.arange(len(rows)) + (place - (of - 1) / 2) * 0.3
    middle, low, high = frame.to_numpy(float).T
    marker, fill = _MARKS[place % len(_MARKS)]
    colors = [FAINT if row in controls else ACCENT for row in rows]
    draw_intervals(ax, at, low, high, colors, 1.6)
    for x, y, color in zip(middle, at, colors):
        face = color if fill == "full" else "white"
        ax.plot(x, y, marker, color=color, fillstyle=fill, markersize=5, markerfacecolor=face)


def outcome_looks() -> list[tuple[str, str]]:
    """The label and colour of each outcome."""
    return [(name_of(f"outcome_{name}"), color) for name, color in OUTCOMES.items()]


def handle(marker: str, color: str, *, filled: bool = True) -> plt.Line2D:
    """A mark for the legend."""
    face = color if filled else "white"
    return plt.Line2D([], [], marker=marker, color=color, markerfacecolor=face, linestyle="", markersize=5)


def reliability(frame: pd.DataFrame, most: int = 8) -> Figure:
    """Mean gold against the predicted score, one small panel a judge; on the diagonal a judge is right on average."""
    judges = list(dict.fromkeys(frame["judge"]))[:most]
    columns = min(4, len(judges))
    lines = -(-len(judges) // columns)
    fig, axes = plt.subplots(
        lines, columns, figsize=(8.6, 0.5 + 2.15 * lines), sharex=True, sharey=True, squeeze=False
    )
    for ax in axes.flat[len(judges) :]:
        ax.set_visible(False)
    for ax, judge in zip(axes.flat, judges):
        own = (
            frame[frame["judge"] == judge]
            .sort_values("predicted")
            .astype({"gold_low": float, "gold_high": float})
        )
        ax.plot([1, 5], [1, 5], color=FAINT, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.vlines(own["predicted"], own["gold_low"], own["gold_high"], color=ACCENT, linewidth=1.6, alpha=0.5)
        sizes = 12 + 90 * own["turns"].astype(float) / own["turns"].sum()
        ax.scatter(own["predicted"], own["gold"], s=sizes, color=ACCENT, zorder=3)
        ax.set_title(literal_name(judge), fontsize=9.5, loc="left")
        ax.set(xlim=(0.8, 5.2), ylim=(0.8, 5.2), xticks=range(1, 6), yticks=range(1, 6))
    for ax in axes.flat[: len(judges)][-columns:]:  # nothing stands below these
        ax.tick_params(labelbottom=True)
    fig.supxlabel(translate("Predicted score"), fontsize=10)
    fig.supylabel(translate("Users' mean score"), fontsize=10)
    return fig


@as_paragraph
def controls(agreed: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """How far one gets without reading a reply, and who gets further."""
    own = agreed[(agreed["metric"] == "pearson") & agreed["value"].notna()]
    reach = own[own["judge"].isin(names)].sort_values("value")
    within = agreed[(agreed["metric"] == "wc_pearson") & agreed["value"].notna()].sort_values("value")
    if reach.empty or within.empty:
        yield translate(
            "No control, or no judge within users, has scores that differ, so no correlation is defined."
        )
        return
    control, best = reach.iloc[-1], within.iloc[-1]
    yield translate(
        "Controls, which read no reply, reach up to r = {r} ({control}).",
        r=format_number(control["value"]),
        control=name_of(control["judge"]),
    )
    better = own[own["gain_low"].gt(0)]["judge"].unique()
    yield translate(
        "Judges whose gain over the best control in r has an interval above zero: **{judges}**.",
        judges=join(map(name_of, better)) or translate("none"),
    )
    yield translate(
        "The highest within-user r is that of {judge}: r = {r}.",
        judge=name_of(best["judge"]),
        r=format_number(best["value"]),
    )


def below_zero(agreed: pd.DataFrame) -> str | None:
    """Which judges' correlation with people has an interval wholly below zero; None where it is no judge's.

    Columns: judge, metric, value, value_low, value_high, and score where there are calibrations.
    """
    under = agreed[(agreed["metric"] == "pearson") & agreed["value_high"].lt(0)]
    if under.empty:
        return None
    found = [
        name_of(row["judge"])
        + (f" ({name_of(row['score'])})" if row.get("score", "real") != "real" else "")
        + f" r = {with_interval(row['value'], row['value_low'], row['value_high'], 2)}"
        for row in under.to_dict("records")
    ]
    return translate(
        "**Below zero:** the whole 95 % interval of the correlation with people's scores lies below zero for "
        "{judges}. Such a judge ranks first what these people like least: do not use it for ranking.",
        judges=translate("; ").join(found),
    )


def by_side(low: pd.Series, high: pd.Series, above: str, below: str, neither: str) -> Iterator[str]:
    """Name the judges whose interval lies above zero, below zero, and neither: each a sentence with `{judges}` in it.

    The bounds are indexed by judge; the messages are marked for translation.
    """
    is_above, is_below = low.gt(0), high.lt(0)
    for message, own in ((above, is_above), (below, is_below), (neither, ~is_above & ~is_below)):
        if own.any():
            yield translate(message, judges=join(map(name_of, own.index[own])))


def without_scores(verdicts: pd.DataFrame) -> list[str]:
    """Which judges have scored no reply at all; a sentence for each reason."""
    has_score = verdicts["raw"].notna().groupby(verdicts["judge"], sort=False).transform("any")
    return [
        translate(
            "Without any score: {judges} ({reason}).",
            judges=join(map(name_of, own["judge"].unique())),
            reason=str(reason).removeprefix("no score: "),
        )
        for reason, own in verdicts[~has_score].groupby("error", sort=False)
    ]


def counted(asked: pd.DataFrame) -> dict[str, int]:
    """How many judgments were asked for and how many have no score: the page's head and the manifest say the same."""
    return {"judgments": len(asked), "unscored": int(asked["raw"].isna().sum())}


@as_paragraph
def scored(asked: pd.DataFrame, sessions: bool = False) -> Iterator[str]:
    """How many replies, or whole sessions, were judged, and how many judgments have no score."""
    judged = {"n": asked["judge"].nunique(), "users": asked["user"].nunique()}
    judged["replies"] = len(asked[TURN].drop_duplicates())
    if sessions:
        yield plural(
            "{replies:,} conversations of {users} users, judged by one judge.",
            "{replies:,} conversations of {users} users, judged by {n} judges.",
            **judged,
        )
    else:
        yield plural(
            "{replies:,} replies of {users} users, judged by one judge.",
            "{replies:,} replies of {users} users, judged by {n} judges.",
            **judged,
        )
    unscored = asked[asked["raw"].isna()]
    if unscored.empty:
        yield translate("All of them were scored.")
    else:
        yield translate(
            "{unscored:,} of {judgments:,} verdicts are unscored (mostly: {reason}). They are excluded and "
            "counted.",
            reason=unscored["error"].fillna("?").str.slice(0, 80).value_counts().index[0],
            **counted(asked),
        )


@as_paragraph
def reach(asked: pd.DataFrame, look: Extent) -> Iterator[str]:
    """What can be concluded from so many replies."""
    users = asked["user"].nunique()
    if look.is_first_look:
        yield translate("**A first look.**")
    yield translate(
        "A small model is asked with short prompts: before each reply, judges see only the request. With "
        "{users} users this shows that every part works; it measures nothing. For results use a stronger "
        "backbone."
        if look.is_short
        else "With {users} users intervals are wide; ignore small differences."
        if users < 20
        else "With {users} users intervals over users are reliable.",
        users=users,
    )
