"""H²Memory's log graph: windows, relations that hold, components, situations, and models that err."""

from __future__ import annotations

from functools import partial

import pytest
from h2_mind import Mind, session

from perslib.llm import Answer
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.memory.h2.log_graph import components, hear, read_relations, windows
from perslib.systems.mem_pal.memory.h2.store import Relation
from perslib.systems.mem_pal.memory.long_term import Log, MemorySession

MEMORY = H2Memory()


def graph(mind: Mind, one: MemorySession, **options: bool):
    return mind.work(partial(hear, one, MEMORY.render, **options))


def bounds(spans: list[tuple[range, range]]) -> list[tuple[int, int, int, int]]:
    return [(shown[0], shown[-1], about[0], about[-1]) for shown, about in spans]


def test_windows_show_the_ten_logs_before():
    assert bounds(windows(34)) == [(0, 9, 0, 9), (0, 19, 10, 19), (10, 29, 20, 29), (20, 33, 30, 33)]
    assert bounds(windows(11)) == [(0, 9, 0, 9), (0, 10, 10, 10)]
    assert len(windows(10)) == len(windows(7)) == 1 and windows(0) == []


RELATIONS = [([], []), ([0], []), ([], []), ([], [2]), ([1], [3, 9]), ([], [5]), ([], [])]


def related(pairs=RELATIONS):
    said = {"relations": [{"log": i, "caused_by": c, "follows": f} for i, (c, f) in enumerate(pairs)]}
    return read_relations(said, range(7), range(7))


def test_invalid_relations_are_dropped_and_components_ordered_by_their_first_log():
    reading = related()
    assert len(reading.faults) == 2 and "9, which is not among" in reading.faults[0]
    assert "log 5 names 5, which is not earlier" in reading.faults[1] and reading.value[5] == Relation(5)
    assert components(7, reading.value) == [[0, 1, 2, 3, 4], [5], [6]]
    fewer = [*RELATIONS[:4], ([1], [9]), *RELATIONS[5:]]
    assert components(7, related(fewer).value) == [[0, 1, 4], [2, 3], [5], [6]]
    assert components(0, []) == [] and components(1, []) == [[0]]


def test_a_link_to_a_later_log_and_a_cycle_are_dropped():
    reading = related([([1], []), ([0], []), *[([], [])] * 5])
    assert reading.value[:2] == [Relation(0), Relation(1, (0,))] and len(reading.faults) == 1


def test_two_logs_have_one_relation_and_the_cause_wins():
    assert related([([], []), ([0, 0], [0]), *[([], [])] * 5]).value[1] == Relation(1, (0,), ())


def test_logs_that_are_missing_or_were_not_asked_about_are_named():
    said = {"relations": [{"log": i, "caused_by": [], "follows": []} for i in (10, 10, 3)]}
    reading = read_relations(said, range(12), range(10, 12))
    assert reading.faults == ("log 10 is given twice", "log 3 was not asked about", "log 11 is missing")
    assert reading.value == [Relation(10)]


def test_sequels_are_shown_beside_causes():
    def other(name, request):
        if name == "h2_relations":
            return {"relations": [{"log": i, "caused_by": [0] * (i == 2), "follows": [1] * (i == 2)} for i in range(3)]}

    mind = Mind(other)
    heard = graph(mind, session(0, ["a", "b", "c"]))
    (said,) = mind.of("h2_situation")
    assert "c (caused by 0) (follows 1)" in said and heard.situations[0].logs == (0, 1, 2)


def test_one_question_a_window_and_one_a_component():
    mind = Mind()
    heard = graph(mind, session(0, ["knee", "again knee", *[f"d{i}" for i in range(8)], "paper", "again paper"]))
    assert mind.rounds == [2, 10] and len(heard.situations) == 10 and heard.failed == ()
    assert heard.situations[0].logs == (0, 1) and heard.situations[0].aspects == ("health",)
    assert heard.relations == (Relation(1, (0,)), Relation(11, (10,)))


def test_logs_are_put_in_order_and_equal_times_stay_as_they_came():
    times = ["2024-01-02 08:00", "2024-01-01 09:00", "2024-01-01 09:00"]
    one = MemorySession("s", "2024-01-03 10:00:00", tuple(Log(t, c) for t, c in zip(times, "cab")))
    mind = Mind()
    graph(mind, one)
    said = mind.of("h2_relations")[0].partition("<<<device log>>>")[2]
    assert [line[-1] for line in said.splitlines() if line.startswith("[")] == ["a", "b", "c"]


def test_five_thousand_logs_and_one_and_none():
    assert graph(Mind(), session(0)).situations == ()
    assert len(graph(Mind(), session(0, ["x"])).situations) == 1
    many = MemorySession("s", "2025-01-01 10:00:00", tuple(Log("2024-01-01 00:00", "again on") for _ in range(5000)))

    mind = Mind()
    heard = graph(mind, many)
    assert mind.counts["h2_relations"] == 500 and heard.failed == ()
    assert max(len(s.logs) for s in heard.situations) == 100  # longer ones are told in stretches


WRONG = [
    {"relations": None},
    {"relations": [None]},
    {"relations": [{"log": "x", "caused_by": None, "follows": 3}]},
    {"relations": 4},
    ["relations"],
    None,
]


@pytest.mark.parametrize("data", WRONG)
def test_an_answer_of_the_wrong_type_is_asked_for_once_more_and_then_left_out(data):
    mind = Mind(lambda name, r: Answer(data=data, text="nonsense") if name == "h2_relations" else None)
    heard = graph(mind, session(0, ["a", "again b"]))
    assert mind.counts["h2_relations"] == 2 and len(heard.situations) == 2
    assert len(heard.failed) == 1 and heard.failed[0].startswith("ada_sample0: logs 0–1: ")


def test_the_second_answer_is_taken_and_was_told_what_was_wrong():
    def other(name, request):
        if name == "h2_relations" and len(request.messages) == 2:
            return {"relations": [{"log": 0, "caused_by": [99], "follows": []}]}

    mind = Mind(other)
    heard = graph(mind, session(0, ["a", "again b"]))
    assert heard.failed == () and heard.relations == (Relation(1, (0,)),)
    assert "names 99, which is not among the logs shown; log 1 is missing" in mind.of("h2_relations")[1]


def test_an_answer_that_was_asked_for_again_already_is_not_a_third_time():
    failed = Answer(error="no JSON", text="?", earlier=("?",), mode="unscored")
    mind = Mind(lambda name, r: failed if name == "h2_situation" else None)
    heard = graph(mind, session(0, ["a"]))
    assert mind.counts["h2_situation"] == 1 and heard.failed == ("ada_sample0: situation of log 0: no JSON",)


def test_unknown_aspects_and_empty_situations_are_left_out():
    for said in ({"situation": "s", "aspects": ["sport"]}, {"situation": " ", "aspects": []}):
        mind = Mind(lambda name, r, said=said: said if name == "h2_situation" else None)
        heard = graph(mind, session(0, ["a"]))
        assert heard.situations == () and len(heard.failed) == 1 and mind.counts["h2_situation"] == 2
