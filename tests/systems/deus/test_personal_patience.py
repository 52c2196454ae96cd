"""Patience of people: what their profile says enters h and is found again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from patience_made import EFFECTS, people

from perslib.errors import DataError
from perslib.stats import correlation
from perslib.systems.deus import PatienceModel, score_recovery
from perslib.systems.deus.policies import exploring, rule, simulate_dialogues
from perslib.systems.deus.user_profiles import make_profiles, relative_patience, split_by_user, with_profiles
from perslib.systems.deus.world.users import user2
from perslib.worlds import world


def test_the_strict_are_less_patient():
    found = make_profiles(12, 42)
    truth = world(users=12, seed=42, language="en").extras["truth_users"]
    strict = truth.set_index("user")["strictness"]
    scale = [p.user.scale for p in found]
    assert np.corrcoef(scale, [strict[p.user.kind] for p in found])[0, 1] < -0.95
    assert 0.89 < min(scale) < 1.3 < 1.6 < max(scale) < 2.11
    assert all(word.startswith("personality: ") for p in found for word in p.words)
    assert not hasattr(found[0].user, "strictness")


def test_profiles_are_added_by_user_and_rare_entries_left_out():
    dialogues = simulate_dialogues(rule, user2(), 4)
    words = {"user2": ("a", "b"), "x": ("a",), "y": ("a", "b"), "z": ("c", "b")}
    with_words = with_profiles(dialogues, words)
    assert with_words.profile_names == ("a", "b")
    assert with_words[0].profile.tolist() == [1, 1]
    with pytest.raises(DataError, match="no profile of user2"):
        with_profiles(dialogues, {"x": ("a",)})


def test_nobody_is_on_both_sides():
    dialogues = simulate_dialogues(rule, list(people(10)), 50)
    train, test = split_by_user(dialogues)
    assert len(train) + len(test) == 50
    sides = [{d.user for d in part} for part in (train, test)]
    assert not sides[0] & sides[1]
    assert len(sides[0]) == 7


def test_patience_is_measured_against_the_task():
    class Twice:
        def remaining_budget(self, dialogues):

            return pd.DataFrame({"patience": [2 * d.goal.sum() for d in dialogues]})

    dialogues = simulate_dialogues(rule, list(people(5)), 25)
    found = relative_patience(Twice(), dialogues)
    assert found["estimated"].tolist() == pytest.approx([2.0] * 5)
    assert found["dialogues"].tolist() == [5] * 5
    assert found["true"].min() < 1.5 < found["true"].max()


@pytest.mark.simulation
def test_the_profile_recovers_who_is_patient():
    users = people(40, seed=3)
    dialogues = simulate_dialogues(exploring(rule, 0.3), list(users), 900, seed=1)
    dialogues = with_profiles(dialogues, {user.kind: traits for user, traits in users.items()})
    assert set(dialogues.profile_names) == set(EFFECTS)
    train, test = split_by_user(dialogues)
    r, h_r = {}, {}
    for profile in (False, True):
        model = PatienceModel(profile=profile).fit(train)
        found = relative_patience(model, test)
        r[profile] = correlation(found["estimated"], found["true"], found["user"])
        h_r[profile] = score_recovery(model, test).set_index("measure").at["h_r", "value"]
    assert r[True][0] > 0.8 and r[False][0] < 0.5
    assert r[True][1] > r[False][0]
    assert h_r[True] > h_r[False]
