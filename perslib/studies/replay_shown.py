"""What the replay page draws and says: standings with distributions, wins and losses, how firm the ranking is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.corpus import TURN
from perslib.replay import ORIGINAL
from perslib.report.style import (
    ACCENT,
    CATEGORIES,
    FAINT,
    RULE,
    SCORES,
    draw_intervals,
    draw_shares,
    label_rows,
    literal_name,
    percents,
)
from perslib.report.tables import format_number, with_interval
from perslib.report.words import name_of
from perslib.studies.shared import OUTCOMES, outcome_looks
from perslib.text import join, paragraph, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Colours for candidates; the grey one is the recorded reply's.
_HUES = [color for color in CATEGORIES if color != "#6b7a8f"]
_SCORED = [(f"{score}", color) for score, color in SCORES.items()]


def standings_figure(summary: pd.DataFrame) -> Figure:
    """The paper's Figure 2: user macro with its interval; beside it the distribution, with the share at 3 and below."""
    ordered = summary.sort_values("user_macro", ascending=False, kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 1.2 + 0.36 * len(ordered)), sharey=True, width_ratios=[1, 1.25]
    )
    middle, low, high = ordered[["user_macro", "user_macro_low", "user_macro_high"]].to_numpy(float).T
    colors = [FAINT if c == ORIGINAL else ACCENT for c in ordered["candidate"]]
    draw_intervals(left, at, low, high, colors, 2)
    left.scatter(middle, at, c=colors, s=26, zorder=3)
    left.set_xlabel(translate("Mean satisfaction, users weighted equally"))
    label_rows(left, ordered["candidate"])

    shares = ordered[[f"share{s}" for s in range(1, 6)]].fillna(0).to_numpy(float)
    draw_shares(right, shares, _SCORED)
    for y, share in enumerate(ordered["dsat"].to_numpy(float)):
        right.text(1.02, y, f"{share:.1%}", va="center", fontsize=9, color=SCORES[1])
    right.text(1.02, -0.75, translate("≤ 3"), fontsize=8.5, color=SCORES[1], ha="left", va="bottom")
    right.set_xlabel(translate("Share of turns by score"))
    fig.legend(*right.get_legend_handles_labels(), loc="outside upper left", ncol=5, title=None)
    return fig


def outcomes_figure(compared: pd.DataFrame) -> Figure:
    """The paper's Figures 3 and 4: shares of turns won, tied and lost against one other candidate."""
    ordered = compared.sort_values("mean_delta", ascending=False, kind="stable").reset_index(drop=True)
    fig, ax = plt.subplots(figsize=(7.6, 1.1 + 0.36 * len(ordered)))
    shares = ordered[list(OUTCOMES)].to_numpy(float)
    draw_shares(ax, shares, outcome_looks(), percents(shares), least=0.055, dark=[0])
    label_rows(ax, ordered["candidate"])
    ax.set_xlabel(translate("Share of turns, against {other}", other=literal_name(ordered["other"].iloc[0])))
    fig.legend(loc="outside upper left", ncol=3)
    return fig


def rank_lines_figure(means: pd.DataFrame) -> Figure:
    """How each candidate ranks in each view (a judge, a calibration, a replay set); lines that cross are disagreement."""
    ranks = means.rank(ascending=False, method="average")
    views = list(ranks.columns)
    order = ranks.iloc[:, 0].sort_values().index
    fig, ax = plt.subplots(figsize=(max(5.6, 1.9 + 0.95 * len(views)), 1.5 + 0.36 * len(ranks)))
    for place, candidate in enumerate(order):
        color = FAINT if candidate == ORIGINAL else _HUES[place % len(_HUES)]
        line = ranks.loc[candidate].to_numpy(float)
        ax.plot(range(len(views)), line, "-o", color=color, linewidth=2, markersize=6)
        ax.text(-0.12, line[0], literal_name(candidate), ha="right", va="center", fontsize=9.5, color=color)
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
    return "\n".join(literal_name(part) for part in name.split(" · "))


