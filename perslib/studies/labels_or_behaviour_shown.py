"""What the page on labels and behaviour shows: agreement by number of labels, and what a rating is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.corpus import Corpus
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, literal_name
from perslib.report.tables import Shown, format_number, interval, with_interval
from perslib.report.words import name_of
from perslib.studies.labels_or_behaviour import BASE, KINDS, Curves
from perslib.studies.shared import by_side
from perslib.text import as_paragraph, join, mark, translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Kind → colour, mark and line.
_LOOKS = dict(
    zip(
        KINDS,
        [
            (ACCENT, "o", "-"),
            (CATEGORIES[2], "s", "--"),
            (CATEGORIES[3], "^", "-."),
            (CATEGORIES[1], "D", "-"),
            (FAINT, "x", ":"),
        ],
    )
)


def by_budget_figure(points: pd.DataFrame) -> Figure:
    """r with the users' scores against the number of labels, a panel a judge; grey line: the mean of the task."""
    own = points[points["metric"] == "pearson"]
    control, own = own[~own["kind"].isin(KINDS)], own[own["kind"].isin(KINDS)]
    judges = list(dict.fromkeys(own["judge"]))
    fig, axes = plt.subplots(
        1, len(judges), figsize=(max(5.2, 4.1 * len(judges)), 3.9), sharey=True, squeeze=False
    )
    for ax, judge in zip(axes[0], judges):
        for kind, (color, marker, line) in _LOOKS.items():
            of = own[(own["judge"] == judge) & (own["kind"] == kind)].sort_values("budget")
            # "ratings and log" has more labels than ratings; it stands where its ratings do.
            at = of["budget"].to_numpy(float) * 1.03 ** (KINDS.index(kind) - 2)
            ax.vlines(at, of["low"], of["high"], color=color, linewidth=1.4, alpha=0.45)
            ax.plot(
                at, of["value"], marker, linestyle=line, color=color, markersize=5, label=literal_name(kind)
            )
        for r in control["value"]:
            ax.axhline(r, color=FAINT, linewidth=0.9, label=literal_name("task mean"))
        ax.set_xscale("log")
        budgets = sorted(set(own["budget"]))
        ax.set_xticks(budgets, [str(b) for b in budgets])
        ax.minorticks_off()
        ax.set_title(literal_name(judge), fontsize=10, loc="left")
        ax.axhline(0, color=INK, linewidth=0.6)
    axes[0][0].set_ylabel(translate("r with the users' scores"))
    fig.supxlabel(translate("Labels of the user, in other scenarios (log scale)"), fontsize=10)
    handles, names = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper left", ncol=3, fontsize=9)
    return fig


def agreement_table(found: Curves) -> pd.DataFrame:
    """A row a judge and kind, a column a number of labels; beside them r within users with the most labels."""
    points = found.points[found.points["kind"].isin(KINDS)]
    cells = interval("value", "low", "high", 3, zero=False)(points, "r")
    wide = points.assign(cell=cells).set_index(["judge", "kind", "metric", "budget"])["cell"]
    rows = []
    for judge in found.judges:
        for kind in KINDS:
            r = {f"lb n: {n}": wide.get((judge, kind, "pearson", n), "–") for n in found.budgets}
            within = wide.get((judge, kind, "wc_pearson", found.budgets[-1]), "–")
            said = name_of(kind)
            rows.append({"judge": judge, "lb_evidence": said, **r, "wc_pearson": within})
    return pd.DataFrame(rows)


def worth_table(differences: pd.DataFrame, worth: pd.DataFrame) -> pd.DataFrame:
    """A row a judge and number of labels: each kind less ratings (a star: Holm-corrected p < .05), and what a rating is
    worth in behavioural labels.
    """
    rows = []
    for row in worth.itertuples():
        own = differences[(differences["judge"] == row.judge) & (differences["budget"] == row.budget)]
        moved = {
            f"lb less: {d.kind}": with_interval(d.difference, d.low, d.high) + "*" * (d.p_holm < 0.05)
            for d in own.itertuples()
        }
        rows.append(
            {
                "judge": row.judge,
                "lb_number": row.budget,
                **moved,
                "lb_worth": worth_cell(pd.Series(row._asdict())),
            }
        )
    return pd.DataFrame(rows)


