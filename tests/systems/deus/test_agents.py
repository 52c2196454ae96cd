"""Agents: what they know of a moment, that they learn, come back from disk, and go through the pipeline."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from perslib.errors import DataError, UnknownName
from perslib.systems.deus import (
    Atom,
    Goal,
    GoalPart,
    PatienceModel,
    World,
    action_list,
    exploring,
    patient,
    rule,
    shrewd,
    simulate_dialogues,
)
from perslib.systems.deus import pipeline as module
from perslib.systems.deus.agents import Agent, TrainingSettings, estimate_belief, fit_agent, thrifty, try_policy
from perslib.systems.deus.plans import estimate_best_plan
from perslib.systems.deus.policies import moment
from perslib.systems.deus.world.goals import DOMAINS
from perslib.systems.deus.world.users import Belief, user2, user3

ACTIONS = action_list()
TAXI = Goal((GoalPart("taxi", {"departure": 1, "leave_at": 2}, ("car", "phone"), {}),))


def test_a_moment_offers_answers_that_nobody_has_asked_for():
    world = World(user2(), np.random.default_rng(0), TAXI)
    first = moment(world.seen)
    assert first.kind == "hear" and sorted(first.actions) == [0, 1, 2]  # a taxi has two answers
    assert ACTIONS.templates[first.actions[0]] == (Atom("", "reqmore"),)
    assert {atom.slot for atom in ACTIONS.templates[first.actions[2]]} == {"car", "phone"}
    world.act(first.actions[1])  # too early: the second constraint is still to come
    assert world.seen.volunteered == set() and moment(world.seen).chance > first.chance
    world.act(moment(world.seen).actions[2])
    assert world.reason == "success" and world.spent == 5


def test_what_is_visible_of_a_goal_is_what_the_user_has_said():
    world = World(user2(), np.random.default_rng(0), TAXI)
    assert Belief.true().h(world.seen.visible) == 2  # one constraint, one domain
    while not world.over:
        world.act(patient(world.seen, world.rng))
    assert Belief.true().h(world.seen.visible) == TAXI.patience == 5


def test_a_user_who_pays_as_believed_leaves_as_believed():
    dear = replace(Belief.true(), costs=np.full(len(ACTIONS), 2.0))
    world = World(user2(), np.random.default_rng(0), TAXI, belief=dear)
    while not world.over:
        world.act(patient(world.seen, world.rng))
    assert (world.reason, world.remaining, len(world.turns)) == ("budget", -1.0, 3)
    generous = replace(dear, worth=dear.worth * 2)
    assert World(user2(), np.random.default_rng(0), TAXI, belief=generous).patience == 10
    looks = [World(user3(), np.random.default_rng(0), TAXI, belief=b) for b in (None, Belief.true())]
    assert looks[0].act(3).outlook == looks[1].act(3).outlook > 0


@pytest.fixture(scope="module")
def agent():
    return fit_agent(user2(), TrainingSettings(1500))


@pytest.mark.simulation
def test_an_agent_learns_to_answer_before_it_is_asked(agent, tmp_path):
    number = 1500
    own, asked = (try_policy(policy, user2(), number, seed=3) for policy in (agent, patient))
    assert own.mean() > asked.mean() + 0.01 and len(own) == number

    back = Agent.load(agent.save(tmp_path / "agent"))
    assert back.values == agent.values
    assert (try_policy(back, user2(), 50, seed=5) == try_policy(agent, user2(), 50, seed=5)).all()

    card = json.loads((tmp_path / "agent" / "card.json").read_text())
    (tmp_path / "agent" / "card.json").write_text(json.dumps(card | {"actions": "0" * 64}))
    with pytest.raises(DataError, match="another action list"):
        Agent.load(tmp_path / "agent")
    with pytest.raises(DataError, match="no agent can be read here"):
        Agent.load(tmp_path / "nowhere")


def test_the_same_seed_makes_the_same_agent(agent):
    assert fit_agent(user2(), TrainingSettings(1500)).values == agent.values


def test_least_cost_depends_on_what_a_slot_more_costs():
    true = Belief.true()
    flat = replace(true, costs=np.ones(len(ACTIONS)))  # a slot more is free: volunteer whatever there is
    seen = World(user2(), np.random.default_rng(0), TAXI).seen
    assert thrifty(flat)(seen, np.random.default_rng(0)) == moment(seen).actions[2]
    steep = replace(true, costs=true.costs**2)
    assert thrifty(steep)(seen, np.random.default_rng(0)) == moment(seen).actions[0]
    assert try_policy(thrifty(true), user2(), 1500, seed=3).mean() == pytest.approx(0.47, abs=0.04)
    costs = replace(true, costs=true.costs + np.arange(len(ACTIONS))).by_slots().costs
    assert len(set(costs)) == len(set(ACTIONS.slot_numbers))


@pytest.mark.simulation
def test_the_best_plan_is_estimated_on_goals_that_it_was_not_chosen_on():
    few, many = estimate_best_plan(200), estimate_best_plan(3000)
    assert 45 < many["success_low"] < many["success"] < many["success_high"] < 50
    assert many["success"] > 100 * try_policy(shrewd, user2(), 4000, seed=3).mean() - 3
    # Chosen on few goals, plans are worse on others, and not better by luck.
    assert few["success"] < many["success_high"] + 1
    assert set(DOMAINS) == {"attraction", "hospital", "police", "hotel", "restaurant", "taxi", "train"}


def test_a_belief_has_the_estimates_on_the_scale_of_v_b():
    held = simulate_dialogues(exploring(rule, 0.4), user2(), 400, seed=1)
    model = PatienceModel(v_b=-2.0).fit(held)
    belief = estimate_belief(model, held)
    by_slots = [belief.costs[ACTIONS.slot_numbers == n].mean() for n in range(3)]
    estimated = model.remaining_budget(held)["patience"].to_numpy() / 2
    summed = [belief.h(np.flatnonzero(d.goal).tolist()) for d in held]
    assert by_slots == pytest.approx([1, 2, 3], abs=0.2)
    np.testing.assert_allclose(summed, estimated, rtol=1e-4)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(
        module.SIZES, "tiny", replace(module.SIZES["smoke"], train=200, test=40, learned=60, judged=20, references=30)
    )
    return module


@pytest.mark.sample
def test_the_pipeline_is_taken_up_where_it_stopped(tiny, tmp_path):
    run = tiny.Pipeline(tmp_path / "run", "tiny", progress=False).finish()
    table = run.success()
    assert list(table["agent"].unique()) == [*tiny.HAND, *tiny.TRAINED, *tiny.THRIFTY]
    assert ((table["success_low"] <= table["success"]) & (table["success"] <= table["success_high"])).all()
    outcomes = run.outcomes().groupby(["agent", "user"])["success"]
    assert outcomes.size()["patient", "user2"] == 30 and outcomes.size()["patient", "user3"] == 20
    of_patient = table.set_index(["agent", "user"]).loc[("patient", "user2")]
    assert of_patient["success"] == pytest.approx(100 * outcomes.mean()["patient", "user2"])
    assert of_patient["dialogues"] == 30

    files = {f: f.stat().st_mtime_ns for f in (tmp_path / "run").rglob("*.*")}
    (tmp_path / "run" / "seed-42" / "patient.parquet").unlink()
    again = tiny.Pipeline(tmp_path / "run", "tiny", progress=False).finish()
    changed = {f.name for f, at in files.items() if f.stat().st_mtime_ns != at}
    assert changed == {"patient.parquet"} and again.success().equals(table)


def test_a_folder_of_another_size_and_unknown_names_are_refused(tiny, tmp_path):
    tiny.Pipeline(tmp_path / "run", "tiny")
    with pytest.raises(DataError, match="run of other sizes than preset 'smoke'"):
        tiny.Pipeline(tmp_path / "run", "smoke")
    with pytest.raises(UnknownName, match="smoke"):
        tiny.Pipeline(tmp_path / "run2", "smok")
    with pytest.raises(UnknownName, match="Agent 2"):
        tiny.Pipeline("", "tiny").agent(42, "Agent 22")
