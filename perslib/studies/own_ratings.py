"""What a person's own ratings add to any judge's scores: those of this conversation so far, and those of other scenarios.

A protocol of its own, for products that ask for a rating now and then: a reply is judged with the earlier ratings of its
conversation at hand. The published protocol has none of these, so its numbers stand elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN, Corpus
from perslib.errors import NotEnough
from perslib.report.show.claims import Estimate, choose
from perslib.report.show.tables import format_number
from perslib.stats import Resamples, agreement, with_gold
from perslib.stats.calibrate.of_person import (
    IMAGINARY,
    TRIED,
    calibrate_by_person,
    correct_so_far,
    fit_person_prior,
    fit_so_far,
)
from perslib.stats.resample.leave_one_out import name_bounds

METRICS = ("pearson", "mae")
#: Where the numbers of earlier ratings are cut.
RATINGS = {"0": 0, "1": 1, "2": 2, "3–5": 3, "6 or more": 6}


def judge_so_far(
    verdicts: pd.DataFrame, corpus: Corpus, judges: Sequence[str], held_out: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the verdicts of these judges on rated replies, with `gold`, `so_far` and `ratings_so_far`.

    `held_out` are a judge's verdicts on train users; they say how far the ratings of a conversation are to be trusted.
    """
    imaginary = IMAGINARY[0]
    if held_out is not None:
        imaginary = fit_so_far(held_out[[*TURN, "raw"]].assign(judge="held out"), corpus)
    own = verdicts[verdicts["judge"].isin(judges)].dropna(subset="real").reset_index(drop=True)
    own = own.assign(
        **correct_so_far(own, corpus, imaginary=imaginary), gold=with_gold(own, corpus, ["real"])["gold"]
    ).dropna(subset="gold")
    if not (own["ratings_so_far"] > 0).any():
        raise NotEnough("No conversation has a rated reply with a rated one before it.")
    return own


def compare_so_far(live: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Compare each judge with itself once it knows the ratings so far; all rated replies, and those with a rating before them.

    Columns: judge, replies (all rated, rated before), metric, as_judged, live, gain with bounds and p, turns, users.
    """
    parts = []
    for judge, own in live.groupby("judge", sort=False):
        for replies, rows in (("all rated", own), ("rated before", own[own["ratings_so_far"] > 0])):
            both = pd.concat([rows.assign(score=rows["real"]), rows.assign(score=rows["so_far"], judge="live")])
            table = agreement(both, corpus, scores=["score"], metrics=METRICS, controls=[str(judge)])
            mine = table[table["judge"] == "live"].rename(columns={"value": "live"})
            before = table.loc[table["judge"] == judge, ["metric", "value"]].rename(columns={"value": "as_judged"})
            mine = mine.merge(before, on="metric")
            parts.append(mine.assign(judge=judge, replies=replies))
    columns = ["judge", "replies", "metric", "as_judged", "live", *name_bounds("gain", p=True), "turns", "users"]
    return pd.concat(parts, ignore_index=True)[columns]


def describe_so_far(compared: pd.DataFrame, judge: str) -> tuple[str, dict[str, Any]]:
    """Return the wording and the numbers of what the ratings so far add to a judge's r."""
    rows = compared[(compared["judge"] == judge) & (compared["replies"] == "all rated")].set_index("metric")
    r, error = rows.loc["pearson"], rows.loc["mae"]
    gain = Estimate.of(r, "gain").between(r["live"], r["as_judged"])
    return choose(
        gain,
        above="**Live: with the ratings that the user has given in the same conversation so far**, r rises from {before} to {after}, by {gain}; "
        "the mean error is {error} instead of {error_before}.",
        open="Live: with the ratings that the user has given in the same conversation so far, r is {after} instead of {before}, a difference "
        "of {gain}.",
        unknown="Live: with the ratings that the user has given in the same conversation so far, r is {after} instead of {before}. Intervals "
        "need ten users.",
    ), {
        "before": format_number(r["as_judged"]),
        "after": format_number(r["live"]),
        "gain": gain,
        "error_before": format_number(error["as_judged"]),
        "error": format_number(error["live"]),
    }


def count_so_far(live: pd.DataFrame) -> pd.DataFrame:
    """Return by how many points scores miss labels, as judged and live, by the number of earlier ratings.

    Columns: judge, ratings, turns, users, missed_by, missed_by_live, mended (the first less the second) with bounds.
    """
    starts = list(RATINGS.values())
    group = pd.cut(live["ratings_so_far"], [*starts, np.inf], right=False, labels=list(RATINGS))
    rows = []
    for (judge, ratings), own in live.groupby(["judge", group], sort=False, observed=True):
        before, after = ((own[name].astype(float) - own["gold"].astype(float)).abs() for name in ("real", "so_far"))
        users = Resamples(own["user"])
        about = {"judge": judge, "ratings": ratings, "turns": len(own), "users": own["user"].nunique()}
        about |= {"missed_by": before.mean(), "missed_by_live": after.mean()}
        rows.append(about | users.estimate(users.mean(before - after), "mended"))
    return pd.DataFrame(rows).sort_values("ratings", key=pd.Index(RATINGS).get_indexer, kind="stable")


def trace_own_ratings(verdicts: pd.DataFrame, taught: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the agreement of each judge whose scores are mapped by the user's own ratings of other scenarios, by how many are known.

    `taught` are the same judges' held-out verdicts on train users. Columns: judge, ratings (0: everybody's map), metric, value
    with bounds, gain over 0 with bounds and p, turns, users.
    """
    parts = []
    for judge, own in verdicts.dropna(subset="real").groupby("judge", sort=False):
        prior = fit_person_prior(taught[taught["judge"] == judge], "real")
        of_count = [
            own.assign(judge=str(count), mapped=calibrate_by_person(own, corpus, prior, most=count)) for count in TRIED
        ]
        table = agreement(pd.concat(of_count), corpus, scores=["mapped"], metrics=METRICS, controls=["0"])
        parts.append(table.rename(columns={"judge": "ratings"}).assign(judge=judge))
    columns = ["judge", "ratings", "metric", *name_bounds("value"), *name_bounds("gain", p=True), "turns", "users"]
    return pd.concat(parts, ignore_index=True)[columns]
