"""Behaviour in the place of ratings: on the synthetic world, where the satisfaction behind it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perslib.corpus import TURN, load
from perslib.errors import NotEnough
from perslib.judge import UserMean, evaluate
from perslib.stats import correlation
from perslib.systems.uxbench.loaders.log_records import session
from perslib.systems.uxbench.signals import (
    behavioural,
    fit_votes,
    make_log_sessions,
    reactions,
    signals_of,
    weak_labels,
)
from perslib.systems.uxbench.signals.similarity import same_content


@pytest.fixture(scope="module", params=["zh", "en"])
def world(request):
    return load(f"sample/{request.param}")


@pytest.fixture(scope="module")
def signals(world):
    return signals_of(world)


def found(signals, world, name):
    true = world.extras["truth_turns"]["behaviour"].map(lambda names: name in names).to_numpy()
    return (signals[name] > 0).to_numpy(), true


def test_a_row_a_turn_in_the_order_of_the_corpus(world, signals):
    assert signals[TURN].equals(world.turns[TURN])
    sessions, places = make_log_sessions(world)
    assert sorted(places) == list(range(len(world.turns)))
    texts = [m.text for s in sessions for m in s.messages if m.role == "assistant"]
    assert [world.turns["response"].iloc[i] for i in places] == texts


@pytest.mark.parametrize(
    "name, recall",
    [("dislike", 1), ("like", 1), ("complain", 0.85), ("dismiss", 0.85), ("skim", 0.75), ("repeat", 0.6)],
)
def test_what_people_did_is_found(world, signals, name, recall):
    got, true = found(signals, world, name)
    assert (got & true).sum() >= recall * true.sum()


def test_clicks_are_read_without_error(world, signals):
    for name in ("like", "dislike"):
        got, true = found(signals, world, name)
        assert (got == true).all()


def test_weak_labels_go_with_satisfaction(world, signals):
    labels = weak_labels(signals)
    gold = world.turns["score"].to_numpy(float)
    has = labels["label"].notna().to_numpy()
    r = np.corrcoef(labels["label"].to_numpy(float, na_value=np.nan)[has], gold[has])[0, 1]
    assert r > 0.4
    sure = labels["weight"] >= 0.5
    bad = sure & (labels["label"] < 3).fillna(False)
    good = sure & (labels["label"] > 4.4).fillna(False)
    assert gold[good].mean() - gold[bad].mean() > 1


def test_the_label_is_the_mean_of_the_votes(signals):
    row = signals[(signals["primary"] == "like") & (signals["thanks"] + signals["ack"] == 0)].head(1)
    label = weak_labels(row).iloc[0]
    assert (label["label"], label["weight"], label["why"]) == (5.0, 1.0, "like")
    both = row.assign(complain=0.5, primary="complain")
    mixed = weak_labels(both).iloc[0]
    assert mixed["label"] == pytest.approx((1.0 * 5 + 0.45 * 2) / 1.45)
    assert weak_labels(row.assign(conflict=True))["label"].isna().all()


def test_nothing_that_was_rated_is_left(world):
    weak = behavioural(world)
    assert weak.meta["labels"] == "behaviour" and not weak.extras
    assert weak.turns["reason"].isna().all() and weak.sessions["satisfaction"].isna().all()
    assert set(weak.turns["score"].dropna()) <= {1, 2, 3, 4, 5}
    assert weak.turns["response"].equals(world.turns["response"])
    blind = behavioural(
        type(world)(
            world.name,
            world.language,
            world.users,
            world.sessions.assign(satisfaction=None),
            world.turns.assign(score=None, reason=None),
        )
    )
    assert blind.turns["score"].equals(weak.turns["score"])


def test_a_memory_built_on_behaviour_knows_something_of_the_user(world):
    weak = replace(behavioural(world), name=world.name)
    told = evaluate(UserMean(), weak, users=world.users["user"].head(12), progress=False)
    both = told.merge(world.turns[[*TURN, "score"]], on=TURN).dropna(subset=["raw"])
    assert len(both) > 0.95 * len(told)
    value, *_ = correlation(both["raw"], both["score"], both["user"])
    assert value > 0.1


# -- votes learned from ratings ------------------------------------------------------------------------------------


def test_fitted_votes_go_with_other_users_ratings_at_least_as_well(world, signals):
    votes = fit_votes(world)
    test = world.turns["user"].isin(world.split()["test"]).to_numpy()
    gold = world.turns["score"].to_numpy(float)[test]
    r = []
    for labels in (weak_labels(signals), weak_labels(signals, votes)):
        label = labels["label"].to_numpy(float, na_value=np.nan)[test]
        known = np.isfinite(label)
        r.append(np.corrcoef(label[known], gold[known])[0, 1])
    assert r[1] > 0.4 and r[1] > r[0] - 0.03
    assert votes.effects["complain"] < -0.3 < 0 < votes.effects["thanks"] and votes.turns == (~test).sum()


def test_votes_are_learned_from_train_users_alone(world):
    votes = fit_votes(world)
    turned = world.turns["user"].isin(world.split()["test"])
    other = replace(
        world, turns=world.turns.assign(score=world.turns["score"].where(~turned, 6 - world.turns["score"]))
    )
    assert fit_votes(other) == votes
    with pytest.raises(NotEnough, match="has none"):
        fit_votes(replace(world, turns=world.turns.assign(score=None)))


@pytest.mark.parametrize(
    "before, after, same",
    [
        ("红烧肉需要什么配菜", "清蒸鲈鱼需要什么配菜", False),
        ("成都有什么酒店比较好", "在成都用什么交通工具比较方便", False),
        ("围巾推荐", "羊毛围巾品牌推荐", False),
        ("公积金怎么提取", "公积金应该如何提取", True),
        ("how do I reset my router", "how can I reset the router?", True),
    ],
)
def test_the_same_request_and_another_in_the_same_frame(before, after, same):
    assert same_content(before, after) == same


@pytest.mark.parametrize(
    "text",
    [
        "太油腻了", "这些酒店有点贵", "我不太喜欢番茄", "還是報錯", "沒有用", "？？？", "你是不是忘了预算", "就这？",
        "it still gives the same error", "thats worng", "thanks for nothing", "too salesy for me", "🙄",
        "你的回答完全错误", "答案是错误的", "1989年不是闰年", "你只给了三个", "这些超出我的预算了", "怎么跟上面一样", "请说中文",
        "eggs aren't vegan", "that's only four words", "I thought you said it was free", "you aren't making sense",
    ],
)  # fmt: skip
def test_evaluations_of_a_reply_are_complaints(text):
    assert "complain" in said_after(text).names


@pytest.mark.parametrize(
    "text",
    [
        "最重要的是什么", "说错了我想问的是按摩仪", "烦死了邻居又在装修怎么办", "shut up and take my money",
        "I feel worthless today", "会不会太辣", "write a complaint to my landlord", "把它翻译成法语",
        "我觉得自己就是个废物", "what a terrible final", "我家没有烤箱", "番茄不是蔬菜吗", "I miss the aquarium back home",
        "No, I have not", "it's good to see you after so long", "I locked myself out like an idiot", "Its nice here isn't it?",
    ],
)  # fmt: skip
def test_words_about_something_else_are_none(text):
    assert "complain" not in [s.name for s in said_after(text).signals if s.strength != "weak"]


@pytest.mark.parametrize(
    "text, name",
    [
        ("thanks this helped a lot with my essay", "thanks"), ("謝謝你幫大忙了", "thanks"), ("太强了", "thanks"),
        ("exactly what i needed", "thanks"), ("forget it i'll just google it", "dismiss"), ("算了我自己查", "dismiss"),
    ],
)  # fmt: skip
def test_thanks_and_giving_up_as_people_write_them(text, name):
    assert name in said_after(text).names


def test_a_thank_you_letter_is_no_thanks():
    assert "thanks" not in said_after("thank you letter for my teacher").names


def said_after(text):
    """The reaction to a reply after which somebody writes this."""
    history = [("user", "推荐几道菜"), ("assistant", "可以做红烧肉和清蒸鲈鱼，步骤如下。"), ("user", text)]
    return reactions(session({"cid": "c", "history": [{"role": r, "message": m} for r, m in history]}))[0]
