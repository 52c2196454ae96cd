"""A memory as it grows over the months: what was heard and kept, its log graph, background, and kinds of requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from perslib.memory.h2 import ASPECTS, H2Memory, H2Store
from perslib.memory.h2.log_graph import components, in_order
from perslib.memory.h2.store import Chapter, Relation
from perslib.memory.long import Session
from perslib.palbench import Person
from perslib.prompts import phrases
from perslib.report.page import current

#: Logs that a drawing has room for.
MOST_LOGS = 45


# -- growth ------------------------------------------------------------------------------------------------------


def growth(store: H2Store, person: Person) -> pd.DataFrame:
    """What had been heard and what was kept after each session, in numbers and in characters.

    Columns: session, at, logs, turns, heard (characters of both); situations, aspects (with a sentence), outlines,
    principles; and characters of each part: situations_size, background_size, outlines_size, principles_size.
    """
    sessions = {session.id: session for session in (*person.history, *person.query)}
    rows: list[dict[str, Any]] = []
    for place, chapter in enumerate(store.chapters):
        known, session = store.chapters[: place + 1], sessions[chapter.session]
        before = rows[-1] if rows else {"logs": 0, "turns": 0, "heard": 0}
        said = [log.content for log in session.logs] + [t.user + t.assistant for t in session.turns]
        principles = [p for p in store.principles_before(place + 1) if p.requirement]
        outlines = [outline for c in known for outline in c.outlines]
        situations = [situation.text for c in known for situation in c.situations]
        told = [
            o.requirement + o.preference + "".join(s.text + s.said for s in o.solutions) for o in outlines
        ]
        background = [text for text in chapter.background.values() if text]
        rows.append(
            {
                "session": chapter.session,
                "at": chapter.at,
                "logs": before["logs"] + len(session.logs),
                "turns": before["turns"] + len(session.turns),
                "heard": before["heard"] + sum(map(len, said)),
                **{"situations": len(situations), "aspects": len(background)},
                **{"outlines": len(outlines), "principles": len(principles)},
                "situations_size": sum(map(len, situations)),
                "background_size": sum(map(len, background)),
                "outlines_size": sum(map(len, told)),
                "principles_size": sum(len(p.requirement + p.preference) for p in principles),
            }
        )
    return pd.DataFrame(rows)


# -- the log graph of a session ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graph:
    """A session's logs, which go back to which, and what each group of them was told as."""

    session: str
    logs: pd.DataFrame
    """log (place), at, content, group (from 1; 0: related to no other)"""
    edges: pd.DataFrame
    """log, earlier, kind (caused_by or follows)"""
    situations: pd.DataFrame
    """group, logs (how many), situation, aspects"""


def graph_of(store: H2Store, person: Person, session: str = "") -> Graph:
    """The log graph of a session; of the one with the most relations among those that can be drawn if none is named."""
    sessions = {one.id: one for one in (*person.history, *person.query)}
    fitting = [c for c in store.chapters if 0 < len(sessions[c.session].logs) <= MOST_LOGS] or store.chapters
    richest = max(fitting, key=lambda c: sum(len(r.caused_by) + len(r.follows) for r in c.relations))
    chapter = store.chapters[store.place(session)] if session else richest
    return _graph(chapter, sessions[chapter.session])


def _graph(chapter: Chapter, session: Session) -> Graph:
    logs = in_order(session)
    groups = components(len(logs), chapter.relations)
    numbered = {log: n for n, group in enumerate((g for g in groups if len(g) > 1), 1) for log in group}
    rows = [
        {"log": i, "at": log.at, "content": log.content, "group": numbered.get(i, 0)}
        for i, log in enumerate(logs)
    ]
    told = [
        {
            "group": numbered.get(situation.logs[0], 0) if situation.logs else 0,
            "logs": len(situation.logs),
            "situation": situation.text,
            "aspects": situation.aspects,
        }
        for situation in chapter.situations
    ]
    edges = [edge for relation in chapter.relations for edge in _edges(relation)]
    return Graph(
        chapter.session,
        pd.DataFrame(rows, columns=["log", "at", "content", "group"]),
        pd.DataFrame(edges, columns=["log", "earlier", "kind"]),
        pd.DataFrame(told, columns=["group", "logs", "situation", "aspects"]),
    )


