"""Vectors: right neighbours in both languages, the same on every call, kept, and asked for over HTTP."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from endpoint import HASTY, status

from perslib.errors import BackboneError, DataError, PerslibError, Refused, UnknownName
from perslib.llm import Request, embedder, embeddings
from perslib.llm.cache.store import Cache
from perslib.llm.embeddings import unit

QUERIES = {
    "想要一份三天的旅行计划，预算不高": "三日游路线安排，花费控制在一千元以内",
    "送给妈妈的生日礼物": "母亲过寿送什么好",
    "How do I start learning the guitar?": "First guitar lessons for beginners: chords and a practice plan",
    "A quick dinner without peanuts": "Weeknight meals that take 20 minutes, nut-free",
}
CROSSING = {
    "送给妈妈的生日礼物": "A birthday present for my mother",
    "How do I start learning the guitar?": "零基础怎么学吉他",
    "想要一份三天的旅行计划，预算不高": "A cheap itinerary for a three-day trip",
    "A quick dinner without peanuts": "不放花生的快手晚餐",
}


@pytest.mark.parametrize("pairs", [QUERIES, CROSSING], ids=["same language", "across languages"])
def test_nearest_neighbours_are_right_in_chinese_and_english(home, pairs):
    model = embedder("embedded")
    similar = model.embed(list(pairs), "query") @ model.embed(list(pairs.values())).T
    assert similar.argmax(axis=1).tolist() == list(range(len(pairs)))


@pytest.mark.engine
def test_vectors_are_the_same_whatever_they_are_asked_with(home):
    model = embedder("embedded", cache="off")
    texts = ["一个", "two", "三" * 300, "", "two"]
    together = model.embed(texts)
    assert together.shape == (5, 384) and together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(together[::-1], model.embed(texts[::-1]))
    np.testing.assert_array_equal(together[2], model.embed([texts[2]])[0])
    assert not np.array_equal(model.embed(["two"], "query")[0], together[1])


def test_odd_texts_do_not_end_early(home):
    model = embedder("embedded")
    vectors = model.embed(["\0travel to the sea", "", "half a pair \ud83d of surrogates"])
    assert not np.array_equal(vectors[0], vectors[1])
    assert np.isfinite(vectors).all()
    assert model.embed([]).shape[0] == 0


@pytest.mark.engine
def test_long_texts_are_read_up_to_a_bound(home):
    model = embedder("embedded", cache="off")
    start = "route planning " * 120
    vectors = model.embed([start, start + "a cake " * 20, start + "x" * 500, start + "x" * 800])
    assert not np.array_equal(vectors[0], vectors[1]), "beyond one window of 512 tokens it still reads"
    np.testing.assert_array_equal(vectors[2], vectors[3])


def test_a_processor_that_would_crash_the_engine_is_told_apart(monkeypatch):
    monkeypatch.setattr(embeddings.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(embeddings.Path, "read_text", lambda *_, **__: "flags: fpu sse4_2 avx")
    embeddings._model.cache_clear()
    assert not embeddings.is_available()
    with pytest.raises(BackboneError, match="no AVX2"):
        embeddings.encode(["x"], "query")
    assert embedder("auto").name == "tfidf"


def test_a_list_of_texts_is_wanted():
    with pytest.raises(TypeError, match="embed\\(\\[text\\]\\)"):
        embedder("tfidf").embed("text")
    with pytest.raises(DataError, match=r"texts\[1\]: is None, expected text"):
        embedder("tfidf").embed(["a", None])  # type: ignore[list-item]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_it_has_not(home):
    model = embedder("embedded", cache="off")
    expected = model.embed(["one text", "another"])
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if np.allclose(model.embed(["one text", "another"]), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_tfidf_compares_characters(home):
    model = embedder("tfidf")
    passages = model.embed(["红烧肉的做法", "学吉他", ""])
    assert (passages @ model.embed(["红烧肉怎么做"], "query").T).argmax() == 0
    np.testing.assert_allclose(np.linalg.norm(passages[:2], axis=1), 1, atol=1e-5)
    assert not passages[2].any() and embedder("auto").name != ""


def test_of_many_runs_of_characters_vectors_stay_short_and_near_texts_near(home):
    texts = [f"{'天地玄黄宇宙洪荒日月盈昃'[i % 12]}{i * 7919 % 9973} sea {i} mountains {i * i}" for i in range(400)]
    model = embedder("tfidf")
    passages = model.embed(texts)
    near = (passages @ model.embed([text[1:] for text in texts], "query").T).argmax(axis=0)
    assert passages.shape == (400, 1024) and (near == np.arange(400)).mean() > 0.9
    np.testing.assert_array_equal(passages, embedder("tfidf").embed(texts))


def test_a_rehearsal_embeds_nothing_and_notes_what_that_takes(home, monkeypatch, tmp_path):
    monkeypatch.setenv("PERSLIB_PROGRESS_FILE", str(tmp_path / "progress.jsonl"))
    given, texts = [], [f"{i} {'word ' * 20}" for i in range(50)]

    def encode(texts, kind):
        given.extend(texts)
        time.sleep(0.01)
        return np.ones((len(texts), 384), np.float32)

    models = [embeddings.DryRunEmbedder("slow", encode, Cache()) for _ in range(2)]
    one, other = (model.embed([*texts, texts[0]]) for model in models)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)
    noted = sum(json.loads(line)["computing"] for line in (tmp_path / "progress.jsonl").read_text().splitlines())
    assert len(given) <= 4 and noted >= 50 * 0.01 * 26 / 75 / 2, "on a machine that is busy it may be more"
    live = embeddings.CachedEmbedder("slow", encode, Cache())
    assert (live.embed(texts) == live.embed(texts[:1])).all() and len(given) >= 50, "what is drawn is not kept"


def test_a_page_in_a_dry_run_takes_embedders_that_ask_nobody(home, monkeypatch):
    assert type(embedder("embedded")) is embeddings.CachedEmbedder
    monkeypatch.setenv("PERSLIB_ANSWERER", "dry-run")
    assert type(embedder("embedded")) is embeddings.DryRunEmbedder
    monkeypatch.setenv("PERSLIB_ANSWERER", f"a.module:Writer:{home / 'questions.jsonl'}")
    assert type(embedder("embedded")) is embeddings.CachedEmbedder, "questions of a batch depend on them"
    with pytest.raises(BackboneError, match="is not asked"):
        embedder("vllm-qwen3-8b").embed(["a"])


def test_unknown_and_missing_embedders_say_what_to_do(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UnknownName, match=r"no backbone called 'embeded'\. Did you mean embedded"):
        embedder("embeded")
    with pytest.raises(PerslibError, match=r"pip install .*\[torch\]"):
        embedder("sentence-transformers:any/model")

    def offline(name):
        raise OSError("no route to the hub")

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=offline))
    with pytest.raises(PerslibError, match=r"no encoder any/model .*: no route to the hub"):
        embedder("sentence-transformers:any/model")


# -- over HTTP ---------------------------------------------------------------------------------------------


@pytest.fixture
def remote(home, server):
    """Makes embedders at the loopback endpoint, which gives each text (its length, 1)."""
    return lambda **options: embedder("vllm-qwen3-8b", base_url=server.base_url, model="e", patience=HASTY, **options)


def test_an_endpoint_is_asked_once_for_each_text(remote, server):
    vectors = remote().embed(["abc", "a", "abc"])
    np.testing.assert_allclose(vectors, unit([[3, 1], [1, 1], [3, 1]]))
    assert server.bodies[-1]["input"] == ["abc", "a"]
    remote().embed(["a", "abcd"])
    assert server.bodies[-1]["input"] == ["abcd"], "what is in the cache is not asked again"
    remote().embed(["a"], "query")
    assert len(server.bodies) == 3, "a query is not a passage"


def test_a_method_in_steps_may_embed(remote, server, model):
    """It runs on the loop that calls are made on, which must not wait for itself."""

    async def embedding(ask):
        await ask([Request("first")])
        return remote().embed(["abc", "a"])

    (vectors,) = model().work([embedding], progress=False)
    np.testing.assert_allclose(vectors, unit([[3, 1], [1, 1]]))


def test_endpoint_faults_are_tried_again_and_refusals_are_not(remote, server):
    server.next(status(503))
    assert remote().embed(["x"]).shape == (1, 2)
    assert len(server.bodies) == 2
    server.next(status(404, "no such model"))
    with pytest.raises(Refused, match="no such model"):
        remote().embed(["y"])


def test_only_what_is_kept(remote):
    remote().embed(["abc"])
    assert remote(cache="only").embed(["abc"]).shape == (1, 2)
    with pytest.raises(BackboneError, match=r"1 embeddings .* are not in the cache"):
        remote(cache="only").embed(["abc", "new"])
