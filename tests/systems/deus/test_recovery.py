"""What recovery measures, on estimates worked out by hand and on a quick fit of simulated dialogues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from patience_made import made

from perslib.errors import DataError
from perslib.systems.deus import recovery as module
from perslib.systems.deus.estimator import PatienceModel, status_accuracy
from perslib.systems.deus.policies import exploring, patient, rule, simulate_dialogues
from perslib.systems.deus.published import LEVELS, REWARD_SHARES
from perslib.systems.deus.recovery import levels, reward_shares, score_recovery
from perslib.systems.deus.world.users import user2, user3


class Known:
    """An estimator that answers with factor · true reward + shift (+ what `noise` says), and true patience."""

    v_b = -2.0

    def __init__(self, dialogues, factor=1.0, shift=0.0, noise=0.0, patience=1.0):
        self.d, self.factor, self.shift, self.noise, self.patience = dialogues, factor, shift, noise, patience

    def turn_satisfaction(self, dialogues):
        true = np.concatenate([-d.true_costs for d in dialogues]).astype(float)
        f = self.factor * true + self.shift + self.noise * np.where(np.arange(len(true)) % 2, 1, -1)
        of = np.repeat(np.arange(len(dialogues)), dialogues.turns)
        h = self.patience * np.array([d.true_patience for d in dialogues])
        budget = pd.Series(f).groupby(of).cumsum().to_numpy() + h[of]
        turn = np.concatenate([np.arange(1, n + 1) for n in dialogues.turns])
        return pd.DataFrame(
            {
                "dialogue": of,
                "user": "",
                "turn": turn,
                "satisfaction": f,
                "budget": budget,
                "patience": h[of],
                "ahead": 0.0,
            }
        )

    remaining_budget = PatienceModel.remaining_budget


@pytest.fixture(scope="module")
def some():
    return made(150)


def values(model, dialogues):
    return score_recovery(model, dialogues).set_index("measure")["value"]


def test_the_truth_itself_is_fully_recovered(some):
    found = values(Known(some), some)
    assert found[["step_r", "level_r", "slope", "h_r"]].tolist() == pytest.approx([1, 1, 1, 1])
    assert found["slope_per_v_b"] == pytest.approx(0.5)
    assert found[["intercept", "within_std"]].tolist() == pytest.approx([0, 0], abs=1e-6)
    assert found[["accuracy", "balanced", "within_success", "stop_accuracy"]].tolist() == [1, 1, 1, 1]
    known = some.status[some.status != 0]
    assert found["majority"] == pytest.approx(max((known == 1).mean(), (known == -1).mean()))


def test_scale_shift_and_spread_are_told_apart(some):
    plain, spread = values(Known(some, 2.0, -0.5), some), values(Known(some, 2.0, -0.5, noise=0.3), some)
    assert plain[["step_r", "slope", "intercept"]].tolist() == pytest.approx([1, 2, -0.5])
    assert spread["within_std"] == pytest.approx(0.3, abs=0.02)
    assert spread["step_r"] < plain["step_r"]
    # Twice the cost out of the same patience: users would have left long before.
    assert plain["stop_accuracy"] < 0.5 and plain["within_success"] < 0.5


def test_step_r_and_slope_are_those_of_scipy(some, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_TURNS", 1)
    model = Known(some, 1.3, -0.2, noise=0.7)
    turns, found = model.turn_satisfaction(some), values(model, some)
    true = np.concatenate([-d.true_costs for d in some])
    assert found["step_r"] == pytest.approx(np.corrcoef(true, turns["satisfaction"])[0, 1])
    table = levels(turns, some)
    slope, intercept = np.polyfit(table["true"], table["mean"], 1)
    assert found[["slope", "intercept"]].tolist() == pytest.approx([slope, intercept])
    assert found["level_r"] == pytest.approx(np.corrcoef(table["true"], table["mean"])[0, 1])


def test_intervals_hold_the_value(some):
    found = score_recovery(Known(some, 1.0, 0.0, noise=0.5), some).dropna()
    # Slack where a measure is biased in resamples, as spread is.
    low, value, high = (found[name] for name in ("value_low", "value", "value_high"))
    assert ((low <= value + 0.02) & (value <= high + 0.02)).all()
    assert (high > low).sum() >= 6


def test_levels_and_shares(some):
    table = levels(Known(some).turn_satisfaction(some), some)
    assert table["true"].tolist() == sorted(table["true"], reverse=True)
    assert table["mean"].tolist() == pytest.approx(table["true"].tolist())
    shares = reward_shares(some)
    assert shares["share"].sum() == pytest.approx(1)
    assert shares["turns"].tolist() == table["turns"].tolist()


def test_status_accuracy_beside_what_needs_no_look():
    status = np.array([1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0])
    always_failed = status_accuracy(np.full(11, -1), status)
    assert always_failed["accuracy"] == always_failed["majority"] == 0.9
    assert (always_failed["balanced"], always_failed["within_success"]) == (0.5, 0.0)
    assert np.isnan(status_accuracy(np.array([1]), np.array([1]))["balanced"])


def test_without_truth_there_is_nothing_to_recover(some):
    bare = replace(some, dialogues=tuple(replace(d, true_costs=None) for d in some))
    with pytest.raises(DataError, match="no true turn costs"):
        reward_shares(bare)


def test_published_tables_are_whole():
    assert sum(REWARD_SHARES.values()) == pytest.approx(1, abs=1e-3)
    assert all(list(table) == [-1, -2, -3, -4, -5, -6, -7] for table in LEVELS.values())


@pytest.fixture(scope="module")
def collected():
    """As the paper does: from a system made for another user, which tries things out now and then."""
    policy = exploring(rule, 0.4)
    return {
        user.kind: (simulate_dialogues(policy, user, 600, seed=1), simulate_dialogues(policy, user, 400, seed=2))
        for user in (user2(), user3(0.3))
    }


def fit(data, **more):
    return values(PatienceModel(**more).fit(data[0]), data[1])


@pytest.mark.simulation
def test_a_linear_program_recovers_user_2_better_and_on_another_system_too(collected):
    train, test = collected["user2"]
    full, light, free = (fit((train, test), **how) for how in ({}, {"loss": "light"}, {"margin": 0.01}))
    off = values(PatienceModel().fit(train), simulate_dialogues(exploring(patient, 0.1), user2(), 400, seed=3))
    assert full["step_r"] > 0.99 and off["step_r"] > 0.99 and full["slope"] == pytest.approx(1, abs=0.05)
    assert 0.9 < free["step_r"] < full["step_r"] and free["slope"] < 0.8
    assert light["step_r"] < full["step_r"] - 0.1 and light["stop_accuracy"] < 0.5 < full["stop_accuracy"]
    assert fit((train, test), v_b=-2.0)["slope_per_v_b"] == pytest.approx(full["slope_per_v_b"], rel=0.01)


@pytest.mark.simulation
def test_users_who_look_forward_need_the_losses_that_do(collected):
    forward, plain = (fit(collected["user3"], gamma=g) for g in (0.3, None))
    assert forward["step_r"] > plain["step_r"] + 0.05 and forward["step_r"] > 0.85
    assert forward["within_std"] < plain["within_std"]
