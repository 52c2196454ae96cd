"""Behaviour in the place of ratings: on the synthetic world, where the satisfaction behind it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perslib.corpus import TURN, load
from perslib.judge import UserMean, evaluate
from perslib.signals import behavioural, sessions_of, signals_of, weak_labels
from perslib.stats import correlation


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
    sessions, places = sessions_of(world)
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
