"""A memory as it grows over the months: its inputs and content, log graph, background, and kinds of requirements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pandas as pd

from perslib.prompts import read_phrases
from perslib.systems.mem_pal.bench import BenchUser
from perslib.systems.mem_pal.bench.measures import choose_tokenizer, split_words
from perslib.systems.mem_pal.memory.h2 import ASPECTS, H2Memory, H2Store
from perslib.systems.mem_pal.memory.h2.log_graph import components, in_order
from perslib.systems.mem_pal.memory.h2.store import SessionRecord
from perslib.text import current_language

#: Maximum number of logs in a drawing.
MOST_LOGS = 45
#: Number of versions of a side of life that are shown without a click.
LATEST = 6
#: Minimum share of common words for showing two sentences word by word.
ALIKE = 0.6
SENTENCES = re.compile(r"[^.!?\u3002\uff01\uff1f]+[.!?\u3002\uff01\uff1f]*\s*|[.!?\u3002\uff01\uff1f]+\s*")


def measure_growth(store: H2Store, person: BenchUser) -> pd.DataFrame:
    """Return the input and the content of the memory after each session, in numbers and in characters.

    Columns: session, at, logs, turns, heard (characters of both); situations, background (sides of life with a
    sentence), outlines, principles; and the characters of each of these four: situations_size …
    """
    sessions = {session.id: session for session in (*person.history, *person.query)}
    rows = []
    for place, chapter in enumerate(store.chapters, start=1):
        session = sessions[chapter.session]
        inputs = [log.content for log in session.logs] + [t.user + t.assistant for t in session.turns]
        principles = [p for p in store.principles_before(place) if p.requirement]
        texts_by_kind = {
            "situations": [situation.text for situation in chapter.situations],
            "background": [text for text in chapter.background.values() if text],
            "outlines": [
                o.requirement + o.preference + "".join(s.text + s.reaction for s in o.solutions)
                for o in chapter.outlines
            ],
            "principles": [p.requirement + p.preference for p in principles],
        }
        rows.append(
            {
                **{"session": chapter.session, "at": chapter.at},
                **{"logs": len(session.logs), "turns": len(session.turns), "heard": sum(map(len, inputs))},
                **{name: len(texts) for name, texts in texts_by_kind.items()},
                **{f"{name}_size": sum(map(len, texts)) for name, texts in texts_by_kind.items()},
            }
        )
    table = pd.DataFrame(rows)
    # The background and the principles are rewritten; everything else is added.
    added = ["logs", "turns", "heard", "situations", "outlines", "situations_size", "outlines_size"]
    return table.assign(**table[added].cumsum())


# -- the log graph of a session ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogGraph:
    """A session's logs, their relations, and the situation that each group of them became."""

    session: str
    logs: pd.DataFrame
    """Columns: log (place), at, content, group (from 1; 0: related to no other)."""
    edges: pd.DataFrame
    """Columns: log, earlier, kind (caused_by or follows)."""
    situations: pd.DataFrame
    """Columns: group (– for a log without relations, these last), logs (number), situation, sides (of life)."""


def build_log_graph(store: H2Store, person: BenchUser, session: str = "") -> LogGraph:
    """Return the log graph of a session; without a name, of the session with the most relations that can be drawn."""
    sessions = {one.id: one for one in (*person.history, *person.query)}
    fitting = [c for c in store.chapters if 0 < len(sessions[c.session].logs) <= MOST_LOGS] or store.chapters
    chapter = store.chapters[store.place(session)] if session else max(fitting, key=lambda c: len(_list_edges(c)))
    logs = in_order(sessions[chapter.session])
    groups = [group for group in components(len(logs), chapter.relations) if len(group) > 1]
    number = {log: n for n, group in enumerate(groups, 1) for log in group}
    listed = [(i, log.at, log.content, number.get(i, 0)) for i, log in enumerate(logs)]
    rows = []
    for situation in chapter.situations:
        group = number.get(situation.logs[0], 0) if situation.logs else 0
        rows.append((group, len(situation.logs), situation.text, ", ".join(map(name_aspect, situation.aspects))))
    rows.sort(key=lambda row: row[0] or len(logs))
    situations = pd.DataFrame(rows, columns=["group", "logs", "situation", "sides"])
    return LogGraph(
        chapter.session,
        pd.DataFrame(listed, columns=["log", "at", "content", "group"]),
        pd.DataFrame(_list_edges(chapter), columns=["log", "earlier", "kind"]),
        situations.assign(group=situations["group"].astype(str).replace("0", "–")),
    )


