"""Several replies to one request, evidence without scenarios, and scales: what a table of one's own may hold."""

from __future__ import annotations

import pandas as pd
import pytest

from perslib.corpus import Scale, describe_import, from_frame, read_rows
from perslib.errors import DataError, UnknownName


def rows(*said, user="u", session="a", **more):
    """Rows of a session: (request, candidate, score) or with chosen."""
    names = ("request", "candidate", "score", "chosen")
    return [
        {"user": user, "session": session, "response": f"{one[0]}/{one[1]}", **dict(zip(names, one)), **more}
        for one in said
    ]


def test_replies_of_one_turn_stand_together_in_either_order():
    by_request = rows(("q1", "x", 2), ("q1", "y", 5), ("q2", "x", 4), ("q2", "y", 1))
    by_model = [by_request[i] for i in (0, 2, 1, 3)]
    frames = [read_rows(own, "mine").corpus for own in (by_request, by_model)]
    for corpus in frames:
        assert corpus.turns["response"].tolist() == ["q1/y", "q2/x"]  # the better rated goes on
        assert corpus.turns["score"].tolist() == [5, 4]
        held = corpus.extras["candidates"].sort_values(["turn", "candidate"])
        assert held[["turn", "candidate", "score"]].to_numpy().tolist() == [
            [0, "x", 2],
            [0, "y", 5],
            [1, "x", 4],
            [1, "y", 1],
        ]


def test_the_conversation_goes_on_from_the_chosen_reply_not_the_best_rated():
    corpus = read_rows(rows(("q1", "x", 2, "true"), ("q1", "y", 5, "false"), ("q1", "y", 3, "true")), "mine").corpus
    assert corpus.turns["response"].tolist() == ["q1/x", "q1/y"]  # a second reply of y is another turn
    assert corpus.extras["candidates"]["chosen"].tolist() == [True, False, True]
    with pytest.raises(DataError, match="row 2: is chosen, but so is the reply at row 1"):
        read_rows(rows(("q1", "x", 2, True), ("q1", "y", 5, True)), "mine")


def test_pairs_are_imported_as_preferences():
    pair = {"user": "u", "request": "q", "response_a": "A", "response_b": "B"}
    given = [{**pair, "preferred": p, "turn": i} for i, p in enumerate(("a", "b", "tie"))]
    corpus = from_frame(pd.DataFrame(given), "pairs")
    assert corpus.turns["response"].tolist() == ["A", "B", "A"]
    assert corpus.extras["candidates"]["chosen"].tolist() == [True, False, False, True, False, False]
    with pytest.raises(DataError, match='preferred is "both", expected a, b or tie'):
        read_rows([{**pair, "preferred": "both"}], "pairs")
    with pytest.raises(DataError, match="has no column response_b"):
        from_frame(pd.DataFrame(given).drop(columns="response_b"), "pairs")


def test_equal_replies_rated_differently_are_counted():
    same = [{**row, "response": "same"} for row in rows(("q", "x", 2), ("q", "y", 5))]
    assert read_rows(same, "mine").irregularities == {"equal replies to one request, rated differently": 1}


def three_conversations(**more):
    """Two users with three conversations each, one reply in each."""
    return [
        {"user": u, "session": f"{u}{i}", "request": "q", "response": "r", "score": s, **more}
        for u in "ab"
        for i, s in enumerate((1, 3, 5))
    ]


def test_without_scenarios_evidence_is_the_other_conversations():
    corpus = read_rows(three_conversations(), "mine").corpus
    assert corpus.evidence == "conversations" and len(corpus.block_ids()) == 6
    block = corpus.block("a", "a1")
    assert block.targets["session"].tolist() == ["a1"] and block.evidence["session"].tolist() == ["a0", "a2"]


def test_earlier_evidence_holds_nothing_later():
    corpus = read_rows(three_conversations(), "mine", evidence="earlier").corpus
    assert [scenario for _, scenario in corpus.block_ids()] == ["a1", "a2", "b1", "b2"]
    assert corpus.block("a", "a1").evidence["session"].tolist() == ["a0"]
    from perslib.stats import histories

    counted = histories(corpus).set_index(["user", "scenario"]).loc["a"]
    assert counted.loc["a1"].tolist() == [1, 0, 0, 0, 0] and counted.loc["a0"].sum() == 0


