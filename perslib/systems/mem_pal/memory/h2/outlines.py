"""What dialogues tell (Mem-PAL, M_T and M_P): outlines of their topics, and principles from clusters of outlines.

A requirement as it was said (r) leaves out what both sides knew. It is refined (r̂) with the three situations of the
same session that are nearest to it, and with the background of their aspects; r̂ takes its place from then on.

Principles say what a user prefers in each kind of requirement. They are learned once from a whole past: k-means over the
refined requirements, then of each cluster the requirement in general (γ) and what the user prefers there (ρ). Since then
online: an outline joins the nearest cluster, whose centroid moves, c ← (c·n + x)/(n + 1), before the next outline is
placed; γ and ρ of the clusters that were joined are revised. A centroid that moves so is the mean of its members, so it
is counted anew from them and never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from perslib.llm import Ask
from perslib.llm.structured.checked_questions import (
    CheckedQuestion,
    ParsedReply,
    ask_and_check,
    ask_checked,
    list_reply_faults,
    read_text,
)
from perslib.systems.mem_pal.memory.h2.log_graph import Render
from perslib.systems.mem_pal.memory.h2.store import LogSituation, Outline, Principle, SessionRecord, Solution, State
from perslib.systems.mem_pal.memory.long_term import MemorySession, Space

Outlines = tuple[tuple[Outline, ...], tuple[str, ...]]
"""Outlines, and what failed."""


async def outline(session: MemorySession, render: Render, ask: Ask) -> Outlines:
    """Return the topics of a session's dialogue; none for one without turns, or where nothing was required."""
    if not session.turns:
        return (), ()
    turns = [{"turn": n, **exchange} for n, exchange in enumerate(session.exchanges(), 1)]
    read = partial(read_outlines, session=session.id, turns=len(turns))
    session_outlines, lost = await ask_checked(f"{session.id}: outlines", render("h2_outline", turns=turns), read, ask)
    return tuple(session_outlines or ()), lost


def read_outlines(data: Any, session: str, turns: int) -> ParsedReply[list[Outline]]:
    """Return the topics; together they should cover every turn once, in order. Wrong spans are named and cut to size."""
    outlines: list[Outline] = []
    wrong: list[str] = []
    next_turn = 1
    for item in data["outlines"]:
        first, last = item["first_turn"], item["last_turn"]
        if first != next_turn or not first <= last <= turns:
            wrong.append(f"a topic runs from turn {first} to {last}, expected to begin at {next_turn}")
        next_turn = last + 1
        if not (requirement := item["requirement"].strip()):
            wrong.append("a requirement is empty")
            continue
        if not item["preference"].strip():
            wrong.append("a preference is empty")
        low, high = sorted(min(max(turn, 1), turns) for turn in (first, last))
        solutions = tuple(
            Solution(s["solution"].strip(), s["user_feedback"].strip(), s["feedback_type"])
            for s in item["solutions"]
            if s["solution"].strip()
        )
        id = f"{session}_topic{len(outlines)}"
        outlines.append(Outline(id, (low, high), requirement, requirement, solutions, item["preference"].strip()))
    if data["outlines"] and next_turn != turns + 1:
        wrong.append(f"the topics end at turn {next_turn - 1} of {turns}")
    return ParsedReply(outlines, tuple(wrong))


async def refine(
    chapter: SessionRecord, outlines: Sequence[Outline], space: Space, k: int, render: Render, ask: Ask
) -> Outlines:
    """Return the outlines with their requirements refined, all at once; as they were said where no logs were heard."""
    if not chapter.situations or not outlines:
        return tuple(outlines), ()
    questions = [_refinement(chapter, one, space, k, render) for one in outlines]
    readings = await ask_and_check(questions, ask)
    refined = [replace(o, requirement=r.value or o.requirement) for o, r in zip(outlines, readings)]
    return tuple(refined), list_reply_faults(questions, readings)


def nearest_situations(
    situations: Sequence[LogSituation], text: str, space: Space, k: int
) -> list[tuple[int, LogSituation]]:
    """Return the k situations nearest to a text, with their places."""
    nearest = space.nearest(text, [s.text for s in situations], k)
    return [(i, situations[i]) for i in nearest]


def list_background(situations: Sequence[LogSituation], state: State) -> list[tuple[str, str]]:
    """Return what is known of the aspects of these situations: (aspect, sentence), in the order they first come up."""
    aspects = dict.fromkeys(aspect for situation in situations for aspect in situation.aspects)
    return [(aspect, state[aspect]) for aspect in aspects if state.get(aspect)]


def _refinement(chapter: SessionRecord, one: Outline, space: Space, k: int, render: Render) -> CheckedQuestion[str]:
    near = [s for _, s in nearest_situations(chapter.situations, one.stated, space, k)]
    request = render(
        "h2_refine",
        background=[{"aspect": a, "text": text} for a, text in list_background(near, chapter.background)],
        situations=[situation.text for situation in near],
        requirement=one.stated,
    )
    return CheckedQuestion(f"{one.id}: refinement", request, read_text("requirement"))


