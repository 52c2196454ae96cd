"""Long-term memories as evidence of judges and contexts of candidates: sessions, statements, citations, edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import pandas as pd
import pytest
from h2_mind import Mind, Words, text_of
from histories import Row, corpus_of
from scripted import Scripted

from perslib.corpus import Corpus
from perslib.errors import UnknownName
from perslib.judge import Personal
from perslib.llm import Answer, Request, run_with_answers
from perslib.memory import Draft, EditedSystem, ScoreCountSystem, UserMemory, read_draft, resolve_citations, save_draft
from perslib.replay.contexts import make_context
from perslib.systems.mem_pal.memory.baselines import SessionRetrieval, TurnRetrieval
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.memory.long_term_system import LongTermSystem, RecallMemory, make_memory_sessions

ROWS: list[Row] = [
    ("ada", "recipe", "0", "knee soup", "a soup", 2),
    ("ada", "recipe", "0", "and bread", "[My rating: 5 of 5] a loaf", 5),
    ("ada", "travel", "0", "desk trip", "a trip", None),
    ("ada", "travel", "0", "by train", "a train", 4),
    ("ada", "gift", "0", "knee present", "a stick", 5),
    ("ada", "gift", "0", "another", "a rug", 1),
    ("ada", "gift", "1", "desk present", "a lamp", 3),
]
DAYS = {("travel", "0"): 5, ("gift", "0"): 10, ("recipe", "0"): 15, ("gift", "1"): 20}
LOGS = [(4, "desk"), (9, "knee"), (9, "again knee"), (14, "garden"), (19, "paper")]


def corpus() -> Corpus:
    made = corpus_of(ROWS)
    days = [DAYS[key] for key in zip(made.sessions["scenario"], made.sessions["session"])]
    order = sorted(days)
    told = made.sessions.assign(
        started_at=[pd.Timestamp(2026, 3, day) for day in days], position=[order.index(day) for day in days]
    )
    following = {day - 1: key for key, day in DAYS.items()}
    events = pd.DataFrame(
        [("ada", *following[day], pd.Timestamp(2026, 3, day), "k", what) for day, what in LOGS],
        columns=["user", "scenario", "session", "at", "kind", "content"],
    )
    return Corpus("made", "en", made.users, told, made.turns, events)


def system(language: str = "en") -> H2Memory:
    return H2Memory(language, embedder=Words())


def remembered(block=None) -> tuple[RecallMemory, Mind]:
    mind = Mind()
    return mind.work(partial(LongTermSystem(system()).build, block or corpus().block("ada", "gift"))), mind


class Judging(Mind):
    """Answers the judge as well."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[Request] = []

    def reply(self, stage: str, requests: Sequence[Request]) -> list[Answer]:
        if stage == "memory":
            return super().reply(stage, requests)
        self.questions += requests
        said = {"score": 4, "reason": "satisfied", "rationale": "", "evidence": ["M1"]}
        return [Answer(data=said, mode="schema") for _ in requests]


# -- sessions ----------------------------------------------------------------------------------------------


def test_evidence_becomes_sessions_in_the_order_of_time_with_logs_and_ratings():
    block = corpus().block("ada", "gift")
    past, ids = make_memory_sessions(block, block.evidence)
    assert [(s.id, s.at, len(s.logs)) for s in past] == [
        ("travel/0", "2026-03-05 00:00:00", 1),
        ("recipe/0", "2026-03-15 00:00:00", 1),
    ]
    assert [t.user for t in past[1].turns] == [
        "knee soup",
        "(My rating of the last reply: 2 of 5, because: too short.)\nand bread",
        "(My rating of the last reply: 5 of 5.)",
    ]
    assert ids["recipe/0"] == ("recipe/0/0", "recipe/0/1")
    assert [t.user for t in past[0].turns][:2] == ["desk trip", "by train"]  # what was not rated


def test_without_labels_no_rating_and_no_time_of_a_session_is_told():
    block = corpus().block("ada", "gift").hide_labels()
    past, _ = make_memory_sessions(block, block.evidence)
    assert [(s.id, s.at) for s in past] == [("travel/0", "2026-03-04 00:00"), ("recipe/0", "2026-03-14 00:00")]
    assert not any("rating of" in t.user for s in past for t in s.turns)
    scores = [(*row[:5], None) for row in ROWS]
    other = replace(block, evidence=corpus_of(scores).block("ada", "gift").hide_labels().evidence)
    assert make_memory_sessions(other, other.evidence)[0] == past


def test_ratings_in_chinese():
    block = corpus().block("ada", "gift")
    past, _ = make_memory_sessions(block, block.evidence, "zh")
    assert past[1].turns[1].user == "（我给上一条回复打 2 分，原因：too short。）\nand bread"


# -- the memory --------------------------------------------------------------------------------------------


