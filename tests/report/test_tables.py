"""Tables as pages show them: the rule of columns, formats, heads."""

from __future__ import annotations

import pandas as pd
import pytest

from perslib.report.show.tables import (
    bounds,
    format_as,
    format_as_interval,
    format_as_label,
    format_as_number,
    format_table,
    p_value,
)
from perslib.text import using_language

FRAME = pd.DataFrame({
    "judge": ["personal", "constant"],
    "turns": [12, 7],
    "r": [0.36, float("nan")],
    "r_low": [0.3, float("nan")],
    "r_high": [0.414, float("nan")],
    "gain": [-0.04, 0.1],
    "gain_p": [0.0004, 0.0512],
    "gain_p_holm": [0.012, float("nan")],
    "share": [0.256, 1.0],
})  # fmt: skip


def shown(table: pd.DataFrame) -> dict[str, list[object]]:
    return {str(c): [v if isinstance(v, (int, float)) else str(v) for v in table[c]] for c in table}


def test_without_arguments_every_estimate_has_its_interval_and_every_p_is_a_p():
    table = shown(format_table(FRAME))
    assert list(table) == ["judge", "turns", "r", "gain", "gain_p", "gain_p_holm", "share"]
    assert table["r"] == ["0.36 [0.30, 0.41]", "–"] and table["turns"] == [12, 7]
    assert table["gain_p"] == ["< .001", ".051"] and table["gain_p_holm"] == [".012", "–"]
    assert table["gain"] == [-0.04, 0.1]


def test_named_columns_heads_and_formats():
    table = shown(format_table(FRAME, "judge", "r", agreement="r", turns="{:03d}", p="gain_p", share="{:.0%}"))
    assert list(table) == ["judge", "r", "agreement", "turns", "p", "share"]
    assert table["agreement"] == table["r"] and table["p"] == ["< .001", ".051"]
    assert table["turns"] == ["012", "007"] and table["share"] == ["26%", "100%"]


@pytest.mark.parametrize("form, cells", [
    (format_as_interval("r", zero=False, digits=3), [".360 [.300, .414]", "–"]),
    (format_as_interval("gain", "r_low", "r_high", digits=1), ["0.0 [0.3, 0.4]", "0.1"]),
    (format_as_number("gain"), ["−0.04", "0.10"]),
    (bounds("r_low", "r_high"), ["[0.3, 0.4]", "–"]),
    (format_as("{:+.1f}", "gain"), ["-0.0", "+0.1"]),
    (p_value("gain_p_holm"), [".012", "–"]),
    (format_as_label("judge"), ["personal", "constant"]),
])  # fmt: skip
def test_forms(form, cells):
    found = [str(v) for v in format_table(FRAME, x=form)["x"]]
    assert found == cells


def test_a_shown_cell_knows_its_numbers():
    cell = format_table(FRAME)["r"][0]
    assert cell.numbers == {"": 0.36, "_low": 0.3, "_high": 0.414} and cell == "0.36 [0.30, 0.41]"
    assert (cell + "*").numbers["_mark"] == "*" and str(cell + "*").endswith("]*")


def test_labels_are_of_the_page_s_language_and_frames_stay_as_they_are():
    before = FRAME.copy()
    with using_language("zh"):
        assert format_table(FRAME, who=format_as_label("judge"))["who"][0] != "personal"
    pd.testing.assert_frame_equal(FRAME, before)
    empty = format_table(FRAME.iloc[:0], "r", "judge", share="{:.0%}", p="gain_p")
    assert empty.empty and list(empty) == ["r", "judge", "share", "p"]
