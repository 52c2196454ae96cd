"""What the light reward models read of a case: runs of tokens, and numbers.

A token is a character of Chinese or a word or number of anything else (`perslib.memory.features.tokens`). Runs of up to
three Chinese characters and of up to two words fall into 2¹⁸ buckets; rare buckets are dropped, and scikit-learn's TF-IDF
weighs the rest.

The numbers are those of `perslib.memory.features`, and what else tells of how a reply reads.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from perslib.memory.features import NAMES, TurnContext, measure_traits, tokens
from perslib.systems.uxbench.signals import reading_seconds
from perslib.systems.uxbench.tasks.cases import Case

BUCKETS = 1 << 18
MOST_TOKENS = 600
"""Of a longer text the first two thirds of so many tokens and the last third are read."""
Csr = Any  # scipy's sparse matrices have no types


def list_ngrams(text: str) -> list[str]:
    """Return tokens of a text, pairs of neighbours, and triples of Chinese characters."""
    words = tokens(text)
    if len(words) > MOST_TOKENS:
        head = 2 * MOST_TOKENS // 3
        words = words[:head] + words[head - MOST_TOKENS :]
    han = ["\u3400" <= token[0] <= "\u9fff" for token in words]
    pairs = [a + b if is_han else f"{a} {b}" for a, b, is_han in zip(words, words[1:], han)]
    triples = zip(words, words[1:], words[2:], han, han[1:], han[2:])
    return [*words, *pairs, *(a + b + c for a, b, c, *of in triples if all(of))]


def _alone(run: str) -> list[str]:
    return [run]


def _hashing(analyzer: Any) -> HashingVectorizer:
    return HashingVectorizer(analyzer=analyzer, n_features=BUCKETS, norm=None, alternate_sign=False, dtype=np.float32)


def count_buckets(texts: Sequence[str]) -> Csr:
    """Return how often each bucket occurs, one row a text."""
    return _hashing(list_ngrams).transform(texts)


class BucketWeights:
    """The buckets that are kept, and how much each weighs: learned from texts, applied to any."""

    def __init__(self, buckets: npt.NDArray[np.int64], idf: npt.NDArray[np.float32]):
        self.buckets, self.idf = buckets, idf
        self._weights = TfidfTransformer(sublinear_tf=True)
        self._weights.idf_ = idf

    @classmethod
    def fit(cls, counts: Csr, features: int) -> Self:
        """Return the `features` most frequent buckets (at least in three texts where there are a hundred)."""
        texts = np.bincount(counts.indices, minlength=BUCKETS)
        often = np.flatnonzero(texts >= (3 if counts.shape[0] > 100 else 1))
        features_kept = np.sort(often[np.argsort(-texts[often], kind="stable")][:features])
        idf = (
            np.log((1 + counts.shape[0]) / (1 + texts[features_kept])) + 1
        )  # as scikit-learn's, which refuses no column
        return cls(features_kept, idf.astype(np.float32))

    def __call__(self, counts: Csr) -> Csr:
        """Return weights of the kept buckets, rows of length one; a text without any is a row of zeros."""
        own = counts[:, self.buckets]
        return self._weights.transform(own) if own.shape[1] else own

    def name_buckets(self, text: str) -> dict[int, str]:
        """Return the column → the runs of this text that fall into it, to say what a model went by."""
        known, names = sorted(set(list_ngrams(text))), dict[int, list[str]]()
        for run, bucket in zip(known, _hashing(_alone).transform(known).indices if known else ()):
            column = int(np.searchsorted(self.buckets, bucket))
            if column < len(self.buckets) and self.buckets[column] == bucket:
                names.setdefault(column, []).append(run)
        return {column: " / ".join(own) for column, own in names.items()}


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
    """Return one row a case, columns as `DENSE`."""
    base = np.array([measure_traits(_make_context(case)) for case in cases]).reshape(len(cases), len(NAMES))
    further = np.array([_further(case) for case in cases]).reshape(len(cases), len(FURTHER) - 2)
    seconds = np.log1p(np.asarray(reading_seconds([case.reply for case in cases]), dtype=float))
    ratio = base[:, NAMES.index("length")] - base[:, NAMES.index("request_length")]
    return np.column_stack([base, seconds, ratio, further])


def _make_context(case: Case) -> TurnContext:
    asked = tuple(m["content"] for m in case.history if m["role"] == "user")
    replied = tuple(m["content"] for m in case.history if m["role"] == "assistant")
    return TurnContext(case.query, case.reply, "", "", case.scenario, "", asked, replied)


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