def test_statements_name_the_turns_they_rest_on_and_counts_come_from_the_data():
    memory, _ = remembered()
    assert memory.counts == (0, 1, 0, 1, 1) and memory.system == "H²Memory" and memory.error is None
    assert [s.id for s in memory.statements] == [f"M{i}" for i in range(1, len(memory.statements) + 1)]
    of_field = {s.field: s for s in memory.statements}
    assert {"background", "principle", "outline", "situation"} == set(of_field)
    assert of_field["background"].turns == ("travel/0/0", "travel/0/1", "recipe/0/0", "recipe/0/1")
    assert set(of_field["principle"].turns) <= set(memory.turns) and of_field["principle"].turns
    assert of_field["outline"].turns in (("travel/0/0", "travel/0/1"), ("recipe/0/0", "recipe/0/1"))
    assert of_field["situation"].turns == ()  # logs, no turns


def test_each_target_is_shown_what_bears_on_it_and_on_the_logs_before_it():
    memory, mind = remembered()
    block = corpus().block("ada", "gift")
    first, last = memory.recall(block.target("0", 0)), memory.recall(block.target("1", 0))
    told = [{n["text"] for n in notes if n["field"] == "situation"} for notes in (first, last)]
    assert told == [{"busy with knee"}, {"busy with paper"}]
    assert all(set(n) == {"id", "field", "text", "task"} for n in first + last)
    known = {s.id: s for s in memory.statements}
    assert all(n["id"] in known for n in first + last)
    assert "lamp" not in "".join(map(text_of, mind.asked)) and "stick" not in "".join(map(text_of, mind.asked))


def test_citations_are_found_again():
    memory, _ = remembered()
    block = corpus().block("ada", "gift")
    outline = next(n for n in memory.recall(block.target("0", 0)) if n["field"] == "outline")
    found = resolve_citations([outline["id"]], block, memory)
    assert found.statements[0] in memory.statements and found.turns


def test_edits_by_hand_change_what_is_shown():
    memory, _ = remembered()
    target = corpus().block("ada", "gift").target("0", 0)
    shown = memory.recall(target)
    outline = next(n for n in shown if n["field"] == "outline")
    draft = Draft.of(memory).edit(outline["id"], "In my words.").add("Wants it wrapped.").switch(shown[0]["id"], False)
    now = draft.memory.recall(target)
    texts = {n["id"]: n["text"] for n in now}
    assert texts[outline["id"]] == "In my words." and shown[0]["id"] not in texts
    assert now[-1]["text"] == "Wants it wrapped." and len(now) == len(shown)
    assert "edited by hand" in draft.memory.state


def test_a_memory_without_targets_still_recalls_for_them():
    block = corpus().block("ada", "gift")
    memory, _ = remembered(replace(block, targets=block.targets.iloc[:0]))
    notes = memory.recall(block.target("1", 0))
    assert {"busy with paper"} == {n["text"] for n in notes if n["field"] == "situation"}
    assert len({n["id"] for n in notes}) == len(notes)


def test_nothing_known_and_nothing_given():
    block = corpus().block("ada", "gift")
    memory, mind = remembered(replace(block, evidence=block.evidence.iloc[:0], events=block.events.iloc[:0]))
    assert memory.is_empty and mind.asked == [] and memory.recall(block.target("0", 0)) == []
    failing = Mind(lambda name, request: Answer(error="down"))
    lost = failing.work(partial(LongTermSystem(system()).build, block))
    assert lost.statements == () and "pieces failed, the first: " in lost.error and not lost.is_empty
    with pytest.raises(UnknownName, match="zh"):
        LongTermSystem(system(), "fr")


class Counted(Words):
    """An embedder that notes what it was given, call by call."""

    def __init__(self):
        super().__init__()
        self.given = []

    def embed(self, texts, kind="passage"):
        self.given.append((kind, list(texts)))
        return super().embed(texts, kind)


@pytest.mark.parametrize("kind", [TurnRetrieval, SessionRetrieval])
def test_each_text_of_a_user_is_embedded_once_and_the_questions_of_a_block_together(kind):
    counted = Counted()
    made, memory = corpus(), LongTermSystem(kind("en", embedder=counted))
    for scenario, most in (("gift", 3), ("recipe", 3), ("travel", 2)):
        counted_before, block = len(counted.given), made.block("ada", scenario)
        recalled = run_with_answers(partial(memory.build, block))
        kinds = [k for k, _ in counted.given[counted_before:]]
        assert kinds.count("query") <= 1 and len(kinds) <= most
        for target in block:
            recalled.recall(target)
        assert len(counted.given) == counted_before + len(kinds), "all was at hand"
    given = [(k, text) for k, texts in counted.given for text in texts]
    assert len(given) == len(set(given))


