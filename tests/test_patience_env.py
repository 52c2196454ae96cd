"""The gymnasium face of the world: the library's own checks, how episodes end, and what to do without gymnasium."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

from perslib.errors import PerslibError
from perslib.patience import Atom, Goal, Part, action_list, user1, user2, user3

ACTIONS = action_list()
MORE = ACTIONS.index(Atom("", "reqmore"))


def made(*args, **kwargs):
    pytest.importorskip("gymnasium")
    from perslib.patience.env import DialogueEnv

    return DialogueEnv(*args, **kwargs)


@pytest.mark.parametrize("user", [user1(), user2(), user3()], ids=lambda u: u.kind)
def test_the_library_s_own_check(user):
    env = made(user)
    from gymnasium.utils.env_checker import check_env

    check_env(env, skip_render_check=True)


def test_the_same_seed_gives_the_same_episode():
    env, runs = made(user2()), []
    for _ in range(2):
        state, _info = env.reset(seed=5)
        steps, done = [state], False
        rng = np.random.default_rng(0)
        while not done:
            state, reward, terminated, truncated, info = env.step(int(rng.integers(300)))
            steps.append([*state, reward, info["budget"]])
            done = terminated or truncated
        runs.append(np.concatenate(steps))
    np.testing.assert_array_equal(*runs)


def test_rewards_budget_and_endings():
    goal = Goal((Part("police", {}, ("phone",), {}),))
    env = made(user2())
    _state, info = env.reset(seed=1, options={"goal": goal})
    assert info["budget"] == 2
    *_rest, reward, terminated, truncated, info = env.step(MORE)
    assert (reward, terminated, truncated, info["budget"], info["spent"]) == (-1, False, False, 1, 1)
    assert len(info["unfinished"]) == 2 and info["slot_number"] == 0
    *_rest, reward, terminated, truncated, info = env.step(ACTIONS.index(Atom("police", "inform", "phone")))
    assert (reward, terminated, info["reason"], info["status"]) == (-2, True, "budget", -1)


def test_without_cutoff_only_success_or_the_limit_end_it():
    env = made(user2(), cutoff=False)
    env.reset(seed=1)
    steps = [env.step(MORE) for _ in range(20)]
    assert not any(terminated for _, _, terminated, _, _ in steps)
    assert [truncated for *_, truncated, _ in steps] == [False] * 19 + [True]
    assert steps[-1][4]["budget"] < 0


def test_user_1_is_rewarded_for_the_task():
    env = made(user1())
    env.reset(seed=1, options={"goal": Goal((Part("police", {}, ("phone",), {}),))})
    assert env.step(MORE)[1] == -1
    assert env.step(ACTIONS.index(Atom("police", "inform", "phone")))[1] == 40


def test_step_before_reset_says_so():
    with pytest.raises(PerslibError, match=r"reset\(\)"):
        made(user2()).step(0)


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "perslib.patience.env", raising=False)
    with pytest.raises(PerslibError, match=r'pip install "perslib\[patience\]"'):
        importlib.import_module("perslib.patience.env")
