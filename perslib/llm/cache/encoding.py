"""How answers, embeddings and what was sent are written in the answer cache.

What was sent is kept with its answer. Questions of one block share most of their text, so each long paragraph is kept
once, under its digest.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from perslib.llm.request import check_stored_answer

COMPRESSED_FROM = 512
"""Bytes; zlib gains nothing below."""
#: Where the text of a request stands: that of a completion, and of either form of decisions.
TEXTS = ("messages", "input", "state")
LONG = 200
"""Characters from which a paragraph is kept once for all questions that have it."""
_BETWEEN = "\n\n"


def answer_of(coding: str, body: bytes) -> dict[str, Any]:
    """Return a stored answer; a ValueError says why it is none."""
    record: dict[str, Any] = json.loads(zlib.decompress(body) if coding == "zlib" else body)
    if fault := check_stored_answer(record):
        raise ValueError(fault)
    return record


def vector_of(coding: str, body: bytes) -> np.ndarray:
    """Return a stored embedding; a ValueError says why it is none."""
    if coding != "float32":
        raise ValueError(f"is a {coding!r}, no embedding")
    return np.frombuffer(body, "<f4")


def replace_surrogates(name: str | None) -> str | None:
    """Return a name without halves of characters."""
    return name if name is None else name.encode("utf-8", "replace").decode()


def encode_answer(answer: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return an answer's coding and bytes."""
    body = _json(answer)
    return ("zlib", zlib.compress(body, 1)) if len(body) >= COMPRESSED_FROM else ("json", body)


def pack_request(sent: Mapping[str, Any]) -> tuple[bytes, dict[str, bytes]]:
    """Return what was sent, its long paragraphs as their digests, and these paragraphs by digest."""
    texts: dict[str, bytes] = {}

    def part(text: str) -> str | list[str]:
        if len(text) < LONG:
            return text
        body = text.encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(body, digest_size=16).hexdigest()
        texts[key] = zlib.compress(body, 1)
        return [key]

    def parts(message: Any) -> Any:
        content = message["content"] if isinstance(message, Mapping) else message
        split = [part(text) for text in content.split(_BETWEEN)] if isinstance(content, str) else content
        return {**message, "content": split} if isinstance(message, Mapping) else split

    name = next(name for name in TEXTS if name in sent)
    packed = parts(sent[name]) if isinstance(sent[name], str) else [parts(message) for message in sent[name]]
    return _json({**sent, name: packed, "packed": sorted(texts)}), texts


def unpack_request(body: bytes, texts: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the inverse of `pack_request`; a KeyError names a paragraph that is gone."""
    sent: dict[str, Any] = json.loads(body)
    sent.pop("packed")

    def whole(part: str | list[str]) -> str:
        return part if isinstance(part, str) else zlib.decompress(texts[part[0]]).decode("utf-8", "surrogatepass")

    def join(parts: Any) -> Any:
        is_packed = isinstance(parts, list) and all(isinstance(part, str | list) for part in parts)
        return _BETWEEN.join(map(whole, parts)) if is_packed else parts

    name = next(name for name in TEXTS if name in sent)
    sent[name] = join(sent[name])
    for message in sent[name] if isinstance(sent[name], list) else ():
        message["content"] = join(message["content"])
    return sent


def messages_of(sent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a request's body asks, as messages; a text by itself is the user's."""
    text = next((sent[name] for name in TEXTS if name in sent), ())
    return [{"role": "user", "content": text}] if isinstance(text, str) else list(text)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "surrogatepass")
