"""Tables of rated items: whose rows belong together, scales of replies and of conversations, and lists in JSON."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import Scale, describe_import, from_frame, read_release, read_rows
from perslib.errors import DataError


def items(*scores, **more):
    """Rated items of one user."""
    return [{"user": "u", "request": f"q{i}", "response": "r", "score": s} | more for i, s in enumerate(scores)]


def lines_of(rows, **how):
    reading = read_rows(rows, "mine", **how)
    return reading.corpus, "\n".join(describe_import(reading, "table"))


def test_rows_that_name_no_session_are_conversations_of_their_own_and_the_import_says_so():
    corpus, said = lines_of([*items(1, 5, 3), *items(2, 2, user="v")])
    assert corpus.sessions.groupby("user").size().to_dict() == {"u": 3, "v": 2} and not corpus.turns["turn"].any()
    assert all(len(target.prefix) == 1 for block in corpus.blocks() for target in block)
    assert "5 rows name no session and no turn" in said and "judges know other conversations" in said
    for row in ({"session": "a"}, {"scenario": "s", "session": "a"}):
        corpus, said = lines_of(items(1, 5, 3, **row))
        assert len(corpus.sessions) == 1 and "name no session" not in said
    assert "name no session" not in lines_of(items(4))[1]
    numbered = [row | {"turn": i} for i, row in enumerate(items(1, 5, 3))]
    assert len(lines_of(numbered)[0].sessions) == 1


def test_rows_with_and_without_a_session_are_never_joined():
    named, unnamed = items(1, 5, session="#1"), items(2, 3, session=None)
    chat = {"user": "u", "session": None, "messages": [{"role": r, "content": r} for r in ("user", "assistant")]}
    corpus, _ = lines_of([*named, *items(4, session="5"), *unnamed, chat, chat])
    assert sorted(corpus.turns.groupby("session").size()) == [1, 1, 1, 1, 1, 2]


def test_candidates_for_a_request_are_one_conversation_without_a_session():
    rows = [row | {"candidate": name} for name in "ab" for row in items(1, 5, 3)]
    pairs = [{"user": "u", "request": None, "response_a": "x", "response_b": "y", "preferred": "a"}] * 2
    for given, sessions in ((rows, 3), (pairs, 2)):
        corpus = read_rows(given, "mine").corpus
        assert (
            len(corpus.sessions) == len(corpus.turns) == sessions and len(corpus.extras["candidates"]) == 2 * sessions
        )
    with pytest.raises(DataError, match="candidate"):
        read_rows([row | {"request": "same"} for row in items(1, 5, 3)], "mine")


def test_a_bad_row_takes_no_row_with_it_that_names_no_session(tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [json.dumps(row) for row in [*items(1, 5, 3), *items("bad")]]
    file.write_text("\n".join([*lines[:1], "{", *lines[1:]]), "utf-8")
    reading = read_release(file, "table", skip_bad=True)
    assert reading.corpus.turns["score"].tolist() == [1, 5, 3] and len(reading.rejected) == 2


@pytest.mark.parametrize("columns", ["session=user", "user=user,session=user"])
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv"])
def test_rows_of_a_user_can_be_one_conversation(tmp_path, ending, columns):
    file, frame = tmp_path / f"mine{ending}", pd.DataFrame(items(1, 5, 3))
    if ending == ".csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_json(file, orient="records", lines=ending == ".jsonl")
    found = CliRunner().invoke(main, ["import", "table", str(file), "--columns", columns, "--dry-run"])
    assert found.exit_code == 0 and "name no session" not in found.output
    corpus = from_frame(frame, "mine", columns=dict(pair.split("=") for pair in columns.split(",")))
    assert corpus.sessions[["user", "session"]].values.tolist() == [["u", "u"]]


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
