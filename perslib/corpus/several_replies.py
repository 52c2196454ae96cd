"""Several replies to one request, each with its rating, and the one after which the conversation continued.

A row that has a `candidate` (the reply's writer) is one of several: rows of a session with the same request, or the
same `turn`, are replies to one turn. The reply that was `chosen`, otherwise the best rated one, is the turn's reply;
all of them are in the corpus's frame `candidates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from string import ascii_lowercase
from typing import Any, TypeAlias

import pandas as pd

from perslib.corpus.corpus import Corpus
from perslib.corpus.scale import Scale
from perslib.corpus.schema import SCHEMA, SESSION, TURN, coerce
from perslib.errors import Problem
from perslib.schemas import show

Record: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[str, dict[str, Any]]
#: Columns of a row that are of one of several replies.
OF_REPLY = ("candidate", "chosen", "preferred")
#: A row with replies of which one was preferred, two (or more, as response_c); beside it, candidate_a and so on.
PAIR = ("response_a", "response_b", "preferred")


def is_choice(row: Record) -> bool:
    """Return whether a row has several replies with or without a preferred one."""
    return row.get("preferred") is not None or ("preferred" in row and row.get("response_a") is not None)


def of_choice(row: Record, place: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of all replies of a row; in a tie, none is chosen."""
    names = [own for own in ascii_lowercase if own in "ab" or row.get(f"response_{own}") is not None]
    columns = {"preferred", *(f"{column}_{own}" for column in ("response", "candidate") for own in names)}
    about = {c: v for c, v in row.items() if c not in columns}
    preferred, wrong = row["preferred"], None
    if preferred not in (None, "tie", *names):
        wrong = Problem(place, f"preferred is {show(preferred)}, expected {', '.join(names)} or tie")
    if isinstance(preferred, Problem):
        wrong = preferred
    for own in names:
        is_chosen = None if preferred is None else preferred == own
        candidate = row.get(f"candidate_{own}") or own
        yield {**about, "response": row.get(f"response_{own}"), "candidate": candidate, "chosen": wrong or is_chosen}
        wrong = None  # it is told once


