"""The content address of a question: equal exactly when the answer might as well be the same."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from perslib.llm.entries import BackboneEntry
from perslib.llm.questions import encode_questions
from perslib.llm.request import Request, digest
from perslib.llm.structured.fallbacks import parameters
from perslib.llm.structured.parsing import schema_text

PROTOCOL = 1
"""Raised when perslib puts the same request to a model in another way."""


def content_address(entry: BackboneEntry, weights: str, request: Request) -> str:
    """Return the digest over endpoint, model, rendered messages, parameters and schema.

    Not in it: names, prices, limits and time-outs, which change no answer, and what an endpoint turned out to
    lack, which would lose the answers given before it was known.
    """
    parts = {
        "protocol": PROTOCOL,
        "endpoint": entry.address,
        "model": weights,
        "messages": request.messages,
        "parameters": parameters(entry, request),
        "extra": {**entry.extra_body, **request.extra},
        "sample": request.sample,
    }
    if request.brief:
        parts["brief"] = True
    if request.schema is not None:
        parts["schema"] = _pairs(schema_text(request.schema))
        parts["structured"] = entry.structured
    if request.questions:
        parts["questions"] = encode_questions(request.questions)
    return digest(parts)


def fingerprint_model(entry: BackboneEntry) -> str:
    """Return what the model is: a file is known by its content, wherever it lies."""
    with suppress(OSError, RuntimeError):  # a file that cannot be read is named when the model is asked
        path = Path(entry.gguf or "").expanduser()
        if path.is_file():
            return _fingerprint(path, path.stat().st_mtime_ns)
    return entry.model


@cache
def _fingerprint(path: Path, changed: int) -> str:
    """Return SHA-256 over the size and 4 MiB spread over the file: enough to tell fine-tunes of one base apart."""
    sha = hashlib.sha256(str(size := path.stat().st_size).encode())
    with path.open("rb") as weights:
        for i in range(64):
            weights.seek(size * i // 64)
            sha.update(weights.read(1 << 16))
    return f"gguf:{sha.hexdigest()}"


@lru_cache(maxsize=256)
def _pairs(schema: str) -> Any:
    """Return a schema as nested pairs, which keep their order: it is the order in which the fields are written."""
    return json.loads(schema, object_pairs_hook=list)