def test_evidence_is_changed_and_changed_back():
    corpus = read_rows(three_conversations(scenario="s"), "mine", evidence="scenarios").corpus
    assert corpus.with_evidence("earlier").with_evidence("scenarios").digest == corpus.digest
    with pytest.raises(UnknownName, match="conversations"):
        corpus.with_evidence("everything")


@pytest.mark.parametrize("ratings, scale", [([0, 7, 10], "0–10"), ([1, 7.5, 100, 60, 30], "1–100"), ([1, 0, 1], "0–1")])
def test_scale_is_read_off_and_the_ratings_are_kept(ratings, scale):
    corpus = read_rows(rows(*((str(i), None, rating) for i, rating in enumerate(ratings))), "mine").corpus
    assert str(corpus.scale) == scale and corpus.turns["given"].tolist() == ratings
    assert corpus.turns["score"].min() == 1 and corpus.turns["score"].max() == 5


def test_scale_maps_its_ends_and_its_border():
    scale = Scale.parse("0-10", dissatisfied=6)
    assert scale.to_five([0, 6.5, 10]).tolist() == [1, 3.5, 5]
    assert scale.from_five(scale.to_five([0, 3, 6, 9])).tolist() == pytest.approx([0, 3, 6, 9])
    corpus = read_rows(rows(("q", None, 6), ("p", None, 7)), "mine", scale=scale).corpus
    assert [score >= 4 for score in corpus.turns["score"]] == [False, True]
    assert Scale.parse("1-5").to_five([1, 2, 3, 4, 5]).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("text", ["ten", "1-1", ""])
def test_what_is_no_scale_is_said(text):
    with pytest.raises(DataError):
        Scale.parse(text)


def test_a_rating_off_the_declared_scale_is_named():
    with pytest.raises(DataError, match=r"row 2: score is 11, expected 0–10"):
        read_rows(
            rows(*((str(i), None, s) for i, s in enumerate((3, 11, 4, 5, 6, 7, 8, 9, 1, 2, 3)))),
            "mine",
            scale=Scale(0, 10),
        )


def test_two_scales_in_one_column_are_named():
    short = [row for u in "ab" for row in rows(*((str(i), None, 1 + i % 5) for i in range(6)), user=u)]
    long = [row for u in "cdef" for row in rows(*((str(i), None, 10 * i + 50) for i in range(6)), user=u)]
    with pytest.raises(
        DataError, match=r"2 of 6 users gave nothing above 5 \(such as a\), others up to 100: are these two"
    ) as error:
        read_rows([*short, *long], "mine")
    assert "--scale 1-100" in str(error.value)
    assert read_rows([*short, *long], "mine", scale=Scale(1, 100)).corpus.scale.high == 100
    assert read_rows([*short[:6], *long], "mine").corpus.scale.high == 100  # one strict person is no second scale


def test_an_import_counts_users_with_one_conversation():
    one = [*three_conversations(), {"user": "c", "request": "q", "response": "r", "score": 3}]
    assert "note: users of whom nothing else is known, so that they are not judged: 1" in describe_import(
        read_rows(one, "mine"), "table"
    )


def test_an_import_says_what_it_is_and_feeds():
    several = [row for i in range(2) for row in rows(("q", "x", 20), ("q", "y", 90), session=str(i))]
    said = " ".join(describe_import(read_rows(several, "mine", scale=Scale(1, 100)), "table", missing=True))
    assert "rated on 1–100" in said and "other conversations of the user" in said
    assert "feed: 00, 01, 02, 03, 04, 09, 12, 13" in said and "not 05: it has no topics" in said


def test_conversations_are_judged_where_they_alone_are_rated():
    from perslib.judge import arrange_by_rating_level

    rated = [{**row, "score": None, "satisfaction": 1 + i} for i, row in enumerate(three_conversations()[:3])]
    corpus = arrange_by_rating_level(read_rows(rated, "mine").corpus)
    assert corpus.turns["score"].tolist() == [1, 2, 3] and corpus.meta["judged"] == "conversations"
    assert corpus.sessions["satisfaction"].isna().all() and len(corpus.block_ids()) == 3
    replies = read_rows(three_conversations(), "mine").corpus
    assert arrange_by_rating_level(replies) is replies
