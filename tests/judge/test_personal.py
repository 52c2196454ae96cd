"""The personal judge: what it is shown, and how its memory changes while it judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from histories import Row, corpus_of, scored_past
from scripted import MEMORY, in_rounds

from perslib.corpus import Block, Corpus
from perslib.errors import UnknownName
from perslib.judge import JudgeSettings, Personal, Verdict
from perslib.llm import Answer, Request
from perslib.memory import ScoreCountSystem, Structured


def gifts(*turns_of_session: int) -> list[Row]:
    """Sessions of gifts with so many replies each, all rated 1 by the user."""
    return [
        ("ada", "gift", str(s), f"wish {s}.{t}", f"present {s}.{t}", 1)
        for s, turns in enumerate(turns_of_session)
        for t in range(turns)
    ]


def block(rows: list[Row], profile: dict[str, Any] | None = None) -> Block:
    corpus = corpus_of(rows)
    if profile is not None:
        corpus = Corpus("made", "en", corpus.users.assign(profile=[profile]), corpus.sessions, corpus.turns)
    return corpus.block("ada", "gift")


def run(
    judge: Personal, block: Block, score: int = 4, failed: bool = False
) -> tuple[list[Verdict], list[Request], list[Request]]:
    """The verdicts when every question gets this score, and what was asked of builder and judge."""
    builds, questions = [], []

    def reply(stage: str, requests: Sequence[Request]) -> list[Answer]:
        if stage == "memory":
            builds.extend(requests)
            return [Answer(error="truncated", mode="unscored") if failed else Answer(data=MEMORY)]
        questions.extend(requests)
        said = {"score": score, "reason": "unusable", "rationale": "", "evidence": ["M1"]}
        return [Answer(data=said, mode="schema") for _ in requests]

    return list(in_rounds(partial(judge.judge, block), reply)), builds, questions


def words(request: Request) -> str:
    return "\n".join(m["content"] for m in request.messages)


def test_one_memory_a_block_and_one_question_a_reply():
    verdicts, builds, questions = run(Personal(Structured()), block([*scored_past([4, 2], 0), *gifts(2, 3)]))
    assert (len(builds), len(questions), len(verdicts)) == (1, 5, 5)
    assert "Wants prices." in words(questions[4]) and "2 replies, mean 3.00" in words(questions[4])
    assert {v.memory for v in verdicts} == {"structured"} and verdicts[0].evidence == ("M1",)
    assert questions[0].temperature == 0.6 and verdicts[0].prompt.startswith("en/judge_personal@")


def test_the_window_is_five_messages():
    _, _, questions = run(Personal(None), block([*scored_past([4], 0), *gifts(4)]))
    last = words(questions[3])
    assert "wish 0.3" in last and "present 0.3" in last and "wish 0.1" in last and "present 0.2" in last
    assert "wish 0.0" not in last and "present 0.0" not in last, "the sixth message before the reply"
    assert "wish 0.1" not in words(
        run(Personal(None, JudgeSettings(window=3)), block([*scored_past([4], 0), *gifts(4)]))[2][3]
    )
    assert "wish 0.0" in words(
        run(Personal(None, JudgeSettings(window=None)), block([*scored_past([4], 0), *gifts(4)]))[2][3]
    )


def test_a_prompt_shows_no_label_and_no_word_of_other_scenarios():
    rows = [*scored_past([4, 2], 0), *gifts(2)]
    for judge in (Personal(None), Personal(Structured()), Personal(ScoreCountSystem())):
        for question in run(judge, block(rows))[2]:
            assert "question" not in words(question) and "answer 0" not in words(question)
            assert "too short" not in words(question)
    # The same replies under other labels give the same questions.
    other = [(*row[:5], 5) if row[1] == "gift" else row for row in rows]
    assert run(Personal(Structured()), block(rows))[1:] == run(Personal(Structured()), block(other))[1:]


@pytest.mark.parametrize(
    ("fields", "seen", "unseen"),
    [
        ("published", ["nurse", "calm; kind"], ["Lisbon"]),
        ("all", ["nurse", "Lisbon"], []),
        ("none", [], ["nurse", "Lisbon"]),
    ],
)
def test_the_part_of_the_profile_that_is_shown(fields, seen, unseen):
    profile = {"occupation": "nurse", "personality": ["calm", "kind"], "travel_habits": ["often Lisbon"]}
    judge = Personal(Structured(profile=fields), profile=fields)
    _, builds, questions = run(judge, block([*scored_past([4], 0), *gifts(1)], profile))
    for request in (*builds, *questions):
        assert all(text in words(request) for text in seen)
        assert not any(text in words(request) for text in unseen)
    assert judge.inputs.profile == (fields != "none")


def test_without_rated_history_it_judges_without_memory():
    verdicts, builds, questions = run(Personal(Structured()), block([*scored_past([None], 0), *gifts(2)]))
    assert not builds and len(questions) == 2
    assert {v.memory for v in verdicts} == {"structured, no rated history"}
    assert all(v.prompt.startswith("en/judge_no_memory@") for v in verdicts)


def test_a_failed_memory_does_not_end_the_judging():
    verdicts, _, questions = run(Personal(Structured()), block([*scored_past([4, 2], 0), *gifts(2)]), failed=True)
    assert {(v.raw, v.memory) for v in verdicts} == {(4.0, "structured, scores only: truncated")}
    assert "2 replies, mean 3.00" in words(questions[0])


def test_updates_per_session_put_judged_replies_into_the_memory():
    judge = Personal(Structured(), update="per session")
    verdicts, builds, questions = run(judge, block([*scored_past([4, 2], 0), *gifts(2, 1, 1)]), score=5)
    assert (len(builds), len(questions)) == (3, 4)
    assert [v.memory for v in verdicts] == [
        *["structured"] * 2,
        "structured, with 2 judged replies",
        "structured, with 3 judged replies",
    ]
    assert "present 0.1" in words(builds[1]) and "present 1.0" not in words(builds[1])
    assert "4 replies, mean 4.00 (0 × 1, 1 × 2, 0 × 3, 1 × 4, 2 × 5)" in words(builds[1]), (
        "the judge's 5s, not the user's 1s"
    )
    assert "present 1.0" in words(builds[2]) and "score 1" not in words(builds[2])
    assert judge.name == "structured memory, per session"


def test_updates_per_turn():
    _, builds, questions = run(
        Personal(Structured(), update="per turn"), block([*scored_past([4], 0), *gifts(2, 1)]), 2
    )
    assert (len(builds), len(questions)) == (3, 3)
    assert "score 2, unusable" in words(builds[1])
    assert "present 0.0" in words(builds[1]) and "present 0.1" not in words(builds[1])


def test_a_judged_reply_without_a_score_is_no_evidence():
    judge = Personal(Structured(), update="per turn")
    _, builds, _ = run(judge, block([*scored_past([4], 0), *gifts(2)]), score=7)
    assert words(builds[0]) == words(builds[1])


def test_a_memory_can_begin_with_what_was_judged():
    _, builds, questions = run(
        Personal(Structured(), update="per session"), block([*scored_past([None], 0), *gifts(1, 1)])
    )
    assert len(builds) == 1 and questions[0].prompt != questions[1].prompt


def test_names_and_unknown_updates():
    assert Personal(None).name == "no memory" and not Personal(None).inputs.history
    assert Personal(ScoreCountSystem()).name == "scores memory" and Personal(ScoreCountSystem(), name="x").name == "x"
    with pytest.raises(UnknownName, match="per session"):
        Personal(None, update="per_session")  # type: ignore[arg-type]


@pytest.mark.parametrize("reply", ["", " \n", "完全是另一种语言的回复。", "z" * 50_000])
def test_replies_of_every_kind(reply, server, model):
    server.reply = lambda body: json.dumps({"score": 3, "reason": "unusable", "rationale": "so"})
    rows = [*scored_past([4], 0), ("ada", "gift", "0", "wish", reply, 1)]
    (verdicts,) = model().work([partial(Personal(None).judge, block(rows))], progress=False)
    assert [(v.raw, v.reason) for v in verdicts] == [(3.0, "unusable")]
    assert reply.strip() in server.bodies[0]["messages"][1]["content"]