def _list_edges(chapter: SessionRecord) -> list[tuple[int, int, str]]:
    kinds = ("caused_by", "follows")
    return [(r.log, earlier, kind) for r in chapter.relations for kind in kinds for earlier in getattr(r, kind)]


def name_aspect(aspect: str) -> str:
    """Return the name of an aspect in the page's language."""
    return str(read_phrases("h2", current_language())[aspect])


# -- revisions of the background ---------------------------------------------------------------------------------


def list_revisions(store: H2Store) -> pd.DataFrame:
    """Return every change of the background: aspect, session, at, before, after, in the order of aspects and time."""
    rows = []
    for aspect in ASPECTS:
        before = ""
        for chapter in store.chapters:
            after = chapter.background.get(aspect, "")
            if after != before:
                rows.append((aspect, chapter.session, chapter.at[:10], before, after))
            before = after
    return pd.DataFrame(rows, columns=["aspect", "session", "at", "before", "after"])


def describe_revisions(changes: pd.DataFrame, language: str) -> Iterator[dict[str, Any]]:
    """Yield the background's history for `pal_revisions.html.j2`, by aspect: the first text, then what changed."""
    for aspect, changes_of_aspect in changes.groupby("aspect", sort=False):
        versions = [
            {
                "when": row["at"] or row["session"],
                "parts": compare_texts(row["before"] or row["after"], row["after"], language),
                "spaced": language != "zh",
            }
            for row in changes_of_aspect.to_dict("records")
        ]
        description = {"name": name_aspect(str(aspect)), "versions": versions}
        yield {**description, "earlier": versions[:-LATEST], "latest": versions[-LATEST:]}


def compare_texts(before: str, after: str, language: str) -> list[tuple[str, str]]:
    """Return pairs of old and new text, part by part; the two are equal if nothing changed.

    Texts are compared by sentence, and similar sentences word by word (Chinese words as cut by jieba).
    """

    def cut_split_words(text: str) -> Sequence[str]:
        return split_words(text, choose_tokenizer(language)) if language == "zh" else re.findall(r"\S+\s*", text)

    pairs = []
    for old, new in _match_parts(SENTENCES.findall(before), SENTENCES.findall(after))[1]:
        alike, parts = _match_parts(cut_split_words(old), cut_split_words(new))
        # A few common words do not make two sentences similar.
        pairs += parts if alike >= ALIKE and old != new else [(old, new)]
    return pairs


def _match_parts(old: Sequence[str], new: Sequence[str]) -> tuple[float, list[tuple[str, str]]]:
    """Return how similar two sequences are, and their parts in pairs."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio(), [("".join(old[a:b]), "".join(new[c:d])) for _, a, b, c, d in matcher.get_opcodes()]


# -- kinds of requirements ---------------------------------------------------------------------------------------


def map_outlines(store: H2Store, memory: H2Memory) -> pd.DataFrame:
    """Return the outlines in the plane of their two main directions (PCA of the requirements' vectors).

    Columns: outline, session, at, requirement, cluster (from 1; missing before principles were learned), x, y.
    """
    outlines = [(chapter, outline) for chapter in store.chapters for outline in chapter.outlines]
    rows = [(o.id, c.session, c.at[:10], o.requirement, o.cluster) for c, o in outlines]
    frame = pd.DataFrame(rows, columns=["outline", "session", "at", "requirement", "cluster"])
    places = project_to_plane(np.asarray(memory.space.vectors([o.requirement for _, o in outlines]), dtype=float))
    return frame.assign(cluster=frame["cluster"].astype("Int64") + 1, x=places[:, 0], y=places[:, 1])


def project_to_plane(points: np.ndarray) -> np.ndarray:
    """Return points by their two main directions; fewer than three points lie on one line."""
    places = np.zeros((len(points), 2))
    if len(points):
        left, lengths, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        places[:, : len(lengths)] = (left * lengths)[:, :2]
        places[np.abs(places) < 1e-6] = 0
    return places


def tabulate_principles(store: H2Store) -> pd.DataFrame:
    """Return the current principles: cluster (from 1), outlines, the kind of requirement and what the user prefers."""
    sizes = Counter(outline.cluster for outline in store.outlines)
    rows = [
        (str(place + 1), sizes[place], one.requirement or "–", one.preference or "–")
        for place, one in enumerate(store.principles)
    ]
    return pd.DataFrame(rows, columns=["cluster", "outlines", "requirement_kind", "preferred"])
