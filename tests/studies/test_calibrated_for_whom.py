"""For whom judges are calibrated: the study of page 02."""

from __future__ import annotations

import numpy as np
import pytest
from histories import corpus_of
from made import shortened

from perslib.corpus import load
from perslib.errors import NotEnough
from perslib.judge import arrange_by_rating_level
from perslib.studies import verification
from perslib.studies.for_whom import GIVEN, TILTED, compare_for_whom, describe_for_whom


@pytest.fixture(scope="module")
def judged():
    data = arrange_by_rating_level(shortened(load("sample/en"), sessions=3))
    computing = verification.make_computed_judges([*verification.CONTROLS, "learned"])
    return verification.judge_test_users(computing, data), data


@pytest.mark.sample
def test_each_judge_with_a_distribution_as_given_and_calibrated(judged):
    compared, users = compare_for_whom(*judged)
    assert list(zip(compared["judge"], compared["calibration"])) == [("learned", GIVEN), ("learned", TILTED)]
    tested = judged[1].split()["test"]
    assert set(users["user"]) == set(tested) and len(users) == 2 * len(tested)
    assert compared["users_worse"].between(0, 1).all() and (compared["gain_low"] > 0).all()
    scores = judged[1].turns.groupby("user")["score"].mean()
    assert np.corrcoef(users["user_level"], users["user"].map(scores))[0, 1] > 0.95
    facts = describe_for_whom(compared)
    assert facts["users"] == len(tested) and facts["after"]


@pytest.mark.sample
def test_calibrating_mends_a_judge_that_is_too_sure(judged):
    verdicts, data = judged
    p = [f"p{score}" for score in range(1, 6)]
    learned = verdicts[verdicts["judge"] == "learned"].copy()
    sure = learned[p].astype(float) ** 4
    learned[p] = sure.div(sure.sum(axis=1), axis=0)
    given, tilted = compare_for_whom(learned, data)[0].to_dict("records")
    assert given["users_worse"] > 0.5 > tilted["users_worse"] and tilted["log_loss"] < given["log_loss"]


def test_without_probabilities_or_train_users_it_says_what_is_missing():
    rows = [(f"u{i}", s, "0", "a", "b", 1 + i % 5) for i in range(12) for s in ("travel", "gift")]
    bare = corpus_of(rows)
    verdicts = verification.judge_test_users(verification.make_computed_judges(["constant 4"]), bare)
    with pytest.raises(NotEnough, match="No judge gave probabilities"):
        compare_for_whom(verdicts, bare)
