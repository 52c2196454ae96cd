"""The judge that asks typed questions: over HTTP at an endpoint for decisions, and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from deciding_endpoint import Deciding
from endpoint import HASTY
from histories import corpus_of, scored_past
from pages import run_cells
from scripted import MEMORY, in_rounds

from perslib.corpus import load, save
from perslib.judge import JudgeSettings, Verdict, evaluate, make_judge
from perslib.judge.asking.decide import Decide
from perslib.judge.memory_records import note_memories
from perslib.judge.scope import name_judges
from perslib.llm import Answer, Request, backbone
from perslib.memory import Structured

ROWS = [*scored_past([4, 2], 0), *(("ada", "gift", str(s), "a wish", f"present {s}", 3) for s in range(3))]
LEVELS = {"1": 0.05, "2": 0.1, "3": 0.2, "4": 0.4, "5": 0.25}


def judge_by_hand(judge: Decide, data: dict | None = None, **answered) -> tuple[list[Verdict], list[Request]]:
    """The verdicts where every reply gets these answers, and what was asked on replies."""
    asked: list[Request] = []

    def reply(stage: str, requests: Sequence[Request]) -> list[Answer]:
        if stage == "memory":
            return [Answer(data=MEMORY)]
        asked.extend(requests)
        return [Answer(text="{}", data=data, mode="decided", **answered) for _ in requests]

    return list(in_rounds(partial(judge.judge, corpus_of(ROWS).block("ada", "gift")), reply)), asked


def test_the_score_is_its_distribution_and_the_reason_a_choice():
    said = {"score": {"p": LEVELS}, "reason": {"p": {"unusable": 0.7, "other": 0.3}}}
    verdicts, asked = judge_by_hand(Decide(), said)
    one = verdicts[0]
    assert one.raw == 4 and one.p == pytest.approx(tuple(LEVELS.values())) and one.mode == "decided"
    assert one.expected == pytest.approx(sum(int(s) * p for s, p in LEVELS.items()))
    assert one.reason == "satisfied" and one.rationale is None and one.evidence == ()
    assert [q.name for q in asked[0].questions] == ["score", "reason"] and len(asked) == 3
    low, _ = judge_by_hand(
        Decide(), {"score": {"p": dict(zip("12345", [0.1, 0.6, 0.1, 0.1, 0.1]))}, "reason": said["reason"]}
    )
    assert low[0].raw == 2 and low[0].reason == "unusable"


def test_each_statement_of_the_memory_is_a_question_and_those_that_speak_against_are_cited():
    judge = Decide(Structured())
    _, asked = judge_by_hand(judge, {"score": {"p": LEVELS}})
    statements = [q for q in asked[0].questions if q.kind == "predicate"]
    assert len(statements) >= 3 and all("speaks against" in q.instructions for q in statements)
    texts = {q.name: q.instructions for q in statements}
    first, second, third = list(texts)[:3]
    said = {
        "score": {"p": LEVELS},
        first: {"p": {"yes": 0.6, "no": 0.4}},
        second: {"choice": "yes"},
        third: {"p": {"yes": 0.2, "no": 0.8}},
    }
    verdicts, _ = judge_by_hand(judge, said)
    assert verdicts[0].evidence == (second, first), "the likeliest first"
    assert "(100%); " in verdicts[0].rationale and verdicts[0].rationale.endswith("(60%).")
    assert verdicts[0].memory == "structured"


def test_all_replies_of_a_block_share_a_cache_key_and_what_comes_first():
    _, asked = judge_by_hand(Decide(Structured()), {"score": {"p": LEVELS}})
    assert len({r.cache_key for r in asked}) == 1 and asked[0].cache_key
    assert len({r.messages[0]["content"] for r in asked}) == 1
    starts = {r.messages[1]["content"].partition("## Reply")[0] for r in asked}
    assert len(starts) == 1, "memory and profile before what differs"


def test_without_a_score_there_is_no_verdict_but_a_reason_why():
    declined, _ = judge_by_hand(
        Decide(), {"score": {"error": "the model declined to answer"}, "reason": {"choice": "other"}}
    )
    assert (
        declined[0].raw is None
        and declined[0].error == "the model declined to answer"
        and declined[0].mode == "unscored"
    )
    failed, _ = judge_by_hand(Decide(), None, error="too long: 5,000 tokens")
    assert failed[0].error == "too long: 5,000 tokens"


def test_an_option_without_probabilities_is_a_score_without_a_distribution():
    verdicts, _ = judge_by_hand(Decide(), {"score": {"choice": "2"}, "reason": {"choice": "insufficient detail"}})
    assert (verdicts[0].raw, verdicts[0].p, verdicts[0].reason) == (2, None, "insufficient detail")


def test_what_a_statement_holds_cannot_act():
    memory = {**MEMORY, "user_specific_requirements": [{"statement": "wants <|im_end|> \x1b[31m", "turns": []}]}

    def reply(stage, requests):
        return (
            [Answer(data=memory)]
            if stage == "memory"
            else asked.extend(requests) or [Answer(error="x")] * len(requests)
        )

    asked: list[Request] = []
    list(in_rounds(partial(Decide(Structured()).judge, corpus_of(ROWS).block("ada", "gift")), reply))
    told = " ".join(q.instructions for q in asked[0].questions)
    assert "<|im_end|>" not in told and "\x1b" not in told and "im_end" in told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_request_a_reply_at_an_endpoint_for_decisions(home, language):
    with Deciding() as server:
        model = backbone("gpt-decide", base_url=server.base_url, key_env="", patience=HASTY)
        corpus = load(f"sample/{language}")
        verdicts = evaluate(make_judge("decide", JudgeSettings(language)), corpus, model, limit=12, progress=False)
        assert len(server.bodies) == len(verdicts) and set(verdicts["mode"]) == {"decided"}
        again = evaluate(make_judge("decide", JudgeSettings(language)), corpus, model, limit=12, progress=False)
        assert len(server.bodies) == len(verdicts), "from the cache"
    assert verdicts[["p1", "p2", "p3", "p4", "p5"]].sum(axis=1).tolist() == pytest.approx([1] * len(verdicts))
    assert again["expected"].tolist() == verdicts["expected"].tolist()


def test_its_memories_are_noted_for_what_it_cites():
    judge, notes = note_memories(Decide(Structured()))
    verdicts, _ = judge_by_hand(judge, {"score": {"p": LEVELS}, "M2": {"choice": "yes"}})
    (note,) = notes.values()
    assert {"M2"} == set(verdicts[0].evidence) <= {s.id for s in note.memory.statements}


@pytest.mark.parametrize("kind", ["decisions", "endpoint"])
def test_pages_ask_what_the_model_can_answer(model, kind):
    asked = model(kind=kind, decisions="decisions")
    usual = name_judges("", asked, "learned, personal")
    assert usual == f"learned, {'personal, ' if kind == 'endpoint' else ''}decide, decide + measured"
    assert name_judges("RAG", asked, "learned") == "RAG", "what was named is asked"
    assert name_judges("", model(), "personal") == name_judges("", None, "personal") == "personal"


@pytest.mark.page
@pytest.mark.parametrize("notebook", ["01_verification", "02_ablations", "03_rationales"])
def test_pages_at_an_endpoint_that_answers_typed_questions_alone(home, notebook, capsys):
    rows = [(f"u{i:02}", s, "0", "a wish", f"{s} {i}", 1 + i % 5) for i in range(24) for s in ("travel", "gift")]
    save(corpus_of(rows, "made"), home / "data" / "made")
    with Deciding() as server:
        text = f'[dec]\nkind = "decisions"\nbase_url = "{server.base_url}"\nmodel = "m"\n'
        (home / "backbones.toml").write_text(text, "utf-8")
        run_cells(notebook, corpus="made", backbone="dec", limit=40, out=str(home / "page"))
        assert server.bodies and all("questions" in body for body in server.bodies)
    assert "decide" in capsys.readouterr().out
