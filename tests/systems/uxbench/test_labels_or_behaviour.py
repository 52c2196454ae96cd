"""Ratings and behaviour as evidence: the same turns under other labels, curves, and what a rating is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from perslib.corpus import TURN, load
from perslib.errors import DataError, NotEnough, UnknownName
from perslib.judge.scope import StudyScope
from perslib.systems.uxbench.studies import labels_or_behaviour as study

LOOK = StudyScope(60, 5, "published", 6000, False)


@pytest.fixture(scope="module")
def world():
    whole = load("sample/en")
    parts = whole.split()
    return whole.of_users([*parts["train"], *parts["test"][:12]])


@pytest.fixture(scope="module")
def known(world):
    return study.find_labels(world)


@pytest.fixture(scope="module")
def found(world):
    return study.trace_curves(study.judge_labels("user mean", world, "10, 4", LOOK))


def test_behaviour_is_put_on_the_scale_that_train_users_rated_on(world, known):
    train = known[known.index.get_level_values("user").isin(world.split()["train"])]
    assert train["behaviour"].mean() == pytest.approx(train["rated"].mean())
    by_vote = known.groupby("weak")["behaviour"].mean()
    assert by_vote.is_monotonic_increasing and by_vote[4] > by_vote[2] + 0.5
    assert sorted(known["dealt"]) == sorted(known["rated"])


def test_kinds_differ_in_labels_only(world, known):
    block = next(world.blocks("test"))
    ways = [(kind, 6) for kind in study.KINDS]
    made = dict(zip(study.KINDS, study.relabel_block(block, known, ways)))
    own = known.reindex(pd.MultiIndex.from_frame(block.evidence[TURN]))
    score = {kind: b.evidence["score"].astype(float).to_numpy() for kind, b in made.items()}
    first = np.argsort(own["order"].to_numpy())[:6]
    for kind, labels in score.items():
        labelled = np.flatnonzero(~np.isnan(labels))
        assert set(labelled) == set(first) or kind == "ratings and log"
        assert made[kind].evidence["response"].equals(block.evidence["response"])
        assert made[kind].evidence["reason"].isna().all() and made[kind].sessions["satisfaction"].isna().all()
    assert score["ratings"][first] == pytest.approx(own["rated"].to_numpy()[first])
    assert score["half and half"][first[::2]] == pytest.approx(own["rated"].to_numpy()[first[::2]])
    assert score["half and half"][first[1::2]] == pytest.approx(own["behaviour"].to_numpy()[first[1::2]])
    log = score["ratings and log"]
    assert (np.isfinite(log) == own["weak"].notna().to_numpy()).all() and log[first] == pytest.approx(
        score["ratings"][first]
    )
    (whole,) = study.relabel_block(block, known, [("behaviour", 6)], use_whole_scores=True)
    assert whole.evidence["score"].dropna().tolist() == own["weak"].to_numpy()[sorted(first)].tolist()


def test_a_judge_never_has_more_labels_than_the_budget(world):
    found = study.judge_labels("user mean", world, "4, 10", LOOK)
    counts = found[found["kind"] != "ratings and log"].groupby("budget")["labels"].agg(["min", "max"])
    assert counts.loc[4].tolist() == [4, 4] and counts.loc[10].tolist() == [10, 10]
    assert counts.loc[0].tolist() == [0, 0] and set(found[found["budget"] == 0]["judge"]) == {"task mean"}
    assert found.groupby(["judge", "kind", "budget"]).size().nunique() == 1


def test_curves_compare_with_ratings_at_the_same_number(found):
    assert found.judges == ["user mean"] and found.budgets == [4, 10]
    points = found.points
    assert points[points["metric"] == "wc_pearson"].empty  # the user's mean reads no reply
    own = points.set_index(["judge", "kind", "budget"])["value"]
    moved = study.compare_kinds(found).set_index(["kind", "budget"])
    assert len(moved) == 6 and (moved["difference_p_holm"] >= moved["difference_p"]).all()
    assert moved.loc[("behaviour", 10), "difference"] == pytest.approx(
        own["user mean", "behaviour", 10] - own["user mean", "ratings", 10]
    )
    assert np.isfinite(found.control) and (points["value_low"] < points["value"]).all()
    assert study.estimate_worth(found)["budget"].tolist() == [4, 10]


def test_no_correlation_rests_on_a_few_replies(world):
    few = study.judge_labels("user mean", world, "4", replace(LOOK, turns=20))
    with pytest.raises(NotEnough, match="Fewer than 30 judged replies"):
        study.trace_curves(few)


def test_what_a_rating_is_worth():
    numbers = np.array([5.0, 10.0, 40.0])
    reached = np.array([[0.1, 0.3], [0.2, 0.2], [0.4, 0.25]])  # the second falls, and counts as flat
    needed = study.count_needed_labels(np.array([0.3, 0.31]), numbers, reached)
    assert needed[0] == pytest.approx(20)  # halfway from 10 to 40 on a log scale
    assert np.isinf(needed[1])
    assert study.count_needed_labels(np.array([0.05, np.nan]), numbers, reached)[0] == pytest.approx(5)
    assert np.isnan(study.count_needed_labels(np.array([0.05, np.nan]), numbers, reached)[1])
    row = {"least": 1.0, "most": 8.0, "worth": 4.0, "worth_low": 1.0, "worth_high": np.inf}
    never, unknown = dict.fromkeys(row, np.inf) | {"least": 1.0, "most": 8.0}, dict.fromkeys(row, np.nan)
    cells = study.format_worths(pd.DataFrame([row, never, unknown]))
    assert list(map(str, cells)) == ["not known", "> 8.0", "–"]
    (cell,) = study.format_worths(pd.DataFrame([row | {"worth_high": 6.0}]))
    assert str(cell) == "4.0 [≤ 1.0, 6.0]"


def test_parameters_and_corpora_that_cannot_be_used_say_so(world):
    with pytest.raises(DataError, match="expected whole numbers"):
        study.judge_labels("user mean", world, "5, many", LOOK)
    with pytest.raises(UnknownName):
        study.judge_labels("user men", world, "5", LOOK)
    unrated = replace(world, turns=world.turns.assign(score=None), extras={})
    with pytest.raises(NotEnough, match="no test user with rated replies in two scenarios"):
        study.judge_labels("user mean", unrated, "5", LOOK)
