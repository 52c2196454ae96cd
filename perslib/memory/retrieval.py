"""Retrieval of the user's own turns that resemble the one at hand (PersTurnBench, episodic memory).

A judge compares replies, and finds rated turns; a candidate that has yet to reply looks up what was asked, among all
turns, whose scores it does not get.

A turn is a bag of character n-grams within words (scikit-learn's `char_wb`), weighted by TF-IDF over the
block's history, compared by cosine. The result is scikit-learn's, number for number; the way differs: all
turns of a user are counted once, in NumPy, and serve the three blocks whose history they belong to and the
one whose targets they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from perslib.corpus import Block, Target
from perslib.corpus.block import Message
from perslib.errors import UnknownName, check_names
from perslib.paths import read_toml

Strategy = Literal["topk", "boundary_paired", "diverse"]
Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TextForm:
    """What of a turn is compared, and how its n-grams are weighted."""

    text: Callable[[str, str, str], str]
    """task, request, reply → the text that is compared"""
    ngrams: tuple[int, int]
    sublinear: bool = False
    """1 + ln(count) instead of the count"""
    max_features: int | None = None
    """keep this many n-grams, the most frequent in the block's history"""

    def of_turns(self, turns: pd.DataFrame) -> list[str]:
        """Return the text of each turn of a history."""
        past = (turns[name].fillna("").to_numpy(object) for name in ("task", "request", "response"))
        return list(map(self.text, *past))

    def of_target(self, target: Target) -> str:
        """Return what is looked up for a target."""
        return self.text(target.task or "", target.request or "", target.response)


@dataclass(frozen=True)
class DialogueTextForm(TextForm):
    """Compares what was said before a reply, for a target that has no reply yet (PersTurnBench, appendix G).

    A turn of the history is its task, the `record` messages before the reply, the user's last message, and the reply;
    what is looked up is the last `query` messages and the user's last message twice.
    """

    record: int = 4
    query: int = 8

    def of_turns(self, turns: pd.DataFrame) -> list[str]:
        """Return the text of each turn of a history."""
        messages = zip(turns["task"].fillna(""), list_messages_before(turns, self.record))
        tasks = ["\n".join([task, *(m["content"] for m in before)]) for task, before in messages]
        return super().of_turns(turns.assign(task=tasks))

    def of_target(self, target: Target) -> str:
        """Return what is looked up for a target."""
        request = target.request or ""
        return "\n".join([*(m["content"] for m in target.window(self.query)), request, request])


#: The anchors of the judge's prompt and of the nearest-turn baselines: request twice, then the reply.
ANCHORS = TextForm(lambda task, request, reply: f"{request}\n{request}\n{reply}", (2, 4), sublinear=True)

#: Episodic memory, and the "nearest-history score" of Table 2: labelled fields, the task too.
EPISODES = TextForm(
    lambda task, request, reply: read_toml(__file__, "cues.toml")["episode"]["text"].format(
        task=task, request=request, reply=reply
    ),
    (2, 5),
    max_features=50_000,
)

#: What candidates are shown of the user's past; what was said before stands with the task.
DIALOGUES = DialogueTextForm(lambda task, request, reply: f"{task}\n{request}\n{reply}", (2, 5), max_features=50_000)


@dataclass(frozen=True)
class Anchor:
    """A turn of the user's history and how much it resembles the turn at hand (cosine, 0–1)."""

    id: str
    """`scenario/session/turn`"""
    scenario: str
    session: str
    turn: int
    task: str | None
    request: str | None
    response: str
    score: float
    """A whole number, but where labels were estimated; NaN where the turn was not rated."""
    reason: str | None
    similarity: float = 0.0


def select_rated_turns(block: Block) -> pd.DataFrame:
    """Return the rated turns of the block's evidence, in its order."""
    return block.evidence[block.evidence["score"].notna().to_numpy()].reset_index(drop=True)


def list_messages_before(turns: pd.DataFrame, messages: int) -> list[tuple[Message, ...]]:
    """Return the last messages of its session before the reply of each turn, the request included."""
    messages_of: dict[tuple[str, str], list[Message]] = {}
    rows = []
    columns = (turns[name].to_numpy(object) for name in ("scenario", "session", "earlier", "request", "response"))
    for scenario, name, earlier, request, response in zip(*columns):
        session = messages_of.setdefault((scenario, name), [])
        asked = [*earlier, *([request] if isinstance(request, str) else [])]
        session += [{"role": "user", "content": text} for text in asked]
        rows.append(tuple(session[-messages:] if messages else ()))
        session.append({"role": "assistant", "content": response})
    return rows


