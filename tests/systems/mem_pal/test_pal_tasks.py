"""The tasks of PAL-Bench: what is shown to whom, what is asked, what becomes of bad answers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pandas as pd
import pytest
from pal_made import Letters, Model, name_of, session, usual
from prompt_fields_pal import ANSWERS

from perslib.errors import DataError, UnknownName
from perslib.llm import Answer, parse
from perslib.prompts import PromptSettings, prompt
from perslib.systems.mem_pal.bench import (
    BenchTopic,
    BenchUser,
    Scene,
    as_frame,
    compare_dialogues,
    draw_templates,
    grade_answers,
    outcomes,
    read_templates,
    run,
    run_dialogues,
    start_dialogues,
)
from perslib.systems.mem_pal.bench.multi_turn import PATTERNS, make_dialogue_template
from perslib.systems.mem_pal.bench.tasks import (
    TASKS,
    answer_about_user,
    build_session_stores,
    make_task_question,
    query_of,
)
from perslib.systems.mem_pal.memory.baselines import MemoryBank, RecurSum, TurnRetrieval, Vanilla, baselines

LABELS = ("neu", "pos", "neg", "neu", "pos", "neu", "neg", "neu")


def topic(number: int, name: str = "topic-1") -> BenchTopic:
    texts = tuple(f"{name} solution{i}" for i in range(1, 9))
    pick = {side: tuple(t for t, label in zip(texts, LABELS) if label == side) for side in ("pos", "neg")}
    return BenchTopic(
        *("u", f"u_sample{number}", name, f"question about {name}"),
        *((f"{name} warm", f"{name} soon"), f"requirement of {name}", pick["pos"], pick["neg"], texts, LABELS),
    )


def scene(number: int, name: str = "topic-1") -> Scene:
    return Scene(
        topic(number, name),
        {"age": 30, "personality": {"Openness": "high"}, "hobbies": ""},
        "SITUATION",
        (("EVIDENCE",),),
        "LIKING",
        "DISLIKING",
        {f"{name} solution2": "REASON"},
    )


PERSON = BenchUser(
    "u",
    tuple(session(i, day) for i, day in enumerate(("09-01", "10-10"))),
    (session(2, "12-03"), session(3, "12-20")),
    (scene(2), scene(2, "topic-2"), scene(3)),
)


def shown(request) -> str:
    return "\n".join(message["content"] for message in request.messages)


# -- single-turn -------------------------------------------------------------------------------------------


def test_memories_are_asked_with_the_question_or_with_the_requirement():
    assert query_of(topic(2), "requirement") == ("question about topic-1", "requirement")
    for task in ("solution", "selection"):
        assert query_of(topic(2), task) == ("requirement of topic-1", "solution")


def test_restating_is_not_shown_the_requirement_and_candidates_keep_their_order():
    restate = shown(make_task_question(PromptSettings(), "requirement", topic(2), []).request)
    assert "question about" in restate and "requirement of topic-1" not in restate
    select = shown(make_task_question(PromptSettings("zh"), "selection", topic(2), []).request)
    places = [select.index(f"S{i}：topic-1 solution{i}") for i in range(1, 9)]
    assert places == sorted(places)


def test_everything_about_a_user_is_asked_at_once_with_the_memory_as_it_stood():
    model = Model()
    served = model.of(partial(answer_about_user, TurnRetrieval(embedder=Letters()), PERSON, PromptSettings()))
    assert model.rounds == 1 and model.stages == ["answer"] * 9
    assert [s.session_ids for s in served.stores] == [
        ("u_sample0", "u_sample1"),
        ("u_sample0", "u_sample1", "u_sample2"),
        ("u_sample0", "u_sample1", "u_sample2", "u_sample3"),
    ]
    first = next(shown(r) for r in model.asked if "about topic-1" in shown(r) and "log2" in shown(r))
    assert "asks2" not in first and "asks3" not in first and "asks1" in first
    later = next(shown(r) for r in model.asked if "log3" in shown(r))
    assert "asks3" not in later
    assert served.build["calls"] == 0 and len(served.rows) == 9


def test_the_frame_of_answers_says_what_each_took():
    frame, served = run(baselines(embedder=Letters()), [PERSON], Model())
    assert len(frame) == 7 * 9 and frame["method"].iloc[0] == "vanilla (without log)"
    assert set(frame["calls"]) == {1} and frame["cost"].sum() == pytest.approx(0.63)
    assert frame["error"].isna().all() and frame[frame.method == "vanilla (without log)"]["pieces"].eq(0).all()
    said = frame[frame.task == "selection"]["said"]
    assert set(said) == {"S1 S2"}
    build = {s.method: s.build["calls"] for s in served}
    assert build["RecurSum"] == 8 and build["ConditionMem"] == 4 and build["MemoryBank"] == 2 * 4 + 2 * 3
    with pytest.raises(UnknownName):
        run([Vanilla()], [PERSON], Model(), tasks=["guess"])


@pytest.mark.parametrize(
    "selected", [["S1"], [], ["S1", "S2", "S3"], ["S2", "S2"], ["S1", "S9"], None, "S1 S2", [1, 2], ["S1", None]]
)
def test_no_proper_selection_is_asked_again_once_and_then_recorded(selected):
    model = Model(
        lambda r: {"analysis": "", "selected_solutions": selected} if name_of(r) == "pal_selection" else usual(r)
    )
    frame, _ = run([Vanilla()], [PERSON], model)
    assert model.prompts().count("pal_selection") == 2 * 3
    failed = frame[frame.task == "selection"]
    assert failed["said"].isna().all() and failed["error"].str.len().gt(0).all()
    assert failed["calls"].tolist() == [2, 2, 2]
    assert frame[frame.task != "selection"]["error"].isna().all()


def test_a_selection_that_is_right_the_second_time_counts():
    def say(request):
        if name_of(request) == "pal_selection":
            again = len(request.messages) > 2
            return {"analysis": "", "selected_solutions": ["s5 ", "S2"] if again else ["S2", "S2"]}
        return usual(request)

    frame, _ = run([Vanilla()], [PERSON], Model(say), tasks=["selection"])
    assert set(frame["said"]) == {"S5 S2"}


def test_a_model_that_is_not_there_fails_each_piece_and_nothing_else():
    frame, _ = run([RecurSum()], [PERSON], Model(lambda r: Answer(error="no reply", mode="unscored")))
    assert set(frame["error"]) == {"no reply"} and frame["said"].isna().all()


def test_grades_in_quotes_count_and_others_do_not():
    frame, _ = run([Vanilla()], [PERSON], Model())
    schema = prompt("pal_grade").schema

    def judge(request):
        said = '{"analysis": "both", "score": "%s"}' % ("7" if "topic-2" in shown(request) else "1.5")
        data, problem = parse(said, schema)
        return Answer(text=said, data=data, error=problem)

    done = grade_answers(frame, [PERSON], Model(judge))
    assert done["grade"].dropna().tolist() == [1.5, 1.5] and done["grade_error"].notna().sum() == 1
    assert done["grade"].astype(float).mean() == 1.5
    assert set(done[done.grade_error.notna()]["topic"]) == {"topic-2"}


def test_the_judge_of_requirements_is_asked_at_temperature_0():
    frame, _ = run([Vanilla()], [PERSON], Model(), tasks=["requirement"])
    judge = Model()
    grade_answers(frame, [PERSON], judge)
    assert {r.temperature for r in judge.asked} == {0} and "Warm meals." in shown(judge.asked[0])
    assert all("topic-1 warm" in shown(r) or "topic-2 warm" in shown(r) for r in judge.asked)


def test_a_memory_that_keeps_better_what_was_recalled_is_told():
    memory = MemoryBank(embedder=Letters())
    memory.forgetting = inf
    stores = Model().of(partial(build_session_stores, memory, PERSON, tasks=TASKS))
    assert stores[0].recalls == () and stores[1].recalls and stores[1].recalls[0].last == "2024-12-03"
    assert all(r.times == 1 for r in stores[1].recalls)


# -- over HTTP ---------------------------------------------------------------------------------------------


def fitting(body):
    """A good answer to whatever schema is asked for."""
    wanted = set(body["response_format"]["json_schema"]["schema"]["properties"])
    return json.dumps(next(a for a in ANSWERS.values() if set(a) == wanted))


def test_a_run_over_http_resumes_without_asking_again(model, server):
    server.reply = fitting
    one = model()
    memories = [Vanilla("zh"), RecurSum("zh"), MemoryBank("zh", embedder=Letters())]
    frame, served = run(memories, [PERSON], one, PromptSettings("zh"))
    assert frame["error"].isna().all() and len(frame) == 27 and not any(s.failures for s in served)
    assert frame["tokens_in"].tolist() == [100] * 27
    dialogues = run_dialogues(start_dialogues(memories, [PERSON], one), one, one, PromptSettings("zh"))
    assert not any(d.error for d in dialogues)
    compared = compare_dialogues(dialogues, one, PromptSettings("zh"), method="RecurSum")
    assert compared["error"].isna().all() and set(outcomes(compared)["outcome"]) <= {"win", "tie", "lose"}
    assert {"memory", "answer", "user", "assistant", "compare"} <= set(one.ledger.stages)
    asked = len(server.bodies)
    again, _ = run(memories, [PERSON], one, PromptSettings("zh"))
    assert len(server.bodies) == asked and again.equals(frame)


# -- templates ---------------------------------------------------------------------------------------------


def test_there_are_four_patterns_of_five_to_seven_turns():
    assert [len(p) for p in PATTERNS] == [5, 6, 6, 7] and len(set(PATTERNS)) == 4
    assert make_dialogue_template(True, False)[3] == ("solution_discussion", "solution_discussion")
    for pattern in PATTERNS:
        users = [user for user, _ in pattern]
        assert users[0] == "topic_inquiry" and users.count("requirement_confirmation") == 2
        assert [a for _, a in pattern].count("solution_proposal") == 2
        assert pattern[-1] == ("solution_feedback", "feedback_response")


def test_templates_are_drawn_by_seed_each_by_itself():
    ids = [f"u_sample{i}_topic-1" for i in range(2000)]
    drawn = draw_templates(ids)
    assert drawn == draw_templates(ids) != draw_templates(ids, seed=1)
    assert draw_templates(ids[5:6])[ids[5]] == drawn[ids[5]]
    shares = pd.Series(list(drawn.values())).value_counts(normalize=True)
    assert len(shares) == 4 and shares.between(0.21, 0.29).all()


def test_templates_are_read_as_published(tmp_path):
    published = {"a": {"turn_1": {"user": "<话题询问>", "assistant": "<需求推测>"}}}
    for encoding in ("utf-8", "utf-8-sig"):
        (tmp_path / "templates.json").write_text(json.dumps(published, ensure_ascii=False), encoding)
        found = read_templates(tmp_path / "templates.json")
        assert found == {"a": (("topic_inquiry", "requirement_prediction"),)}, "a byte order mark is no part"


@pytest.mark.parametrize("content", ["[]", "{", '{"a": 1}', '{"a": {"turn_1": {"user": "<x>", "assistant": "<y>"}}}'])
def test_files_that_hold_no_templates(content, tmp_path):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(DataError, match=r"t\.json"):
        read_templates(tmp_path / "t.json")


# -- dialogues ---------------------------------------------------------------------------------------------


def held(memories=None, user=None, assistant=None, form=None, **options):
    memories = memories or [TurnRetrieval(embedder=Letters())]
    start = start_dialogues(memories, [PERSON], Model())
    user, assistant = user or Model(), assistant or Model()
    return run_dialogues(start, user, assistant, form, **options), user, assistant


def test_dialogues_go_on_to_the_end_of_their_templates():
    done, user, assistant = held()
    assert all(d.error is None and len(d.lines) == len(d.template) for d in done) and len(done) == 3
    turns = sum(len(d.template) for d in done)
    assert user.prompts() == ["pal_user"] * turns
    assert assistant.prompts().count("pal_assistant") == turns
    assert assistant.prompts().count("pal_summary") == turns - 3  # not for closing lines
    frame = as_frame(done)
    assert len(frame) == turns and set(frame["assistant_said"]) == {"Warm meals."}
    assert frame["calls"].sum() == 2 * turns - 3 and frame["user_calls"].sum() == turns


def test_a_user_knows_needs_or_preferences_and_never_both():
    _, user, _ = held()
    for request in user.asked:
        text = shown(request)
        assert ("EVIDENCE" in text) != ("DISLIKING" in text)
        assert "SITUATION" in text and "Openness high" in text


def test_an_assistant_sees_its_memory_and_what_was_said_alone():
    def say(request):
        return {"requirement": "asks1 item2"} if name_of(request) == "pal_summary" else usual(request)

    done, _, assistant = held(assistant=Model(say))
    for request in assistant.asked:
        text = shown(request)
        assert not any(secret in text for secret in ("EVIDENCE", "LIKING", "SITUATION", "topic-1 warm"))
        if name_of(request) == "pal_assistant":
            assert "answers1 item2" in text
    assert {line.query for d in done for line in d.lines} == {"asks1 item2"}


def test_the_last_words_are_looked_up_where_no_summary_comes():
    done, _, _ = held(assistant=Model(lambda r: {"requirement": " "} if name_of(r) == "pal_summary" else usual(r)))
    assert all(d.error is None and line.query == "Warm meals." for d in done for line in d.lines)


def test_memories_without_a_search_need_no_summary():
    for memory in (Vanilla(), Vanilla(logs=False), RecurSum()):
        _, _, assistant = held([memory])
        assert "pal_summary" not in assistant.prompts()


def test_a_line_that_does_not_come_ends_its_dialogue_and_no_other():
    def say(request):
        if "topic-2" in shown(request) and "Turn" not in shown(request) and "turn 2" in shown(request):
            return {"content": ""}
        return usual(request)

    done, _, _ = held(user=Model(say))
    broken = [d for d in done if d.error]
    assert [d.scene.topic.name for d in broken] == ["topic-2"] and len(broken[0].lines) == 1
    assert broken[0].error == "u_sample2_topic-2_2: user: content is empty"
    frame = as_frame(done)
    assert frame["error"].notna().sum() == 1
    first = run_dialogues(start_dialogues([Vanilla()], [PERSON], Model()), Model(lambda r: {"content": None}), Model())
    assert all(d.error and not d.lines for d in first) and len(as_frame(first)) == 3


def test_one_model_that_plays_both_holds_the_same_dialogues():
    def say(request):
        return (
            {"content": f"{name_of(request)} {len(shown(request))}"} if "content" in usual(request) else usual(request)
        )

    apart, _, _ = held(user=Model(say), assistant=Model(say))
    both = Model(say)
    together, _, _ = held(user=both, assistant=both)
    assert as_frame(together).equals(as_frame(apart)) and len(as_frame(apart)["assistant_said"].unique()) > 3


def test_topics_of_two_users_who_share_a_session_name_are_compared_apart():
    def named(user):
        scenes = [replace(s, topic=replace(s.topic, user=user)) for s in PERSON.scenes]
        return replace(PERSON, user=user, scenes=tuple(scenes))

    start = start_dialogues([Vanilla(), Vanilla(logs=False)], [named("one"), named("two")], Model())
    found = compare_dialogues(
        run_dialogues(start, Model(), Model()), Model(), method="vanilla (with log)", number_of_runs=2
    )
    topics = found[["user", "session", "topic"]].drop_duplicates()
    assert topics["user"].value_counts().to_dict() == {"one": len(PERSON.scenes), "two": len(PERSON.scenes)}


def test_topics_without_a_template_are_named():
    with pytest.raises(DataError, match="u_sample2_topic-1"):
        start_dialogues([Vanilla()], [PERSON], Model(), {})


# -- comparing ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dialogues():
    def say(request):
        return {"content": "LOGGED" if "log2" in shown(request) or "log3" in shown(request) else "BLANK"}

    return held([Vanilla(), Vanilla(logs=False)], assistant=Model(say))[0]


def fair(request):
    """Prefers the dialogue with LOGGED, wherever it stands, and gives the first one point more."""
    text = shown(request)
    first, second = (text.index(word) for word in ("LOGGED", "BLANK"))
    scores = (8, 5) if first < second else (6, 7)
    return {
        "analysis": {"assistant_1": "", "assistant_2": "", "overall": ""},
        "scores": {"assistant_1": scores[0], "assistant_2": scores[1]},
    }


OURS, THEIRS = "vanilla (with log)", "vanilla (without log)"


def test_half_of_the_evaluations_swap_the_order(dialogues):
    judge = Model(fair)
    frame = compare_dialogues(dialogues, judge, method=OURS)
    assert len(frame) == 3 * 2 * 6 and frame["swapped"].sum() == 18
    assert set(zip(frame["swapped"], frame["ours"], frame["theirs"])) == {(False, 8.0, 5.0), (True, 7.0, 6.0)}
    assert {r.temperature for r in judge.asked} == {0.7}
    pair = outcomes(frame)
    assert set(pair["outcome"]) == {"win"} and set(pair["ours"]) == {7.5} and set(pair["runs"]) == {6}
    assert set(outcomes(frame, tie_within=2.0)["outcome"]) == {"tie"}
    turned = outcomes(compare_dialogues(dialogues, Model(fair), method=THEIRS))
    assert set(turned["outcome"]) == {"lose"}


def test_runs_differ_at_a_temperature_and_the_published_setting_is_an_option(dialogues):
    judge = Model(fair)
    compare_dialogues(dialogues, judge, PromptSettings(temperature=0), method=OURS)
    assert {r.temperature for r in judge.asked} == {0}
    assert len({(r.sample, r.seed, shown(r)) for r in judge.asked}) == len(judge.asked)


def test_each_dimension_has_what_it_is_about(dialogues):
    judge = Model(fair)
    compare_dialogues(dialogues, judge, method=OURS)
    for request in judge.asked:
        is_requirement = name_of(request) == "pal_judge_requirement"
        assert ("warm" in shown(request)) == is_requirement == ("DISLIKING" not in shown(request))
        assert ("EVIDENCE" in shown(request)) == is_requirement  # as the published judge is told


def test_an_evaluation_that_fails_takes_its_counterpart_with_it(dialogues):
    def say(request):
        broken = fair(request)
        if request.sample == 0 and shown(request).index("LOGGED") < shown(request).index("BLANK"):
            broken["scores"]["assistant_1"] = 11
        return broken

    frame = compare_dialogues(dialogues, Model(say), method=OURS)
    assert frame["error"].notna().sum() == 6 and set(frame[frame.error.notna()]["run"]) == {"p1-1"}
    pair = outcomes(frame)
    assert set(pair["runs"]) == {4} and set(pair["ours"]) == {7.5}
    nothing = outcomes(compare_dialogues(dialogues, Model(lambda r: {"scores": None}), method=OURS))
    assert nothing["outcome"].isna().all() and set(nothing["runs"]) == {0} and len(nothing) == 6


def test_methods_that_did_not_talk_are_named(dialogues):
    with pytest.raises(UnknownName):
        compare_dialogues(dialogues, Model(), method="nobody")


def test_scenes_show_what_there_is():
    plain = Scene(topic(2))
    assert plain.preferences == [] and plain.needs[1] == {"need": "topic-1 soon", "evidences": []}
    assert scene(2).solutions[0] == {"feedback": "pos", "text": "topic-1 solution2", "reason": "REASON"}
    assert np.all([s["feedback"] in ("pos", "neg") for s in scene(2).solutions])
