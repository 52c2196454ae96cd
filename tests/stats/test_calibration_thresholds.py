"""Whole scores by thresholds learned on train users."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from perslib.errors import DataError
from perslib.stats import fit_thresholds


def made(n, seed=0):
    """Scores that keep to the middle of the scale, as expected scores do."""
    rng = np.random.default_rng(seed)
    gold = rng.choice([1, 2, 3, 4, 5], n, p=[0.05, 0.05, 0.1, 0.4, 0.4])
    score = 3.8 + 0.15 * (gold - 4) + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"user": "u", "scenario": "t", "judge": "j", "gold": gold})
    return frame.assign(expected=pd.array(score, dtype="Float64"))


def kappa(frame, column):
    return cohen_kappa_score(frame["gold"], frame[column].astype(int), weights="quadratic")


def test_thresholds_are_the_scores_own_when_those_are_right():
    gold = [1, 2, 2, 3, 4, 4, 5, 5]
    frame = pd.DataFrame({"user": "u", "scenario": "t", "gold": gold, "raw": [g / 10 + 3 for g in gold]})
    assert fit_thresholds(frame, "raw").transform(frame)["raw_whole"].tolist() == gold


def test_kappa_is_about_the_greatest_there_is():
    train = made(60)
    found = kappa(fit_thresholds(train, "expected").transform(train), "expected_whole")
    grid = np.quantile(train["expected"].astype(float), np.linspace(0, 1, 21), method="inverted_cdf")
    values, gold = train["expected"].to_numpy(float)[:, None], train["gold"]
    best = max(
        cohen_kappa_score(gold, 1 + (values > np.array(cuts)).sum(axis=1), weights="quadratic")
        for cuts in list(combinations_with_replacement(grid, 4))[::41]
    )
    assert found >= best - 1e-9


def test_new_users_gain_over_rounding():
    train, new = made(1500), made(1500, seed=1)
    new = fit_thresholds(train, "expected").transform(new, "whole")
    rounded = new.assign(rounded=new["expected"].astype(float).round())
    assert kappa(new, "whole") > kappa(rounded, "rounded") + 0.2


def test_unscored_stays_unscored_and_constant_scores_do_no_harm():
    train = made(50)
    train.loc[3, "expected"] = pd.NA
    done = fit_thresholds(train, "expected").transform(train)
    assert done["expected_whole"].isna().tolist() == [i == 3 for i in range(50)]
    assert done["expected_whole"].dropna().between(1, 5).all()
    constant = train.assign(expected=4.0)
    done = fit_thresholds(constant, "expected").transform(constant)
    assert done["expected_whole"].unique().tolist() == [4]


def test_wrong_frames():
    with pytest.raises(DataError, match="'raw' is missing"):
        fit_thresholds(made(9), "raw")
