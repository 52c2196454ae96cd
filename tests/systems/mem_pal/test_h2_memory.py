"""H²Memory as a whole: how many questions it asks, what it recalls, and that a store is a value."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from h2_mind import PAST, Mind, Words, session, text_of
from prompt_fields_h2 import ANSWERS

from perslib.errors import DataError, UnknownName
from perslib.llm import Answer
from perslib.prompts import prompt
from perslib.systems.mem_pal.memory.h2 import H2Dialogues, H2Memory

NEXT = session(4, ["knee", "desk", "again desk"], ["knee", "w", "garden", "v"])


def memory(**options) -> H2Memory:
    return H2Memory(embedder=Words(), **options)


def built(mind: Mind | None = None, **options):
    system = memory(**options)
    return system, (mind or Mind()).work(partial(system.build, "ada", PAST))


# -- questions ---------------------------------------------------------------------------------------------


def test_questions_are_those_of_the_paper():
    """ceil(m/10) + g + 1 + 1 + τ a session, and two a cluster; none where there is nothing to ask about."""
    mind = Mind()
    _, store = built(mind)
    assert mind.counts == {
        "h2_relations": 2 + 1 + 0 + 1,
        "h2_situation": 10 + 2 + 0 + 1,
        "h2_background": 3,  # of sessions with logs
        "h2_outline": 3,  # of sessions with a dialogue
        "h2_refine": 2 + 1 + 0,  # of topics in sessions with situations
        "h2_requirement": 2,  # four outlines, two clusters
        "h2_principle": 2,
    }
    assert store.failed == () and store.session_ids == tuple(s.id for s in PAST)


def test_everything_but_the_background_is_asked_at_once():
    mind = Mind()
    built(mind)
    # windows and outlines; situations; one background after another, refinements beside them; clusters.
    assert mind.rounds == [7, 13, 1, 3, 2, 2, 2]


def test_a_chain_is_not_held_up_by_what_could_wait():
    past = [session(i, [f"w{j}" for j in range(20)], [f"a{i % 5}", "b", f"c{i % 7}"]) for i in range(12)]
    mind = Mind()
    store = mind.work(partial(memory().build, "ada", past), at_once=32)
    # 12 × (2 windows + 20 situations + background + outlines + 2 refinements) + 8 clusters × 2
    assert len(mind.asked) == 12 * 26 + 16 and len(store.chapters) == 12
    assert len(mind.rounds) <= 2 + 12 + 1 + 2 + 3 and max(mind.rounds) <= 32


def test_an_update_asks_twice_for_each_cluster_that_was_joined():
    system, store = built()
    mind = Mind()
    store = mind.work(partial(system.add_logs, store, NEXT))
    before = mind.counts.copy()
    assert before == {"h2_relations": 1, "h2_situation": 2, "h2_background": 1}
    store = mind.work(partial(system.add_dialogue, store, NEXT))
    joined = {o.cluster for o in store.chapters[-1].outlines}
    assert mind.counts - before == {
        "h2_outline": 1,
        "h2_refine": 2,
        "h2_requirement_update": len(joined),
        "h2_principle_update": len(joined),
    }
    assert len(store.snapshots) == 2 and store.snapshots[1].after == NEXT.id
    assert mind.work(partial(system.add_dialogue, store, NEXT)) == store  # what was heard is not heard again


def test_session_by_session_and_all_at_once_come_to_the_same_store():
    _, store = built()
    mind, slow = Mind(), memory()
    other = slow.start("ada")
    for one in PAST:
        other = mind.work(partial(slow.add_logs, other, one))
        other = mind.work(partial(slow.add_dialogue, other, one))
    assert other.snapshots == () and mind.work(partial(slow.learn, other)) == store


def test_a_background_goes_from_session_to_session_and_knows_its_days():
    mind = Mind()
    _, store = built(mind)
    second, third = mind.of("h2_background")[1:]
    assert "Days: 2024-01-01 ~ 2024-01-10\nwork: Lately busy with knee, busy with desk0" in second
    assert "Days: 2024-01-11 ~ 2024-01-13\n- busy with garden" in second
    assert "Days: 2024-01-01 ~ 2024-02-10\nwork: Lately busy with garden" in third
    states = [c.background["work"] for c in store.chapters]
    assert states[2] == states[1] != states[0]  # no logs, nothing new


def test_a_background_that_fails_stays_as_it_was():
    mind = Mind(lambda name, r: {"updates": [{"aspect": "money", "text": "x"}]} if name == "h2_background" else None)
    _, store = built(mind)
    assert {c.background["work"] for c in store.chapters} == {""} and len(store.failed) == 3
    assert mind.counts["h2_background"] == 6


# -- outlines ----------------------------------------------------------------------------------------------


def topic(first, last, **other):
    said = {"first_turn": first, "last_turn": last, "requirement": "r", "solutions": [], "preference": "p"}
    return {**said, **other}


SPANS = {
    "overlap": ([topic(1, 2), topic(2, 3)], [(1, 2), (2, 3)]),
    "gap": ([topic(1, 1), topic(3, 3)], [(1, 1), (3, 3)]),
    "beyond the end": ([topic(1, 9)], [(1, 3)]),
    "backwards": ([topic(3, 1)], [(1, 3)]),
    "short of the end": ([topic(1, 2)], [(1, 2)]),
}


@pytest.mark.parametrize("fault", SPANS)
def test_spans_that_do_not_cover_the_dialogue_are_asked_for_again_and_then_kept_with_a_note(fault):
    said, kept = SPANS[fault]
    mind = Mind(lambda name, r: {"outlines": said} if name == "h2_outline" else None)
    system = memory()
    store = mind.work(partial(system.add_dialogue, system.start("ada"), session(0, [], ["a", "b", "c"])))
    assert mind.counts["h2_outline"] == 2 and store.failed
    assert [o.turns for o in store.outlines] == kept


def test_small_talk_has_no_outline_and_nothing_is_wrong_with_that():
    mind = Mind(lambda name, r: {"outlines": []} if name == "h2_outline" else None)
    _, store = built(mind)
    assert store.outlines == [] and store.failed == () and store.principles == ()


def test_principles_are_learned_once_there_is_something_to_learn_from():
    quiet = Mind(lambda name, r: {"outlines": []} if name == "h2_outline" else None)
    system, store = built(quiet)
    store = Mind().work(partial(system.add_logs, store, NEXT))
    store = Mind().work(partial(system.add_dialogue, store, NEXT))
    assert len(store.principles) == 1 and {o.cluster for o in store.outlines} == {0}


@pytest.mark.parametrize("data", [{"outlines": None}, {"outlines": [topic(1, 2, requirement=None)]}, None, [3]])
def test_a_dialogue_that_fails_is_recorded_and_the_rest_goes_on(data):
    def other(name, request):
        if name == "h2_outline" and "garden" in text_of(request):
            return Answer(data=data, text="nonsense")

    _, store = built(Mind(other))
    assert [len(c.outlines) for c in store.chapters] == [2, 0, 1, 0]
    assert len(store.failed) == 1 and store.failed[0].startswith("ada_sample1: outlines: ")


def test_a_quoted_number_is_no_number_and_does_not_break_anything():
    mind = Mind(lambda name, r: {"outlines": [topic("1", "2")]} if name == "h2_outline" else None)
    _, store = built(mind)
    assert store.outlines == [] and len(store.failed) == 3


def test_requirements_are_refined_with_the_nearest_situations_and_their_background():
    mind = Mind()
    _, store = built(mind)
    first = mind.of("h2_refine")[0]
    near = first.partition("<<<situations>>>\n")[2].partition("\n<<<")[0].splitlines()
    assert len(near) == 3 and near[0] == "- busy with knee"
    assert "work: Lately busy with knee" in first  # the second nearest is about work
    one = store.outlines[0]
    assert (one.requirement, one.stated) == ("refined help with knee", "help with knee")
    assert store.chapters[2].outlines[0].requirement == "help with knee"  # no logs to refine it with


def test_a_refinement_that_fails_leaves_the_requirement_as_it_was():
    _, store = built(Mind(lambda name, r: {"requirement": ""} if name == "h2_refine" else None))
    assert [o.requirement for o in store.outlines] == [o.stated for o in store.outlines]
    assert len(store.failed) == 3


def test_every_outline_belongs_to_the_cluster_it_was_put_in_and_its_principle():
    """Users are apart: another user's past changes nothing in how outlines are assigned."""
    system, alone = built()
    mind = Mind()
    mind.work(partial(system.build, "bo", [session(i, ["desk"], ["paper", "x"]) for i in range(9)]))
    again = mind.work(partial(system.build, "ada", PAST))
    assert again == alone
    for outline in again.outlines:
        members = [o.requirement for o in again.outlines if o.cluster == outline.cluster]
        assert again.principles[outline.cluster].requirement.removeprefix("kind of ") in members


