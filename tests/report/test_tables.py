"""Tables as pages show them: the rule of columns, formats, heads."""

from __future__ import annotations

import pandas as pd
import pytest

from perslib.report.show.html import cell, is_numeric
from perslib.report.show.tables import (
    bounds,
    format_as,
    format_as_interval,
    format_as_label,
    format_as_number,
    format_table,
    p_value,
    show_estimate,
    show_p,
    show_range,
    with_interval,
)
from perslib.text import show_minus, translate, using_language

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
    assert table["gain_p"] == ["< 0.001", "0.051"] and table["gain_p_holm"] == ["0.012", "–"]
    assert table["gain"] == [-0.04, 0.1]


def test_named_columns_heads_and_formats():
    table = shown(format_table(FRAME, "judge", "r", agreement="r", turns="{:03d}", p="gain_p", share="{:.0%}"))
    assert list(table) == ["judge", "r", "agreement", "turns", "p", "share"]
    assert table["agreement"] == table["r"] and table["p"] == ["< 0.001", "0.051"]
    assert table["turns"] == ["012", "007"] and table["share"] == ["26%", "100%"]


@pytest.mark.parametrize("form, cells", [
    (format_as_interval("r", digits=3), ["0.360 [0.300, 0.414]", "–"]),
    (format_as_interval("gain", "r_low", "r_high", digits=1), ["0.0 [0.3, 0.4]", "0.1"]),
    (format_as_number("gain"), ["−0.04", "0.10"]),
    (bounds("r_low", "r_high"), ["[0.3, 0.4]", "–"]),
    (format_as("{:+.1f}", "gain"), ["0.0", "+0.1"]),
    (p_value("gain_p_holm"), ["0.012", "–"]),
    (format_as_label("judge"), ["personal", "constant"]),
])  # fmt: skip
def test_forms(form, cells):
    found = [str(v) for v in format_table(FRAME, x=form)["x"]]
    assert found == cells


def test_decimal_numbers_have_a_minus_sign_and_zero_has_none():
    assert (
        translate("{a:+.2f}, {b:.1f} of {c:.0%}; -p {d}", a=-0.126, b=-0.04, c=-0.5, d=-3)
        == "−0.13, 0.0 of −50%; -p -3"
    )
    assert (show_minus("-inf"), cell(-1234.5, 1), cell(-0.001)) == ("−inf", "−1,234.5", "0.00")


def test_an_interval_that_reads_as_its_value_is_left_out_of_the_text_alone():
    cell = with_interval(0.9999, 0.9998, 1.0, 3)
    assert str(cell) == "1.000" and cell.numbers == {"": 0.9999, "_low": 0.9998, "_high": 1.0}
    assert str(with_interval(0.9999, 0.9998, 1.0, 4)) == "0.9999 [0.9998, 1.0000]"


def test_a_shown_cell_knows_its_numbers():
    one = format_table(FRAME)["r"][0]
    assert one.numbers == {"": 0.36, "_low": 0.3, "_high": 0.414} and one == "0.36 [0.30, 0.41]"
    assert show_estimate(FRAME.iloc[0], "r", 2) == one == show_estimate(FRAME.to_dict("records")[0], "r", 2)
    assert [show_range(FRAME[name], 1) for name in ("turns", "share")] == ["7.0 to 12.0", "0.3 to 1.0"]
    assert show_range(pd.Series([0.9999, 1.0])) == "1.00"
    assert [show_p(p) for p in (0.0004, 0.0123, float("nan"))] == ["p < 0.001", "p = 0.012", "p = –"]
    assert (one + "*").numbers["_mark"] == "*" and str(one + "*").endswith("]*")


def test_numbers_alone_are_set_flush_right():
    table = format_table(FRAME, "judge", "turns", "r", p=p_value("r"), share=format_as("{:.0%}", "r"))
    assert [name for name in table if is_numeric(table[name])] == ["turns", "p", "share"]


def test_labels_are_of_the_page_s_language_and_frames_stay_as_they_are():
    before = FRAME.copy()
    with using_language("zh"):
        assert format_table(FRAME, who=format_as_label("judge"))["who"][0] != "personal"
    pd.testing.assert_frame_equal(FRAME, before)
    empty = format_table(FRAME.iloc[:0], "r", "judge", share="{:.0%}", p="gain_p")
    assert empty.empty and list(empty) == ["r", "judge", "share", "p"]