def turn_id(scenario: str, session: str, turn: int) -> str:
    """Return how verdicts cite a turn of the user's history: `scenario/session/turn`."""
    return f"{scenario}/{session}/{turn}"


class Retrieval:
    """Finds, for each target of a block, the most similar turns of the user's history: the rated ones, or all."""

    def __init__(self, form: TextForm = EPISODES, among: Literal["rated", "all"] = "rated"):
        check_names("history", among, ["rated", "all"])
        self.form, self.among = form, among
        self._ngrams = _Ngrams((), form.ngrams)

    def history(self, block: Block) -> pd.DataFrame:
        """Return the turns among which it finds."""
        return select_rated_turns(block) if self.among == "rated" else block.evidence.reset_index(drop=True)

    def similarities(self, block: Block) -> Values:
        """Return the cosine of each target (row) with each turn of `history(block)` (column)."""
        history, targets = self.form.of_turns(block.evidence), [self.form.of_target(t) for t in block]
        # Those that are not rated are counted all the same: they are targets of the user's other blocks.
        is_used = block.evidence["score"].notna() | (self.among == "all")
        if not self._ngrams.holds([*history, *targets]):
            self._ngrams = _Ngrams([*history, *targets], self.form.ngrams)
        old = self._ngrams.counts([t for t, keep in zip(history, is_used) if keep])
        new = self._ngrams.counts(targets)
        idf = _idf(old, self.form.max_features)
        product = weigh_rows(new, idf, self.form.sublinear) @ weigh_rows(old, idf, self.form.sublinear).T
        # Equal turns come out equal to the last bit, whatever order their products were summed in.
        return np.round(product.toarray(), 12)

    def nearest(self, block: Block, k: int = 6, strategy: Strategy = "topk") -> list[list[tuple[int, float]]]:
        """Return for each target the places of k turns in `history(block)`, chosen by `select_nearest`, and their
        similarities.
        """
        history = self.history(block)
        if history.empty:
            return [[] for _ in block]
        if strategy in ("topk", "diverse"):
            labels = pd.factorize(history["scenario"])[0]
        else:
            labels = np.rint(history["score"].to_numpy(float, na_value=np.nan))
        return [
            [(i, float(near[i])) for i in select_nearest(near, labels, k, strategy)]
            for near in self.similarities(block)
        ]

    def anchors(self, block: Block, k: int = 6, strategy: Strategy = "topk") -> list[tuple[Anchor, ...]]:
        """Return k turns of `history(block)` for each target, chosen by `select_nearest`."""
        if block.evidence.empty:
            return [()] * len(block)
        history = self.history(block)
        texts = (
            history[name].astype(object)
            for name in ("scenario", "session", "turn", "task", "request", "response", "reason")
        )
        *known, reason = (values.where(values.notna(), None) for values in texts)
        scores = history["score"].to_numpy(float, na_value=np.nan).tolist()
        turns = list(map(Anchor, map(turn_id, *known[:3]), *known, scores, reason))
        return [
            tuple(replace(turns[i], similarity=near) for i, near in nearest)
            for nearest in self.nearest(block, k, strategy)
        ]


