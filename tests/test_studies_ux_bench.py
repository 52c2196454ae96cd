"""The page on UXBench: signals, memories of behaviour, the three tasks and the reward model, on a slice of the world."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from scripted import Scripted
from ux_construct_made import model as keeps_all

from perslib.corpus import load
from perslib.judge import UserMean
from perslib.llm import Answer
from perslib.report import begin
from perslib.studies import ux_bench as study
from perslib.studies import ux_bench_figures as figures
from perslib.studies import ux_bench_notes as said
from perslib.studies import ux_bench_rewards as learned
from perslib.studies import ux_bench_signals as signals
from perslib.studies import ux_bench_tables as tables
from perslib.studies import ux_bench_topics as parts
from perslib.studies.extent import Extent
from perslib.text import using_language
from perslib.ux import against_wall, escapes, strategy_shares
from perslib.ux.construct import REASONS


@pytest.fixture(scope="module")
def world():
    whole = load("sample/en")
    return whole.of_users(sorted(whole.users["user"])[:8])


@pytest.fixture(scope="module")
def found(world):
    return learned.rewards(world)


@pytest.fixture(scope="module")
def bench(world, found):
    cases = study.cases_to_judge(world, 60)
    seen = {c.case for c in cases}
    own = found.verdicts[found.verdicts["case"].isin(seen)]
    return study.judging(cases, [learned.own_fold(cases), own, study.baselines(cases)])


@pytest.fixture(autouse=True)
def page():
    begin(language="zh")
    yield
    plt.close("all")


def test_signals_are_counted_by_strength_beside_the_published_shares(world):
    found = signals.behaviour(world)
    counts = signals.counted(found)
    own = counts.set_index("signal")
    assert own.loc["repeat", "published_percent"] == pytest.approx(25.8425)
    assert own.loc["dislike", "published_percent"] == pytest.approx(0.1625)
    assert pd.isna(own.loc["thanks", "published_percent"])
    assert own.loc["like", "explicit"] == (found.replies["like"] > 0).sum() == own.loc["like", "found"]
    assert own["primary"].sum() == len(found.replies) == len(world.turns)
    chains = signals.chains(found)
    assert chains["percent"].sum() == pytest.approx(100)
    assert "点踩" in tables.signals(counts)["signal"].tolist()
    assert "0.16%" in said.behaviour(found, counts)
    with using_language("en"):
        assert "0.16 %" in said.behaviour(found, counts)
    assert figures.signals(counts).axes


def test_a_log_is_mined_where_one_is_given(tmp_path, world):
    asked = {"turn_index": 0, "role": "user", "message": "怎么提取公积金"}
    reply = {"turn_index": 1, "role": "assistant", "message": "可以在线上办理。" * 9, "is_unliked": 1}
    after = {"turn_index": 2, "role": "user", "message": "你答非所问，我问的是提取流程"}
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"cid": "1", "history": [asked, reply, after]}) + "\n{torn", encoding="utf-8")
    found = signals.behaviour(world, str(file))
    counts = signals.counted(found).set_index("signal")
    assert (counts.loc["dislike", "found"], counts.loc["complain", "found"]) == (1, 1)
    assert counts.loc["complain", "sessions_percent"] == 100 and len(found.rejected) == 1
    assert signals.chains(found)["replies"].tolist() == [0, 0, 1]


def test_behaviour_against_ratings_and_in_their_place(world):
    agreed = signals.with_ratings(world)
    assert agreed["r"].iloc[-1] > agreed["r"].iloc[0] + 0.1 and agreed["auc"].iloc[0] > 0.65
    by_signal = signals.scores_by_signal(world, signals.behaviour(world).replies).set_index("signal")
    assert by_signal.loc["complain", "high"] < 0 < by_signal.loc["like", "low"]
    kept = signals.kept(world, 120, judges=[UserMean()])
    own = kept.set_index(["judge", "memory"])
    r = own["r"]
    assert own.loc[("user mean", "behaviour"), "kept"] == pytest.approx(
        r["user mean", "behaviour"] / r["user mean", "rated"]
    )
    assert own.loc[("user mean", "rated"), "kept"] == 1 and "task mean" in set(kept["judge"])
    assert tables.kept(kept)["kept"].iloc[1] == "–"
    assert figures.kept(kept).axes and figures.by_signal(by_signal.reset_index()).axes
    with using_language("en"):
        assert "better with the users' scores the more certain" in said.ratings(agreed)
        assert "do not agree better" in said.ratings(agreed[::-1])


def test_the_funnel_says_why(world):
    funnel, reasons, sessions = study.funnel(world)
    assert len(sessions) == funnel["left"].iloc[0]
    assert (funnel["in"] == funnel["left"] + funnel["rejected"]).all()
    assert reasons["count"].sum() == funnel["rejected"].sum()
    assert tables.stages(funnel)["stage"].iloc[0] == "读取与入口"


def test_a_construction_goes_as_far_as_the_look(world, tmp_path):
    *_, sessions = study.funnel(world)
    look = Extent(6, 1, "full", 0, True)
    made = study.constructed(sessions, keeps_all(), None, "en", str(tmp_path), look)
    assert made.funnel["in"].iloc[0] == 6 and len(made.cases) > 0
    assert (tmp_path / "construction" / "cases.jsonl").is_file()
    shown = tables.built(made).set_index("quantity")["ux_value"]
    assert shown["built: cases"] == str(len(made.cases)) and shown["built: checkers_alpha"] == "–"
    whole = study.takes(sessions, keeps_all(), "en").set_index("stage")
    assert whole.loc["mine", "calls"] >= len(sessions)


def test_judges_beside_the_wall(bench):
    wide = bench.quality.pivot_table(index="judge", columns="metric", values="value")
    assert set(study.BESIDE) < set(wide.index) and {"reward", learned.ALL_RATED} < set(wide.index)
    assert wide.loc["reward", "balanced"] > wide.loc["query only", "balanced"]
    assert "基线" in said.judging(bench)
    with using_language("en"):
        assert f"{len(bench.cases)} cases" in said.judging(bench)
    beside = against_wall(bench.verdicts, bench.wall)
    assert len(tables.beaten(beside)) == 10 and len(tables.quality(bench.quality)) == 7
    assert figures.detection(bench.quality).axes
    assert study.published_points()["d_prime"].round(2).iloc[-1] == 1.51


def test_neutral_is_a_way_out():
    scored = pd.DataFrame(
        {"judge": "learned", "gold": [-1, -1, 1], "said": [-1, 1, 1], "score": [2.0, 3.0, 4.5]}
    )
    out = escapes(study.neutral(pd.DataFrame(), scored.astype({"gold": "Int64", "said": "Int64"})))
    assert out.set_index("side").loc["bad", "neutral_percent"] == 50
    assert tables.escapes(out)["side"].tolist() == ["好", "差"]


def test_recorded_replies_are_scored_by_a_model_that_has_not_seen_the_user(world, found):
    for model, side in zip(found.models, (0, 1)):
        seen = found.models[side].card_["learned_from"]["users"] + model.card_["held_out"]["users"]
        assert seen == sum(half != side for half in found.half.values())
    cases, replies = study.recorded_replies(world)
    scored = found.scored(replies, cases)
    shares = study.shares(scored)
    assert len(scored) == len(replies) and (shares["cases"] == len(cases)).all()
    assert (shares["wilson_low"] <= shares["percent"]).all() and study.RECORDED in set(shares["model"])
    assert "ρ" in said.shares(shares) and said.shares(shares.head(1)) == ""
    complained, recoveries = study.recorded_recoveries(world)
    opened = study.labelled(found.scored(recoveries, complained))
    table = strategy_shares(opened, resamples=200)
    assert table["percent"].sum() == pytest.approx(100)
    assert figures.shares(shares).axes and figures.strategies(table).axes
    assert tables.strategies(table)["published_percent"].iloc[0] == "45.98"
    assert "+8.4" in said.as_published("recovery_good") and "+1.2" in said.as_published("eval_good")


def test_the_reward_model_gives_account(found, bench):
    against = learned.against(bench)
    assert against["judge"].iloc[0] == "reward" and against["auroc"].iloc[0] > 0.6
    rival = against.iloc[1:].sort_values("auroc").iloc[-1]
    assert ("显著好于" in said.reward(found, against)) == (rival["ahead_low"] > 0)
    assert len(tables.reward(found)) == 10
    assert figures.reward(found.verdicts).axes
    moved = learned.swap(found, bench.cases)
    swap = tables.swap(moved).set_index("quantity")["ux_value"]
    assert swap["swap: changed"].numbers[""] > 0.5 and said.swap(moved) == ""
    assert "几乎没有读回复" in said.swap(moved.replace(moved["changed"], 0.1))
    assert tables.card(found.models[0]).set_index("quantity").loc["sources", "ux_value"] == "score"
    assert tables.discrimination(against)["ahead"].iloc[0] == "–"


def test_tasks_by_what_was_asked(world, found, bench):
    asked, _ = study.recorded_replies(world)
    complained, recoveries = study.recorded_recoveries(world)
    topics = parts.topics(bench.cases, asked, complained)
    assert topics["case"].is_unique
    there = parts.occurring(topics, "scenario").set_index("scenario")
    assert there["cases"].sum() == len(topics) and there.loc["entertainment", "published"] == 9.39
    judge = parts.right(bench.verdicts[bench.verdicts["judge"] == "reward"])
    tasks = {"judge task": judge, "recovery task": found.scored(recoveries, complained)}
    table = parts.by_topic(tasks, topics, "scenario")
    own = table[table["task"] == "judge task"]
    assert own["cases"].sum() == len(bench.cases) and table["task"].tolist() == sorted(table["task"])
    one = own[own["percent"].notna()].iloc[0]
    about = topics.set_index("case")["scenario"]
    verdicts = judge[judge["case"].map(about) == one["scenario"]]
    assert one["percent"] == pytest.approx(100 * (verdicts["said"] == 1).mean())
    assert (
        one["wilson_low"] < one["percent"] < one["wilson_high"]
        and one["low"] <= one["percent"] <= one["high"]
    )
    small = table[table["cases"] < 20]
    assert len(small) and small["percent"].isna().all()
    shown = tables.breakdown(table, "scenario")
    assert (shown.loc[small.index, "percent_interval"] == "样例太少").all()
    assert "UX Judge：正确率" in set(shown["ux_task"]) and "日常生活" in set(shown["scenario"])
    assert figures.breakdown(table, "scenario").axes
    with using_language("en"):
        assert f"{len(small)} have fewer" in said.breakdown(table, topics, 20)
    assert tables.occurring(there.reset_index(), "scenario")["published_percent"].iloc[0] == "47.93"


def test_rules_and_a_model_are_held_against_each_other(bench):
    def reply(request):
        if "ux_topic" in request.prompt:
            return Answer(data={"scenario": "entertainment", "domain": "games"})
        return Answer(data={"primary": "apology", "all": ["apology"]})

    model, whole = Scripted(reply=reply), Extent(None, 5, "published", 0, False)
    of_model = parts.topics_by_model(bench.cases, model, "en", whole)
    replies = pd.DataFrame({"case": [f"c{i}" for i in range(30)], "reply": ["Sorry.", "Oops!", "Nine."] * 10})
    opened = parts.openings(replies, [], model, "en", whole)
    table = parts.agreement(of_model, opened).set_index(["kind", "label"])
    assert table.loc[("strategy", "all"), "equal"] == pytest.approx(1 / 3)
    assert table.loc[("strategy", "humor"), ["one", "other"]].tolist() == [10, 0]
    assert table.loc[("scenario", "all"), "replies"] == len(bench.cases)
    shown = tables.agreement(table.reset_index())
    assert shown["ux_label"].iloc[0] == "全部"
    assert "m 与规则" in said.labelled(pd.DataFrame({"model": []}), table.reset_index(), "m")
    look = Extent(2, 1, "full", 0, True)
    none = parts.topics_by_model(bench.cases, model, "en", look)
    few = parts.side_by_side(none, parts.openings(replies, [], model, "en", look))
    assert len(few) == 2 and parts.agreement(none, few).empty
    assert tables.labels(few)["ux_model"].tolist() == ["道歉", "道歉"]
    with using_language("en"):
        assert "2 of 2 labels" in said.labelled(few, pd.DataFrame(), "m")


def test_ways_of_asking_are_held_against_the_first(bench):
    def reply(request):
        right = "user modelling" if "ux_judge_user" in request.prompt else "bad"
        return Answer(data={"verdict": "good" if right == "user modelling" else "bad"})

    model, whole = Scripted(reply=reply), Extent(None, 5, "published", 0, False)
    ways = ["zero-shot", "few-shot", "user modelling"]
    found = study.asked(bench.cases, model, "en", whole, ways, "high")
    assert found["judge"].nunique() == 4 and (found["effort"] == "high").all()
    assert found["case"].nunique() == len(bench.cases) - 8, "examples are not judged"
    table = study.gains(found)
    # Judged are as many good cases as bad ones: always good is right where always bad is wrong.
    assert table["accuracy"].tolist() == [50, 50, 50] and table["gain"].tolist() == [0, 0, 0]
    assert str(tables.gains(table)["ux_gain"].iloc[2]).startswith("0.0 [")
    assert study.gains(found[found["judge"] == "UX judge (zero-shot)"]).empty


def test_replies_under_several_prompts_are_drawn_by_prompt(world, found):
    model = Scripted(
        reply=lambda request: Answer(text="Here is a plan: 1. the baths, 2. a walk.", finish="stop")
    )
    cases = study.to_answer(world)[:12]
    shares = study.shares(found.scored(study.replied(cases, model, "en", 10), cases))
    assert len(shares) == 4 and (shares["cases"] == 10).all()
    said_below = [label.get_text() for label in figures.shares(shares).axes[0].get_yticklabels()]
    assert said_below == ["乐于助人", "无系统提示", "重体验", "重共情"]
    assert tables.shares(shares)["how"].iloc[1] == "无系统提示" and "ux_writer" not in tables.shares(shares)


def test_every_reason_has_a_name_in_both_languages():
    for stage, reasons in REASONS.items():
        for name in reasons:
            assert tables.called(name) != name, (stage, name)
            with using_language("en"):
                assert "_" not in tables.called(name), (stage, name)


def test_synthetic_numbers_are_called_a_check_of_software(world):
    assert "只用来检验软件" in said.what_numbers_mean(world)
    with using_language("en"):
        assert "only test the software" in said.what_numbers_mean(world)
