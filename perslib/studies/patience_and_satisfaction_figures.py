"""What the page on patience against ratings draws and prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from perslib.inference import mean_by
from perslib.metrics import table as as_printed
from perslib.report.page import current
from perslib.report.style import ACCENT, CATEGORIES, FAINT
from perslib.report.words import name_of
from perslib.studies.figures import label
from perslib.studies.patience_and_satisfaction import BUDGET, METRICS, RIDGE, SHUFFLED, F

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = {F: (ACCENT, "o"), BUDGET: (CATEGORIES[1], "D"), SHUFFLED: (FAINT, "x"), RIDGE: (CATEGORIES[2], "s")}


def by_rating(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean of each estimate at each rating, in its own standard deviations: predictor, rating, mean, low, high, turns."""
    own = frame[frame["compared"]]
    parts = []
    for name in _LOOKS:
        if not own[name].notna().all():
            continue
        scaled = (own[name] - own[name].mean()) / max(own[name].std(), 1e-9)
        table = mean_by(own.assign(scaled=scaled), "scaled", "rating")
        parts.append(table.assign(predictor=name))
    return pd.concat(parts, ignore_index=True)


def means(table: pd.DataFrame) -> Figure:
    """`by_rating`, a line an estimate, with 95 % intervals over users."""
    fig, ax = plt.subplots(figsize=(6.6, 3.8))
    for place, (name, own) in enumerate(table.groupby("predictor", sort=False)):
        color, mark = _LOOKS[str(name)]
        at = own["rating"].to_numpy(float) + 0.06 * (place - 1.5)
        ax.vlines(
            at, own["low"].astype(float), own["high"].astype(float), color=color, linewidth=1.6, alpha=0.5
        )
        ax.plot(
            at, own["mean"].astype(float), mark + "-", color=color, markersize=5.5, label=label(str(name))
        )
    ax.axhline(0, color=FAINT, linewidth=0.7)
    ax.set_xticks(sorted(set(table["rating"])))
    ax.set_xlabel(current().word("ps_rating"))
    ax.set_ylabel(current().word("ps_mean"))
    fig.legend(loc="outside upper left", ncol=2, fontsize=9)
    return fig


def agreement_table(compared: pd.DataFrame) -> pd.DataFrame:
    """A row a predictor: r pooled and within users, each with its gain over the best control."""
    about = {"backbone": None, "unscored": 0}
    wide = as_printed(compared.assign(**about), METRICS, gains=METRICS)
    named = wide["judge"].map(lambda name: name_of(name, current().language))
    return wide.assign(judge=named).drop(columns="score").rename(columns={"judge": "ps_predictor"})
