"""Memories by name: every one can be made, judges with it, and is told apart from what nobody knows."""

from __future__ import annotations

from functools import partial

import pytest
from made import shortened
from scripted import Scripted

from perslib.corpus import load
from perslib.errors import PromptError, UnknownName
from perslib.judge import JudgeSettings, Personal, make_judges
from perslib.judge.scope import StudyScope
from perslib.llm import Answer
from perslib.memory import make_memory, memory
from perslib.memory.registry import FREE
from perslib.studies.replay import make_candidates


@pytest.fixture(scope="module")
def block():
    corpus = load("sample/en")
    return corpus.block(corpus.users["user"][0], corpus.scenarios[0])


@pytest.mark.parametrize("name", list(memory))
def test_every_memory_is_had_by_its_name(name):
    assert make_memory(name, "zh").name == name


@pytest.mark.parametrize("name", FREE)
def test_a_free_memory_asks_nothing(name, block):
    model, system = Scripted(), make_memory(name, "en")
    sample = load("sample/en")
    model.work([partial(system.fit, shortened(sample.of_users(sample.users["user"][:8]), sessions=1))])
    model.work([partial(system.build, block)])
    assert not model.asked


@pytest.mark.system("mem_pal")
def test_an_unknown_memory_names_the_near_ones():
    with pytest.raises(UnknownName, match="H²Memory"):
        make_memory("H2Memory")


@pytest.mark.system("mem_pal")
def test_options_go_to_the_memories_that_have_a_use_for_them_and_others_are_refused(tmp_path):
    for name in ("RecurSum", "H²Memory", "structured", "structured + measured"):
        made = make_memory(name, "en", evidence="full", budget=9, max_tokens=None, seed=7, prompts=tmp_path)
        own = getattr(made, "system", getattr(made, "leading_system", made))
        assert own.seed == 7 and getattr(own, "prompts", tmp_path) == tmp_path
    for name in memory:
        with pytest.raises(UnknownName, match=r"no option of memories called 'promts'\. Did you mean prompts"):
            make_memory(name, "en", promts=tmp_path)


@pytest.mark.system("mem_pal")
def test_prompts_of_ones_own_are_those_that_a_long_term_memory_asks_with(tmp_path, block):
    with pytest.raises(PromptError, match="nowhere"):
        Scripted().work([partial(make_memory("H²Memory", "en", prompts=tmp_path / "nowhere").build, block)])


@pytest.mark.system("mem_pal")
def test_a_long_term_memory_is_a_judge_of_the_studies(block):
    (judge,) = make_judges("RecurSum", JudgeSettings("en"))
    assert isinstance(judge, Personal) and judge.name == "RecurSum"
    summary = Answer(text="{}", data={"summary": "Wants exact prices."}, mode="schema")
    model = Scripted(
        memory=summary, reply=lambda r: Answer(text="4", data={"score": 4, "summary": "Wants exact prices."})
    )
    (verdicts,) = model.work([partial(judge.judge, block)])
    assert len(verdicts) == len(block) and {v.memory for v in verdicts} == {"RecurSum"}
    assert any("Wants exact prices." in str(request.messages) for stage, request in model.asked if stage == "judge")


@pytest.mark.system("mem_pal")
def test_a_replay_takes_any_memory_as_a_context():
    look = StudyScope(4, 1, "full", 600, True)
    (one, other) = make_candidates("H²Memory, memory: RecurSum", "en", look)
    assert [c.context.name for c in (one, other)] == ["memory: H²Memory", "memory: RecurSum"]
