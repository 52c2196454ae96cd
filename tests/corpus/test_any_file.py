"""Anybody's files: recognised without an option, said, asked about where two fields fit, and refused by place where none does."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import zipfile
from contextlib import closing
from typing import Any

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner
from files_made import FILES, asked, document, frame, lines, said, score, user
from tables_made import make_table, outcome

import perslib
from perslib.cli import main
from perslib.corpus import detect, load, read_release
from perslib.corpus.any_file.anything import RecognisedWarning
from perslib.corpus.any_file.encodings import decode_text
from perslib.corpus.any_file.ratings import find_scale_of, number_of, read_rating
from perslib.corpus.any_file.records_of import find_delimiter, read_records
from perslib.corpus.files.tables import open_rows
from perslib.corpus.loaders import table
from perslib.errors import Ambiguous, DataError, PerslibError


@pytest.mark.parametrize("name", FILES)
def test_files_as_people_have_them(tmp_path, name):
    file, made = tmp_path / name, FILES[name]
    made.write(file)
    corpus = read_release(file, detect(file)).corpus
    there = (len(corpus.users), len(corpus.sessions), int(corpus.turns["score"].notna().sum()), str(corpus.scale))
    assert there == made[1:5] and len(corpus.extras.get("candidates", ())) == made.candidates
    first = corpus.turns.iloc[0]
    assert first["request"].startswith(asked(0)) and first["response"] == said(0)
    assert {"request", "messages", "response_a"} & set(corpus.meta["taken"]["columns"])


def test_ratings_reach_their_replies(tmp_path):
    for name in ("MLflow.jsonl", "plain.xlsx", "ShareGPT.json", "words.csv", "UTF-16.tsv"):
        FILES[name].write(tmp_path / name)
        turns = load(tmp_path / name).turns.set_index("response")
        got = [(turns.at[said(i), "user"], turns.at[said(i), "score"]) for i in range(20)]
        assert got == [(user(i), score(i)) for i in range(20)], name


def test_people_count_before_models(tmp_path):
    FILES["MLflow.jsonl"].write(tmp_path / "m.jsonl")
    taken = load(tmp_path / "m.jsonl").meta["taken"]
    assert taken["columns"]["user"] == "annotator" and any(
        "assessments.groundedness" in note for note in taken["notes"]
    )


def test_preferences_are_those_that_were_given(tmp_path):
    FILES["arena.parquet"].write(tmp_path / "a.parquet")
    replies = load(tmp_path / "a.parquet").extras["candidates"]
    won = replies[replies["chosen"].fillna(False).astype(bool)]
    assert set(won["candidate"]) == {"x", "y"} and len(won) == 10, "ties have no winner"


def test_what_fits_twice_is_asked(tmp_path):
    file = tmp_path / "runs.csv"
    frame(
        lambda i: {"user": user(i), "prompt": asked(i), "run1.response": said(i), "run2.response": "B" + said(i)}
    ).to_csv(file)
    with pytest.raises(Ambiguous, match=r"more than one field may be the response: run1.response, run2.response"):
        load(file)
    taken = read_release(file, "any", columns={"response": "run2.response"}).corpus
    assert taken.turns["response"].str.startswith("BHere").all()
    with pytest.raises(DataError, match="has no field run3"):
        read_release(file, "any", columns={"response": "run3"})


def make_turns(sessions=6, turns=3, **columns):
    """Rows of turns with a text that opens their conversation; further columns are functions of session and turn."""
    return pd.DataFrame(
        {
            "session_id": f"s{s}", "turn_id": t, "worker_id": f"w{s}", "prompt": f"Talk about place number {s}.",
            "user_input": f"And what about {s} in year {t}?", "model_completion": f"It was fine in {t}, all {s} times.",
        } | {name: column(s, t) for name, column in columns.items()}
        for s in range(sessions) for t in range(1, turns + 1)
    )  # fmt: skip


def test_what_opens_a_conversation_is_not_taken_for_what_is_asked_in_its_turns():
    rows = make_turns()
    with pytest.warns(RecognisedWarning, match="request: user_input; also there: prompt"):
        corpus = load(rows)
    assert corpus.turns["request"].tolist() == rows["user_input"].tolist()
    with pytest.warns(RecognisedWarning):
        own = load(rows, columns={"request": "prompt"})
    assert set(own.turns["request"]) == set(rows["prompt"])


@pytest.mark.parametrize(
    ("rating", "sessions", "is_of_conversation"),
    [
        (lambda s, t: 1 + s % 5, 6, True),
        (lambda s, t: 1 + s % 5, 3, False),  # six further turns with the same rating may be chance
        (lambda s, t: 1 + (s + t) % 5, 6, False),
        (lambda s, t: 1 + s % 5 if t == 3 else None, 6, False),  # the last reply alone is rated
    ],
)
def test_a_rating_that_stands_in_all_turns_rates_the_conversation(rating, sessions, is_of_conversation):
    rows = make_turns(sessions, quality=rating)
    for form in (rows, rows.drop(columns=["turn_id", "prompt"])):
        with pytest.warns(RecognisedWarning) as warned:
            corpus = load(form)
        assert ("so it rates the conversation" in str(warned[0].message)) == is_of_conversation
        own = corpus.sessions["satisfaction"] if is_of_conversation else corpus.turns["score"]
        wanted = rows.drop_duplicates("session_id") if is_of_conversation else rows
        assert own.astype(float).tolist() == pytest.approx(wanted["quality"].astype(float).tolist(), nan_ok=True)
    with pytest.warns(RecognisedWarning):
        assert load(rows, columns={"score": "quality"}).turns["score"].notna().sum() == rows["quality"].notna().sum()


def test_a_rating_beside_a_whole_conversation_is_said_to_be_of_its_last_reply(monkeypatch):
    turns = [{"role": role, "content": f"{role} {n}"} for n in (1, 2) for role in ("user", "assistant")]
    rows = [{"user_id": f"u{i}", "messages": turns, "rating": 1 + i % 5} for i in range(5)]
    with pytest.warns(RecognisedWarning, match="rating rates the last reply of each conversation"):
        corpus = load(rows)
    assert corpus.turns["score"].isna().tolist() == [True, False] * 5
    monkeypatch.setattr("perslib.corpus.any_file.recognise.LOOKED_AT", 2)
    with pytest.warns(RecognisedWarning, match="rating rates the last reply of each conversation"):
        load(rows)  # of a long file the beginning is looked at
    with pytest.warns(RecognisedWarning) as warned:
        whole = load(rows, columns={"satisfaction": "rating"})
    assert "last reply" not in str(warned[0].message)
    assert whole.sessions["satisfaction"].tolist() == [1, 2, 3, 4, 5] and whole.turns["score"].isna().all()
    with pytest.warns(RecognisedWarning) as warned:
        load([{**row, "messages": turns[:2]} for row in rows])
    assert "last reply" not in str(warned[0].message)


def test_columns_of_unnamed_numbers_are_asked_about_and_may_be_annotators(tmp_path):
    file = tmp_path / "three.csv"
    frame(lambda i: {"Question": asked(i), "Answer": said(i), "Anna": score(i), "Ben": score(i + 1)}).to_csv(file)
    with pytest.raises(Ambiguous, match=r"may be the score: Anna, Ben, Anna\+Ben"):
        load(file)
    turns = read_release(file, "any", columns={"score": "Anna+Ben"}).corpus.turns
    assert turns.groupby("user")["score"].count().to_dict() == {"Anna": 20, "Ben": 20}


def test_winners_of_0_and_1_are_not_guessed(tmp_path):
    file = tmp_path / "shp.jsonl"
    lines(lambda i: {"history": asked(i), "human_ref_A": said(i), "human_ref_B": "No.", "labels": i % 2})(file)
    with pytest.raises(DataError, match="labels is 0 or 1, and nothing says which"):
        load(file)
    for side, first in (("won_a", "No."), ("won_b", said(0))):
        replies = read_release(file, "any", columns={side: "labels"}).corpus.extras["candidates"]
        assert replies.loc[replies["chosen"], "response"].iloc[0] == first


def test_whose_reply_won_is_read_by_side_by_model_and_by_strength(tmp_path):
    for name, chosen in (("left and right.jsonl", 14), ("strengths.jsonl", 15)):
        FILES[name].write(tmp_path / name)
        replies = load(tmp_path / name).extras["candidates"]
        won = replies.loc[replies["chosen"].fillna(False).astype(bool), "response"]
        assert len(won) == chosen and not won.str.startswith("No.").any()


def test_lists_of_texts_are_turns_of_which_pairs_compare_the_last(tmp_path):
    FILES["lists of both sides.jsonl"].write(tmp_path / "a.jsonl")
    turns = load(tmp_path / "a.jsonl").turns
    assert len(turns) == 40 and turns.iloc[1][["request", "response", "score"]].tolist() == ["And then?", "Rest.", 1]
    lines(
        lambda i: {
            "prompt": [asked(i), "More?"],
            "response_a": [said(i), "A."],
            "response_b": ["No.", "B."],
            "winner": "a",
        }
    )(tmp_path / "b.jsonl")
    corpus = load(tmp_path / "b.jsonl")
    assert corpus.turns["request"].eq("More?").all()
    assert corpus.extras["candidates"]["response"].tolist()[:2] == ["A.", "B."]
    lines(lambda i: {"q": asked(i), "a": said(i), "who": user(i), "tags": ["x", "y"] if i % 2 else "z"})(
        tmp_path / "c.jsonl"
    )
    assert load(tmp_path / "c.jsonl").turns["tags"].tolist()[:2] == ["z", "x\n\ny"]


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("a.zip", {"a.csv": "x", "b.csv": "y"}, "holds a.csv, b.csv, expected one file"),
        ("a.zip", {"read.me": "x"}, "holds no table"),
        ("a.zip", b"none", "cannot be unpacked"),
        ("a.csv.gz", b"none", "cannot be unpacked"),
        ("a.log.gz", b"none", "a.log.gz: holds no table"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 99, mtime=0), "holds more than 99 bytes"),
        ("a.db", b"none" * 99, "is no readable SQLite database"),
        ("a.db", b"", "a.db: is empty"),
    ],
)
def test_archives_and_databases_that_cannot_be_read_are_refused(tmp_path, monkeypatch, name, content, wrong):
    monkeypatch.setattr("perslib.corpus.any_file.records_of.UNPACKED", 99)
    monkeypatch.setattr("perslib.corpus.any_file.records_of.UNPACKED_AT_ONCE", 50)
    if isinstance(content, dict):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for own, text in content.items():
                archive.writestr(own, text)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=wrong):
        load(tmp_path / name)


def _log(path, header, size=10):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", header)
        log.writestr("samples/0.json", json.dumps({"id": 1, "input": "x" * size}))


def _database(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (user, reply, x TEXT GENERATED ALWAYS AS (hex(zeroblob(1e8))))")
        database.execute("INSERT INTO t (user, reply) VALUES ('a', 'b')")
        database.commit()


def _sheet(path):
    book = openpyxl.Workbook()
    book.active.append(["user", "reply"])
    book.active.cell(row=1_048_576, column=3_000, value=1)
    book.save(path)


BOMBS = {
    "header.eval": (lambda path: _log(path, " " * 300), "header.json: is larger than 200 bytes"),
    "sample.eval": (lambda path: _log(path, "{}", 300), "samples/0.json: is larger than 200 bytes"),
    "computed.db": (_database, "table 't' has columns that are computed when they are read: x"),
    "wide.json": (lambda path: path.write_text(json.dumps([dict.fromkeys(map(str, range(2_001)))])), "has 2,001 columns"),
    "deep.json": (lambda path: path.write_text(json.dumps([{"a": dict.fromkeys(map(str, range(2_001)))}])), "2,001 columns"),
    "long.csv": (lambda path: path.write_text("user,reply\n" + "a,b\n" * 60), "has more than 100 cells"),
    "long.jsonl": (lambda path: path.write_text('{"user": 1, "reply": 2}\n' * 60), "has more than 100 cells"),
    "far.xlsx": (_sheet, "has (more than 100 cells|3,000 columns)"),
    "pipe.json": (os.mkfifo, "is no file, but a pipe"),
    "pipe.csv.gz": (os.mkfifo, "is no file, but a pipe"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("reader", [load, read_records])
def test_what_would_not_end_or_not_fit_into_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, name, reader):
    monkeypatch.setattr("perslib.corpus.any_file.archives.check_members.__defaults__", (200,), raising=False)
    monkeypatch.setattr("perslib.corpus.files.records.CELLS", 100)
    make, why = BOMBS[name]
    make(tmp_path / name)
    with pytest.raises(DataError, match=why) as error:
        reader(tmp_path / name)
    assert error.value.remedy or "larger" in why


ROWS = [{"who": user(i), "prompt": asked(i), "reply": said(i), "rating": 1 + i % 5} for i in range(20)]
ITSELF: dict[str, Any] = {**ROWS[0]}
ITSELF["more"] = ITSELF
LEVELS = pd.DataFrame(ROWS)
LEVELS.columns = pd.MultiIndex.from_product([["a"], LEVELS.columns])
ODD_OBJECTS = {
    "None": (None, {}, "is a NoneType, nothing with rows"),
    "5": (5, {}, "is a int, nothing with rows"),
    "an object": (object(), {}, "nothing with rows"),
    "a table": ({"a": 1}, {}, "is a dict, nothing with rows"),
    "rows that hold themselves": ([ITSELF] * 20, {}, "holds itself"),
    "column names of two levels": (LEVELS, {}, "column names of 2 levels"),
    "half a character": ([*ROWS, {**ROWS[0], "reply": "\ud83d"}], {}, "row 21: reply holds half a character"),
    "a name longer than any": ("x" * 5_000, {}, "There is no corpus called"),
    "an option that is none": (ROWS, {"colums": {}}, "colums: is no option here"),
    "columns as a list": (ROWS, {"columns": ["who"]}, "columns: is a list"),
    "a scale that is none": (ROWS, {"scale": "good"}, "'good' is no scale"),
}


@pytest.mark.parametrize("name", ODD_OBJECTS)
def test_what_is_no_corpus_in_memory_is_refused_in_a_sentence(name):
    what, how, why = ODD_OBJECTS[name]
    with pytest.raises(PerslibError, match=why):
        load(what, **how)


@pytest.mark.filterwarnings("ignore::perslib.corpus.any_file.anything.RecognisedWarning")
def test_what_stands_in_the_index_of_a_frame_counts():
    assert len(load(pd.DataFrame(ROWS).set_index(["who", "prompt"]), scale="1-5").users) == len(
        {r["who"] for r in ROWS}
    )


def test_a_folder_with_a_pipe_in_it_is_refused(tmp_path):
    (tmp_path / "data" / "more").mkdir(parents=True)
    os.mkfifo(tmp_path / "data" / "more" / "a.json")
    with pytest.raises(DataError, match=r"a\.json: is no file, but a pipe"):
        load(tmp_path / "data")


def test_texts_that_only_sometimes_look_like_conversations_stay_texts(tmp_path):
    file = tmp_path / "few shots.csv"
    shots = "User: hello\nAssistant: hi\nUser: "
    frame(lambda i: {"who": user(i), "prompt": (shots if i % 2 else "") + asked(i), "reply": said(i)}).to_csv(file)
    requests = load(file).turns["request"]
    assert requests.tolist() == [(shots if i % 2 else "") + asked(i) for i in range(20)]


def test_what_is_no_conversation_is_refused_with_what_was_found(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_csv(tmp_path / "n.csv", index=False)
    with pytest.raises(
        DataError, match=r"no field is plainly an assistant's reply\nFound: a, b. Name it: --columns response=FIELD"
    ):
        load(tmp_path / "n.csv")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match=r"broken.json:1: the JSON text ends too early"):
        load(tmp_path / "broken.json")
    for name in ("x.xlsx", "x.eval"):
        (tmp_path / name).write_bytes(b"no archive")
        with pytest.raises(DataError, match=f"{name}: is no readable"):
            load(tmp_path / name)


def test_bad_records_are_named_and_nothing_is_dropped_in_silence(tmp_path):
    file = tmp_path / "log.jsonl"
    lines(lambda i: {"who": user(i), "question": asked(i), "answer": said(i), "rating": score(i)})(file)
    file.write_text(file.read_text("utf-8") + "[1]\nno json\n", "utf-8")
    with pytest.raises(DataError, match=r"log.jsonl:21: is no JSON object\nlog.jsonl:22: is not JSON"):
        load(file)
    reading = read_release(file, "any", skip_bad=True)
    assert len(reading.corpus.turns) == 20 and len(reading.rejected) == 2


def test_a_rating_that_is_none_is_a_fault_and_not_guessed(tmp_path):
    file = tmp_path / "r.jsonl"
    lines(lambda i: {"who": user(i), "question": asked(i), "answer": said(i), "rating": score(i) if i else "??"})(file)
    with pytest.raises(DataError, match=r'r.jsonl:1: score is "\?\?", expected 1–5'):
        load(file)


@pytest.mark.parametrize(("values", "scale"), [
    ([1, 5, 3], "1-5"), ([0, 1], "0-1"), ([True, False], "0-1"), (["👍", "👎"], "0-1"), (["good", "bad"], "0-1"),
    (["Good", "ok", "bad"], "1-3"), (["strongly agree", "neutral"], "1-5"), ([0, 7, 10], "0-10"), ([1, 7], "1-7"),
    (["3 stars", "4/5"], "1-5"), (["★★☆☆☆", "★★★★☆"], "1-5"), ([-1, 1], "-1-1"), ([0.25, 0.5], "0-1"), (["a", "b"], None),
    ([-7, 3], None), ([1000], None), (["满意", "不满意", "一般"], "1-5"),
])  # fmt: skip
def test_scales_are_read_off_ratings(values, scale):
    assert find_scale_of(values) == scale


def test_ratings_as_they_are_written():
    assert [number_of(v) for v in ("4/5", "4,5", "85%", "★★★☆☆", " 3 ", True, "x")] == [4, 4.5, 85, 3, 3, 1, None]
    assert read_rating("👎", "0-1") == 0 and read_rating(-1, "-1-1") == 0 and read_rating("very good", "1-5") == 5
    assert read_rating("odd", "1-5") == "odd" and read_rating("", "1-5") is None


def test_encodings_and_separators():
    assert decode_text("Grüße".encode("cp1252"), "x") == ("Grüße", "cp1252")
    assert decode_text("Grüße".encode("utf-16"), "x")[0] == "Grüße"
    assert decode_text("姓名,回答很好。\nMüller".encode("gb18030"), "x") == ("姓名,回答很好。\nMüller", "GB18030")
    assert decode_text("Señor Núñez bebió café".encode("cp1252"), "x")[1] == "cp1252"
    with pytest.raises(DataError, match="is not UTF-8"):
        decode_text("Grüße".encode() + b"\xe9 x", "x")
    assert [find_delimiter(t) for t in ("a;b\n1,2;3", "a\tb\n1\t2", "a,b;c\n1,2\n", "a\n1")] == [";", "\t", ",", ","]


def test_frames_and_lists_are_recognised_with_a_word():
    rows = [{"q": asked(i), "answer": said(i), "stars": score(i), "rater": user(i)} for i in range(20)]
    with pytest.warns(RecognisedWarning, match="score +stars"):
        corpus = perslib.load(rows, name="mine")
    assert (corpus.name, len(corpus.users), len(corpus.turns)) == ("mine", 4, 20)
    with pytest.warns(RecognisedWarning):
        assert perslib.load(pd.DataFrame(rows)).turns["score"].tolist() == [score(i) for i in range(20)]
    with pytest.raises(DataError, match="row 1: is no object"):
        perslib.load(["a"])


@pytest.fixture
def run(home):
    return lambda *arguments: CliRunner().invoke(main, ["import", *map(str, arguments)])


def test_the_command_says_what_it_takes_and_stores_it_on_yes(run, home, tmp_path):
    file = tmp_path / "my study.xlsx"
    FILES["plain.xlsx"].write(file)
    shown = run(file)
    assert shown.exit_code == 0 and "  score     Satisfaction" in shown.output and '"user": "alice"' in shown.output
    assert (
        f"To store it: perslib import '{file}' --yes --name 'my study'" in shown.output and not (home / "data").exists()
    )
    assert run(file, "--yes", "--name", "mine").exit_code == 0 and len(load("mine").turns) == 20
    again = run(file, "--scale", "1-10", "--columns", "user=Participant")
    assert "--columns user=Participant --scale 1-10" in again.output


def test_a_table_in_our_own_names_is_stored_at_once(run, home, tmp_path):
    file = tmp_path / "own.csv"
    frame(lambda i: {"user": user(i), "request": asked(i), "response": said(i), "score": score(i)}).to_csv(
        file, index=False
    )
    assert detect(file) == "table" and run(file, "--name", "own").exit_code == 0 and len(load("own").turns) == 20


@pytest.mark.parametrize(("rating", "kind"), [("score", "table"), ("stars", "any")])
def test_a_file_is_read_once_to_be_told(tmp_path, monkeypatch, rating, kind):
    reads = []
    monkeypatch.setattr(table, "open_rows", lambda path: reads.append(path) or open_rows(path))
    file = tmp_path / "mine.csv"
    file.write_text(f"user,request,response,{rating}\nu,q,r,4\n", "utf-8")
    assert detect(file) == kind and reads == [file]
    file.write_text("user,request\nu,q\n", "utf-8")
    assert detect(file) == "any" and reads == [file] * 2, "it has changed"


def test_records_in_a_document_are_found_and_said(tmp_path):
    file = tmp_path / "d.json"
    document(lambda: {"meta": {"n": 1}, "study": {"rows": [{"prompt": asked(i), "reply": said(i)} for i in range(9)]}})(
        file
    )
    assert "records at study.rows" in load(file).meta["taken"]["notes"]
    one = {"question": asked(1), "answer": said(1), "user": "ada", "rating": 4}
    file.write_text(json.dumps(one), "utf-8")
    assert len(load(file).turns) == 1


@pytest.mark.parametrize(
    "odd",
    [
        [{"name": None, "text": "x"}],
        [{"role": "", "content": "x"}, {"role": None, "content": "y"}],
        {"a": {"children": [{"x": 1}], "parent": {"q": 1}}},
        {"a": {"children": ["a"], "parent": None, "message": "x"}},
        "{'a': '\\d'",
        "{'a': '\\d'}",
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_only_resembles_a_conversation_harms_nothing(tmp_path, odd):
    file = tmp_path / "odd.jsonl"
    lines(lambda i: {"who": user(i), "question": asked(i), "answer": said(i), "rating": score(i), "more": odd})(file)
    assert load(file).turns["response"].tolist() == [said(i) for i in range(20)]


@pytest.mark.parametrize("block", range(8))
def test_no_table_is_misread_without_a_word(block, tmp_path):
    """Of tables with a known truth none is read wrongly; what is asked or refused is the smaller part."""
    outcomes = {seed: outcome(make_table(seed), tmp_path) for seed in range(25 * block, 25 * block + 25)}
    assert {seed: why for seed, (result, why) in outcomes.items() if result == "wrong"} == {}
    assert sum(result == "right" for result, _ in outcomes.values()) >= 0.75 * len(outcomes)


ABROAD = {
    "shift_jis": ("どうすればいいですか", "まず確認してください"),
    "koi8-r": ("как мне это сделать", "сначала проверьте"),
    "cp1251": ("как мне это сделать", "сначала проверьте"),
    "big5": ("我應該怎麼做這個", "您可以先檢查一下"),
    "gb18030": ("我应该怎么做这个", "您可以先检查一下"),
    "cp949": ("어떻게 해야 하나요", "먼저 확인하세요"),
    "cp1250": ("jak to mám udělat, prosím vás", "nejdříve zkontrolujte účet"),
    "iso8859-2": ("jak mam to zrobić proszę", "najpierw sprawdź konto także"),
    "latin-1": ("¿cómo puedo hacerlo mañana?", "después compruebe el año"),
    "utf-16-le": ("¿cómo puedo hacerlo mañana?", "después compruebe el año"),
}


@pytest.mark.parametrize("encoding", ABROAD)
def test_an_encoding_is_read_or_asked_about_and_never_taken_for_another(encoding, tmp_path):
    ask, say = ABROAD[encoding]
    file = tmp_path / "t.csv"
    frame(lambda i: {"user": user(i), "prompt": f"{ask} {i}", "reply": f"{say} {i}", "rating": score(i)}).to_csv(
        file, index=False, encoding=encoding
    )
    try:
        turns = read_release(file, "any").corpus.turns
    except DataError as error:
        assert f"--encoding {encoding}" in str(error) or " or " in str(error)
        turns = read_release(file, "any", encoding=encoding).corpus.turns
    assert turns["request"].iloc[0] == f"{ask} 0" and turns["response"].iloc[0] == f"{say} 0"


def test_files_of_statistics_programs_and_saved_data_sets(tmp_path):
    import pyarrow as pa

    words = ["Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very satisfied"]
    table = frame(lambda i: {"participant": user(i), "prompt": asked(i), "reply": said(i), "rating": score(i)})
    table.to_stata(tmp_path / "a.dta", write_index=False)
    labelled = pd.Categorical([words[n - 1] for n in table["rating"]], words, ordered=True)
    table.assign(rating=labelled).to_stata(tmp_path / "b.dta", write_index=False)
    pytest.importorskip("pyreadstat").write_sav(
        table, str(tmp_path / "c.sav"), variable_value_labels={"rating": dict(enumerate(words, 1))}
    )
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    rows = pa.Table.from_pandas(table)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, rows.schema) as new,
    ):
        new.write_table(rows)
    for path in ("a.dta", "b.dta", "c.sav", "saved"):
        read = read_release(tmp_path / path, detect(tmp_path / path)).corpus
        assert read.turns["score"].tolist() == table["rating"].tolist() and len(read.users) == 4
    table.to_pickle(tmp_path / "d.pkl")
    with pytest.raises(DataError, match="is a pickle, which runs whatever code it holds"):
        read_release(tmp_path / "d.pkl", detect(tmp_path / "d.pkl"))


def test_two_columns_or_keys_of_one_name_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.csv").write_text("user,prompt,rating,reply,rating\nu,q?,1,a,2\n")
    (tmp_path / "b.jsonl").write_text('{"user": "u", "prompt": "q?", "reply": "a", "rating": 1, "rating": 2}\n')
    pq.write_table(pa.table([["u"], ["q?"], ["v"]], names=["user", "prompt", "user"]), tmp_path / "c.parquet")
    sheet = openpyxl.Workbook()
    for row in (["user", "prompt", "rating", "rating"], ["u", "q?", 1, 2]):
        sheet.active.append(row)
    sheet.save(tmp_path / "d.xlsx")
    twice = pd.DataFrame([["u", "q?", "a", 1, 2]], columns=["user", "prompt", "reply", "rating", "rating"])
    for data in (*(tmp_path / name for name in ("a.csv", "b.jsonl", "c.parquet", "d.xlsx")), twice):
        with pytest.raises(DataError, match=r"2 columns called|the key 'rating' twice"):
            load(data)


def test_numbered_columns_are_a_row_each(tmp_path):
    wide = pd.DataFrame(
        [
            {
                f"{c}_{k}": {"prompt": asked(3 * j + k), "reply": said(3 * j + k), "rating": 1 + (j + k) % 5}[c]
                for k in (1, 2, 3)
                for c in ("prompt", "reply", "rating")
            }
            for j in range(9)
        ]
    )
    wide.to_csv(tmp_path / "w.csv", index=False)
    turns = load(tmp_path / "w.csv").turns
    assert len(turns) == 27 and turns["user"].nunique() == 9
    assert turns["request"].tolist() == [asked(3 * j + k) for j in range(9) for k in (1, 2, 3)]
    assert turns["score"].tolist() == [1 + (j + k) % 5 for j in range(9) for k in (1, 2, 3)]


@pytest.mark.parametrize("kind", ["1-2", "dissatisfaction", "Note"])
def test_a_scale_of_which_nothing_says_the_best_end_is_asked_about(kind):
    name = "rating" if kind == "1-2" else kind
    table = frame(
        lambda i: {"user": user(i), "prompt": asked(i), "reply": said(i), name: 1 + i % (2 if kind == "1-2" else 5)}
    )
    with pytest.raises(DataError, match="nothing says which end is the best"):
        load(table)
    high = "2" if kind == "1-2" else "5"
    with pytest.warns(RecognisedWarning):
        up, down = (load(table, scale=scale).turns["score"] for scale in (f"1-{high}", f"{high}-1"))
    assert (up + down).eq(6).all() and up.nunique() > 1


def test_two_files_are_joined_by_a_field_that_both_have(tmp_path):
    whole = frame(lambda i: {"id": f"r{i}", "user": user(i), "prompt": asked(i), "reply": said(i), "rating": score(i)})
    texts, ratings = whole[["id", "prompt", "reply"]], whole[["id", "user", "rating"]]
    texts.to_csv(tmp_path / "texts.csv", index=False)
    pd.concat([ratings, ratings.assign(user="another", rating=3)]).to_csv(tmp_path / "ratings.csv", index=False)
    run = CliRunner().invoke(main, ["import", str(tmp_path / "ratings.csv"), str(tmp_path / "texts.csv"), "--on", "id"])
    assert run.exit_code == 0 and f"{2 * len(whole)} of {2 * len(whole)} records" in run.output
    joined = read_release(tmp_path / "ratings.csv", "any", join=(tmp_path / "texts.csv", "id")).corpus.turns
    assert len(joined) == 2 * len(whole) and set(joined["request"]) == set(whole["prompt"])
    ratings.assign(id="x" + ratings["id"]).to_csv(tmp_path / "ratings.csv", index=False)
    with pytest.raises(DataError, match=f"id: 0 of {len(whole)} records of ratings.csv"):
        read_release(tmp_path / "ratings.csv", "any", join=(tmp_path / "texts.csv", "id"))


def test_another_corpus_of_a_name_is_replaced_only_when_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    file, held = tmp_path / "r.csv", []
    for rating in (score, score, lambda i: 6 - score(i)):
        frame(lambda i: {"user": user(i), "prompt": asked(i), "reply": said(i), "rating": rating(i)}).to_csv(file)  # noqa: B023
        run = CliRunner().invoke(main, ["import", str(file), "--yes", "--name", "mine"])
        held.append((run.exit_code, load("mine").turns["score"].tolist()))
    assert [code for code, _ in held] == [0, 0, 1] and held[0] == held[1] and held[2][1] == held[1][1]
    assert "holds another corpus" in run.output and "--replace" in run.output
    assert CliRunner().invoke(main, ["import", str(file), "--yes", "--name", "mine", "--replace"]).exit_code == 0
    assert load("mine").turns["score"].tolist() != held[0][1]


def test_a_further_column_of_several_kinds_stops_nothing():
    rows = [
        {
            "user": user(i),
            "prompt": asked(i),
            "reply": said(i),
            "rating": score(i),
            "age": 30 + i if i % 3 else "N/A",
            "room": i if i % 2 else "hall",
        }
        for i in range(12)
    ]
    with pytest.warns(RecognisedWarning, match="kept as texts, since they hold numbers and words: room"):
        turns = load(rows).turns
    assert turns["age"].isna().sum() == 4 and turns["age"].sum() == sum(30 + i for i in range(12) if i % 3)
    assert turns["room"].tolist()[:2] == ["hall", "1"]


def test_a_table_in_our_names_with_another_rating_is_asked_about_as_any_other(tmp_path):
    def write(**more: Any) -> Any:
        table = frame(
            lambda i: {
                "user": user(i),
                "request": asked(i),
                "response": said(i),
                "score": 1 + i % 5,
                **{k: v(i) for k, v in more.items()},
            }
        )
        table.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"

    assert detect(write()) == detect(write(age=lambda i: 20 + i, turn_count=lambda i: i % 5)) == "table"
    for name in ("mos", "human_overall", "user_verdict", "how_satisfied"):
        file = write(**{name: lambda i: 5 - i % 4})
        assert detect(file) == "any" and load(file).meta["taken"]["columns"]["score"] == name
    assert load(write(ok=lambda i: "👍👎"[i % 2])).meta["taken"]["columns"]["score"] == "ok"
    with pytest.raises(Ambiguous, match="score, rating"):
        load(write(rating=lambda i: 5 - i % 4))


def test_the_remedy_of_a_scale_around_zero_is_one_that_is_read():
    table = frame(lambda i: {"user": user(i), "prompt": asked(i), "reply": said(i), "rating_reversed": i % 5 - 2})
    with pytest.raises(DataError, match="--scale -2-2, or --scale 2--2"):
        load(table)
    with pytest.warns(RecognisedWarning):
        scores = load(table, scale="2--2").turns["score"].tolist()
    assert scores[0] == 5 > scores[4]