def worth_cell(row: pd.Series) -> Shown:
    """`4.4 [≤ 1.0, > 8.0]`: beyond the numbers of labels on this page nothing is known."""

    def said(value: float) -> str:
        if np.isinf(value):
            return f"> {row['most']:.1f}"
        return f"≤ {row['least']:.1f}" if value <= row["least"] * (1 + 1e-9) else f"{value:.1f}"

    if np.isnan(row["worth"]):
        return Shown("–", row["worth"])
    numbers = row[["worth", "low", "high"]].astype(float)
    middle, low, high = map(said, numbers)
    if np.isnan(row["low"]) or middle == low == high:
        return Shown(middle, numbers["worth"])
    return Shown(f"{middle} [{low}, {high}]", numbers["worth"], low=numbers["low"], high=numbers["high"])


def world(corpus: Corpus) -> str:
    """Whose behaviour this is."""
    return translate(
        "**{corpus} is a synthetic world**: behaviour and ratings come from one program, so the levels below "
        "say nothing about people. They only test the method."
        if "truth_turns" in corpus.extras
        else "Users, ratings and conversations of {corpus}.",
        corpus=corpus.name,
    )


def impossible(corpus: Corpus) -> str:
    """Why there is nothing to compare."""
    return translate(
        "{corpus} has no test user with rated replies in two scenarios and with informative behaviour, so "
        "there is no evidence and nothing to judge.",
        corpus=corpus.name,
    )


@as_paragraph
def equal_number(found: Curves, moved: pd.DataFrame) -> Iterator[str]:
    """Behaviour against ratings, label for label."""
    points = found.points.query("metric == 'pearson'").set_index(["judge", "kind", "budget"])
    most, first = found.budgets[-1], points.iloc[0]
    yield translate(
        "**With equally many labels**, on {replies:.0f} replies of {users:.0f} users:",
        replies=first["replies"],
        users=first["users"],
    )
    for judge in found.judges:
        yield translate(
            "With {most} ratings *{judge}* reaches r = {by_ratings}, with equally many behavioural labels "
            "{by_behaviour}.",
            judge=name_of(judge),
            by_ratings=format_number(points.loc[(judge, BASE, most), "value"]),
            by_behaviour=format_number(points.loc[(judge, "behaviour", most), "value"]),
            most=most,
        )
        own = moved[(moved["judge"] == judge) & (moved["kind"] == "behaviour")]
        less, more = (join(own[is_so]["budget"].astype(int)) for is_so in (own["high"] < 0, own["low"] > 0))
        if less:
            yield translate("Behaviour is significantly worse at {budgets} labels.", budgets=less)
        if more:
            yield translate("Behaviour is significantly better at {budgets} labels.", budgets=more)
        if not less and not more and own["low"].notna().any():
            yield translate("The two do not differ significantly at any number of labels.")
    yield translate(
        "“Significantly” means that the 95 % interval of the difference excludes zero, before correction for "
        "multiple tests; the stars in the table are corrected."
    )


@as_paragraph
def worth(table: pd.DataFrame, moved: pd.DataFrame) -> Iterator[str]:
    """What a rating is worth, and what the log adds to a few ratings."""
    fewest = int(table["budget"].min())
    found = [
        f"*{name_of(row['judge'])}* {worth_cell(row)}"
        for _, row in table[table["budget"] == fewest].iterrows()
    ]
    yield translate(
        "**What a rating is worth**: with only {fewest} ratings, one rating is worth this many labels of "
        "behaviour: {found}.",
        fewest=fewest,
        found=translate("; ").join(found),
    )
    yield translate(
        "“>”: no number of behavioural labels on this page is enough; “≤”: the smallest is already enough. "
        "Where a curve is flat, such a ratio says little."
    )
    log = moved.query("kind == 'ratings and log' and budget == @fewest").set_index("judge")
    yield from by_side(
        log["low"],
        log["high"],
        mark("Adding the free log to these ratings significantly raises r for: {judges}."),
        mark("Adding the free log to these ratings significantly lowers r for: {judges}."),
        mark("Adding the free log to these ratings does not significantly change r for: {judges}."),
    )
