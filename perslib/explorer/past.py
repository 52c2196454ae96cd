"""A user's past in HTML: scores over time and by scenario against everybody's, past turns by score, a turn cited.

Colour never says anything alone: every mark has its number beside it or in its title, which screen readers speak.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import SESSION, TURN, Corpus
from perslib.explorer.looking import Looking
from perslib.explorer.parts import div
from perslib.report.show import escape, fold_html, reply_html, score_chip, text_html
from perslib.report.style import ACCENT, FAINT, RULE, SCORES
from perslib.report.words import beginning, name_of
from perslib.text import translate

#: Of the drawing of scores over time.
WIDTH, HEIGHT, LEFT, TOP = 620, 150, 26, 10


def rated_turns(looking: Looking) -> pd.DataFrame:
    """The user's rated turns that may be seen, in the order of time: of the target scenario only once gold is shown."""
    turns = _turns_of(looking.corpus, looking.user)
    shown = turns["key"].map(lambda key: looking.journal.has("gold", key))
    seen = (turns["scenario"] != looking.scenario) | shown
    return turns[turns["score"].notna() & seen].sort_values("started_at", kind="stable", ignore_index=True)


@cache
def _turns_of(corpus: Corpus, user: str) -> pd.DataFrame:
    sessions = corpus.sessions.loc[corpus.sessions["user"] == user, [*SESSION, "started_at"]]
    turns = corpus.turns[corpus.turns["user"] == user].merge(sessions, on=SESSION, how="left")
    return turns.assign(key=list(turns[TURN].itertuples(index=False, name=None)))


@cache
def population(corpus: Corpus) -> tuple[float, pd.DataFrame]:
    """Everybody's mean score, and per scenario the mean and the middle half of the users' means."""
    rated = corpus.turns[corpus.turns["score"].notna()]
    scores = rated["score"].astype(float)
    of_users = scores.groupby([rated["scenario"], rated["user"]], sort=False).mean()
    of_scenario = of_users.groupby(level=0, sort=False)
    levels = pd.DataFrame(
        {
            "mean": scores.groupby(rated["scenario"], sort=False).mean(),
            "low": of_scenario.quantile(0.25),
            "high": of_scenario.quantile(0.75),
        }
    )
    return float(scores.mean()) if len(scores) else float("nan"), levels


def over_time_html(looking: Looking) -> str:
    """The user's scores, reply by reply."""
    rated = rated_turns(looking)
    if rated.empty:
        return _no_rated_past()
    titles = [
        f"{name_of(s)} {session}/{turn}: {score}"
        for s, session, turn, score in rated[["scenario", "session", "turn", "score"]].itertuples(index=False)
    ]
    conversation = rated["scenario"] + "/" + rated["session"]
    starts = np.flatnonzero(conversation.ne(conversation.shift()))
    everybody, _ = population(looking.corpus)
    scores = rated["score"].astype(float)
    said = translate(
        "{n} rated replies in order of time; this user's mean {mean:.2f}, mean of all users {everybody:.2f} "
        "(dashed). Lines: a new conversation.",
        n=len(rated),
        mean=scores.mean(),
        everybody=everybody,
    )
    return over_time_svg(list(scores), titles, list(starts), everybody, said) + div("caption", said)


def over_time_svg(
    scores: Sequence[float], titles: Sequence[str], starts: Sequence[int], mean: float, label: str
) -> str:
    """A dot a rated reply in the order of time; a line where a conversation begins, dashes at the population's mean."""
    n = max(len(scores), 1)
    step = (WIDTH - LEFT - 12) / n

    def x(i: float) -> float:
        return LEFT + (i + 0.5) * step

    def y(score: float) -> float:
        return TOP + (5 - score) * (HEIGHT - 2 * TOP) / 4

    rules = [
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(s):.1f}" y2="{y(s):.1f}" stroke="{RULE}" stroke-width="1"/>'
        f'<text x="{LEFT - 12}" y="{y(s) + 4:.1f}" fill="{FAINT}" font-size="11">{s}</text>'
        for s in range(1, 6)
    ]
    begins = [
        f'<line x1="{x(i - 0.5):.1f}" x2="{x(i - 0.5):.1f}" y1="{TOP}" y2="{HEIGHT - TOP}" stroke="{RULE}"/>'
        for i in starts[1:]
    ]
    usual = f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(mean):.1f}" y2="{y(mean):.1f}" stroke="{ACCENT}" stroke-dasharray="5 4"/>'
    size = min(5.0, max(2.5, step / 2.2))
    dots = [
        f'<circle cx="{x(i):.1f}" cy="{y(s):.1f}" r="{size:.1f}" fill="{SCORES[int(s)]}" stroke="#fff">'
        f"<title>{escape(title)}</title></circle>"
        for i, (s, title) in enumerate(zip(scores, titles))
    ]
    return (
        f'<svg class="pl-svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        + "".join([*rules, *begins, usual, *dots])
        + "</svg>"
    )


