"""Tables of one's own, JSONL and CSV."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from perslib.corpus import import_release, load, read_release
from perslib.errors import DataError
from perslib.judge import by_session

ROWS = [
    {"user": "u1", "scenario": "trips", "session": "a", "request": "Where?", "response": "There.", "score": "4"},
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
    "no user": ({"user": None}, "user is missing, expected a name or a number"),
    "no response": ({"response": None}, "response is missing, expected a text"),
    "number as text": ({"request": 5}, "request is 5, expected a text"),
    "turn": ({"turn": "second"}, 'turn is "second", expected a number from 0'),
    "click": ({"feedback": "meh"}, 'feedback is "meh", expected like or dislike'),
    "time": ({"asked_at": "yesterday"}, 'asked_at is "yesterday", expected a time such as 2026'),
    "success": ({"success": "maybe"}, 'success is "maybe", expected true or false'),
    "profile": ({"profile": [1]}, "profile is [1], expected an object"),
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
    out.write_bytes(reading.rejected_lines())
    assert [json.loads(line)["place"] for line in out.read_text().splitlines()] == ["mine.jsonl:2", "mine.jsonl:1"]


def test_duplicate_turns_are_refused(tmp_path):
    rows = [{"user": "u", "request": "a", "response": "b", "turn": 0}] * 2
    with pytest.raises(DataError, match=r"mine.jsonl:2: turn 0 of this session stands already at mine.jsonl:1"):
        load(write(tmp_path / "mine.jsonl", rows))
    mixed = [{"user": "u", "request": "a", "response": "b", "turn": 0}, {"user": "u", "request": "a", "response": "b"}]
    with pytest.raises(DataError, match="has no turn number"):
        load(write(tmp_path / "mine.jsonl", mixed))


@pytest.mark.system("readers")
def test_csv_faults(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("user,request\nu,q\n")
    with pytest.raises(DataError, match="no field is plainly an assistant's reply\nFound: user, request"):
        load(file)
    with pytest.raises(DataError, match="has no column response"):
        read_release(file, "table")
    file.write_text('user,request,response\nu,"two\nlines",r\nu,q\n')
    with pytest.raises(DataError, match=r"mine.csv:4: has another number of fields"):
        load(file)
    file.write_bytes(b"user,request,response\nu,q,\xe9t\xe9\n")
    with pytest.raises(DataError, match=r"mine.csv:2: is not UTF-8"):
        read_release(file, "table")


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
        ({"user": {"id": 1}}, 'user is {"id": 1}, expected a name or a number'),
        ({"task": {"a": 1}}, 'task is {"a": 1}, expected a text'),
        ({"earlier": "hello"}, 'earlier is "hello", expected a list of texts'),
    ],
)
def test_values_that_would_be_changed_in_silence_are_refused(tmp_path, change, expected):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"user": "u", "request": "q", "response": "r"} | change))
    with pytest.raises(DataError) as error:
        read_release(file, "table")
    assert expected in str(error.value)


def test_only_tables_are_read_as_tables(tmp_path):
    with pytest.raises(DataError, match="is no table; expected a file ending in"):
        read_release(tmp_path, "table")
    assert len(load(write(tmp_path / "UPPER.JSONL", ROWS)).turns) == 3


def test_a_scenario_called_zero_keeps_its_name(tmp_path):
    corpus = load(write(tmp_path / "mine.jsonl", [ROWS[0] | {"scenario": 0}]))
    assert corpus.scenarios == ["0"]


# -- faults of a column, not of rows -----------------------------------------------------------------------------


def scored(tmp_path, scores, column="score"):
    """A table with a session of two replies for each two of these scores."""
    rows = [
        {"user": f"u{i // 20}", "session": str(i // 2), "turn": i % 2, "request": "q", "response": f"r{i}"}
        | ({} if score is None else {column: score})
        for i, score in enumerate(scores)
    ]
    return write(tmp_path / "mine.jsonl", rows)


OFF = {
    "ten steps, the highest never given": (
        [i % 9 + 1 for i in range(360)],
        "whole numbers from 1 to 9",
        "--scale 0-10",
    ),
    "true or false": ([i % 3 == 0 for i in range(60)], "true, false", "--scale thumbs"),
    "minus one or one": (["-1", "1"] * 30, "whole numbers from -1 to 1", "--scale thumbs"),
    "words": (["good", "bad"] * 30, '"good", "bad"', "Write a number for each of these"),
    "a code for not rated": ([4] * 290 + [99] * 10, "from 4 to 99", "leave cells empty that mean 'not rated'"),
}


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("name", OFF)
def test_scores_on_another_scale_are_refused_as_a_whole(tmp_path, name, skip_bad):
    scores, seen, remedy = OFF[name]
    with pytest.raises(DataError) as error:
        read_release(scored(tmp_path, scores), "table", skip_bad=skip_bad)
    said = str(error.value)
    assert "mine.jsonl:" in said and "score is on another scale than 1–5" in said
    assert f"of {len(scores)} do not fit" in said and seen in said and remedy in said
    assert "skip-bad" not in said


#: Ratings → the scale read off them, the lowest and the highest score, and the highest rating of the dissatisfied.
PLAIN = {
    "ten steps": ([i % 10 + 1 for i in range(360)], "1–10", 6),
    "liked or not": ([i % 2 for i in range(360)], "0–1", 0),
    "nearly all liked": ([int(i != 7) for i in range(360)], "0–1", 0),
    "per cent": ([i % 101 for i in range(300)], "0–100", 62),
    "six steps, the last one rare": ([i % 5 + 1 for i in range(294)] + [6] * 6, "1–6", 4),
    "halves": ([1 + i % 9 / 2 for i in range(300)], "1–5", 3),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_scale_is_read_off_the_ratings(tmp_path, name):
    given, scale, dissatisfied = PLAIN[name]
    corpus = load(scored(tmp_path, given))
    turns = corpus.turns.sort_values("response", key=lambda r: r.str[1:].astype(int))
    assert str(corpus.scale) == scale and corpus.scale.highest_dissatisfied == dissatisfied
    ratings = turns["given"].fillna(turns["score"].astype("Float64")).astype(float)
    assert ratings.tolist() == given and (turns["score"].min(), turns["score"].max()) == (1, 5)
    low, high = corpus.scale.low, corpus.scale.high
    assert corpus.gold.astype(float)[turns.index].tolist() == pytest.approx(
        [1 + 4 * (g - low) / (high - low) for g in given]
    )


def test_a_few_stray_scores_are_faults_of_their_rows(tmp_path):
    scores = [i % 5 + 1 for i in range(300)]
    scores[10:200:70] = 0, 11, 44
    file = scored(tmp_path, scores)
    with pytest.raises(DataError, match=r"mine\.jsonl:11: score is 0, expected 1–5") as error:
        load(file)
    assert "--skip-bad" in str(error.value)
    reading = read_release(file, "table", skip_bad=True)
    assert reading.lost == 3 and len(reading.corpus.sessions) == 147
    assert reading.irregularities == {"sessions left out as bad": 3}


def test_a_word_for_no_rating_that_recurs_is_no_other_scale(tmp_path):
    scores = [i % 5 + 1 for i in range(300)]
    scores[10:200:50] = ["n/a"] * 4
    with pytest.raises(DataError, match=r"mine\.jsonl:11: score is \"n/a\"") as error:
        load(scored(tmp_path, scores))
    assert "--skip-bad" in str(error.value)


def test_ratings_of_sessions_make_a_corpus_to_judge_by_session(tmp_path):
    rows = [{**row, "satisfaction": s, "success": "true"} for row, s in zip(ROWS, (4.5, 4.5, "2"))]
    corpus = load(write(tmp_path / "mine.jsonl", rows))
    assert corpus.sessions["satisfaction"].tolist() == [4.5, 2.0]
    assert corpus.sessions["success"].tolist() == [True, True]
    assert "satisfaction" not in corpus.turns
    assert by_session(corpus).turns["score"].tolist() == [4, 2]


def test_a_session_is_rated_once_or_alike(tmp_path):
    rows = [{**row, "satisfaction": s} for row, s in zip(ROWS, (4, 2, 5))]
    with pytest.raises(DataError, match=r"mine.jsonl:2: satisfaction is 2.*, but 4.* at mine.jsonl:1"):
        load(write(tmp_path / "mine.jsonl", rows))
    rows = [{**row, "satisfaction": s} for row, s in zip(ROWS, (None, 2, 7))]
    with pytest.raises(DataError, match=r"mine.jsonl:3: satisfaction is 7, expected 1–5"):
        load(write(tmp_path / "mine.jsonl", rows))
    with pytest.raises(DataError, match="satisfaction is on another scale"):
        load(scored(tmp_path, [i // 2 % 9 for i in range(100)], "satisfaction"))


@pytest.mark.parametrize("skip_bad", [False, True])
def test_replies_to_choose_from_are_not_taken_for_a_conversation(tmp_path, skip_bad):
    three = [{"user": "u", "request": "Plan it", "response": r} for r in ("A", "B", "C")]
    with pytest.raises(DataError, match=r"mine.jsonl:2: has the request of mine.jsonl:1 again, and no turn") as error:
        read_release(write(tmp_path / "mine.jsonl", three), "table", skip_bad=skip_bad)
    assert "column candidate" in str(error.value) and "column turn" in str(error.value)
    assert "skip-bad" not in str(error.value)
    models = [{"user": "u", "request": q, "response": q + m, "assistant": m} for m in ("x", "y") for q in ("1", "2")]
    with pytest.raises(DataError, match=r"mine.jsonl:3: has the request of mine.jsonl:1 again"):
        read_release(write(tmp_path / "mine.jsonl", models), "table", skip_bad=skip_bad)


def test_a_user_may_ask_again(tmp_path):
    said = ("Where?", "When?", "Where?")
    rows = [{"user": "u", "request": q, "response": "r"} for q in said]
    assert load(write(tmp_path / "mine.jsonl", rows)).turns["request"].tolist() == list(said)
    said = ("Write a poem.", "go on", "go on")
    rows = [{"user": "u", "request": q, "response": "r"} for q in said]
    assert load(write(tmp_path / "mine.jsonl", rows)).turns["request"].tolist() == list(said)
    rows = [{"user": "u", "request": "more", "response": "r", "turn": i} for i in range(3)]
    assert len(load(write(tmp_path / "mine.jsonl", rows)).turns) == 3


# -- values that end in tracebacks --------------------------------------------------------------------------------

BAD_JSON = {
    "deep": ('{"a": ' * 5_000 + "1" + "}" * 5_000, "is nested deeper than 100 levels"),
    "not so deep": ("[" * 200 + "]" * 200, "is nested deeper than 100 levels"),
    "400 digits": ("1" * 400, "is a whole number of 400 digits; write it as text"),
    "5,000 digits": ("1" * 5_000, "holds a whole number of thousands of digits"),
    "half a character": ('"\\ud83d"', "holds half a character"),
    "half a character within": ('[{"\\ud83d": 1}]', "holds half a character"),
}


@pytest.mark.parametrize("column", ["user", "session", "turn", "score", "satisfaction", "profile", "asked_at", "mine"])
@pytest.mark.parametrize("name", BAD_JSON)
def test_what_no_corpus_can_hold_is_a_fault_of_its_row(tmp_path, name, column):
    value, said = BAD_JSON[name]
    row = {"user": "v", "session": "a", "request": "q", "response": "r"}
    bad = json.dumps({k: v for k, v in row.items() if k != column})[:-1] + f', "{column}": {value}}}'
    file = tmp_path / "mine.jsonl"
    lines = [json.dumps(row | {"user": user}) for user in ("u", "v", "w", "x")]
    file.write_text("\n".join([*lines[:2], bad, *lines[2:]]))
    with pytest.raises(DataError) as error:
        load(file)
    assert "mine.jsonl:3" in str(error.value) and said in str(error.value)
    done = import_release("table", file, out=tmp_path / "out", skip_bad=True)
    assert {"u", "x"} <= set(done.corpus.users["user"]) <= {"u", "w", "x"}
    rejected = [json.loads(line) for line in (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert any(said in one["reason"] for one in rejected)
    assert load(tmp_path / "out").digest == done.corpus.digest


@pytest.mark.parametrize("turn", [10**20, "1" * 30, "1" * 5_000, -1, 1.5, "²"])
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_turns_are_numbers_of_a_size(tmp_path, turn, ending):
    file = tmp_path / f"mine.{ending}"
    row = {"user": "u", "request": "q", "response": "r", "turn": turn}
    if ending == "csv":
        file.write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n", encoding="utf-8")
    elif len(str(turn)) < 4_000:
        write(file, [row])
    else:
        return
    with pytest.raises(DataError, match="turn is"):
        read_release(file, "table", skip_bad=True)


@pytest.mark.parametrize("values", [(1, "x"), ([1], "x"), ({"a": 1}, [1]), (True, 2), ("x", {"a": 1})])
def test_columns_of_mixed_kinds_are_named(tmp_path, values):
    file = write(tmp_path / "mine.jsonl", [{**row, "tag": v} for row, v in zip(ROWS, (*values, None))])
    with pytest.raises(DataError, match=r"mine.jsonl:2: tag is .*, but .* at mine.jsonl:1; give the column one kind"):
        import_release("table", file, out=tmp_path / "out", skip_bad=True)
    file = write(tmp_path / "mine.jsonl", [{**row, "tag": v} for row, v in zip(ROWS, (1, 2.5, None))])
    assert import_release("table", file, out=tmp_path / "out").corpus.turns["tag"].tolist()[:2] == [1, 2.5]


def test_a_parquet_file_may_have_a_named_column_without_values(tmp_path):
    frame = pd.DataFrame([{k: row[k] for k in ("user", "request", "response")} for row in ROWS]).assign(why=None)
    frame.to_parquet(tmp_path / "mine.parquet")
    reading = read_release(tmp_path / "mine.parquet", "table", columns={"reason": "why"})
    assert reading.corpus.turns["reason"].isna().all() and len(reading.corpus.turns) == len(ROWS)