def taus_figure(views: pd.DataFrame) -> Figure:
    """Kendall's τ between every two views, with intervals over resampled users; 1 is the same order."""
    ordered = views.sort_values("tau", kind="stable").reset_index(drop=True)
    at = np.arange(len(ordered))
    fig, ax = plt.subplots(figsize=(7.6, 0.9 + 0.3 * len(ordered)))
    middle, low, high = ordered[["tau", "low", "high"]].to_numpy(float).T
    draw_intervals(ax, at, low, high, ACCENT, 2)
    ax.plot(middle, at, "o", color=ACCENT)
    pairs = (f"{_one_line(a)} – {_one_line(b)}" for a, b in zip(ordered["view"], ordered["other"]))
    ax.set_yticks(at, list(pairs), fontsize=9)
    ax.set_xlim(min(-0.05, float(np.nanmin([*low, *middle])) - 0.05), 1.05)
    ax.axvline(0, color=RULE, linewidth=0.8)
    ax.set_xlabel(translate("Kendall's τ between two rankings"))
    return fig


def _one_line(view: str) -> str:
    return ", ".join(literal_name(part) for part in view.split(" · "))


def truth_figure(frame: pd.DataFrame) -> Figure:
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
        ax.set_title(literal_name(judge), fontsize=10, loc="left")
    fig.supxlabel(translate("True satisfaction"), fontsize=10)
    axes[0][0].set_ylabel(translate("Judged satisfaction"))
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
        ax.annotate(literal_name(row.candidate), at, place, textcoords="offset points", ha=side, fontsize=8)


def selections_figure(profiles: pd.DataFrame, names: Sequence[str]) -> Figure:
    """What the users had given the recorded replies, in each replay set and in all turns of the split."""
    gold = profiles.xs("gold", level="part")[list(names)]
    fig, ax = plt.subplots(figsize=(7.6, 1.0 + 0.4 * len(names)))
    shares = gold.loc[[label for label, _ in _SCORED]].to_numpy(float).T
    draw_shares(ax, shares, _SCORED, percents(shares), dark=[0, 4])
    label_rows(ax, names)
    ax.set_xlabel(translate("Users' scores of the recorded replies"))
    fig.legend(loc="outside upper left", ncol=5)
    return fig


def sets(profiles: pd.DataFrame) -> str:
    """What the published selection does to the mean of the recorded replies."""
    mean = profiles.xs("mean gold", level="part").iloc[0]
    fives = profiles.loc[("gold", "5")]
    low = profiles.xs("gold", level="part").loc[["1", "2", "3"]].sum()
    return translate(
        "The mean score of all turns is {all:.2f}. The stratified set has {stratified:.2f}, the published "
        "selection {published:.2f}: {low:.0%} of its recorded replies were rated 3 or lower (all turns: "
        "{all_low:.0%}), {fives:.0%} were rated 5 (all turns: {all_fives:.0%}). Any new answer to such turns "
        "looks like an improvement, because a bad reply is rarely followed by one as bad.",
        all=mean["all"],
        stratified=mean["stratified"],
        published=mean["hard"],
        low=low["hard"],
        all_low=low["all"],
        fives=fives["hard"],
        all_fives=fives["all"],
    )


def both(replayed: Mapping[str, pd.DataFrame]) -> str:
    """How large the two replay sets are, and which one the page goes by."""
    stratified, published = replayed["stratified"], replayed["hard"]
    return translate(
        "All {stratified:,} turns drawn at random and all {published:,} of the published selection are "
        "replayed; {shared:,} are in both. This page uses those drawn at random, because only they represent "
        "all turns; each set is shown separately below.",
        stratified=len(stratified),
        published=len(published),
        shared=len(stratified.merge(published[TURN], on=TURN)),
    )


