"""What the page on label budgets draws, prints and says: widths and coverage, the ranking, and what a judge is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter, PercentFormatter

from perslib.corpus import TURN
from perslib.report.style import ACCENT, FAINT, INK, RULE, label_rows, literal_name
from perslib.report.tables import Shown, format_number, formatted, interval, with_interval
from perslib.report.words import name_of
from perslib.stats import FEWEST_USERS, LEVEL
from perslib.studies.how_many_labels import PARTIAL, SHUFFLED
from perslib.studies.how_many_labels_draws import ALONE, BOTH, LABELS, PLAIN, middling
from perslib.text import as_paragraph, plural, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LINES = {LABELS: (INK, "-o"), BOTH: (ACCENT, "-o"), ALONE: (FAINT, "--")}


def budgets_figure(table: pd.DataFrame) -> Figure:
    """How wide intervals are, and how often they hold the truth, by the number of labelled users."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.5))
    _lines(left, table, "interval_width")
    left.set_ylim(bottom=0)
    left.set_ylabel(translate("width of the 95 % interval, points"))
    right.axhline(LEVEL, color=RULE, linewidth=1.2)
    _lines(right, table, "holds_truth")
    right.set_ylim(0, 1.03)
    right.set_ylabel(translate("intervals that contain the truth"))
    return _finished(fig, [left, right], [right], table["labelled"])


def ranking_figure(table: pd.DataFrame) -> Figure:
    """How often the best candidate is found, and which share of pairs is told apart, by labelled users."""
    columns = [c for c in ("best", "apart") if c in table]
    fig, axes = plt.subplots(1, len(columns), figsize=(4.3 * len(columns), 3.5), squeeze=False)
    for ax, column in zip(axes[0], columns):
        _lines(ax, table, column)
        ax.set_ylim(0, 1.03)
        ax.set_ylabel(name_of(f"hml_{column}"))
    return _finished(fig, axes[0], axes[0], table["labelled"])


def _lines(ax: Axes, table: pd.DataFrame, column: str) -> None:
    for method, (color, style) in _LINES.items():
        own = table[table["method"] == method].sort_values("labelled")
        low, high = own[f"{column}_low"].to_numpy(float), own[f"{column}_high"].to_numpy(float)
        ax.fill_between(
            own["labelled"],
            low,
            np.minimum(high, 1) if column != "interval_width" else high,
            color=color,
            alpha=0.14,
            linewidth=0,
        )
        ax.plot(
            own["labelled"], own[column], style, color=color, markersize=4.5, label=literal_name(method, 48)
        )


def _finished(fig: Figure, axes: Iterable[Axes], shares: Iterable[Axes], labelled: pd.Series) -> Figure:
    axes = list(axes)
    for ax in axes:
        at = sorted(set(labelled.astype(int)))
        ax.set_xscale("log")
        ax.set_xticks(at, [str(x) for x in at])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.tick_params(axis="x", which="minor", length=0)
        ax.set_xlabel(translate("labelled users"))
    for ax in shares:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncol=3)
    return fig


def worth_figure(table: pd.DataFrame) -> Figure:
    """How many labelled users each judge makes of those there are, for a candidate's mean and for a difference."""
    columns = [c for c in ("worth", "worth_pairs") if c in table]
    own = table[table["method"].isin([BOTH, PLAIN])]
    judges = list(dict.fromkeys(own["judge"]))
    fig, axes = plt.subplots(
        1, len(columns), figsize=(8.6, 1.5 + 0.42 * len(judges)), sharey=True, squeeze=False
    )
    for ax, column in zip(axes[0], columns):
        ax.axvline(float(table["labelled"].iloc[0]), color=RULE, linewidth=1.2)
        for method, shift, face in ((BOTH, -0.13, ACCENT), (PLAIN, 0.13, "white")):
            rows = own[own["method"] == method].set_index("judge").loc[judges]
            at = np.arange(len(judges)) + shift
            ax.hlines(
                at, rows[f"{column}_low"], rows[f"{column}_high"], color=ACCENT, linewidth=2, alpha=0.45
            )
            ax.plot(
                rows[column],
                at,
                "o",
                color=ACCENT,
                markerfacecolor=face,
                markersize=6,
                label=literal_name(method, 48),
            )
        ax.set_xlim(0, 1.08 * max(own[[c, f"{c}_high"]].max(axis=None) for c in columns))
        ax.set_title(name_of(f"hml_{column}"), fontsize=10, loc="left")
    label_rows(axes[0][0], judges, 48)
    fig.supxlabel(translate("labelled users"), fontsize=10)
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncol=2)
    return fig


def candidates_table(quality: pd.DataFrame) -> pd.DataFrame:
    """Each candidate's mean by people, with its interval, and by the judge, and how far they go together."""
    by_people, same = interval("gold", zero=False), {c: c for c in ("bias", "r_turns", "r_users")}
    return formatted(quality, "candidate", "turns", by_people=by_people, by_judge="judged", **same)


