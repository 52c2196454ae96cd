"""What logs tell (Mem-PAL, M_G and M_B): which go back to which, what each group is about, and the user's background.

A window asks about ten logs and shows the ten before them as well. Relations make an undirected graph; each of its
connected components is told as one situation, with the aspects of life that it belongs to. The background is one
sentence each on work, health, family and leisure, rewritten session by session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from perslib.llm import Ask, Request
from perslib.llm.structured.checked_questions import (
    CheckedQuestion,
    ParsedReply,
    ask_and_check,
    ask_checked,
    list_reply_faults,
)
from perslib.systems.mem_pal.memory.h2.store import EMPTY, LogSituation, Relation, SessionRecord, State
from perslib.systems.mem_pal.memory.long_term import Log, MemorySession

WINDOW = 10
TOLD_AT_ONCE = 100
"""Logs of a situation; a longer component is told in stretches of as many, so that it fits into a prompt."""

Render = Callable[..., Request]
"""`render(name, **fields)`: the question of this prompt."""


@dataclass(frozen=True)
class Heard:
    """What a session's logs say."""

    relations: tuple[Relation, ...] = ()
    situations: tuple[LogSituation, ...] = ()
    failed: tuple[str, ...] = ()


def in_order(session: MemorySession) -> list[Log]:
    """Return a session's logs by time; those of the same minute as they came."""
    return sorted(session.logs, key=lambda log: log.at)


def windows(logs: int) -> list[tuple[range, range]]:
    """Return for each window the logs that are shown and, of these, the ones it asks about."""
    starts = range(0, logs, WINDOW)
    return [(range(max(0, s - WINDOW), e), range(s, e)) for s in starts for e in [min(logs, s + WINDOW)]]


def components(logs: int, relations: Sequence[Relation]) -> list[list[int]]:
    """Return groups of related logs, the one with the earliest log first; a log without relations is its own group."""
    edges = [(r.log, other) for r in relations for other in (*r.caused_by, *r.follows)]
    pairs = np.array(edges, dtype=int).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(logs, logs))
    groups: dict[int, list[int]] = {}
    for log, label in enumerate(connected_components(graph, directed=False)[1] if logs else []):
        groups.setdefault(int(label), []).append(log)
    return list(groups.values())


async def hear(session: MemorySession, render: Render, ask: Ask) -> Heard:
    """Return relations of a session's logs, all windows at once, then its situations, all components at once."""
    logs = in_order(session)
    asked = [_window(session.id, logs, shown, about, render) for shown, about in windows(len(logs))]
    answered = await ask_and_check(asked, ask)
    relations = [relation for reading in answered for relation in reading.value or ()]
    groups = [
        group[i : i + TOLD_AT_ONCE]
        for group in components(len(logs), relations)
        for i in range(0, len(group), TOLD_AT_ONCE)
    ]
    of_log = {r.log: r for r in relations}
    wanted = []
    for group in groups:
        fields = [_make_log_fields(logs, i, of_log.get(i, Relation(i))) for i in group]
        read = partial(_situation, logs=tuple(group))
        wanted.append(
            CheckedQuestion(f"{session.id}: situation of log {group[0]}", render("h2_situation", logs=fields), read)
        )
    readings = await ask_and_check(wanted, ask)
    values = tuple(reading.value for reading in readings if reading.value)
    lost = list_reply_faults(asked, answered) + list_reply_faults(wanted, readings)
    return Heard(tuple(r for r in relations if r.caused_by or r.follows), values, lost)


# -- relations -------------------------------------------------------------------------------------------------


def _window(
    session: str, logs: Sequence[Log], shown: range, about: range, render: Render
) -> CheckedQuestion[list[Relation]]:
    lines = [{"id": i, **vars(logs[i])} for i in shown]
    request = render("h2_relations", logs=lines, first=about[0], last=about[-1])
    place = f"{session}: logs {about[0]}–{about[-1]}"
    return CheckedQuestion(place, request, partial(read_relations, shown=shown, about=about))


def read_relations(data: Any, shown: range, about: range) -> ParsedReply[list[Relation]]:
    """Return the relations that hold: to logs that are shown and earlier, at most one to each, a cause before a sequel."""
    wrong: list[str] = []
    relations: dict[int, Relation] = {}
    for item in data["relations"]:
        log = item["log"]
        if log not in about or log in relations:
            what = "is given twice" if log in relations else "was not asked about"
            wrong.append(f"log {log} {what}")
            continue
        causes = _valid(log, item["caused_by"], shown, wrong)
        sequels = [i for i in _valid(log, item["follows"], shown, wrong) if i not in causes]
        relations[log] = Relation(log, tuple(causes), tuple(sequels))
    wrong += [f"log {log} is missing" for log in about if log not in relations]
    return ParsedReply(list(relations.values()), tuple(wrong))


def _valid(log: int, named: Sequence[int], shown: range, wrong: list[str]) -> list[int]:
    for other in named:
        if other not in shown:
            wrong.append(f"log {log} names {other}, which is not among the logs shown")
        elif other >= log:
            wrong.append(f"log {log} names {other}, which is not earlier")
    return [other for other in dict.fromkeys(named) if other in shown and other < log]


# -- situations ------------------------------------------------------------------------------------------------


def _make_log_fields(logs: Sequence[Log], i: int, relation: Relation) -> dict[str, Any]:
    """Return a log as a prompt shows it, with both kinds of relations."""
    back = {"caused_by": list(relation.caused_by), "follows": list(relation.follows)}
    return {"id": i, **vars(logs[i]), **back}


def _situation(item: Any, logs: tuple[int, ...]) -> ParsedReply[LogSituation]:
    text = item["situation"].strip()
    if not text:
        return ParsedReply(None, ("the situation is empty",))
    return ParsedReply(LogSituation(text, tuple(dict.fromkeys(item["aspects"])), logs))


async def update_background(
    earlier: Sequence[SessionRecord],
    session: str,
    days: tuple[str, str],
    situations: Sequence[LogSituation],
    render: Render,
    ask: Ask,
) -> tuple[State, tuple[str, ...]]:
    """Return the background after a session's situations, which took place between these days, and what failed.

    Only the aspects that the model lists are replaced; where it fails, and where nothing happened, all stay.
    """
    state = earlier[-1].background if earlier else EMPTY
    if not situations:
        return state, ()
    first_log = next((chapter.first_log[:10] for chapter in earlier if chapter.first_log), days[0])
    request = render(
        "h2_background",
        background=[{"aspect": aspect, "text": text} for aspect, text in state.items()],
        since=f"{first_log} ~ {(earlier[-1].at[:10] if earlier else '') or days[0]}",
        situations=[situation.text for situation in situations],
        days=" ~ ".join(days),
    )
    updates, lost = await ask_checked(f"{session}: background", request, _read, ask)
    return {**state, **(updates or {})}, lost


def _read(data: Any) -> ParsedReply[State]:
    new: State = {}
    wrong = []
    for item in data["updates"]:
        if item["aspect"] in new:
            wrong.append(f"{item['aspect']} is given twice")
        elif not item["text"].strip():
            wrong.append(f"{item['aspect']} is empty")
        else:
            new[item["aspect"]] = item["text"].strip()
    return ParsedReply(new, tuple(wrong))
