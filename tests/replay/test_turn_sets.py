"""Replay sets: the published selection step by step, and the fair draw whose probabilities must be true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import real
from histories import corpus_of

from perslib.corpus import TURN, Corpus, load
from perslib.errors import DataError, UnknownName
from perslib.replay import describe_turn_sets, hard_set, stratified_set
from perslib.replay import turn_sets as sets
from perslib.replay.turn_sets import sample_turns

LONG, MIDDLING, SHORT, REPLY = (
    "a request of thirty characters",
    "nine char",
    "short",
    "a reply that says something useful",
)


def session(user: str, scenario: str, number: str, *rated: tuple[str, int | None], reply: str = REPLY):
    """A session that opens with a turn that no published selection takes."""
    return [(user, scenario, number, request, reply, score) for request, score in ((LONG, 1), *rated)]


def keys(chosen: pd.DataFrame) -> list[str]:
    return [f"{r.user}/{r.scenario}/{r.session}/{r.turn}" for r in chosen.itertuples()]


# -- the published selection ------------------------------------------------------------------------------------


def test_selection_scores_are_the_sum_of_their_reasons():
    corpus = corpus_of(
        [
            *session("a", "gift", "0", (LONG, 3)),
            *session("a", "gift", "1", (MIDDLING, 2)),
            *session("a", "gift", "2", (SHORT, 1)),
            *session("a", "trip", "0", (LONG, 4)),
            *session("a", "trip", "1", (LONG, 5)),
        ]
    )
    chosen = hard_set(corpus, split=None)
    assert dict(zip(keys(chosen), chosen["selection_score"])) == {
        "a/gift/0/1": 3 + 2 + 1.5 + 1 + 1,
        "a/gift/1/1": 3 + 1.5 + 1,
        "a/gift/2/1": 3 + 1.5 - 1.5,
        "a/trip/0/1": 2 + 1 + 1,
        "a/trip/1/1": 1 + 1 - 0.5,
    }
    why = dict(zip(keys(chosen), chosen["why"]))
    assert why["a/gift/0/1"] == ("dissatisfied", "near the boundary", "specific reason", "substantive", "long request")
    assert why["a/gift/2/1"] == ("dissatisfied", "specific reason", "not substantive")
    assert why["a/trip/1/1"] == ("substantive", "long request", "rated 5")
    assert chosen["inclusion"].isna().all()
    assert not {"score", "gold"} & set(chosen.columns)


@pytest.mark.parametrize("reason", ["其它", "其他", "other", None])
def test_a_reason_that_says_nothing_earns_nothing(reason):
    corpus = corpus_of([*session("a", "gift", "0", (LONG, 3)), *session("a", "trip", "0", (LONG, 4))])
    vague = replace(corpus, turns=corpus.turns.assign(reason=reason))
    assert hard_set(vague, split=None)["selection_score"].tolist() == [7.0, 4.0]


@pytest.mark.parametrize(
    ("request_", "reply", "substantive"),
    [
        ("1234567", REPLY, False),
        ("12345678", REPLY, True),
        (" 1234567 ", REPLY, False),
        (LONG, "好的。！", False),
        (LONG, "好的，这就改", True),
        ("twelve chars", "r" * 24, False),
        ("twelve chars", "r" * 25, True),
    ],
)
def test_what_is_substantive(request_, reply, substantive):
    rows = [*session("a", "gift", "0", (request_, 2), reply=reply), *session("a", "trip", "0", (LONG, 2))]
    (found,) = (
        w for k, w in zip(*hard_set(corpus_of(rows), split=None)[["scenario", "why"]].T.to_numpy()) if k == "gift"
    )
    assert ("substantive" in found) is substantive
    assert ("not substantive" in found) is not substantive
    satisfied = [*session("a", "gift", "0", (request_, 4), reply=reply), *session("a", "trip", "0", (LONG, 2))]
    assert ("gift" in set(hard_set(corpus_of(satisfied), split=None)["scenario"])) is substantive


def test_one_turn_a_session_and_ties_go_by_the_text_of_the_id():
    rows = session("a", "gift", "0", *[(LONG, 4 if i in (2, 10) else None) for i in range(1, 12)])
    corpus = corpus_of([*rows, *session("a", "trip", "0", (LONG, 3), (LONG, 2))])
    assert keys(hard_set(corpus, split=None)) == ["a/gift/0/10", "a/trip/0/1"]


def test_first_turns_are_never_taken():
    corpus = corpus_of([*session("a", "gift", "0"), *session("a", "trip", "0")])
    assert hard_set(corpus, split=None).empty


def test_a_reply_given_unasked_follows_the_users_last_message():
    rows = [*session("a", "gift", "0", (None, 2)), *session("a", "trip", "0", (None, 4))]
    assert hard_set(corpus_of(rows), split=None)["selection_score"].tolist() == [6.5, 4.0]


@pytest.mark.parametrize(("low", "controls"), [(1, 1), (2, 1), (3, 0), (4, 0)])
def test_a_block_gives_three_and_a_control_only_where_room_is_left(low, controls):
    rows = [row for i in range(low) for row in session("a", "gift", str(i), (LONG, 4))]
    rows += [row for i in range(2) for row in session("a", "gift", f"five{i}", (LONG, 5))]
    chosen = hard_set(corpus_of([*rows, *session("a", "trip", "0")]), split=None)
    rated = ["rated 5" in why for why in chosen["why"]]
    assert (rated.count(False), rated.count(True)) == (min(low, 3), controls)


def test_each_users_best_then_quotas_then_the_rest(monkeypatch):
    monkeypatch.setattr(sets, "QUOTAS", {1: 1, 2: 1, 4: 2})
    scores = {"u1": [1, 1, 1], "u10": [2, 2, 2], "u2": [4, 4, 4]}
    rows = [
        row
        for user, given in scores.items()
        for scenario, score in zip(("gift", "trip", "food"), given)
        for row in session(user, scenario, "0", (LONG, score))
    ]
    corpus = corpus_of([*rows, *session("u3", "gift", "0", (LONG, 3)), *session("u3", "trip", "0", (MIDDLING, 3))])

    def gold(budget: int) -> list[int]:
        chosen = hard_set(corpus, budget, split=None)
        return chosen.merge(corpus.turns, on=TURN)["score"].value_counts().reindex(range(1, 5), fill_value=0).tolist()

    assert gold(1) == [1, 0, 0, 0]  # users in the order of their names as text
    assert gold(2) == [1, 1, 0, 0]  # … so that u10 precedes u2
    assert gold(4) == [1, 1, 1, 1]
    assert gold(5) == [2, 1, 1, 1]  # the quotas count beyond each user's best
    assert gold(8) == [2, 2, 1, 3]
    assert gold(9) == [2, 2, 2, 3]  # then by selection score: u3's other 3 scores 7.5
    assert gold(10) == [2, 3, 2, 3]  # 6.5 each, and as text block u10__… precedes u1__…
    assert gold(300) == [3, 3, 2, 3]


def test_the_published_selection_needs_ratings():
    corpus = corpus_of([*session("a", "gift", "0", (LONG, 3)), *session("a", "trip", "0")])
    unrated = replace(corpus, turns=corpus.turns.assign(score=None, reason=None))
    with pytest.raises(DataError, match="stratified_set"):
        hard_set(unrated, split=None)
    with pytest.raises(DataError, match="is 0, expected 1 or more"):
        hard_set(corpus, 0, split=None)
    with pytest.raises(UnknownName, match="exam"):
        hard_set(corpus, split="exam")


# -- the fair draw ----------------------------------------------------------------------------------------------


def uneven(users: int = 4) -> Corpus:
    """Blocks of 1 to 12 turns; scores differ with the size of the block, so that a wrong weight shows."""
    rows = []
    for i in range(users):
        for scenario, turns in (("food", 1), ("gift", 2 + i), ("trip", 9 + i)):
            scores = [1 + (turns + k) % 5 if k else 1 for k in range(turns)]
            rows += [(f"u{i}", scenario, "0", LONG, REPLY, score) for score in scores]
    return corpus_of(rows)


@pytest.mark.parametrize("size", [5, 12, 25])
def test_every_turn_is_drawn_as_often_as_stated(size):
    turns, draws = uneven().turns, 4000
    user, block = (turns.groupby(by, sort=False).ngroup().to_numpy() for by in ("user", ["user", "scenario"]))
    found = [sample_turns(user, block, size, np.random.default_rng(seed)) for seed in range(draws)]
    times = np.mean([chosen for chosen, _ in found], axis=0)
    stated = found[0][1]
    assert (stated > 0).all() and stated.sum() == pytest.approx(size)
    assert (np.abs(times - stated) <= 4.5 * np.sqrt(stated * (1 - stated) / draws)).all()


@pytest.mark.simulation
def test_weighted_sums_of_sets_are_unbiased():
    corpus, totals, counts = uneven(), [], []
    score = corpus.turns.set_index(TURN)["score"].astype(float)
    for seed in range(80):
        chosen = stratified_set(corpus, 16, split=None, seed=seed).set_index(TURN)
        assert len(chosen) == 16
        weight = 1 / chosen["inclusion"].astype(float)
        totals.append((weight * score.loc[chosen.index]).sum())
        counts.append(weight.sum())
    assert np.std(totals) > 0
    for found, true in ((totals, score.sum()), (counts, len(score))):
        assert abs(np.mean(found) - true) <= 3.5 * np.std(found) / np.sqrt(80) + 1e-9
    means = np.array(totals) / np.array(counts)
    assert abs(means.mean() - score.mean()) < 0.1


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4, [0.8] * 5),
        (5, [1] * 5),
        # The share of the first two is less than a turn, so they have one; 18 turns remain for the 37 of the others.
        (20, [1, 1, 3 * 18 / 37, 10 * 18 / 37, 24 * 18 / 37]),
        (40, [1, 2, 3, 10, 24]),
    ],
)
def test_expected_numbers_of_a_block(size, expected):
    held = {"a": 1, "b": 2, "c": 3, "d": 10, "e": 24}
    rows = [("u", scenario, "0", LONG, REPLY, 4) for scenario, turns in held.items() for _ in range(turns)]
    corpus = corpus_of(rows)
    for seed in range(10):
        chosen = stratified_set(corpus, size, split=None, seed=seed).groupby("scenario")
        assert chosen.size().sum() == size
        drawn, stated = chosen.size().reindex(list(held), fill_value=0), chosen["inclusion"].first() * pd.Series(held)
        assert stated.dropna().tolist() == pytest.approx([e for e, s in zip(expected, stated) if pd.notna(s)])
        assert ((drawn == np.floor(expected)) | (drawn == np.ceil(expected))).all()


def test_users_get_their_share_and_scenarios_do_not_alternate():
    rows = [row for u in range(12) for s in ("a", "b", "c", "d") for row in session(f"u{u:02}", s, "0", (LONG, 4))]
    corpus = corpus_of(rows)
    one_each = stratified_set(corpus, 12, split=None)
    assert one_each["user"].value_counts().tolist() == [1] * 12
    assert one_each["scenario"].nunique() > 1, "every fourth block must not be the same scenario"
    assert set(stratified_set(corpus, 30, split=None)["user"].value_counts()) <= {2, 3}
    full = stratified_set(corpus, 60, split=None)
    assert full.groupby(["user", "scenario"]).size().pipe(lambda n: (len(n), n.min())) == (48, 1)


def test_scores_are_never_looked_at():
    corpus = uneven()
    chosen = stratified_set(corpus, 20, split=None)
    shuffled = np.random.default_rng(1).permutation(corpus.turns["score"].to_numpy())
    for turns in (corpus.turns.assign(score=shuffled, reason=None), corpus.turns.assign(score=None, reason=None)):
        pd.testing.assert_frame_equal(stratified_set(replace(corpus, turns=turns), 20, split=None), chosen)
    assert chosen["selection_score"].isna().all() and set(chosen["why"]) == {()}
    other = stratified_set(corpus, 20, split=None, seed=43)
    assert keys(other) != keys(chosen)


def test_unasked_replies_are_not_replayed_and_first_turns_are():
    rows = [
        ("a", "gift", "0", None, REPLY, 3),
        ("a", "gift", "0", LONG, REPLY, None),
        ("a", "trip", "0", LONG, REPLY, 4),
    ]
    chosen = stratified_set(corpus_of(rows), 10, split=None)
    assert keys(chosen) == ["a/gift/0/1", "a/trip/0/0"]
    assert chosen["inclusion"].tolist() == [1.0, 1.0]


def test_sizes_that_cannot_be():
    with pytest.raises(DataError, match="size of the replay set: is -1, expected 1 or more"):
        stratified_set(uneven(), -1, split=None)
    silent = corpus_of([("a", "gift", "0", None, REPLY, 3), ("a", "trip", "0", None, REPLY, 3)])
    with pytest.raises(DataError, match="no turn with a request"):
        stratified_set(silent, 5, split=None)


# -- what a set is like -----------------------------------------------------------------------------------------


def test_profile_counts_and_weighs():
    rows = [*session("a", "gift", "0", (LONG, 3), (LONG, None)), *session("b", "trip", "0", (LONG, 5))]
    corpus = corpus_of([*rows, *session("a", "trip", "0"), *session("b", "gift", "0")])
    chosen = corpus.turns[TURN].iloc[[1, 2, 4]].assign(inclusion=[0.5, 1.0, 0.25])
    beside = describe_turn_sets(corpus, {"mine": chosen}, split=None)
    mine = beside["mine"]
    assert mine.xs("", level="value").to_dict() == {
        "turns": 3,
        "users": 2,
        "blocks": 2,
        "rated": 2,
        "mean gold": 4.0,
        "mean gold, weighted": pytest.approx((2 * 3 + 4 * 5) / (2 + 4)),
    }
    assert mine["gold"].tolist() == [0, 0, 0.5, 0, 0.5]
    assert mine["scenario"].to_dict() == {"gift": pytest.approx(2 / 3), "trip": pytest.approx(1 / 3)}
    assert mine["turn"][["1", "2"]].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert list(beside.columns) == ["mine", "all"]
    assert beside.loc[("turns", ""), "all"] == 7
    assert beside.loc[("turn", "0")].tolist() == [0.0, pytest.approx(4 / 7)]
    with pytest.raises(DataError, match=f"not in {corpus.name}: a/gift/7/0"):
        describe_turn_sets(corpus, {"mine": chosen.assign(session="7", turn=[0, 1, 2])}, split=None)


# -- real conversations -----------------------------------------------------------------------------------------


@real.needs("persturnbench/persturnbench_42users.tar.gz")
def test_sets_of_real_conversations():
    corpus = load(real.ROOT / "persturnbench/persturnbench_42users.tar.gz")
    hard, fair = hard_set(corpus), stratified_set(corpus)
    pd.testing.assert_frame_equal(hard_set(corpus), hard)
    assert (hard["turn"] >= 1).all()
    assert not hard.duplicated(["user", "scenario", "session"]).any()
    assert hard.groupby(["user", "scenario"]).size().max() <= 3
    assert hard["user"].nunique() == fair["user"].nunique() == 20
    assert len(fair) == 300 and len(fair[["user", "scenario"]].drop_duplicates()) == 80
    small = hard_set(corpus, 67)
    gold = small.merge(corpus.turns, on=TURN)["score"]
    assert len(small) == 67 and gold.max() == 4
    beside = describe_turn_sets(corpus, {"hard": hard, "fair": fair})
    assert beside.loc[("turns", ""), "all"] == 1594
    assert abs(beside.loc[("mean gold, weighted", ""), "fair"] - beside.loc[("mean gold", ""), "all"]) < 0.15
    assert beside.loc[("mean gold", ""), "hard"] < beside.loc[("mean gold", ""), "all"] - 0.5
