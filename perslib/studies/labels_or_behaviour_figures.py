"""What the page on labels and behaviour draws and prints: agreement by number of labels, and what a rating is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from perslib.metrics import with_interval
from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK
from perslib.report.words import name_of
from perslib.studies.figures import label
from perslib.studies.labels_or_behaviour import KINDS, Curves

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


def by_budget(points: pd.DataFrame) -> Figure:
    """r with the users' scores against the number of labels, a panel a judge; grey line: the mean of the task."""
    own = points[points["metric"] == "pearson"]
    control, own = own[~own["kind"].isin(KINDS)], own[own["kind"].isin(KINDS)]
    judges = list(dict.fromkeys(own["judge"]))
    fig, axes = plt.subplots(
        1, len(judges), figsize=(max(5.2, 4.1 * len(judges)), 3.9), sharey=True, squeeze=False
    )
    for ax, judge in zip(axes[0], judges):
        for kind, (color, mark, line) in _LOOKS.items():
            of = own[(own["judge"] == judge) & (own["kind"] == kind)].sort_values("budget")
            # "ratings and log" has more labels than ratings; it stands where its ratings do.
            at = of["budget"].to_numpy(float) * 1.03 ** (KINDS.index(kind) - 2)
            ax.vlines(at, of["low"], of["high"], color=color, linewidth=1.4, alpha=0.45)
            ax.plot(at, of["value"], mark, linestyle=line, color=color, markersize=5, label=label(kind))
        for r in control["value"]:
            ax.axhline(r, color=FAINT, linewidth=0.9, label=label("task mean"))
        ax.set_xscale("log")
        budgets = sorted(set(own["budget"]))
        ax.set_xticks(budgets, [str(b) for b in budgets])
        ax.minorticks_off()
        ax.set_title(label(judge), fontsize=10, loc="left")
        ax.axhline(0, color=INK, linewidth=0.6)
    axes[0][0].set_ylabel(current().word("ux_r"))
    fig.supxlabel(current().word("lb_labels"), fontsize=10)
    handles, names = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper left", ncol=3, fontsize=9)
    return fig


def agreement_table(found: Curves) -> pd.DataFrame:
    """A row a judge and kind, a column a number of labels; beside them r within users with the most labels."""
    points = found.points[found.points["kind"].isin(KINDS)]
    cells = [with_interval(*row) for row in points[["value", "low", "high"]].to_numpy(float)]
    wide = points.assign(cell=cells).set_index(["judge", "kind", "metric", "budget"])["cell"]
    rows = []
    for judge in found.judges:
        for kind in KINDS:
            r = {f"lb n: {n}": wide.get((judge, kind, "pearson", n), "–") for n in found.budgets}
            within = wide.get((judge, kind, "wc_pearson", found.budgets[-1]), "–")
            said = name_of(kind, current().language)
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


def worth_cell(row: pd.Series) -> str:
    """`4.4 [≤ 1.0, > 8.0]`: beyond the numbers of labels on this page nothing is known."""

    def said(value: float) -> str:
        if np.isinf(value):
            return f"> {row['most']:.1f}"
        return f"≤ {row['least']:.1f}" if value <= row["least"] * (1 + 1e-9) else f"{value:.1f}"

    if np.isnan(row["worth"]):
        return "–"
    middle, low, high = (said(v) for v in row[["worth", "low", "high"]].astype(float))
    return middle if np.isnan(row["low"]) or middle == low == high else f"{middle} [{low}, {high}]"
