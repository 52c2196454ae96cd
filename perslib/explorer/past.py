"""A user's past in HTML: scores over time and by scenario against everybody's, past turns by score, a turn cited."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.explorer.drawing import Level, levels_html, over_time_svg
from perslib.explorer.looking import Looking
from perslib.explorer.words import say
from perslib.report.show import escape, fold_html, score_chip, text_html
from perslib.report.words import name_of
from perslib.studies.rationale_cases import beginning


def rated_turns(looking: Looking) -> pd.DataFrame:
    """The user's rated turns that may be seen, in the order of time: of the target scenario only once gold is shown."""
    turns = _turns_of(looking.corpus, looking.user)
    seen = (turns["scenario"] != looking.scenario) | turns["key"].map(
        lambda key: looking.journal.has("gold", key)
    )
    return turns[turns["score"].notna() & seen].sort_values("started_at", kind="stable", ignore_index=True)


@cache
def _turns_of(corpus: Corpus, user: str) -> pd.DataFrame:
    sessions = corpus.sessions[corpus.sessions["user"] == user]
    turns = corpus.turns[corpus.turns["user"] == user].merge(
        sessions[[*SESSION, "started_at"]], on=SESSION, how="left"
    )
    return turns.assign(key=list(turns[TURN].itertuples(index=False, name=None)))


@cache
def population(corpus: Corpus) -> tuple[float, pd.DataFrame]:
    """Everybody's mean score, and per scenario the mean and the middle half of the users' means."""
    rated = corpus.turns[corpus.turns["score"].notna()]
    scores = rated["score"].astype(float)
    of_users = scores.groupby([rated["scenario"], rated["user"]], sort=False).mean()
    spread = of_users.groupby(level=0, sort=False).quantile([0.25, 0.75]).unstack()
    levels = pd.DataFrame(
        {
            "mean": scores.groupby(rated["scenario"], sort=False).mean(),
            "low": spread[0.25],
            "high": spread[0.75],
        }
    )
    return float(scores.mean()) if len(scores) else float("nan"), levels


def over_time_html(looking: Looking) -> str:
    """The user's scores, reply by reply."""
    rated, language = rated_turns(looking), looking.language
    if rated.empty:
        return _empty(say("no_rated_past", language))
    titles = [
        f"{name_of(s, language)} {session}/{turn}: {score}"
        for s, session, turn, score in zip(rated["scenario"], rated["session"], rated["turn"], rated["score"])
    ]
    conversation = rated["scenario"] + "/" + rated["session"]
    starts = np.flatnonzero(conversation.ne(conversation.shift()))
    everybody, _ = population(looking.corpus)
    scores = rated["score"].astype(float)
    said = say("over_time", language, n=len(rated), mean=f"{scores.mean():.2f}", everybody=f"{everybody:.2f}")
    svg = over_time_svg(list(scores), titles, list(starts), everybody, said)
    return f'{svg}<div class="pl-caption">{said}</div>'


def by_scenario_html(looking: Looking) -> str:
    """The user's mean in each scenario beside everybody's."""
    rated, (_, levels), language = rated_turns(looking), population(looking.corpus), looking.language
    own = rated["score"].astype(float).groupby(rated["scenario"]).agg(["mean", "size"])
    drawn = [
        Level(
            name_of(s, language),
            float(own.at[s, "mean"]) if s in own.index else None,
            int(own.at[s, "size"]) if s in own.index else 0,
            *map(float, levels.loc[s, ["mean", "low", "high"]]),
        )
        for s in looking.corpus.scenarios
        if s in levels.index and s in looking.scenarios_of(looking.user)
    ]
    if not drawn:
        return ""
    text = levels_html(drawn, say("score_hidden", language), say("of_turns", language))
    return f'{text}<div class="pl-caption">{say("by_scenario", language)}</div>'


def past_html(looking: Looking, wanted: str = "") -> str:
    """Past turns grouped by score, the best first; with words to search for, the turns that hold all of them."""
    language = looking.language
    rated = rated_turns(looking)
    found = rated[_holds(rated, wanted)] if wanted.strip() else rated
    if found.empty:
        return _empty(say("nothing_found" if wanted.strip() else "no_rated_past", language))
    parts = []
    for score in range(5, 0, -1):
        group = found[found["score"] == score]
        if group.empty:
            continue
        turns = "".join(turn_html(row, language) for row in group.to_dict("records"))
        head = f"{score_chip(score)} {say('n_turns', language, n=len(group))}"
        parts.append(fold_html(head, turns, "pl-group", opened=bool(wanted.strip())))
    return "".join(parts)


def _holds(turns: pd.DataFrame, wanted: str) -> pd.Series:
    """Which turns hold all the words, in request, reply, reason or scenario, in capitals or not."""
    shown = (
        turns[["request", "response", "reason", "scenario"]].fillna("").agg(" ".join, axis=1).str.casefold()
    )
    return pd.Series(
        np.logical_and.reduce([shown.str.contains(w, regex=False) for w in wanted.casefold().split()]),
        turns.index,
    )


def turn_html(turn: dict[Any, Any], language: str) -> str:
    """One rated turn: score, reason and how the request begins; opened, request and reply as they were said."""
    score = turn["score"]
    reason = turn["reason"] if isinstance(turn["reason"], str) else ""
    marks = [
        name_of(str(turn["scenario"]), language),
        f"{turn['session']}/{turn['turn']}",
        name_of(reason, language),
    ]
    asked = str(turn["request"]) if isinstance(turn["request"], str) else ""
    head = (
        f"{score_chip(float('nan') if pd.isna(score) else float(score))} "
        f'<span class="pl-small">{escape(" · ".join(m for m in marks if m))}</span> {escape(beginning(asked) if asked else "–")}'
    )
    body = "".join(
        f'<div class="pl-message pl-{who}">{text_html(text)}</div>'
        for who, text in (("user", asked), ("assistant", str(turn["response"])))
        if text
    )
    return fold_html(head, f'<div class="pl-conversation">{body}</div>', "pl-turn")


def cited_turns(looking: Looking, ids: Iterable[str]) -> str:
    """The turns of these ids, each to be opened; one that is not among the evidence is named."""
    known, language = looking.evidence, looking.language
    return "".join(
        turn_html(known[name], language)
        if name in known
        else f'<div class="pl-nowhere">{escape(name)}: {looking.say("from_nowhere")}</div>'
        for name in ids
    )


def _empty(said: str) -> str:
    return f'<p class="pl-empty">{escape(said)}</p>'
