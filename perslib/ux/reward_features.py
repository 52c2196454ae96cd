"""What the light reward models read of a case: runs of tokens, and numbers.

Runs of tokens are hashed and weighted (TF-IDF): 17,000 replies of 800 characters in seconds, without a vocabulary.

A token is a character of Chinese or a word or number of anything else (`perslib.memory.features.tokens`). Runs of up to
three Chinese characters and of up to two words fall into 2¹⁸ buckets; rare buckets are dropped, the rest is weighted by
(1 + ln tf) · (1 + ln (1 + n) / (1 + df)), and rows have length one. Runs of all texts are hashed together, as arrays.

The numbers are those of `perslib.memory.features`, and what else tells of how a reply reads.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from perslib.memory.features import NAMES, Said, read, tokens
from perslib.signals import reading_seconds
from perslib.ux.cases import Case

BITS = 18
LONGEST, LONGEST_WORDS = 3, 2
MOST_TOKENS = 600
"""Of a longer text the first two thirds of so many tokens and the last third are read."""
AT_ONCE = 2_000
_STEP, _MIX = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)

Csr = Any  # scipy's sparse arrays have no types


def _kept(text: str) -> list[str]:
    found = tokens(text)
    if len(found) <= MOST_TOKENS:
        return found
    head = 2 * MOST_TOKENS // 3
    return found[:head] + found[head - MOST_TOKENS :]


def _runs(of: Sequence[list[str]]) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Run length, where each run begins in the tokens laid end to end, and its bucket."""
    flat = [token for found in of for token in found]
    if not flat:
        return
    code, known = pd.factorize(np.array(flat, dtype=object))
    hashes = np.array([zlib.crc32(t.encode("utf-8", "surrogatepass")) for t in known], dtype=np.uint64)
    single = np.array(["\u3400" <= t[0] <= "\u9fff" for t in known], dtype=bool)
    text = np.repeat(np.arange(len(of)), [len(found) for found in of])
    own, chinese = hashes[code], single[code]
    run, fits = own.copy(), np.ones(len(flat), dtype=bool)
    for n in range(1, LONGEST + 1):
        if n > 1:
            run = run[: len(run) - 1] * _STEP + own[n - 1 :]
            fits = fits[: len(run)] & (text[: len(run)] == text[n - 1 :])
            if n > LONGEST_WORDS:
                fits = fits & chinese[: len(run)] & chinese[n - 1 :]
        place = np.flatnonzero(fits)
        mixed = (run[place] + np.uint64(n)) * _MIX
        yield n, place, (mixed >> np.uint64(64 - BITS)).astype(np.intp)


def counted(texts: Sequence[str]) -> Csr:
    """How often each bucket occurs, one row a text."""
    parts = [_counted(texts[i : i + AT_ONCE]) for i in range(0, len(texts), AT_ONCE)]
    return sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, 1 << BITS), dtype=np.float32)


def _counted(texts: Sequence[str]) -> Csr:
    of = [_kept(text) for text in texts]
    text = np.repeat(np.arange(len(of)), [len(found) for found in of])
    rows, columns = [np.array([], dtype=np.intp)], [np.array([], dtype=np.intp)]
    for _, place, bucket in _runs(of):
        rows.append(text[place])
        columns.append(bucket)
    row, column = np.concatenate(rows), np.concatenate(columns)
    made = sparse.coo_array(
        (np.ones(len(row), dtype=np.float32), (row, column)), shape=(len(texts), 1 << BITS)
    ).tocsr()
    made.sum_duplicates()
    return made


@dataclass(frozen=True)
class Weighted:
    """The buckets that are kept, and how much each weighs: learned from texts, applied to any."""

    buckets: npt.NDArray[np.int64]
    idf: npt.NDArray[np.float32]

    @classmethod
    def learned(cls, counts: Csr, features: int) -> Self:
        """The `features` most frequent buckets (at least in three texts where there are a hundred)."""
        texts = np.bincount(counts.indices, minlength=counts.shape[1])
        often = np.flatnonzero(texts >= (3 if counts.shape[0] > 100 else 1))
        kept = np.sort(often[np.argsort(-texts[often], kind="stable")][:features])
        idf = np.log((1 + counts.shape[0]) / (1 + texts[kept])) + 1
        return cls(kept.astype(np.int64), idf.astype(np.float32))

    def __call__(self, counts: Csr) -> Csr:
        """Weights of the kept buckets, rows of length one; a text without any is a row of zeros."""
        own = counts[:, self.buckets].tocsr()
        data = (1 + np.log(own.data)) * self.idf[own.indices]
        own = sparse.csr_array((data, own.indices, own.indptr), shape=own.shape)
        length = np.sqrt(np.asarray(own.multiply(own).sum(axis=1)).ravel())
        own.data /= np.repeat(np.where(length > 0, length, 1), np.diff(own.indptr)).astype(np.float32)
        return own

    def named(self, text: str) -> dict[int, str]:
        """Column → the runs of this text that fall into it, to say what a model went by."""
        found = _kept(text)
        names: dict[int, set[str]] = {}
        column = {int(bucket): i for i, bucket in enumerate(self.buckets)}
        for n, place, bucket in _runs([found]):
            for begin, one in zip(place.tolist(), bucket.tolist()):
                if one in column:
                    run = found[begin : begin + n]
                    joint = "" if "\u3400" <= run[0][0] <= "\u9fff" else " "
                    names.setdefault(column[one], set()).add(joint.join(run))
        return {i: " / ".join(sorted(runs)) for i, runs in names.items()}


FURTHER = {
    "reading": "log seconds of reading",
    "ratio": "log length of the reply less that of the request, in tokens",
    "emoji": "log number of emoji",
    "latin": "share of Latin letters among the reply's letters",
    "compressible": "by how much the reply's first 2,000 bytes can be compressed, 0–1",
    "turned": "log number of messages before the request",
}
DENSE = [*NAMES, *FURTHER]
#: What tells the length of reply or request outright; left out where a model should not go by length.
LENGTHS = frozenset({"length", "short", "lines", "growth", "request_length", "reading", "ratio"})
_EMOJI = re.compile(r"[\u2600-\u27bf\U0001f300-\U0001faff]")
_LATIN, _LETTER = re.compile(r"[A-Za-z]+"), re.compile(r"[^\W\d_]+")


def dense(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """One row a case, columns as `DENSE`."""
    base = np.array([read(_said(case)) for case in cases]).reshape(len(cases), len(NAMES))
    further = np.array([_further(case) for case in cases]).reshape(len(cases), len(FURTHER) - 2)
    seconds = np.log1p(np.asarray(reading_seconds([case.reply for case in cases]), dtype=float))
    ratio = base[:, NAMES.index("length")] - base[:, NAMES.index("request_length")]
    return np.column_stack([base, seconds, ratio, further])


def _said(case: Case) -> Said:
    asked = tuple(m["content"] for m in case.history if m["role"] == "user")
    replied = tuple(m["content"] for m in case.history if m["role"] == "assistant")
    return Said(case.query, case.reply, "", "", case.scenario, "", asked, replied)


def _further(case: Case) -> list[float]:
    reply = case.reply
    latin, letters = (sum(map(len, kind.findall(reply))) for kind in (_LATIN, _LETTER))
    start = reply[:2_000].encode("utf-8", "surrogatepass")[:2_000]
    packed = len(zlib.compress(start, 1)) / len(start) if len(start) > 100 else 1.0
    return [
        float(np.log1p(len(_EMOJI.findall(reply)))),
        latin / letters if letters else 0.0,
        1.0 - min(1.0, packed),
        float(np.log1p(len(case.history))),
    ]
