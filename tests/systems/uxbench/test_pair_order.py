"""Judges of pairs: what the order of showing does, by hand and of simulated judges whose bias is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perslib.errors import DataError
from perslib.systems.uxbench.statistics import order_effects

FAMILY = {
    "A1": "A",
    "A2": "A",
    "B1": "B",
    "B2": "B",
    "C1": "C",
    "C2": "C",
    "judge A": "A",
    "judge B": "B",
    "judge C": "C",
}


def choices(n: int, first: float = 0.0, own: float = 0.0, tie: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """Two judges on pairs of four models, each pair of replies in both orders."""
    rng = np.random.default_rng(seed)
    strength = {"A1": 0.6, "B1": 0.0, "C1": -0.6}
    rows = []
    for case in range(n):
        for a, b in (("A1", "B1"), ("B1", "C1"), ("A1", "C1")):
            for judge in ("judge A", "judge B"):
                mu = {m: strength[m] + own * (FAMILY[m] == FAMILY[judge]) for m in (a, b)}
                for shown in ("a", "b"):
                    apart = mu[a] - mu[b] + (first if shown == "a" else -first)
                    w = np.array([np.exp(apart / 2), np.exp(-apart / 2), tie])
                    rows.append((judge, a, b, case, shown, rng.choice(["a", "b", "tie"], p=w / w.sum())))
    return pd.DataFrame(rows, columns=["judge", "a", "b", "case", "first", "choice"])


def test_order_effects_by_hand():
    frame = pd.DataFrame(
        [
            *(("j", "x", "y", 0, "a", "a"), ("j", "x", "y", 0, "b", "a")),  # the same reply twice
            *(("j", "x", "y", 1, "a", "a"), ("j", "x", "y", 1, "b", "b")),  # the first place twice
            *(("j", "x", "y", 2, "a", "b"), ("j", "x", "y", 2, "b", "a")),  # the second place twice
            *(("j", "x", "y", 3, "a", "a"), ("j", "x", "y", 3, "b", "b")),
            *(("j", "x", "y", 4, "a", "tie"), ("j", "x", "y", 4, "b", None)),  # one could not be read
        ],
        columns=["judge", "a", "b", "case", "first", "choice"],
    )
    row = order_effects(frame).iloc[0]
    assert (row["pairs"], row["left_out"]) == (4, 1)
    assert (row["consistent"], row["first_twice"], row["second_twice"]) == (0.25, 0.5, 0.25)
    assert row["position_bias"] == 0.25 and row["position_bias_p"] == 1.0


def test_a_judge_of_places_is_found_out():
    row = order_effects(choices(80, first=2.5, tie=0.01)).set_index("judge").loc["judge A"]
    assert row["position_bias_low"] > 0.5 and row["position_bias_p"] < 1e-6 and row["first_share"] > 0.8
    fair = order_effects(choices(80)).set_index("judge").loc["judge A"]
    assert fair["position_bias_low"] < 0 < fair["position_bias_high"]
    with pytest.raises(DataError, match="choice is 'neither'"):
        order_effects(choices(2).assign(choice="neither"))
