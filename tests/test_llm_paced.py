"""Methods that wait for each other: worked on at their own pace, or in rounds."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from perslib.llm import Answer, Ask, Request
from perslib.llm.steps import WAIT, answered, paced, side_by_side, through
from perslib.palbench.topics import counted


def chain(links: int, found: list[str], wide: int = 1):
    """Methods of which each asks `wide` questions, waits for the one before, and asks one more."""

    def link(j: int):
        answers = yield Ask([Request(f"{j}.{i}") for i in range(wide)])
        while len(found) < j:
            yield WAIT
        (answer,) = yield Ask([Request(f"{found[-1] if found else 'start'}>{j}")])
        found.append(answer.text)
        return [a.text for a in answers]

    return [link(j) for j in range(links)]


EXPECTED = ["start>0", "start>0>1", "start>0>1>2", "start>0>1>2>3"]


@pytest.fixture
def echoing(server):
    """The endpoint answers with what it hears."""
    server.reply = lambda body: body["messages"][-1]["content"]
    return server


def test_methods_that_wait_find_what_they_wait_for(model, echoing):
    found: list[str] = []
    (results,) = model().work([paced(chain(4, found, 3))], progress=False)
    assert found == EXPECTED and results == [[f"{j}.{i}" for i in range(3)] for j in range(4)]
    assert len(echoing.bodies) == 16


def test_several_groups_and_plain_methods_go_on_side_by_side(model, echoing):
    founds: list[list[str]] = [[], [], []]

    def plain():
        (answer,) = yield Ask([Request("plain")])
        return answer.text

    one = model(concurrency=2)
    wanted = [*(paced(chain(4, found)) for found in founds), plain(), paced([])]
    *results, text, nothing = one.work(wanted, progress=False)
    assert founds == [EXPECTED] * 3 and len(results) == 3 and (text, nothing) == ("plain", [])
    again: list[str] = []
    one.work([paced(chain(4, again))], progress=False)
    assert again == EXPECTED and len(echoing.bodies) == 9  # equal questions are asked once


def test_groups_may_hold_groups(model, echoing):
    inner: list[list[str]] = [[], []]
    (results,) = model().work([paced(paced(chain(3, found)) for found in inner)], progress=False)
    assert inner == [EXPECTED[:3]] * 2 and results == [[["0.0"], ["1.0"], ["2.0"]]] * 2


def test_a_chain_is_not_held_up_by_questions_that_could_wait(model, server):
    """20 links beside 200 questions, 16 in flight: no link stands behind the whole heap."""
    server.reply = lambda body: "x"
    order: list[int] = []
    one = model(concurrency=16)

    def link(j: int):
        while len(order) < j:
            yield WAIT
        yield Ask([Request(f"chain {j}")])
        order.append(j)

    def heap():
        yield Ask([Request(f"heap {i}") for i in range(200)])

    server.latency = 0.01
    one.work([paced([*(link(j) for j in range(20)), heap()])], progress=False)
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    between = [i for i, text in enumerate(asked) if text.startswith("chain")]
    assert len(between) == 20 and max(b - a for a, b in pairwise(between)) <= 4 * 16


def test_methods_that_wait_in_a_circle_are_an_error_either_way(model, echoing):
    def waits():
        while True:
            yield WAIT

    with pytest.raises(RuntimeError, match="circle"):
        model().work([paced([waits(), waits()])], progress=False)
    with pytest.raises(RuntimeError, match="circle"):
        answered(paced([waits()]))


def test_what_a_member_raises_comes_through(model, echoing):
    def failing():
        yield Ask([Request("a")])
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        model().work([paced([*chain(3, []), failing()])], progress=False)


def test_in_rounds_the_first_methods_come_first_and_rounds_are_bounded():
    found: list[str] = []
    rounds: list[list[str]] = []
    steps = side_by_side([paced(chain(4, found, 3), at_once=4)])
    given = None
    with pytest.raises(StopIteration):
        while True:
            ask = steps.send(given)
            texts = [str(r.messages[0]["content"]) for r in ask.requests]
            rounds += [texts] * bool(texts)
            given = [Answer(text=text) for text in texts]
    assert found == EXPECTED and max(map(len, rounds)) <= 4
    assert rounds[0] == ["0.0", "0.1", "0.2"] and rounds[1] == ["start>0", "1.0", "1.1", "1.2"]


def test_what_is_asked_together_can_be_changed_and_its_answers_heard(model, echoing):
    for run in (lambda steps: model().work([steps], progress=False)[0], in_rounds):
        found: list[str] = []
        heard: list[Answer] = []
        shout = lambda ask: Ask([Request(str(r.messages[-1]["content"]).upper()) for r in ask.requests])  # noqa: E731
        results = run(through(paced(chain(4, found, 3)), shout, heard.extend))
        assert results == [[f"{j}.{i}" for i in range(3)] for j in range(4)] and len(heard) == 16
        assert found[-1].startswith("START>0") and {a.text for a in heard} > {"0.0", "START>0"}


def in_rounds(steps):
    """The result of a method that is answered round by round."""
    answers = None
    try:
        while True:
            ask = steps.send(answers)
            answers = [Answer(text=str(r.messages[-1]["content"])) for r in ask.requests]
    except StopIteration as end:
        return end.value


def test_answers_of_methods_worked_on_together_are_counted(model, echoing):
    (result,) = model().work([counted(paced(chain(3, [])))], progress=False)
    assert result[1].calls == 6 and result[1].tokens_in == 600


def test_what_members_compute_is_told(model, echoing):
    def member(seconds: float):
        time.sleep(seconds)
        yield Ask([Request("a")])

    for run in (lambda steps: model().work([steps], progress=False)[0], in_rounds):
        took: list[float] = []
        run(through(paced([member(0.02), member(0.03)]), took=took.append))
        assert 0.05 <= sum(took) < 1
