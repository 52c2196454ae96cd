"""Which turns a replay page is about: drawn by lot, selected as published, or both sets side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from perslib.corpus import TURN, Corpus, coerce
from perslib.errors import DataError, Problem, UnknownName
from perslib.replay import hard_set, rank_sets, stratified_set, summary

if TYPE_CHECKING:
    from perslib.studies.replay import Replay

#: How turns may be selected, by the name that parameters use; "both" replays the turns of the two sets.
SELECTIONS = ("stratified", "hard", "both")


def selected(corpus: Corpus, selection: str, size: int, seed: int = 42) -> dict[str, pd.DataFrame]:
    """The replay sets of so many turns that a parameter names; of both, the one drawn by lot comes first."""
    check_selection(selection)
    names = ("stratified", "hard") if selection == "both" else (selection,)
    found = {
        name: hard_set(corpus, size) if name == "hard" else stratified_set(corpus, size, seed=seed)
        for name in names
    }
    if "hard" in found and found["hard"].empty:
        raise DataError(
            Problem(corpus.name, "the published selection is empty: it takes none but rated later turns"),
            "Replay turns drawn by lot, with selection='stratified'.",
        )
    return found


def check_selection(selection: str) -> None:
    """An error for a name that is none of `SELECTIONS`."""
    if selection not in SELECTIONS:
        raise UnknownName("selection of turns", selection, SELECTIONS)


def united(sets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every turn of these sets once: a replay set without probabilities, unless it is one set alone."""
    if len(sets) == 1:
        return next(iter(sets.values()))
    return coerce(pd.concat([turns[TURN] for turns in sets.values()]).drop_duplicates(), "replay_turns")


def sets(corpus: Corpus, seed: int = 42) -> dict[str, pd.DataFrame]:
    """The fair draw and the published selection; without the latter where users rated nothing to select by."""
    drawn = {"stratified": stratified_set(corpus, seed=seed)}
    if corpus.turns["score"].isna().all():
        return drawn
    hard = hard_set(corpus)
    return drawn | ({"hard": hard} if len(hard) else {})


def chance(turns: pd.DataFrame) -> pd.DataFrame | None:
    """The turns with their probabilities, where the set was drawn by lot."""
    return turns if len(turns) and turns["inclusion"].notna().all() else None


@dataclass(frozen=True)
class Standing:
    """One judge's candidates on one replay set."""

    turns: pd.DataFrame
    replies: pd.DataFrame
    verdicts: pd.DataFrame
    summary: pd.DataFrame
    ranks: pd.DataFrame


def standings(run: Replay, verdicts: pd.DataFrame, seed: int = 42) -> dict[str, Standing]:
    """The judge's candidates on each replay set of a page, all turns of the set counted as they were drawn."""
    found = {}
    for name, turns in run.sets.items():
        replies = run.everywhere.merge(turns[TURN], on=TURN)
        own = verdicts.merge(replies[["candidate", *TURN]], on=["candidate", *TURN])
        means = summary(own, inclusion=chance(turns), seed=seed)
        ranks = rank_sets(own, inclusion=chance(turns), seed=seed)
        found[name] = Standing(turns, replies, own, means, ranks)
    return found


def beside(
    run: Replay, on_each: Mapping[str, Standing], drawn: Mapping[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """The judge's verdicts by replay set: by each that the page replays in full, or where that is one alone, on it and
    on those of its turns that the published selection would take."""
    if len(on_each) > 1:
        return {name: standing.verdicts for name, standing in on_each.items()}
    whole = on_each[run.selection].verdicts
    published = {"hard": whole.merge(drawn["hard"][TURN], on=TURN)} if "hard" in drawn else {}
    return {"replayed": whole, **published}
