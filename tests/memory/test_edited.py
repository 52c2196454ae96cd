"""Memories edited by hand: drafts with undo, their files, and what a study makes of them."""

from __future__ import annotations

import json
import re
import threading
from functools import partial

import pytest
from scripted import Scripted

from perslib.corpus import load
from perslib.errors import DataError, UnknownName
from perslib.judge import JudgeSettings, Personal, make_judges
from perslib.llm import Answer, run_with_answers
from perslib.memory import (
    Draft,
    EditedSystem,
    FixedSystem,
    MeasuredSystem,
    ScoreCountSystem,
    Statement,
    UserMemory,
    read_draft,
    save_draft,
    saved_names,
)


@pytest.fixture(scope="module")
def block():
    corpus = load("sample/en")
    return corpus.block(corpus.users["user"][0], corpus.scenarios[0])


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSLIB_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def draft(block):
    said = [Statement(f"M{i}", "user_specific_requirements", text, (f"t/{i}",)) for i, text in
            enumerate(["Wants prices.", "Hates lists.", "Likes maps."], 1)]  # fmt: skip
    return Draft.of(UserMemory(block.user, block.scenario, "structured", (0, 1, 2, 3, 4), tuple(said)))


def texts(memory):
    return [s.text for s in memory.statements]


def test_what_was_built_is_shown_as_it_was_built(draft):
    assert not draft.is_changed
    assert draft.memory == draft.built


def test_edits_show_and_mark_the_memory_and_undo_takes_them_back_one_by_one(draft):
    one = draft.edit("M2", "  Loves lists. ")
    two = one.switch("M1", on=False)
    three = two.move("M3", -5)
    four = three.add("Never after ten.")
    assert texts(four.memory) == ["Likes maps.", "Loves lists.", "Never after ten."]
    assert four.memory.system == "structured, edited by hand" and four.is_changed
    assert four.memory.statements[1].turns == ("t/2",), "other words rest on the same turns"
    assert [line.by_hand for line in four.lines] == [False, False, True, True]
    assert four.undo() == three and four.undo().undo() == two
    back = four.undo().undo().undo().undo()
    assert back == draft and back.undo() == draft and not back.is_changed


def test_a_new_statement_takes_no_number_that_is_taken(draft):
    fewer = draft.remove("M2").add("New.")
    assert [line.statement.id for line in fewer.lines] == ["M1", "M3", "M4"]


def test_no_words_take_a_statement_back_and_remove_one_of_ones_own(draft):
    assert not draft.edit("M2", "Other.").edit("M2", " ").is_changed
    assert texts(draft.add("Mine.").edit("M4", "").memory) == texts(draft.built)


def test_an_edit_that_changes_nothing_is_no_edit(draft):
    for same in (draft.edit("M1", "Wants prices."), draft.switch("M1", on=True), draft.move("M1", -1), draft.add(" ")):
        assert same is draft
    with pytest.raises(UnknownName, match="M9"):
        draft.edit("M9", "x")


def test_a_stricter_user_scored_everything_lower(draft):
    assert draft.shift_scores().counts == (1, 2, 3, 4, 0)
    assert draft.shift_scores(-2).counts == (0, 0, 0, 1, 9)
    assert draft.shift_scores().memory.average == pytest.approx(3.0)
    assert draft.shift_scores().is_changed and draft.shift_scores().undo() == draft
    assert draft.shift_scores(0) is draft


def test_without_leaves_one_out_of_what_is_on(draft):
    assert texts(draft.switch("M1", on=False).without("M2")) == ["Likes maps."]


def test_a_saved_draft_comes_back_with_what_was_off(draft, block, home):
    edited = draft.edit("M2", "Loves lists.").switch("M1", on=False).shift_scores()
    path = save_draft(edited, "my edits")
    assert path.is_relative_to(home) and saved_names() == ["my edits"]
    again = read_draft("my edits", block)
    assert (again.lines, again.counts, again.built) == (edited.lines, edited.counts, edited.built)
    assert again.memory == edited.memory