CLUSTERS, FEWEST, RUNS, MEMBERS = 8, 2, 100, 10
"""Clusters, members that each should have, runs to get there, and members that are shown of each."""

Points = npt.NDArray[np.floating[Any]]
Learned = tuple[Principle, tuple[str, ...]]
"""A principle, and what failed."""


# A few dozen points: waking threads takes several times as long as the work, on a busy machine many times.
@threadpool_limits.wrap(limits=1)
def clusters(points: Points, seed: int = 42) -> list[int]:
    """Return the cluster of each point, numbered in the order they come up: 8 of them, or n // 2 where n < 16.

    A run in which some cluster has a single member is repeated with the next seed, 100 times at most.
    """
    from sklearn.cluster import KMeans  # slow to import

    count = CLUSTERS if len(points) >= FEWEST * CLUSTERS else max(1, len(points) // FEWEST)
    count = min(count, len(np.unique(points, axis=0)))
    if count < 2:
        return [0] * len(points)
    for run in range(RUNS):
        labels = KMeans(count, random_state=seed + run).fit_predict(points)
        if np.bincount(labels, minlength=count).min() >= FEWEST:
            break
    place = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    return [place[label] for label in labels.tolist()]


def assign_clusters(points: Points, clustered: Points, labels: Sequence[int]) -> tuple[list[int], Points]:
    """Place points one after another in the nearest cluster (Euclidean, the first of equals), moving its centroid.

    `labels` are the clusters of the points that are `clustered`, every number up to the largest. Returns the cluster of
    each new point, and where the centroids are then.
    """
    own = np.asarray(labels)
    sizes = np.bincount(own)
    means = np.stack([clustered[own == c].mean(axis=0) for c in range(len(sizes))]).astype(float)
    placed = []
    for point in np.asarray(points, dtype=float):
        c = int(np.argmin(np.linalg.norm(means - point, axis=1)))
        means[c] = (means[c] * sizes[c] + point) / (sizes[c] + 1)
        sizes[c] += 1
        placed.append(c)
    return placed, means


async def write_principles(members: Sequence[Sequence[Outline]], seed: int, render: Render, ask: Ask) -> list[Learned]:
    """Return the principle of each cluster, all at once, from a draw of its members."""
    return list(await asyncio.gather(*(_learn(c, own, seed, render, ask) for c, own in enumerate(members))))


async def revise(
    principles: Sequence[Principle],
    new: dict[int, list[Outline]],
    members: Sequence[Sequence[Outline]],
    seed: int,
    render: Render,
    ask: Ask,
) -> tuple[tuple[Principle, ...], tuple[str, ...]]:
    """Return the principles after new outlines joined clusters, all of these at once; one that failed before is learned
    anew.
    """
    hit = list(new)
    revised = await asyncio.gather(
        *(
            _tell(f"principle {c}, update", principles[c], new[c], render, ask)
            if principles[c].requirement and principles[c].preference
            else _learn(c, members[c], seed, render, ask)
            for c in hit
        )
    )
    after = dict(zip(hit, (principle for principle, _ in revised)))
    remaining = tuple(after.get(c, principle) for c, principle in enumerate(principles))
    return remaining, tuple(f for _, failed in revised for f in failed)


async def _learn(cluster: int, members: Sequence[Outline], seed: int, render: Render, ask: Ask) -> Learned:
    order = np.random.default_rng([seed, cluster]).permutation(len(members))
    drawn = [members[i] for i in order[:MEMBERS]]
    return await _tell(f"principle {cluster}", Principle("", ""), drawn, render, ask)


async def _tell(place: str, old: Principle, outlines: Sequence[Outline], render: Render, ask: Ask) -> Learned:
    """Return the principle that outlines show; where there is an old one it is revised, and stays where nothing new is
    told.
    """
    update = "_update" if old.requirement else ""
    known = {"general_requirement": old.requirement} if update else {}
    asked = render(f"h2_requirement{update}", requirements=[o.requirement for o in outlines], **known)
    requirement, lost = await _ask_for_text(place, "general_requirement", asked, ask)
    requirement = requirement or old.requirement
    preferences = [outline.preference for outline in outlines if outline.preference]
    if not requirement or not preferences:
        return Principle(requirement, old.preference), lost
    known = {"principle": old.preference} if update else {}
    asked = render(f"h2_principle{update}", general_requirement=requirement, preferences=preferences, **known)
    preference, further = await _ask_for_text(place, "principle", asked, ask)
    return Principle(requirement, preference or old.preference), lost + further


async def _ask_for_text(place: str, name: str, request: Any, ask: Ask) -> tuple[str, tuple[str, ...]]:
    """Return the text of this name in the answer; empty where it failed, and where an update changes nothing."""

    def read(data: Any) -> ParsedReply[str]:
        return read_text(name)(data) if data.get("adjust", True) else ParsedReply("")

    text, lost = await ask_checked(place, request, read, ask)
    return text or "", lost
