"""The list of 300 actions: what is in it, and that it is the list it was."""

from __future__ import annotations

import json

import numpy as np

from perslib.systems.deus.world.actions import ATOMS, FILE, Atom, action_list

#: How many actions have how many slots. Templates of five and six are there so that costs reach 7.
SLOT_HISTOGRAM = {0: 11, 1: 185, 2: 72, 3: 20, 4: 8, 5: 3, 6: 1}


def test_three_hundred_distinct_actions_with_few_large_ones():
    actions = action_list()
    assert len({frozenset(t) for t in actions.templates}) == len(actions.templates) == 300
    slots, counts = np.unique(actions.slot_numbers, return_counts=True)
    assert dict(zip(slots.tolist(), counts.tolist(), strict=True)) == SLOT_HISTOGRAM
    assert len(ATOMS) == len(set(ATOMS)) == 97


def test_the_stored_list_is_the_one_that_was_drawn():
    actions = action_list()
    assert actions.digest == json.loads(FILE.read_text("utf-8"))["sha256"]
    assert {atom for template in actions.templates for atom in template} <= set(ATOMS)


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
    assert actions.multihot.sum() == sum(len(t) for t in actions.templates)
    assert actions.onehot.shape == (300, 300)
