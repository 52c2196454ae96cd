"""H²Memory's clusters: k-means with its rules, centroids that move, principles learned and revised."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from h2_mind import Mind

from perslib.llm import parse
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.memory.h2.outlines import assign_clusters, clusters, revise, write_principles
from perslib.systems.mem_pal.memory.h2.store import Outline, Principle
from perslib.systems.mem_pal.memory.long_term import nearest

RENDER = H2Memory().render


def outline(i: int, preference: str = "calm") -> Outline:
    return Outline(f"s_topic{i}", (1, 1), f"wish {i}", f"wish {i}", (), preference)


def test_a_centroid_moves_before_the_next_point_is_placed():
    points = np.array([(0.2, 0.6), (0.5, 0.5), (0.55, 0.5)])
    old, labels = np.array([(1.0, 0.0), (1.0, 0.1), (1.0, -0.1), (0.0, 1.0)]), [0, 0, 0, 1]
    placed, means = assign_clusters(points, old, labels)
    assert placed == [1, 1, 1]
    assert means == pytest.approx(np.array([(1, 0), (0.3125, 0.65)]))
    two = assign_clusters(points[:2], old, labels)[1]
    assert two[1] == pytest.approx((0.233333, 0.7), abs=1e-6)
    unmoved = np.linalg.norm(np.array([(1.0, 0.0), (0.0, 1.0)]) - points[2], axis=1)
    assert int(unmoved.argmin()) == 0  # where centroids stood still, the third would be elsewhere


def test_a_moved_centroid_is_the_mean_of_its_members():
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=(20, 5)), rng.normal(size=(30, 5))
    labels = [i % 4 for i in range(20)]
    placed, moved = assign_clusters(new, old, labels)
    every, own = np.vstack([old, new]), np.array(labels + placed)
    assert moved == pytest.approx(np.stack([every[own == c].mean(axis=0) for c in range(4)]))


def test_equally_near_rows_come_in_their_order():
    rows = np.array([(2, 0), (0.5, 0.4), (-1, 1), (0, 3)])
    assert nearest(np.array([1, 1]), rows, 3) == [1, 0, 3]
    assert nearest(np.array([1, 1]), rows, 9) == [1, 0, 3, 2]


@pytest.mark.parametrize(("points", "expected"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2), (15, 7), (16, 8), (90, 8)])
def test_eight_clusters_or_half_as_many_as_outlines(points, expected):
    drawn = np.random.default_rng(3).normal(size=(points, 6))
    assert len(set(clusters(drawn)) if points else ()) == expected


def test_clusters_are_seeded_and_numbered_as_they_come_up():
    drawn = np.random.default_rng(5).normal(size=(40, 6))
    first = clusters(drawn, 7)
    assert first == clusters(drawn, 7) and list(dict.fromkeys(first)) == list(range(8))


def test_runs_with_a_lonely_member_are_repeated():
    pairs = np.repeat(np.eye(8), 2, axis=0) + np.random.default_rng(0).normal(scale=0.01, size=(16, 8))
    labels = clusters(pairs)
    assert np.bincount(labels).tolist() == [2] * 8 and labels[::2] == labels[1::2]


def test_equal_requirements_make_fewer_clusters_without_a_warning():
    assert clusters(np.ones((20, 3))) == [0] * 20
    assert len(set(clusters(np.repeat(np.eye(3), 8, axis=0)))) == 3


def test_a_principle_is_learned_in_two_questions_from_ten_members_at_most():
    mind = Mind()
    learned = mind.work(partial(write_principles, [[outline(i) for i in range(25)], [outline(99)]], 42, RENDER))
    assert mind.rounds == [2, 2]
    assert mind.of("h2_requirement")[0].count("\n- wish") == mind.of("h2_principle")[0].count("\n- calm") == 10
    assert learned[1] == (Principle("kind of wish 99", "always calm"), ())
    other = Mind()
    other.work(partial(write_principles, [[outline(i) for i in range(25)], [outline(99)]], 42, RENDER))
    assert mind.asked == other.asked  # the draw is seeded


def test_only_clusters_that_were_joined_are_revised_and_no_keeps_the_text():
    mind = Mind()
    old = [Principle("a", "b"), Principle("c", "d")]
    kept, failed = mind.work(partial(revise, old, {1: [outline(3)]}, [[], [outline(3)]], 42, RENDER))
    assert kept == (Principle("a", "b"), Principle("c", "now calm")) and failed == ()
    assert mind.rounds == [1, 1]
    assert "<<<kind of requirement>>>\nc\n" in mind.of("h2_principle_update")[0]


def test_a_revision_that_fails_keeps_the_principle_and_one_never_learned_is_learned():
    mind = Mind(lambda name, r: {"adjust": True, "principle": "  "} if name == "h2_principle_update" else None)
    old = [Principle("", ""), Principle("c", "d")]
    members = [[outline(1), outline(2)], [outline(3)]]
    kept, failed = mind.work(partial(revise, old, {1: [outline(3)], 0: [outline(2)]}, members, 42, RENDER))
    assert kept[1] == Principle("c", "d") and failed == ("principle 1, update: principle is empty",)
    assert kept[0].requirement.startswith("kind of wish") and kept[0].preference == "always calm"


def test_an_answer_in_a_fence_is_read():
    schema = RENDER("h2_requirement", requirements=["a"]).schema
    assert parse('```json\n{"general_requirement": "walks"}\n```', schema)[0] == {"general_requirement": "walks"}
