"""Where cases come from: the sessions of a log or of a corpus, de-identified, read for signals, and past the gate.

A corpus with times and clicks (the synthetic world, an imported log) is a log as well. What users said in their ratings is left aside.

`cleaned` is what is done with cases after all models have spoken: rules that need none, in order, each with its reason.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd

from perslib.corpus import Corpus
from perslib.systems.uxbench.construction.rules import Rejection, Rules, replace_half_characters
from perslib.systems.uxbench.construction.taxonomy import OTHER
from perslib.systems.uxbench.loaders.log_records import LogSession, get_field
from perslib.systems.uxbench.loaders.logs import Reject, Source, read_log_sessions
from perslib.systems.uxbench.signals import Reaction, make_log_sessions, reactions
from perslib.systems.uxbench.signals.gate import Duplicates, SessionFilter, mask_slurs
from perslib.systems.uxbench.signals.name_finder import choose_finder
from perslib.systems.uxbench.signals.personal_data import audit, deidentify
from perslib.systems.uxbench.signals.similarity import tokenize_request


class FilteredSession(NamedTuple):
    """A session that passed the gate: its texts without anything personal, and how its replies were taken."""

    key: str
    session: LogSession
    reactions: tuple[Reaction, ...]
    user: str
    times: tuple[str | None, ...]
    """When each message was sent: to the second, or to the day where ids are hidden by a key."""


def read_filtered_sessions(
    source: Source | Corpus, rules: Rules, rejected: list[Rejection], key: bytes | None = None
) -> list[FilteredSession]:
    """Return the sessions from which cases can come; what is none, and what the gate holds back, is added to
    `rejected`.
    """
    unread: list[Reject] = []
    gate = SessionFilter(rules.gate)
    names: Counter[str] = Counter()
    sessions = []
    for one in _sessions(source, unread):
        user = replace_half_characters(str(get_field(one.meta, "user") or ""))
        deidentified = deidentify(_whole(one), key, find=choose_finder(rules.signals))
        taken = reactions(deidentified, settings=rules.signals)
        names[deidentified.cid] += 1
        name = deidentified.cid if names[deidentified.cid] == 1 else f"{deidentified.cid}#{names[deidentified.cid]}"
        if (why := gate(deidentified, taken)) is not None:
            rejected.append(Rejection("gate", why, name))
            continue
        masked = tuple(m._replace(text=mask_slurs(m.text)) if m.role == "user" else m for m in deidentified.messages)
        times = tuple(_moment(m.t, key is not None) for m in one.messages)
        sessions.append(
            FilteredSession(name, deidentified._replace(messages=masked), tuple(taken), _hidden(user, key), times)
        )
    rejected += [Rejection("read", one.reason, one.place) for one in unread]
    return sessions


def _sessions(source: Source | Corpus, unread: list[Reject]) -> Iterator[LogSession]:
    if isinstance(source, Corpus):
        return iter(sorted(make_log_sessions(source)[0], key=lambda one: tuple(one.meta.values())))
    return read_log_sessions(source, unread)


def _whole(one: LogSession) -> LogSession:
    """Return the session without half characters in its texts."""
    messages = tuple(m._replace(text=replace_half_characters(m.text)) for m in one.messages)
    return one._replace(cid=replace_half_characters(one.cid), messages=messages)


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


def clean_cases(cases: pd.DataFrame, rules: Rules) -> tuple[pd.DataFrame, list[Rejection]]:
    """Return the cases that stay, in their order, and why the others do not. Of equal cases the best by mean stays."""
    rejected: list[Rejection] = []

    def reject(case: str, reason: str, detail: str = "") -> None:
        rejected.append(Rejection("clean", reason, case, detail))

    left = cases
    both = _contradictory(left)
    for case in left.loc[both, "case"]:
        reject(case, "contradictory")
    left = left[~both]
    for row in left.to_dict("records"):
        if why := find_case_fault(row, rules):
            reject(row["case"], *why)
    out = {one.place for one in rejected}
    left = left[~left["case"].isin(out)]
    best = left.sort_values(["mean", "case"], ascending=[False, True], kind="stable")
    again = best.duplicated(["side", "talk", "query_turn"])
    for case in best.loc[again, "case"]:
        reject(case, "same_turn")
    seen = Duplicates(rules.alike, rules.seed)
    for case, query, reply in best.loc[~again, ["case", "query", "reply"]].itertuples(index=False):
        if (reason := seen([_same(query), _same(reply)])) is not None:
            reject(case, reason)
    out = {one.place for one in rejected}
    return cases[~cases["case"].isin(out)].reset_index(drop=True), rejected


def _same(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _contradictory(cases: pd.DataFrame) -> pd.Series:
    if cases.empty:
        return pd.Series(False, cases.index)
    text = cases["query"].map(_same) + "\0" + cases["reply"].map(_same)
    return cases.groupby(text)["side"].transform("nunique") > 1


def find_case_fault(row: dict[str, Any], rules: Rules) -> tuple[str, str] | None:
    """Return why a case cannot be taken, with a detail; what is personal in it is counted and not told."""
    if row["dimension"] == OTHER:
        return "no_dimension", row["explanation"][:120]
    for need in ("needs_image", "needs_context"):
        if row[need]:
            return need, ""
    for name, (least, most) in (("query", rules.query), ("reply", rules.reply)):
        if not least <= (n := len(row[name].strip())) <= most:
            return f"{name}_length", f"{n} characters"
    for name in ("query", "reply"):
        if (language := tokenize_request(row[name]).lang) not in rules.languages:
            return "language", f"{name}: {language}"
    turns = [m["turn_index"] for m in row["history"]]
    if turns != sorted(turns) or any(turn >= row["query_turn"] for turn in turns):
        return "history_order", f"{turns[-1]}, request {row['query_turn']}"
    texts = [row[name] for name in ("query", "reply", "after", "explanation", "quote", "judge_note")]
    hits = audit([*texts, *(m["content"] for m in row["history"])])
    return ("private", ", ".join(f"{kind} {n}" for kind, n in sorted(hits.items()))) if hits else None
