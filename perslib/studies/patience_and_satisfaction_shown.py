"""What the page on patience against ratings draws, prints and says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from perslib.report.style import ACCENT, CATEGORIES, FAINT, literal_name
from perslib.report.tables import agreement_table as as_printed
from perslib.report.tables import format_number, with_interval
from perslib.report.words import name_of
from perslib.stats import mean_by
from perslib.studies.patience_and_satisfaction import (
    BUDGET,
    METRICS,
    RIDGE,
    SHUFFLED,
    USER,
    Ended,
    F,
    foretold,
)
from perslib.text import mark, paragraph, translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LOOKS = {F: (ACCENT, "o"), BUDGET: (CATEGORIES[1], "D"), SHUFFLED: (FAINT, "x"), RIDGE: (CATEGORIES[2], "s")}


def by_rating(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean of each estimate at each rating, in its own standard deviations: predictor, rating, mean, mean_low, mean_high, turns."""
    own = frame[frame["compared"]]
    parts = []
    for name in _LOOKS:
        if not own[name].notna().all():
            continue
        scaled = (own[name] - own[name].mean()) / max(own[name].std(), 1e-9)
        table = mean_by(own.assign(scaled=scaled), "scaled", "rating")
        parts.append(table.assign(predictor=name))
    return pd.concat(parts, ignore_index=True)


def means_figure(table: pd.DataFrame) -> Figure:
    """`by_rating`, a line an estimate, with 95 % intervals over users."""
    fig, ax = plt.subplots(figsize=(6.6, 3.8))
    for place, (name, own) in enumerate(table.groupby("predictor", sort=False)):
        color, mark = _LOOKS[str(name)]
        at = own["rating"].to_numpy(float) + 0.06 * (place - 1.5)
        ax.vlines(
            at,
            own["mean_low"].astype(float),
            own["mean_high"].astype(float),
            color=color,
            linewidth=1.6,
            alpha=0.5,
        )
        ax.plot(
            at,
            own["mean"].astype(float),
            mark + "-",
            color=color,
            markersize=5.5,
            label=literal_name(str(name)),
        )
    ax.axhline(0, color=FAINT, linewidth=0.7)
    ax.set_xticks(sorted(set(table["rating"])))
    ax.set_xlabel(translate("Rating of the turn"))
    ax.set_ylabel(translate("Mean estimate (standard deviations)"))
    fig.legend(loc="outside upper left", ncol=2, fontsize=9)
    return fig


def agreement_table(compared: pd.DataFrame) -> pd.DataFrame:
    """A row a predictor: r pooled and within users, each with its gain over the best control."""
    about = {"backbone": None, "unscored": 0}
    wide = as_printed(compared.assign(**about), METRICS, gains=METRICS)
    named = wide["judge"].map(name_of)
    return wide.assign(judge=named).drop(columns="score").rename(columns={"judge": "ps_predictor"})


#: What makes a dialogue a success, by the parameter of this name.
SUCCESS = {
    "last rating": mark(
        "A dialogue is a success if its last reply was rated {least:g} or more. That last turn is excluded "
        "from every comparison below."
    ),
    "session rating": mark("A dialogue is a success if it was rated {least:g} or more as a whole."),
    "recorded": mark("A dialogue is a success if the corpus says that the task was accomplished."),
    "behaviour": mark(
        "A dialogue is a success if what followed the last reply indicates a score of {least:g} or more (no "
        "rating is used)."
    ),
}


def endings(known: Ended, least: float) -> str:
    """What is learned from."""
    total = len(known.dialogues)
    return paragraph(
        translate(
            "{n} dialogues; {share:.0%} count as successes.",
            n=total,
            share=known.successes / total if total else 0.0,
        ),
        translate(SUCCESS[known.how], least=least),
        ""
        if known.both_ways
        else translate("**One outcome is too rare to learn from**; try another `success` or `satisfied`."),
    )


