"""What may be said of an estimate: by its interval, its corrected p and its line, and in no other place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from perslib.report.show.claims import Estimate, choose, list_on_side, show_share

SIDES = {"above": "A", "below": "B", "open": "O", "unknown": "U"}


@pytest.mark.parametrize(
    ("estimate", "side"),
    [
        (Estimate(0.2, 0.1, 0.3), "above"),
        (Estimate(0.2, -0.1, 0.3), "open"),
        (Estimate(-0.2, -0.3, -0.1), "below"),
        (Estimate(0.2), "unknown"),
        (Estimate(0.2, 0.1, 0.3, p=0.07), "open"),
        (Estimate(0.2, -0.01, 0.3, p=0.04), "open"),
        (Estimate(0.6, 0.55, 0.65, line=0.5), "above"),
        (Estimate(0.002, 0.001, 0.003, least=0.005), "open"),
        (Estimate(-0.02, -0.03, -0.01, least=0.005), "below"),
        (Estimate(0.4, 0.3, 0.45, line=0.5), "below"),
    ],
)
def test_a_side_needs_the_whole_interval_and_the_corrected_p(estimate, side):
    assert estimate.side == side and choose(estimate, **SIDES) == SIDES[side]


def test_a_side_without_a_wording_has_that_of_what_is_open():
    assert choose("above", open="O", unknown="U") == "O" and choose("unknown", open="O") == ""


def test_the_corrected_p_goes_before_the_other():
    row = {"gain": 0.2, "gain_low": 0.1, "gain_high": 0.3, "gain_p": 0.01, "gain_p_holm": 0.2}
    assert Estimate.of(row, "gain").side == "open"
    rows = pd.DataFrame([row | {"judge": "a"}, row | {"judge": "b", "gain_p_holm": np.nan}])
    assert list_on_side(rows, "above", "gain") == "b" and list_on_side(rows, "below", "gain") == "none"


def test_a_difference_is_that_of_what_is_printed():
    assert str(Estimate(0.1149, 0.01, 0.21, digits=2).between(0.6149, 0.50)) == "0.11 [0.01, 0.21]"


@pytest.mark.parametrize(
    ("count", "n", "text"),
    [(1, 1, "1 of 1"), (7, 8, "7 of 8"), (5, 10, "50%"), (997, 1000, "99.7%"), (1000, 1000, "100%")],
)
def test_a_share_of_few_is_their_number_and_none_is_all_by_rounding(count, n, text):
    assert show_share(count, n) == text
