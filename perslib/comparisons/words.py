"""What `agree` says: one sentence, the notes, and the table as people read it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from perslib.report.show.tables import format_number, show_estimate, write_p
from perslib.stats import FEWEST_USERS, SEED, krippendorff
from perslib.stats.agreement.metrics import LOWER_IS_BETTER
from perslib.stats.agreement.raters import Level
from perslib.stats.resample.leave_one_out import count_to_settle, name_bounds

USER_MEAN, COMMONEST, PEOPLE = "the user's own mean", "the commonest label", "other people"
CONTROLS = (USER_MEAN, COMMONEST)
METRICS = ("pearson", "spearman", "wc_pearson", "accuracy", "kappa", "qwk", "auc", "mae")
#: Of labels of two kinds; and where a probability is cut to be one of them.
OF_TWO, OF_CUT = ("kappa", "auc"), ("accuracy", "kappa")
#: What a judge may be worse by than an annotator and stand in for one; annotators that the test takes, and items of each.
EPSILON, ANNOTATORS, ITEMS = 0.15, 3, 20
#: From this share of users on for whom their own mean is closer, a judge is to be used with care.
MANY = 0.25
#: The p below which something is said; the share of users for whom their own mean seems closer than a judge that is right for everybody.
SURE, CHANCE_WORSE = 0.05, 0.11
#: Fewer users do not foretell how many would tell.
FEW_TO_FORETELL = 20
#: How often items are drawn anew for the interval of Krippendorff's α.
ALPHA_DRAWS = 200
#: Fewer rated items say nothing.
FEWEST = 10


@dataclass
class Agreement:
    """What `agree` found."""

    answer: str
    table: pd.DataFrame
    """judge, items, users, each of `METRICS` with bounds, gain (Pearson over the best control) with bounds and p_holm, worse (share of
    users for whom their own mean is closer), stands_in (share of annotators that it may stand in for), drift with bounds."""
    notes: list[str] = field(default_factory=list)
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    """user, item, judge, raw (on 1–5), gold."""
    history: pd.DataFrame | None = None
    """What the user's own ratings add, where it was asked for: `perslib.comparisons.history.trace_history`."""


def _cell(row: pd.Series, name: str, digits: int = 2) -> str:
    return str(show_estimate(row, name, digits))


def answer_first(table: pd.DataFrame) -> str:
    """Return one sentence: whether the best judge is usable, and because of what.

    Usable needs agreement within users, by a p that is corrected for the number of judges (the best of several was chosen), and more
    than a control that reads nothing has.
    """
    judges = table[~table["judge"].isin((*CONTROLS, PEOPLE))]
    best = judges.iloc[0]
    people = table[table["judge"] == PEOPLE]["pearson"].squeeze() if PEOPLE in set(table["judge"]) else np.nan
    reached = f"it agrees with people at r = {_cell(best, 'pearson')}"
    if best["users"] < FEWEST_USERS:
        many = "no column says who rated" if best["users"] == 1 else f"{best['users']} users rated"
        return (
            f"Whether {best['judge']} is usable is not known: {many}, and labels of one person depend on each other, so there is no "
            f"interval below {FEWEST_USERS} users (--user COLUMN); {reached}."
        )
    above = (
        f"a gain of {_cell(best, 'gain')} over {best['control']}"
        if pd.notna(best["gain"])
        else "no control has a value"
    )
    within = f"r within users = {_cell(best, 'wc_pearson')}"
    is_ahead = best["gain_low"] > 0
    if not (best["wc_pearson_p_holm"] < SURE and best["wc_pearson"] > 0):
        state = "not usable" if best["gain_high"] < 0 or best["pearson_high"] < 0.1 else "not shown to be usable"
        level = "; what it knows may be the users' levels alone" if is_ahead else ""
        return f"{best['judge']} is {state}: {reached}, {above}, but within users it is not shown to agree ({within}){level}."
    if not is_ahead:
        state = "not usable" if best["gain_high"] < 0 else "not shown to be usable"
        return f"{best['judge']} is {state}: {reached}, and {above} is not shown to be more than what reads no reply has ({within})."
    doubts = []
    if best["worse_low"] > CHANCE_WORSE and best["worse"] >= MANY:
        doubts.append(f"for {best['worse']:.0%} of users their own mean is closer")
    if np.isfinite(people) and best["pearson_high"] < people:
        doubts.append(f"people agree with each other at r = {format_number(people, 2)}")
    if best["drift_low"] > 0 or best["drift_high"] < 0:
        doubts.append(f"it drifts by {_cell(best, 'drift')} points")
    if doubts:
        return f"{best['judge']} is usable with care: {reached}, {within}, {above}, but {'; '.join(doubts)}."
    return f"{best['judge']} is usable: {reached}, {within}, {above}."


