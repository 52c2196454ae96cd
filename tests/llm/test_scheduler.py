"""Methods that ask a model, worked on side by side."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from itertools import pairwise

import pytest
from aiohttp import web
from endpoint import completion

from perslib.llm import Cache, Request, dry_run, run_with_answers
from perslib.llm.request import Answer, wrap_ask
from perslib.llm.tokens import USUAL_REPLY


def asking(*batches, stage="ask"):
    """A method that asks these batches one after another and returns all texts."""
    return partial(texts_of, batches, stage=stage)


async def texts_of(batches, ask, stage="ask"):
    texts = []
    for batch in batches:
        answers = await ask([Request(text) for text in batch], stage)
        texts += [answer.text for answer in answers]
    return texts


async def one_batch(batch, ask):
    return await texts_of([batch], ask)


@pytest.fixture
def echoing(server):
    """The endpoint answers with what it hears."""
    server.reply = lambda body: body["messages"][-1]["content"]
    return server


def test_methods_get_their_own_answers_in_order(model, echoing):
    one = model()
    wanted = [asking([f"{i}-a", f"{i}-b"], [f"{i}-c"]) for i in range(20)]
    got = one.work(wanted, progress=False)
    assert got == [[f"{i}-a", f"{i}-b", f"{i}-c"] for i in range(20)]
    assert len(echoing.bodies) == 60


def test_results_are_handed_on_in_order_as_soon_as_it_is_their_turn(model, echoing):
    heard = []
    items = [["0"], ["1", "1-b", "1-c"], ["2"], ["3"]]
    model(concurrency=2).each(one_batch, items, lambda said: heard.append((said, len(echoing.bodies))), progress=False)
    assert [said for said, _ in heard] == items
    assert heard[0][1] < 6, "the first was handed on before the last was asked"


def test_what_the_sink_raises_comes_through(model, echoing):
    with pytest.raises(ZeroDivisionError):
        model().each(one_batch, [["a"], ["b"]], lambda said: 1 / 0, progress=False)


def test_equal_questions_are_asked_once_and_counted_each(model, echoing):
    one = model()
    got = one.work([asking(["same", "same"]), asking(["same"]), asking(["other"])], progress=False)
    assert got == [["same", "same"], ["same"], ["other"]]
    assert len(echoing.bodies) == 2
    assert (one.ledger.total.calls, one.ledger.total.hits) == (2, 2)


def test_a_question_answered_while_an_equal_one_stands_in_line_is_not_asked_again(model, server):
    """The second method asks "slow" while it is on its way, and its turn comes after it was answered."""

    async def in_time(request, body):
        text = body["messages"][-1]["content"]
        await asyncio.sleep({"slow": 0.2, "slower": 0.4}.get(text, 0))
        return web.json_response(completion(text))

    server.next(*[in_time] * 4)
    got = model(concurrency=2).work([asking(["slow"]), asking(["quick"], ["slower", "slow"])], progress=False)
    assert got == [["slow"], ["quick", "slower", "slow"]]
    assert len(server.bodies) == 3


def test_a_second_run_asks_nothing(model, echoing):
    one = model()
    first = one.work([asking(["a"], ["b"], stage="judge")], progress=False)
    asked = len(echoing.bodies)
    assert one.work([asking(["a"], ["b"], stage="judge")], progress=False) == first
    assert len(echoing.bodies) == asked
    assert one.ledger.stage("judge").hits == 2


def test_methods_without_questions_and_empty_asks_end_too(model, echoing):
    one = model()
    assert one.work([asking(), asking([]), asking([], [])], progress=False) == [[], [], []]
    assert one.work([], progress=False) == []
    assert not echoing.bodies


def test_what_a_method_raises_comes_through(model, echoing):
    async def failing(ask):
        await ask([Request("one")])
        raise ValueError("the method's own fault")

    one = model()
    with pytest.raises(ValueError, match="own fault"):
        one.work([asking(["a"]), failing], progress=False)


@pytest.mark.sample
def test_later_methods_wait_for_room(model, echoing):
    """Methods are begun when their questions can be put, not all at once."""
    one = model()
    begun = []

    async def counting(i, ask):
        begun.append(i)
        held.append(len(begun) - len(ended))
        await ask([Request(f"{i}-{j}") for j in range(10)])
        ended.append(i)

    held, ended = [], []
    one.work((partial(counting, i) for i in range(200)), progress=False)
    assert begun == list(range(200))
    assert max(held) <= one.entry.concurrency + 1


def test_answered_runs_a_method_without_a_model():
    assert run_with_answers(asking(["a", "b"]), [Answer("x"), Answer("y")]) == ["x", "y"]


def test_parts_of_a_method_are_gathered_and_keep_their_order(model, echoing):
    one = model()
    parts = [asking(["a"], ["b", "c"]), asking(), asking(["d"], stage="judge"), asking(["e"], ["f"], ["g"])]

    async def together(ask):
        return await asyncio.gather(*(part(ask) for part in parts))

    (got,) = one.work([together], progress=False)
    assert got == [["a", "b", "c"], [], ["d"], ["e", "f", "g"]]
    assert one.ledger.stage("judge").calls == 1 and one.ledger.stage("ask").calls == 6


def test_what_a_part_raises_comes_through_and_nothing_goes_on_asking(model, server):
    server.reply = lambda body: body["messages"][-1]["content"]
    server.latency = 0.05

    async def failing(ask):
        await ask([Request("a")])
        raise ValueError("boom")

    async def together(ask):
        await asyncio.gather(failing(ask), *(asking(*[[f"{i}.{j}"] for j in range(5)])(ask) for i in range(3)))

    with pytest.raises(ValueError, match="boom"):
        model().work([together], progress=False)
    time.sleep(0.2)  # what was on its way arrives
    asked = len(server.bodies)
    time.sleep(0.3)
    assert len(server.bodies) == asked < 16


def test_a_chain_is_not_held_up_by_questions_that_could_wait(model, server):
    """20 links beside 200 questions, 16 in flight: no link stands behind the whole heap."""
    server.reply = lambda body: "x"
    server.latency = 0.01

    async def chain(ask):
        for j in range(20):
            await ask([Request(f"chain {j}")], rank=1)

    async def heap(ask):
        await ask([Request(f"heap {i}") for i in range(200)], rank=2)

    async def both(ask):
        await asyncio.gather(heap(ask), chain(ask))

    model(concurrency=16).work([both], progress=False)
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    between = [i for i, text in enumerate(asked) if text.startswith("chain")]
    assert len(between) == 20 and max(b - a for a, b in pairwise(between)) <= 4 * 16


def test_what_is_asked_can_be_changed_and_its_answers_heard(model, echoing):
    heard = []

    async def loud(ask):
        shout = wrap_ask(
            ask, lambda r: Request(str(r.messages[-1]["content"]).upper()), hear=heard.extend, stage="aloud"
        )
        return await asking(["a", "b"], ["c"])(shout)

    one = model()
    assert one.work([loud], progress=False) == [["A", "B", "C"]]
    assert [answer.text for answer in heard] == ["A", "B", "C"] and one.ledger.stage("aloud").calls == 3


@pytest.mark.system("mem_pal")
def test_answers_of_parts_that_go_on_together_are_counted(model, echoing):
    from perslib.systems.mem_pal.bench.tasks import run_with_costs

    async def together(ask):
        return await asyncio.gather(*(asking([f"{i}a"], [f"{i}b"])(ask) for i in range(3)))

    ((texts, spent),) = model().work([partial(run_with_costs, together)], progress=False)
    assert len(texts) == 3 and spent["calls"] == 6 and spent["tokens_in"] == 600


# -- dry runs ----------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 2},
        "notes": {"type": "array", "items": {"type": "string"}, "minItems": 3},
    },
}


def test_a_dry_run_asks_nobody_and_counts_by_stage(server, model, home):
    async def judged(number, ask):
        (note,) = await ask([Request("w " * 200, max_tokens=20)], "memory")
        (verdict,) = await ask([Request(f"{number} {note.text}", schema=SCHEMA)], "judge")
        return verdict.data

    dry = dry_run(model(prices={"in": 1.0, "cached": 0.5, "out": 10.0}).entry)
    found = dry.map(judged, range(10))
    assert [(own["score"], len(own["notes"])) for own in found] == [(2, 3)] * 10 and server.bodies == []
    assert len({note for own in found for note in own["notes"]}) == 10, "what depends on an answer is no hit by chance"
    memory, judge = dry.ledger.stage("memory"), dry.ledger.stage("judge")
    assert (memory.calls, memory.hits) == (1, 0), "the same question is asked once, and the cache has it not"
    assert (memory.tokens_in, memory.tokens_out) == (4 + 100, 20)
    # A reply of twenty tokens goes in, with the number; one of unknown length comes out.
    assert (judge.calls, judge.tokens_in, judge.tokens_out) == (10, 10 * (4 + 20), 10 * USUAL_REPLY)
    whole = dry.ledger.total
    assert (whole.calls, whole.hits, whole.tokens_out) == (11, 0, 20 + 10 * USUAL_REPLY)
    assert whole.cost == pytest.approx((whole.tokens_in * 1.0 + whole.tokens_out * 10.0) / 1e6)


def test_a_dry_run_takes_the_usual_answer(model, home):
    usual = {"score": 3, "notes": ["as usual"]}
    questions = [Request("a", schema=SCHEMA), Request("b"), Request("d")]
    dry = dry_run(
        model().entry, usual=lambda question: {"a": usual, "b": "c" * 40}.get(question.request.messages[0]["content"])
    )
    one, two, three = dry.ask_many(questions, stage="judge")
    assert one.data == usual and two.text == "c" * 40 and three.text, "what nobody knows better is made up"
    assert dry.ledger.stage("judge").tokens_out == one.tokens_out + 10 + three.tokens_out


def test_a_dry_run_knows_the_cache_and_is_no_progress(echoing, model, home, monkeypatch):
    model().ask_many(["a", "b"])
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", str(home / "progress.jsonl"))
    dry = dry_run(model().entry, cache="read")
    dry.ask_many(["a", "b", "c", "c"])
    dry.ask_many(["a", "c"])
    assert (dry.ledger.total.calls, dry.ledger.total.hits) == (1, 3) and len(echoing.bodies) == 2
    assert not (home / "progress.jsonl").exists()
    assert len(Cache()) == 2, "nothing is kept"
