"""Tables of rated items: whose rows belong together, scales of replies and of conversations, and lists in JSON."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import Scale, describe_import, from_frame, read_rows


def items(*scores, **more):
    """Rated items of one user."""
    return [{"user": "u", "request": f"q{i}", "response": "r", "score": s, **more} for i, s in enumerate(scores)]


def lines_of(rows, **how):
    reading = read_rows(rows, "mine", **how)
    return reading.corpus, "\n".join(describe_import(reading, "table"))


def test_rows_without_a_session_are_one_conversation_and_the_import_says_so():
    corpus, said = lines_of(items(1, 5, 3))
    assert len(corpus.sessions) == 1
    assert "no column session" in said and "of up to 3 rows" in said and "--columns session=#" in said
    assert "no column session" not in lines_of(items(1, 5, 3, session="a"))[1]
    assert "no column session" not in lines_of(items(4))[1]


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv"])
def test_each_row_can_be_a_conversation_of_its_own(tmp_path, ending):
    file, frame = tmp_path / f"mine{ending}", pd.DataFrame(items(1, 5, 3))
    if ending == ".csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_json(file, orient="records", lines=ending == ".jsonl")
    found = CliRunner().invoke(main, ["import", "table", str(file), "--columns", "session=#", "--dry-run"])
    assert found.exit_code == 0 and "no column session" not in found.output
    assert len(from_frame(frame, "mine", columns={"session": "#"}).sessions) == 3


def test_a_list_in_a_file_is_a_table_and_what_is_none_is_named(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(items(1, 5, 3)), "utf-8")
    found = CliRunner().invoke(main, ["import", str(file), "--dry-run"])
    assert found.exit_code == 0 and "3" in found.output
    file.write_text('{"user": "u"}', "utf-8")
    found = CliRunner().invoke(main, ["import", "table", str(file), "--dry-run"])
    assert found.exit_code != 0 and "mine.json" in found.output and "expected a list of rows" in found.output


def test_thumbs_count_as_what_they_are():
    said = lines_of(items(0, 1, 1, 0))[1]
    assert "people rated on 0–1" in said and "0 counts as dissatisfied" in said and "-0" not in said
    assert "6 and less count" in lines_of(items(1, 10, 3), scale=Scale(1, 10))[1]


@pytest.mark.parametrize(
    ("scores", "ratings", "expected"),
    [
        ((0, 1, 1), (2, 5, 4), (2.0, 5.0, 4.0)),
        ((5, 1, 3), (0, 1, 1), (1.0, 5.0, 5.0)),
        ((0, 1, 1), (1, 0, 1), (5.0, 1.0, 5.0)),
    ],
)
def test_replies_and_conversations_may_be_rated_on_two_scales(scores, ratings, expected):
    rows = [row | {"session": str(i), "satisfaction": r} for i, (row, r) in enumerate(zip(items(*scores), ratings))]
    corpus, said = lines_of(rows)
    assert corpus.sessions["satisfaction"].tolist() == list(expected)
    assert corpus.turns["score"].tolist() == [{0: 1, 1: 5}[s] if max(scores) == 1 else s for s in scores]
    assert ("conversations were rated on" in said) == (max(scores) != max(ratings))
