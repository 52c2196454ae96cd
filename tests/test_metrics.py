"""Agreement metrics: worked numbers, the same numbers by scipy and scikit-learn, and agreement tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from perslib.metrics import METRICS, measure

GOLD = [5, 4, 3, 4, 2, 5, 5, 4, 5, 3, 2, 4]
SCORE = [4, 4, 3, 5, 3, 5, 4, 4, 5, 4, 3, 4]
USER = list("AAAAABBBBCCC")


def test_worked_example():
    expected = {
        "pearson": 0.7730206825,
        "spearman": 0.7462025072,
        "mae": 0.5,
        "rmse": 0.7071067812,
        "qwk": 0.7,
        "f1_dsat": 0.8571428571,
        "f1_sat": 0.9411764706,
        "f1_macro": 0.8991596639,
        "precision_dsat": 1.0,
        "recall_dsat": 0.75,
        "precision_sat": 8 / 9,
        "recall_sat": 1.0,
        "false_sat": 0.25,
        "false_dsat": 0.0,
        "accuracy": 0.9166666667,
        "kappa": 0.8,
        "auc": 0.921875,
        "wc_pearson": 0.6880318147,
        "wc_spearman": 0.6281138790,
        "wc_mae": 0.5027777778,
        "wc_rmse": 0.5927806415,
        "pu_pearson": 0.7139879590,
        "pu_spearman": 0.7332398988,
        "pu_kappa": 0.5558943089,
        "pu_mae": 0.5,
    }
    found = measure(GOLD, SCORE, USER)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-10), name
    alone = [measure(GOLD[a:b], SCORE[a:b])["pearson"] for a, b in ((0, 5), (5, 9), (9, 12))]
    assert alone == pytest.approx([0.6813851439, 0.5773502692, 0.8660254038], abs=1e-10)
