"""Why candidates differ: what the learned judge's scores of their replies are made of, and for whom the order turns round.

    traced = trace_candidates(judge, corpus, replies)
    compare_groups(traced, first)                     by which groups of traits the first is above each of the others
    list_largest_gaps(by_group)                       the largest of these in words, one a candidate
    find_turned_round(traced, first, judge, corpus)   users for whom another is better, and what they like

These are the judge's own scores, before any calibration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from perslib.corpus import Corpus
from perslib.judge import LearnedJudge, Preferences
from perslib.judge.learned.explanation import GROUPS
from perslib.llm import compute
from perslib.memory.preferences import LEVEL
from perslib.prompts import read_phrases
from perslib.replay.replies import blocks_of
from perslib.report.show.tables import format_as_interval, format_table
from perslib.report.show.words import name_of
from perslib.stats import Resamples
from perslib.stats.resample.leave_one_out import name_bounds
from perslib.text import current_language, translate

#: So many groups of traits of a pair of candidates are shown, users, and statements of a user.
GROUPS_SHOWN, USERS_SHOWN, STATEMENTS = 3, 8, 2
EVERYBODY, OWN = "everybody", "own"
#: Two candidates are as good for a user if they differ by less than so many points.
LEAST = 0.01


def trace_candidates(judge: LearnedJudge, corpus: Corpus, replies: pd.DataFrame) -> pd.DataFrame:
    """Return what the scores of each candidate's replies are made of: mean points a reply, by user and group.

    Columns: candidate, user, group, everybody and own (what counts for all, and for this user alone). The judge was taught.
    """
    traced = []
    given = replies[replies["response"].notna() & (replies["response"] != "")].reset_index(drop=True)
    for block, rows in blocks_of(corpus, given):
        own = given.loc[rows]
        written = replace(block, targets=block.targets.assign(response=own["response"].to_numpy()))
        parts = compute(partial(judge.list_parts, written))
        for group, *sides in zip(GROUPS, parts.everybody, parts.own):
            points = dict(zip((EVERYBODY, OWN), (side.sum(axis=1) for side in sides)))
            traced.append(own[["candidate", "user"]].assign(group=group, **points))
    every = pd.concat(traced).groupby(["candidate", "user", "group"], sort=False)[[EVERYBODY, OWN]].mean().reset_index()
    order = {name: place for place, name in enumerate(given["candidate"].unique())}
    return every.sort_values("candidate", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def compare_groups(traced: pd.DataFrame, first: str) -> pd.DataFrame:
    """Return by what the first candidate's scores are above those of each other one, the most telling groups first.

    Columns: candidate (the other one), group, everybody, own, points (both together) with points_low and points_high over
    users, who have equal weight.
    """
    named, rows = read_phrases("groups", current_language()), []
    for other, differences in _less_others(traced, first):
        for group, own in differences.groupby("group", sort=False):
            users = Resamples(own["user"])
            sides = own[[EVERYBODY, OWN]].mean()
            both = users.estimate(users.mean(own[[EVERYBODY, OWN]].sum(axis=1).to_numpy()), "points")
            rows.append({"candidate": other, "group": named[group], **sides, **both})
    table = pd.DataFrame(rows, columns=["candidate", "group", EVERYBODY, OWN, *name_bounds("points")])
    order = table["points"].abs().sort_values(ascending=False, kind="stable").index
    shown = table.loc[order].groupby("candidate", sort=False).head(GROUPS_SHOWN)
    place = {name: i for i, name in enumerate(table["candidate"].unique())}
    return shown.sort_values("candidate", key=lambda names: names.map(place), kind="stable", ignore_index=True)


def list_largest_gaps(by_group: pd.DataFrame) -> list[str]:
    """Return for up to three candidates the group that most sets the first apart from it, where that is above zero."""
    largest = by_group[by_group["points_low"] > 0].drop_duplicates("candidate").head(3)
    points = format_table(largest, points=format_as_interval())["points"]
    return [
        translate("from {candidate} {group} ({points} points)", candidate=name_of(name), group=group, points=own)
        for name, group, own in zip(largest["candidate"], largest["group"], points)
    ]


def find_turned_round(traced: pd.DataFrame, first: str, judge: LearnedJudge, corpus: Corpus) -> pd.DataFrame:
    """Return the users for whom another candidate is better than the first, the clearest first, and what they like.

    Columns: candidate (the other one), user, points (the first's less the other's), own (of these, this user's own), users (for
    how many this candidate is better), statements.
    """
    turned = []
    for other, differences in _less_others(traced, first):
        by_user = differences.groupby("user")[[EVERYBODY, OWN]].sum()
        points = by_user.sum(axis=1)
        better = points[points < -LEAST]
        turned += [(other, user, less, by_user.loc[user, OWN], len(better)) for user, less in better.items()]
    table = pd.DataFrame(turned, columns=["candidate", "user", "points", OWN, "users"])
    table = table.sort_values("points", kind="stable", ignore_index=True)
    statements = {user: _list_statements(str(user), judge, corpus) for user in table["user"].head(USERS_SHOWN).unique()}
    return table.assign(statements=table["user"].map(statements))


def _list_statements(user: str, judge: LearnedJudge, corpus: Corpus) -> str:
    """Return what the judge takes a user to like, but for how strict the user is."""
    ((_, scenario), *_) = corpus.block_ids([user])
    memory = compute(
        partial(Preferences(corpus.language, most=STATEMENTS, judge=judge).build, corpus.block(user, scenario))
    )
    return "; ".join(s.text for s in memory.statements if s.points is not None and s.trait != LEVEL)


def _less_others(traced: pd.DataFrame, first: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each other candidate, and the first's points less that one's, by user and group."""
    by_candidate = {
        name: own.set_index(["user", "group"])[[EVERYBODY, OWN]]
        for name, own in traced.groupby("candidate", sort=False)
    }
    for name, own in by_candidate.items():
        if name != first:
            yield str(name), (by_candidate[first] - own).dropna().reset_index()
