"""The list of 300 actions: what is in it, that it is drawn the same each time, and that a changed list is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perslib.errors import DataError
from perslib.patience.actions import ATOMS, FILE, SLOT_HISTOGRAM, Atom, action_list, draw, write


def test_three_hundred_distinct_actions_with_few_large_ones():
    actions = action_list()
    assert len({frozenset(t) for t in actions.templates}) == len(actions.templates) == 300
    slots, counts = np.unique(actions.slot_numbers, return_counts=True)
    assert dict(zip(slots.tolist(), counts.tolist(), strict=True)) == SLOT_HISTOGRAM
    assert len(ATOMS) == len(set(ATOMS)) == 97


def test_the_stored_list_is_the_drawn_one():
    assert draw().templates == action_list().templates
    assert draw(seed=8).features.digest != action_list().features.digest


def test_slot_number_counts_real_slots_and_a_booking_reference():
    actions = action_list()
    phone, booking, more = Atom("hotel", "inform", "phone"), Atom("hotel", "book", "ref"), Atom("", "reqmore")
    for atoms, slots in (((more,), 0), ((Atom("hotel", "nooffer"),), 0), ((phone, more), 1), ((booking,), 1)):
        action = actions.index(*atoms)
        assert set(actions.templates[action]) == set(atoms)
        assert actions.slot_numbers[action] == slots


def test_every_atom_with_a_slot_can_be_said_alone():
    singles = {t[0] for t in action_list().templates if len(t) == 1}
    assert {atom for atom in ATOMS if atom.slot} <= singles


def test_what_is_not_in_the_list_becomes_the_nearest():
    actions = action_list()
    wanted = [Atom("hospital", "inform", s) for s in ("address", "phone", "postcode", "department")]
    nearest = set(actions.templates[actions.index(*wanted, Atom("", "greet"))])
    assert nearest == set(wanted)


def test_features_are_the_atoms():
    actions = action_list()
    assert actions.features.multihot.sum() == sum(len(t) for t in actions.templates)
    assert actions.features.onehot.shape == (300, 300)


def test_a_changed_list_is_refused(tmp_path):
    stored = json.loads(FILE.read_text("utf-8"))
    stored["templates"][5][0][0] = "hotel"
    changed = tmp_path / "actions.json"
    changed.write_text(json.dumps(stored), "utf-8")
    with pytest.raises(DataError, match="stored sha256"):
        action_list(changed)
    stored["templates"][5][0] = ["zoo", "inform", "animal"]
    unknown = tmp_path / "unknown.json"
    unknown.write_text(json.dumps(stored), "utf-8")
    with pytest.raises(DataError, match=r"inform\(zoo\.animal\)"):
        action_list(unknown)
    assert write(file=tmp_path / "again.json").features.digest == action_list().features.digest