def found(frame: pd.DataFrame, table: pd.DataFrame, holds: float) -> str:
    """Whether what was learned from outcomes is satisfaction."""
    own = table.set_index(["judge", "metric"])

    def r(name: str, metric: str = "pearson") -> str:
        return str(
            with_interval(*own.loc[(name, metric), ["value", "value_low", "value_high"]].astype(float))
        )

    f, rise = own.loc[(F, "wc_pearson")], own.loc[("turn number alone", "wc_pearson")]
    control, right = str(f["control"]), foretold(frame)
    successes = float((frame.drop_duplicates("dialogue")["status"] == 1).mean())
    satisfaction = paragraph(
        translate(
            "**Turn satisfaction** f correlates with the users' ratings at r = {r}, within users at {within}. The "
            "best control that does not know the outcome, *{control}*, reaches {control_within} within users.",
            r=r(F),
            within=r(F, "wc_pearson"),
            control=name_of(control),
            control_within=r(control, "wc_pearson"),
        ),
        # A fit that cannot tell how unseen dialogues end has learned nothing from outcomes, whatever its f goes with.
        translate(
            "f is significantly better and outcomes are predicted, so outcomes alone teach something about "
            "satisfaction."
            if f["gain_low"] > 0 and right[1] > 0.5
            else "f is not significantly better, or outcomes are not predicted: **there is no evidence that more is "
            "learned about satisfaction with outcomes than without them**."
        ),
        translate(
            "(Of the shuffled outcomes, {same:.0%} are still the true ones.)",
            same=successes**2 + (1 - successes) ** 2,
        ),
        translate("Trained on the ratings, the same features reach {r}.", r=r(RIDGE, "wc_pearson"))
        if (RIDGE, "wc_pearson") in own.index
        else "",
        translate(
            "The budget at the end predicts the outcome of unseen dialogues with a balanced accuracy of {accuracy} "
            "(chance: .50).",
            accuracy=with_interval(*right, 2),
        ),
    )
    budget = paragraph(
        translate(
            "**The remaining budget** has r = {r}, within users {within}.",
            r=r(BUDGET),
            within=r(BUDGET, "wc_pearson"),
        ),
        translate(
            "A budget can only decrease; over these dialogues ratings rise."
            if rise["high"] < 0
            else "A budget can only decrease; over these dialogues ratings fall."
            if rise["low"] > 0
            else "A budget can only decrease; over these dialogues ratings neither rise nor fall significantly."
        ),
        translate(
            "It correlates with ratings nevertheless."
            if own.loc[(BUDGET, "wc_pearson"), "value_low"] > 0
            else "It cannot replace the rating of a turn."
        ),
    )
    possible = translate(
        "**Can the method work at all**? On equally many dialogues of simulated people who do leave when "
        "their patience is used up, the same fit reaches r = {r} with the true turn costs. It requires that "
        "people leave *because* of the costs of earlier turns.",
        r=format_number(holds),
    )
    return "\n\n".join((satisfaction, budget, possible))


def persons(table: pd.DataFrame) -> str:
    """What it changes to let people bring different patience."""
    own = table[table["metric"] == "pearson"].set_index("judge")
    if F + USER not in own.index:
        return translate(
            "Users rarely return in this corpus, so a fit cannot know them: patience was not conditioned on the "
            "user."
        )
    alike, by_user = (
        with_interval(*own.loc[name, ["value", "value_low", "value_high"]].astype(float))
        for name in (BUDGET, BUDGET + USER)
    )
    return translate(
        "If each user may have a different patience, the budget's pooled r changes from {alike} to {by_user}, "
        "by {change}. Patient users are not necessarily users who rate high: only patience can be learned "
        "from outcomes.",
        alike=alike,
        by_user=by_user,
        change=format_number(own.loc[BUDGET + USER, "value"] - own.loc[BUDGET, "value"]),
    )
