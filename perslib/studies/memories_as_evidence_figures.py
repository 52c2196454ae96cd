"""What the page on memories as evidence draws and prints: agreement beside cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, StrMethodFormatter

from perslib.metrics import table as as_printed
from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT, INK, literal
from perslib.report.words import name_of
from perslib.studies.memories_as_evidence import METRICS, NOTHING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Grey is for no memory.
_COLORS = [*CATEGORIES[:4], *CATEGORIES[5:]]


def called(judge: object, language: str = "") -> str:
    """A memory by its own name: `memory: structured` → structured memory."""
    language = language or current().language
    return name_of(str(judge), language)


def agreement_and_cost(points: pd.DataFrame) -> Figure:
    """r against tokens a reply, building included; lines: what asks no model. A dot's number stands in the legend."""
    asked, marks = points[points["tokens"].notna()], points[points["tokens"].isna()]
    asked = asked.sort_values("tokens", kind="stable")
    fig, ax = plt.subplots(figsize=(8.2, 4.4))
    for number, row in enumerate(asked.to_dict("records"), 1):
        color = FAINT if row["judge"] == NOTHING else _COLORS[number % len(_COLORS)]
        ax.vlines(row["tokens"], row["low"], row["high"], color=color, linewidth=1.8, alpha=0.5)
        said = f"{number}  {literal(called(row['judge']))}"
        ax.plot(row["tokens"], row["value"], "o", color=color, markersize=6.5, label=said)
        ax.annotate(
            str(number),
            (row["tokens"], row["value"]),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )
    for line, row in zip((":", "--", "-."), marks.to_dict("records")):
        said = literal(called(row["judge"]))
        if np.isfinite(row["value"]):
            ax.axhline(row["value"], color=ACCENT, linestyle=line, linewidth=1, alpha=0.7, label=said)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.minorticks_off()
    ax.margins(x=0.12)
    ax.axhline(0, color=FAINT, linewidth=0.6)
    ax.set_xlabel(current().word("me_tokens"))
    ax.set_ylabel(current().word("ux_r"))
    fig.legend(loc="outside right upper", fontsize=9)
    return fig


def points(agreed: pd.DataFrame, spent: pd.DataFrame) -> pd.DataFrame:
    """r with its interval beside the tokens a reply; none for judges that ask no model."""
    own = agreed[agreed["metric"] == "pearson"][["judge", "value", "low", "high", "turns", "users"]]
    return own.merge(spent[["judge", "tokens"]], on="judge", how="left")


def agreement_table(agreed: pd.DataFrame) -> pd.DataFrame:
    """A row a judge; what each memory gains over none."""
    wide = as_printed(agreed, METRICS, gains=METRICS[:2]).drop(columns=["score", "backbone"], errors="ignore")
    return wide.assign(judge=wide["judge"].map(called))


def cost_table(spent: pd.DataFrame) -> pd.DataFrame:
    """A row a judge that asks a model."""
    return spent.assign(judge=spent["judge"].map(called)).rename(columns={"tokens": "me_tokens_a_reply"})
