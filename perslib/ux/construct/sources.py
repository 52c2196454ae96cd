"""Where cases come from: the sessions of a log or of a corpus, de-identified, read for signals, and past the gate.

A corpus with times and clicks (the synthetic world, an imported log) is a log as well: `records_of` writes its sessions
as a log has them. What users said in their ratings is left aside.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus import SESSION, Corpus
from perslib.corpus.uxbench_blocks import Source
from perslib.corpus.uxbench_messages import Session
from perslib.corpus.uxbench_reading import Reject, sessions
from perslib.corpus.uxbench_records import session
from perslib.signals import Reaction, reactions
from perslib.signals.gate import Gate, masked
from perslib.signals.private import deidentified
from perslib.ux.construct.rules import Rejection, Rules, readable

_TURN = ["request", "earlier", "response", "asked_at", "answered_at", "feedback"]


class Talk(NamedTuple):
    """A session that passed the gate: its texts without anything personal, and how its replies were taken."""

    key: str
    session: Session
    reactions: tuple[Reaction, ...]
    user: str
    times: tuple[str | None, ...]
    """When each message was sent: to the second, or to the day where ids are hidden by a key."""


def talks(
    source: Source | Corpus, rules: Rules, rejected: list[Rejection], key: bytes | None = None
) -> list[Talk]:
    """The sessions from which cases can come; what is none, and what the gate holds back, is added to `rejected`."""
    unread: list[Reject] = []
    gate = Gate(rules.gate)
    names: Counter[str] = Counter()
    found = []
    for one in _sessions(source, unread):
        user = readable(str(next((one.meta[k] for k in ("user", "user_id", "uid") if one.meta.get(k)), "")))
        told = deidentified(_whole(one), key)
        taken = reactions(told, settings=rules.signals)
        names[told.cid] += 1
        name = told.cid if names[told.cid] == 1 else f"{told.cid}#{names[told.cid]}"
        if (why := gate(told, taken)) is not None:
            rejected.append(Rejection("gate", why, name))
            continue
        said = tuple(m._replace(text=masked(m.text)) if m.role == "user" else m for m in told.messages)
        times = tuple(_moment(m.t, key is not None) for m in one.messages)
        found.append(Talk(name, told._replace(messages=said), tuple(taken), _hidden(user, key), times))
    rejected += [Rejection("read", one.reason, one.place) for one in unread]
    return found


def _sessions(source: Source | Corpus, unread: list[Reject]) -> Iterator[Session]:
    if isinstance(source, Corpus):
        return (session(record) for record in records_of(source))
    return sessions(source, unread)


def records_of(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """The sessions of a corpus as records of a raw log: texts, times and clicks, no scores."""
    trailing = corpus.sessions.set_index(SESSION)["trailing"].to_dict()
    turns = corpus.turns.sort_values([*SESSION, "turn"])[[*SESSION, *_TURN]].to_dict("records")
    for where, rows in groupby(turns, key=itemgetter(*SESSION)):
        history: list[dict[str, Any]] = []
        for row in rows:
            asked = [*row["earlier"], *([] if pd.isna(row["request"]) else [row["request"]])]
            history += [_said("user", text, row["asked_at"]) for text in asked]
            clicks = {"is_liked": row["feedback"] == "like", "is_unliked": row["feedback"] == "dislike"}
            history.append({**_said("assistant", row["response"], row["answered_at"]), **clicks})
        history += [_said("user", text, None) for text in trailing.get(where, ())]
        yield {"cid": "/".join(map(str, where)), "user": where[0], "history": history}


def _whole(one: Session) -> Session:
    """The session without half characters in its texts."""
    said = tuple(m._replace(text=readable(m.text)) for m in one.messages)
    return one._replace(cid=readable(one.cid), messages=said)


def _said(role: str, text: str, at: Any) -> dict[str, Any]:
    return {"role": role, "message": text, "create_time": None if pd.isna(at) else str(at)}


def _moment(seconds: float | None, day_only: bool) -> str | None:
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%d}" if day_only else f"{moment:%Y-%m-%d %H:%M:%S}"


def _hidden(user: str, key: bytes | None) -> str:
    if key is None or not user:
        return user
    return hmac.new(key, user.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:24]
