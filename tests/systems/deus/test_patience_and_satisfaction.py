"""Patience learned from outcomes, held against ratings: what counts as success, folds, and controls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import load
from perslib.errors import UnknownName
from perslib.report.show.tables import agreement_table
from perslib.stats.resample import leave_one_out
from perslib.systems.deus.studies import patience_and_satisfaction as study


@pytest.fixture(scope="module")
def world():
    whole = load("sample/en")
    return whole.of_users(sorted(whole.users["user"])[:12])


@pytest.fixture(scope="module")
def known(world):
    return study.read_endings(world, least=5)


@pytest.fixture(scope="module")
def estimates(known):
    return study.estimate_turns(known)


@pytest.mark.sample
def test_success_is_read_from_the_end_and_that_turn_is_not_compared(world, known):
    last = world.turns.drop_duplicates(["user", "scenario", "session"], keep="last")
    assert len(known.dialogues) == len(world.sessions)
    assert known.success_rate == (last["score"] >= 5).mean() < study.read_endings(world).success_rate
    assert known.turns["compared"].sum() == len(world.turns) - len(world.sessions)
    assert known.turns["rating"].tolist() == world.turns["score"].astype(float).tolist()
    assert (known.turns.groupby("dialogue", sort=False).size().to_numpy() == known.dialogues.turns).all()
    recorded = study.read_endings(world, "recorded")
    assert recorded.success_rate == world.sessions["success"].mean() and recorded.turns["compared"].all()
    with pytest.raises(UnknownName):
        study.read_endings(world, "smile")


@pytest.mark.simulation
def test_no_rating_of_a_compared_turn_enters_the_fit(world, known):
    other = world.turns["score"].where(world.turns["score"] == 5, 5).astype("Int64")
    last = ~world.turns.duplicated(["user", "scenario", "session"], keep="last")
    turns = world.turns.assign(score=world.turns["score"].where(last, other), reason=None)
    changed = study.read_endings(replace(world, turns=turns), least=5)
    assert (changed.dialogues.status == known.dialogues.status).all()
    for one, two in zip(known.dialogues, changed.dialogues):
        assert np.array_equal(one.states, two.states)


def test_success_without_any_rating(world):
    unrated = replace(world, turns=world.turns.assign(score=None, reason=None), extras={})
    by_behaviour = study.read_endings(unrated, "behaviour")
    assert 0 < by_behaviour.success_rate <= 1
    assert not by_behaviour.turns["compared"].any() and not by_behaviour.has_enough_turns
    nothing = study.read_endings(unrated, "last rating")
    assert len(nothing.dialogues) == 0 and not nothing.has_both_endings and nothing.success_rate == 0


@pytest.mark.simulation
def test_estimates_stand_beside_their_controls(estimates, world):
    compared = study.compare_with_ratings(estimates, world)
    assert set(compared["judge"]) == set(study.PREDICTORS)
    own = compared.set_index(["judge", "metric"])
    turns = estimates[estimates["compared"]]
    assert own.loc[("outcome alone", "pearson"), "value"] == pytest.approx(turns["status"].corr(turns["rating"]))
    f = own.loc[(study.F, "pearson")]
    assert f["gain"] == pytest.approx(f["value"] - own.loc[(f["control"], "pearson"), "value"])
    assert f["control"] in study.CONTROLS and f["control"] != "outcome alone"
    assert own.loc[(study.RIDGE, "pearson"), "value_low"] > 0
    table = agreement_table(compared, study.METRICS, gains=study.METRICS)
    assert len(table) == len(study.PREDICTORS) and "backbone" not in table


def test_what_the_page_says_of_the_comparison(estimates, world, monkeypatch):
    compared = study.compare_with_ratings(estimates, world)
    facts = study.summarize_comparison(estimates, compared)
    assert facts["control"]["judge"] == facts["f_within"]["control"]
    assert facts["budget"]["metric"] == facts["f_within"]["metric"] == "wc_pearson"
    assert facts["accuracy"].value == study.predict_outcomes(estimates)["accuracy"] and facts["accuracy"].line == 0.5
    assert 0.5 <= facts["same"] <= 1
    monkeypatch.setattr(leave_one_out, "FEWEST_CARRIERS", 5)  # there are twelve users
    better = compared.assign(gain=0.1, gain_low=0.05, gain_high=0.15, gain_p_holm=0.01)
    # All outcomes are predicted but every tenth, so that users differ.
    missed = estimates["dialogue"].factorize()[0] % 10 == 0
    sure = estimates.assign(**{study.BUDGET: np.where(missed, -estimates["status"], estimates["status"])})
    assert study.summarize_comparison(sure, better)["learned"] == "above"
    assert study.summarize_comparison(sure, better.assign(gain_p_holm=0.3))["learned"] == "below"
    worse = better.assign(gain=-0.1, gain_low=-0.15, gain_high=-0.05)
    assert study.summarize_comparison(sure, worse)["difference"].side == "below"
    assert study.summarize_comparison(sure.assign(**{study.BUDGET: 1.0}), better)["learned"] in ("open", "unknown")
    assert study.summarize_comparison(sure.assign(**{study.F: 1.0}), better)["is_flat"] and not facts["is_flat"]


def test_means_at_each_rating_are_in_standard_deviations(estimates):
    means = study.average_by_rating(estimates)
    own = means[means["predictor"] == study.F]
    assert np.average(own["mean"], weights=own["turns"]) == pytest.approx(0)


def test_users_who_hardly_return_are_not_known(known):
    once = replace(known.dialogues, dialogues=tuple(replace(d, user=str(i)) for i, d in enumerate(known.dialogues)))
    assert known.has_returning_users and not replace(known, dialogues=once).has_returning_users


@pytest.mark.simulation
def test_the_fit_finds_costs_where_people_leave_because_of_them():
    assert study.correlate_simulated(400, "en") > 0.4


def test_the_budget_at_the_end_foretells():
    ends = pd.DataFrame({"dialogue": list("aabcd"), "status": [1, 1, 1, -1, -1], study.BUDGET: [-1, 1, -1, -1, -2]})
    found = study.predict_outcomes(ends.assign(user="u"))
    assert found["accuracy"] == pytest.approx(0.75)
    assert np.isnan(found["accuracy_low"])  # one user says nothing of users
