"""Several replies to one request, each with its rating: those of a turn together, and the one that the talk went on from.

A row that has a `candidate` (whose reply it is) is one of several: those of a session with the same request, or the same
`turn`, are replies to one turn. The reply that was `chosen`, else the best rated, is the turn's own; all
of them stand in the corpus's frame `candidates`.
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
    """Whether a row has several replies of which one was preferred, or none where nobody said."""
    return row.get("preferred") is not None or ("preferred" in row and row.get("response_a") is not None)


def of_choice(row: Record, place: str) -> Iterator[dict[str, Any]]:
    """The rows of all replies of a row; of a tie, none was chosen."""
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
    """The rows of a session, those of one turn together: of candidates, the replies to one request or of one number."""
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
    """The reply that the conversation went on from: the chosen one, else the best rated, else the first."""
    own = [row for _, row in rows]
    chosen = [row for row in own if row.get("chosen")]
    rated = [row for row in own if row.get("score") is not None]
    return (chosen or sorted(rated, key=lambda row: -row["score"]) or own)[0]


def candidates(where: Record, turn: int, rows: list[Row], rated: Any) -> Iterator[dict[str, Any]]:
    """The rows of the frame `candidates` that a turn gives; none where it has one reply of nobody in particular."""
    for _, row in rows:
        if row.get("candidate") is not None:
            kept = {c: row.get(c) for c in ("candidate", "response", "chosen")}
            yield {**{c: where[c] for c in SESSION}, "turn": turn, **kept, **rated(row.get("score"))}


def problems_of(turns: list[list[Row]]) -> list[Problem]:
    """Turn numbers that stand twice or are missing, and two chosen replies to one request."""
    seen: dict[int, str] = {}
    found = []
    for rows in turns:
        place, row = rows[0]
        if row.get("turn") is not None:
            number = int(row["turn"])
            if number in seen:
                found.append(Problem(place, f"turn {number} of this session stands already at {seen[number]}"))
            seen.setdefault(number, place)
        chosen = [at for at, own in rows if own.get("chosen")]
        found += [
            Problem(at, f"is chosen, but so is the reply at {chosen[0]} to the same request") for at in chosen[1:]
        ]
    if found or not seen or len(seen) == len(turns):
        return found
    place = next(rows[0][0] for rows in turns if rows[0][1].get("turn") is None)
    return [Problem(place, "has no turn number, while other rows of its session have one")]


def rated_differently(rows: list[Row]) -> int:
    """How many replies to one request have the text of another and another rating."""
    first = {row["response"]: row.get("score") for _, row in reversed(rows)}
    return sum(first[row["response"]] != row.get("score") for _, row in rows)


def unclear(rows: list[Row]) -> list[Problem]:
    """Several replies to one request, which without numbers cannot be told from one after another.

    A user may say "go on" twice. Replies of two assistants, three in a row, or a session of one request are none of that.
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
    """The frame `candidates` with all of its columns; an empty one where there is none."""
    given = corpus.extras.get("candidates", pd.DataFrame())
    return given.reindex(columns=[*dict.fromkeys([*given, *SCHEMA["candidates"]])])


def score_preferences(corpus: Corpus) -> Corpus:
    """The corpus with preferences as ratings 0–1: the preferred reply to a request has 1, the others 0, each of a tie ½.

    So judges learn from preferences as from ratings. A corpus where a reply is scored is returned as it is.
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
    """The rows of `candidates` that a person rated beside another reply to the same request (see `score_preferences`)."""
    rated = _candidates(score_preferences(corpus)).dropna(subset="score")
    return rated[rated.groupby(TURN)["candidate"].transform("size") > 1].reset_index(drop=True)


def reply_sessions(replies: pd.DataFrame) -> pd.Series:
    """The sessions that these replies to requests have where `by_reply` lays a corpus out."""
    return replies["session"] + "/" + replies["turn"].astype(str) + "/" + replies["candidate"].fillna("-")


def by_reply(corpus: Corpus) -> Corpus:
    """The corpus with every rated reply as a turn to be judged: each of several in a session of its own.

    Such a session holds the conversation up to the reply, of which this reply alone is rated; it stays in the scenario of
    the conversation, so that no reply to a request is evidence for another. A corpus without several rated replies to any
    request is returned as it is.
    """
    given = _candidates(corpus).dropna(subset="score")
    if given.empty:
        return corpus
    held = pd.MultiIndex.from_frame(given[SESSION].drop_duplicates())
    inside = pd.MultiIndex.from_frame(corpus.turns[SESSION]).isin(held)
    kept, path = corpus.turns[~inside], corpus.turns[inside]
    alone = path.merge(given[TURN].drop_duplicates(), on=TURN, how="left", indicator=True)
    single = alone[(alone["_merge"] == "left_only") & alone["score"].notna()][[*TURN, "response", "score", "given"]]
    rated = pd.concat([given[[*TURN, "candidate", "response", "score", "given"]], single.assign(candidate=None)])
    rated = rated.assign(own=reply_sessions(rated))
    said = rated.rename(columns={"turn": "judged", **{c: f"own_{c}" for c in ("response", "score", "given")}})
    turns = path.merge(said, on=SESSION).query("turn <= judged")
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
    apart = pd.MultiIndex.from_frame(corpus.sessions[SESSION]).isin(held)
    sessions = pd.concat([corpus.sessions[~apart], about[[*corpus.sessions]]], ignore_index=True)
    turns = pd.concat([kept.assign(leads=False), turns], ignore_index=True)
    extras = {name: frame for name, frame in corpus.extras.items() if name != "candidates"}
    return replace(corpus, sessions=sessions, turns=turns, extras=extras)
