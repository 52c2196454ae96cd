"""PAL-Bench's tables: published means, intervals over users, paired differences, costs, outcomes, people's votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pal_made import Letters, Model, name_of, usual

from perslib.errors import DataError, UnknownName
from perslib.prompts import PromptSettings
from perslib.stats import holm
from perslib.systems.mem_pal.bench import (
    agreement_with_people,
    average_samples,
    bleu,
    compare_dialogues,
    compare_methods,
    costs,
    find_majority_votes,
    grade_answers,
    list_bench_users,
    outcomes,
    read_votes,
    run,
    run_dialogues,
    score_samples,
    start_dialogues,
    win_tie_lose,
)
from perslib.systems.mem_pal.memory.baselines import Vanilla, baselines
from perslib.systems.mem_pal.memory.h2 import H2Memory
from perslib.systems.mem_pal.world import palset


def samples(values, task="selection", metric="s_score"):
    """{method: {user: [points, …]}} as samples."""
    rows = [
        {"method": m, "backbone": "b", "user": u, "session": f"{u}_s", "topic": f"topic-{i}", "value": v}
        for m, users in values.items()
        for u, own in users.items()
        for i, v in enumerate(own)
    ]
    return pd.DataFrame(rows).assign(task=task, metric=metric).astype({"value": "Float64"})


def test_means_are_pooled_over_samples_and_scaled_as_published():
    table = average_samples(samples({"m": {"A": [2, 1], "B": [-1]}})).iloc[0]
    assert round(table["value"], 3) == 33.333 and np.isnan(table["value_low"])  # two users say nothing of users
    assert (table["samples"], table["users"], table["failed"]) == (3, 2, 0)
    assert average_samples(samples({"m": {"A": [0.25]}}, "solution", "bleu_1"))["value"].item() == 25.0
    assert average_samples(samples({"m": {"A": [2, 1.5, 0, 0.5]}}, "requirement", "g_score"))["value"].item() == 50.0


def test_what_failed_is_counted_and_left_out():
    table = average_samples(samples({"m": {"A": [2, None], "B": [None]}})).iloc[0]
    assert table["value"] == 100 and table["failed"] == 2 and table["users"] == 1
    nothing = average_samples(samples({"m": {"A": [None]}})).iloc[0]
    assert np.isnan(nothing["value"]) and nothing["failed"] == 1


def drawn(users=30, lead=1.0, seed=0):
    rng = np.random.default_rng(seed)
    base = {f"u{i:02}": rng.integers(-1, 2, 8).tolist() for i in range(users)}
    better = {u: [min(2, v + (rng.random() < lead)) for v in own] for u, own in base.items()}
    return base, better


def test_differences_are_paired_on_common_samples_and_corrected():
    base, better = drawn(lead=0.3)
    third = {u: list(own) for u, own in base.items()}
    third["u00"][0] = None
    table = compare_methods(samples({"ours": better, "a": base, "b": third}), "ours")
    assert table[["method", "other"]].values.tolist() == [["ours", "a"], ["ours", "b"]]
    own, other = (np.array(list(v.values()), float) for v in (better, base))
    assert table["difference"][0] == pytest.approx((own - other).mean() * 50)
    assert (
        table["difference_low"][0] > 0 and table["samples"].tolist() == [240, 239] and table["difference_p"][0] < 0.01
    )
    assert np.allclose(table["difference_p_holm"], holm(table["difference_p"]))
    pairs = compare_methods(samples({"ours": better, "a": base, "b": third}))
    assert len(pairs) == 3 and pairs.iloc[2]["difference"] == 0 and pairs.iloc[2]["difference_p"] == 1
    behind = compare_methods(samples({"a": base, "ours": better}), "ours")
    assert behind["method"].item() == "ours" and behind["difference"].item() > 0
    with pytest.raises(UnknownName):
        compare_methods(samples({"a": base}), "nobody")


def test_an_interval_covers_the_mean_and_few_users_have_none():
    base, _ = drawn()
    table = average_samples(samples({"m": base})).iloc[0]
    assert table["value_low"] < table["value"] < table["value_high"]
    few = compare_methods(samples({"a": {"u": [1]}, "b": {"u": [0]}})).iloc[0]
    assert np.isnan(few["difference_p"]) and np.isnan(few["difference_low"]) and few["difference"] == 50


def test_an_answer_that_is_there_twice_is_refused():
    one = samples({"m": {"A": [1]}})
    with pytest.raises(DataError, match="twice"):
        average_samples(pd.concat([one, one]))


# -- from a synthetic set to the tables --------------------------------------------------------------------


@pytest.fixture(scope="module")
def who():
    return list_bench_users(palset(users=2, seed=7, language="zh"))


def knowing(who):
    """A model that selects what the user likes where it is shown logs, and anything elsewhere."""
    liked = {s.topic.requirement: s.topic for p in who for s in p.scenes}

    def say(request):
        text = request.messages[-1]["content"]
        if name_of(request) == "pal_selection" and "上次对话以来的设备日志" in text:
            (topic,) = {t.id: t for r, t in liked.items() if r in text}.values()
            return {"analysis": "", "selected_solutions": [i for i, f in topic.feedback.items() if f == "pos"]}
        return usual(request)

    return say


def test_people_have_query_sessions_topics_and_scenes(who):
    assert len(who) == 2 and all(p.history and p.query and p.scenes for p in who)
    for scene in who[0].scenes:
        assert len(scene.topic.candidates) == 8 and scene.profile and scene.situation
        assert scene.likes and scene.dislikes and len(scene.reasons) == 4 and all(scene.evidences)
    assert all(s.at >= who[0].history[-1].at for s in who[0].query)
    with pytest.raises(DataError, match="no topics"):
        from perslib.corpus import load

        list_bench_users(load("sample/zh"))


@pytest.mark.sample
def test_from_answers_to_the_table_with_costs(who):
    memories = [Vanilla("zh", logs=False), Vanilla("zh"), baselines("zh", embedder=Letters())[5]]
    answers, served = run(memories, who, Model(knowing(who)), PromptSettings("zh"))
    one = score_samples(grade_answers(answers, who, Model(), PromptSettings("zh")), who)
    assert set(one["metric"]) == {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "g_score", "s_score"}
    table = average_samples(one)
    s = table[table.metric == "s_score"].set_index("method")["value"]
    assert s["vanilla (with log)"] == 100.0 == s["ConditionMem"] and s["vanilla (without log)"] < 100
    restated = one[(one.metric == "bleu_1") & (one.method == "vanilla (with log)") & (one.task == "requirement")]
    topic = who[0].scenes[0].topic
    assert restated["value"].iloc[0] == bleu("Warm meals.", topic.requirement)["bleu_1"]
    assert table[table.metric == "g_score"]["value"].tolist() == [25.0] * 3
    taken = costs(answers, served)
    assert list(taken["method"]) == [memory.name for memory in memories]
    records = taken[taken.method == "ConditionMem"].iloc[0]
    assert records["build_calls"] == np.mean([len(p.history) + len(p.query) for p in who])
    assert records["answer_calls"] == 1 and records["answer_seconds"] == 0.5 and records["answer_tokens"] == 110
    assert records["memory_failed"] == records["answers_failed"] == 0


def test_english_is_scored_by_words_under_its_own_name_or_as_published():
    own = list_bench_users(palset(users=1, seed=3, language="en"))
    answers, _ = run([Vanilla(logs=False)], own, Model(), tasks=["requirement", "solution"])
    by_words, published = score_samples(answers, own), score_samples(answers, own, tokens="jieba")
    assert set(by_words["metric"]) == {f"word_bleu_{n}" for n in (1, 2, 3, 4)}
    assert set(published["metric"]) == {f"bleu_{n}" for n in (1, 2, 3, 4)}


def test_an_answer_that_failed_has_no_score_of_any_kind(who):
    answers, _ = run([Vanilla("zh")], who, Model(lambda request: {"nonsense": 1}), PromptSettings("zh"))
    table = average_samples(score_samples(grade_answers(answers, who, Model()), who))
    assert table["value"].isna().all() and (table["failed"] == sum(len(p.scenes) for p in who)).all()


def test_h2memory_goes_through_the_same_tasks(who):
    answers, served = run([H2Memory("zh", embedder=Letters())], who[:1], Model(usual_h2), PromptSettings("zh"))
    assert answers["error"].isna().all() and served[0].build["calls"] > 50
    assert answers["pieces"].gt(0).all()


def usual_h2(request):
    from prompt_fields_h2 import ANSWERS

    return ANSWERS.get(name_of(request)) or usual(request)


def test_from_dialogues_to_win_tie_lose(who):
    memories = [Vanilla("zh"), Vanilla("zh", logs=False)]
    held = run_dialogues(start_dialogues(memories, who, Model()), Model(), Model(), PromptSettings("zh"))
    better = {"assistant_1": 6, "assistant_2": 6}
    judge = Model(lambda r: {"analysis": dict.fromkeys([*better, "overall"], ""), "scores": better})
    pairs = outcomes(compare_dialogues(held, judge, PromptSettings("zh"), method="vanilla (with log)"))
    table = win_tie_lose(pairs)
    topics = sum(len(p.scenes) for p in who)
    assert table["dimension"].tolist() == ["requirement", "preference"]
    assert table["tie"].tolist() == [topics] * 2 and table["lead"].tolist() == [0, 0]
    assert table["users"].tolist() == [2, 2] and table["lead_p_holm"].isna().all()


# -- people ------------------------------------------------------------------------------------------------


def pairs(labels, dimension="requirement", users=6):
    rows = [
        {"user": f"u{i % users}", "session": f"s{i}", "topic": "topic-1", "outcome": label}
        for i, label in enumerate(labels)
    ]
    return pd.DataFrame(rows).assign(method="ours", other="theirs", dimension=dimension)


JUDGE = ["win"] * 5 + ["lose"] * 3 + ["win", "lose", "tie", "win", None]
PEOPLE = ["win"] * 5 + ["lose"] * 3 + ["lose", "win", "win", "tie", "win"]


def test_agreement_with_people_is_kappa_over_what_both_decide(tmp_path):
    own = pairs(PEOPLE).rename(columns={"outcome": "vote"})[["user", "session", "topic", "dimension", "vote"]]
    votes = pd.concat([own.assign(rater="a"), own.assign(rater="b")])
    votes.to_csv(tmp_path / "votes.csv", index=False)
    table = agreement_with_people(pairs(JUDGE), find_majority_votes(read_votes(tmp_path / "votes.csv"))).iloc[0]
    assert round(table["kappa"], 6) == 0.583333 and table["decided"] == 10 and table["topics"] == 12
    assert [table[f"judge_{n}"] for n in ("win", "tie", "lose")] == [7, 1, 4]
    assert [table[f"people_{n}"] for n in ("win", "tie", "lose")] == [7, 1, 4]
    assert np.isnan(table["kappa_low"])  # six people are too few
    with pytest.raises(DataError, match="which method"):
        more = pd.concat([pairs(JUDGE), pairs(JUDGE).assign(other="third")])
        agreement_with_people(more, find_majority_votes(read_votes(tmp_path / "votes.csv")))


def test_one_pair_has_no_kappa():
    people = pairs(["win"]).rename(columns={"outcome": "people"})
    table = agreement_with_people(pairs(["win"]), people).iloc[0]
    assert np.isnan(table["kappa"]) and table["decided"] == 1


def test_raters_who_disagree_tie():
    rows = {"user": "u", "session": "s", "topic": "t", "dimension": "preference"}
    votes = pd.DataFrame([{**rows, "rater": r, "vote": v} for r, v in (("a", "win"), ("b", "lose"))])
    assert find_majority_votes(votes)["people"].tolist() == ["tie"] and find_majority_votes(votes)[
        "raters"
    ].tolist() == [2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u,s,t,requirement,a,maybe", "vote is 'maybe'"),
        ("u,s,t,style,a,win", "dimension is 'style'"),
        ("u,s,t,requirement,r,lose", "is a second vote"),
    ],
)
def test_votes_that_say_nothing_are_named_with_their_line(line, message, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"user,session,topic,dimension,rater,vote\nu,s,t,requirement,r,win\n{line}\n")
    with pytest.raises(DataError, match=rf"votes\.csv:3: {message}"):
        read_votes(path)
    path.write_text("user,session\nu,s\n")
    with pytest.raises(DataError, match="no column topic, dimension, rater, vote"):
        read_votes(path)


@pytest.mark.parametrize("line", [b"\xed\xa0\xbd,s,t,requirement,a,win", b'"u,s,t,requirement,a,win'])
def test_votes_that_cannot_be_read_are_named_with_their_line(tmp_path, line):
    (tmp_path / "votes.csv").write_bytes(b"user,session,topic,dimension,rater,vote\n" + line + b"\n")
    with pytest.raises(DataError, match=r"votes\.csv:2: (is not UTF-8|has another number of fields)"):
        read_votes(tmp_path / "votes.csv")


def test_a_rater_may_vote_on_several_opponents_and_on_each_once(tmp_path):
    path = tmp_path / "votes.csv"
    lines = ["user,session,topic,dimension,rater,vote,method,other"]
    lines += [f"u,s,t,requirement,r,{vote},ours,{other}" for vote, other in (("win", "a"), ("lose", "b"))]
    path.write_text("\n".join(lines))
    people = find_majority_votes(read_votes(path)).set_index("other")["people"]
    assert people.to_dict() == {"a": "win", "b": "lose"}
    path.write_text("\n".join([*lines, "u,s,t,requirement,r,tie,ours,a"]))
    with pytest.raises(DataError, match=r"votes\.csv:4: is a second vote"):
        read_votes(path)


def test_a_lead_is_tested_by_users_and_corrected():
    won, even = pairs(["win"] * 20 + ["tie"] * 4, users=12), pairs(["win", "lose"] * 12, users=12)
    wins = pd.concat([won, even.assign(other="third")])
    table = win_tie_lose(wins)
    assert table["lead"].tolist() == [20 / 24, 0.0] and table["win"].tolist() == [20, 12]
    assert np.allclose(table["lead_p_holm"], holm(table["lead_p"])) and 0.4 < table["lead_low"][0] < 20 / 24
    few = win_tie_lose(pairs(["win"] * 24))
    assert np.isnan(few["lead_low"][0]) and few["lead_p"][0] >= 2 / 2**6  # six users cannot say more
