"""The page on UXBench: signals, memories of behaviour, the three tasks and the reward model, on a slice of the world."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scripted import Scripted

from perslib.corpus import load
from perslib.errors import NotEnough
from perslib.judge import UserMean
from perslib.judge.scope import StudyScope
from perslib.llm import Answer
from perslib.prompts import PromptSettings
from perslib.report.show.tables import translate_value
from perslib.systems.uxbench import bench as ux
from perslib.systems.uxbench.construction import REASONS
from perslib.systems.uxbench.statistics import compare_auroc, escapes
from perslib.systems.uxbench.studies import ux_bench as study
from perslib.systems.uxbench.studies import ux_bench_replies as parts
from perslib.systems.uxbench.studies import ux_bench_signals as signals
from perslib.text import using_language


class Bench(NamedTuple):
    cases: list[ux.Case]
    verdicts: pd.DataFrame
    wall: pd.DataFrame
    quality: pd.DataFrame


@pytest.fixture(scope="module")
def world():
    whole = load("sample/en")
    return whole.of_users(sorted(whole.users["user"])[:12])


@pytest.fixture(scope="module")
def rewards(world):
    return study.fit_rewards(world)


@pytest.fixture(scope="module")
def bench(world, rewards):
    cases = study.select_cases(world, 60)
    own = rewards.verdicts[rewards.verdicts["case"].isin({c.case for c in cases})]
    verdicts, wall = [ux.out_of_fold(ux.Reward(seed=42), cases), own], ux.judge_with_baselines(cases, study.BASELINES)
    return Bench(cases, pd.concat(verdicts), wall, study.measure_judges(cases, verdicts, wall))


def test_signals_are_counted_by_strength_beside_the_published_shares(world):
    found = signals.find_behaviour(world)
    own = signals.count_signals(found).set_index("signal")
    assert own.loc["repeat", "published_percent"] == pytest.approx(25.8425)
    assert own.loc["dislike", "published_percent"] == pytest.approx(0.1625)
    assert pd.isna(own.loc["thanks", "published_percent"])
    assert own.loc["like", "explicit"] == (found.replies["like"] > 0).sum() == own.loc["like", "found"]
    assert own["primary"].sum() == len(found.replies) == len(world.turns)
    goes_on = (found.replies["primary"] == "continue").groupby(found.replies["conversation"])
    assert own.loc["continue", "sessions_percent"] == pytest.approx(100 * goes_on.any().mean())
    assert signals.count_outcomes(found)["percent"].sum() == pytest.approx(100)


def test_a_log_is_mined_where_one_is_given(tmp_path, world):
    asked = {"turn_index": 0, "role": "user", "message": "怎么提取公积金"}
    reply = {"turn_index": 1, "role": "assistant", "message": "可以在线上办理。" * 9, "is_unliked": 1}
    after = {"turn_index": 2, "role": "user", "message": "你答非所问，我问的是提取流程"}
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"cid": "1", "history": [asked, reply, after]}) + "\n{torn", encoding="utf-8")
    found = signals.find_behaviour(world, str(file))
    counts = signals.count_signals(found).set_index("signal")
    assert (counts.loc["dislike", "found"], counts.loc["complain", "found"]) == (1, 1)
    assert counts.loc["complain", "sessions_percent"] == 100 and len(found.rejected) == 1
    assert signals.count_outcomes(found)["replies"].tolist() == [0, 0, 1]


def test_dissatisfaction_by_turn_over_time_and_by_assistant(world):
    found = signals.find_behaviour(world)
    table = signals.divide_dissatisfaction(found)
    assert table["division"].unique().tolist() == ["by turn", "by month", "by assistant"]
    reacted = found.replies[found.replies["primary"] != "no_followup"]
    assistant = table[table["division"] == "by assistant"].set_index("part")
    for name, own in reacted.groupby("assistant"):
        share = 100 * own["objection"].notna().mean()
        row = assistant.loc[name]
        assert (row["replies"], row["users"]) == (len(own), own["user"].nunique())
        assert row["objected_percent"] == pytest.approx(share) == pytest.approx(row[[*signals.NEGATIVE]].sum())
        assert row["objected_percent_low"] < share < row["objected_percent_high"]
    turns = table[table["division"] == "by turn"]
    assert turns["at"].is_monotonic_increasing and turns["part"].iloc[0] == "1" and (table["replies"] >= 20).all()
    said = signals.describe_divisions(table, found)
    assert "no two" not in said and "has no times" not in said
    # What is not known is said, and is no row.
    alone = found._replace(replies=found.replies.assign(at=pd.NaT, assistant=None))
    bare = signals.divide_dissatisfaction(alone)
    assert bare["division"].unique().tolist() == ["by turn"]
    assert "replies have no times" in signals.describe_divisions(bare, alone)
    few = found._replace(replies=found.replies.assign(at=found.replies["at"].min()).head(30))
    assert signals.divide_dissatisfaction(few).empty and "no two weeks" in signals.describe_divisions(
        signals.divide_dissatisfaction(few), few
    )


def test_weak_signals_are_counted_apart_from_clear_ones(world):
    found = signals.find_behaviour(world)
    kinds = signals.count_objections(found).set_index("strength")
    each = signals.list_signals(found.replies).query("signal in @signals.NEGATIVE")
    clear = each.index[each["strength"].isin(["explicit", "strong"])].unique()
    weak = each.index.difference(clear)
    assert kinds["replies"].tolist() == [len(clear), len(weak), len(world.turns) - len(clear) - len(weak)]
    assert min(len(clear), len(weak)) > 0 and kinds["objected_percent"].sum() == pytest.approx(100)
    low = 100 * (world.turns["score"].astype(float) < 4)
    assert kinds.loc[["clear", "weak"], "low_percent"].tolist() == pytest.approx([low[clear].mean(), low[weak].mean()])
    assert (kinds["low_percent_low"] < kinds["low_percent"]).all()
    # Where nobody objects there is no share of users who might, so no interval is claimed.
    mute = found._replace(replies=found.replies.assign(objection=None, primary="continue", score=np.nan))
    none = signals.count_objections(mute).set_index("strength")
    assert none["objected_percent"].tolist() == [0, 0, 100] and none.filter(like="_low").isna().all(axis=None)


def test_two_weeks_are_told_apart_and_fewer_than_five_users_have_no_interval(world):
    replies = signals.find_behaviour(world).replies.assign(assistant=None)
    few = replies[replies["user"].isin(replies["user"].unique()[:4])].copy()
    few["at"] = pd.Timestamp("2026-01-05") + pd.to_timedelta(7 * (np.arange(len(few)) % 2), unit="D")
    table = signals.divide_dissatisfaction(signals.Behaviour(few, pd.DataFrame())).query("division == 'by week'")
    assert table["part"].tolist() == ["2026-01-05", "2026-01-12"] and table["objected_percent_low"].isna().all()


def test_quotes_have_what_was_said_last(world):
    turns, sessions = world.turns, world.sessions
    quotes = signals.quote_signals(world)
    assert quotes.groupby("signal").size().max() == 10 and quotes["signal"].nunique() > 5
    last = turns.groupby(["user", "scenario", "session"]).tail(1).index[0]
    where = ["user", "scenario", "session"]
    key = sessions[where].apply(tuple, axis=1) == tuple(turns.loc[last, where])
    ended = sessions.assign(trailing=[("That is wrong.",) if at else () for at in key])
    clicks = turns.assign(feedback=["dislike" if i == last else None for i in turns.index])
    marked = signals.quote_signals(replace(world, sessions=ended, turns=clicks))
    (row,) = marked[marked["signal"] == "dislike"].to_dict("records")
    assert row["next_message"] == "That is wrong." and row["response"].startswith(turns.loc[last, "response"][:10])


def test_behaviour_against_ratings_and_in_their_place(world):
    agreed = signals.compare_weak_labels(world)
    assert agreed["r"].iloc[-1] > agreed["r"].iloc[0] + 0.1 and agreed["auroc"].iloc[0] > 0.65
    by_signal = signals.compare_scores_by_signal(world).set_index(["signal", "strength"])
    assert by_signal.loc[("complain", "clear"), "difference_high"] < 0
    assert by_signal.loc[("like", "clear"), "difference_low"] > 0
    each = signals.list_signals(signals.signals_of(world)).query("signal == 'complain'")
    shows = world.turns.index.isin(each.index[each["strength"] == "strong"])
    score = world.turns["score"].astype(float)
    own = by_signal.loc[("complain", "clear")]
    assert own["difference"] == pytest.approx(score[shows].mean() - score[~shows].mean())
    acts = world.extras["truth_turns"]["behaviour"].map(lambda names: "complain" in names)
    assert own["meant"] == pytest.approx(acts[shows].mean())
    assert own["meant_low"] > by_signal.loc[("complain", "weak"), "meant"]
    kept = study.compare_behaviour_memory(world, 120, judges=[UserMean()])
    own = kept.set_index(["judge", "memory"])
    assert own.loc[("user mean", "behaviour"), "kept"] == pytest.approx(
        own["r"]["user mean", "behaviour"] / own["r"]["user mean", "rated"]
    )
    assert own.loc[("user mean", "rated"), "kept"] == 1 and "task mean" in set(kept["judge"])
    assert np.isnan(own.loc[("user mean", "rated"), "kept_low"])


def test_the_page_says_which_signals_are_above_the_base_rate_and_which_have_no_vote():
    about = {"turns": 9, "low_all": 0.2, "strength": "clear"}
    table = pd.DataFrame(
        [
            {"signal": "complain", "dissatisfied": 0.5, "dissatisfied_low": 0.3, **about},
            {"signal": "skim", "dissatisfied": 0.3, "dissatisfied_low": 0.1, **about},
            {"signal": "thanks", "dissatisfied": 0.9, "dissatisfied_low": 0.8, **about},
        ]
    )
    said = signals.describe_votes(table)
    above, rest = said.split("; this corpus")
    assert "complain" in above.lower() and "thank" not in said.lower()
    shown, without = rest.split("Without a vote")
    assert "skim" in shown.lower() and "rephras" in without.lower() and "complain" not in without.lower()


@pytest.mark.sample
def test_no_correlation_is_given_for_fewer_than_thirty_replies(world):
    few = world.of_users(world.users["user"].iloc[:1])
    score = few.turns["score"].where(np.arange(len(few.turns)) < 29)
    with pytest.raises(NotEnough, match="Too few of these replies have ratings"):
        signals.compare_weak_labels(replace(few, turns=few.turns.assign(score=score)))
    with pytest.raises(NotEnough, match="rated replies were scored by all"):
        study.compare_behaviour_memory(world, 29, judges=[UserMean()])
    shares = pd.DataFrame({"percent": [10.0, 20, 40], "liked_percent": [20.0, 30, 90], "cases": 30, "judge": "reward"})
    assert parts.compare_with_truth(shares) == {"n": 3, "rho": pytest.approx(1), "off": pytest.approx(70 / 3)}
    assert parts.compare_with_truth(shares.assign(cases=29)) == parts.compare_with_truth(shares[:2]) == {}


def test_the_funnel_says_why(world):
    funnel, reasons, sessions = study.count_candidates(world)
    assert len(sessions) == funnel["left"].iloc[0]
    assert (funnel["in"] == funnel["left"] + funnel["rejected"]).all()
    assert reasons["count"].sum() == funnel["rejected"].sum()


def test_some_are_drawn_in_their_order():
    assert study.draw_places(5, None) == study.draw_places(5, 0) == study.draw_places(5, 9) == [0, 1, 2, 3, 4]
    some = study.draw_places(100, 6)
    assert len(set(some)) == 6 and some == sorted(some) == study.draw_places(100, 6)


@pytest.mark.sample
def test_judges_beside_the_wall(bench):
    quality = bench.quality.set_index("judge")
    assert set(study.BASELINES) < set(quality.index) and {"reward", study.ALL_RATED} < set(quality.index)
    assert quality.loc["reward", "balanced_accuracy"] > quality.loc["query only", "balanced_accuracy"]
    assert quality["is_baseline"].sum() == 5 and (quality["cases"] == len(bench.cases)).all()
    assert len(ux.compare_with_baselines(bench.verdicts, bench.wall, unit="user")) == 10
    best = ux.compare_with_best_baseline(bench.quality)
    assert best["line"] == quality[quality["is_baseline"]]["balanced_accuracy"].max()
    assert set(best["above"]) == set(quality.index[quality["balanced_accuracy_low"] > best["line"]])
    with pytest.raises(NotEnough, match="several cases of both kinds"):
        ux.compare_with_best_baseline(bench.quality.query("is_baseline"))
    change = (quality["at_learned"] - quality["balanced_accuracy"])[~quality["is_baseline"]]
    assert best["after"] - best["before"] == pytest.approx(change.max())
    placed = study.measure_detection(bench.quality).set_index("kind")
    assert placed.loc["published, trained", "d_prime"].round(2) == 1.51
    assert set(placed.loc["baseline", "baseline"]) == set(study.BASELINES)
    assert placed.loc["reward", "d_prime_low"] == pytest.approx(quality.loc["reward", "d_prime_low"], nan_ok=True)


def test_neutral_is_a_way_out():
    scored = pd.DataFrame({"judge": "learned", "gold": [-1, -1, 1], "said": [-1, 1, 1], "score": [2.0, 3.0, 4.5]})
    out = escapes(study.allow_neutral(pd.DataFrame(), scored.astype({"gold": "Int64", "said": "Int64"})))
    assert out.set_index("side").loc["bad", "neutral_percent"] == 50


@pytest.mark.sample
def test_recorded_replies_are_scored_by_a_model_that_has_not_seen_the_user(world, rewards):
    for model, side in zip(rewards.models, (0, 1)):
        assert model.card_["learned_from"]["users"] == sum(half != side for half in rewards.unseen_by.values())
    cases, replies = parts.read_recorded_replies(world)
    scored = rewards.score(replies, cases)
    shares = parts.measure_good_share(scored)
    assert len(scored) == len(replies) and (shares["cases"] == len(cases)).all()
    assert (shares["wilson_low"] <= shares["percent"]).all() and parts.RECORDED in set(shares["model"])
    recorded = scored[scored["model"] == parts.RECORDED]
    liked = shares.set_index("model").loc[parts.RECORDED, "liked_percent"]
    assert liked == pytest.approx(100 * (recorded["truth"] >= 4).mean())
    complained, recoveries = parts.read_recoveries(world)
    opened = ux.strategies_of(rewards.score(recoveries, complained))
    assert ux.strategy_shares(opened)["percent"].sum() == pytest.approx(100)
    best = parts.read_best_published("recovery_good")
    assert best["percent"].iloc[0] == pytest.approx(12.8) and len(best) == 8
    assert (best["percent_low"] < best["percent"]).all()


@pytest.mark.sample
def test_the_reward_model_gives_account(rewards, bench):
    against = compare_auroc(pd.concat([bench.verdicts.query("judge == 'reward'"), bench.wall]))
    assert against["judge"].iloc[0] == "reward" and against["auroc"].iloc[0] > 0.6
    assert np.isnan(against["ahead"].iloc[0]) and against["ahead"].iloc[1:].notna().all()
    own = rewards.select_unseen(bench.cases, 0)
    assert 0 < len(own) < len(bench.cases) and {rewards.unseen_by[c.user] for c in own} == {0}
    assert ux.audit_swapped_replies(rewards.models[0], own)["changed"] > 0.5


@pytest.mark.sample
def test_tasks_by_what_was_asked(world, rewards):
    asked, _ = parts.read_recorded_replies(world)
    complained, recoveries = parts.read_recoveries(world)
    cases = study.select_cases(world, 150)
    topics = parts.label_topics(cases, asked, complained)
    assert topics["case"].is_unique
    there = parts.count_topics(topics, "scenario").set_index("scenario")
    assert there["cases"].sum() == len(topics) and there.loc["entertainment", "published_percent"] == 9.39
    judge = parts.mark_right(rewards.verdicts[rewards.verdicts["case"].isin({c.case for c in cases})])
    tasks = {"judge task": judge, "eval task": pd.DataFrame(), "recovery task": rewards.score(recoveries, complained)}
    table = parts.measure_good_by_topic(tasks, topics, "scenario")
    own = table[table["task"] == "judge task"]
    assert own["cases"].sum() == len(cases) and table["task"].tolist() == sorted(table["task"])
    places = own["scenario"].map(parts.TOPIC_NAMES["scenario"].index)
    assert places.is_monotonic_increasing
    one = own[own["percent"].notna()].iloc[0]
    about = topics.set_index("case")["scenario"]
    verdicts = judge[judge["case"].map(about) == one["scenario"]]
    assert one["percent"] == pytest.approx(100 * (verdicts["said"] == 1).mean())
    assert one["wilson_low"] < one["percent"] < one["wilson_high"]
    assert table["percent_low"].notna().mean() < 0.2, "hardly a topic has replies to ten users"
    small = table[table["cases"] < 20]
    assert len(small) and small["percent"].isna().all()
    assert parts.summarize_breakdown(table, topics)["small"] == len(small)


@pytest.mark.sample
def test_rules_and_a_model_are_compared(bench):
    def reply(request):
        if "ux_topic" in request.prompt:
            return Answer(data={"scenario": "entertainment", "domain": "games"})
        return Answer(data={"primary": "apology", "all": ["apology"]})

    model, form = Scripted(reply=reply), PromptSettings("en")
    topics = ux.topics_of(bench.cases, form, model)
    topics["query"] = [case.query for case in bench.cases]
    replies = pd.DataFrame({"case": [f"c{i}" for i in range(30)], "reply": ["Sorry.", "Oops!", "Nine."] * 10})
    opened = ux.strategies_of(replies, {}, form, model).assign(model="recorded")
    listed = parts.list_labels(topics, opened)
    assert listed["kind"].value_counts().to_dict() == {"scenario": 60, "intent": 60, "strategy": 30}
    assert listed.iloc[-1].tolist() == ["c29", "Nine.", "other", "apology", "strategy"]
    table = parts.compare_labellers(listed).set_index(["kind", "label"])
    assert table.loc[("strategy", "all"), "equal"] == pytest.approx(1 / 3)
    assert table.loc[("strategy", "humor"), ["one", "other"]].tolist() == [10, 0]
    assert table.loc[("scenario", "all"), "replies"] == len(bench.cases)
    few = parts.list_labels(topics[:0], opened[:2])
    assert len(few) == 2 and parts.compare_labellers(few).empty


@pytest.mark.sample
def test_ways_of_asking_are_compared_with_the_first(bench):
    def reply(request):
        return Answer(data={"verdict": "good" if "ux_judge_user" in request.prompt else "bad"})

    model, whole = Scripted(reply=reply), StudyScope(None, 5, "published", 0, False)
    ways = ["zero-shot", "few-shot", "user modelling"]
    found = study.ask_model(bench.cases, model, "en", whole, ways, "high")
    assert found["judge"].nunique() == 4 and (found["effort"] == "high").all()
    assert found["case"].nunique() == len(bench.cases) - 8, "examples are not judged"
    table = ux.strategy_gains(found[found["judge"] != "UX judge (zero-shot, three classes)"])
    # Judged are as many good cases as bad ones: always good is right where always bad is wrong.
    assert table["accuracy"].tolist() == [50, 50, 50] and table["gain"].tolist() == [0, 0, 0]
    assert table["gain_low"].iloc[2] < 0 < table["gain_high"].iloc[2]


@pytest.mark.sample
def test_replies_are_written_under_each_prompt(world, rewards):
    model = Scripted(reply=lambda request: Answer(text="Here is a plan: 1. the baths, 2. a walk.", finish="stop"))
    cases = parts.select_cases_to_answer(world, "task2")[:12]
    shares = parts.measure_good_share(rewards.score(parts.ask_for_replies(cases, model, "en", 10), cases))
    assert shares["how"].tolist() == ["helpful", "none", "experience", "empathy"]
    assert (shares["cases"] == 10).all() and "liked_percent" not in shares


@pytest.mark.sample
def test_a_model_scores_replies_beside_the_reward_model_or_alone(world, rewards):
    def verdict(request):
        return Answer(data={"verdict": "good" if "A walk." in str(request.messages) else "bad"})

    judge, writer = Scripted(reply=verdict), Scripted(reply=lambda request: Answer(text="A walk.", finish="stop"))
    cases = parts.select_cases_to_answer(world, "task2")[:12]
    made = parts.ask_for_replies(cases, writer, "en", 12)
    model = parts.ModelScorer(judge, "en", 6)
    shares = parts.measure_good_share(parts.score_with_each(made, cases, [rewards.score, model.score]))
    name = f"UX judge, {judge.name}"
    assert shares["judge"].unique().tolist() == [study.ALL_RATED, name] and len(shares) == 8
    own = shares[shares["judge"] == name]
    assert (own["cases"] == 6).all() and (own["percent"] == 100).all()
    assert own["wilson_low"].round(1).eq(61.0).all() and (own["wilson_high"] == 100).all()

    def lacking(replies, cases):
        raise NotEnough("Nothing to learn from.")

    alone = parts.score_with_each(made, cases, [lacking, model.score])
    assert set(alone["judge"]) == {name} == set(parts.select_first_scorer(alone)["judge"])
    with pytest.raises(NotEnough, match="Nothing to learn from"):
        parts.score_with_each(made, cases, [lacking])
    truth = parts.add_truth(shares.assign(liked_percent=50.0)).query("judge == 'liked_percent'")
    assert truth["percent"].tolist() == [50] * 4 and truth["wilson_low"].isna().all()


def test_every_reason_has_a_name_in_both_languages():
    for stage, reasons in REASONS.items():
        for name in reasons:
            with using_language("zh"):
                assert translate_value(name, "ux ") != name, (stage, name)
            assert "_" not in translate_value(name, "ux "), (stage, name)


def test_the_users_mean_stands_beside_the_learned_judge_on_the_same_cases(world, bench):
    by_ratings = study.judge_by_ratings(world, bench.cases)
    by_judge = by_ratings.set_index("case").groupby("judge")["score"]
    own, mean = by_judge.get_group("learned"), by_judge.get_group(study.USER_MEAN)
    assert len(own) and own.index.equals(mean.index) and own.nunique() > mean.nunique()
    first = by_ratings.iloc[-1]
    known = world.block(first["user"], first["scenario"]).evidence["score"].dropna().astype(float)
    assert first["score"] == pytest.approx(known.mean())
