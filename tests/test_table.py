"""Tables of one's own, JSONL and CSV."""

from __future__ import annotations

import json

import pytest

from perslib.corpus import load, read_release
from perslib.errors import DataError

ROWS = [
    {
        "user": "u1",
        "scenario": "trips",
        "session": "a",
        "request": "Where?",
        "response": "There.",
        "score": "4",
    },
    {
        "user": "u1",
        "scenario": "trips",
        "session": "a",
        "request": "When?",
        "response": "Then.",
        "score": 2.0,
        "reason": "vague",
    },
    {
        "user": "u1",
        "scenario": "meals",
        "session": "b",
        "request": "What?",
        "response": "Soup.",
        "profile": {"age": 3},
        "tag": "x",
    },
]


def write(path, rows):
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    return path


def test_jsonl_becomes_a_corpus(tmp_path):
    corpus = load(write(tmp_path / "mine.jsonl", ROWS))
    assert corpus.name == "mine"
    assert list(corpus.turns["turn"]) == [0, 1, 0]
    assert corpus.turns["score"].tolist()[:2] == [4, 2]
    assert corpus.profile("u1") == {"age": 3}
    assert corpus.turns["tag"].iloc[2] == "x", "columns of one's own are kept"
    assert corpus.block("u1", "trips").evidence["response"].tolist() == ["Soup."]


def test_csv_and_jsonl_agree(tmp_path):
    table = "user,scenario,session,request,response,score,reason,profile,tag\n" + (
        'u1,trips,a,Where?,There.,4,,,\nu1,trips,a,When?,Then.,2,vague,,\nu1,meals,b,What?,Soup.,,,"{""age"": 3}",x\n'
    )
    (tmp_path / "mine.csv").write_text(table, encoding="utf-8-sig")
    ours, theirs = load(tmp_path / "mine.csv"), load(write(tmp_path / "mine.jsonl", ROWS))
    columns = ["user", "scenario", "session", "turn", "request", "response", "score", "reason"]
    assert ours.turns[columns].astype(str).equals(theirs.turns[columns].astype(str))
    assert ours.profile("u1") == theirs.profile("u1")


def test_turn_numbers_order_a_session(tmp_path):
    rows = [{"user": "u", "request": str(i), "response": "r", "turn": i} for i in (2, 0, 1)]
    corpus = load(write(tmp_path / "t.jsonl", rows))
    assert list(corpus.turns["request"]) == ["0", "1", "2"]


