"""Times of a table: one reading for a column, or a question."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import describe_import, from_frame, read_rows
from perslib.corpus.files.times import parse_seconds
from perslib.errors import DataError, UnknownName


def rows(*cells, **more):
    """A conversation, a reply for each time at which it was asked for."""
    return [
        {"user": "u", "session": "a", "request": f"q{i}", "response": "r", "asked_at": cell, **more}
        for i, cell in enumerate(cells)
    ]


#: Cells of a column → what they are, and a part of the import's note.
ONE_WAY = {
    "day first": (["01.03.2026", "13.03.2026"], ["2026-03-01", "2026-03-13"], "day first, days only"),
    "day first, later": (
        ["13/3/2026 8:05", "1/3/2026 18:05:30"],
        ["2026-03-13 08:05", "2026-03-01 18:05:30"],
        "day first (",
    ),
    "month first": (
        ["03/01/2026 8:05 PM", "03/13/2026 12:05 am"],
        ["2026-03-01 20:05", "2026-03-13 00:05"],
        "month first",
    ),
    "year first": (["2026/3/1 08:00", "2026.03.13"], ["2026-03-01 08:00", "2026-03-13"], "year first"),
    "ISO": (
        ["2026-03-01T08:00:00.5", "20260313", " 2026-03-13 08:00"],
        ["2026-03-01 08:00:00.5", "2026-03-13", "2026-03-13 08:00"],
        "year first",
    ),
    "zones": (
        ["2026-03-01T08:00+02:00", "2026-03-01 08:00:00Z", "2026-03-01 08:00 -0330"],
        ["2026-03-01 06:00", "2026-03-01 08:00", "2026-03-01 11:30"],
        "UTC",
    ),
    "seconds": ([1772352000, "1772352000.5"], ["2026-03-01 08:00", "2026-03-01 08:00:00.5"], "seconds since 1970"),
    "milliseconds": (["1772352000000", 1772352000500], ["2026-03-01 08:00", "2026-03-01 08:00:00.5"], "milliseconds"),
    "nanoseconds": ([1772352000000000000], ["2026-03-01 08:00"], "nanoseconds"),
    "names": (
        ["Sun, 1 Mar 2026 08:00:00 +0000", "Fri Mar 13 08:00:00 +0100 2026", "03-Mar-2026 08:00 UTC"],
        ["2026-03-01 08:00", "2026-03-13 07:00", "2026-03-03 08:00"],
        "month by name",
    ),
    "the same either way": (["05.05.2026", "01/01/2026"], ["2026-05-05", "2026-01-01"], "day first, days only"),
    "gaps": (["13.03.2026", None, "01.03.2026"], ["2026-03-13", None, "2026-03-01"], "day first"),
}


@pytest.mark.parametrize("name", ONE_WAY)
def test_a_column_of_times_is_read_in_one_way_which_the_import_reports(name):
    cells, expected, note = ONE_WAY[name]
    reading = read_rows(rows(*cells), "mine")
    assert reading.corpus.turns["asked_at"].tolist() == [pd.NaT if e is None else pd.Timestamp(e) for e in expected]
    assert any(line.startswith("times: asked_at: ") and note in line for line in describe_import(reading, "table"))


def test_frames_have_times_of_their_own():
    times = pd.DatetimeIndex([pd.Timestamp("2026-03-01 08:00"), None, pd.Timestamp("2026-03-13")])
    for column in (times, times.tz_localize("Asia/Shanghai")):
        corpus = from_frame(pd.DataFrame(rows(1, 2, 3)).assign(asked_at=column), "mine")
        read = column.tz_convert(None) if column.tz else column
        assert corpus.turns["asked_at"].tolist() == read.tolist()


#: Cells of a column that cannot be read in one way → what the problem names.
ASKED = {
    "undecided": (["01.03.2026", "05.04.2026"], ["row 1", '"01.03.2026"', '"05.04.2026" (row 2)', "--dates day-first"]),
    "undecided, once": (["01/03/2026"], ["row 1", '"01/03/2026"', "--dates month-first"]),
    "both orders": (["01.03.2026", "13.03.2026", "03.25.2026"], ["row 3", '"03.25.2026"', '"13.03.2026"', "row 2"]),
    "ISO and days first": (["2026-03-01", "13.03.2026"], ["row 2", '"13.03.2026"', '"2026-03-01"', "row 1"]),
    "seconds and milliseconds": ([1772352000, 1772352000000], ["row 2", "milliseconds", "(seconds"]),
    "zones in some": (
        ["2026-03-01T08:00Z", "2026-03-01T08:00"],
        ["row 1", "with a time zone", "row 2", "Give all times"],
    ),
}


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("name", ASKED)
def test_a_column_without_one_reading_is_refused_with_two_cells(name, skip_bad):
    cells, parts = ASKED[name]
    with pytest.raises(DataError) as error:
        read_rows(rows(*cells), "mine", skip_bad=skip_bad)
    assert len(error.value.problems) == 1 and "asked_at is " in str(error.value)
    assert [part for part in parts if part not in str(error.value)] == []


def test_columns_agree_on_time_zones_and_each_has_an_order():
    with pytest.raises(DataError, match=r"row 1: asked_at is .*, with a time zone, but answered_at is .* at row 1"):
        read_rows(rows("2026-03-01T08:00Z", answered_at="2026-03-01T08:01"), "mine")
    turns = read_rows(rows("2026-03-01T08:00", answered_at="13.03.2026 08:01"), "mine").corpus.turns
    assert turns["answered_at"].tolist() == [pd.Timestamp("2026-03-13 08:01")]


def test_the_order_of_day_and_month_can_be_given(tmp_path):
    for order, month in (("day-first", 3), ("month-first", 1)):
        corpus = from_frame(pd.DataFrame(rows("01.03.2026", "02.03.2026")), "mine", dates=order)
        assert corpus.turns["asked_at"].dt.month.tolist() == [month, {3: 3, 1: 2}[month]]
    with pytest.raises(DataError, match=r'row 2: asked_at is "03.25.2026", expected a time'):
        read_rows(rows("01.03.2026", "03.25.2026"), "mine", dates="day-first")
    with pytest.raises(UnknownName, match="day-first"):
        read_rows(rows("01.03.2026"), "mine", dates="day")
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows("01.03.2026"))))
    found = CliRunner().invoke(main, ["import", "--dry-run", str(file), "--dates", "day-first"])
    assert found.exit_code == 0 and 'times: asked_at: day first, days only ("01.03.2026" is 2026-03-01' in found.output


@pytest.mark.parametrize(
    "cell",
    [
        "10:30",
        "now",
        "Mar 2026",
        "13.03.26",
        "31.02.2026",
        "2026-03-01 08:00 CET",
        "2026-13-01",
        45000,
        5,
        True,
        "0001-01-01T00:00+05:00",
    ],
)
def test_what_is_no_time_is_a_fault_of_its_row(cell):
    with pytest.raises(DataError, match=r"row 2: asked_at is .*, expected a time such as 2026"):
        read_rows(rows("2026-03-01", cell), "mine")
    assert len(read_rows([*rows("2026-03-01"), *rows(cell, session="b")], "mine", skip_bad=True).corpus.turns) == 1


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_a_log_gives_seconds_to_nanoseconds_as_number_or_text(unit):
    assert parse_seconds(int(1767122600 * unit)) == parse_seconds(str(int(1767122600 * unit))) == 1767122600


def test_milliseconds_written_as_text_are_no_year():
    assert parse_seconds("1767122600123") == 1767122600.123 and parse_seconds("20260131") == parse_seconds("2026/01/31")


@pytest.mark.parametrize("text", ["01/03/2026", "13.03.2026 08:00", "1 Mar 2026"])
def test_a_log_has_no_time_where_day_and_month_may_be_exchanged(text):
    assert parse_seconds(text) is None
