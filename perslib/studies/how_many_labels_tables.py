"""The tables of the page on label budgets: numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from perslib.metrics import with_interval
from perslib.studies.how_many_labels_draws import ALONE, BOTH, LABELS, middling


def candidates(quality: pd.DataFrame) -> pd.DataFrame:
    """Each candidate's mean by people, with its interval, and by the judge, and how far they go together."""
    numbers = quality[["gold", "gold_low", "gold_high"]].to_numpy(float)
    by_people = [with_interval(mean, low, high, 2) for mean, low, high in numbers]
    shown = quality.assign(by_people=by_people, by_judge=quality["judged"])
    return shown[["candidate", "turns", "by_people", "by_judge", "bias", "r_turns", "r_users"]]


def budgets(measured: pd.DataFrame) -> pd.DataFrame:
    """What is said of single candidates: labels alone beside labels and judge at every budget, then the judge alone."""
    return _by_budget(measured, ("interval_width", "holds_truth", "bias", "worth"))


def ranking(measured: pd.DataFrame) -> pd.DataFrame:
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


def controls(measured: pd.DataFrame) -> pd.DataFrame:
    """Each judge and method at one budget."""
    about = measured[["judge", "method", "lam"]].rename(columns={"lam": "λ"})
    names = ("interval_width", "holds_truth", "best", "worth", "worth_pairs")
    return pd.concat([about, _cells(measured, names)], axis=1)


def selected(measured: pd.DataFrame) -> pd.DataFrame:
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


def _cell(value: float, low: float, high: float, digits: int) -> str:
    """With its interval, unless it is the same in every study."""
    return with_interval(value, *((low, high) if high - low > 1e-9 else (float("nan"),) * 2), digits)
