"""Probabilities that mean what they say, promises that are kept, and checks that notice a model that knows nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reward_made import made
from sklearn.metrics import roc_auc_score

from perslib.errors import DataError
from perslib.stats import resample_users
from perslib.stats.agreement.auroc import auroc_under
from perslib.systems.uxbench.reward import Reward, audit_swapped_replies
from perslib.systems.uxbench.statistics import compare_auroc, reward_numbers, selective_risk
from perslib.systems.uxbench.statistics.abstention import Abstention, fit_abstention
from perslib.systems.uxbench.statistics.calibration import fit_calibration
from perslib.systems.uxbench.tasks.baselines import judge_with_baselines, out_of_fold


def frame(gold, p, said=None, user=None, judge="reward"):
    n = len(gold)
    return pd.DataFrame(
        {
            **{"judge": judge, "case": [f"c{i}" for i in range(n)], "scenario": "s", "gold": gold},
            **{"user": user if user is not None else [f"u{i}" for i in range(n)], "p_good": p},
            "said": said if said is not None else np.where(np.asarray(p) >= 0.5, 1, -1),
        }
    )


# -- calibration ----------------------------------------------------------------------------------------------------


def drawn(n=20_000, a=0.5, b=-1.0, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 3, n)
    return s, rng.random(n) < 1 / (1 + np.exp(-(a * s + b)))


def test_platt_finds_slope_and_shift():
    s, good = drawn()
    found = fit_calibration(s, good)
    assert (found.a, found.b) == (pytest.approx(0.5, abs=0.02), pytest.approx(-1.0, abs=0.06))
    assert found(np.array([0.0])) == pytest.approx(1 / (1 + np.e), abs=0.02)


def test_a_model_that_has_it_backwards_is_levelled_not_turned():
    s, good = drawn(a=-0.5, b=0.0)
    assert fit_calibration(s, good).a == 0


# -- abstention -----------------------------------------------------------------------------------------------------


def test_misfits_by_hand():
    """Nine users, one good case each, misfits −s = 1 … 9: at alpha .2 the 8th of nine, 8/10 of the weight, is enough."""
    s, owner = -np.arange(1.0, 10), np.array([f"u{i}" for i in range(9)], dtype=object)
    found = fit_abstention(s, np.ones(9, bool), owner, alpha=0.2)
    assert (found.good_misfit, found.bad_misfit, found.users) == (8, np.inf, 9)
    assert fit_abstention(s, np.ones(9, bool), owner, alpha=0.05).good_misfit == np.inf
    good, bad = Abstention(0.1, good_misfit=1.0, bad_misfit=2.0).sets(np.array([-3.0, 0.0, 3.0, np.nan]))
    assert good.tolist() == [False, True, True, True] and bad.tolist() == [True, True, False, True]


def test_the_promise_is_kept_for_new_users():
    """Users differ in how hard they are to read; still, of the good cases of new ones at most alpha is called bad for sure."""
    rng = np.random.default_rng(1)

    def people(n, seed):
        rng = np.random.default_rng(seed)
        good = rng.random((n, 12)) < 0.7
        s = np.where(good, 1.0, -1.0) + rng.normal(0, 1, (n, 12)) + rng.normal(0, 1, (n, 1))
        return s.ravel(), good.ravel(), np.repeat([f"{seed}/{i}" for i in range(n)], 12).astype(object)

    missed = []
    for _ in range(60):
        found = fit_abstention(*people(40, int(rng.integers(10**6))), alpha=0.1)
        s, good, _ = people(200, int(rng.integers(10**6)))
        in_good, in_bad = found.sets(s)
        missed.append([(~in_good[good]).mean(), (~in_bad[~good]).mean()])
    assert (np.mean(missed, axis=0) <= 0.11).all() and (np.mean(missed, axis=0) > 0.05).all()


# -- against the wall -----------------------------------------------------------------------------------------------


def test_auroc_and_its_interval():
    rng = np.random.default_rng(0)
    gold = rng.choice([1, -1], 300)
    p = np.round(1 / (1 + np.exp(-(gold * 0.5 + rng.normal(size=300)))), 1)  # ties count half
    user = [f"u{i % 30}" for i in range(300)]
    table = compare_auroc(pd.concat([frame(gold, p, user=user), frame(gold, 1 - p, user=user, judge="turned")]))
    assert table.loc[0, "auroc"] == pytest.approx(roc_auc_score(gold, p), abs=1e-12)
    assert table.loc[1, "auroc"] == pytest.approx(1 - roc_auc_score(gold, p), abs=1e-12)
    assert table.loc[0, "auroc_low"] < table.loc[0, "auroc"] < table.loc[0, "auroc_high"]
    assert table.loc[1, "ahead_low"] > 0 and table.loc[1, "ahead_p"] < 0.001
    # Users may count several times, or not at all: by hand for one of the columns.
    weights = resample_users(30, 50)
    number = np.arange(300) % 30
    drawn = auroc_under(gold == 1, p, number, weights)
    assert drawn[7] == pytest.approx(roc_auc_score(gold, p, sample_weight=weights[number, 7]))
    assert np.quantile(drawn, 0.02) > 0.5
    many = np.vstack([weights, np.zeros((400, 51))])  # users without a case change nothing but the way
    np.testing.assert_array_equal(auroc_under(gold == 1, p, number, many), drawn)


@pytest.mark.simulation
def test_what_knows_the_selection_alone_is_not_ahead_of_the_request():
    """Good and bad depend on the request alone."""
    cases = [replace(c, query="how?" if c.gold == 1 else "why?", reply="the same for all") for c in made()]
    found, baselines = out_of_fold(Reward(), cases), judge_with_baselines(cases, ["majority", "query only"])
    table = compare_auroc(pd.concat([found, baselines]))
    assert table["judge"].tolist() == ["reward", "majority", "query only"]
    assert not table.loc[2, "ahead_low"] > 0


@pytest.mark.simulation
def test_what_reads_replies_is_ahead():
    cases = made(wrong=0.1)
    found = out_of_fold(Reward(), cases)
    assert (found["fold"].groupby(found["user"]).nunique() == 1).all() and len(found) == len(cases)
    table = compare_auroc(pd.concat([found, judge_with_baselines(cases, ["query only"])]))
    assert table.loc[1, "ahead_low"] > 0.15
    numbers = reward_numbers(found)
    assert numbers["auroc"] == pytest.approx(table.loc[0, "auroc"]) and numbers["d_prime"] > 1.5
    assert numbers["brier"] < 0.2


def test_numbers_of_abstention_by_hand():
    own = frame([1, 1, -1, -1], [0.9, 0.2, 0.7, 0.1]).assign(abstains=[False, False, True, False])
    numbers = reward_numbers(own)
    assert numbers["kept"] == 0.75 and numbers["kept_accuracy"] == pytest.approx(2 / 3)
    assert numbers["kept_good_errors"] == 0.5 and numbers["kept_bad_errors"] == 0


def test_risk_falls_as_coverage_does():
    own = frame([1, 1, -1, -1], [0.9, 0.6, 0.55, 0.1])
    table = selective_risk(own, steps=4)
    assert table["coverage"].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert table["risk"].tolist() == [0, 0, 0, 0.25], "the one error is the least sure"
    assert table["balanced_risk"].tolist()[1:] == [0, 0, 0.25]
    with pytest.raises(DataError, match="no case with a label"):
        selective_risk(frame([None], [0.5]))


def test_a_swap_of_replies_changes_scores():
    cases = made()
    found = audit_swapped_replies(Reward().learn(cases), cases)
    assert found["changed"] > 0.8 and found["own_preferred"] > 0.65 and found["gap"] > 0.2
    blind = Reward().learn(cases)
    queries = len(blind.words_["query"].vocabulary_)
    blind.coef_[queries:] = 0
    assert audit_swapped_replies(blind, cases)["changed"] == 0
    with pytest.raises(DataError, match="only one reply"):
        audit_swapped_replies(blind, [replace(c, reply="same") for c in cases])
