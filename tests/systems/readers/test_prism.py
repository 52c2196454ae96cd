"""Releases of people's own ratings: PRISM, LLM-Rubric, Community Alignment and compar:IA's reactions."""

from __future__ import annotations

import json

import pandas as pd
import prism_made
import pytest
from real import ROOT, needs

from perslib.corpus import describe_import, import_release, load, read_release
from perslib.errors import DataError
from perslib.judge import by_session
from perslib.stats import agreement
from perslib.systems.readers.loaders.prism import PUBLISHED


@pytest.fixture
def prism(tmp_path):
    return read_release(prism_made.write(tmp_path / "prism"))


def test_prism_has_people_conversations_turns_and_all_rated_replies(prism):
    corpus, replies = prism.corpus, prism.corpus.extras["candidates"]
    assert corpus.meta["kind"] == "prism" and str(corpus.scale) == "1–100" and corpus.evidence == "conversations"
    assert set(corpus.users["user"]) == {"user0", "user1"} and len(corpus.sessions) == 6 and len(corpus.turns) == 7
    assert len(replies) == 5 + 4 + 3 + 4 + 3 + 4 and replies["given"].notna().all()
    assert corpus.profile("user0") == {"system_string": "Be brief"}  # nothing of the survey's demographics
    assert set(corpus.sessions["family"]) == set(prism_made.KINDS)


def test_prism_goes_on_from_the_chosen_reply(prism):
    corpus, replies = prism.corpus, prism.corpus.extras["candidates"]
    own = replies[replies["session"] == "c0"]
    assert own["candidate"].tolist() == ["x", "y", "z", "x#0", "x#1"]
    assert own["given"].tolist() == [70, 70, 5, 40, 90] and own["chosen"].tolist() == [True, False, False, False, True]
    turns = corpus.turns[corpus.turns["session"] == "c0"]
    assert turns["given"].tolist() == [70, 90] and '"90"\nto turn 1' in turns["response"].iloc[1]
    assert own["response"].iloc[2] == ""


def test_prism_says_what_is_odd_and_how_it_compares(prism):
    assert prism.irregularities == {
        "conversations of utterances.jsonl only, read from there": 1,
        "conversations of conversations.jsonl only": 1,
        "people of the survey without a conversation, left out": 1,
        "replies that are empty": 1,
    }
    said = "\n".join(describe_import(prism, "prism"))
    assert "CC BY-NC 4.0" in said and f"conversations 6 ({PUBLISHED['conversations']:,})" in said
    attributes = prism.corpus.sessions.set_index("session")["performance_fluency"]
    assert attributes["c0"] == 80 and attributes.drop("c0").isna().all()


def test_prism_is_stored_and_read_again(tmp_path):
    done = import_release("prism", prism_made.write(tmp_path / "prism"), out=tmp_path / "out")
    assert load(tmp_path / "out").digest == done.corpus.digest


def test_prism_names_what_is_missing_or_broken(tmp_path):
    folder = prism_made.write(tmp_path / "prism")
    file = folder / "conversations.jsonl"
    first, *others = file.read_text("utf-8").splitlines()
    broken = json.loads(first)
    broken["conversation_history"][1]["score"] = 101
    file.write_text("\n".join([json.dumps(broken), *others]), "utf-8")
    with pytest.raises(DataError, match=r"conversations.jsonl:1: score is 101, expected 1–100"):
        read_release(folder)
    (folder / "survey.jsonl").unlink()
    with pytest.raises(DataError, match="has no survey"):
        read_release(folder, "prism")


def rubric(folder, ratings=("4", "1", "3")):
    """Three conversations in the format of LLM-Rubric."""
    folder.mkdir()
    said = [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "So"},
    ]
    texts = [{"_id": f"t{n}", "messages": said, "topic": "x", "openai_model": "m"} for n in range(3)]
    (folder / "real_data.json").write_text(json.dumps(texts), "utf-8")
    head = ["dialogue_system", "text_id", *(f"Q{n}" for n in range(1, 9)), "Q0", "annotator_id"]
    rows = [[str(n % 2), f"t{n}", *"40321243", rating, "7"] for n, rating in enumerate(ratings)]
    own = "\n".join("\t".join(row) for row in [head, *rows])
    (folder / "human_judges_real_convs_FIXED_ANON.tsv").write_text(own, "utf-8")
    return folder


