"""The episodic judge: what it shows, what it makes of answers, and what it does where there is nothing to show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from histories import Row, corpus_of, scored_past
from scripted import first_asked

from perslib.corpus import Block
from perslib.errors import DataError
from perslib.judge import Episodic, JudgeSettings, evaluate
from perslib.judge.base import Verdict
from perslib.llm import Answer, run_with_answers

GOOD = {
    "score": 2,
    "reason": "unusable",
    "rationale": "Worse than E1.",
    "boundary_side": "dsat",
    "evidence_confidence": "medium",
}
BOUNDARY = {
    "boundary_decision": "sat",
    "boundary_confidence": "high",
    "score_refinement": "qualified_sat",
    "score": 4,
    "reason": "satisfied",
    "rationale": "As good as E2.",
    "key_evidence_ids": ["E2", "e1", "[E2]", "E9", "the plan"],
}


def block_of(scores: Sequence[int | None], targets: int = 1) -> Block:
    return corpus_of(scored_past(scores, targets)).block("ada", "gift")


def asked(judge: Episodic, block: Block) -> list[str]:
    """What the judge gives a model to read, question by question."""
    requests = first_asked(partial(judge.judge, block))
    return ["\n".join(m["content"] for m in request.messages) for request in requests]


def verdict(data: dict[str, Any] | None = None, judge: Episodic | None = None, **answer: Any) -> Verdict:
    given = Answer(data=data, mode="schema" if data else "unscored", **answer)
    (found,) = run_with_answers(partial((judge or Episodic()).judge, block_of([5, 2, 4])), [given])
    return found


def test_it_shows_four_turns_from_both_sides_of_the_boundary():
    (text,) = asked(Episodic(), block_of([5, 5, 5, 5, 3, 2, 1]))
    assert [f"<<<evidence E{i}>>>" in text for i in range(1, 6)] == [True] * 4 + [False]
    scores = [int(line[9]) for line in text.splitlines() if line.startswith("<<<score ")]
    assert [s <= 3 for s in scores] == [True, True, False, False]


def test_what_is_shown_is_cut_at_the_published_lengths():
    rows: list[Row] = [("ada", "travel", "0", "q" * 500, "r" * 500, 4)]
    rows += [("ada", "gift", "0", f"u{i}" * 200, f"v{i}" * 2000, 5) for i in range(4)]
    (*_, last) = asked(Episodic(), corpus_of(rows).block("ada", "gift"))
    assert last.count("q") >= 180 and "q" * 181 not in last
    assert "r" * 260 + "…" in last and "r" * 261 not in last
    assert "v3" * 900 + "…" in last and "v3" * 901 not in last
    talk = last.split("<<<conversation>>>")[1].split("<<</conversation>>>")[0]
    assert "u3" * 130 + "…" in talk  # 260 characters of each of five messages
    assert 900 <= len(talk) < 900 + 120  # 900 of all of them, and their headings


def test_the_verdict_cites_what_the_answer_names_and_keeps_what_is_none_of_it():
    judge = Episodic(boundary_first=True)
    shown = [a.id for a in judge._retrieval.anchors(block_of([5, 2, 4]), 4, "boundary_paired")[0]]
    said = verdict(BOUNDARY, judge)
    assert (said.raw, said.reason, said.rationale) == (4.0, "satisfied", "As good as E2.")
    assert said.evidence == (shown[1], shown[0], "E9", "the plan")


def test_the_plain_answer_names_no_turns_so_it_rests_on_all():
    said = verdict(GOOD)
    assert (said.raw, said.reason, said.error) == (2.0, "unusable", None)
    assert set(said.evidence) == {"travel/0/0", "travel/0/1", "travel/0/2"}
    assert said.prompt is not None and said.prompt.startswith("en/judge_episodic@2")


@pytest.mark.parametrize(("score", "side"), [(4, "dsat"), (5, "dsat"), (3, "sat"), (1, "sat")])
def test_a_side_against_the_score_is_two_answers_and_no_score(score, side):
    said = verdict({**GOOD, "score": score, "boundary_side": side}, tokens_in=9)
    assert said.raw is None and said.p is None and said.mode == "unscored"
    assert said.error == f"boundary_side is {side}, but the score is {score}"
    assert (said.rationale, said.tokens_in) == ("Worse than E1.", 9)


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("4/5", 4),
        ("我打四分", 4),
        ("7", None),
        ("I cannot rate this.", None),
        ("", None),
        ("between 3/5 and 4/5", None),
    ],
)
def test_prose_counts_where_it_names_one_score(said, score):
    found = verdict(raw=said, text=said, error="no JSON in the reply")
    assert found.raw == score
    assert (found.error is None) == (score is not None)


def test_without_rated_history_nothing_is_asked():
    judge = Episodic(boundary_first=True)
    found = run_with_answers(partial(judge.judge, block_of([None, None], targets=2)))
    assert [v.raw for v in found] == [None, None]
    assert all("no rated turn" in str(v.error) for v in found)
    alone = corpus_of([("cy", "gift", "0", "wish", "present", 4)])
    assert [v.raw for v in run_with_answers(partial(judge.judge, alone.block("cy", "gift")))] == [None]


@pytest.mark.parametrize("reply", ["", "x " * 25_000, "他说：五分。", "\n \n"])
def test_any_reply_can_be_judged(reply):
    rows: list[Row] = [*scored_past([5, 2], 0), ("ada", "gift", "0", None, reply, None)]
    block = corpus_of(rows).block("ada", "gift")
    for judge in (
        Episodic(),
        Episodic(boundary_first=True),
        Episodic(settings=JudgeSettings("zh", with_rationale=False)),
    ):
        (text,) = asked(judge, block)
        assert len(text) < 9000


def test_one_digit_is_enough_and_the_boundary_needs_more():
    judge = Episodic(settings=JudgeSettings(with_rationale=False))
    (request,) = first_asked(partial(judge.judge, block_of([5, 2])))
    assert (request.max_tokens, request.schema) == (1, None)
    (found,) = run_with_answers(partial(judge.judge, block_of([5, 2])), [Answer(text="3", raw="3")])
    assert (found.raw, found.mode, len(found.evidence)) == (3.0, "digit", 2)
    weighed = Episodic(settings=JudgeSettings(with_rationale=False, use_likeliest_digit=True))
    top = [{"token": "<<", "logprob": -0.1, "top": [("<<", -0.1), ("2", -3.0)]}]
    (found,) = run_with_answers(partial(weighed.judge, block_of([5, 2])), [Answer(text="<<", raw="<<", logprobs=top)])
    assert (found.raw, found.mode) == (2.0, "weighed")
    with pytest.raises(DataError, match="several fields"):
        Episodic(boundary_first=True, settings=JudgeSettings(with_rationale=False))


def test_several_draws_become_one_verdict():
    judge = Episodic(settings=JudgeSettings(samples=3))
    drawn = [Answer(data={**GOOD, "score": s}, mode="json") for s in (2, 2, 1)]
    (found,) = run_with_answers(partial(judge.judge, block_of([5, 2])), drawn)
    assert (found.raw, found.mode, found.p) == (2.0, "samples", (1 / 3, 2 / 3, 0, 0, 0))


def test_over_an_endpoint_an_answer_that_will_not_do_is_unscored_with_its_reason(model, server):
    rows = [*scored_past([5, 2, 4], 3, "ada"), *scored_past([4, 4], 1, "bo")]
    replies = {"present 0": GOOD, "present 1": {**GOOD, "score": 7}, "present 2": {**GOOD, "score": 5}}

    def reply(body: dict[str, Any]) -> str:
        text = body["messages"][1]["content"].rsplit("<<<reply>>>")[-1]
        return json.dumps(next(v for k, v in replies.items() if k in text))

    server.reply = reply
    corpus = corpus_of(rows)
    found = evaluate(Episodic(), corpus, model(), split=None, users=["ada"], progress=False)
    of_gift = found[found["scenario"] == "gift"]
    assert of_gift["raw"].tolist()[0] == 2 and of_gift["raw"].isna().tolist() == [False, True, True]
    assert "7" in of_gift["error"].iloc[1] and "boundary_side is dsat" in of_gift["error"].iloc[2]
