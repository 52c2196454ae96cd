"""Recipes of one's own: what they can say, and what is said of one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import load, read_release
from perslib.errors import DataError

MINE = """
scale = "thumbs"
records = "data.rows"

[columns]
user = "meta.person"
request = "inputs.input"
response = ["outputs.output", "outputs.answer"]
scenario = { text = "chat in {meta.place}" }
latency = { path = "ms", kind = "number", optional = true }
score = { path = "vote", optional = true, values = { up = 1, down = 0 } }
"""
ROWS: list[dict[str, Any]] = [
    {"inputs": {"input": "Hi"}, "outputs": {"output": "Hello"}, "vote": "Up ", "ms": "12"},
    {"inputs": '{"input": "More?"}', "outputs": {"output": "", "answer": "Yes"}, "vote": "down"},
    {"inputs": {"input": "Bye"}, "outputs": {"answer": "Bye"}, "vote": None, "ms": 3},
]


@pytest.fixture
def folder(home, tmp_path, monkeypatch):
    """The current folder, with a log and a recipe for it."""
    monkeypatch.chdir(tmp_path)
    rows = [{"meta": {"person": "ann", "place": "town"}, **row} for row in ROWS]
    Path("log.json").write_text(json.dumps({"data": {"rows": rows}}), "utf-8")
    Path("mine.toml").write_text(MINE, "utf-8")
    return tmp_path


def imported(*options: str) -> str:
    """What is said of an import of the log."""
    done = CliRunner().invoke(main, ["import", "table", "log.json", *options])
    return f"{done.exit_code} {done.output} {done.exception}"


def test_a_recipe_says_where_columns_stand(folder):
    assert imported("--recipe", "mine.toml", "--name", "mine").startswith("0 ")
    turns = load("mine").turns
    assert turns["request"].tolist() == ["Hi", "More?", "Bye"] and turns["response"].tolist() == ["Hello", "Yes", "Bye"]
    assert turns["given"].tolist()[:2] == [1, 0] and turns["score"].isna().tolist() == [False, False, True]
    assert turns["latency"].fillna(0).tolist() == [12, 0, 3] and set(turns["family"]) == {"chat in town"}


def test_options_go_before_a_recipe(folder):
    done = CliRunner().invoke(
        main, ["import", "log.json", "--recipe", "mine.toml", "--dry-run", "--evidence", "earlier"]
    )
    assert (
        done.exit_code == 0
        and "people rated on 0–1" in done.output
        and "judges know" in done.output
        and "earlier" in done.output
    )
    assert "not by both" in imported("--recipe", "mine.toml", "--columns", "user=x")
    found = CliRunner().invoke(main, ["import", "persturnbench", "log.json", "--recipe", "mine.toml"])
    assert found.exit_code == 2 and "--recipe is only for your own tables" in found.output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('scale = "thumbs"', 'scale = "huh"', "wrong.toml: scale: 'huh' is no scale"),
        ('scale = "thumbs"', "dissatisfied = 1", "wrong.toml: scale: '' is no scale"),
        ('scale = "thumbs"', 'scale = "thumbs"\ndissatisfied = 7', "wrong.toml: scale: scale 0–1: 7 cannot divide it"),
        ("records", "recrds", "wrong.toml: there is no field 'recrds'. Did you mean records"),
        ("[columns]", "[columns", "wrong.toml: is no TOML"),
        ("user = ", "usr = ", "wrong.toml: columns.user is missing"),
        ("request = ", "requests = ", "expected a table with user and request, and response"),
        ("path = ", "pth = ", "wrong.toml: there is no field 'columns.score.pth'. Did you mean path"),
        ('"number"', '"numbr"', 'columns.latency.kind is "numbr", expected one of "text", "number", "flag"'),
        ("up = 1, down = 0", "", "columns.score.values is {}, expected a table such as"),
        ('"meta.person"', "3", "wrong.toml: columns.user is 3, expected a path"),
        ("records", 'leave_out = { scor = "" }\nrecords', "wrong.toml: leave_out names scor, which is no column"),
        ("records", 'derive = "x"\nrecords', "wrong.toml: derive is x, but no function is registered"),
        ("records", 'record = { type = "x" }\nrecords', "wrong.toml: record is no JSON schema"),
        (
            "records",
            'record = { "$ref" = "file:///etc/hosts" }\nrecords',
            "may refer to its own parts alone, not to file://",
        ),
        ("records", 'pattern = "../*.json"\nrecords', 'pattern is "../*.json", expected files within the folder'),
        ("records", 'parts = { a = "/etc/hosts" }\nrecords', 'parts.a is "/etc/hosts", expected files within'),
        ("data.rows", "data.row", "log.json: has nothing at data.row\nCorrect records in wrong.toml"),
        (
            "inputs.input",
            "in.put",
            "log.json: has no column in.put\nFound: meta, inputs, outputs, vote, ms. wrong.toml takes",
        ),
        ("up = 1", "good = 1", 'log.json:0: vote is "Up ", expected 0–1, good or down'),
        ("score = {", "mood = {", 'log.json:0: vote is "Up ", expected good, down'),
    ],
)
def test_a_recipe_that_is_wrong_is_refused(folder, old, new, said):
    text = MINE.replace(old, new)
    text = text.replace("up = 1", "good = 1") if "mood" in new else text
    Path("wrong.toml").write_text(text, "utf-8")
    found = imported("--recipe", "wrong.toml")
    assert found.startswith("1 ") and said in found


@pytest.mark.system("readers")
def test_a_file_that_is_not_there_is_named(folder):
    found = imported("--recipe", "none.toml")
    assert "There is no recipe called 'none.toml'" in found and "comparia" in found


def read(recipe: str, *records: Any, **options: Any) -> Any:
    Path("own.toml").write_text(recipe, "utf-8")
    Path("own.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return read_release(Path("own.jsonl"), "table", recipe="own.toml", **options).corpus


def test_messages_under_other_names_with_ratings_of_their_own(folder):
    recipe = """
    [columns]
    user = "who"
    [columns.messages]
    path = "chat"
    role = "from"
    content = "value.text"
    roles = { human = "user", gpt = "assistant" }
    columns.score = { path = "stars", optional = true }
    """
    chat = [{"from": "human", "value": {"text": "q"}}, {"from": "GPT", "value": {"text": "r"}, "stars": 2}]
    turns = read(recipe, {"who": 1, "chat": chat}, {"who": 2, "chat": json.dumps(chat * 2)}).turns
    assert turns["request"].tolist() == ["q"] * 3 and turns["score"].tolist() == [2, 2, 2]
    recipe += '    columns.mood = { path = "mood", optional = true }\n'
    assert "object" not in read(recipe, {"who": 1, "chat": chat}).turns.to_csv()
    with pytest.raises(DataError, match=r"own\.jsonl:1: chat\[1\]\.from is missing"):
        read(recipe, {"who": 1, "chat": [chat[0], {}]})
    with pytest.raises(DataError, match=r"own\.jsonl:1: chat is 3, expected a list"):
        read(recipe, {"who": 1, "chat": 3})


def test_annotators_in_columns_and_in_rows(folder):
    columns = """
    [columns]
    user = {user}
    session = "id"
    request = "q"
    response = "r"
    score = {score}
    """
    of_words = columns.replace("{user}", '{ text = "{each}" }').replace(
        "{score}", '{ path = "{each}.stars", optional = true }'
    )
    record = {"id": "a", "q": "q", "r": "r", "ann": {"stars": 4}, "bob": {"stars": 2}}
    recipe = 'each = ["ann", "bob", "eve"]\nleave_out = { score = "people who did not rate" }' + of_words
    corpus = read(recipe, record)
    assert corpus.turns[["user", "score"]].to_numpy().tolist() == [["ann", 4], ["bob", 2]]
    assert corpus.meta["irregularities"] == {"people who did not rate": 1}
    of_items = columns.replace("{user}", '"this.item.by"').replace("{score}", '"this.item.stars"')
    said = [{"by": "ann", "stars": 4}, {"by": "bob", "stars": 2}]
    items = read('each = "said"' + of_items, {**record, "said": said})
    pd.testing.assert_frame_equal(items.turns, corpus.turns)
    with pytest.raises(DataError, match=r"own\.jsonl:1 said\[0\]: this\.item\.stars is 9, expected"):
        read('scale = "1-5"\neach = "said"' + of_items, {**record, "said": [{"by": "ann", "stars": 9}]})