BAD_ROWS = {
    "score": ({"score": 7}, "score is 7, expected 1–5"),
    "score as word": ({"score": "good"}, 'score is "good", expected 1–5'),
    "score as truth": ({"score": True}, "score is true, expected 1–5"),
    "no user": ({"user": None}, "'user' is missing"),
    "no response": ({"response": None}, "'response' is missing"),
    "number as text": ({"request": 5}, "request is 5, expected text"),
    "turn": ({"turn": "second"}, "turn is 'second', expected a number from 0"),
    "click": ({"feedback": "meh"}, "feedback is 'meh', expected like or dislike"),
    "time": ({"asked_at": "yesterday"}, "asked_at is 'yesterday', expected a time"),
    "profile": ({"profile": [1]}, "profile is no JSON object"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_named_with_line_and_field(tmp_path, name):
    change, expected = BAD_ROWS[name]
    file = write(tmp_path / "mine.jsonl", [*ROWS, {"user": "u2", "request": "?", "response": "!"} | change])
    with pytest.raises(DataError) as error:
        load(file)
    assert f"mine.jsonl:4: {expected}" in str(error.value)
    reading = read_release(file, "table", skip_bad=True)
    assert len(reading.corpus.turns) == 3 and len(reading.rejected) == 1


def test_broken_lines_are_named(tmp_path):
    file = tmp_path / "mine.jsonl"
    good = json.dumps(ROWS[0]).encode()
    file.write_bytes(good + b'\n{"user": "u1", "requ\n[1]\n{"user": "\xff"}\n')
    with pytest.raises(DataError) as error:
        load(file)
    text = str(error.value)
    assert "mine.jsonl:2: " in text and "mine.jsonl:3: is no JSON object" in text
    assert "mine.jsonl:4: is not UTF-8" in text


def test_a_bad_row_takes_its_session_with_it_and_nothing_else(tmp_path):
    rows = [ROWS[0], ROWS[1] | {"score": 0}, ROWS[2]]
    reading = read_release(write(tmp_path / "mine.jsonl", rows), "table", skip_bad=True)
    assert list(reading.corpus.turns["scenario"]) == ["meals"]
    assert [r.place for r in reading.rejected] == ["mine.jsonl:2", "mine.jsonl:1"]
    assert reading.rejected[1].reason == "another row of the same session is bad"
    out = tmp_path / "rejected.jsonl"
    reading.write_rejected(out)
    assert [json.loads(line)["place"] for line in out.read_text().splitlines()] == [
        "mine.jsonl:2",
        "mine.jsonl:1",
    ]


def test_duplicate_turns_are_refused(tmp_path):
    rows = [{"user": "u", "request": "a", "response": "b", "turn": 0}] * 2
    with pytest.raises(
        DataError, match=r"mine.jsonl:2: turn 0 of this session stands already at mine.jsonl:1"
    ):
        load(write(tmp_path / "mine.jsonl", rows))
    mixed = [
        {"user": "u", "request": "a", "response": "b", "turn": 0},
        {"user": "u", "request": "a", "response": "b"},
    ]
    with pytest.raises(DataError, match="has no turn number"):
        load(write(tmp_path / "mine.jsonl", mixed))


def test_csv_faults(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("user,request\nu,q\n")
    with pytest.raises(DataError, match="has no column response"):
        load(file)
    file.write_text('user,request,response\nu,"two\nlines",r\nu,q\n')
    with pytest.raises(DataError, match=r"mine.csv:4: has another number of fields"):
        load(file)
    file.write_bytes(b"user,request,response\nu,q,\xe9t\xe9\n")
    with pytest.raises(DataError, match=r"mine.csv:2: is not UTF-8"):
        load(file)


def test_an_unreadable_line_takes_the_sessions_around_it_with_it(tmp_path):
    """It may have been a turn of either; a conversation with a hole is not what its user saw."""
    file = tmp_path / "mine.jsonl"
    rows = [{"user": "u", "session": s, "request": s, "response": "r"} for s in ("a", "b", "c", "d")]
    lines = [json.dumps(r) for r in rows]
    file.write_text("\n".join([*lines[:2], '{"user": "u", "ses', *lines[2:]]))
    reading = read_release(file, "table", skip_bad=True)
    assert list(reading.corpus.sessions["session"]) == ["a", "d"]
    assert len(reading.rejected) == 3


def test_where_nothing_is_left_the_reasons_are_said(tmp_path):
    file = write(tmp_path / "mine.jsonl", [ROWS[0] | {"score": 9}])
    with pytest.raises(DataError, match="score is 9, expected 1–5"):
        read_release(file, "table", skip_bad=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"request": "half \ud83d"}, "request holds half a character"),
        ({"user": {"id": 1}}, "user is {'id': 1}, expected a name or a number"),
        ({"task": {"a": 1}}, "task is {'a': 1}, expected text"),
        ({"earlier": "hello"}, "'earlier' is a column that perslib fills itself"),
    ],
)
def test_values_that_would_be_changed_in_silence_are_refused(tmp_path, change, expected):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"user": "u", "request": "q", "response": "r"} | change))
    with pytest.raises(DataError) as error:
        load(file)
    assert expected in str(error.value)


def test_only_tables_are_read_as_tables(tmp_path):
    with pytest.raises(DataError, match="is no table; expected a file ending in"):
        read_release(tmp_path, "table")
    assert len(load(write(tmp_path / "UPPER.JSONL", ROWS)).turns) == 3


def test_a_scenario_called_zero_keeps_its_name(tmp_path):
    corpus = load(write(tmp_path / "mine.jsonl", [ROWS[0] | {"scenario": 0}]))
    assert corpus.scenarios == ["0"]
