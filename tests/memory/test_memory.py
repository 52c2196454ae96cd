"""Structured memory: which rated turns it is built from, what is shown of them, and what becomes of the answer."""

from __future__ import annotations

import math
from functools import partial

import pytest
from histories import Row, corpus_of, scored_past
from scripted import Scripted, first_asked

from perslib.corpus import Block
from perslib.errors import UnknownName
from perslib.llm import Answer, run_with_answers
from perslib.memory import ScoreCountSystem, Structured
from perslib.memory.structured import select_prompt_sessions, select_prompt_turns, truncate_text

ANSWER = {
    "scoring_style": {"statement": "Strict.", "turns": [1, 2]},
    "four_vs_five_distinction": {"statement": " ", "turns": [1]},
    "three_vs_four_distinction": {"statement": "Prices are missing.", "turns": [2, 2, 99]},
    "user_specific_requirements": [{"statement": "No fish.", "turns": []}],
    "preferred_response_format": {"statement": "A table.", "turns": [3]},
    "task_specific_observations": [{"task_name": "travel", "observation": "Short walks.", "turns": [1]}],
}
EMPTY = {name: [] if name.endswith("s") else {"statement": "", "turns": []} for name in ANSWER}


def past(**sessions: int) -> list[Row]:
    """So many sessions of one turn in each scenario, all scored 4, and one of gifts to judge."""
    rows: list[Row] = [
        ("ada", scenario, str(i), f"{scenario} {i}?", f"{scenario} {i}.", 4)
        for scenario, number in sessions.items()
        for i in range(number)
    ]
    return [*rows, ("ada", "gift", "0", "wish", "present", 1)]


def block(rows: list[Row]) -> Block:
    return corpus_of(rows).block("ada", "gift")


@pytest.mark.parametrize(
    ("sessions", "chosen"),
    [
        ({"travel": 4, "skill": 4}, {"travel": [0, 1, 2, 3], "skill": [0, 1, 2, 3]}),
        ({"travel": 9, "skill": 1}, {"travel": [0, 1, 2, 3], "skill": [0]}),
        ({"travel": 5, "skill": 3, "recipe": 4}, {"travel": [0, 1], "skill": [0, 1], "recipe": [0, 1]}),
        ({"travel": 12}, {"travel": [0, 1, 2, 3, 4, 5, 6, 7]}),
    ],
)
def test_the_published_choice_of_sessions(sessions, chosen):
    found = select_prompt_sessions(block(past(**sessions)).evidence)
    assert list(found.itertuples(index=False, name=None)) == [
        (scenario, str(i)) for scenario, numbers in chosen.items() for i in numbers
    ]


def test_more_scenarios_than_sessions_that_are_shown():
    rows = past(**{f"s{i}": 2 for i in range(10)})
    found = select_prompt_sessions(block(rows).evidence)
    assert list(found.itertuples(index=False, name=None)) == [(f"s{i}", "0") for i in range(8)]


def test_messages_are_cut_and_examples_stand_by_score():
    scores = [5, 5, 5, 5, 3, 2, 4]
    rows = [("ada", "travel", "0", "q" * 300, f"{i}" + "r" * 300, s) for i, s in enumerate(scores)]
    part = select_prompt_turns(block([*rows, *past()]).evidence)
    (session,) = part.sessions
    assert (session["task_name"], session["task"]) == ("travel", "a travel task")
    assert [t["id"] for t in session["turns"]] == [1, 2, 3, 4, 5, 6, 7]
    assert session["turns"][0]["request"] == "q" * 200 + "…"
    assert session["turns"][0]["response"] == "0" + "r" * 199 + "…"
    assert [t["reason"] for t in session["turns"]] == [None] * 4 + ["too short", "too short", None]
    groups = [(g["score"], g["total"], [t["id"] for t in g["turns"]]) for g in part.examples]
    assert groups == [(5, 4, [1, 2, 3]), (4, 1, [7]), (3, 1, [5]), (2, 1, [6])]
    assert part.examples[0]["turns"][0]["request"] == "q" * 120 + "…"
    assert part.ids == tuple(f"travel/0/{i}" for i in range(7))
    assert truncate_text("abc", 3) == "abc" and truncate_text("abcd", 3) == "abc…"


