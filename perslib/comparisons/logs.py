"""Two logs of any tool, compared on the items that both have: paired, and clustered by user or by any column.

found = compare_logs("before.eval", "after.eval", by="task")
found.answer, found.table, found.notes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from perslib.comparisons.columns import ITEM_NAMES, Table, is_measured, is_number, is_result, list_fields, read_flat
from perslib.comparisons.words import SURE, describe_needed
from perslib.corpus.any_file.fields import choose_field
from perslib.corpus.any_file.find_score import NAMES
from perslib.corpus.any_file.ratings import find_scale_of, read_rating
from perslib.corpus.any_file.records_of import SUFFIXES
from perslib.errors import DataError, NotEnough, Problem
from perslib.report.show.tables import format_number, show_estimate
from perslib.stats import FEWEST_USERS
from perslib.stats.compare.paired import compare_paired
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.stats.resample.sign_flips import holm

A, B = "first", "second"


@dataclass
class LogComparison:
    """What `compare_logs` found."""

    answer: str
    table: pd.DataFrame
    """metric, items, units (clusters), the mean of either log, difference (second less first) with bounds, p and p_holm, higher and lower
    (items)."""
    notes: list[str] = field(default_factory=list)


def compare_logs(
    first: Table, second: Table, *, item: str | None = None, by: str | None = None, metrics: Sequence[str] = ()
) -> LogComparison:
    """Compare two logs; what names the item, the clusters and the results is recognised where it is not given.

    Several rows of one item (epochs, samples) are averaged. Raise DataError where nothing names the items in both, and NotEnough where
    no item is in both.
    """
    notes: list[str] = []
    frames = {A: read_flat(first, notes), B: read_flat(second, notes)}
    fields = {name: list_fields(frame) for name, frame in frames.items()}
    shared = [path for path in fields[A] if path in fields[B]]
    for name in (item, by, *metrics):
        if name is not None and name not in shared:
            raise DataError(Problem(name, "is not a field of both logs"), f"In both: {', '.join(shared)}")
    item_field = choose_field([fields[A][path] for path in shared], [ITEM_NAMES])
    item = item or (item_field.path if item_field else None)
    if item is None:
        raise DataError(
            Problem("item", "no field that both logs have names the item"),
            f"Say which: --item FIELD, of {', '.join(shared)}",
        )
    measured = [
        p
        for p in shared
        if p not in (item, by) and all(is_result(own[p]) or is_measured(own[p]) for own in fields.values())
    ]
    results = list(metrics) or measured
    numbers = [p for p in shared if p not in (item, by, *results) and all(is_number(own[p]) for own in fields.values())]
    if not results:
        raise DataError(
            Problem("metric", "no field of both logs is a result"), f"Say which: --metric FIELD, of {', '.join(shared)}"
        )
    notes += [f"items: {item}", f"results: {', '.join(results)}"]
    if numbers:
        notes.append(f"left out, since they are named as no result: {', '.join(numbers)} (--metric FIELD)")
    names = [fields[A][path] for path in shared if path != item and fields[A][path].is_name]
    user = choose_field(names, [NAMES["user"][0]])
    by = by or (user.path if user else None)
    notes += [
        f"{name} log: up to {most} rows of an item are averaged"
        for name, frame in frames.items()
        if (most := int(frame[item].value_counts().max())) > 1
    ]
    notes.append(
        f"clusters: {by}"
        if by
        else "clusters: each item counts as one; nothing says which depend on each other (--by FIELD)"
    )
    tables = []
    for metric in results:
        scale = find_scale_of([value for frame in frames.values() for value in frame[metric].dropna()])
        means = {name: _mean_by_item(frame, item, metric, scale) for name, frame in frames.items()}
        both = pd.concat(means, axis=1, join="inner").dropna()
        if both.empty:
            raise NotEnough("No item of the first log is in the second, so nothing is paired.")
        notes += [
            f"{metric}: {len(own) - len(both)} items of the {name} log are not in the other"
            for name, own in means.items()
            if len(own) > len(both)
        ]
        row = compare_paired(both[[B, A]], _clusters_of(frames[A], item, by, both.index), base=A).iloc[0]
        about = {"metric": metric, "items": row["rows"], "units": row["units"], A: both[A].mean(), B: both[B].mean()}
        tables.append(
            {
                **about,
                **row[[*name_bounds("difference"), "difference_p"]],
                "higher": row["ahead"],
                "lower": row["behind"],
            }
        )
    table = pd.DataFrame(tables)
    table["difference_p_holm"] = holm(table["difference_p"].to_numpy(float))
    return LogComparison(_answer(table, by), table, [*dict.fromkeys(notes), *_describe_open(table)])


def _clusters_of(frame: pd.DataFrame, item: str, by: str | None, items: pd.Index) -> np.ndarray | None:
    if by is None or by == item:
        return None
    first = frame.groupby(frame[item].astype(str))[by].first()
    return first.reindex(items).astype(str).to_numpy()


def _mean_by_item(frame: pd.DataFrame, item: str, metric: str, scale: str | None) -> pd.Series:
    known = frame[frame[metric].notna()]
    values = pd.to_numeric(known[metric].map(lambda value: read_rating(value, scale)), errors="coerce")
    return values.groupby(known[item].astype(str)).mean()


def describe_comparison(first: str, second: str, **how: Any) -> str:
    """Return what a comparison of two logs found, as a terminal shows it; `how` is that of `compare_logs`."""
    result = compare_logs(first, second, **how)
    return "\n".join([result.answer, "", show_table(result).to_string(index=False), "", *result.notes])


def is_log(path: Path) -> bool:
    """Return whether it is a file of another tool, and no page of a run."""
    return path.is_file() and path.suffix.lower() in SUFFIXES and not path.with_suffix(".ipynb").exists()


def show_table(result: LogComparison) -> pd.DataFrame:
    """Return the table as people read it."""
    cells = [
        {
            "metric": row["metric"], "items": row["items"], "clusters": row["units"], A: format_number(row[A]), B: format_number(row[B]),
            "difference": show_estimate(row, "difference"), "p": format_number(row["difference_p_holm"]),
            "higher": row["higher"], "lower": row["lower"],
        }
        for _, row in result.table.iterrows()
    ]  # fmt: skip
    return pd.DataFrame(cells)


def _answer(table: pd.DataFrame, by: str | None) -> str:
    """Return a sentence: which results are higher or lower, by Holm's p; none is without a field that says which items depend on each other."""
    parts = []
    for _, row in table.iterrows():
        sure = by is not None and row["difference_p_holm"] < SURE
        way = ("higher" if row["difference"] > 0 else "lower") if sure else "not shown to be higher or lower"
        parts.append(
            f"{row['metric']} is {way} in the second log ({show_estimate(row, 'difference')}; {row['items']} items of {row['units']} clusters)"
        )
    unknown = (
        ""
        if by is not None
        else (
            " No field says which items are one user's or one topic's, and such items depend on each other: name it with --by FIELD, or the field "
            "of the items where each stands for itself."
        )
    )
    return "; ".join(parts) + "." + unknown


def _describe_open(table: pd.DataFrame) -> list[str]:
    notes = []
    for _, row in table.iterrows():
        if row["units"] < FEWEST_USERS:
            notes.append(
                f"intervals: {row['metric']} has {row['units']} clusters; from {FEWEST_USERS} on there is an interval"
            )
        elif needed := describe_needed(row["metric"], row["units"], row, "difference", "clusters"):
            notes.append(needed)
    return notes