def select_nearest(similarity: Values, scores: Places | Values, k: int, strategy: Strategy = "topk") -> list[int]:
    """Return places of k turns; of equally similar ones the earlier in the history comes first. No score: NaN.

    `topk`             the most similar.
    `boundary_paired`  max(1, ⌊k/2⌋) most similar with a score ≤ 3, then the most similar with ≥ 4;
                       where one side runs short, the most similar of what is left.
    `diverse`          the most similar of each scenario, the most similar scenario first, then the second of each;
                       in place of scores it takes the scenarios, as numbers.
    """
    order = np.argsort(-similarity, kind="stable")
    if strategy == "topk":
        picked = list(order)
    elif strategy == "boundary_paired":
        low = list(order[scores[order] <= 3][: max(1, k // 2)])
        high = list(order[scores[order] >= 4][: max(0, k - len(low))])
        picked = [*low, *high, *(i for i in order if i not in {*low, *high})]
    elif strategy == "diverse":
        scenarios = [order[scores[order] == label] for label in dict.fromkeys(scores[order].tolist())]
        picked = [i for turns in zip_longest(*scenarios) for i in turns if i is not None]
    else:
        raise UnknownName("strategy", strategy, get_args(Strategy))
    return [int(i) for i in picked[:k]]


# -- n-gram counts, once a user ---------------------------------------------------------------------------


class _Ngrams:
    """Counts of the n-grams of some texts: a matrix of texts by n-grams, the n-grams in the order of code points.

    The first block of a user holds all of the user's turns, as evidence or as targets, hence all texts of the
    user's other blocks.
    """

    def __init__(self, texts: Sequence[str], ngrams: tuple[int, int]):
        self.place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.matrix = _count(list(self.place), *ngrams)

    def holds(self, texts: Sequence[str]) -> bool:
        return all(text in self.place for text in texts)

    def counts(self, texts: Sequence[str]) -> sparse.csr_array:
        return self.matrix[[self.place[text] for text in texts]] if texts else self.matrix[:0]


def _count(texts: list[str], low: int, high: int) -> sparse.csr_array:
    """Return scikit-learn's `char_wb` counts: in lower case, each word between blanks, no n-gram across words."""
    words = [[f" {word} " for word in text.lower().split()] for text in texts]
    stream = "".join(word for text in words for word in text).encode("utf-32-le", "surrogatepass")
    letters, code = np.unique(np.frombuffer(stream, dtype="<u4"), return_inverse=True)
    if not len(letters):
        return sparse.csr_array((len(texts), 0), dtype=np.int64)
    lengths = np.array([len(word) for text in words for word in text])
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(code))  # letters to the end of the word
    text_of = np.repeat(np.arange(len(texts)), [sum(map(len, text)) for text in words])
    starts = [np.flatnonzero(left >= n) for n in range(low, high + 1)]
    size = np.repeat(np.arange(low, high + 1), [len(s) for s in starts])
    start = np.concatenate(starts)
    # n-gram and text as one number, its digits the letters (0 for none) and the text: numbers sort as n-grams do.
    padded = np.concatenate([code + 1, np.zeros(high, np.int64)])
    digits = (np.where(i < size, padded[start + i], 0) for i in range(high))
    packed = _pack_digits([*((digit, len(letters) + 1) for digit in digits), (text_of[start], len(texts))])
    packed.sort()
    first = np.flatnonzero(np.diff(packed, prepend=-1))
    gram, text = np.divmod(packed[first], len(texts))
    columns = np.append(np.flatnonzero(np.diff(gram, prepend=-1)), len(gram))
    counts = np.diff(np.append(first, len(packed)))
    shape = (len(texts), len(columns) - 1)
    return sparse.csc_array((counts, text, columns), shape).tocsr()


def _pack_digits(digits: Sequence[tuple[Places, int]]) -> Places:
    """Return one number for each row of digits, in the order of the rows; each digit comes with its base."""
    packed, bound = np.zeros(len(digits[0][0]), np.int64), 1
    for digit, base in digits:
        if bound * base >= 2**63:  # too many letters for 64 bits: number the beginnings that occur
            met, packed = np.unique(packed, return_inverse=True)
            bound = len(met)
        packed = packed * base + digit
        bound *= base
    return packed


def _idf(counts: sparse.csr_array, max_features: int | None) -> Values:
    """Return ln((1 + n)/(1 + df)) + 1 for the n-grams of the history; 0 for those it lacks or that were cut."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    columns = np.flatnonzero(documents)
    if max_features is not None and len(columns) > max_features:
        total = np.bincount(counts.indices, counts.data, counts.shape[1]).astype(np.int64)[columns]
        # scikit-learn's own cut, unstable sort included: which of equally frequent n-grams stay is its choice.
        columns = columns[(-total).argsort()[:max_features]]
    idf = np.zeros(counts.shape[1])
    idf[columns] = np.log((1 + counts.shape[0]) / (1 + documents[columns])) + 1
    return idf


def weigh_rows(counts: sparse.csr_array, idf: Values, sublinear: bool) -> sparse.csr_array:
    """Return TF-IDF rows of length 1; a text with no known n-gram is all zeros."""
    weights = (1 + np.log(counts.data) if sublinear else counts.data) * idf[counts.indices]
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    length = np.sqrt(np.bincount(row, weights * weights, counts.shape[0]))
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    return sparse.csr_array((weights * scale[row], counts.indices, counts.indptr), counts.shape)
