"""A user's past, written down turn by turn, as a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from perslib.corpus import Corpus

#: user, scenario, session, request, reply, score
Row = tuple[str, str, str, str | None, str, int | None]


def corpus_of(rows: Sequence[Row], name: str = "made", language: str = "en") -> Corpus:
    """A corpus of these turns; each session's task is `a <scenario> task`."""
    turns = pd.DataFrame(rows, columns=["user", "scenario", "session", "request", "response", "score"])
    turns["turn"] = turns.groupby(["user", "scenario", "session"]).cumcount()
    turns["reason"] = ["too short" if s is not None and s <= 3 else None for *_, s in rows]
    sessions = turns[["user", "scenario", "session"]].drop_duplicates()
    sessions = sessions.assign(task="a " + sessions["scenario"] + " task", assistant="m")
    users = pd.DataFrame({"user": turns["user"].unique()})
    users["profile"] = [{}] * len(users)
    return Corpus(name, language, users, sessions, turns)


def scored_past(scores: Sequence[int | None], targets: int = 2, user: str = "ada") -> list[Row]:
    """One session of travel with these scores, one of gifts with this many replies to judge."""
    past = [(user, "travel", "0", f"question {i}", f"answer {i}", s) for i, s in enumerate(scores)]
    return [*past, *((user, "gift", "0", f"wish {i}", f"present {i}", 5) for i in range(targets))]
