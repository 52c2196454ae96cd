"""Candidates' replies: what is sent and kept of them, and which replies can be compared."""

from __future__ import annotations

import pandas as pd
import pytest
from endpoint import completion
from histories import corpus_of
from scripted import Scripted

from perslib.corpus import SCHEMA, Corpus, load
from perslib.errors import DataError, UnknownName
from perslib.llm import Answer
from perslib.memory import Structured
from perslib.replay import ORIGINAL, Candidate, align_replies, generate_replies, originals, select_recorded_replies
from perslib.replay.candidates import family_of, remove_code_fence

ROWS = [
    ("ada", "travel", "0", "Where to?", "Lisbon.", 5),
    ("ada", "travel", "0", None, "Anything else?", 4),
    ("ada", "travel", "0", "By train?", "No.", 2),
    ("ada", "gift", "0", "A gift?", "A book.", 1),
    ("bo", "gift", "0", "Ideas?", "A mug.", 3),
    ("bo", "travel", "0", "A trip?", " ", 3),
]
KEYS = ["user", "scenario", "session", "turn"]


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of(ROWS)


def turns_of(corpus: Corpus) -> pd.DataFrame:
    return corpus.turns[KEYS].iloc[::-1].reset_index(drop=True)


def texts(replies: pd.DataFrame) -> list[str | None]:
    return [None if pd.isna(text) else text for text in replies["response"]]


# -- asking ------------------------------------------------------------------------------------------------


def test_the_conversation_is_sent_as_it_was_said(corpus):
    model = Scripted()
    replies = generate_replies(Candidate(), corpus, turns_of(corpus), model)
    train = next(r for _, r in model.asked if r.messages[-1]["content"] == "By train?")
    assert list(train.messages) == [
        {"role": "user", "content": "Where to?"},
        {"role": "assistant", "content": "Lisbon."},
        {"role": "assistant", "content": "Anything else?"},
        {"role": "user", "content": "By train?"},
    ]
    assert (train.temperature, train.max_tokens, train.seed, train.schema) == (0.7, 1024, 42, None)
    pd.testing.assert_frame_equal(replies[KEYS], turns_of(corpus).astype({"turn": "Int64"}))
    assert list(replies.columns) == [*SCHEMA["replies"], "records"]


def test_a_turn_that_answers_no_request_is_an_error_row(corpus):
    replies = generate_replies(Candidate(), corpus, turns_of(corpus), Scripted())
    unasked = replies[replies["error"].notna()]
    assert list(unasked["turn"]) == [1] and unasked["response"].isna().all()
    assert "does not end with a message of the user" in unasked["error"].iloc[0]


def test_every_setting_is_recorded(corpus):
    candidate = Candidate(context="task", temperature=0.2, max_tokens=9, seed=7, system="Be brief.", window=1, name="c")
    model = Scripted(
        reply=lambda r: Answer(
            text="Hm", finish="length", tokens_in=8, tokens_cached=3, tokens_out=9, seconds=0.5, cost=0.01
        )
    )
    row = generate_replies(candidate, corpus, turns_of(corpus).tail(1), model).iloc[0]
    (request,) = (r for _, r in model.asked)
    assert request.messages[0] == {"role": "system", "content": row["system"]}
    assert row["system"].startswith("Be brief.\n\nYou are the assistant") and len(request.messages) == 2
    kept = {c: row[c] for c in ("candidate", "context", "backbone", "family", "response", "finish")}
    assert kept == {
        **{"candidate": "c", "context": "task", "backbone": "scripted", "family": "qwen"},
        **{"response": "Hm", "finish": "length"},
    }
    assert [row[c] for c in ("temperature", "max_tokens", "seed")] == [0.2, 9, 7]
    assert [row[c] for c in ("tokens_in", "tokens_cached", "tokens_out", "seconds", "cost")] == [
        *(8, 3, 9),
        *(0.5, 0.01),
    ]
    assert row["prompt"] == request.prompt and row["prompt"].startswith("en/candidate_task@")


def test_names_say_model_and_context(corpus):
    turns = turns_of(corpus).tail(1)
    for context, name in [
        ("prefix", "scripted"),
        ("diverse", "scripted · diverse"),
        (Structured(), "scripted · memory: structured"),
    ]:
        replies = generate_replies(Candidate(context=context), corpus, turns, Scripted())
        assert list(replies["candidate"]) == [name]
    assert generate_replies(Candidate(family="own"), corpus, turns, Scripted())["family"].iloc[0] == "own"
    named = ["Qwen/Qwen3-8B", "gpt-5.5", "SmolLM2-135M-Instruct", "claude-opus-4-7", "42"]
    assert [family_of(name) for name in named] == ["qwen", "gpt", "smollm", "claude", None]


