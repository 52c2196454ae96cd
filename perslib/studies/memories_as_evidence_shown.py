"""What the page on memories as evidence draws, prints and says: agreement beside cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, StrMethodFormatter

from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, literal_name
from perslib.report.tables import agreement_table as as_printed
from perslib.report.tables import format_number
from perslib.report.words import name_of
from perslib.stats import FEWEST_USERS
from perslib.studies.extent import Extent
from perslib.studies.memories_as_evidence import METRICS, NOTHING, Judged, frontier
from perslib.text import as_paragraph, join, translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Grey is for no memory.
_COLORS = [*CATEGORIES[:4], *CATEGORIES[5:]]


def agreement_and_cost_figure(points: pd.DataFrame) -> Figure:
    """r against tokens a reply, building included; lines: what asks no model. A dot's number stands in the legend."""
    asked, marks = points[points["tokens"].notna()], points[points["tokens"].isna()]
    asked = asked.sort_values("tokens", kind="stable")
    fig, ax = plt.subplots(figsize=(8.2, 4.4))
    for place, row in enumerate(asked.to_dict("records"), 1):
        color = FAINT if row["judge"] == NOTHING else _COLORS[place % len(_COLORS)]
        ax.vlines(row["tokens"], row["value_low"], row["value_high"], color=color, linewidth=1.8, alpha=0.5)
        said = f"{place}  {literal_name(row['judge'])}"
        ax.plot(row["tokens"], row["value"], "o", color=color, markersize=6.5, label=said)
        ax.annotate(
            str(place),
            (row["tokens"], row["value"]),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )
    for line, row in zip((":", "--", "-."), marks.to_dict("records")):
        said = literal_name(row["judge"])
        if np.isfinite(row["value"]):
            ax.axhline(row["value"], color=ACCENT, linestyle=line, linewidth=1, alpha=0.7, label=said)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.minorticks_off()
    ax.margins(x=0.12)
    ax.axhline(0, color=FAINT, linewidth=0.6)
    ax.set_xlabel(translate("Tokens per judged reply, memory included (log scale)"))
    ax.set_ylabel(translate("r with the users' scores"))
    fig.legend(loc="outside right upper", fontsize=9)
    return fig


def points(agreed: pd.DataFrame, spent: pd.DataFrame) -> pd.DataFrame:
    """r with its interval beside the tokens a reply; none for judges that ask no model."""
    own = agreed[agreed["metric"] == "pearson"][
        ["judge", "value", "value_low", "value_high", "turns", "users"]
    ]
    return own.merge(spent[["judge", "tokens"]], on="judge", how="left")


def agreement_table(agreed: pd.DataFrame) -> pd.DataFrame:
    """A row a judge; what each memory gains over none."""
    wide = as_printed(agreed, METRICS, gains=METRICS[:2]).drop(columns=["score", "backbone"], errors="ignore")
    return wide.assign(judge=wide["judge"].map(name_of))


def cost_table(spent: pd.DataFrame) -> pd.DataFrame:
    """A row a judge that asks a model."""
    return spent.assign(judge=spent["judge"].map(name_of)).rename(columns={"tokens": "me_tokens_a_reply"})


@as_paragraph
def chosen(found: Judged, look: Extent, model: str) -> Iterator[str]:
    """What was asked, and what was left out."""
    asked = found.verdicts[found.verdicts["backbone"].notna()]
    yield translate(
        "`{model}` scores {replies:,} replies of {users} users, once with each memory.",
        model=model,
        replies=len(asked) // max(1, asked["judge"].nunique()),
        users=asked["user"].nunique(),
    )
    if look.is_first_look:
        yield translate(
            "**A first look**: it shows that every part works with a model on this machine; it measures nothing. "
            "Such a small model cannot write most of the memories that are left out, and embedding what users "
            "were told takes half a minute per user on a CPU."
        )
    if found.left_out:
        yield translate(
            "Left out: {memories}. To run all: `perslib report 09 --backbone NAME -p memories=all`.",
            memories=join(f"*{name_of(f'memory: {name}')}*" for name in found.left_out),
        )


@as_paragraph
def worth(agreed: pd.DataFrame, spent: pd.DataFrame) -> Iterator[str]:
    """Which memories are surely worth having, and which of them nobody beats for less."""
    own = agreed[agreed["metric"] == "pearson"].set_index("judge")
    if own["users"].max() < FEWEST_USERS:
        yield translate(
            "With fewer than five users there are no intervals, so no memory can be called better than another."
        )
        return
    memories = own[own.index.isin(spent["judge"]) & (own.index != NOTHING) & own["gain_p_holm"].lt(0.05)]
    ahead, behind = memories["gain_low"].gt(0), memories["gain_high"].lt(0)
    yield translate(
        "Significantly better than *no memory* in r, after Holm's correction: **{memories}**.",
        memories=join(map(name_of, memories.index[ahead])) or translate("none"),
    )
    if behind.any():
        yield translate(
            "Significantly worse: {memories}.", memories=join(map(name_of, memories.index[behind]))
        )
    best = [
        f"{name_of(judge)} ({format_number(own.loc[judge, 'value'])})" for judge in frontier(agreed, spent)
    ]
    yield translate(
        "Those that no cheaper memory matches (r), cheapest first: {memories}.",
        memories=" → ".join(best) or translate("none"),
    )