def _edges(relation: Relation) -> Iterator[dict[str, Any]]:
    for kind, earlier in (("caused_by", relation.caused_by), ("follows", relation.follows)):
        yield from ({"log": relation.log, "earlier": other, "kind": kind} for other in earlier)


def situations_table(graph: Graph) -> pd.DataFrame:
    """What a session's groups of logs were told as; those of several logs first, by the numbers of the drawing."""
    own = graph.situations
    aspects = [", ".join(name_aspect(a) for a in given) for given in own["aspects"]]
    shown = own.drop(columns="aspects").assign(sides=aspects, order=own["group"].replace(0, len(own) + 1))
    shown = shown.sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)
    return shown.assign(group=[str(g) if g else "–" for g in shown["group"]])


def name_aspect(aspect: str) -> str:
    """Return the name of an aspect in the page's language."""
    return str(phrases("h2", current().language)[aspect])


# -- revisions of the background ---------------------------------------------------------------------------------


def revisions(store: H2Store) -> pd.DataFrame:
    """Every change of the background: aspect, session, at, before, after, in the order of aspects and time."""
    rows = []
    for aspect in ASPECTS:
        before = ""
        for chapter in store.chapters:
            after = chapter.background.get(aspect, "")
            if after != before:
                about = {"aspect": aspect, "session": chapter.session, "at": chapter.at[:10]}
                rows.append({**about, "before": before, "after": after})
            before = after
    return pd.DataFrame(rows, columns=["aspect", "session", "at", "before", "after"])


# -- kinds of requirements ---------------------------------------------------------------------------------------


def outline_map(store: H2Store, memory: H2Memory) -> pd.DataFrame:
    """The outlines in the plane of their two main directions (PCA of the requirements' vectors), with their clusters.

    Columns: outline, session, at, requirement, cluster (from 1; missing before principles were learned), x, y; the
    shares of variance of both directions are in `attrs["explained"]`.
    """
    found = [(chapter, outline) for chapter in store.chapters for outline in chapter.outlines]
    frame = pd.DataFrame(
        [
            {
                **{"outline": o.id, "session": c.session, "at": c.at[:10], "requirement": o.requirement},
                "cluster": pd.NA if o.cluster is None else o.cluster + 1,
            }
            for c, o in found
        ],
        columns=["outline", "session", "at", "requirement", "cluster"],
    ).astype({"cluster": "Int64"})
    points = np.asarray(memory.space.vectors([o.requirement for _, o in found]), dtype=float)
    places, explained = plane(points)
    frame = frame.assign(x=places[:, 0], y=places[:, 1])
    frame.attrs["explained"] = explained
    return frame


def plane(points: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Points by their two main directions, and the share of variance of each; fewer than three lie on one line."""
    if not len(points):
        return np.zeros((0, 2)), (0.0, 0.0)
    centred = points - points.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(points), 2))
    kept = min(2, len(lengths))
    places[:, :kept] = (left * lengths)[:, :kept]
    places[np.abs(places) < 1e-6] = 0
    total = float((lengths**2).sum())
    shares = [float(value) ** 2 / total if total > 0 else 0.0 for value in (*lengths[:2], 0.0)]
    return places, (shares[0], shares[1])


def principles_table(store: H2Store) -> pd.DataFrame:
    """The principles as they stand: cluster (from 1), outlines, the kind of requirement and what the user prefers."""
    sizes: Mapping[int | None, int] = pd.Series(
        [o.cluster for o in store.outlines], dtype="Int64"
    ).value_counts()
    rows = [
        {
            "cluster": str(place + 1),
            "outlines": int(sizes.get(place, 0)),
            "requirement_kind": one.requirement or "–",
            "preferred": one.preference or "–",
        }
        for place, one in enumerate(store.principles)
    ]
    return pd.DataFrame(rows, columns=["cluster", "outlines", "requirement_kind", "preferred"])