def test_the_window_counts_messages(corpus):
    model = Scripted()
    generate_replies(Candidate(window=2), corpus, turns_of(corpus).iloc[3:4], model)
    assert [m["content"] for m in model.asked[0][1].messages] == ["Anything else?", "By train?"]
    for wrong in ({"window": 0}, {"max_tokens": 0}, {"temperature": -1}, {"temperature": float("nan")}):
        with pytest.raises(DataError, match=f"{next(iter(wrong))}: is"):
            Candidate(**wrong)
    with pytest.raises(UnknownName, match=r"no prompt language called 'chinese'.*Known: en, zh"):
        Candidate(language="chinese")


def test_one_memory_a_block_and_its_turns_together(corpus):
    rows = [*ROWS, ("ada", "travel", "1", "Again?", "Yes.", 4)]
    whole = corpus_of(rows)
    model = Scripted()
    replies = generate_replies(Candidate(context=Structured()), whole, turns_of(whole), model)
    said = [r.messages[-1]["content"] for stage, r in model.asked if stage == "candidate"]
    stages = [stage for stage, _ in model.asked]
    assert stages.count("memory") == 4, "two blocks of each user"
    ada = [text for text in said if text in ("Where to?", "By train?", "Again?")]
    assert ada == ["Where to?", "By train?", "Again?"], "in the order of the conversation"
    assert set(replies["memory"].dropna()) == {"structured"}


def reply_with(corpus: Corpus, answer: Answer) -> pd.Series:
    return generate_replies(Candidate(), corpus, turns_of(corpus).tail(1), Scripted(reply=lambda r: answer)).iloc[0]


@pytest.mark.parametrize(
    ("answer", "response", "error"),
    [
        (Answer(text="Half a", finish="length"), "Half a", None),
        (Answer(text=" \n", finish="stop"), None, "the reply is empty"),
        (Answer(text="", finish="length"), None, "the reply is empty: it was cut before anything was said"),
        (Answer(text="```\n\n```", finish="stop"), None, "the reply is empty"),
        (Answer(text="x", error="stopped by the endpoint's content filter"), None, "content filter"),
    ],
)
def test_odd_answers(corpus, answer, response, error):
    row = reply_with(corpus, answer)
    assert (None if pd.isna(row["response"]) else row["response"]) == response
    assert pd.isna(row["error"]) if error is None else error in row["error"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("```markdown\n# Plan\nGo.\n```", "# Plan\nGo."),
        ("````\n```python\nx\n```\n````", "```python\nx\n```"),
        ("```md\nRun:\n```python\nx\n```\nDone.\n```", "Run:\n```python\nx\n```\nDone."),
        ("```python\nx\n```\nand\n```\ny\n```", None),
        ("Look:\n```\nx\n```", None),
        ("```\nx", None),
        ("```x```", None),
        ("", None),
    ],
)
def test_a_fence_around_all_of_a_reply_is_taken_off(text, bare):
    assert remove_code_fence(text) == (text if bare is None else bare)


def test_replay_turns_that_the_corpus_lacks_or_that_come_twice(corpus):
    turns = turns_of(corpus)
    with pytest.raises(DataError, match=r"occurs more than once: bo/travel/0/0[\s\S]*Draw the replay set anew"):
        generate_replies(Candidate(), corpus, pd.concat([turns, turns.head(1)]), Scripted())
    with pytest.raises(DataError, match="not in made: bo/travel/0/9"):
        originals(corpus, turns.assign(turn=[9, *turns["turn"][1:]]))


@pytest.mark.sample
def test_through_a_real_backbone(corpus, server, model):
    server.reply = lambda body: (
        completion("<think>Hm.</think>Go now", finish="length")
        if body["messages"][-1]["content"] == "By train?"
        else completion("```\nAll right.\n```")
    )
    turns = turns_of(corpus).tail(4)
    first = generate_replies(Candidate(max_tokens=20), corpus, turns, model(), progress=False)
    rows = first.set_index(["scenario", "turn"])
    assert rows.loc[("travel", 2), ["response", "finish"]].tolist() == ["Go now", "length"]
    assert rows.loc[("gift", 0), "response"] == "All right." and rows.loc[("gift", 0), "tokens_cached"] == 40
    sent = len(server.bodies)
    again = generate_replies(Candidate(max_tokens=20), corpus, turns, model(), progress=False)
    assert sent == len(server.bodies) == 3, "what was answered is in the cache"
    assert texts(again) == texts(first)
    assert {body["temperature"] for body in server.bodies} == {0.7}


def test_no_turns_are_no_replies(corpus):
    assert generate_replies(Candidate(), corpus, turns_of(corpus).head(0), Scripted()).empty


# -- recorded replies --------------------------------------------------------------------------------------


def test_originals_are_the_replies_that_were_given(corpus):
    replies = originals(corpus, turns_of(corpus))
    assert texts(replies) == [None, "A mug.", "A book.", "No.", "Anything else?", "Lisbon."]
    assert set(replies["candidate"]) == {ORIGINAL} and set(replies["context"]) == {"recorded"}
    assert replies["error"].tolist()[0] == "the reply is empty" and replies["backbone"].isna().all()


