"""PAL-Set synthesis: whole runs with a model that fills everything in, faulty answers step by step, and its estimate."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from functools import partial

import pytest
from endpoint import status
from scripted import first_asked, in_rounds
from synthesis_made import ONE, OWN, Model

from perslib.corpus import load
from perslib.errors import BackboneError, DataError
from perslib.llm import backbone
from perslib.llm.structured.parsing import find_schema_faults as validation_problem
from perslib.prompts import prompt
from perslib.systems.mem_pal.memory.long_term import list_user_sessions
from perslib.systems.mem_pal.synthesis import estimate_synthesis, synthesize
from perslib.systems.mem_pal.synthesis import sessions as talks
from perslib.systems.mem_pal.synthesis.estimate import PlaceholderAnswers
from perslib.systems.mem_pal.synthesis.personas import _likings, _months, _people, _situations, _types
from perslib.systems.mem_pal.synthesis.questions import AnswerFault, UserSynthesis
from perslib.systems.mem_pal.synthesis.sessions import DraftTopic

# -- whole runs --------------------------------------------------------------------------------------------


@pytest.mark.sample
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_set_is_written_and_reads_as_the_release_does(monkeypatch, tmp_path, language):
    made = synthesize(Model(monkeypatch, language), users=2, language=language)
    assert made.rejected.empty
    corpus = made.corpus("mine")
    assert (corpus.name, corpus.language, len(corpus.users)) == ("mine", language, 2)
    assert corpus.meta["irregularities"] == {}
    written = load(made.write(tmp_path))
    assert written.turns.equals(corpus.turns) and (tmp_path / "rejected.csv").is_file()
    for user in corpus.users["user"]:
        sessions = list_user_sessions(corpus, user)
        assert all(s.logs and s.turns and s.logs[-1].at <= s.at for s in sessions)
        assert list_user_sessions(corpus, user, "query")
        before = [s.at for s in sessions]
        assert all(s.logs[0].at > at for s, at in zip(sessions[1:], before, strict=False))
    turns = corpus.turns
    assert turns["user_action"].notna().all() and turns["assistant_action"].notna().all()
    opened = (turns["user_action"] == "topic_inquiry").sum()
    assert opened == (turns["assistant_action"] == "feedback_response").sum() == len(corpus.extras["topics"])


@pytest.mark.sample
def test_the_same_seed_asks_the_same_questions(monkeypatch):
    """So a run that was broken off takes from the answer cache what was answered."""
    first, second = Model(monkeypatch), Model(monkeypatch)
    made = synthesize(first, users=1), synthesize(second, users=1)
    assert made[0].files == made[1].files
    assert [r for _, _, r in first.asked] == [r for _, _, r in second.asked]
    other = Model(monkeypatch)
    synthesize(other, users=1, seed=7)
    assert len(other.asked) != len(first.asked) or other.asked != first.asked


def test_independent_questions_go_together(monkeypatch):
    rounds = []
    model = Model(monkeypatch)
    model.work = lambda methods, **settings: [
        in_rounds(method, lambda _, requests: list(map(model._answer, requests)), rounds=rounds) for method in methods
    ]
    made = synthesize(model, users=1)
    months = len({d[:7] for d in made.files["situation"]["0000"]})
    # profiles, timeline, needs, likings, a month at a time, accounts, logs with frameworks, candidates, verdicts, talks, checks
    assert len(rounds) == 1 + 3 + months + 1 + 1 + 1 + 1 + 1 + 1


@pytest.mark.sample
def test_a_run_that_was_broken_off_asks_only_what_was_not_answered(monkeypatch, server, model):
    script = Model(monkeypatch)
    server.latency, live = 0.01, model(concurrency=8)

    def breaking(body):
        return status(401) if len(server.bodies) > 60 else script.says(body)

    server.reply = breaking
    with pytest.raises(BackboneError):
        synthesize(live, users=1, progress=False)
    answered = {body["messages"][-1]["content"] for body in server.bodies[:60]}
    server.bodies.clear()
    server.reply = script.says
    made = synthesize(live, users=1, progress=False)
    assert made.rejected.empty and len(made.corpus().sessions) > 10
    again = answered & {body["messages"][-1]["content"] for body in server.bodies}
    assert len(again) < 8, "only what was in flight when it broke off is asked again"
    assert server.most_in_flight == 8
    server.bodies.clear()
    assert synthesize(live, users=1, progress=False).files == made.files and not server.bodies


# -- faulty answers ----------------------------------------------------------------------------------------


def test_a_faulty_answer_is_asked_for_again_with_what_is_wrong(monkeypatch):
    def change(step, place, again, data):
        if step == "timeline" and not again:
            data["months"].pop()
        return data

    model = Model(monkeypatch, change=change)
    assert synthesize(model, users=1).rejected.empty
    first, second = [r for step, _, r in model.asked if step == "timeline"]
    assert len(second.messages) == len(first.messages) + 2 and "2024-12" in second.messages[-1]["content"]
    assert (first.seed, second.seed) == (42, 43) and second.sample == 1


def test_what_a_model_never_gives_is_left_out_and_the_rest_goes_on(monkeypatch):
    lost = {}

    def change(step, place, again, data):
        if step == "verdicts" and place.endswith("family-3"):
            return {**data, "neg": data["pos"]}  # liked and disliked alike
        if step in ("logs", "dialogue", "experience") and lost.setdefault(step, place) == place:
            return None
        return data

    made = synthesize(Model(monkeypatch, change=change), users=1)
    table = made.rejected
    assert set(table["step"]) == {"verdicts", "logs", "dialogue", "experience"}
    assert not table["kept"].any() and (table["step"] == "dialogue").sum() == 1
    corpus = made.corpus()
    assert "family-3" not in set(corpus.extras["topics"]["requirement_id"])
    assert corpus.extras["topics"]["requirement_id"].notna().all()
    assert "frameworks of no session" not in corpus.meta["irregularities"]


@pytest.mark.parametrize("step", ["profiles", "timeline", "requirements"])
def test_a_user_without_a_beginning_is_left_out(monkeypatch, step):
    made = synthesize(Model(monkeypatch, change=lambda s, p, a, d: None if s == step else d), users=1)
    assert made.files["input"] == {} and "left out" in made.rejected["reason"].iloc[-1]


def test_no_december_no_user(monkeypatch):
    def change(step, place, again, data):
        return None if step == "situations" and place.endswith("-12") else data

    made = synthesize(Model(monkeypatch, change=change), users=1)
    assert made.files["input"] == {} and "December" in made.rejected["reason"].iloc[-1]


def test_wrong_types_and_nulls_are_rejected_like_anything_else(monkeypatch):
    def change(step, place, again, data):
        return {"logs": {"logs": None}, "frameworks": {"topics": "none"}, "preferences": []}.get(step, data)

    made = synthesize(Model(monkeypatch, change=change), users=1)
    assert made.files["input"] == {} and set(made.rejected["step"]) == {"preferences", "user"}


def test_bad_numbers_are_refused(monkeypatch):
    with pytest.raises(DataError, match="expected 1 or more"):
        synthesize(Model(monkeypatch), users=0)


# -- the checks of each step -------------------------------------------------------------------------------


def situation(start, end, ids=("work-1",), text="Nights."):
    return {"start": start, "end": end, "requirement_ids": list(ids), "situation": text}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (situation("2024-12-05", "2024-12-09"), "begins on 2024-12-05, expected 2024-12-06 or later"),
        (situation("2024-12-09", "2024-12-09"), "expected after 2024-12-09"),
        (situation("2024-12-28", "2025-01-02"), "not after 2024-12-31"),
        (situation("soon", "2024-12-09"), "is no date"),
        (situation("2024-12-07", "2024-12-09", ["work-9"]), "work-9 is no id"),
        (situation("2024-12-07", "2024-12-09", ["work-1", "work-1"]), "expected different ids"),
        (situation("2024-12-07", "2024-12-09", text=" … "), "nothing is told"),
    ],
)
def test_situations_keep_to_the_month_one_after_another(given, said):
    first, last = OWN.start.date(), datetime(2024, 12, 31).date()
    good = situation("2024-12-02", "2024-12-05")
    reading = _situations(ONE, first, last)({"situations": [good, given]})
    assert [str(days[1]) for days in reading.value] == ["2024-12-05"]
    assert said in reading.faults[0] and reading.faults[1] == "2 situations, expected 4 to 6"


def entry(at, kind="Web Search", content="searched"):
    return {"at": at, "event": "e", "type": kind, "content": content}


def test_logs_out_of_order_are_sorted_and_those_outside_left_out():
    good = [entry(f"2024-12-03 10:{i:02d}") for i in range(15)]
    read = talks._logs(OWN)
    assert read({"logs": good}).faults == ()
    reading = read(
        {"logs": [*good[::-1], entry("2024-12-07 09:00"), entry("noon"), entry("2024-12-03 11:00", content="…")]}
    )
    assert [f"{e.at:%M}" for e in reading.value] == [f"{i:02d}" for i in range(15)]
    assert [fault.split(":")[0] for fault in reading.faults] == [
        "logs[15]",
        "logs[16]",
        "logs[17]",
        "the times do not increase",
    ]
    assert "14 usable" in read({"logs": good[:14]}).faults[0]
    assert "do not increase" in read({"logs": [*good, good[-1]]}).faults[0]


def test_frameworks_are_read_by_id_and_say_something():
    need = {"need": "eat", "evidences": ["seen"]}
    topic = {"user_query": "Hm?", "needs": [need, need], "requirement": "r"}
    read = talks._frameworks(OWN)
    reading = read({"topics": [{**topic, "id": "work-1"}, {**topic, "id": "family-1"}]})
    assert list(reading.value) == ["work-1"]
    assert reading.faults == ("health-1: nothing is given for it", "family-1: not asked for")
    empty = [need, {"need": "…", "evidences": ["x"]}]
    assert read({"topics": [{**topic, "id": "work-1", "needs": empty}]}).value is None


def test_candidates_are_eight_and_different():
    topic = DraftTopic("work-1", "Hm?", [{"need": "a", "evidences": ["x"]}], "r")
    read = talks._candidates([topic])
    ways = [f"way {i}" for i in range(8)]
    assert read({"topics": [{"id": "work-1", "solutions": ways}]}).value == {"work-1": ways}
    for bad in (ways[:7], [*ways[:7], ways[0]], [*ways[:7], " "]):
        assert read({"topics": [{"id": "work-1", "solutions": bad}]}).value is None


def test_candidates_are_asked_for_without_a_word_of_the_user():
    topic = DraftTopic("work-1", "Hm?", [{"need": "a", "evidences": ["secret evidence"]}], "r")
    (request,) = first_asked(partial(talks.write_candidates, [topic], "0000 2024-12-06", UserSynthesis("en")))
    asked = str(request.messages)
    assert not any(word in asked for word in ("Ida", "Nights.", "shifts", "secret evidence"))


@pytest.mark.parametrize(
    ("pos", "neg"), [(["S1", "S2"], ["S2", "S3"]), (["S1", "S9"], ["S3", "S4"]), (["S1", "S1"], ["S3", "S4"])]
)
def test_verdicts_name_four_different_solutions(pos, neg):
    topic = DraftTopic("work-1", "Hm?", [], "r", [f"way {i}" for i in range(8)])
    picks = {"pos": pos, "neg": neg}
    given = {side: [{"id": i, "reason": "x"} for i in ids] for side, ids in picks.items()}
    with pytest.raises(AnswerFault, match="four different ids"):
        talks._verdict({"analysis": "", **given})
    good = {
        "pos": [{"id": "s1", "reason": "x"}, {"id": "S8 ", "reason": "x"}],
        "neg": [{"id": "S3", "reason": "x"}, {"id": "S4", "reason": "x"}],
    }
    topic = replace(topic, verdict=talks._verdict({"analysis": "", **good}))
    assert [topic.label(i) for i in range(8)] == ["pos", "neu", "neg", "neg", "neu", "neu", "neu", "pos"]


def test_the_beginnings_are_checked_too():
    with pytest.raises(AnswerFault, match="2024-11, expected 2024-12"):
        _months(["2024-12"])({"months": [{"month": "2024-11", "events": "x"}]})
    four = {a: ["a", "b", "c", "d"] for a in ("work", "health", "family", "leisure")}
    assert list(_types(four).value)[:5] == ["work-1", "work-2", "work-3", "work-4", "health-1"]
    assert _types({**four, "work": ["a", "a", "b", "c"]}).value is None
    own = [{"id": "work-1", "text": "t"}]
    assert _likings(own)({"preferences": [{"id": "work-2", "pos": "x", "neg": "y"}]}).value is None
    with pytest.raises(AnswerFault, match="99 characters"):
        talks._account({"experience": "x" * 99})
    person = PlaceholderAnswers("en")("profiles", {"count": 3})
    assert len(_people(3, "en")(person).value) == 3
    reading = _people(5, "en")(person)
    assert len(reading.value) == 3 and reading.faults == ("3 people, expected 5",)


TOPIC = {"id": "work-1", "user_query": "Hm?", "needs": [{"need": "eat", "evidences": ["seen"]}], "requirement": "r"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("step", "answer"),
    [
        ("requirements", {a: ["a", "b", "c"] for a in ("work", "health", "family", "leisure")}),
        ("situations", {"situations": [situation("2024-12-02", "2024-12-05", ids=["a", "b", "c", "d"])]}),
        ("frameworks", {"topics": [TOPIC]}),
        ("frameworks", {"topics": [TOPIC | {"needs": [{"need": "eat", "evidences": []}] * 2}]}),
        ("candidates", {"topics": [{"id": "work-1", "solutions": [f"way {i}" for i in range(7)]}]}),
        ("verdicts", {"analysis": "", **dict.fromkeys(("pos", "neg"), [{"id": "S1", "reason": "x"}] * 3)}),
    ],
)
def test_how_many_are_wanted_is_said_by_the_schema(step, answer, language):
    assert re.search(r"than \d items?", validation_problem(answer, prompt(f"palsynth_{step}", language).schema))


# -- what it will take -------------------------------------------------------------------------------------


@pytest.mark.sample
def test_the_estimate_is_near_what_the_published_programs_took():
    table = estimate_synthesis(backbone("vllm-qwen3-8b"), 100, "zh")
    assert list(table.index[:3]) == ["profiles", "timeline", "requirements"] and table.loc["profiles", "calls"] == 10
    plain = estimate_synthesis(backbone("vllm-qwen3-8b"), 100, "zh", check=False)
    assert plain["calls"].sum() == pytest.approx(26_700, rel=0.2) and "check" not in plain.index
    assert table.loc["check", "calls"] == table.loc["dialogue", "calls"], "each session is looked through once"
    assert table["tokens_in"].sum() / 61e6 < 1.5 and table["tokens_out"].sum() / 31e6 < 1.5
    priced = estimate_synthesis(backbone("openai"), 100, "zh")
    assert priced["cost"].sum() == pytest.approx(
        0.4e-6 * priced["tokens_in"].sum() + 1.6e-6 * priced["tokens_out"].sum()
    )


@pytest.mark.sample
def test_a_rehearsal_asks_what_the_run_asks(monkeypatch):
    model = Model(monkeypatch)
    synthesize(model, users=2)
    different = {json.dumps(request.messages) for _, _, request in model.asked}  # equal ones are asked once
    assert estimate_synthesis(backbone("embedded"), 2)["calls"].sum() == len(different)