def describe_needed(name: str, units: int, estimate: pd.Series, column: str, of: str) -> str:
    """Return how many users (or other clusters) would tell whether an estimate is zero, as a range; "" where that is settled or too few say."""
    value, low, high = estimate[name_bounds(column)].astype(float)
    if units < FEW_TO_FORETELL or count_to_settle(units, value, low, high) is None:
        return ""
    off = (high - low) / (2 * 1.96)
    least = max(units + 1, count_to_settle(units, abs(value) + off, value - 2 * off, value + 2 * off) or 0)
    most = count_to_settle(units, abs(value) - off, value - 2 * off, value + 2 * off) if abs(value) > off else None
    several = f"between {least:,} and {most:,}" if most else f"{least:,} or many more"
    return f"open: {name}; {several} {of} like these {units:,} would tell"


def describe_people(given: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return how far people agree among themselves."""
    wide = given.pivot(index="item", columns="user", values="label")
    twice = int((wide.notna().sum(axis=1) > 1).sum())
    if not twice:
        return [
            "people: no item has two labels, so how far people agree is not known, and neither is how far a judge could"
        ]
    numbers = wide.apply(lambda column: pd.to_numeric(column, errors="coerce"))
    is_numbers = numbers.notna().equals(wide.notna())
    level: Level
    labels, level = (numbers if is_numbers else wide), "interval" if is_numbers else "nominal"
    draw = np.random.default_rng(SEED)
    several = labels[labels.notna().sum(axis=1) > 1]
    drawn = [
        krippendorff(several.iloc[draw.integers(len(several), size=len(several))].reset_index(drop=True), level)
        for _ in range(ALPHA_DRAWS)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975]) if twice >= FEWEST else (np.nan, np.nan)
    alpha = pd.Series({"alpha": krippendorff(labels, level), "alpha_low": low, "alpha_high": high})
    row = table[table["judge"] == PEOPLE]
    reached = f", and each agrees with the others' mean at r = {_cell(row.iloc[0], 'pearson')}" if len(row) else ""
    return [
        f"people: {twice} items have two labels or more; Krippendorff's α = {_cell(alpha, 'alpha')} over items{reached}"
    ]


def describe_open(table: pd.DataFrame) -> list[str]:
    """Return how many users would settle what is open."""
    judges = table[~table["judge"].isin((*CONTROLS, PEOPLE))]
    notes = [
        describe_needed(f"whether {row['judge']} and {row['control']} differ", row["users"], row, "gain", "users")
        for _, row in judges.iterrows()
    ]
    if table["users"].max() < FEWEST_USERS:
        notes.append("intervals: from ten users on; labels of one person depend on each other")
    return [note for note in notes if note]


def show_table(agreement: Agreement) -> pd.DataFrame:
    """Return the table as people read it, columns without a value left out."""
    table = agreement.table
    columns = {"judge": table["judge"], "users": table["users"], "items": table["items"]}
    digits = {
        "pearson": "r",
        "wc_pearson": "r within users",
        "spearman": "ρ",
        "accuracy": "share right",
        "kappa": "κ",
        "qwk": "weighted κ",
        "auc": "AUROC",
        "mae": "mean error",
    }
    digits |= {"gain": "gain in r", "gain_p_holm": "p (Holm)", "worse": "own mean closer for", "drift": "drift"}
    columns |= {
        head: table[name].map(write_p) if name == "gain_p_holm" else table.apply(_cell, axis=1, name=name)
        for name, head in digits.items()
        if table[name].notna().any()
    }
    if table["stands_in"].notna().any():
        columns["stands in for"] = [
            "–" if np.isnan(share) else f"{round(share * among)} of {among} annotators"
            for share, among in zip(table["stands_in"], table["annotators"])
        ]
    return pd.DataFrame(columns)


def find_below(agreement: Agreement, metric: str, bound: float) -> list[str]:
    """Return the judges whose value of a metric is not as good as a bound; of errors, those above it."""
    judges = agreement.table[~agreement.table["judge"].isin((*CONTROLS, PEOPLE))]
    sign = -1 if metric in LOWER_IS_BETTER else 1
    return judges[~(sign * judges[metric] >= sign * bound)]["judge"].tolist()
