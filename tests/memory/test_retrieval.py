"""Retrieval finds what scikit-learn finds, in a stated order, and survives odd texts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from histories import corpus_of, scored_past
from made import shortened
from real import ROOT, needs
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from perslib.corpus import load
from perslib.errors import UnknownName
from perslib.memory import ANCHORS, EPISODES, Retrieval, TextForm, select_nearest, select_rated_turns, turn_id
from perslib.memory.ngrams import multiply_rows

HISTORY = [
    ("ada", "travel", "0", "Where to go in May?", "Lisbon is warm in May.", 5),
    ("ada", "travel", "0", "And by train?", "There is no direct train.", 2),
    ("ada", "recipe", "7", "A soup with leek", "Leek, potatoes, cream.", 4),
    ("ada", "recipe", "7", "A soup with leek", "Leek, potatoes, cream.", 3),
    ("ada", "recipe", "7", "not rated", "Leek soup in May by train", None),
]
TARGETS = [
    ("ada", "gift", "0", "A soup with leek", "Leek, potatoes, cream.", 1),
    ("ada", "gift", "0", None, "", 1),
    ("ada", "gift", "1", "Lisbon by train?", "LISBON  \n in may", 1),
]


@pytest.fixture
def block():
    return corpus_of([*HISTORY, *TARGETS]).block("ada", "gift")


def by_sklearn(block, form: TextForm) -> np.ndarray:
    """The same similarities, computed the plain way."""

    def text(row):
        return form.text(*("" if not isinstance(v, str) else v for v in row))

    past = [text(row) for row in select_rated_turns(block)[["task", "request", "response"]].itertuples(index=False)]
    now = [text((t.task, t.request, t.response)) for t in block]
    vectors = TfidfVectorizer(
        analyzer="char_wb", ngram_range=form.ngrams, sublinear_tf=form.sublinear, max_features=form.max_features
    )
    known = vectors.fit_transform(past)
    return (vectors.transform(now) @ known.T).toarray()


@pytest.mark.parametrize(
    "form", [ANCHORS, EPISODES, TextForm(EPISODES.text, (2, 5), True, 40), TextForm(ANCHORS.text, (1, 3))]
)
def test_similarities_are_scikit_learns(block, form):
    assert Retrieval(form).similarities(block) == pytest.approx(by_sklearn(block, form), abs=1e-11)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.sample
def test_one_count_serves_all_blocks_of_a_user(language):
    corpus = shortened(load(f"sample/{language}"), sessions=2)
    for form in (ANCHORS, EPISODES):
        retrieval = Retrieval(form)
        for block in list(corpus.blocks("train"))[:6]:
            assert retrieval.similarities(block) == pytest.approx(by_sklearn(block, form), abs=1e-11)


@needs("persturnbench/persturnbench_42users.tar.gz")
def test_similarities_are_scikit_learns_where_the_vocabulary_is_cut():
    corpus = load(ROOT / "persturnbench/persturnbench_42users.tar.gz")
    retrieval = Retrieval(EPISODES)
    for block in list(corpus.blocks("test"))[:5]:
        assert retrieval.similarities(block) == pytest.approx(by_sklearn(block, EPISODES), abs=1e-11)


def test_anchors_carry_their_turn_and_cite_it(block):
    anchors = Retrieval().anchors(block, k=3)
    first, second, third = anchors[0]
    assert [a.id for a in (first, second)] == ["recipe/7/0", "recipe/7/1"]
    assert turn_id(first.scenario, first.session, first.turn) == first.id
    assert (first.task, first.request, first.score, first.reason) == ("a recipe task", "A soup with leek", 4, None)
    assert second.score == 3 and second.reason == "too short"
    assert first.similarity == second.similarity > third.similarity >= 0
    assert all(a.response != "Leek soup in May by train" for found in anchors for a in found)


def test_anchors_among_all_turns_are_the_turns_that_were_found(block):
    first = Retrieval(among="all").anchors(block, k=5)[2]
    assert sorted(a.id for a in first) == ["recipe/7/0", "recipe/7/1", "recipe/7/2", "travel/0/0", "travel/0/1"]
    assert (first[0].id, first[0].response) == ("travel/0/1", "There is no direct train.")
    (unrated,) = (a for a in first if a.id == "recipe/7/2")
    assert unrated.response == "Leek soup in May by train" and math.isnan(unrated.score)


def test_estimated_scores_are_rounded_not_cut(block):
    scores = pd.array([3.9, 2.2, 3.6, 3.4, None], dtype="Float64")
    estimated = replace(block, evidence=block.evidence.assign(score=scores))
    found = Retrieval().anchors(estimated, 4, "boundary_paired")[0]
    assert [a.score for a in found] == [3.4, 2.2, 3.6, 3.9]


def test_equally_similar_turns_keep_the_order_of_the_history():
    scores = np.array([5, 2, 4, 1, 3])
    similarity = np.array([0.5, 0.5, 0.9, 0.5, 0.9])
    assert select_nearest(similarity, scores, 4) == [2, 4, 0, 1]


def test_strategies_by_hand():
    scores = np.array([5, 2, 4, 3, 5, 4, 1])
    near = np.array([0.9, 0.1, 0.8, 0.3, 0.7, 0.6, 0.2])
    assert select_nearest(near, scores, 4) == [0, 2, 4, 5]
    assert select_nearest(near, scores, 4, "boundary_paired") == [3, 6, 0, 2]
    assert select_nearest(near, scores, 1, "boundary_paired") == [3]


def test_boundary_pairs_fill_up_where_a_side_runs_short():
    near = np.array([0.4, 0.3, 0.2, 0.1])
    assert select_nearest(near, np.array([5, 4, 2, 5]), 4, "boundary_paired") == [2, 0, 1, 3]
    assert select_nearest(near, np.array([1, 2, 3, 5]), 4, "boundary_paired") == [0, 1, 3, 2]
    assert select_nearest(near, np.array([5, 4, 4, 5]), 4, "boundary_paired") == [0, 1, 2, 3]


def test_an_unknown_strategy_is_named():
    with pytest.raises(UnknownName, match="boundary_paired"):
        select_nearest(np.ones(2), np.array([4, 5]), 1, "boundary_pair")  # type: ignore[arg-type]


def test_nothing_to_retrieve_is_no_anchor():
    for rows in (scored_past([], targets=2), scored_past([None, None], targets=2)):
        block = corpus_of(rows).block("ada", "gift")
        assert Retrieval().anchors(block) == [(), ()]
        assert Retrieval().similarities(block).shape == (2, 0)


def test_odd_texts_are_compared_too():
    """Empty, very long, in another language, in more letters than one number holds."""
    alphabet = "".join(chr(0x4E00 + i) for i in range(9_000))
    replies = ["", "x" * 50_000, "これは旅行の計画です", alphabet, "  \n\t "]
    rows = [("ada", "travel", "0", "q", reply, 4) for reply in replies]
    rows += [("ada", "gift", "0", "q", reply, 4) for reply in replies]
    block = corpus_of(rows).block("ada", "gift")
    for form in (EPISODES, ANCHORS):
        similarity = Retrieval(form).similarities(block)
        assert similarity[1:4].argmax(axis=1).tolist() == [1, 2, 3]
        assert similarity == pytest.approx(by_sklearn(block, form), abs=1e-11)


def test_texts_without_any_letter_resemble_nothing():
    rows = [("ada", "travel", "0", None, " ", 4), ("ada", "gift", "0", None, "", 4)]
    block = corpus_of(rows).block("ada", "gift")
    assert Retrieval(ANCHORS).similarities(block).tolist() == [[0]]
    assert Retrieval(ANCHORS).anchors(block, k=1)[0][0].similarity == 0


def test_products_of_rows_are_those_of_the_plain_matrix():
    random = np.random.default_rng(0)
    counts = sparse.hstack(
        [sparse.random_array((60, n), density=d, rng=random) for n, d in ((3000, 0.4), (9000, 0.01))]
    )
    counts = counts.tocsr()
    assert multiply_rows(counts) == pytest.approx((counts @ counts.T).toarray(), abs=1e-10)
    assert multiply_rows(counts[:1]).shape == (1, 1) and multiply_rows(counts[:0]).shape == (0, 0)