def test_recorded_assistants_of_the_sample():
    corpus = load("sample/en")
    truth = corpus.extras["candidates"]
    turns = truth[KEYS].drop_duplicates().iloc[::10]
    replies = select_recorded_replies(truth, turns)
    assert list(replies.columns) == list(SCHEMA["replies"]), "the truth is left out"
    assert len(replies) == 5 * len(turns) and replies.attrs["left_out"] == len(truth) - len(replies)
    whole = align_replies(replies, turns)
    assert whole.attrs["left_out"] == 0 and whole["response"].notna().all()
    assert (whole["candidate"].unique() == truth["candidate"].unique()).all()


def lines(corpus: Corpus, *names: str) -> pd.DataFrame:
    """The same replies under each name."""
    said = corpus.turns[[*KEYS, "response"]].assign(response="fine")
    return pd.concat([said.assign(candidate=name) for name in names], ignore_index=True)


def test_records_of_another_replay_are_refused(corpus):
    plain = lines(corpus, "m").assign(user="zoe")
    with pytest.raises(DataError, match="none of 6 answers one of 6 replayed turns"):
        select_recorded_replies(plain.to_dict("records"), turns_of(corpus))
    with pytest.raises(DataError, match="'response' is missing"):
        select_recorded_replies(lines(corpus, "m").drop(columns="response"), turns_of(corpus))
    with pytest.raises(DataError, match="'candidate' is missing"):
        select_recorded_replies(lines(corpus, "m").drop(columns="candidate"), turns_of(corpus))


def test_missing_and_unknown_turns_are_named(corpus):
    turns = turns_of(corpus).iloc[1:]
    with pytest.raises(DataError) as caught:
        align_replies(lines(corpus, "a", "b").drop(index=[0, 1, 2, 3]), turns)
    said = str(caught.value)
    assert "a: answers turns that are not replayed: bo/travel/0/0" in said
    assert "a: has no reply to ada/gift/0/0, ada/travel/0/2, ada/travel/0/1 and 1 more, 4 in all" in said
    assert "b: has no reply" not in said and said.endswith("common=True.")


def test_common_turns_are_counted(corpus):
    turns = turns_of(corpus).iloc[1:]
    whole = align_replies(lines(corpus, "a", "b").drop(index=[0, 1, 7]), turns, common=True)
    assert whole.attrs["left_out"] == 2
    assert whole.groupby("candidate")[KEYS].apply(lambda own: len(own)).to_dict() == {"a": 3, "b": 3}
    kept = turns[~turns["turn"].isin([0, 1]) | (turns["scenario"] == "gift")]
    assert whole.loc[whole["candidate"] == "b", KEYS].to_numpy().tolist() == kept.to_numpy().tolist()


def test_a_candidate_that_shares_no_turn_ends_the_comparison(corpus):
    both = lines(corpus, "a", "b")
    strangers = pd.concat([both, lines(corpus, "c").head(3).assign(user="zoe")])
    with pytest.raises(DataError, match="no replayed turn is answered by all of a, b, c"):
        align_replies(strangers, turns_of(corpus), common=True)


def test_the_same_reply_twice_and_two_candidates_of_one_name(corpus):
    turns, one = turns_of(corpus), lines(corpus, "a")
    with pytest.raises(DataError, match="a: more than one reply to ada/travel/0/0"):
        align_replies(pd.concat([one, one.head(1)]), turns)
    with pytest.raises(DataError, match=r"more than one reply to ada/travel/0/0[\s\S]*a name of its own"):
        align_replies(pd.concat([one, one.head(1).assign(response="poor")]), turns, common=True)
    half = one.assign(backbone=["x"] * 3 + ["y"] * 3, context="prefix")
    with pytest.raises(DataError, match="two candidates of one name, asked as prefix of x and prefix of y"):
        align_replies(half, turns)
    with pytest.raises(DataError, match="asked as prefix of x and recorded"):
        align_replies(half.assign(backbone=["x", *[None] * 5], context=["prefix", *["recorded"] * 5]), turns)
    with pytest.raises(DataError, match="there are none to compare"):
        align_replies(one.head(0), turns)


def test_empty_replies_stay_and_are_listed(corpus):
    plain = lines(corpus, "a")
    plain.loc[[1, 4], "response"] = [None, " \n"]
    whole = align_replies(plain, turns_of(corpus))
    assert whole[KEYS][whole["response"].isna()].to_numpy().tolist() == [
        ["bo", "gift", "0", 0],
        ["ada", "travel", "0", 1],
    ]
    assert texts(whole).count(None) == 2 and set(whole["error"].dropna()) == {"the reply is empty"}


def test_generated_and_recorded_replies_stand_side_by_side(corpus):
    turns = turns_of(corpus)
    both = pd.concat([originals(corpus, turns), generate_replies(Candidate(), corpus, turns, Scripted())])
    whole = align_replies(both, turns)
    assert len(whole) == 12 and list(whole["candidate"].unique()) == [ORIGINAL, "scripted"]
