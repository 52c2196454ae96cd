"""Questions that come with what the user said before: PersonaMem-v2 and LaMP-QA, in files of their published forms."""

from __future__ import annotations

import json
from functools import partial

import pandas as pd
import pytest
from scripted import in_rounds

from perslib.corpus import by_reply, detect, load, read_release, score_preferences
from perslib.errors import DataError
from perslib.judge import JudgeSettings, make_judge
from perslib.llm import Answer

CHAT = [
    {"role": "system", "content": "You talk to Mara, 41, a cook."},
    {"role": "user", "content": "Polish this mail: sorry, I sneeze all May."},
    {"role": "assistant", "content": "Dear all, pollen season has me sneezing."},
]


def write_personamem(folder, **changed):
    question = {
        "persona_id": 7,
        "chat_history_32k_link": "data/chat_history_32k/chat_7.json",
        "user_query": repr({"role": "user", "content": "What shall I do on Sunday, it's May?"}),
        "correct_answer": "Go to the museum.",
        "incorrect_answers": json.dumps(["Lie in a meadow.", "Cut the grass.", "Pick flowers."]),
        "preference": "avoids pollen",
        "pref_type": "health_and_medical_conditions",
        "updated": "False",
    }
    other = {**question, "user_query": "And on Monday?", "correct_answer": "The cinema."}
    table = folder / "benchmark/text/benchmark.csv"
    table.parent.mkdir(parents=True)
    pd.DataFrame([{**question, **changed}, other]).to_csv(table, index=False)
    chat = folder / "data/chat_history_32k/chat_7.json"
    chat.parent.mkdir(parents=True)
    chat.write_text(json.dumps({"metadata": {"persona_id": 7}, "chat_history": CHAT}))
    return folder


def test_a_persona_has_its_chat_and_questions_with_the_fitting_reply_preferred(tmp_path):
    folder = write_personamem(tmp_path / "release")
    assert detect(folder) == "personamem" == detect(folder / "benchmark/text/benchmark.csv")
    corpus = load(folder)
    assert corpus.profile("7") == {"persona": "You talk to Mara, 41, a cook."}
    assert corpus.sessions["scenario"].tolist() == ["history", "questions", "questions"]
    replies = corpus.extras["candidates"]
    assert replies.loc[replies["chosen"], "response"].tolist() == ["Go to the museum.", "The cinema."]
    assert corpus.turns["request"].tolist()[1:] == ["What shall I do on Sunday, it's May?", "And on Monday?"]
    assert corpus.turns["preference"].tolist()[1:] == ["avoids pollen"] * 2


def test_judges_know_the_chat_and_no_other_question(tmp_path):
    corpus = by_reply(score_preferences(load(write_personamem(tmp_path / "release"))))
    block = corpus.block("7", "questions")
    assert len(block) == 8 and set(block.evidence["session"]) == {"history"}
    assert "preference" not in block.targets and "avoids pollen" not in str(list(block))
    assert all("museum" not in message["content"] for target in block for message in target.prefix)


@pytest.mark.parametrize(
    "changed, wrong",
    [
        ({"incorrect_answers": "none"}, "incorrect_answers is"),
        ({"user_query": "{'role': 'user'}"}, "user_query is"),
        ({"chat_history_32k_link": "data/gone.json"}, "names the chat data/gone.json, which is not there"),
        ({"chat_history_32k_link": "../../secret.json"}, "chat_history_32k_link"),
        ({"chat_history_32k_link": None}, "names no chat"),
    ],
)
def test_a_question_that_cannot_be_read_is_named_with_its_line(tmp_path, changed, wrong):
    folder = write_personamem(tmp_path / "release", **changed)
    with pytest.raises(DataError, match=r"benchmark\.csv:2") as raised:
        load(folder)
    assert wrong in str(raised.value)
    done = read_release(folder, "personamem", skip_bad=True)
    assert done.corpus.turns["request"].tolist()[1:] == ["And on Monday?"] and len(done.rejected) == 1


def write_lamp(folder, **systems):
    posts = [{"id": "p1", "category": "travel", "text": "Night trains in Italy?"}]
    aspects = [
        {"aspect": "Cost of cabins", "reason": "asks for a price", "evidence": "how much"},
        {"aspect": "Safety\nat night", "reason": "", "evidence": "alone"},
    ]
    about = {
        "question": "Night trains to Rome?",
        "narrative": "I travel alone.",
        "profile": posts,
        "category": "travel",
    }
    questions = [{"id": key, **about, "rubric_aspects": aspects} for key in ("q1", "q2")]
    folder.mkdir()
    (folder / "test.json").write_text(json.dumps(questions))
    for system, replies in systems.items():
        (folder / f"{system}.json").write_text(json.dumps({k: [{"output": own}] for k, own in replies.items()}))
    return folder


def test_a_question_has_the_posts_before_it_and_the_replies_of_all_systems(tmp_path):
    folder = write_lamp(
        tmp_path / "lamp", plain={"q1": "Yes.", "q9": "?"}, rag={"q1": "From 60 euros.", "q2": "Maybe."}
    )
    assert detect(folder) == "lamp-qa"
    done = read_release(folder)
    corpus = done.corpus
    assert done.irregularities["questions without a reply of plain"] == 1
    assert done.irregularities["replies of plain to other questions, left out"] == 1
    replies = corpus.extras["candidates"]
    assert replies.groupby("session")["candidate"].agg(list).to_dict() == {"q1": ["plain", "rag"], "q2": ["rag"]}
    block = corpus.block("q1", "questions")
    assert block.evidence["request"].tolist() == ["Night trains in Italy?"]
    task = next(iter(block)).task
    assert task.startswith("I travel alone.") and "\n- Cost of cabins: asks for a price\n- Safety at night" in task


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_judge_grades_every_aspect_in_the_list_of_the_task(tmp_path, language):
    corpus = load(write_lamp(tmp_path / "lamp", plain={"q1": "Yes.", "q2": "No."}))
    judge, asked = make_judge("aspects", JudgeSettings(language)), []

    def judged(block, **grades):
        def reply(stage, requests):
            asked.extend(requests)
            return [Answer(text="{}", data=grades, mode="token")] * len(requests)

        return next(iter(in_rounds(partial(judge.judge, block), reply)))

    block = corpus.block("q1", "questions")
    own = judged(block, **{"aspect 1": {"p": {"0": 0, "1": 0.5, "2": 0.5}}, "aspect 2": {"choice": "0"}})
    assert own.raw == own.expected == pytest.approx(1 + 4 * 1.5 / 4) and "Cost of cabins" in own.rationale
    assert [question.name for question in asked[0].questions] == ["aspect 1", "aspect 2"]
    assert "Safety at night" in asked[0].questions[1].instructions
    lacking = judged(block, **{"aspect 1": {"choice": "2"}, "aspect 2": {"error": "no such option"}})
    assert lacking.raw is None and lacking.error == "no such option"
    unlisted = judged(corpus.block("q1", "posts"))
    assert unlisted.raw is None and "- " in unlisted.error


@pytest.mark.parametrize("content", ["[]", '{"q1": ["x"]}', "{"])
def test_a_folder_with_another_file_is_refused_with_its_name(tmp_path, content):
    folder = write_lamp(tmp_path / "lamp")
    (folder / "other.json").write_text(content)
    with pytest.raises(DataError, match=r"other\.json"):
        load(folder)
