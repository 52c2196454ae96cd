"""The estimator: finds costs and patience of a made-up user, sees no truth, refuses what cannot be fitted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from patience_made import action_list, made

from perslib.errors import DataError, PerslibError, UnknownName
from perslib.systems.deus import Dialogues
from perslib.systems.deus.estimator import PatienceModel
from perslib.systems.deus.features import features


@pytest.fixture(scope="module")
def some():
    return made(200)


@pytest.fixture
def fitted(some):
    return PatienceModel().fit(some)


def changed(dialogues: Dialogues, change) -> Dialogues:
    return replace(dialogues, dialogues=tuple(change(d) for d in dialogues))


def test_is_an_estimator_of_the_usual_kind():
    model = PatienceModel(v_b=-2.0, loss="light")
    assert model.get_params()["v_b"] == -2.0
    assert model.set_params(v_b=-0.5).v_b == -0.5
    assert repr(model).startswith("PatienceModel(")


def test_recovers_costs_and_patience():
    model, test = PatienceModel().fit(made(900)), made(200, seed=9)
    turns, ends = model.turn_satisfaction(test), model.remaining_budget(test)
    costs = np.concatenate([d.true_costs for d in test])
    assert np.corrcoef(turns["satisfaction"], -costs)[0, 1] > 0.95
    assert np.corrcoef(ends["patience"], [d.true_patience for d in test])[0, 1] > 0.98
    known = test.status != 0
    assert (model.predict_status(test) == test.status)[known].mean() > 0.85


def test_frames_add_up(fitted, some):
    turns, ends = fitted.turn_satisfaction(some), fitted.remaining_budget(some)
    assert list(turns.columns) == ["dialogue", "user", "turn", "action", "satisfaction", "budget", "patience", "ahead"]
    assert len(turns) == some.turns.sum()
    by_dialogue = turns.groupby("dialogue", sort=False)
    np.testing.assert_allclose(by_dialogue["satisfaction"].sum(), -ends["cost"], rtol=1e-5)
    np.testing.assert_allclose(ends["patience"] - ends["cost"], ends["budget"], atol=1e-4)
    assert (turns.loc[turns["turn"] == 1, "budget"] < turns.loc[turns["turn"] == 1, "patience"]).all()
    first = by_dialogue.apply(lambda d: d["turn"][d["budget"] < 0].min(), include_groups=False)
    assert ends["first_spent"].astype(float).fillna(-1).tolist() == first.fillna(-1).tolist()
    assert fitted.predict_status(some).tolist() == [1 if b >= 0 else -1 for b in ends["budget"]]


@pytest.mark.parametrize("gamma", [None, 0.3])
def test_truth_changes_nothing(some, gamma):
    rng = np.random.default_rng(0)

    def shuffled(d):
        return replace(d, true_costs=rng.permutation(d.true_costs) * 3, true_patience=rng.random())

    other = changed(some, shuffled)
    with_truth, without = (PatienceModel(gamma=gamma).fit(data).turn_satisfaction(some) for data in (some, other))
    pd.testing.assert_frame_equal(with_truth, without)


def test_timeouts_are_dropped_failed_or_censored(some):
    short = made(200, limit=3)
    ended = int((short.status == 0).sum())
    assert ended > 20
    dropped, failed, censored = (PatienceModel(timeout=t).fit(short) for t in ("drop", "failed", "censored"))
    assert dropped.card_["fitted_on"]["dialogues"] == 200 - ended
    assert failed.card_["fitted_on"]["failed"] == (short.status == -1).sum() + ended
    assert censored.card_["fitted_on"]["dialogues"] == 200
    pd.testing.assert_frame_equal(
        dropped.turn_satisfaction(some), PatienceModel().fit(short.by_status(1, -1)).turn_satisfaction(some)
    )
    left = [m.remaining_budget(short)["budget"][short.status == 0].mean() for m in (failed, censored)]
    assert left[0] < left[1]


def test_padding_changes_nothing(fitted, some):
    alone = pd.concat([fitted.turn_satisfaction(some[[i]]) for i in range(20)], ignore_index=True)
    pd.testing.assert_frame_equal(alone, fitted.turn_satisfaction(some[:20]), rtol=1e-5)


def test_what_f_and_h_see(some):
    goal, state, atoms = 20, 9, 12
    shapes = {
        (): (state + atoms, goal),
        (("actions", "onehot"),): (state + 40, goal),
        (("actions", "none"),): (state, goal),
        (("profile", True),): (state + atoms, goal + 1),
    }
    for options, widths in shapes.items():
        seen = features(some, **dict(options))
        assert (seen.by_turn["turns"].shape[1], seen.goals.shape[1]) == widths


def test_parts_of_goals_add_up(some):
    seen = features(some, forward=True).by_turn
    goals = np.repeat(np.stack([d.goal for d in some]), some.turns, axis=0)
    np.testing.assert_array_equal(seen["rest"] + seen["done"], goals)
    assert seen["left"].tolist() == seen["rest"].any(axis=1).tolist()


def test_looking_forward_leaves_less(some):
    turns = PatienceModel(gamma=0.3).fit(some).turn_satisfaction(some)
    finished = np.concatenate([~d.rest.any(axis=1) for d in some])
    assert (turns["ahead"][finished] == 0).all()
    assert turns["ahead"][~finished].max() > 0
    assert (turns["ahead"] >= 0).all()


def test_saved_and_loaded_with_a_card(fitted, some, tmp_path):
    folder = fitted.save(tmp_path / "user")
    card = json.loads((folder / "card.json").read_text())
    assert card["fitted_on"]["dialogues"] == len(some.by_status(1, -1))
    assert card["action_list"] == some.action_list.digest
    assert card["parameters"]["v_b"] == -1.0
    loaded = PatienceModel.load(folder)
    assert loaded.get_params() == fitted.get_params()
    pd.testing.assert_frame_equal(loaded.turn_satisfaction(some), fitted.turn_satisfaction(some))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "card.json").read_text() == (folder / "card.json").read_text()


def test_saves_of_before_are_read_and_networks_are_refused(fitted, some, tmp_path):
    folder = fitted.save(tmp_path / "user")
    card = json.loads((folder / "card.json").read_text())
    for estimator in ("linear", "network"):
        old = card["parameters"] | {"estimator": estimator, "hidden": [64, 64], "epochs": 40, "batch": 64, "rate": 1e-3}
        (folder / "card.json").write_text(json.dumps({**card, "parameters": old, "epoch": 40}))
        if estimator == "linear":
            pd.testing.assert_frame_equal(
                PatienceModel.load(folder).turn_satisfaction(some), fitted.turn_satisfaction(some)
            )
    with pytest.raises(DataError, match="Fit its dialogues anew"):
        PatienceModel.load(folder)


def test_what_cannot_be_read_says_so(fitted, tmp_path):
    with pytest.raises(DataError, match="no fitted patience can be read here"):
        PatienceModel.load(tmp_path)
    folder = fitted.save(tmp_path / "user")
    (folder / "weights.npz").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="no fitted patience can be read here"):
        PatienceModel.load(folder)


def test_another_action_list_is_refused(fitted, some):
    other = replace(some, action_list=action_list(seed=2))
    with pytest.raises(DataError, match="fitted on another action list"):
        fitted.turn_satisfaction(other)


@pytest.mark.parametrize("status, word", [(1, "failed"), (-1, "succeeded")])
def test_one_way_to_end_is_refused(some, status, word):
    with pytest.raises(DataError, match=rf"None of the {(some.status == status).sum()} dialogues {word}.*"):
        PatienceModel().fit(some.by_status(status))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"loss": "fulll"}, UnknownName, "Did you mean full"),
        ({"v_b": 0.0}, PerslibError, "below 0"),
        ({"gamma": 1.5}, PerslibError, "0 < gamma"),
        ({"timeout": "keep"}, UnknownName, "timeout"),
    ],
)
def test_settings_that_make_no_sense_are_refused(some, options, error, message):
    with pytest.raises(error, match=message):
        PatienceModel(**options).fit(some)


def test_missing_parts_are_named(some):
    bare = changed(some, lambda d: replace(d, rest=None, profile=None))
    with pytest.raises(DataError, match="unfinished after each turn"):
        PatienceModel(gamma=0.3).fit(bare)
    with pytest.raises(DataError, match="no profile"):
        PatienceModel(profile=True).fit(bare)
    with pytest.raises(PerslibError, match="fit"):
        PatienceModel().turn_satisfaction(some)


def test_a_margin_finds_the_shape_exactly_and_none_the_least_costs_that_fit():
    train, test = made(900), made(200, seed=9)
    costs = np.concatenate([d.true_costs for d in test])
    found = {m: -PatienceModel(margin=m).fit(train).turn_satisfaction(test)["satisfaction"] for m in (0.0, 0.5)}
    np.testing.assert_allclose(found[0.5] / found[0.5].mean(), costs / costs.mean(), atol=0.01)
    assert found[0.0].mean() < found[0.5].mean() and 0.9 < np.corrcoef(found[0.0], costs)[0, 1] < 0.999
