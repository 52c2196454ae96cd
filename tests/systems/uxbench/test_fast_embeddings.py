"""Short texts in OpenVINO: the same vectors as the embedded engine gives, within what precision allows."""

from __future__ import annotations

import numpy as np
import pytest

from perslib.llm import embeddings
from perslib.systems.uxbench.signals.fast_embeddings import TOKENS, encode_short

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not embeddings.is_available(), reason="the engine of the embeddings does not run here"),
]
TEXTS = [
    "太油膩了",
    "that's WRONG!",
    "  hello   world  ①Ａ ﬁ",
    "这个 ok 吗? 😡",
    "\u200bé\u0301 \t\n",
    "",
    "𠀀𝔘",
    "a" * 300,
]


def test_vectors_are_those_of_the_engine():
    ours, theirs = encode_short(TEXTS), embeddings.encode(TEXTS, "query")
    assert (ours * theirs).sum(axis=1).min() > 0.998
    assert np.linalg.norm(ours, axis=1) == pytest.approx(1, abs=1e-3)


def test_neither_order_nor_company_matters_much():
    alone = np.concatenate([encode_short([text]) for text in TEXTS])
    together = encode_short([*TEXTS[::-1], *TEXTS])
    assert (alone * together[len(TEXTS) :]).sum(axis=1).min() > 0.998
    assert np.array_equal(together[: len(TEXTS)][::-1], together[len(TEXTS) :]), "equal texts are encoded once"
    assert encode_short([]).shape[0] == 0


def test_a_long_text_is_cut():
    words = " ".join(f"word{i}" for i in range(4 * TOKENS))
    assert np.array_equal(encode_short([words]), encode_short([words + " and more"]))