def test_an_unedited_draft_a_bad_name_and_a_broken_file_are_told(draft, block):
    with pytest.raises(DataError, match="Nothing was edited"):
        save_draft(draft, "a")
    with pytest.raises(DataError, match="use letters"):
        save_draft(draft.shift_scores(), "../a")
    path = save_draft(draft.shift_scores(), "a")
    path.write_text(json.dumps({"user": 1}))
    with pytest.raises(DataError, match="not an edited memory"):
        read_draft("a", block)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (r'{"lines": [{"statement": {"text": "a\ud83d"}}]}', r"lines\[0\].statement.text holds half a character"),
        ("[" * 100_000, "is nested deeper"),
        ('{"counts": 1' + "0" * 400 + "}", "counts is a whole number of 401 digits"),
        ('{"user": ', ":1: the JSON text ends too early"),
    ],
)
def test_a_file_edited_by_hand_says_what_no_memory_can_hold(draft, block, content, told):
    path = save_draft(draft.shift_scores(), "a")
    path.write_text(content)
    with pytest.raises(DataError, match=f"{re.escape(str(path))}.*{told}"):
        read_draft("a", block)


def test_a_study_uses_saved_memories_and_says_so(draft, block):
    save_draft(draft.edit("M1", "Wants exact prices."), "mine")
    judge = Personal(EditedSystem("mine", otherwise=ScoreCountSystem()), JudgeSettings())
    model = Scripted(reply=lambda request: Answer(text="4", data={"score": 4}))
    (verdicts,) = model.work([partial(judge.judge, block)])
    assert {v.memory for v in verdicts} == {"structured, edited by hand"}
    assert "Wants exact prices." in str(model.asked[0][1].messages)
    assert "edited by hand (mine)" in judge.name
    other = load("sample/en").block(block.user, load("sample/en").scenarios[1])
    assert run_with_answers(partial(EditedSystem("mine", otherwise=ScoreCountSystem()).build, other)).system == "scores"
    with pytest.raises(UnknownName, match="nobody"):
        EditedSystem("nobody", otherwise=ScoreCountSystem())


def test_a_judge_of_the_studies_takes_saved_memories_by_name(draft, block):
    save_draft(draft.edit("M1", "Wants exact prices."), "mine")
    (judge,) = make_judges("edited: mine", JudgeSettings("en"))
    (verdicts,) = Scripted(reply=lambda r: Answer(text="4", data={"score": 4})).work([partial(judge.judge, block)])
    assert judge.name == "edited: mine" and {v.memory for v in verdicts} == {"structured, edited by hand"}
    with pytest.raises(UnknownName, match="nobody"):
        make_judges("edited: nobody", JudgeSettings("en"))


def test_a_given_memory_is_this_users_alone(draft, block):
    assert run_with_answers(partial(FixedSystem(draft.memory).build, block)) == draft.memory
    corpus = load("sample/en")
    with pytest.raises(DataError, match="of user"):
        run_with_answers(
            partial(FixedSystem(draft.memory).build, corpus.block(corpus.users["user"][1], corpus.scenarios[0]))
        )


def test_a_measured_statement_switched_off_is_not_told_of_the_reply_either(block):
    memory = run_with_answers(partial(MeasuredSystem("en").build, block))
    first = memory.statements[0]
    target = next(iter(block))
    draft = Draft.of(memory).switch(first.id, on=False)
    fewer = draft.memory
    assert len(fewer.traits.statements) == len(memory.traits.statements) - 1
    assert len(fewer.describe_target(target)) < len(memory.describe_target(target))
    save_draft(draft, "fewer")
    again = read_draft("fewer", block)
    assert again.memory.describe_target(target) == fewer.describe_target(target)
    assert again.undo().switch(first.id, on=True).memory.describe_target(target) == memory.describe_target(target)


def test_a_method_begun_does_not_wait_and_can_be_cancelled(model, server):
    release = threading.Event()
    server.reply = lambda body: release.wait(5) and "done"
    one = model()

    async def asking(ask):
        from perslib.llm import Request

        answers = await ask([Request("hello")])
        return answers[0].text

    future = one.begin(asking)
    assert not future.done()
    release.set()
    assert future.result(5) == "done"
    release.clear()
    other = model(cache="off").begin(asking)
    assert other.cancel()
    release.set()


def test_a_statement_is_a_sentence_or_two_not_a_book(draft):
    for edit in (lambda text: draft.add(text), lambda text: draft.edit("M1", text)):
        assert edit("a" * 1_000).is_changed
        with pytest.raises(DataError, match="has 100,000 characters, and a statement has at most 1,000"):
            edit("a" * 100_000)
