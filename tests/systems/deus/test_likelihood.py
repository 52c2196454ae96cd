"""Costs and patience by likelihood: slopes are right, noise and leaving are found, unequal costs are told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from perslib.errors import PerslibError
from perslib.systems.deus import PatienceModel
from perslib.systems.deus.policies import exploring, rule, simulate_dialogues
from perslib.systems.deus.recovery import score_recovery
from perslib.systems.deus.world.users import user2, user3


def collect(user, number=300, seed=3):
    return simulate_dialogues(exploring(rule, 0.4), user, number, seed=seed)


def fit(dialogues, **settings):
    return PatienceModel(estimator="likelihood", **settings).fit(dialogues)


def step_r(model, dialogues):
    return score_recovery(model, dialogues).set_index("measure").at["step_r", "value"]


@pytest.mark.parametrize("gamma", [None, 0.3])
def test_the_slopes_are_those_of_the_chance(gamma):
    dialogues = collect(user2() if gamma is None else user3(gamma), 12)
    model = PatienceModel(gamma=gamma)
    chances = model._likelihood(dialogues, model._features(dialogues), dialogues.status)
    random = np.random.default_rng(0)
    x = np.append(random.uniform(0.1, 1.0, chances.ends[0].rows.shape[1]), [0.7, -2.0])
    counts = random.integers(0, 3, 12).astype(float)

    def lose(x):
        return chances._lose(x, 0.3, counts)

    np.testing.assert_allclose(lose(x)[1], approx_fprime(x, lambda x: lose(x)[0], 1e-6), atol=2e-3)


def test_exact_users_are_found_with_a_quarter_of_the_dialogues():
    train, test = collect(user2()), collect(user2(), seed=4)
    model = fit(train)
    assert step_r(model, test) > 0.97 > step_r(PatienceModel().fit(train), test)
    assert model.leaving_ < 0.01 and model.noise_ < 0.5


def test_users_who_leave_by_chance_do_not_spoil_the_costs():
    user = replace(user2(), quits=0.1)
    train, test = collect(user), collect(user, seed=4)
    model = fit(train)
    assert step_r(model, test) > 0.95 and step_r(PatienceModel().fit(train), test) < 0.6
    drawn = [own.leaving_ for own in model.resample(train, 8)]
    assert min(drawn) < model.leaving_ < max(drawn) and model.leaving_ == pytest.approx(0.1, abs=0.03)


def score(model, dialogues):
    return score_recovery(model, dialogues).set_index("measure")["value"]


@pytest.mark.simulation
@pytest.mark.parametrize("noise, quits", [(1.5, 0.0), (3.0, 0.0), (1.5, 0.1)])
def test_noise_chance_to_leave_and_the_scale_of_costs_are_recovered(noise, quits):
    train = collect(replace(user2(), noise=noise, quits=quits), 800)
    model = fit(train)
    drawn = model.resample(train, 20)
    for name, truth in (("noise_", noise), ("leaving_", quits)):
        spread = np.std([getattr(own, name) for own in drawn])
        assert getattr(model, name) == pytest.approx(truth, abs=3 * spread + 0.01)
    assert score(model, train)["slope"] == pytest.approx(1, abs=0.15)


@pytest.mark.simulation
def test_users_who_look_forward_are_fitted_under_noise_and_leaving_too():
    user = replace(user3(0.3), noise=1.5, quits=0.1)
    train, test = collect(user, 500), collect(user, seed=4)
    forward, plain = score(fit(train, gamma=0.3), test), score(PatienceModel(gamma=0.3).fit(train), test)
    assert forward["step_r"] > 0.95 > plain["step_r"] + 0.1 and forward["slope"] == pytest.approx(1, abs=0.25)


def test_requests_that_cost_three_times_as_much_are_told_apart():
    dialogues = collect(user2(), 800)
    names = [str(name) for name in dialogues.action_list.atoms]
    asking = np.array([name.startswith("request") for name in names])
    rows = dialogues.action_list.multihot
    cost = 1 + rows @ np.where(asking, 3.0, np.array(["(" in n and "." in n for n in names], dtype=float))
    random, kept = np.random.default_rng(5), []
    for d in dialogues:
        patience = d.true_patience + 1.5 * random.standard_normal() + 4
        spent = np.cumsum(cost[d.actions])
        ends = int(np.argmax(spent > patience)) if spent[-1] > patience else len(d.actions) - 1
        is_left = spent[-1] > patience
        kept.append(
            replace(
                d,
                actions=d.actions[: ends + 1],
                states=d.states[: ends + 1],
                status=-1 if is_left else d.status,
                true_costs=cost[d.actions][: ends + 1],
                rest=None,
            )
        )
    model = fit(replace(dialogues, dialogues=tuple(d for d in kept if d.status)))
    weights = model.likely_.costs[-1 - len(names) : -1]
    often = rows[np.concatenate([d.actions for d in kept])].sum(axis=0) > 40
    assert weights[asking & often].mean() > 1.5 * weights[~asking & often].mean()


def test_it_is_stored_and_read_again(tmp_path):
    train = collect(user2(), 150)
    model = fit(train)
    again = PatienceModel.load(model.save(tmp_path / "m"))
    assert (again.noise_, again.leaving_) == (model.noise_, model.leaving_)
    np.testing.assert_array_equal(again.predict_status(train), model.predict_status(train))
    drawn, drawn_again = (own.resample(train, 2) for own in (model, again))
    assert [own.leaving_ for own in drawn] == [own.leaving_ for own in drawn_again]


def test_resamples_are_of_the_dialogues_that_the_fit_took():
    train = collect(replace(user2(), max_turns=6), 120)
    model = fit(train, timeout="failed")
    assert (train.status == 0).any() and len(model._select_ended(train)[0]) == len(train)
    assert all(own.f_.weights.shape == model.f_.weights.shape for own in model.resample(train, 2))


@pytest.mark.parametrize("settings", [{"actions": "none"}, {"timeout": "censored"}])
def test_what_the_likelihood_does_not_cover_is_refused(settings):
    with pytest.raises(PerslibError, match="estimator='linear'"):
        fit(collect(user2(), 60), **settings)


def test_only_the_likelihood_is_resampled():
    dialogues = collect(user2(), 60)
    with pytest.raises(PerslibError, match="estimator='likelihood'"):
        PatienceModel().fit(dialogues).resample(dialogues)
