"""Generic judges: what they are shown, and whose replies they learn from."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from histories import Row, corpus_of, scored_past
from scripted import first_asked

from perslib.errors import PerslibError, UnknownName
from perslib.judge import Generic, JudgeSettings
from perslib.judge.asking.generic import PROMPTS, keep_last_characters, sample_examples
from perslib.llm import run_with_answers


def train_rows(scores: list[int | None], user: str = "bo") -> list[Row]:
    return [(user, "skill", str(i), f"ask {i}", f"said {i}", s) for i, s in enumerate(scores)]


def shown(judge: Generic, rows: list[Row]) -> list[str]:
    """The words of each question about ada's gifts."""
    asked = first_asked(partial(judge.judge, corpus_of(rows).block("ada", "gift")))
    return ["\n".join(m["content"] for m in request.messages) for request in asked]


@pytest.mark.parametrize("variant", list(PROMPTS))
def test_they_see_the_dialogue_and_nothing_of_the_user(variant):
    rows = [*scored_past([4, 1]), *train_rows([5, 3])]
    corpus = corpus_of(rows)
    judge = Generic(variant)
    if variant == "few-shot":
        run_with_answers(partial(judge.fit, corpus.of_users(["bo"])))
    asked = first_asked(partial(judge.judge, corpus.block("ada", "gift")))
    assert len(asked) == 2
    words = asked[1].messages[1]["content"]
    for text in ("wish 0", "present 0", "wish 1", "present 1", "a gift task"):
        assert text in words
    assert "question" not in words and "answer" not in words and "travel" not in words.lower()
    assert ("said 0" in words) == (variant == "few-shot")
    assert (judge.name, judge.inputs.train) == (variant, variant == "few-shot")
    assert not judge.inputs.history and not judge.inputs.profile and judge.inputs.model


def test_a_long_dialogue_loses_its_beginning():
    rows = [*scored_past([4], 0), *[("ada", "gift", "0", "q", f"reply {i} " + "x" * 2500, 4) for i in range(4)]]
    words = shown(Generic(), rows)[3]
    assert "reply 0" not in words and "reply 1 " in words and "reply 2 " in words and "reply 3 " in words
    assert words.count("…x") == 1, "the end of reply 0"
    cut = keep_last_characters([{"role": "user", "content": "abcdef"}, {"role": "assistant", "content": "ghi"}], 5)
    assert [m["content"] for m in cut] == ["…ef", "ghi"]
    assert keep_last_characters([{"role": "user", "content": "a"}], 0) == []


def test_a_very_long_reply_is_shown_whole():
    rows = [*scored_past([4], 0), ("ada", "gift", "0", "q", "y" * 50_000, 4)]
    (words,) = shown(Generic(), rows)
    assert "y" * 50_000 in words


def test_examples_are_as_many_of_each_score_and_always_the_same():
    corpus = corpus_of(train_rows([1, 2, 3, 4, 5, None] * 6))
    chosen = sample_examples(corpus)
    assert Counter(e["score"] for e in chosen) == {1: 2, 2: 2, 3: 2, 4: 2, 5: 2}
    assert sample_examples(corpus) == chosen
    assert [e["score"] for e in chosen] != sorted(e["score"] for e in chosen)
    assert Counter(e["score"] for e in sample_examples(corpus_of(train_rows([5] * 9 + [1])))) == {5: 2, 1: 1}
    assert all((e["reason"] == "too short") == (e["score"] <= 3) for e in chosen)
    assert chosen[0]["context"].startswith("a skill task\nask ")


def test_the_context_of_an_example_is_cut():
    (one,) = sample_examples(corpus_of([("bo", "skill", "0", "q" * 5000, "r" * 5000, 2)]))
    assert len(one["context"]) == 1200 and len(one["response"]) == 5000


def test_few_shot_without_examples_is_an_error():
    judge = Generic("few-shot")
    with pytest.raises(PerslibError, match="no examples yet"):
        shown(judge, scored_past([4]))
    with pytest.raises(PerslibError, match="no rated replies"):
        run_with_answers(partial(judge.fit, corpus_of(train_rows([None]))))


def test_the_score_alone():
    judge = Generic(settings=JudgeSettings(window=None, with_rationale=False))
    request, *_ = first_asked(partial(judge.judge, corpus_of(scored_past([4])).block("ada", "gift")))
    assert request.schema is None and request.max_tokens == 1
    assert request.messages[-1]["content"].rstrip().endswith("Score:")


def test_an_unknown_variant():
    with pytest.raises(UnknownName, match="few-shot"):
        Generic("fewshot")
