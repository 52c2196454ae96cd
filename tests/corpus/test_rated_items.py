"""Tables of rated items: whose rows belong together, scales of replies and of conversations, and lists in JSON."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import Scale, describe_import, detect, from_frame, load, read_release, read_rows, save
from perslib.errors import DataError
from perslib.judge import by_session


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


@pytest.mark.system("readers")
def test_a_list_in_a_file_is_a_table_and_what_is_none_is_named(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(items(1, 5, 3)), "utf-8")
    found = CliRunner().invoke(main, ["import", str(file), "--dry-run"])
    assert found.exit_code == 0 and "3" in found.output
    found = CliRunner().invoke(main, ["import", str(file), "--dry-run", "--columns", "session=chat"])
    assert found.exit_code != 0 and "mine.json: has no column chat" in found.output
    file.write_text('{"user": "u"}', "utf-8")
    assert detect(file) == "any"
    with pytest.raises(DataError, match="no field is plainly an assistant's reply"):
        read_release(file)
    found = CliRunner().invoke(main, ["import", "table", str(file), "--dry-run"])
    assert found.exit_code != 0 and "mine.json" in found.output and "expected a list of rows" in found.output


def test_thumbs_count_as_what_they_are():
    said = lines_of(items(0, 1, 1, 0))[1]
    assert "people rated on 0–1" in said and "0 counts as dissatisfied (" in said and "-0" not in said
    assert "6 and less count as dissatisfied or neutral" in lines_of(items(1, 10, 3), scale=Scale(1, 10))[1]


def rated_twice(scores, ratings):
    """A conversation for each score of its reply and rating of the whole."""
    return [row | {"session": str(i), "satisfaction": r} for i, (row, r) in enumerate(zip(items(*scores), ratings))]


#: Scores of replies, ratings of conversations, how both are declared → the ratings on 1–5, and on what they were given.
TWO_SCALES = {
    "thumbs and stars": ((0, 1, 1), (2, 5, 4), {}, (2, 5, 4), "1–5"),
    "stars and thumbs": ((5, 1, 3), (0, 1, 1), {}, (1, 5, 5), "0–1"),
    "thumbs twice": ((0, 1, 1), (1, 0, 1), {}, (5, 1, 5), "0–1"),
    "thumbs declared": ((0, 1, 1), (2, 5, 4), {"scale": "thumbs"}, (2, 5, 4), "1–5"),
    "both declared": ((0, 1, 1), (1, 7.5, 9), {"scale": "thumbs", "session_scale": "1-9"}, (1, 4.25, 5), "1–9"),
    "ten declared as five": ((6, 10, 8), (2, 5, 4), {"session_scale": "stars"}, (2, 5, 4), "1–5"),
    "five on ten": ((6, 10, 8), (1, 5, 4), {}, (1, 2.78, 2.33), "1–10"),
}


@pytest.mark.parametrize("name", TWO_SCALES)
def test_replies_and_conversations_may_be_rated_on_two_scales(name, tmp_path):
    scores, ratings, declared, expected, scale = TWO_SCALES[name]
    frame = pd.DataFrame(rated_twice(scores, ratings))
    corpus = from_frame(frame, "mine", **declared)
    assert corpus.sessions["satisfaction"].tolist() == pytest.approx(expected, abs=0.01)
    assert corpus.turns["given"].fillna(corpus.turns["score"]).tolist() == list(scores)
    whole = by_session(load(save(corpus, tmp_path / "mine")))
    assert str(whole.scale) == scale
    assert whole.turns["given"].fillna(whole.turns["score"]).tolist() == pytest.approx(list(ratings))
    file = tmp_path / "mine.jsonl"
    frame.to_json(file, orient="records", lines=True)
    options = [part for key, value in declared.items() for part in (f"--{key.replace('_', '-')}", value)]
    found = CliRunner().invoke(main, ["import", "table", str(file), "--dry-run", *options])
    assert found.exit_code == 0
    assert ("conversations were rated on" in found.output) == (scale != str(corpus.scale))


def test_ratings_that_may_be_on_two_scales_are_named():
    rows = rated_twice([1, 10, 8] * 4, [1, 5, 4] * 4)
    said = lines_of(rows)[1]
    assert "no conversation was rated above 5" in said and "--session-scale" in said
    assert "no conversation" not in lines_of(rated_twice([1, 10, 8] * 4, [1, 10, 4] * 4))[1]
    assert "no conversation" not in lines_of(rows, session_scale=Scale(1, 10))[1]


def test_a_stray_rating_of_a_conversation_is_a_fault_of_its_row():
    with pytest.raises(DataError) as error:
        lines_of(rated_twice([1, 10, 8] * 4, [11, *[1, 10, 4] * 3, 5, 6]))
    assert str(error.value).startswith("row 1: satisfaction is 11, expected 1–10")
    with pytest.raises(DataError, match="such as --session-scale 0-10"):
        lines_of(rated_twice([0, 1, 1] * 4, [2, 8, 9] * 4))
