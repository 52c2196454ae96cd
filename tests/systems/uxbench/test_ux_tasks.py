"""The three tasks with a scripted model: what is asked, what is made of the answers, and what goes wrong."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from endpoint import completion
from scripted import Scripted

from perslib.corpus import Corpus, load
from perslib.errors import DataError, PerslibError, UnknownName
from perslib.judge import Computed, Constant, Generic, JudgeSettings, Personal, evaluate, judge_names, make_judges
from perslib.llm import Answer, Request
from perslib.memory import ScoreCountSystem
from perslib.prompts import PromptSettings
from perslib.systems.uxbench.bench import (
    Case,
    Generation,
    Recovery,
    UXJudge,
    compare_with_baselines,
    eval_cases,
    good_share,
    judge_cases,
    judge_each_case,
    judge_task_replies,
    judge_with_baselines,
    make_cases,
    measure_with_baselines,
    recovery_cases,
    released_cases,
    reply_to_cases,
    sample_shots,
    strategy_gains,
)
from perslib.systems.uxbench.statistics import measure_verdicts

TALK = ({"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."})


def case(i: int, gold: int | None = 1, **other: object) -> Case:
    reply = "Good plan, in detail." if gold == 1 else "No."
    return Case(**{"case": f"c{i}", "query": f"Plan {i}?", "history": TALK, "reply": reply, "gold": gold, **other})


def said(request: Request) -> str:
    return "\n".join(str(m["content"]) for m in request.messages)


def verdict(request: Request) -> Answer:
    """Good where the reply goes into detail."""
    label = "good" if "in detail" in str(request.messages[-1]["content"]) else "bad"
    return Answer(text=label, data={"verdict": label}, mode="schema", finish="stop", tokens_in=9)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load("sample/zh")


# -- cases --------------------------------------------------------------------------------------------------------


def test_cases_of_a_corpus(corpus):
    cases = judge_cases(corpus, 60)
    assert len(cases) == 60 and sum(c.gold or 0 for c in cases) == 0
    turn = corpus.turns.set_index(["user", "scenario", "session", "turn"])
    for c in cases[:10]:
        user, scenario, session, number = c.case.split("/")
        row = turn.loc[(user, scenario, session, int(number))]
        assert (row["score"] >= 5) == (c.gold == 1) and row["response"] == c.reply and row["request"] == c.query
        whole = corpus.messages(user, scenario, session)
        place = len(c.history)
        assert whole[place]["content"] == c.query and whole[place + 1]["content"] == c.reply
    assert all(c.reply == "" and c.gold is None for c in eval_cases(corpus, 5))
    after = recovery_cases(corpus, 8)
    assert len(after) == 8 and all(c.complaint and c.reply and c.gold == -1 for c in after)
    assert judge_cases(corpus, 60) == cases


def test_cases_go_through_frames():
    def framed(cases: list[Case]) -> pd.DataFrame:
        return pd.DataFrame([vars(c) for c in cases]).astype({"gold": "Int64"})

    cases = [case(1), case(2, None), case(3, -1, scenario="gift")]
    assert make_cases(framed(cases)) == cases
    with pytest.raises(DataError, match="row 1: is a second case"):
        make_cases(framed([case(1), case(1)]))
    with pytest.raises(DataError, match="gold is 3"):
        case(1, 3)


# -- UX Judge -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["zero-shot", "chain of thought", "user modelling"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_strategy_asks_and_is_read(strategy, language):
    model = Scripted(reply=verdict)
    judge = UXJudge(PromptSettings(language, effort="high"), strategy)
    frame = judge_each_case(judge, [case(1), case(2, -1)], model)
    assert frame["said"].tolist() == [1, -1] and frame["mode"].tolist() == ["schema"] * 2
    (_, request), *_ = model.asked
    assert request.extra == {"reasoning_effort": "high"} and request.schema is not None
    assert request.schema["properties"]["verdict"]["enum"] == ["good", "bad"]
    assert "Plan 1?" in said(request) and "Hi." in said(request)
    assert ("neutral" in said(request)) is False
    assert frame["effort"].tolist() == ["high"] * 2 and frame["prompt"][0].startswith(f"{language}/ux_judge")


def test_unread_verdicts_are_rows():
    answers = {1: "good", 2: "{'verdict'", 3: "好的，我认为这个回复很差", 4: '{"verdict": "neutral"}'}

    def reply(request: Request) -> Answer:
        number = int(re.search(r"Plan (\d)", said(request))[1])
        return Answer(text=answers[number], error="no complete JSON object" if number == 2 else None)

    frame = judge_each_case(UXJudge(), [case(i) for i in answers], Scripted(reply=reply))
    assert frame["said"].isna().tolist() == [False, True, True, True]
    assert frame["error"][1] == "no complete JSON object" and "no verdict in" in frame["error"][2]
    rate = measure_verdicts(frame, metrics=["accuracy", "parse_rate"]).set_index("metric")
    assert rate["value"].tolist() == [0.25, 0.25] and rate["unread"].tolist() == [3, 3]
    three = judge_each_case(UXJudge(classes=3), [case(4)], Scripted(reply=reply))
    assert three["said"].tolist() == [0]


def test_probability_of_good_is_read_at_the_verdict():
    tokens = ['{"', "verdict", '": "', "bad", '"}']
    top = [("bad", float(np.log(0.6))), ("good", float(np.log(0.3))), ("ok", float(np.log(0.1)))]
    logprobs = [{"token": t, "logprob": 0.0, "top": top if t == "bad" else []} for t in tokens]
    logprobs[3]["logprob"] = float(np.log(0.6))
    answer = Answer(text="".join(tokens), data={"verdict": "bad"}, mode="schema", logprobs=logprobs)
    frame = judge_each_case(UXJudge(), [case(1, -1)], Scripted(reply=lambda r: answer))
    assert frame["p_good"][0] == pytest.approx(1 / 3) and frame["said"][0] == -1


def test_few_shot_examples_come_from_elsewhere():
    pool = [case(i, 1 if i % 2 else -1) for i in range(10, 20)]
    examples = sample_shots(pool, 4)
    assert sum(e.gold for e in examples) == 0 and examples == sample_shots(pool, 4) != sample_shots(pool, 4, seed=1)
    model = Scripted(reply=verdict)
    judge_each_case(UXJudge(strategy="few-shot", examples=examples), [case(1)], model)
    assert all(e.query in said(model.asked[0][1]) for e in examples)
    with pytest.raises(DataError, match="among the cases to judge"):
        judge_each_case(UXJudge(strategy="few-shot", examples=examples), pool, model)
    with pytest.raises(DataError, match="few-shot takes labelled cases"):
        UXJudge(strategy="few-shot")
    with pytest.raises(DataError, match="need 2 of each"):
        sample_shots(pool[:1])
    with pytest.raises(UnknownName, match="zero-shot"):
        UXJudge(strategy="zeroshot")  # type: ignore[arg-type]


def test_history_is_shown_from_its_end():
    form = PromptSettings(window=3, characters=10)
    talk = [{"role": "user", "content": c * 6} for c in "abcd"]
    assert [m["content"] for m in form.cut_history(talk)] == ["…cccc", "dddddd"]
    assert PromptSettings(window=0).cut_history(talk) == [] and len(PromptSettings().cut_history(talk)) == 4
    with pytest.raises(DataError, match="window"):
        PromptSettings(window=-1)


def test_gains_of_strategies_are_paired():
    cases = [case(i, 1 if i % 2 else -1) for i in range(40)]
    right = judge_each_case(UXJudge(), cases, Scripted(reply=verdict))
    lenient = right.assign(said=1)
    table = strategy_gains(pd.concat([lenient.assign(judge="plain"), right.assign(judge="careful")])).set_index("judge")
    assert (
        table.loc["careful", "gain"] == 50 and table.loc["careful", "gain_low"] > 0 and table.loc["plain", "gain"] == 0
    )


def test_a_run_over_http_resumes_without_asking_again(model, server):
    server.reply = lambda body: completion(json.dumps({"verdict": "good"}))
    cases = [case(i) for i in range(6)]
    first = judge_each_case(UXJudge(), cases, model(), progress=False)
    asked = len(server.bodies)
    second = judge_each_case(UXJudge(), cases, model(), progress=False)
    assert len(server.bodies) == asked and first["said"].equals(second["said"])
    judge_each_case(UXJudge(PromptSettings(effort="low")), cases[:2], model(), progress=False)
    assert server.bodies[-1]["reasoning_effort"] == "low" and len(server.bodies) == asked + 2


def test_any_judge_judges_cases_and_a_ux_judge_a_corpus(corpus):
    cases = [case(1), case(2, -1)]
    frame = judge_each_case(Constant(4), cases)
    assert frame["said"].tolist() == [1, 1] and frame["p_good"].tolist() == [0.75, 0.75]
    assert frame["score"].tolist() == [4, 4] and frame["backbone"].isna().all()
    model = Scripted(reply=lambda request: Answer(data={"score": 2, "rationale": "short"}, mode="schema"))
    for judge in (Personal(ScoreCountSystem(), JudgeSettings("en")), Generic(settings=JudgeSettings("en"))):
        assert judge_each_case(judge, cases, model)["said"].tolist() == [-1, -1]

    found = evaluate(UXJudge(), corpus, Scripted(reply=verdict), limit=6, progress=False)
    assert found["raw"].tolist() == [5.0 if "in detail" in text else 1.0 for text in _replies(corpus, found)]
    assert UXJudge().values == (1, 5) and UXJudge(classes=3).values == (1, 3, 5)


def _replies(corpus: Corpus, found: pd.DataFrame) -> list[str]:
    keys = ["user", "scenario", "session", "turn"]
    return found[keys].merge(corpus.turns, how="left", on=keys)["response"].tolist()


# -- UX Eval and UX Recovery --------------------------------------------------------------------------------------


def test_replies_under_four_system_prompts():
    for system, has_system in (("helpful", True), ("none", False), ("experience", True), ("empathy", True)):
        model = Scripted(reply=lambda r: Answer(text="Here, in detail.", finish="stop"))
        frame = reply_to_cases(Generation(system, PromptSettings("zh")), [case(1, None)], model)
        (_, request), *_ = model.asked
        assert (request.messages[0]["role"] == "system") is has_system
        assert [m["content"] for m in request.messages[-3:]] == ["Hello.", "Hi.", "Plan 1?"]
        assert frame["reply"].tolist() == ["Here, in detail."] and frame["how"].tolist() == [system]
        assert request.temperature == 0.7 and request.max_tokens == 2048


def test_good_percent_counts_what_is_missing():
    cases = [case(i, None, scenario="gift" if i < 25 else "travel") for i in range(30)]

    def reply(request: Request) -> Answer:
        number = int(re.search(r"Plan (\d+)", said(request))[1])
        return Answer(error="filtered") if number % 5 == 0 else Answer(text="in detail" if number % 2 else "no")

    replies = reply_to_cases(Generation(), cases, Scripted(reply=reply))
    assert replies["reply"].isna().sum() == 6 and set(replies["error"].dropna()) == {"filtered"}
    scored = judge_task_replies(replies, cases, UXJudge(), Scripted(reply=verdict))
    row = good_share(scored).iloc[0]
    assert (row["cases"], row["replies"], row["verdicts"], row["good"]) == (30, 24, 24, 12)
    assert row["percent"] == 40 and row["percent_of_verdicts"] == 50 and row["percent_low"] < 40 < row["percent_high"]
    table = good_share(scored, ("model", "scenario"), fewest=20).set_index("scenario")
    assert np.isfinite(table.loc["gift", "percent"]) and np.isnan(table.loc["travel", "percent"])


def test_a_few_shot_judge_is_refused_its_own_examples_and_nothing_else():
    good = Answer(data={"verdict": "good"})
    examples = (Case("3", "q", (), "r", gold=1), Case("own", "q", (), "s", gold=-1))
    judge = UXJudge(strategy="few-shot", examples=examples)
    others = [Case(f"c{i}", f"q{i}", (), "reply") for i in range(4)]

    def replied(cases):
        replies = pd.DataFrame({"case": [c.case for c in cases], "reply": "Another reply."})
        return judge_task_replies(replies, cases, judge, Scripted(reply=lambda request: good), progress=False)

    assert replied(others)["said"].tolist() == [1] * 4, "numbers of cases are not their names"
    with pytest.raises(DataError, match="own is among the cases to judge"):
        replied([*others, examples[1]])


class Short(Computed):
    """Likes short replies."""

    name = "short"

    def scores(self, block):
        self.seen = [m["content"] for target in block for m in target.prefix]
        return [1 + 4 / (1 + len(target.response) / 10) for target in block]


def test_any_judge_scores_replies():
    cases = [case(1, None), case(2, None)]
    replies = reply_to_cases(
        Generation(), cases, Scripted(reply=lambda r: Answer(text="x" * (5 if "1?" in said(r) else 50)))
    )
    scored = judge_task_replies(replies, cases, Short())
    assert scored["said"].tolist() == [1, -1] and scored["p_good"].tolist() == pytest.approx([1 / 1.5, 1 / 6])
    with pytest.raises(PerslibError, match="asks a model"):
        judge_task_replies(replies, cases, UXJudge())
    with pytest.raises(DataError, match="not among the cases"):
        judge_task_replies(replies, cases[:1], Short())


FAILED = Case("r1", "Plan it.", TALK, reply="Bath is a city.", complaint="That is no plan.", gold=-1)


@pytest.mark.parametrize(
    ("variant", "answer", "note"),
    [
        ("normal", Answer(text="Here."), None),
        ("baseline", Answer(text="Here."), None),
        ("chain of thought", Answer(data={"thoughts": "hm", "reply": "Here."}), "hm"),
        ("failure-aware", Answer(data={"failure": "other", "reply": "Here."}), "other"),
        ("critique", Answer(text='so: {"critique": "bad", "reply": "Here."}'), "bad"),
    ],
)
def test_recovery_in_both_layouts(variant, answer, note):
    for layout in ("briefed", "replay"):
        model = Scripted(reply=lambda r: answer)
        frame = reply_to_cases(Recovery(variant, layout), [FAILED], model)
        assert frame["reply"].tolist() == ["Here."] and (frame["note"][0] == note or note is None)
        (_, request), *_ = model.asked
        assert all(words in said(request) for words in ("Hello.", "Plan it.", "Bath is a city.", "That is no plan."))
        roles = [m["role"] for m in request.messages]
        assert roles == (["system", "user"] if layout == "briefed" else ["system", *["user", "assistant"] * 2, "user"])


def test_a_recovery_without_a_reply_says_so():
    model = Scripted(reply=lambda r: Answer(text="I would rather not.", error="no JSON"))
    frame = reply_to_cases(Recovery("critique"), [FAILED], model)
    assert frame["reply"].isna().all() and frame["error"].tolist() == ["no JSON"]
    with pytest.raises(UnknownName, match="critique"):
        Recovery("criticise")  # type: ignore[arg-type]


def test_a_judge_of_recovery_sees_all_or_the_failed_reply_alone():
    replies = reply_to_cases(Recovery(), [FAILED], Scripted(reply=lambda r: Answer(text="Day one: baths.")))
    judge = Short()
    judge_task_replies(replies, [FAILED], judge)
    assert judge.seen == ["Hello.", "Hi.", "Plan it.", "Bath is a city.", "That is no plan."]
    judge_task_replies(replies, [FAILED], judge, context="reference")
    assert judge.seen == ["Bath is a city.", "That is no plan."]


# -- baselines ----------------------------------------------------------------------------------------------------


@pytest.mark.sample
def test_the_wall_knows_what_each_baseline_sees():
    rng = np.random.default_rng(0)
    cases = []
    for i in range(120):
        gold = 1 if i % 2 else -1
        query = "Please plan a long weekend away" if rng.random() < (0.8 if gold > 0 else 0.2) else "weather?"
        cases.append(Case(f"c{i}", query, TALK, reply=f"Reply {i % 7}", gold=gold, user=f"u{i // 4}", scenario="gift"))
    verdicts = judge_with_baselines(cases)
    right = measure_verdicts(verdicts, metrics=["balanced_accuracy"]).set_index("judge")["value"]
    assert right["query only"] > 0.7 and right["length only"] > 0.7
    for blind in ("majority", "history only", "scenario only"):
        assert right[blind] == pytest.approx(0.5, abs=0.1)
    judge = verdicts[verdicts["judge"] == "query only"].assign(judge="j")
    table = compare_with_baselines(judge, verdicts).set_index("baseline")
    assert table.loc["history only", "beaten"] and not table.loc["query only", "beaten"]
    with pytest.raises(DataError, match="of one kind"):
        judge_with_baselines([case(1), case(2)])


@pytest.mark.parametrize("good, bad", [(20, 20), (23, 17), (13, 27)])
def test_one_answer_for_all_is_right_in_half_of_either_kind(good, bad):
    """Also where both kinds are even, and the folds that a baseline learns from are not."""
    cases = [case(i, 1 if i < good else -1, user=f"u{i % 9}") for i in range(good + bad)]
    constant = judge_with_baselines(cases, ["majority", "length only"])
    quality = measure_with_baselines(constant.iloc[:0], constant).set_index("judge").loc["majority"]
    for name in ("balanced_accuracy", "at_learned"):
        assert quality[name] == 0.5
    assert quality["d_prime"] == pytest.approx(0, abs=1e-9)
    assert (quality["good_acc"], quality["bad_acc"]) == ((1, 0) if good >= bad else (0, 1))


def test_released_splits_become_cases(tmp_path):
    from perslib.systems.uxbench.loaders import uxbench

    talk = [{"turn_index": i, "role": m["role"], "message": m["content"]} for i, m in enumerate(TALK)]
    record = {
        **{"cid": "a", "selected_history": talk, "source_query": {"turn_index": 2, "message": "Plan it."}},
        **{"agent_response_full": "Bath is a city.", "ground_truth": -1, "failure_dimension": "verbosity"},
    }
    file = tmp_path / "uxbench_task1_judge_bad_1k.jsonl"
    file.write_text("\n".join(json.dumps(r) for r in (record, record)), encoding="utf-8")
    corpus = uxbench.read(file).corpus
    (found,) = released_cases(corpus, "task1")
    assert (found.query, found.reply, found.gold) == ("Plan it.", "Bath is a city.", -1)
    assert found.history == TALK and found.dimension == "verbosity"
    with pytest.raises(DataError, match="no case of task3"):
        released_cases(corpus, "task3")


def test_ux_judges_have_names_and_stand_apart_from_judges_of_one_to_five(corpus):
    names = [name for name in judge_names() if name.startswith("UX judge")]
    assert len(names) == 4 and not {judge.name for judge in make_judges("all")} & {*names}
    for judge in make_judges(", ".join(names), JudgeSettings("en")):
        said = Scripted(reply=lambda request: Answer(text="", data={"verdict": "bad", "reason": "x"}))
        verdicts = evaluate(judge, corpus, said, limit=2, progress=False)
        assert verdicts["raw"].tolist() == [1, 1] and set(verdicts["judge"]) == {judge.name}
