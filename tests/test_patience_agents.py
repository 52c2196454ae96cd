"""Agents: what they are rewarded with and remember, that they learn, come back from disk, and go through the pipeline."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from perslib.errors import DataError, UnknownName
from perslib.patience import Atom, Goal, Part, World, action_list, rule, user1, user2
from perslib.patience.agents import LEAST_COST, Played, Replay, play, task_reward, training, true_cost

ACTIONS = action_list()
MORE, PHONE = ACTIONS.index(Atom("", "reqmore")), ACTIONS.index(Atom("police", "inform", "phone"))
POLICE = Goal((Part("police", {}, ("phone",), {}),))


def rewards(user, actions, reward):
    world, left = World(user, np.random.default_rng(0), POLICE), iter(actions)
    return play(lambda seen, rng: next(left), world, reward).rewards.tolist()


def test_rewards_are_those_of_the_equations():
    assert rewards(user1(), [MORE, PHONE], task_reward) == [-1, 40]
    assert rewards(user1(), [MORE] * 20, task_reward) == [-1] * 19 + [-20]
    assert rewards(user2(), [PHONE], true_cost) == [-2]
    assert rewards(user2(), [PHONE], training(true_cost)) == [18]
    assert rewards(user2(), [MORE, PHONE], training(true_cost)) == [-1, -22]


def test_memory_forgets_the_oldest():
    memory = Replay(size=4, features=2, discount=0.5)
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    memory.add(Played(states, np.array([7, 8, 9]), np.array([-1.0, -2.0, 4.0])))
    assert memory.turns["reward"][:3].tolist() == [-1, -2, 4]
    assert memory.turns["discount"][:3].tolist() == [0.5, 0.5, 0]
    assert memory.turns["later"][:3].tolist() == [[0, 1], [1, 0], [1, 1]]
    memory.add(Played(states, np.array([1, 2, 3]), np.zeros(3)))
    assert memory.turns["action"].tolist() == [2, 3, 9, 1] and len(memory) == 4


@pytest.fixture(scope="module")
def small():
    pytest.importorskip("torch")
    from perslib.patience.agents import Settings

    return Settings(steps=200, shown=120, drilled=250, check=100, checked=20, hidden=(48, 48), discount=0.95)


def test_an_agent_learns_from_what_it_is_shown(small, tmp_path):
    from perslib.patience import at_random
    from perslib.patience.agents import Agent, learn, success_rate

    agent = learn(user1(), task_reward, small)
    assert success_rate(agent, user1(), 60, seed=3) > success_rate(at_random, user1(), 60, seed=3) + 0.3
    assert agent.curve["step"].tolist()[0] == 0 and agent.curve["step"].is_monotonic_increasing
    assert agent.card["best"] == agent.curve["success"].max()

    back = Agent.load(agent.save(tmp_path / "agent"))
    seen = World(user2(), np.random.default_rng(1)).seen
    assert back(seen, np.random.default_rng(0)) == agent(seen, np.random.default_rng(0))
    assert back.curve.equals(agent.curve)

    card = json.loads((tmp_path / "agent" / "card.json").read_text())
    (tmp_path / "agent" / "card.json").write_text(json.dumps(card | {"actions": "0" * 64}))
    with pytest.raises(DataError, match="knows other actions"):
        Agent.load(tmp_path / "agent")
    with pytest.raises(DataError, match="no agent can be read here"):
        Agent.load(tmp_path / "nowhere")


def test_the_same_seed_makes_the_same_agent(small):
    from perslib.patience.agents import learn

    tiny = replace(small, steps=60, shown=20, drilled=10)
    one, two = (learn(user2(), training(true_cost), tiny) for _ in range(2))
    for a, b in zip(one.network.parameters(), two.network.parameters(), strict=True):
        assert a.equal(b)


@pytest.fixture
def tiny(monkeypatch, small):
    from perslib.patience import pipeline

    sizes = pipeline.Preset(150, 40, 3, 32, replace(small, steps=80, shown=60, drilled=80), 20, (42,))
    monkeypatch.setitem(pipeline.PRESETS, "tiny", replace(sizes, epsilon=0.25))
    monkeypatch.setattr(pipeline, "TRAINED", {n: pipeline.TRAINED[n] for n in ("Agent 1", "Agent 2")})
    monkeypatch.setattr(pipeline, "HAND", {n: pipeline.HAND[n] for n in ("noisy rule", "patient")})
    return pipeline


def test_the_pipeline_is_taken_up_where_it_stopped(tiny, tmp_path):
    run = tiny.Pipeline(tmp_path / "run", "tiny", progress=False).finish()
    table = run.success()
    assert list(table["agent"].unique()) == ["Agent 1", "Agent 2", "noisy rule", "patient"]
    assert table["success"].between(0, 1).all() and len(table) == 12
    assert set(run.curves()["agent"]) == {"Agent 1", "Agent 2"}

    files = {f: f.stat().st_mtime_ns for f in (tmp_path / "run").rglob("*.*")}
    (tmp_path / "run" / "seed-42" / "patient.csv").unlink()
    again = tiny.Pipeline(tmp_path / "run", "tiny", progress=False).finish()
    changed = {f.name for f, at in files.items() if f.stat().st_mtime_ns != at}
    assert changed == {"patient.csv"} and again.success().equals(table)


def test_a_folder_of_another_size_and_unknown_names_are_refused(tiny, tmp_path):
    tiny.Pipeline(tmp_path / "run", "tiny")
    with pytest.raises(DataError, match="run of other sizes than preset 'smoke'"):
        tiny.Pipeline(tmp_path / "run", "smoke")
    with pytest.raises(UnknownName, match="smoke"):
        tiny.Pipeline(tmp_path / "run2", "smok")


def test_an_estimated_reward_is_f_on_the_scale_of_v_b_and_never_free():
    pytest.importorskip("torch")
    from perslib.patience import Patience, collect, exploring
    from perslib.patience.agents import estimated

    held = collect(exploring(rule, 0.25), user2(), 200, seed=1)
    model = Patience(v_b=-2.0, epochs=2).fit(held)
    reward, first = estimated(model), held[0]
    world = World(user2(), np.random.default_rng((1, 0)))
    given = [reward(world.act(int(a)), world) for a in first.actions]
    f = model.turn_satisfaction(held[:1])["satisfaction"].to_numpy()
    np.testing.assert_allclose(given, np.minimum(f / 2, -LEAST_COST), rtol=1e-5)
