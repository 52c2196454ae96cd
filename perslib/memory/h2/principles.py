"""Principles (Mem-PAL, M_P): what a user prefers in each kind of requirement, from clusters of similar outlines.

Learned once from a whole past: k-means over the refined requirements, then of each cluster the requirement in general
(γ) and what the user prefers there (ρ). Since then online: an outline joins the nearest cluster, whose centroid moves,
c ← (c·n + x)/(n + 1), before the next outline is placed; γ and ρ of the clusters that were joined are revised.

A centroid that moves so is the mean of its members, so it is counted anew from them and never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from perslib.llm import Steps, side_by_side
from perslib.memory.checked import Question, Reading, checked, failures
from perslib.memory.h2.log_graph import Render
from perslib.memory.h2.store import Outline, Principle

CLUSTERS, FEWEST, RUNS, MEMBERS = 8, 2, 100, 10
"""Clusters, members that each should have, runs to get there, and members that are shown of each."""

Points = npt.NDArray[np.floating[Any]]
Learned = tuple[Principle, tuple[str, ...]]
"""A principle, and what failed."""


def clusters(points: Points, seed: int = 42) -> list[int]:
    """The cluster of each point, numbered in the order they come up: 8 of them, or n // 2 where n < 16.

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


def centroids(points: Points, labels: Sequence[int], count: int) -> tuple[Points, list[int]]:
    """Mean and number of each cluster's points; every cluster has some."""
    own = np.asarray(labels)
    sizes = [int((own == c).sum()) for c in range(count)]
    return np.stack([points[own == c].mean(axis=0) for c in range(count)]), sizes


def join(points: Points, means: Points, sizes: Sequence[int]) -> tuple[list[int], Points, list[int]]:
    """Place points one after another in the nearest cluster (Euclidean, the first of equals), moving its centroid."""
    means, sizes = np.array(means, dtype=float), list(sizes)
    placed = []
    for point in np.asarray(points, dtype=float):
        c = int(np.argmin(np.linalg.norm(means - point, axis=1)))
        means[c] = (means[c] * sizes[c] + point) / (sizes[c] + 1)
        sizes[c] += 1
        placed.append(c)
    return placed, means, sizes


def learn(members: Sequence[Sequence[Outline]], seed: int, render: Render) -> Steps[list[Learned]]:
    """The principle of each cluster, all at once, from a draw of its members."""
    return (yield from side_by_side(_learn(c, own, seed, render) for c, own in enumerate(members)))


def revise(
    principles: Sequence[Principle],
    new: dict[int, list[Outline]],
    members: Sequence[Sequence[Outline]],
    seed: int,
    render: Render,
) -> Steps[tuple[tuple[Principle, ...], tuple[str, ...]]]:
    """The principles after new outlines joined clusters, all of these at once; one that failed before is learned anew."""
    hit = list(new)
    found = yield from side_by_side(
        _revise(c, principles[c], new[c], render)
        if principles[c].requirement and principles[c].preference
        else _learn(c, members[c], seed, render)
        for c in hit
    )
    after = dict(zip(hit, (principle for principle, _ in found)))
    kept = tuple(after.get(c, principle) for c, principle in enumerate(principles))
    return kept, tuple(f for _, failed in found for f in failed)


def _learn(cluster: int, members: Sequence[Outline], seed: int, render: Render) -> Steps[Learned]:
    order = np.random.default_rng([seed, cluster]).permutation(len(members))
    drawn = [members[i] for i in order[:MEMBERS]]
    place = f"principle {cluster}"
    requirement, lost = yield from _said(
        place, "general_requirement", render("h2_requirement", requirements=[o.requirement for o in drawn])
    )
    preferences = _preferences(drawn)
    if not requirement or not preferences:
        return Principle(requirement, ""), lost
    asked = render("h2_principle", general_requirement=requirement, preferences=preferences)
    preference, further = yield from _said(place, "principle", asked)
    return Principle(requirement, preference), lost + further


def _revise(cluster: int, old: Principle, new: Sequence[Outline], render: Render) -> Steps[Learned]:
    place = f"principle {cluster}, update"
    asked = render(
        "h2_requirement_update",
        general_requirement=old.requirement,
        requirements=[outline.requirement for outline in new],
    )
    requirement, lost = yield from _said(place, "general_requirement", asked)
    requirement = requirement or old.requirement
    if not (preferences := _preferences(new)):
        return Principle(requirement, old.preference), lost
    asked = render(
        "h2_principle_update",
        general_requirement=requirement,
        principle=old.preference,
        preferences=preferences,
    )
    preference, further = yield from _said(place, "principle", asked)
    return Principle(requirement, preference or old.preference), lost + further


def _preferences(outlines: Sequence[Outline]) -> list[str]:
    return [outline.preference for outline in outlines if outline.preference]


def _said(place: str, name: str, request: Any) -> Steps[tuple[str, tuple[str, ...]]]:
    """The text of this name in the answer; empty where it failed, and where an update changes nothing."""
    question = Question(place, request, partial(_read, name=name))
    (reading,) = yield from checked([question])
    return reading.value or "", failures([question], [reading])


def _read(data: Any, name: str) -> Reading[str]:
    if not data.get("adjust", True):
        return Reading("")
    said = data[name].strip()
    return Reading(said) if said else Reading(None, (f"{name} is empty",))
