"""Dialogues: what is refused and by what name, and that what is saved comes back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perslib.errors import DataError
from perslib.systems.deus import Actions, Dialogue, Dialogues

ACTIONS = Actions(("greet", "inform(food)"), ("greet", "inform", "food"), np.eye(2, 3, dtype=np.float32))
ONE = Dialogue(
    goal=np.array([1, 0], np.float32),
    states=np.zeros((3, 4), np.float32),
    actions=np.array([0, 1, 1]),
    status=1,
    reason="success",
    rest=np.array([[1, 0], [1, 0], [0, 0]], np.float32),
    user="user2",
    id="a",
    true_costs=np.array([1, 2, 2], np.float32),
    true_patience=7.0,
)
BARE = replace(ONE, id="b", status=-1, reason="budget", rest=None, true_costs=None, true_patience=None)


def made(*dialogues: Dialogue) -> Dialogues:
    return Dialogues(dialogues, ACTIONS, ("g1", "g2"), ("s1", "s2", "s3", "s4"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"actions": np.array([], int), "states": np.zeros((0, 4))}, "has no turns"),
        ({"actions": np.array([0, 2, 1])}, "turn 2 has action 2, the list has 2"),
        ({"goal": np.zeros(2, np.float32)}, "goal has nothing to do"),
        ({"states": np.full((3, 4), np.nan)}, "states holds NaN"),
        ({"states": np.zeros((3, 5))}, r"states has shape \(3, 5\), expected \(3, 4\)"),
        ({"status": 2}, "status is 2"),
        ({"profile": np.zeros(1)}, "profile has shape"),
    ],
)
def test_what_is_wrong_is_named_with_its_dialogue(change, says):
    with pytest.raises(DataError, match=f"dialogue bad: .*{says}"):
        made(ONE, replace(ONE, id="bad", **change))


def test_saved_dialogues_come_back(tmp_path):
    path = made(ONE, BARE).save(tmp_path / "folder" / "dialogues.parquet")
    read = Dialogues.read(path)
    assert read.action_list.digest == ACTIONS.digest and read.goal_names == ("g1", "g2")
    for was, now in zip(made(ONE, BARE), read, strict=True):
        assert (was.id, was.status, was.reason, was.true_patience) == (
            now.id,
            now.status,
            now.reason,
            now.true_patience,
        )
        for name in ("goal", "states", "actions", "rest", "true_costs"):
            np.testing.assert_array_equal(getattr(was, name), getattr(now, name))
    assert read[1].rest is None and read[1].true_costs is None


def test_a_file_that_holds_no_dialogues_is_named(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"x\.parquet"):
        Dialogues.read(tmp_path / "x.parquet")


def test_selection():
    both = made(ONE, BARE)
    assert [d.id for d in both.by_status(-1)] == ["b"]
    assert sum(len(part) for part in both.split(seed=1, share=0.5)) == 2
    assert [d.id for d in both[::-1]] == ["b", "a"] and both[-1] is both.dialogues[1]


def test_action_lists_are_told_apart():
    assert Actions(("greet", "inform(area)"), ACTIONS.atoms, ACTIONS.multihot).digest != ACTIONS.digest