# -- recall ------------------------------------------------------------------------------------------------


def heard():
    system, store = built()
    return system, Mind().work(partial(system.add_logs, store, NEXT))


def fields(pieces):
    return [(p.field, p.text.splitlines()[0]) for p in pieces]


def test_what_is_recalled_for_a_requirement_and_for_a_solution():
    system, store = heard()
    wanted = system.recall(store, NEXT, "help with knee", "requirement")
    assert {f for f, _ in fields(wanted)} == {"background", "situation", "principle", "outline"}
    assert not any("always" in p.text or "good" in p.text for p in wanted)
    offered = system.recall(store, NEXT, "help with knee", "solution")
    (first, *_) = [p for p in offered if p.field == "outline"]
    assert first.text == (
        "Requirement: help with knee\nSolutions that the user welcomed:\n- one (the user said: good)\n"
        "Solutions that the user turned down:\n- two (the user said: bad)\nOther solutions:\n- three"
    )
    assert first.sessions == ("ada_sample2",) and first.turns == (("ada_sample2", 1), ("ada_sample2", 2))
    principle = next(p for p in offered if p.field == "principle")
    assert "kind of" in principle.text and ": always" in principle.text
    for purpose in ("judging", "reply"):
        assert system.recall(store, NEXT, "help with knee", purpose) == offered


