"""SPUR: how rules are drawn, merged and applied, and what it says where answers fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from histories import Row, corpus_of, scored_past
from scripted import first_asked, in_rounds

from perslib.corpus import Corpus
from perslib.errors import DataError, PerslibError
from perslib.judge import JudgeSettings, Spur, evaluate
from perslib.llm import Answer, Method, Request

FAILED = Answer(error="no JSON in the reply", mode="unscored", raw="I cannot help with that.")


def run(method: Method[Any], reply: Callable[[Request], Answer]) -> tuple[Any, list[list[Request]]]:
    """The result of a method whose questions are answered by a function, and what was asked step by step."""
    asked: list[list[Request]] = []

    def answers(stage: str, requests: Sequence[Request]) -> list[Answer]:
        asked.append(list(requests))
        return [reply(request) for request in requests]

    return in_rounds(method, answers), asked


def kind(request: Request) -> str:
    return str(request.prompt).split("/")[1].split("@")[0]


def text(request: Request) -> str:
    return "\n".join(m["content"] for m in request.messages)


def said(data: dict[str, Any]) -> Answer:
    return Answer(data=data, mode="schema", raw=json.dumps(data))


def matches(sat: list[int], dsat: list[int], prediction: str = "SAT") -> dict[str, Any]:
    found = {"sat_matches": sat, "dsat_matches": dsat, "prediction": prediction}
    return {**found, "confidence": 0.9, "rationale": "It names prices."}


def simple(request: Request) -> Answer:
    """A model with two rules a reply, that merges by taking the first ones, and is always satisfied."""
    if kind(request) == "spur_induce":
        label = "DSAT" if "was dissatisfied (DSAT)" in text(request) else "SAT"
        return said({"rules": [f"{label} rule\n  one", f"{label} rule two"]})
    if kind(request) == "spur_reduce":
        rules = [line[2:] for line in text(request).splitlines() if line.startswith("- ")]
        return said({"rules": rules[:20]})
    return said(matches([1, 2], []))


def corpus(low: int = 3, high: int = 5) -> Corpus:
    return corpus_of(scored_past([2] * low + [5] * high, targets=2, user="ada"))


def fitted(reply: Callable[[Request], Answer] = simple, train: Corpus | None = None, **options: Any) -> Spur:
    judge = Spur(**options)
    run(partial(judge.fit, train or corpus()), reply)
    return judge


def judged(judge: Spur, answer: Answer) -> Any:
    (first, _), _ = run(partial(judge.judge, corpus().block("ada", "gift")), lambda _: answer)
    return first


def test_every_sampled_reply_gives_rules_and_they_are_merged_to_ten():
    judge = Spur()
    _, asked = run(partial(judge.fit, corpus(low=6, high=5)), simple)
    assert [len(batch) for batch in asked] == [6 + 7, 2]  # the two presents are rated 5
    assert judge.rules["DSAT"] == ["DSAT rule one", "DSAT rule two"] * 5  # on one line, cut at ten
    assert len(judge.rules["SAT"]) == 10


def test_a_bound_on_the_train_replies_is_kept_and_few_rules_are_not_merged():
    judge = Spur(train_turns=2)
    _, asked = run(partial(judge.fit, corpus(low=3, high=5)), simple)
    assert [len(batch) for batch in asked] == [4]
    assert {label: len(rules) for label, rules in judge.rules.items()} == {"SAT": 4, "DSAT": 4}
    again = fitted(train_turns=2)
    assert again.rules == judge.rules


def test_more_than_eighty_candidates_go_by_chunks_and_then_once_more():
    _, asked = run(partial(Spur().fit, corpus(low=50, high=41)), simple)
    # 86 SAT and 100 DSAT candidates: chunks of 80+6 and 80+20, leaving 20+6 and 20+20 for the last round.
    assert [len(batch) for batch in asked] == [93, 4, 2]
    limits = [text(request).split("into ")[1].split(" ")[0] for request in asked[1]]
    assert limits == ["20", "6", "20", "20"]
    assert [text(request).count("\n- ") for request in asked[2]] == [26, 40]
    assert all("into 10 rules" in text(request) for request in asked[2])


def test_a_merge_that_fails_keeps_the_first_rules():
    judge = fitted(lambda r: FAILED if kind(r) == "spur_reduce" else simple(r), corpus(low=50, high=41))
    assert judge.rules["SAT"] == ["SAT rule one", "SAT rule two"] * 5


@pytest.mark.parametrize(
    ("answer", "score", "evidence"),
    [(matches([1], [], "SAT"), 4, ("SAT 1",)), (matches([1, 9], [2], "DSAT"), 3, ("SAT 1", "SAT 9", "DSAT 2"))],
)
def test_sat_is_a_four_and_dsat_a_three(answer, score, evidence):
    found = judged(fitted(), said(answer))
    assert (found.raw, found.evidence, found.rationale) == (score, evidence, "It names prices.")
    assert found.reason == ("satisfied" if score == 4 else "other") and found.error is None


@pytest.mark.parametrize(
    ("raw", "score"),
    [
        ('{"sat_matches": [1], "dsat_matches": [2], "prediction": "maybe"}', 4),
        ('{"sat_matches": [1], "dsat_matches": [2, 3]}', 3),
        ('{"sat_matches": [], "dsat_matches": [], "prediction": "?"}', None),
        ('{"sat_matches": [], "dsat_matches": [], "prediction": "dsat"}', 3),
        ("4/5", None),
        ("四分", None),
        ("7", None),
        ("I cannot rate this.", None),
        ("", None),
    ],
)
def test_without_a_prediction_the_matches_decide_and_nothing_is_guessed(raw, score):
    found = judged(fitted(), Answer(error="does not fit", mode="unscored", text=raw, tokens_in=7))
    assert found.raw == score and found.tokens_in == 7
    assert (found.error is None) == (score is not None)


def test_where_a_label_has_no_rules_nothing_is_asked():
    one_sided = fitted(train=corpus(low=0))
    (first, second), asked = run(partial(one_sided.judge, corpus().block("ada", "gift")), simple)
    assert first.raw is None and first.error == "no rules for DSAT: train users have no such reply"
    assert asked == [] and second == first
    silent = fitted(lambda r: FAILED)
    assert "no rules for SAT and DSAT: no JSON in the reply" in judged(silent, FAILED).error
    with pytest.raises(PerslibError, match="fit"):
        first_asked(partial(Spur().judge, corpus().block("ada", "gift")))


def test_what_it_sees_and_what_it_cannot_do():
    assert Spur().inputs.profile and Spur().inputs.train
    with pytest.raises(DataError, match="one digit"):
        Spur(JudgeSettings(with_rationale=False))


@pytest.mark.parametrize("reply", ["", "x " * 25_000, "他说：五分。"])
def test_any_reply_can_be_judged_by_users_without_history(reply):
    rows: list[Row] = [("cy", "gift", "0", None, reply, None)]
    (found,), asked = run(partial(fitted().judge, corpus_of(rows).block("cy", "gift")), simple)
    assert found.raw == 4 and len(asked[0]) == 1


def test_it_runs_against_an_endpoint_and_test_users_teach_it_nothing(model, server):
    def reply(body: dict[str, Any]) -> str:
        whole = body["messages"][-1]["content"]
        if "SAT rules" in whole:
            return json.dumps(matches([1], [], "SAT"))
        return json.dumps({"rules": ["DSAT rule" if "(DSAT)" in whole else "SAT rule"]})

    server.reply = reply
    people = [row for user in "abcdefgh" for row in scored_past([2, 5, 4], 1, user)]
    found = evaluate(Spur(), corpus_of(people), model(), split="test", progress=False)
    assert found["raw"].tolist() == [4.0] * len(found) and found["error"].isna().all()
    assert set(found["user"]) == set(corpus_of(people).split()["test"])
    induced = [b for b in server.bodies if "Why? JSON only." in b["messages"][-1]["content"]]
    assert len(induced) == 4  # the one train user's replies
