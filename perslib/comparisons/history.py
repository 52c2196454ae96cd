"""What a user's own ratings of other items add to a judge's scores: nothing, one, two, five, ten, twenty of them.

    traced = trace_history(found.verdicts, corpus)      rows of judge × ratings
    describe_history(traced)                            a sentence a judge

Each judge's scores are mapped by the user's own line (`perslib.stats.calibrate.of_person`); how lines differ between users is learned
from the other users, a part of them at a time. With 0 ratings everybody has the mean line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

import numpy as np
import pandas as pd

from perslib.comparisons.words import SURE
from perslib.corpus import Corpus
from perslib.errors import NotEnough
from perslib.report.show.claims import Estimate
from perslib.report.show.tables import format_number, show_estimate, write_p
from perslib.stats import FEWEST_USERS, Resamples, holm
from perslib.stats.calibrate.of_person import TRIED, calibrate_by_person, fit_person_prior
from perslib.stats.resample.leave_one_out import name_bounds

#: Beside so many of the user's ratings: all that stand before the item in the file.
EARLIER, FOLDS = "earlier", 5


def trace_history(verdicts: pd.DataFrame, corpus: Corpus, clusters: Mapping[str, object] | None = None) -> pd.DataFrame:
    """Return by how many points each judge misses people's labels, by the number of the user's other ratings that are known.

    Intervals are over users, or over `clusters` of them; no cluster teaches the lines of its own users.
    Columns: judge, ratings, users, items, missed_by, pearson, mended (points less than with 0 ratings) with bounds, p and p_holm (over
    judges).
    """
    rows = []
    for judge, own in verdicts.groupby("judge", sort=False):
        own = own.dropna(subset=["raw", "gold"]).reset_index(drop=True).assign(backbone=None)
        groups = own["user"].map(clusters) if clusters else own["user"]
        if groups.nunique() < FEWEST_USERS:
            raise NotEnough(
                "{users} users, or panels of users, rated what {judge} judged; what a user's own ratings add is learned from ten or more.",
                users=groups.nunique(),
                judge=judge,
            )
        users, scores = Resamples(groups), map_apart(own, groups, corpus)
        before = np.abs(scores["0"] - own["gold"].to_numpy(float))
        for ratings, mapped in scores.items():
            missed = np.abs(mapped - own["gold"].to_numpy(float))
            row = {"judge": judge, "ratings": ratings, "users": own["user"].nunique(), "items": len(own)}
            row |= {
                "missed_by": missed.mean(),
                "pearson": np.corrcoef(mapped, own["gold"])[0, 1] if mapped.std() else np.nan,
            }
            rows.append(row | users.estimate(users.mean(before - missed), "mended", p=True))
    table = pd.DataFrame(rows)
    table.loc[table["ratings"] == "0", [*name_bounds("mended", p=True)]] = np.nan
    table["mended_p_holm"] = table.groupby("ratings")["mended_p"].transform(lambda p: holm(p.to_numpy(float)))
    return table


def map_apart(own: pd.DataFrame, groups: pd.Series, corpus: Corpus) -> dict[str, np.ndarray]:
    """Return by number of ratings each score by the user's line, whose prior none of the user's own ratings taught."""
    places = pd.factorize(groups, sort=True)[0]
    mapped = {str(ratings): np.full(len(own), np.nan) for ratings in (*TRIED, EARLIER)}
    for part in range(FOLDS):
        is_here = places % FOLDS == part
        prior = fit_person_prior(own[~is_here])
        for ratings, scores in mapped.items():
            most, evidence = (None, EARLIER) if ratings == EARLIER else (int(ratings), None)
            scores[is_here] = calibrate_by_person(
                own[is_here], corpus, prior, "raw", most=most, of_other="session", evidence=evidence
            )
    return mapped


def describe_history(traced: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence a judge: the fewest ratings that are shown to help.

    The most ratings are tested first, then fewer as long as these help, so no correction for their number is needed.
    """
    for judge, own in traced.groupby("judge", sort=False):
        rows = own.set_index("ratings")
        helps = (rows["mended_low"] > 0) & (rows["mended_p_holm"] < SURE)
        most_first = [str(ratings) for ratings in reversed(TRIED)]
        shown = [*takewhile(helps.get, most_first)]
        least = rows.loc["0", "missed_by"]
        if not shown:
            yield (
                f"{judge}: {TRIED[-1]} ratings of the user's own are not shown to bring its scores nearer to people's "
                f"(they miss by {format_number(least)} points without any)."
            )
            continue
        first = rows.loc[shown[-1]]
        mended = Estimate.of(first, "mended").between(least, first["missed_by"])
        yield (
            f"{judge}: with {shown[-1]} of the user's other ratings its scores miss people's by {format_number(first['missed_by'])} "
            f"points, {mended} less than the {format_number(least)} without any."
        )


def show_history(traced: pd.DataFrame) -> pd.DataFrame:
    """Return the table as people read it."""
    shown = {
        "judge": traced["judge"],
        "own ratings known": traced["ratings"],
        "users": traced["users"],
        "items": traced["items"],
    }
    shown |= {"mean error": traced["missed_by"].map(format_number), "r": traced["pearson"].map(format_number)}
    shown["less than with 0"] = traced.apply(show_estimate, axis=1, name="mended").astype(str)
    return pd.DataFrame(shown | {"p (Holm)": traced["mended_p_holm"].map(write_p)})
