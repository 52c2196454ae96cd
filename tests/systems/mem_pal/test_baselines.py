"""The memories that Mem-PAL compares with: what each shows, what it asks, what it does with bad input."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest
from pal_made import Letters, Model, session, usual

from perslib.errors import DataError, UnknownName
from perslib.llm import Answer
from perslib.llm.tokens import count_tokens
from perslib.systems.mem_pal.memory.baselines import (
    ConditionMem,
    MemoryBank,
    RecurSum,
    SessionRetrieval,
    TurnRetrieval,
    Vanilla,
    baselines,
)
from perslib.systems.mem_pal.memory.long_term import Exchange, Log, MemorySession

LETTERS = Letters()
PAST = [session(i, day) for i, day in enumerate(("09-01", "09-20", "10-10", "11-01"))]
NOW = session(4, "12-03").before()
HERE = ["[2024-12-03 08:30] log4 thing0", "[2024-12-03 09:30] log4 thing1", "[2024-12-03 10:30] log4 thing2"]


def built(memory, past=PAST, model=None):
    model = model or Model()
    store = model.of(partial(memory.build, "u", past))
    return model.of(partial(memory.add_logs, store, NOW))


def shown(memory, query="asks1 item2", **options):
    pieces = memory.recall(built(memory, **options), NOW, query, "solution")
    return {field: [p.text for p in pieces if p.field == field] for field in dict.fromkeys(p.field for p in pieces)}


def all_of(language="en"):
    return baselines(language, embedder=Letters())


def test_the_seven_of_table_2():
    assert [memory.name for memory in all_of()] == [
        "vanilla (without log)",
        "vanilla (with log)",
        "turn-level RAG",
        "session-level RAG",
        "RecurSum",
        "ConditionMem",
        "MemoryBank",
    ]
    with pytest.raises(UnknownName):
        Vanilla("fr")


def test_vanilla_shows_nothing_or_the_logs_at_hand():
    assert shown(Vanilla(logs=False)) == {}
    assert shown(Vanilla()) == {"log": HERE}


def test_turns_are_found_one_by_one_with_their_day():
    found = shown(TurnRetrieval(embedder=Letters()))
    assert found["turn"][0] == "[2024-09-20] User: asks1 item2\nAssistant: answers1 item2"
    assert len(found["turn"]) == 3 == len(found["past_log"]) and found["log"] == HERE
    found = shown(TurnRetrieval("zh", embedder=Letters()), query="log2 thing1")
    assert found["past_log"][0] == "[2024-10-10 09:30] log2 thing1" and "用户：" in found["turn"][0]


def test_sessions_are_found_whole():
    memory = SessionRetrieval(embedder=Letters())
    pieces = memory.recall(built(memory), NOW, "asks1 answers1", "solution")
    first = pieces[0]
    assert first.id == "u_sample1/dialogue" and first.sessions == ("u_sample1",)
    assert first.turns == (("u_sample1", 1), ("u_sample1", 2))
    assert first.text.startswith("[2024-09-20]\nUser: asks1 item1") and first.text.count("User: ") == 2
    assert [p.field for p in pieces] == ["dialogue"] * 3 + ["past_log"] * 3 + ["log"] * 3


def test_of_equally_near_the_earlier_is_shown():
    memory = TurnRetrieval(embedder=Letters())
    pieces = memory.recall(built(memory), NOW, "nothing alike", "solution")
    assert [p.id for p in pieces[:3]] == ["u_sample0/turn_1", "u_sample0/turn_2", "u_sample1/turn_1"]


@pytest.mark.parametrize("memory", all_of(), ids=lambda m: m.name)
def test_later_sessions_and_the_dialogue_at_hand_are_never_shown(memory):
    store = Model().of(partial(memory.build, "u", PAST))
    pieces = memory.recall(store, PAST[2].before(), "asks2 item1 log3 thing1 asks3", "solution")
    assert not {"u_sample3"} & {s for p in pieces for s in p.sessions}
    assert all(p.field == "log" for p in pieces if "u_sample2" in p.sessions)


@pytest.mark.parametrize("memory", all_of(), ids=lambda m: m.name)
def test_a_past_built_at_once_recalls_what_one_heard_session_by_session_recalls(memory):
    model = Model()
    step = memory.start("u")
    for one in PAST:
        step = model.of(partial(memory.add_logs, step, one))
        step = model.of(partial(memory.add_dialogue, step, one))
    at_once = Model().of(partial(memory.build, "u", PAST))
    assert step.session_ids == at_once.session_ids == tuple(s.id for s in PAST) and step.failed == ()
    query = (NOW, "asks1 item2", "solution")
    assert memory.recall(step, *query) == memory.recall(at_once, *query)
    again = Model()
    assert again.of(partial(memory.add_dialogue, at_once, PAST[3])) == at_once and again.rounds == 0


def test_recursum_folds_dialogues_and_logs_side_by_side():
    seen = []

    def say(request):
        seen.append(request.messages[1]["content"])
        return {"summary": f"summary {len(seen)}"}

    model = Model(say)
    store = model.of(partial(RecurSum().build, "u", PAST))
    assert model.rounds == 4 and sorted(set(model.prompts())) == ["recursum_dialogue", "recursum_logs"]
    assert len(model.asked) == 8
    assert store.of_dialogues == ("summary 1", "summary 3", "summary 5", "summary 7")
    assert "There is none yet." in seen[0] and "summary 1" in seen[2] and "summary 2" not in seen[2]
    pieces = RecurSum().recall(store, NOW, "", "solution")
    assert [(p.field, p.text) for p in pieces[:2]] == [("dialogue_summary", "summary 7"), ("log_summary", "summary 8")]


def test_recursum_keeps_the_summary_before_where_a_model_fails():
    model = Model(lambda request: {"summary": " "} if "asks1" in str(request.messages) else {"summary": "good"})
    store = model.of(partial(RecurSum().build, "u", PAST[:2]))
    assert store.of_dialogues == ("good", "good")
    assert store.failed == ("u_sample1: dialogue summary: summary is empty",)
    assert len(model.asked) == 5  # four, and one once more


@pytest.mark.parametrize("data", [None, [], {"summary": None}, {"summary": ["a"]}, {"summary": 3}])
def test_a_wrong_type_is_a_failure_not_a_crash(data):
    model = Model(lambda request: Answer(data=data, text="?"))
    store = model.of(partial(RecurSum().build, "u", PAST[:1]))
    assert len(store.failed) == 2 and store.of_logs == ("",)


def test_conditionmem_writes_records_of_all_sessions_at_once():
    memory = ConditionMem(embedder=Letters())
    model = Model()
    store = built(memory, model=model)
    assert model.rounds == 1 and len(model.asked) == 4
    pieces = memory.recall(store, NOW, "cold meals", "solution")
    assert [p.text for p in pieces[:3]] == ["on night shift → eats cold meals"] * 3
    assert [p.id for p in pieces[:2]] == ["u_sample0/record_0", "u_sample1/record_0"]


@pytest.mark.parametrize("records", [None, "none", [None], [{"condition": "x"}], [{"condition": "", "content": "y"}]])
def test_conditionmem_leaves_out_what_is_no_record(records):
    model = Model(lambda request: {"records": records})
    store = model.of(partial(ConditionMem().build, "u", PAST[:1]))
    assert store.records == () and len(store.failed) == 1 and len(model.asked) == 2


def test_memorybank_asks_for_days_and_insights_at_once_and_merges_once():
    model = Model()
    store = model.of(partial(MemoryBank().build, "u", PAST))
    assert model.rounds == 2
    assert {n: model.prompts().count(n) for n in dict.fromkeys(model.prompts())} == {
        "memorybank_day": 4,
        "memorybank_personality": 4,
        "memorybank_events": 1,
        "memorybank_portrait": 1,
    }
    pieces = forgetting(inf).recall(store, NOW, "Warm meals", "solution")
    assert [p.field for p in pieces[:3]] == ["portrait", "events", "day"]
    assert pieces[2].text == "[2024-09-01] Warm meals."


def many(n=3000):
    """One session of many exchanges, so that shares can be told."""
    return MemorySession("u_many", "2024-09-01 18:00:00", (), tuple(Exchange(f"q{i}", f"a{i}") for i in range(n)))


def forgetting(days, **options):
    memory = MemoryBank(embedder=LETTERS, **options)
    memory.forgetting = days
    return memory


def kept_at(memory, store, day):
    """All that may still be recalled on a day."""
    memory.k = 10_000
    pieces = memory.recall(store, MemorySession("u_later", f"{day} 18:00:00"), "q", "judging")
    return [p for p in pieces if p.field in ("turn", "day")]


def test_pieces_are_kept_with_the_probability_of_the_curve():
    past = [many()]
    store = Model().of(partial(MemoryBank().build, "u", past))
    for day, share in (("2024-09-01", 1.0), ("2024-10-01", np.exp(-1)), ("2024-10-31", np.exp(-2))):
        kept = kept_at(forgetting(30.0), store, day)
        assert len(kept) / 3001 == pytest.approx(share, abs=0.03)
        assert kept == kept_at(forgetting(30.0), store, day)
    assert len(kept_at(forgetting(1.0), store, "2024-09-08")) < 10
    assert len(kept_at(forgetting(inf), store, "2030-01-01")) == 3001
    later = {p.id for p in kept_at(forgetting(30.0), store, "2024-10-31")}
    assert later <= {p.id for p in kept_at(forgetting(30.0), store, "2024-10-01")}
    other = {p.id for p in kept_at(forgetting(30.0, seed=1), store, "2024-10-31")}
    assert other != later


def test_what_is_recalled_fades_more_slowly_and_from_then_on():
    past, memory = [many()], MemoryBank(embedder=LETTERS)
    store = Model().of(partial(memory.build, "u", past))
    pieces = kept_at(memory, store, "2024-09-01")
    strong = memory.strengthen_pieces(store, pieces, "2024-09-01 18:00:00")
    assert store.recalls == () and strong.recalls[0].times == 1 and strong.recalls[0].last == "2024-09-01"
    share = len(kept_at(memory, strong, "2024-10-31")) / 3001
    assert share == pytest.approx(np.exp(-2 / 2), abs=0.03)  # 60 days, c = 30, S = 2
    again = memory.strengthen_pieces(strong, pieces, "2024-10-31")
    assert again.recalls[0].times == 2
    assert len(kept_at(memory, again, "2024-10-31")) == 3001


def test_recalling_changes_nothing_by_itself():
    memory = MemoryBank(embedder=Letters())
    store = built(memory)
    before = replace(store)
    first = memory.recall(store, NOW, "asks3 item1", "solution")
    assert memory.recall(store, NOW, "asks3 item1", "solution") == first and store == before


@pytest.mark.parametrize("memory", all_of(), ids=lambda m: m.name)
@pytest.mark.parametrize(
    "odd",
    [
        [],
        [MemorySession("u_a", "", (), ())],
        [session(0, "09-01", turns=0)],
        [session(0, "09-01", logs=0)],
        [session(0, "09-01", logs=1)],
        [MemorySession("u_a", "2024-09-01 18:00:00", tuple(Log("2024-08-01 08:00", "same") for _ in range(5000)))],
        [MemorySession("u_a", "not a day", (Log("?", "x"), Log("2024-01-01", "y")), (Exchange("", ""),))],
    ],
    ids=["nothing", "empty", "no dialogue", "no logs", "one log", "5,000 logs", "no times"],
)
def test_odd_pasts(memory, odd):
    store = Model().of(partial(memory.build, "u", odd))
    assert store.failed == () and store.session_ids == tuple(s.id for s in odd)
    memory.recall(store, NOW, "", "requirement")
    memory.recall(memory.start("nobody"), NOW, "anything", "judging")
    assert all(p.text for p in memory.general(store))


def test_5000_logs_are_folded_in_several_questions():
    model = Model(usual)
    past = [MemorySession("u_a", "2024-09-01 18:00:00", tuple(Log("2024-08-01 08:00", "same") for _ in range(5000)))]
    model.of(partial(RecurSum().build, "u", past))
    assert model.prompts() == ["recursum_logs"] * 17


def test_logs_are_shown_in_the_order_of_time():
    now = MemorySession("u_now", "2024-12-03 18:00:00", (Log("2024-12-02 10:00", "b"), Log("2024-12-01 10:00", "a")))
    memory = Vanilla()
    assert [p.text for p in memory.recall(memory.start("u"), now, "", "reply")] == [
        "[2024-12-01 10:00] a",
        "[2024-12-02 10:00] b",
    ]


def test_a_store_of_another_memory_is_refused():
    with pytest.raises(DataError, match="build it anew"):
        RecurSum().recall(Vanilla().start("u"), NOW, "", "reply")


def test_looking_up_in_a_long_past_takes_one_thread():
    """Threads of linear algebra that wait for each other made a recall many times slower."""
    memory = TurnRetrieval("en", embedder=Letters())
    past = [session(i, f"{i + 1:02}-01", turns=800) for i in range(8)]
    store = built(memory, past)
    memory.recall(store, NOW, "asks1 item2", "solution")
    everywhere, here = time.process_time(), time.thread_time()
    for _ in range(100):
        memory.recall(store, NOW, "asks1 item2", "solution")
    everywhere, here = time.process_time() - everywhere, time.thread_time() - here
    assert everywhere < 1.2 * here


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("budget", [1, 20, 60, 10_000])
def test_a_budget_bounds_what_is_handed_over_and_every_kind_has_its_turn(language, budget):
    memory = TurnRetrieval(language, embedder=LETTERS, k=4)
    query = (built(memory), NOW, "asks1 item2", "solution")
    recalled = memory.recall(*query)
    memory.budget = budget
    handed = memory.recall_within_budget(*query)
    assert 0 < sum(count_tokens(p.text) for p in handed) <= budget and (budget < 10_000 or handed == recalled)
    whole = {p.id: p for p in recalled}
    assert [p.id for p in handed] == [id for id in whole if id in {p.id for p in handed}], "in the order of recalling"
    cut = [p for p in handed if p.text != whole[p.id].text]
    assert len(cut) <= 1 and all(whole[p.id].text.startswith(p.text) for p in cut)
    if budget == 60:
        assert {p.field for p in handed} == {p.field for p in recalled} and len(handed) < len(recalled)
        kept = [p.text for p in handed if p.field == "log"]
        assert kept == [p.text for p in recalled if p.field == "log"][-len(kept) :], "the last of the logs at hand"
