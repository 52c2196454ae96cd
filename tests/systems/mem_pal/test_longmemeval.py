"""LongMemEval's questions: reading the file, answering from dialogues alone, grading each kind by its own rule."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pal_made import Letters, Model, name_of, usual

from perslib.errors import DataError, UnknownName
from perslib.llm import Answer
from perslib.systems.mem_pal.bench.longmemeval import (
    ABSTENTION,
    GRADINGS,
    KINDS,
    PREFERENCE,
    accuracies,
    answer_questions,
    average_by_task,
    draw_questions,
    read_questions,
    write_hypotheses,
)
from perslib.systems.mem_pal.memory.baselines import SessionRetrieval, Vanilla
from perslib.systems.mem_pal.memory.h2 import H2Dialogues


def said(*texts):
    return [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(texts)]


def record(number, kind="single-session-preference", **changes):
    return {
        "question_id": f"q{number}",
        "question_type": kind,
        "question": f"Which tea shall I buy, number {number}?",
        "answer": "Prefers green tea, dislikes sugar.",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 11:00", "2023/05/25 (Thu) 08:05"],
        "haystack_sessions": [said("I love green tea.", "Noted.", "No sugar."), said("Hi", "Hello"), []],
        **changes,
    }


@pytest.fixture
def file(tmp_path):
    def write(*records):
        path = tmp_path / "longmemeval_s.json"
        path.write_text(json.dumps(list(records)), encoding="utf-8")
        return path

    return write


def test_questions_of_one_type_with_their_dialogues_in_order_of_time(file):
    path = file(record(1), record(2, "multi-session"), record(3))
    one, three = read_questions(path, PREFERENCE)
    assert (one.id, three.id, one.at) == ("q1", "q3", "2023-05-30 23:40:00")
    assert [s.at for s in one.haystack] == ["2023-05-19 11:00:00", "2023-05-20 02:21:00", "2023-05-25 08:05:00"]
    assert len({s.id for s in one.haystack}) == 3, "a dialogue that comes twice is two sessions"
    loving = one.haystack[1].turns
    assert [(t.user, t.assistant) for t in loving] == [("I love green tea.", "Noted."), ("No sugar.", "")]
    assert len(read_questions(path)) == 3
    with pytest.raises(UnknownName, match="single-session-preference"):
        read_questions(path, "preference")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "longmemeval_s.json:1: the JSON text ends too early"),
        ("{}", "longmemeval_s.json: holds {}, expected a list of questions"),
        ('[{"question_id": "q"}]', r"longmemeval_s.json\[0\]: question_type is missing"),
        (
            json.dumps([record(1, haystack_sessions=[[{"role": "user"}]])]),
            r"\[0\]: haystack_sessions\[0\]\[0\].content is missing",
        ),
        (json.dumps([record(1, haystack_sessions=3)]), r"\[0\]: haystack_sessions is 3, expected a list of sessions"),
        (json.dumps([record(1, haystack_sessions=None)]), r"\[0\]: haystack_sessions is missing"),
        (json.dumps([record(1, haystack_sessions=["hi"])]), r'sessions\[0\] is "hi", expected a list of messages'),
        (
            json.dumps([record(1, haystack_dates=["2023/05/20"])]),
            "haystack_dates holds 1 items, expected one for each of the 3",
        ),
        (json.dumps([record(1, haystack_dates=[1, 2, 3])]), r"haystack_dates\[0\] is 1, expected a date in a text"),
        (json.dumps([record(1, haystack_session_ids="s1")]), 'haystack_session_ids is "s1", expected a list'),
        (json.dumps([record(1, question_type=None)]), "question_type is missing, expected a text"),
        (json.dumps([record(1, question="\ud83d")]), r"longmemeval_s.json\[0\]: question holds half a character"),
        ("[" * 100_000, "is nested deeper than 100 levels"),
        (
            json.dumps([record(1, "temporal")]),
            r"\[0\]: question_type: is 'temporal', expected one of .*temporal-reasoning",
        ),
        ("[]", r"holds \[\], expected a list of questions"),
    ],
)
def test_a_file_of_another_shape_is_named_with_its_place(tmp_path, content, words):
    path = tmp_path / "longmemeval_s.json"
    path.write_text(content)
    with pytest.raises(DataError, match=words):
        read_questions(path)


def test_answers_rest_on_what_is_recalled_and_are_graded_without_a_name(file):
    questions = read_questions(file(record(1), record(3)))

    def say(request):
        name, text = name_of(request), request.messages[-1]["content"]
        if name == "pal_lme_answer":
            return {"answer": "Green tea without sugar." if "green tea" in text else "Any tea."}
        if name == "pal_lme_grade":
            assert "RAG" not in text and "vanilla" not in text
            return {"analysis": "", "right": "Green" in text.partition("<<<answer>>>")[2]}
        return usual(request)

    memories = [Vanilla("en", logs=False), SessionRetrieval("en", embedder=Letters())]
    answers = answer_questions(memories, questions, Model(say))
    table = accuracies(answers).set_index("method")
    assert table["accuracy"].tolist() == [0.0, 100.0] and table["questions"].tolist() == [2, 2]
    assert table["accuracy_low"].iloc[1] == pytest.approx(34.24, abs=0.01), "two of two says little"
    assert (answers["calls"] == 1).all()


def test_what_fails_is_counted_and_left_out(file):
    def say(request):
        return Answer(error="gave up") if name_of(request) == "pal_lme_answer" else usual(request)

    answers = answer_questions([Vanilla("en", logs=False)], read_questions(file(record(1))), Model(say))
    assert answers["said"].isna().all() and "gave up" in answers["error"].iloc[0]
    row = accuracies(answers).iloc[0]
    assert (row["failed"], row["questions"]) == (1, 1) and np.isnan(row["accuracy"])


def test_the_dialogue_variant_of_h2_memory_answers_too(file):
    from h2_mind import Mind

    mind = Mind()

    def say(request):
        name = name_of(request)
        return usual(request) if name.startswith("pal_") else mind.answer(request)

    answers = answer_questions([H2Dialogues("en", embedder=Letters())], read_questions(file(record(1))), Model(say))
    assert answers["is_correct"].tolist() == [True] and answers["calls"].iloc[0] > 2


EACH = [kind for kind in KINDS if kind != ABSTENTION]


def all_kinds():
    """A question of each kind, and one that cannot be answered."""
    records = [
        record(n, kind, answer="Green tea, bought on Saturday.", answer_session_ids=["s1"])
        for n, kind in enumerate(EACH)
    ]
    return [*records, record("9_abs", "multi-session", answer="The user never spoke of coffee.")]


def test_each_kind_is_graded_by_its_own_rule_and_told_the_date(file):
    systems = {}

    def say(request):
        name, system, text = name_of(request), request.messages[0]["content"], request.messages[-1]["content"]
        if name == "pal_lme_grade":
            systems[text.partition("number ")[2][:5].partition("?")[0]] = system
            return {"analysis": "", "right": True}
        if name == "pal_lme_answer":
            assert "2023-05-30 23:40:00" in text
            return {"answer": "Green tea." if "[2023-05-20]" in text else "It was not mentioned."}
        return usual(request)

    questions = read_questions(file(*all_kinds()))
    assert [one.kind for one in questions] == [*EACH, ABSTENTION]
    memories = [Vanilla("en", logs=False), SessionRetrieval("en", embedder=Letters(), k=1)]
    answers = answer_questions(memories, questions, Model(say))
    assert len(set(systems.values())) == 5, "facts are graded alike, the four other kinds each in their own way"
    assert "cannot answer" in systems["9_abs"] and "the latest" in systems[str(EACH.index("knowledge-update"))]
    least, most = (answers.loc[answers["method"] == memory.name, "evidence"].dropna() for memory in memories)
    assert least.eq(0).all() and most.between(0, 1).all() and most.max() > 0
    assert answers.loc[answers["kind"] == ABSTENTION, "evidence"].isna().all(), "no session holds the answer"


def test_memories_hand_over_one_budget_and_kinds_stand_side_by_side(file, monkeypatch):
    from perslib.systems.mem_pal.memory.baselines import TurnRetrieval
    from perslib.systems.mem_pal.studies import long_mem_eval as study

    seen = []

    def say(request):
        if name_of(request) == "pal_lme_grade":
            return {"analysis": "", "right": "never spoke" not in request.messages[-1]["content"]}
        if name_of(request) == "pal_lme_answer":
            seen.append(request.messages[-1]["content"])
        return usual(request)

    memories = [Vanilla("en", logs=False, name="vanilla"), TurnRetrieval("en", embedder=Letters())]
    for memory in memories:
        memory.budget = 2
    monkeypatch.setattr(study, "make_dialogue_memories", lambda embedder, budget: memories)
    answers = study.answer_all_kinds(str(file(*all_kinds())), Model(say), Model(say), budget=2)
    assert not any("No sugar" in text for text in seen), "two tokens do not hold both messages"
    table = study.compare_kinds(answers)
    assert table["accuracy"].round(1).tolist() == [85.7, 85.7] and table["abstention (1)"].tolist() == [0.0, 0.0]
    assert {f"{kind} (1)_low" for kind in EACH} <= set(table) and table["failed"].tolist() == [0, 0]


def test_questions_are_drawn_from_all_kinds_alike(file):
    many = [record(n, "multi-session") for n in range(20)]
    questions = read_questions(file(*many, *all_kinds()))
    drawn = draw_questions(questions, 14, seed=1)
    assert len(drawn) == 14 and len({one.kind for one in drawn}) == 7
    assert drawn == draw_questions(questions, 14, seed=1) and draw_questions(questions, 0) == questions


def test_every_memory_of_the_study_has_the_budget():
    from perslib.systems.mem_pal.studies.long_mem_eval import make_dialogue_memories

    assert {memory.budget for memory in make_dialogue_memories("tfidf", 700)} == {700}


def test_one_word_grades_as_the_benchmarks_own_program_reads_it(file, tmp_path):
    asked = {}

    def say(request):
        if name_of(request) == "pal_lme_yes_no":
            assert request.max_tokens == 10 and request.schema is None
            system = request.messages[0]["content"]
            asked[request.messages[-1]["content"].partition("number ")[2][:5].partition("?")[0]] = system
            return Answer(text="Yes." if "latest" in system or "cannot answer" in system else "No, it is not.")
        return usual(request)

    questions = read_questions(file(*all_kinds()))
    answers = answer_questions([Vanilla("en", logs=False)], questions, Model(say), grading=GRADINGS[1])
    by_kind = dict(zip(answers["kind"], answers["is_correct"]))
    assert by_kind["knowledge-update"] and by_kind[ABSTENTION] and not by_kind[PREFERENCE]
    preference, update, fact = (
        asked[str(EACH.index(kind))] for kind in (PREFERENCE, "knowledge-update", "multi-session")
    )
    assert "suit anybody" not in preference and "only a part" not in update and "only a part" in fact
    with pytest.raises(UnknownName, match="yes or no"):
        answer_questions([], questions, Model(say), grading="yes")
    averages = average_by_task(answers).iloc[0]
    assert averages["overall"] == pytest.approx(100 * 2 / 7) and averages["abstention"] == 100
    assert averages["by_task"] == pytest.approx(100 * (0.5 + 1) / 6), (
        "the question without an answer counts in its task"
    )
    (path,) = write_hypotheses(answers, tmp_path / "out")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert (
        path.name == "vanilla_without_log.jsonl"
        and [set(line) for line in lines] == [{"question_id", "hypothesis"}] * 7
    )


def test_abstentions_are_known_by_their_id_wherever_it_stands_and_have_no_evidence(file):
    (one,) = read_questions(file(record("1_abs_2", "multi-session", answer_session_ids=["s1"])))
    assert (one.kind, one.task, one.evidence) == (ABSTENTION, "multi-session", frozenset())


def test_an_exported_memory_answers_its_questions(file, tmp_path, monkeypatch):
    from perslib.systems.mem_pal.studies import long_mem_eval as study

    (tmp_path / "mine.jsonl").write_text(
        json.dumps({"user_id": "q1", "memory": "Loves green tea.", "created_at": "2023-05-21"})
    )
    monkeypatch.setattr(study, "make_dialogue_memories", lambda embedder, budget: [])

    def say(request):
        if name_of(request) == "pal_lme_answer":
            return {"answer": "Green tea." if "Loves green tea" in request.messages[-1]["content"] else "Any."}
        if name_of(request) == "pal_lme_grade":
            return {"analysis": "", "right": "Green tea." in request.messages[-1]["content"]}
        return usual(request)

    given = str(file(record(1, answer_session_ids=["s1"])))
    answers = study.answer_all_kinds(given, Model(say), Model(say), "tfidf", exported=str(tmp_path / "mine.jsonl"))
    assert answers["method"].tolist() == ["exported: mine.jsonl"] and answers["is_correct"].tolist() == [True]
    assert answers["evidence"].isna().all(), "its pieces name no session"