def first(ranks: pd.DataFrame) -> str:
    """Who is tied for first."""
    if len(ranks) < 2:
        return translate(
            "No candidate answered all of these turns, so the recorded replies have no comparison; see below for "
            "what the backbone answered."
        )
    best = ranks[ranks["tied_first"].astype(bool)]["candidate"]
    return translate(
        "**{best}** is first; the data of these {users} users exclude this for every other candidate."
        if len(best) == 1
        else "Tied for first, by the data of these {users} users: **{best}**.",
        best=join(map(name_of, best)),
        users=int(ranks["users"].max()),
    )


def null(compared: pd.DataFrame, name: str) -> str:
    """The check that the comparison itself adds nothing."""
    own = compared[compared["candidate"] == name].iloc[0]
    return translate(
        "Check: the recorded replies as a candidate win {win:.0%}, tie {tie:.0%} and lose {lose:.0%} against "
        "themselves, as expected."
        if own["tie"] == 1
        else "Check: the recorded replies as a candidate win {win:.0%}, tie {tie:.0%} and lose {lose:.0%} against "
        "themselves, **which is wrong**.",
        **own[["win", "tie", "lose"]].to_dict(),
    )


def truth(found: pd.DataFrame) -> str:
    """How well each judge's ranking agrees with the truth."""
    said = []
    for row in found[found["candidates"] > 1].to_dict("records"):
        row |= {"judge": name_of(row["judge"]), "tau": with_interval(row["tau"], row["low"], row["high"], 2)}
        said += [
            translate(
                "**{judge}**: τ = {tau}; it ranks the true best first and the true worst last."
                if row["best_agrees"] and row["worst_agrees"]
                else "**{judge}**: τ = {tau}; it ranks {best} first (truth: {true_best}) and {worst} last (truth: "
                "{true_worst}).",
                **row,
            )
        ]
    return paragraph(*said) or translate("The truth about these candidates is not known.")


def told(left_out: int, repeated: int, asked: int, turns: int) -> str:
    """What of the replies is not on the page; empty where nothing is missing."""
    return paragraph(
        translate("{n:,} turns are left out, because not every candidate answers them.", n=left_out)
        if left_out
        else "",
        translate(
            "{n:,} lines of the files are duplicates or could not be used; of duplicates the last counts.",
            n=repeated,
        )
        if repeated
        else "",
        translate(
            "The backbone answers {asked:,} of the {turns:,} turns; its contexts are compared on these, below.",
            asked=asked,
            turns=turns,
        )
        if 0 < asked < turns
        else "",
    )


def power(needed: pd.DataFrame, one: str, other: str) -> str:
    """How many users it takes to tell two candidates apart."""
    row = needed.iloc[(needed["turns_per_user"] - 3).abs().argmin()]
    if pd.isna(row["users"]):
        return translate(
            "{one} and {other} do not differ here, so no number of users would separate them.",
            one=name_of(one),
            other=name_of(other),
        )
    return translate(
        "{one} and {other} differ by {difference} points, users weighted equally. Detecting such a difference "
        "in four of five runs takes {users} users with {turns} turns each.",
        one=name_of(one),
        other=name_of(other),
        difference=format_number(abs(row["difference"]), 2),
        users=int(row["users"]),
        turns=int(row["turns_per_user"]),
    )


def own_judges(pairs: list[tuple[str, str]]) -> str:
    """Which candidates are judged by their own model."""
    if not pairs:
        return translate("No candidate is judged by its own model.")
    return translate(
        "**Judged by their own model: {pairs}.** Interpret their ranks with care, or choose another "
        "`judge_backbone`.",
        pairs=join(translate("{candidate} (by {judge})", candidate=c, judge=judge) for c, judge in pairs),
    )


def look(turns: int) -> str:
    """That a first look measures nothing."""
    return translate(
        "**A first look**: a model on this machine answers {turns} turns in each context, in a few words. It "
        "shows that every part works and measures nothing; use a stronger backbone, or set `limit`.",
        turns=turns,
    )
