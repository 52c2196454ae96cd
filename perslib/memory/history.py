"""A user's months as long-term memories hear them: session by session, logs before dialogue."""

from __future__ import annotations

import pandas as pd

from perslib.corpus import Corpus
from perslib.errors import DataError, Problem, UnknownName
from perslib.memory.long import Log, Session, Turn


def sessions_of(corpus: Corpus, user: str, part: str | None = None) -> list[Session]:
    """The sessions of a user in the order of time, each with the device logs that led up to it.

    `part` keeps the sessions of one scenario: in a PAL-Set, "history" or "query". A session whose id another
    scenario of the user has too is called `scenario/session`. Logs that no session follows are not heard.
    """
    corpus.profile(user)
    if part is not None and part not in corpus.scenarios:
        raise UnknownName("part", part, corpus.scenarios)
    own = _in_time(corpus.sessions[corpus.sessions["user"] == user], user)
    is_shared = own["session"].duplicated(keep=False)
    turns, logs = _turns(corpus, user), _logs(corpus, user)
    found = []
    for scenario, session, started, shared in zip(
        own["scenario"], own["session"], own["started_at"], is_shared
    ):
        if part in (None, scenario):
            found.append(
                Session(
                    id=f"{scenario}/{session}" if shared else session,
                    at="" if pd.isna(started) else f"{started:%Y-%m-%d %H:%M:%S}",
                    logs=logs.get((scenario, session), ()),
                    turns=turns.get((scenario, session), ()),
                )
            )
    return found


def _in_time(own: pd.DataFrame, user: str) -> pd.DataFrame:
    """Sessions by their start, else by their position; one of the two has to be there for all."""
    for column in ("started_at", "position"):
        if own[column].notna().all():
            return own.sort_values(column, kind="stable")
    raise DataError(
        Problem(f"sessions of {user}", "have neither a start nor a position throughout"),
        "A memory hears sessions in the order of time: give started_at or position for every session.",
    )


def _turns(corpus: Corpus, user: str) -> dict[tuple[str, str], tuple[Turn, ...]]:
    """What was said in each session; messages that got no reply of their own stand before the next."""
    own = corpus.turns[corpus.turns["user"] == user]
    said: dict[tuple[str, str], list[Turn]] = {}
    columns = ("scenario", "session", "request", "earlier", "response")
    for scenario, session, request, earlier, response in zip(*(own[c] for c in columns)):
        asked = [*earlier, request] if isinstance(request, str) else [*earlier]
        said.setdefault((scenario, session), []).append(Turn("\n".join(asked), response))
    return {key: tuple(turns) for key, turns in said.items()}


def _logs(corpus: Corpus, user: str) -> dict[tuple[str, str], tuple[Log, ...]]:
    """The logs that belong to each session, by their time."""
    events = corpus.events
    own = events[(events["user"] == user) & events["session"].notna()].sort_values("at", kind="stable")
    kept: dict[tuple[str, str], list[Log]] = {}
    for scenario, session, at, content in zip(own["scenario"], own["session"], own["at"], own["content"]):
        kept.setdefault((scenario, session), []).append(Log(f"{at:%Y-%m-%d %H:%M}", content))
    return {key: tuple(logs) for key, logs in kept.items()}