def test_llm_rubric_rates_conversations_from_one_to_four(tmp_path):
    corpus = read_release(rubric(tmp_path / "made")).corpus
    assert str(corpus.scale) == "1–4" and corpus.sessions["satisfaction"].tolist() == pytest.approx([5, 1, 11 / 3])
    assert corpus.sessions.set_index("session").loc["t1", "Q2"] == "0" and corpus.turns["request"].isna().sum() == 3
    judged = by_session(corpus)
    assert sorted(judged.turns["given"]) == [1, 3, 4] and judged.gold.tolist() == pytest.approx([5, 1, 11 / 3])


def test_llm_rubric_names_ratings_of_nothing(tmp_path):
    folder = rubric(tmp_path / "made")
    (folder / "real_data.json").write_text(
        json.dumps(json.loads((folder / "real_data.json").read_text("utf-8"))[1:]), "utf-8"
    )
    with pytest.raises(DataError, match=r"rates a conversation that real_data\.json does not have: t0"):
        read_release(folder)
    with pytest.raises(DataError, match='Q0 is "9", expected 1–4'):
        read_release(rubric(tmp_path / "other", ("9", "1", "2")))


@needs("llm_rubric")
def test_llm_rubric_s_published_expectations_are_reproduced():
    corpus = read_release(ROOT / "llm_rubric").corpus
    sessions = by_session(corpus)
    told = corpus.extras["published"].query("criterion == 'Q0'")
    verdicts = sessions.turns.merge(told[["session", "expected"]], on="session")
    verdicts = verdicts.assign(raw=corpus.scale.to_five(verdicts["expected"]), corpus=corpus.name, judge="published")
    verdicts = verdicts.assign(candidate=None, backbone=None, expected=None)
    found = agreement(verdicts, sessions, scores=["raw"], metrics=["rmse", "pearson", "spearman"])
    assert found["turns"].tolist() == [223] * 3
    rmse, r, rho = found["value"]
    assert (rmse * 3 / 4, r, rho) == pytest.approx((0.9187, 0.1773, 0.0867), abs=5e-5)


def test_community_alignment_is_read_as_preferences(tmp_path):
    turn = {f"first_turn_response_{own}": own.upper() for own in "abcd"}
    row = {
        "conversation_id": "k",
        "annotator_id": "p",
        "first_turn_prompt": "q",
        **turn,
        "first_turn_preferred_response": "c",
    }
    second = {"second_turn_prompt": "more", "second_turn_response_a": "A2", "second_turn_response_b": "B2"}
    file = tmp_path / "ca.csv"
    pd.DataFrame([{**row, **second, "second_turn_preferred_response": "response_b"}]).to_csv(file, index=False)
    corpus = read_release(file, "community-alignment").corpus
    assert corpus.turns["response"].tolist() == ["C", "B2"] and corpus.turns["score"].isna().all()
    replies = corpus.extras["candidates"]
    assert replies["candidate"].tolist() == [*"abcd", *"ab"] and replies["chosen"].sum() == 2
    pd.DataFrame([{**row, "first_turn_preferred_response": "e"}]).to_csv(file, index=False)
    with pytest.raises(DataError, match='first_turn_preferred_response is "e", expected a, b, c, d'):
        read_release(file, "community-alignment")
    pd.DataFrame([{"conversation_id": "k"}]).to_csv(file, index=False)
    with pytest.raises(DataError, match="has no column annotator_id, first_turn_prompt"):
        read_release(file, "community-alignment")


def test_comparia_is_read_as_thumbs(tmp_path):
    about = {"visitor_id": "v", "session_hash": "s", "question_content": "q", "comment": "bien"}
    rows = [
        {**about, "response_content": "A", "refers_to_model": "m", "liked": True, "disliked": False, "useful": True},
        {**about, "response_content": "B", "refers_to_model": "n", "liked": False, "disliked": True, "incorrect": True},
        {**about, "response_content": "C", "refers_to_model": "o", "liked": False, "disliked": False},
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
    reading = read_release(tmp_path / "r.parquet", "comparia")
    replies = reading.corpus.extras["candidates"]
    assert replies[["candidate", "score", "given"]].to_numpy().tolist() == [["m", 5, 1], ["n", 1, 0]]
    assert reading.corpus.turns["ticked"].tolist() == ["useful"]
    assert reading.irregularities["reactions that are neither or both, left out"] == 1