def by_turn(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows of a session, grouped by turn: replies to the same request or with the same turn number."""
    turns: list[list[Row]] = []
    answered: dict[Any, list[list[Row]]] = {}
    for place, row in rows:
        key = row["request"] if row.get("turn") is None else int(row["turn"])
        candidate = row.get("candidate")
        open_turns = (own for own in answered.get(key, ()) if all(r.get("candidate") != candidate for _, r in own))
        own = next(open_turns, None) if candidate is not None else None
        if own is None:
            turns.append(own := [])
            answered.setdefault(key, []).append(own)
        own.append((place, row))
    return turns


def main_of(rows: list[Row]) -> dict[str, Any]:
    """Return the reply after which the conversation continued: the chosen one, otherwise the best rated, otherwise the
    first.
    """
    own = [row for _, row in rows]
    chosen = [row for row in own if row.get("chosen")]
    rated = [row for row in own if row.get("score") is not None]
    return (chosen or sorted(rated, key=lambda row: -row["score"]) or own)[0]


def candidates(where: Record, turn: int, rows: list[Row], rated: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of the frame `candidates` for a turn; none if it has one reply without a candidate."""
    for _, row in rows:
        if row.get("candidate") is not None:
            reply = {c: row.get(c) for c in ("candidate", "response", "chosen")}
            yield {**{c: where[c] for c in SESSION}, "turn": turn, **reply, **rated(row.get("score"))}


def problems_of(turns: list[list[Row]]) -> list[Problem]:
    """Return the turn numbers that stand twice or are missing, and two chosen replies to one request."""
    seen: dict[int, str] = {}
    problems = []
    for rows in turns:
        place, row = rows[0]
        if row.get("turn") is not None:
            number = int(row["turn"])
            if number in seen:
                problems.append(Problem(place, f"turn {number} of this session stands already at {seen[number]}"))
            seen.setdefault(number, place)
        chosen = [at for at, own in rows if own.get("chosen")]
        problems += [
            Problem(at, f"is chosen, but so is the reply at {chosen[0]} to the same request") for at in chosen[1:]
        ]
    if problems or not seen or len(seen) == len(turns):
        return problems
    place = next(rows[0][0] for rows in turns if rows[0][1].get("turn") is None)
    return [Problem(place, "has no turn number, while other rows of its session have one")]


def rated_differently(rows: list[Row]) -> int:
    """Count the replies to one request that have the text of another reply and a different rating."""
    first = {row["response"]: row.get("score") for _, row in reversed(rows)}
    return sum(first[row["response"]] != row.get("score") for _, row in rows)


def unclear(rows: list[Row]) -> list[Problem]:
    """Return problems where several replies to one request cannot be distinguished from replies one after another.

    A user may write "go on" twice. Replies of two assistants, three in a row, or a session of a single request are not
    such a case.
    """
    if any(rows[0][1].get(column) is not None for column in ("turn", "candidate")):
        return []
    requests = [row["request"] for _, row in rows]
    is_one_request = len(set(requests)) == 1
    seen: dict[str, tuple[int, str, Any]] = {}
    problems = []
    for i, (place, row) in enumerate(rows):
        request, assistant = row["request"], row.get("assistant")
        n, at, other = seen.get(request, (i, place, assistant))
        is_in_a_row = n == i - 1 and (is_one_request or requests[max(0, i - 2) : i] == [request] * 2)
        if request is not None and at != place and (is_in_a_row or other != assistant):
            message = (
                f"has the request of {at} again, and no turn: are these replies to choose from, or one after the other?"
            )
            remedy = "Say whose reply each is in the column candidate, or number the rows in the column turn."
            problems.append(Problem(place, f"{message} {remedy}"))
        seen[request] = i, place, assistant
    return problems


def _candidates(corpus: Corpus) -> pd.DataFrame:
    """Return the frame `candidates` with all of its columns; an empty one if the corpus has none."""
    given = corpus.extras.get("candidates", pd.DataFrame())
    return given.reindex(columns=[*dict.fromkeys([*given, *SCHEMA["candidates"]])])


def score_preferences(corpus: Corpus) -> Corpus:
    """Return the corpus with preferences as ratings 0–1:

    1 for the preferred reply to a request, 0 for the others, ½ for each of a tie.

    So judges learn from preferences as from ratings. A corpus where replies are scored is returned unchanged.
    """
    given = _candidates(corpus)
    if given["chosen"].isna().all() or given["score"].notna().any():
        return corpus
    request = given["chosen"].astype("Float64").groupby([given[c] for c in TURN])
    rating = given["chosen"].astype("Float64").fillna(0.0).mask(request.transform("max") == 0, 0.5)
    rating, scale = rating.where(request.transform("count") > 0), Scale(0, 1, step=0.5)
    score = rating.map(scale.score, na_action="ignore")
    replies = coerce(given.assign(score=score, given=rating), "candidates")
    return replace(
        corpus, extras={**corpus.extras, "candidates": replies}, meta={**corpus.meta, "scale": asdict(scale)}
    )


def compared_replies(corpus: Corpus) -> pd.DataFrame:
    """Return the rows of `candidates` where a person rated another reply to the same request, too (see
    `score_preferences`).
    """
    rated = _candidates(score_preferences(corpus)).dropna(subset="score")
    return rated[rated.groupby(TURN)["candidate"].transform("size") > 1].reset_index(drop=True)


def reply_sessions(replies: pd.DataFrame) -> pd.Series:
    """Return the names of the sessions that `by_reply` gives to these replies."""
    return replies["session"] + "/" + replies["turn"].astype(str) + "/" + replies["candidate"].fillna("-")


def by_reply(corpus: Corpus) -> Corpus:
    """Return the corpus with every rated reply as a turn to judge: each of several replies in its own session.

    Such a session holds the conversation up to the reply, and only this reply is rated. It stays in the scenario of the
    conversation, so no reply to a request is evidence for another reply to it. A corpus without several rated replies
    to a request is returned unchanged.
    """
    given = _candidates(corpus).dropna(subset="score")
    if given.empty:
        return corpus
    held = pd.MultiIndex.from_frame(given[SESSION].drop_duplicates())
    inside = pd.MultiIndex.from_frame(corpus.turns[SESSION]).isin(held)
    rest, path = corpus.turns[~inside], corpus.turns[inside]
    alone = path.merge(given[TURN].drop_duplicates(), on=TURN, how="left", indicator=True)
    single = alone[(alone["_merge"] == "left_only") & alone["score"].notna()][[*TURN, "response", "score", "given"]]
    rated = pd.concat([given[[*TURN, "candidate", "response", "score", "given"]], single.assign(candidate=None)])
    rated = rated.assign(own=reply_sessions(rated))
    judged = rated.rename(columns={"turn": "judged", **{c: f"own_{c}" for c in ("response", "score", "given")}})
    turns = path.merge(judged, on=SESSION).query("turn <= judged")
    is_judged = turns["turn"] == turns["judged"]
    turns["response"] = turns["own_response"].where(is_judged, turns["response"])
    for column in ("score", "given"):
        turns[column] = turns[f"own_{column}"].where(is_judged)
    turns["reason"] = turns["reason"].where(is_judged)
    turns = turns.assign(session=turns["own"], leads=~is_judged)[[*corpus.turns, "leads"]]
    about = corpus.sessions.merge(rated[[*SESSION, "candidate", "own"]], on=SESSION)
    model = about["candidate"].str.replace(r"#\d+$", "", regex=True)
    about = about.assign(session=about["own"], assistant=model.fillna(about["assistant"]))
    about["trailing"], about["satisfaction"] = [()] * len(about), pd.array([None] * len(about), "Float64")
    is_split = pd.MultiIndex.from_frame(corpus.sessions[SESSION]).isin(held)
    sessions = pd.concat([corpus.sessions[~is_split], about[[*corpus.sessions]]], ignore_index=True)
    turns = pd.concat([rest.assign(leads=False), turns], ignore_index=True)
    extras = {name: frame for name, frame in corpus.extras.items() if name != "candidates"}
    return replace(corpus, sessions=sessions, turns=turns, extras=extras)