def budgets_table(measured: pd.DataFrame) -> pd.DataFrame:
    """What is said of single candidates: labels alone beside labels and judge at every budget, then the judge alone."""
    return _by_budget(measured, ("interval_width", "holds_truth", "bias", "worth"))


def ranking_table(measured: pd.DataFrame) -> pd.DataFrame:
    """What is said of their order, in the same rows."""
    return _by_budget(measured, ("best", "tau", "apart", "wrong", "worth_pairs"))


def _by_budget(measured: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    own = measured[measured["method"].isin([LABELS, BOTH])]
    at = measured["labelled"] == middling(measured)
    alone = measured[at & (measured["method"] == ALONE)]  # it knows of no budget
    rows = pd.concat([own, alone], ignore_index=True)
    labelled = rows["labelled"].astype("Int64").mask(rows["method"] == ALONE)
    about = pd.DataFrame({"labelled": labelled, "method": rows["method"]})
    return pd.concat([about, _cells(rows, names)], axis=1)


def controls_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Each judge and method at one budget."""
    about = measured[["judge", "method", "lam"]].rename(columns={"lam": "λ"})
    names = ("interval_width", "holds_truth", "best", "worth", "worth_pairs")
    return pd.concat([about, _cells(measured, names)], axis=1)


def selected_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Labels asked for by lot beside labels asked for where the judge scored low."""
    return pd.concat(
        [measured[["chosen", "method"]], _cells(measured, ("interval_width", "holds_truth", "bias"))], axis=1
    )


def _cells(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Measures as text with their intervals; those that were not taken are left out."""
    return pd.DataFrame(
        {
            name: [
                _cell(*row, 1 if name.startswith("worth") else 2)
                for row in zip(table[name], table[f"{name}_low"], table[f"{name}_high"])
            ]
            for name in names
            if name in table
        },
        index=table.index,
    )


def _cell(value: float, low: float, high: float, digits: int) -> Shown:
    """With its interval, unless it is the same in every study."""
    return with_interval(value, *((low, high) if high - low > 1e-9 else (float("nan"),) * 2), digits)


#: The best candidate is to be found this often.
OFTEN = 0.9


@as_paragraph
def known(rated: pd.DataFrame, quality: pd.DataFrame) -> Iterator[str]:
    """Who is drawn from, and what the judge knows of them."""
    yield plural(
        "{users} users rated {replies:,} replies of one candidate to {turns:,} turns.",
        "{users} users rated {replies:,} replies of {n} candidates to {turns:,} turns.",
        len(quality),
        users=rated["user"].nunique(),
        replies=len(rated),
        turns=len(rated.drop_duplicates(TURN)),
    )
    r = quality.attrs["r_differences"]
    if np.isfinite(r):
        yield translate(
            "On differences between two candidates for the same user, the judge correlates with people at r = "
            "{r}.",
            r=format_number(r, 2),
        )
    if quality["r_users"].min() - r > 0.05:
        yield translate(
            "It predicts how generous a user is better than which reply the user prefers. The former helps with a "
            "mean and cancels in a difference."
        )


@as_paragraph
def budgets(measured: pd.DataFrame) -> Iterator[str]:
    """Width, coverage and worth at a middling budget, and what the judge's word alone would be."""
    labels, both, alone = _middling(measured)
    held = measured[measured["method"].isin([LABELS, BOTH]) & measured["holds_truth"].notna()]
    if held.empty:
        yield translate(
            "No budget here reaches {fewest} labelled users, the minimum for intervals.",
            fewest=FEWEST_USERS,
        )
    else:
        wider = both["interval_width"] / labels["interval_width"] - 1
        yield translate(
            "With {labelled:.0f} labelled users, the judge makes the interval of a candidate's mean {change:.0%} "
            "narrower: {labelled:.0f} users are worth {worth:.0f} [{worth_low:.0f}, {worth_high:.0f}]."
            if wider < 0
            else "With {labelled:.0f} labelled users, the judge makes the interval of a candidate's mean {change:.0%} "
            "wider: {labelled:.0f} users are worth {worth:.0f} [{worth_low:.0f}, {worth_high:.0f}].",
            change=abs(wider),
            **both,
        )
        worst = held.loc[held["holds_truth"].idxmin()]
        yield translate(
            "Over all budgets, intervals contain the truth in {holds_truth:.0%} to {most:.0%} of cases, lowest "
            "with {labelled:.0f} users.",
            most=held["holds_truth"].max(),
            **worst,
        )
        yield translate(
            "This matches the nominal level, as far as this number of studies shows."
            if worst["holds_truth_high"] >= LEVEL - 0.005
            else "This is **below 95 %**: so few users show too little of how users differ."
            if LEVEL - worst["holds_truth"] > 0.05
            else "This is slightly below 95 %, as usual for intervals from few users."
        )
    yield translate(
        "Without labels, the judge's interval contains the truth in {holds_truth:.0%} of cases, and its mean "
        "is as accurate as the labels of {worth:.1f} users.",
        **alone,
    )


@as_paragraph
def ranking(measured: pd.DataFrame) -> Iterator[str]:
    """From how many labels on the best candidate is found, and what the judge adds to that."""
    if "best" not in measured or measured["best"].isna().all():
        yield translate("There is only one candidate, so there is nothing to rank.")
        return
    labels, both, alone = _middling(measured)
    more = translate("more than {tried}", tried=measured["labelled"].max())
    by_labels, by_both = (_first(measured, method) or more for method in (LABELS, BOTH))
    yield translate(
        "Finding the best candidate in nine of ten studies takes {both} labelled users, with or without the "
        "judge."
        if by_labels == by_both
        else "Finding the best candidate in nine of ten studies takes {labels} labelled users with labels alone, "
        "{both} with the judge.",
        labels=by_labels,
        both=by_both,
    )
    if both["best_low"] <= labels["best_high"] and labels["best_low"] <= both["best_high"]:
        yield translate(
            "With {labelled:.0f} labelled users, the difference between the two is within the uncertainty from "
            "the number of studies.",
            **both,
        )
    yield translate("The judge alone finds it in {best:.0%} of studies.", **alone)
    if "worth_pairs" not in measured:
        yield translate(
            "The candidates answered different turns, so their differences have no interval here."
        )
        return
    if alone["wrong"] > 0.05:
        yield translate(
            "But {wrong:.0%} of its intervals of differences lie on the wrong side of zero: confident, but wrong.",
            **alone,
        )
    gain = both["worth_pairs"] / both["labelled"]
    yield translate(
        "In addition to labels, the judge hardly helps to compare candidates."
        if gain < 1.05
        else "In addition to labels, the judge helps a little to compare candidates."
        if gain < 1.5
        else "In addition to labels, the judge helps a lot to compare candidates."
    )
    yield translate(
        "For a difference, {labelled:.0f} users are worth {worth_pairs:.1f} [{worth_pairs_low:.1f}, "
        "{worth_pairs_high:.1f}].",
        **both,
    )


@as_paragraph
def controls(measured: pd.DataFrame) -> Iterator[str]:
    """Where a judge hurts."""
    k = int(measured["labelled"].iloc[0])
    by = measured.dropna(subset="judge").set_index(["judge", "method"])
    tuned, plain = by.loc[(SHUFFLED, BOTH), "worth"], by.loc[(SHUFFLED, PLAIN), "worth"]
    yield translate(
        "With an uninformative judge (each user gets another's scores), the {k} labelled users are worth "
        "{tuned:.1f}, and {plain:.1f} if the judge is fully trusted (λ = 1, the first published form).",
        k=k,
        tuned=tuned,
        plain=plain,
    )
    if plain < tuned < k:
        yield translate("Tuning λ avoids {share:.0%} of that loss.", share=(tuned - plain) / (k - plain))
    yield translate("A judge that always gives the same score changes nothing.")
    if (PARTIAL, ALONE) in by.index:
        both, fair = by.loc[(PARTIAL, BOTH)], by.loc[(by.index[0][0], BOTH)]
        yield translate(
            "A judge that favours the worst candidate finds the best in {alone:.0%} of studies alone; with labels "
            "it is worth exactly as much as without this bias, which cancels because it is on both sides."
            if abs(both["interval_width"] - fair["interval_width"]) < 1e-6
            else "A judge that favours the worst candidate finds the best in {alone:.0%} of studies alone, with labels "
            "in {best:.0%}.",
            alone=by.loc[(PARTIAL, ALONE), "best"],
            **both,
        )


@as_paragraph
def selected(measured: pd.DataFrame) -> Iterator[str]:
    """What asking where the judge scored low does."""
    held = measured.set_index(["chosen", "method"])["holds_truth"]
    fair, low, both = held["by lot", LABELS], held["by low scores", LABELS], held["by low scores", BOTH]
    if not np.isfinite(fair):
        yield translate("With so few labelled users there are no intervals to compare.")
        return
    yield translate(
        "Labels at random: {fair:.0%} of intervals contain the truth. Labels where the judge scored low: "
        "{low:.0%} with labels alone, {both:.0%} with the judge.",
        fair=fair,
        low=low,
        both=both,
    )
    if low + 0.05 < both:
        yield translate("The judge corrects part of this error, because it knows who was asked.")
    yield translate("Users to label must be chosen at random.")


def _middling(measured: pd.DataFrame) -> list[pd.Series]:
    """Labels alone, both, and the judge alone at a middling budget."""
    at = measured[measured["labelled"] == middling(measured)].drop_duplicates("method").set_index("method")
    return [at.loc[method] for method in (LABELS, BOTH, ALONE)]


def _first(measured: pd.DataFrame, method: str) -> int | None:
    """The least budget from which on the best candidate is found often."""
    own = measured[measured["method"] == method].sort_values("labelled")
    fails = np.flatnonzero(~(own["best"] >= OFTEN).to_numpy())
    start = fails[-1] + 1 if len(fails) else 0
    return int(own["labelled"].iloc[start]) if start < len(own) else None
