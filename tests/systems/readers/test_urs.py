"""URS: conversations rated as a whole, from the two published files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perslib.cli import main
from perslib.corpus import load, read_release
from perslib.errors import DataError
from perslib.judge import by_session


def item(**changes: Any) -> dict[str, Any]:
    base = {
        "user_id": 7,
        "intent_label": "advice",
        "user_satisfaction": "满意",
        "conversation_history": [
            {"role": "user", "content": "怎么学游泳？"},
            {"role": "assistant", "content": "先学换气。"},
        ],
        "title": "学游泳",
        "llm": "GPT-4",
    }
    return base | changes


def write(folder: Path, *items: Any, name: str = "chinese_merged.json") -> Path:
    (folder / name).write_text(json.dumps(list(items), ensure_ascii=False), encoding="utf-8")
    return folder / name


def test_a_conversation_becomes_a_rated_session(tmp_path):
    corpus = load(write(tmp_path, item(), item(intent_label="Leisure"), item(user_id="8"), item()))
    assert (corpus.name, corpus.language) == ("urs-zh", "zh")
    assert corpus.users["user"].tolist() == ["zh_7", "zh_8"]
    keys = corpus.sessions[["user", "scenario", "session", "position", "satisfaction"]]
    assert keys.values.tolist() == [
        ["zh_7", "advice", "0", 0, 4.0],
        ["zh_7", "leisure", "0", 1, 4.0],
        ["zh_8", "advice", "0", 0, 4.0],
        ["zh_7", "advice", "1", 2, 4.0],
    ]
    first = corpus.sessions.iloc[0]
    assert (first["task"], first["assistant"]) == ("学游泳", "GPT-4")
    assert corpus.scenarios == ["advice", "leisure"] and corpus.turns["score"].isna().all()
    assert [m["content"] for m in corpus.messages("zh_8", "advice", "0")] == ["怎么学游泳？", "先学换气。"]


@pytest.mark.parametrize(
    ("rating", "score"),
    [
        ("很不满意", 1),
        ("非常不满意", 1),
        ("不满意", 2),
        ("一般", 3),
        ("满意", 4),
        (" 非常满意 ", 5),
        ("Very Dissatisfied", 1),
        ("dissatisfied", 2),
        ("NEUTRAL", 3),
        ("Satisfied", 4),
        ("very  satisfied", 5),
        ("2", 2),
        (5, 5),
    ],
)
def test_five_words_or_digits_are_scores(tmp_path, rating, score):
    assert load(write(tmp_path, item(user_satisfaction=rating))).sessions["satisfaction"].tolist() == [score]


@pytest.mark.parametrize(
    ("label", "scenario"),
    [("解决专业问题", "professional"), ("其他", "other"), ("Ask for Advice", "advice"), ("Leisure", "leisure")],
)
def test_both_files_name_the_same_intents(tmp_path, label, scenario):
    assert load(write(tmp_path, item(intent_label=label))).scenarios == [scenario]


def test_a_word_that_is_no_step_is_shown_with_what_was_expected(tmp_path):
    file = write(tmp_path, item(user_satisfaction="还凑合"), item(user_satisfaction=6), item())
    with pytest.raises(DataError) as error:
        load(file)
    said = str(error.value)
    assert (
        'chinese_merged.json[0]: user_satisfaction is "还凑合", expected 1–5, 很不满意/非常不满意/very dissatisfied < 不满意/'
        in said
    )
    assert "chinese_merged.json[1]: user_satisfaction is 6" in said and "--skip-bad" in said
    reading = read_release(file, "urs", skip_bad=True)
    assert len(reading.corpus.sessions) == 1 and len(reading.rejected) == 2


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "User", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
        [["a", "b"], "c"],
        ["a", "b", "c"],
    ],
)
def test_histories_come_in_several_shapes(tmp_path, history):
    corpus = load(write(tmp_path, item(conversation_history=history), name="english_processed.json"))
    assert corpus.language == "en" and corpus.users["user"].tolist() == ["en_7"]
    assert [(m["role"], m["content"]) for m in corpus.messages("en_7", "advice", "0")] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
    ]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("x", r'\[0\]: is "x", expected an object'),
        ({"id": 1}, r"\[0\]: user_id is missing, expected a name or a number\n.*\[0\]: intent_label is missing"),
        (item(conversation_history="hi"), r'conversation_history is "hi", expected a list of messages'),
        (item(conversation_history=[]), "conversation_history holds 0 items, expected a list of messages"),
        (
            item(conversation_history=[{"role": "system", "content": "x"}]),
            r'history\[0\] is {"role": "system", .*expected {role, content} of user or assistant',
        ),
        (item(conversation_history=[{"text": "x"}]), r'history\[0\] is {"text": "x"}, expected {role, content}'),
        (item(conversation_history=[["a", "b", "c"]]), r"history\[0\] is .*expected"),
    ],
)
def test_unknown_shapes_are_named_with_their_place(tmp_path, bad, said):
    file = write(tmp_path, bad, item())
    with pytest.raises(DataError, match=said):
        load(file)
    assert len(read_release(file, "urs", skip_bad=True).corpus.sessions) == 1


def test_what_is_odd_is_read_and_counted(tmp_path):
    silent = [{"role": "user", "content": "在吗"}]
    file = write(tmp_path, item(intent_label="购物"), item(user_satisfaction=None), item(conversation_history=silent))
    corpus = load(file)
    assert corpus.meta["irregularities"] == {
        "conversations under an intent of another name (购物)": 1,
        "conversations without a rating": 1,
        "conversations without any reply": 1,
    }
    assert corpus.sessions["satisfaction"].isna().tolist() == [False, True, False]
    assert corpus.sessions["trailing"].tolist()[2] == ("在吗",)


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "chinese_merged.json").write_text("[{", encoding="utf-8")
    with pytest.raises(DataError, match=r"chinese_merged\.json:1: the JSON text ends too early"):
        load(tmp_path)
    for content, said in (
        ("{}", r"holds \{\}, expected a list of conversations"),
        ("[]", r"holds \[\], expected a list"),
    ):
        (tmp_path / "chinese_merged.json").write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=said):
            load(tmp_path)
    write(tmp_path, item(), name="english_processed.json")
    with pytest.raises(DataError, match="one language"):
        load(tmp_path)
    other = write(tmp_path, item(), name="mine.json")
    with pytest.raises(DataError, match=r"chinese_merged\.json or english_processed\.json"):
        read_release(other, "urs")
    only_bad = write(tmp_path, {}, name="english_processed.json")
    with pytest.raises(DataError, match="No conversation"):
        read_release(only_bad, "urs", skip_bad=True)


def test_sessions_are_what_is_judged(tmp_path):
    items = [item(intent_label=i, user_satisfaction=w) for i, w in (("文本事务", "不满意"), ("检索信息", "一般"))]
    block = by_session(load(write(tmp_path, *items))).block("zh_7", "text")
    assert block.evidence[["scenario", "score"]].values.tolist() == [["retrieval", 3]]
    (target,) = block
    assert (target.request, target.response) == ("怎么学游泳？", "助手：\n  先学换气。")


def test_it_is_imported_by_name(home, tmp_path):
    file = write(tmp_path, item(), item(intent_label="leisure"))
    done = CliRunner().invoke(main, ["import", "urs", str(file)])
    assert done.exit_code == 0, done.output
    assert load("urs-zh").block("zh_7", "advice").sessions["satisfaction"].tolist() == [4.0]


def test_half_a_character_costs_its_conversation_and_no_other(tmp_path):
    file = tmp_path / "chinese_merged.json"
    half = item(user_id="8", title="half \ud83d")
    file.write_text(json.dumps([item(), half]), encoding="utf-8")
    with pytest.raises(DataError, match=r"chinese_merged.json\[1\]: title holds half a character"):
        load(file)
    done = CliRunner().invoke(main, ["import", "urs", str(file), "--skip-bad", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0 and load(tmp_path / "out").users["user"].tolist() == ["zh_7"]
    (rejected,) = (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").splitlines()
    assert json.loads(rejected)["record"] == half
