"""The simulated world: budgets as in the worked example, users who behave as they should, the same for the same seed."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from perslib.errors import PerslibError
from perslib.systems.deus.policies import at_random, exploring, patient, rule, run_task_dialogue, simulate_dialogues
from perslib.systems.deus.world.actions import Atom, action_list
from perslib.systems.deus.world.goals import GOAL_INDEX, Goal, GoalPart, sample_goal
from perslib.systems.deus.world.users import Item, outlook, user1, user2, user3
from perslib.systems.deus.world.world import STATE_NAMES, SystemNotes, World

ACTIONS = action_list()
GOAL = Goal(
    (GoalPart("restaurant", {"food": 3, "area": 1}, ("phone",), {}), GoalPart("taxi", {"destination": 4}, ("car",), {}))
)
MORE = ACTIONS.index(Atom("", "reqmore"))


def world(user=None, goal=GOAL, seed=0):
    return World(user or user2(), np.random.default_rng(seed), goal)


def informing(domain: str, *slots: str) -> int:
    action = ACTIONS.index(*(Atom(domain, "inform", s) for s in slots))
    assert {(a.domain, a.slot) for a in ACTIONS.templates[action] if a.slot} == {(domain, s) for s in slots}
    return action


def with_slots(number: int) -> int:
    """An action of so many slots in a domain that the goal above does not have."""
    return next(
        i
        for i, t in enumerate(ACTIONS.templates)
        if ACTIONS.slot_numbers[i] == number and {a.domain for a in t} <= {"", "hotel"}
    )


def test_the_worked_example_of_a_budget():
    played = world()
    assert played.patience == 7 == GOAL.vector.sum()
    left = [played.act(with_slots(n)).left for n in (0, 2, 2)]
    assert left == [6, 3, 0] and not played.over
    assert played.act(with_slots(1)).left == -2
    assert (played.reason, played.status) == ("budget", -1)


def test_a_budget_of_zero_is_alive_and_success_at_zero_is_success():
    goal = Goal((GoalPart("police", {}, ("phone",), {}),))
    played = world(goal=goal)
    assert played.patience == 2
    assert played.act(informing("police", "phone")).left == 0
    assert (played.reason, played.status) == ("success", 1)


def test_completing_the_task_but_overspending_is_failure():
    played = world(goal=Goal((GoalPart("police", {}, ("phone",), {}),)))
    played.act(MORE)
    played.act(informing("police", "phone"))
    assert played.agenda.current is None and played.reason == "budget"


@pytest.mark.parametrize(
    ("spent", "done", "rest", "gamma", "expected"),
    [(4, 2, 5, 0.30, 3.0), (4, 2, 5, 0.35, 3.5), (1, 0, 7, 0.30, 2.1), (9, 7, 0, 1.00, 0.0)],
)
def test_the_worked_example_of_looking_ahead(spent, done, rest, gamma, expected):
    assert outlook(spent, done, rest, gamma) == pytest.approx(expected)


@pytest.mark.parametrize(("gamma", "reason"), [(0.30, ""), (0.35, "forward")])
def test_a_user_who_looks_ahead_leaves_sooner(gamma, reason):
    played = world(user3(gamma))
    played.act(MORE)  # 1 spent, the first constraint told
    played.act(with_slots(2))  # 4 spent, both constraints told: h(done) = 2, h(rest) = 5
    assert len(played.turns[-1].rest) == 5 and played.spent == 4
    assert played.reason == reason


@pytest.mark.parametrize("user", [user1(), user2(), user3()], ids=lambda u: u.kind)
def test_done_and_unfinished_add_up_to_the_goal_at_every_turn(user):
    for i in range(200):
        played = run_task_dialogue(exploring(rule, 0.5), World(user, np.random.default_rng((5, i))))
        wanted = set(np.flatnonzero(played.goal.vector))
        for turn in played.turns:
            rest = set(turn.rest)
            assert len(rest) == len(turn.rest) and rest <= wanted
            assert len(rest) + len(wanted - rest) == played.goal.patience
        assert (played.turns[-1].rest == ()) == (played.agenda.current is None)


@pytest.mark.parametrize(("user", "limit"), [(user1(), 4), (user2(), 1), (user3(), 1)])
def test_users_say_no_more_than_they_say_at_once(user, limit):
    said = [
        len(turn.items)
        for i in range(60)
        for turn in run_task_dialogue(exploring(rule, 0.4), World(user, np.random.default_rng((6, i)))).turns
    ]
    assert max(said) == limit and min(said) >= 1


def test_user_2_never_continues_below_zero_and_leaves_only_then():
    for i in range(200):
        played = run_task_dialogue(exploring(rule, 0.3), World(user2(), np.random.default_rng((7, i))))
        assert all(turn.left >= 0 for turn in played.turns[:-1])
        assert (played.turns[-1].left < 0) == (played.reason == "budget")


def test_the_limit_on_turns_is_recorded_as_such():
    played = world(user1())
    while not played.over:
        played.act(MORE)
    assert (played.reason, played.status, len(played.turns)) == ("maxturn", 0, 20)
    with pytest.raises(PerslibError, match="over"):
        played.act(MORE)


def test_the_same_seed_gives_the_same_dialogues():
    first, again, more = (simulate_dialogues(exploring(rule, 0.25), user2(), n, seed=3) for n in (30, 30, 40))
    for a, b, c in zip(first, again, more[:30], strict=True):
        assert a.actions.tolist() == b.actions.tolist() == c.actions.tolist()
        np.testing.assert_array_equal(a.states, c.states)
    other = simulate_dialogues(exploring(rule, 0.25), user2(), 30, seed=4)
    assert [d.goal.tolist() for d in first] != [d.goal.tolist() for d in other]


def test_goals_can_be_met_and_are_of_the_size_that_makes_budgets_tight():
    rng = np.random.default_rng(0)
    goals = [sample_goal(rng) for _ in range(3000)]
    sizes = np.array([g.patience for g in goals])
    assert 9 <= sizes.mean() <= 11
    assert [(g.vector.sum(), len(g.parts)) for g in goals[:50]] == [
        (g.patience, len({p.domain for p in g.parts})) for g in goals[:50]
    ]
    assert all(p.reqt or p.book for g in goals for p in g.parts)
    assert not any({"leave_at", "arrive_by"} <= set(p.info) for g in goals for p in g.parts)
    share = np.bincount([len(g.parts) for g in goals]) / len(goals)
    np.testing.assert_allclose(share[1:], [0.40, 0.45, 0.15], atol=0.04)
    met = simulate_dialogues(rule, user1(), 200, seed=9)
    assert np.mean(met.status == 1) > 0.98


def test_a_user_answers_what_is_asked_before_anything_else():
    played = world(user2())
    assert played.turns == [] and played.seen.items[0] == Item("inform", "restaurant", "food")
    played.act(ACTIONS.index(Atom("restaurant", "request", "food")))
    assert played.seen.items == (Item("inform", "restaurant", "food"),) and played.seen.repeats == 2


def test_an_answer_before_all_constraints_are_told_is_not_taken():
    played = world()
    played.act(informing("restaurant", "phone"))
    assert GOAL_INDEX["restaurant.reqt.phone"] in played.turns[-1].rest


def test_a_booking_without_its_details_makes_the_user_supply_one():
    goal = Goal((GoalPart("train", {"day": 2}, ("price",), {"people": 1}),))
    played = world(user1(), goal)
    played.act(ACTIONS.index(Atom("train", "book", "ref")))
    assert played.agenda.booked == set() and played.seen.items[0].slot in ("people", "day")
    for _ in range(3):
        played.act(ACTIONS.index(Atom("train", "inform", "price")))
    played.act(ACTIONS.index(Atom("train", "book", "ref")))
    assert played.reason == "success"


def test_costs_and_patience_are_the_truth_and_states_hold_none_of_it():
    played = simulate_dialogues(exploring(rule, 0.3), user2(), 40, seed=1)
    for d in played:
        slots = ACTIONS.slot_numbers[d.actions]
        np.testing.assert_array_equal(d.true_costs, slots + 1)
        assert d.true_patience == d.goal.sum()
        assert (d.status == -1) == (d.true_costs.sum() > d.true_patience)
    assert not any(word in name for name in STATE_NAMES for word in ("goal", "budget", "cost", "turn"))
    assert list(inspect.signature(SystemNotes).parameters) == []  # it is told nothing but what is said


def test_the_state_says_what_was_said():
    played = world()
    on = {STATE_NAMES[i] for i in np.flatnonzero(played.seen.vector)}
    assert on == {
        "told:restaurant.food",
        "inform:restaurant.food",
        "active:restaurant",
        "matches:2–4" if 1 < played.seen.matches("restaurant") < 5 else "matches:5+",
        "repeats:1",
    }


def test_misheard_words_are_said_again():
    deaf = World(user1(), np.random.default_rng(1), GOAL, mishears=1.0)
    assert deaf.seen.informed == {} and deaf._misheard
    heard = [
        run_task_dialogue(rule, World(user1(), np.random.default_rng((2, i)), mishears=0.3)).reason for i in range(60)
    ]
    assert heard.count("success") > 50


@pytest.mark.parametrize("gamma", [0, 1.5])
def test_gamma_outside_its_range_is_refused(gamma):
    with pytest.raises(PerslibError, match="γ"):
        user3(gamma)


def test_policies_stand_in_the_expected_order():
    success = {
        p.__name__: np.mean(simulate_dialogues(p, user2(), 300, seed=8).status == 1) for p in (at_random, rule, patient)
    }
    assert success["at_random"] < 0.05 < success["rule"] < success["patient"]