def by_scenario_html(looking: Looking) -> str:
    """The user's mean in each scenario as a mark; everybody's as a line, the middle half of the users as a band."""
    rated, (_, levels) = rated_turns(looking), population(looking.corpus)
    own = rated["score"].astype(float).groupby(rated["scenario"]).agg(["mean", "size"])
    rows = []
    for scenario in looking.scenarios[looking.user]:
        if scenario not in levels.index:
            continue
        mean, low, high = levels.loc[scenario, ["mean", "low", "high"]]
        band = f"left:{_place(low)};width:calc({_place(high)} - {_place(low)})"
        mark, said = "", escape(translate("hidden: target scenario"))
        if scenario in own.index:
            score, turns = own.loc[scenario]
            mark = f'<span class="pl-lv-own" style="left:{_place(score)}"></span>'
            said = f"<b>{score:.2f}</b> · {mean:.2f} · {escape(translate('{n} replies', n=int(turns)))}"
        rows.append(
            f'<div class="pl-lv-name">{escape(name_of(scenario))}</div>'
            f'<div class="pl-lv-bar"><span class="pl-lv-band" style="{band}"></span>'
            f'<span class="pl-lv-mean" style="left:{_place(mean)}"></span>{mark}</div>'
            f'<div class="pl-lv-said">{said}</div>'
        )
    if not rows:
        return ""
    said = translate("Mark: this user's mean. Line and band: mean of all users, and the middle half of them.")
    return f'<div class="pl-levels">{"".join(rows)}</div>' + div("caption", said)


def _place(score: float) -> str:
    return f"{(min(max(score, 1), 5) - 1) / 4 * 100:.1f}%"


def past_html(looking: Looking, wanted: str = "") -> str:
    """Past turns grouped by score, the best first; with words to search for, the turns that hold all of them."""
    rated, searched = rated_turns(looking), bool(wanted.strip())
    found = rated[_holds(rated, wanted)] if searched else rated
    if found.empty:
        return div("empty", translate("No turn contains these words.")) if searched else _no_rated_past()
    parts = []
    for score, group in sorted(found.groupby("score"), reverse=True):
        head = f"{score_chip(score)} {translate('{n} replies', n=len(group))}"
        parts.append(
            fold_html(head, "".join(map(turn_html, group.to_dict("records"))), "pl-group", opened=searched)
        )
    return "".join(parts)


def _no_rated_past() -> str:
    return div("empty", translate("No rated reply can be shown."))


def _holds(turns: pd.DataFrame, wanted: str) -> pd.Series:
    """Which turns hold all the words, in request, reply, reason or scenario, in capitals or not."""
    read = turns[["request", "response", "reason", "scenario"]].fillna("")
    shown = read.agg(" ".join, axis=1).str.casefold()
    holds = [shown.str.contains(w, regex=False) for w in wanted.casefold().split()]
    return pd.Series(np.logical_and.reduce(holds), turns.index)


def turn_html(turn: Mapping[Any, Any]) -> str:
    """One rated turn: score, reason and how the request begins; opened, request and reply as they were said."""
    asked, reason = (turn[c] if isinstance(turn[c], str) else "" for c in ("request", "reason"))
    score = float("nan") if pd.isna(turn["score"]) else float(turn["score"])
    marks = [name_of(str(turn["scenario"])), f"{turn['session']}/{turn['turn']}", name_of(reason)]
    place = f'<span class="pl-small">{escape(" · ".join(filter(None, marks)))}</span>'
    head = f"{score_chip(score)} {place} {escape(beginning(asked) if asked else '–')}"
    said = [("user", asked, text_html), ("assistant", str(turn["response"]), reply_html)]
    body = "".join(f'<div class="pl-message pl-{who}">{html(text)}</div>' for who, text, html in said if text)
    return fold_html(head, f'<div class="pl-conversation">{body}</div>', "pl-turn")


def cited_turns(looking: Looking, ids: Iterable[str]) -> str:
    """The turns of these ids, each to be opened; one that is not among the evidence is named."""
    known = looking.evidence
    return "".join(turn_html(known[id]) if id in known else nowhere(id) for id in ids)


def nowhere(name: str) -> str:
    """Say that what was cited is not there."""
    return div("nowhere", translate("{name} does not occur in what the judge was shown", name=name))
