"""Judge a corpus: blocks in, the verdicts frame out.

Here, and not in the judges, the corpus is at hand: its test users become blocks without labels, its train
users are what a judge may learn from. Every answer of a model is in the cache as soon as it comes, so a run
that was killed goes on where it stopped and ends in the same table, one row a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Block, Corpus
from perslib.errors import DataError, PerslibError, Problem, UnknownName
from perslib.judge.base import Judge, Verdict
from perslib.judge.rows import Rows, frame
from perslib.llm import Backbone, Steps
from perslib.memory.noting import Key, Noting

T = TypeVar("T")
X = TypeVar("X")
#: With a limit, about this many turns are judged of each user, so that there are several users.
TURNS_A_USER = 12


def evaluate(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None = None,
    *,
    split: str | None = "test",
    users: Iterable[str] | None = None,
    limit: int | None = None,
    seed: int = 42,
    blocks: Sequence[Block] | None = None,
    progress: bool = True,
    cap: float | None = None,
) -> pd.DataFrame:
    """The judge's verdicts on the replies of a split (None for all users) or of the `users` named.

    A judge that learns is fitted first, on the train users less those that are judged. With a `limit` that
    many turns are drawn, spread over users, the same for every judge. `blocks` are judged instead where they
    are given; cut them once with `targets` when several judges are to judge the same. `cap` bounds what the
    backbone may cost.
    """
    if blocks is None and limit is None:
        return _streamed(judge, corpus, backbone, _pairs(corpus, split, users), progress, cap)
    if blocks is None:
        blocks = list(targets(corpus, split=split, users=users, limit=limit, seed=seed))
    fit(judge, corpus, blocks, backbone, progress=progress, cap=cap)
    return frame(
        judge, corpus, backbone, blocks, verdicts_on(judge, blocks, backbone, progress=progress, cap=cap)
    )


def _streamed(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None,
    pairs: Sequence[tuple[str, str]],
    progress: bool,
    cap: float | None,
) -> pd.DataFrame:
    """Each block is cut when its turn comes, by whoever judges it, and forgotten then."""
    _learn(judge, corpus, {user for user, _ in pairs}, backbone, progress, cap)
    replies = corpus.turns.groupby(BLOCK).size()
    totals = {"judge": int(sum(replies.get(pair, 0) for pair in pairs))}
    rows = Rows(judge, corpus, backbone)
    _each(_Cut(judge, corpus), pairs, rows.add, judge, backbone, totals, progress, cap)
    return rows.frame()


@dataclass(frozen=True)
class _Cut:
    """Judges a block, given its user and scenario; on a cluster corpus and judge travel once, then only these names."""

    judge: Judge
    corpus: Corpus

    def __call__(self, pair: tuple[str, str]) -> Steps[tuple[Block, Sequence[Verdict]]]:
        block = self.corpus.block(*pair)
        verdicts = yield from self.judge.judge(block)
        return block.bare(), verdicts


def fit(
    judge: Judge,
    corpus: Corpus,
    blocks: Iterable[Block],
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
    cap: float | None = None,
) -> None:
    """Let a judge that learns do so, from the train users that are not in these blocks."""
    _learn(judge, corpus, {block.user for block in blocks}, backbone, progress, cap)


def _learn(
    judge: Judge,
    corpus: Corpus,
    judged: set[str],
    backbone: Backbone | None,
    progress: bool,
    cap: float | None,
) -> None:
    if not judge.sees.train:
        return
    train = [user for user in corpus.split().get("train", []) if user not in judged]
    if not train:
        raise PerslibError(
            f"Judge {judge.name!r} learns from train users, and {corpus.name} has none that are not judged; "
            "judge its test users, or take a judge that learns nothing."
        )
    learning = judge.fit(corpus.of_users(train))
    if backbone is not None and judge.sees.model:
        backbone.work([learning], progress=progress, cap=cap)  # here: what is learned is kept in the judge
    else:
        _alone(learning, judge)


def verdicts_on(
    judge: Judge,
    blocks: Sequence[Block],
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
    cap: float | None = None,
) -> list[Sequence[Verdict]]:
    """The verdicts of a judge that knows what it has to know, block by block and target by target."""
    verdicts: list[Sequence[Verdict]] = []
    totals = {"judge": sum(map(len, blocks))}
    _each(judge.judge, blocks, verdicts.append, judge, backbone, totals, progress, cap)
    return verdicts


def targets(
    corpus: Corpus,
    *,
    split: str | None = "test",
    users: Iterable[str] | None = None,
    limit: int | None = None,
    seed: int = 42,
) -> Iterator[Block]:
    """The blocks to judge; with a `limit`, parts of blocks of a few users, drawn by the seed."""
    if limit is not None and limit < 1:
        raise DataError(Problem("limit", f"is {limit}, expected 1 or more, or None for all"))
    pairs = _pairs(corpus, split, users)
    if limit is None:
        return (corpus.block(*pair) for pair in pairs)
    return _drawn(corpus, pairs, limit, seed)


def _pairs(corpus: Corpus, split: str | None, users: Iterable[str] | None) -> list[tuple[str, str]]:
    """The blocks of a split or of these users, by user and scenario."""
    if users is not None:
        users = list(users)
        for user in users:
            corpus.profile(user)  # an error if there is no such user
    elif split is not None:
        parts = corpus.split()
        if split not in parts:
            raise UnknownName("split", split, parts)
        users = parts[split]
    return corpus.block_ids(users)


def _drawn(corpus: Corpus, pairs: Sequence[tuple[str, str]], limit: int, seed: int) -> Iterator[Block]:
    """This many turns, evenly from as few users as give about `TURNS_A_USER` each; where they lack some, from others."""
    order = np.random.default_rng(seed)
    people = list(dict.fromkeys(user for user, _ in pairs))
    people = [people[i] for i in order.permutation(len(people))]
    few = min(len(people), max(2, limit // TURNS_A_USER))
    left = limit
    for place, user in enumerate(people):
        if left <= 0:
            return
        own = [pair for pair in pairs if pair[0] == user]
        quota = -(-left // max(1, few - place))
        for i in order.permutation(len(own)):
            if quota <= 0:
                break
            block = corpus.block(*own[i])
            part = replace(block, targets=block.targets.head(quota))
            quota, left = quota - len(part), left - len(part)
            if len(part):
                yield part


def _each(
    method: Callable[[X], Steps[T]],
    items: Iterable[X],
    sink: Callable[[T], object],
    judge: Judge,
    backbone: Backbone | None,
    totals: dict[str, int],
    progress: bool,
    cap: float | None,
) -> None:
    """What the method finds for each item, to `sink` as it comes."""
    if backbone is None or not judge.sees.model:
        for item in items:
            sink(_alone(method(item), judge))
        return
    samples = getattr(getattr(judge, "manner", None), "samples", 1)
    totals = {k: n * samples for k, n in totals.items()}
    memory = getattr(judge, "memory", None)
    if not isinstance(memory, Noting):
        backbone.each(method, items, sink, progress=progress, totals=totals, cap=cap)
        return

    def apart(found: tuple[T, dict[Key, Any]]) -> None:
        result, notes = found
        memory.notes.update(notes)
        sink(result)

    backbone.each(_Noted(method, memory), items, apart, progress=progress, totals=totals, cap=cap)


@dataclass(frozen=True)
class _Noted:
    """A method, and what its judge's memory noted meanwhile: on a cluster both travel together and share the memory."""

    method: Callable[[Any], Steps[Any]]
    noting: Noting[Any]

    def __call__(self, item: Any) -> Steps[tuple[Any, dict[Key, Any]]]:
        result = yield from self.method(item)
        return result, self.noting.handed_over()


def _alone(steps: Steps[T], judge: Judge) -> T:
    """The result of a method that asks nothing."""
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    raise PerslibError(f"Judge {judge.name!r} asks a model; say which with backbone=backbone('…').")
