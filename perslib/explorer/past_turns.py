"""A user's past: rated replies over time, by scenario beside all users, and by score, to search."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, Corpus
from perslib.explorer.controls import render_macro
from perslib.explorer.explorer_state import ExplorerState, keys_of


def rated_turns(state: ExplorerState) -> pd.DataFrame:
    """Return the user's rated turns that may be seen, in the order of time: of the target scenario only once gold is
    shown.
    """
    turns = _turns_of(state.corpus, state.user)
    shown = turns["key"].map(lambda key: state.journal.has("gold", key))
    seen = (turns["scenario"] != state.scenario) | shown
    return turns[turns["score"].notna() & seen].sort_values("started_at", kind="stable", ignore_index=True)


@cache
def _turns_of(corpus: Corpus, user: str) -> pd.DataFrame:
    sessions = corpus.sessions.loc[corpus.sessions["user"] == user, [*SESSION, "started_at"]]
    turns = corpus.turns[corpus.turns["user"] == user].merge(sessions, on=SESSION, how="left")
    return turns.assign(key=keys_of(turns))


@cache
def population(corpus: Corpus) -> tuple[float, pd.DataFrame]:
    """Return everybody's mean score, and per scenario the mean and the middle half of the users' means."""
    rated = corpus.turns[corpus.turns["score"].notna()].astype({"score": float})
    by_scenario = rated.groupby("scenario", sort=False)["score"]
    of_users = rated.groupby(["scenario", "user"], sort=False)["score"].mean().groupby("scenario", sort=False)
    levels = {"mean": by_scenario.mean(), "low": of_users.quantile(0.25), "high": of_users.quantile(0.75)}
    return float(rated["score"].mean()), pd.DataFrame(levels)


def over_time_html(state: ExplorerState) -> str:
    """Return the user's scores, reply by reply."""
    rated = rated_turns(state)
    if rated.empty:
        return render_macro("past", groups=[], searched=False)
    conversation = rated["scenario"] + "/" + rated["session"]
    replies = rated.assign(place=range(len(rated)), begins=conversation.ne(conversation.shift()))
    mean, (everybody, _) = float(rated["score"].mean()), population(state.corpus)
    return render_macro("course", replies=replies.to_dict("records"), mean=mean, everybody=everybody)


def by_scenario_html(state: ExplorerState) -> str:
    """Return the user's mean in each scenario, beside the mean of all users and the middle half of them."""
    own = rated_turns(state).astype({"score": float}).groupby("scenario")["score"].agg(["mean", "size"])
    _, levels = population(state.corpus)
    levels = levels.assign(own=own["mean"], turns=own["size"]).fillna({"turns": 0})
    rows = levels.reindex([s for s in state.scenarios[state.user] if s in levels.index])
    return (
        render_macro("levels", rows=rows.rename_axis("scenario").reset_index().to_dict("records")) if len(rows) else ""
    )


def past_html(state: ExplorerState, wanted: str = "") -> str:
    """Return past turns grouped by score, the best first; with words to search for, the turns that hold all of them."""
    rows, searched = rated_turns(state), bool(wanted.strip())
    if searched:
        read = rows[["request", "response", "reason", "scenario"]].fillna("")
        shown = read.agg(" ".join, axis=1).str.casefold()
        holds = [shown.str.contains(word, regex=False) for word in wanted.casefold().split()]
        rows = rows[np.logical_and.reduce(holds)]
    groups = [(s, own.to_dict("records")) for s, own in sorted(rows.groupby("score"), reverse=True)]
    return render_macro("past", groups=groups, searched=searched)