def test_logs_at_hand_are_shown_and_not_looked_among():
    counted = Counted()
    block = corpus().block("ada", "gift")
    memory = run_with_answers(partial(LongTermSystem(TurnRetrieval("en", embedder=counted)).build, block))
    embedded = {text for kind, texts in counted.given if kind == "passage" for text in texts}
    assert {"desk", "garden"} <= embedded and not {"knee", "paper"} & embedded
    shown = {(n["field"], n["text"]) for n in memory.recall(block.target("1", 0))}
    assert ("log", "[2026-03-19 00:00] paper") in shown
    assert ("past_log", "[2026-03-04 00:00] desk") in shown


# -- judges and candidates ---------------------------------------------------------------------------------


def test_the_personal_judge_judges_with_it():
    mind = Judging()
    verdicts = mind.work(partial(Personal(LongTermSystem(system())).judge, corpus().block("ada", "gift")))
    assert [v.raw for v in verdicts] == [4, 4, 4] and {v.memory for v in verdicts} == {"H²Memory"}
    said = text_of(mind.questions[0])
    assert "busy with knee" in said and "3 replies, mean 3.67" in said and "] principle: kind of" in said
    assert "busy with paper" in text_of(mind.questions[2])


def test_replies_judged_since_are_heard_when_the_memory_is_updated():
    mind = Judging()
    mind.work(partial(Personal(LongTermSystem(system()), update="per session").judge, corpus().block("ada", "gift")))
    assert any(
        "knee present" in said and "(My rating of the last reply: 4 of 5.)" in said for said in mind.of("h2_outline")
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_candidate_is_shown_what_is_recalled_and_no_label(language):
    mind = Mind() if language == "en" else Mind(lambda name, r: None)
    shown = make_context(LongTermSystem(system()), language)
    block = corpus().block("ada", "gift")
    told, *_ = mind.work(partial(shown.show, shown.hide_labels(block)))
    assert "busy with knee" in told.system and told.memory == "H²Memory" and told.records
    assert "rating of" not in told.system + "".join(map(text_of, mind.asked))


def unlogged():
    block = corpus().block("ada", "gift")
    return replace(block, events=block.events.iloc[:0])


def test_a_reply_rests_on_the_turns_that_were_looked_up_for_it():
    shown, block = make_context(LongTermSystem(TurnRetrieval("en", embedder=Words(), k=1))), unlogged()
    told = run_with_answers(partial(shown.show, shown.hide_labels(block)))
    first, third = (told[[t.session for t in block].index(session)] for session in ("0", "1"))
    assert first.records == ("recipe/0/0",) and "a soup" in first.system
    assert third.records == ("travel/0/0",) and "a trip" in third.system


def test_what_was_taken_out_of_a_memory_is_not_cited_and_a_memory_from_a_file_cites_the_same():
    block = unlogged()
    memory = run_with_answers(partial(LongTermSystem(TurnRetrieval("en", embedder=Words(), k=1)).build, block))
    first, third = block.target("0", 0), block.target("1", 0)
    plain = UserMemory(**{f.name: getattr(memory, f.name) for f in fields(UserMemory)})
    assert (
        RecallMemory.of_json(plain, memory.to_json()).list_cited_turns(first)
        == memory.list_cited_turns(first)
        == ("recipe/0/0",)
    )
    less = memory.with_statements([s for s in memory.statements if "soup" not in s.text])
    assert less.list_cited_turns(first) == () and less.list_cited_turns(third) == ("travel/0/0",)


def test_scripted_backbones_work_it():
    assert isinstance(
        Scripted(memory=Answer(error="no")).work(
            [partial(LongTermSystem(system()).build, corpus().block("ada", "gift"))]
        )[0],
        RecallMemory,
    )


@pytest.mark.parametrize("name", ["H²Memory", "turn-level RAG"])
def test_a_long_term_memory_from_a_file_recalls_as_it_did(name, home):
    block = corpus().block("ada", "gift")
    system = H2Memory("en", embedder=Words()) if name == "H²Memory" else TurnRetrieval("en", embedder=Words(), k=1)
    memory = Mind().work(partial(LongTermSystem(system).build, block))
    first, last = block.target("0", 0), block.target("1", 0)
    own, other = memory.recall(first), memory.recall(last)
    assert own != other and len(own) < len(memory.statements), "each is shown what bears on it"
    edited = (
        Draft.of(memory).edit(own[0]["id"], "In my words.").switch(other[-1]["id"], on=False).add("Wants it wrapped.")
    )
    save_draft(edited, "mine")
    again = read_draft("mine", block)
    for target in block:
        assert again.memory.recall(target) == edited.memory.recall(target)
        assert Draft.of(again.built).memory.recall(target) == memory.recall(target)
    texts = [n["text"] for n in again.memory.recall(first)]
    assert texts[0] == "In my words." and texts[-1] == "Wants it wrapped."
    assert run_with_answers(partial(EditedSystem("mine", otherwise=ScoreCountSystem()).build, block)).recall(
        last
    ) == edited.memory.recall(last)
    unasked = replace(first, session="7")
    shown = {n["id"] for n in again.memory.recall(unasked)}
    assert shown == {s.id for s in again.memory.statements}, "asked something else, it shows all it says"