def test_full_evidence_is_as_long_as_the_budget_allows():
    rows = [("ada", "travel", str(i), "q" * 1000, "r" * 1000, 4) for i in range(20)]
    evidence = block([*rows, *past()]).evidence
    for budget, length in ((20_000, 1000), (9000, 800), (3000, 200)):
        part = select_prompt_turns(evidence, "full", budget)
        assert len(part.sessions) == 20 and part.tokens <= budget and not part.examples
        assert len(part.sessions[0]["turns"][0]["response"].rstrip("…")) == length


def test_where_nothing_fits_the_earliest_sessions_of_each_scenario_are_left_out():
    evidence = block(past(travel=6, skill=4)).evidence
    part = select_prompt_turns(evidence, "full", budget=85)
    assert part.tokens <= 85
    assert part.ids == ("travel/4/0", "travel/5/0", "skill/1/0", "skill/2/0", "skill/3/0")
    assert len(select_prompt_turns(evidence, "full", budget=1).sessions) == 1
    with pytest.raises(UnknownName, match="published"):
        select_prompt_turns(evidence, "some")


def test_counts_are_those_of_the_whole_history():
    rows = [("ada", "travel", str(i), "q", "r", 5 if i else 1) for i in range(12)]
    rows += [("ada", "travel", "12", "q", "r", None)]
    memory = run_with_answers(partial(Structured().build, block([*rows, *past()])), [Answer(data=ANSWER)])
    assert memory.counts == (1, 0, 0, 0, 11) and memory.average == pytest.approx(56 / 12)
    assert len(memory.turns) == 8


def test_statements_cite_the_turns_they_rest_on():
    model = Scripted(memory=Answer(data=ANSWER))
    (memory,) = model.work([partial(Structured().build, block(scored_past([4, 2, None, 5])))])
    ((_, request),) = model.asked
    assert request.temperature == 0.3 and request.seed == 42
    assert [(s.id, s.field, s.text) for s in memory.statements] == [
        ("M1", "scoring_style", "Strict."),
        ("M2", "three_vs_four_distinction", "Prices are missing."),
        ("M3", "user_specific_requirements", "No fish."),
        ("M4", "preferred_response_format", "A table."),
        ("M5", "task_specific_observations", "Short walks."),
    ]
    assert memory.statements[0].turns == ("travel/0/0", "travel/0/1")
    assert (memory.statements[1].turns, memory.statements[1].unfounded) == (("travel/0/1",), ("99",))
    assert memory.statements[3].turns == ("travel/0/3",), "the unscored turn has no number"
    assert memory.statements[4].task == "travel"
    assert (memory.state, memory.error) == ("structured", None)
    assert memory.prompt == request.prompt


def test_the_builder_sees_no_target():
    rows = [*scored_past([4, 2]), ("ada", "gift", "1", "SECRET wish", "SECRET present", 1)]
    (request,) = first_asked(partial(Structured().build, block(rows)))
    words = request.messages[1]["content"]
    assert "answer 1" in words and "score 2, too short" in words
    assert "SECRET" not in words and "present 0" not in words
    assert "2 replies, mean 3.00 (0 × 1, 1 × 2, 0 × 3, 1 × 4, 0 × 5)" in words


def test_without_a_rated_history_nothing_is_asked():
    memory = run_with_answers(partial(Structured().build, block(scored_past([None, None]))))
    assert memory.is_empty and memory.turns == () and math.isnan(memory.average)
    assert memory.state == "structured, no rated history"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(error="truncated at 2000 tokens", mode="unscored"), "truncated at 2000 tokens"),
        (Answer(data=EMPTY), "the model wrote nothing"),
    ],
)
def test_a_failed_build_leaves_the_scores(answer, why):
    memory = run_with_answers(partial(Structured().build, block(scored_past([4, 2]))), [answer])
    assert memory.counts == (0, 1, 0, 1, 0) and not memory.statements and not memory.is_empty
    assert memory.state == f"structured, scores only: {why}"


def test_scores_alone_ask_nothing():
    memory = run_with_answers(partial(ScoreCountSystem().build, block(scored_past([4, 2]))))
    assert (memory.counts, memory.state) == ((0, 1, 0, 1, 0), "scores")
