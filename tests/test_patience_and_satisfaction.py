"""Patience learned from outcomes, held against ratings: what counts as success, folds, controls, and the page's words."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from perslib.corpus import load
from perslib.errors import UnknownName
from perslib.report import begin
from perslib.studies import patience_and_satisfaction as study
from perslib.studies import patience_and_satisfaction_shown as shown
from perslib.text import using_language


@pytest.fixture(scope="module")
def world():
    whole = load("sample/en")
    return whole.of_users(sorted(whole.users["user"])[:8])


@pytest.fixture(scope="module")
def known(world):
    return study.ended(world, least=5)


@pytest.fixture(scope="module")
def estimates(known):
    pytest.importorskip("torch")
    return study.estimated(known)


@pytest.fixture(autouse=True)
def page():
    begin(language="en")
    yield
    plt.close("all")


def test_success_is_read_from_the_end_and_that_turn_is_not_compared(world, known):
    last = world.turns.drop_duplicates(["user", "scenario", "session"], keep="last")
    assert len(known.dialogues) == len(world.sessions)
    assert known.successes == (last["score"] >= 5).sum() < study.ended(world).successes
    assert known.turns["compared"].sum() == len(world.turns) - len(world.sessions)
    assert known.turns["rating"].tolist() == world.turns["score"].astype(float).tolist()
    assert (known.turns.groupby("dialogue", sort=False).size().to_numpy() == known.dialogues.turns).all()
    recorded = study.ended(world, "recorded")
    assert recorded.successes == world.sessions["success"].sum() and recorded.turns["compared"].all()
    assert "task was accomplished" in shown.endings(recorded, 4)
    with pytest.raises(UnknownName):
        study.ended(world, "smile")


def test_no_rating_of_a_compared_turn_enters_the_fit(world, known):
    other = world.turns["score"].where(world.turns["score"] == 5, 5).astype("Int64")
    last = ~world.turns.duplicated(["user", "scenario", "session"], keep="last")
    turns = world.turns.assign(score=world.turns["score"].where(last, other), reason=None)
    changed = study.ended(replace(world, turns=turns), least=5)
    assert (changed.dialogues.status == known.dialogues.status).all()
    for one, two in zip(known.dialogues, changed.dialogues):
        assert np.array_equal(one.states, two.states)


def test_success_without_any_rating(world):
    unrated = replace(world, turns=world.turns.assign(score=None, reason=None), extras={})
    by_behaviour = study.ended(unrated, "behaviour")
    assert 0 < by_behaviour.successes <= len(by_behaviour.dialogues)
    assert not by_behaviour.turns["compared"].any()
    nothing = study.ended(unrated, "last rating")
    assert len(nothing.dialogues) == 0 and not nothing.both_ways
    assert "too rare" in shown.endings(nothing, 4)


def test_estimates_stand_beside_their_controls(estimates, known):
    compared = study.compared(estimates, resamples=200)
    assert set(compared["judge"]) == set(study.PREDICTORS)
    own = compared.set_index(["judge", "metric"])
    turns = estimates[estimates["compared"]]
    assert own.loc[("outcome alone", "pearson"), "value"] == pytest.approx(
        turns["status"].corr(turns["rating"])
    )
    f = own.loc[(study.F, "pearson")]
    assert f["gain"] == pytest.approx(f["value"] - own.loc[(f["control"], "pearson"), "value"])
    assert f["control"] in study.CONTROLS and f["control"] != "outcome alone"
    assert own.loc[(study.RIDGE, "pearson"), "value_low"] > 0
    assert len(shown.agreement_table(compared)) == len(study.PREDICTORS)
    assert shown.means_figure(shown.by_rating(estimates)).axes
    note = shown.found(estimates, compared, 0.53)
    assert "r = .530" in note
    with using_language("zh"):
        assert "平衡准确率" in shown.found(estimates, compared, 0.53) and "打分高" in shown.persons(compared)
    without = compared[~compared["judge"].str.endswith(study.USER)]
    assert "rarely return" in shown.persons(without)


def test_the_fit_finds_costs_where_people_leave_because_of_them():
    pytest.importorskip("torch")
    assert study.where_it_holds(400, "en") > 0.4


def test_the_budget_at_the_end_foretells():
    ends = pd.DataFrame(
        {"dialogue": list("aabcd"), "status": [1, 1, 1, -1, -1], study.BUDGET: [-1, 1, -1, -1, -2]}
    )
    value, low, _ = study.foretold(ends.assign(user="u"))
    assert value == pytest.approx(0.75) and np.isnan(low)  # one user says nothing of users