def test_only_earlier_outlines_and_own_situations_are_searched():
    system, store = heard()
    store = Mind().work(partial(system.add_dialogue, store, NEXT))
    pieces = system.recall(store, NEXT, "garden", "solution")
    assert NEXT.id not in {s for p in pieces if p.field in ("outline", "principle") for s in p.sessions}
    assert {s for p in pieces if p.field == "situation" for s in p.sessions} == {NEXT.id}
    assert not any("now" in p.text for p in pieces)  # principles as they stood before
    later = session(5, [], [])
    assert any("now" in p.text for p in system.recall(store, later, "garden", "solution"))


def test_a_past_session_is_served_with_what_was_known_then():
    system, store = heard()
    pieces = system.recall(store, PAST[1], "garden", "solution")
    assert {s for p in pieces for s in p.sessions} == {PAST[0].id, PAST[1].id}
    assert not [p for p in pieces if p.field == "principle"]


@pytest.mark.parametrize("part", ["situations", "background", "outlines", "principles"])
def test_an_ablation_leaves_one_block_out_and_nothing_else(part):
    system, store = heard()
    whole = system.recall(store, NEXT, "help with knee", "solution")
    less = memory(without=part)
    mind = Mind()
    mind.work(partial(less.build, "ada", PAST))
    assert less.recall(store, NEXT, "help with knee", "solution") == [
        p for p in whole if p.field != part.removesuffix("s")
    ]
    assert len(mind.asked) == 30 and less.name == f"H²Memory without {part}"  # one build serves all


def test_a_session_without_logs_has_the_whole_background():
    system, store = heard()
    pieces = system.recall(store, session(6), "knee", "reply")
    assert [p.text for p in pieces if p.field == "background"] == ["Work: " + store.chapters[-1].background["work"]]
    assert system.recall(system.start("bo"), session(0), "knee", "reply") == []


def test_chinese_is_told_in_chinese():
    system = H2Memory("zh", embedder=Words())
    store = built()[1]
    texts = "\n".join(p.text for p in system.recall(store, NEXT, "knee", "solution"))
    assert "需求：help with knee" in texts and "用户满意的方案：\n- one（用户说：good）" in texts


def test_names_that_are_not_there():
    with pytest.raises(UnknownName, match="principles"):
        memory(without="principle")
    with pytest.raises(UnknownName, match="zh"):
        H2Memory("fr")
    with pytest.raises(DataError, match="share an id"):
        Mind().work(partial(memory().build, "ada", [PAST[0], PAST[0]]))


def test_a_store_is_a_value():
    system, store = built()
    before = replace(store)
    Mind().work(partial(system.add_logs, store, NEXT))
    assert store == before


# -- dialogues alone ---------------------------------------------------------------------------------------


def test_dialogues_alone_have_outlines_and_a_principle_each():
    mind, system = Mind(), H2Dialogues(embedder=Words())
    store = mind.work(partial(system.build, "ada", PAST))
    assert mind.counts == {"h2_outline": 3, "h2_requirement": 3, "h2_principle": 3} and len(mind.rounds) == 3
    pieces = system.recall(store, NEXT, "knee", "reply")
    assert {p.field for p in pieces} == {"principle", "outline"}
    assert any("Preference: short answers on knee" in p.text for p in pieces)
    store = mind.work(partial(system.add_dialogue, mind.work(partial(system.add_logs, store, NEXT)), NEXT))
    assert mind.counts["h2_principle"] == 4 and len(store.principles) == 5


# -- over HTTP ---------------------------------------------------------------------------------------------


def test_a_build_that_was_cut_off_goes_on_and_one_that_ended_asks_nothing(model, server):
    mind = Mind()
    names = {json.dumps(prompt(name).schema, sort_keys=True): name for name in ANSWERS}

    def reply(body):
        schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(getattr(mind, names[json.dumps(schema, sort_keys=True)])(body["messages"][1]["content"]))

    class Broken(Words):
        def embed(self, texts, kind="passage"):
            raise OSError("the power went")

    server.reply = reply
    one = model(concurrency=4)
    with pytest.raises(OSError, match="power"):
        one.work([partial(H2Memory(embedder=Broken()).build, "ada", PAST)], progress=False)
    before = len(server.bodies)
    (store,) = one.work([partial(memory().build, "ada", PAST)], progress=False)
    after = len(server.bodies)
    assert store == built()[1]
    assert 0 < before < after <= 30 + 4  # those in flight at the end are asked again
    assert one.work([partial(memory().build, "ada", PAST)], progress=False) == [store]
    assert len(server.bodies) == after
