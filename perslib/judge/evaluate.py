"""Judge a corpus: blocks in, the verdicts frame out.

Here, and not in the judges, the corpus is at hand: its test users become blocks without labels, its train
users are what a judge may learn from. Every answer of a model is in the cache as soon as it comes, so a run
that was killed goes on where it stopped and ends in the same table, one row a reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TypeVar, Unpack

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Block, Corpus
from perslib.errors import DataError, NotEnough, Problem
from perslib.judge.base import Computed, Judge, Verdict, VerdictRows, make_verdict_frame
from perslib.llm import Ask, Backbone, compute
from perslib.llm.answerers.choice import is_dry_run, sample_units
from perslib.llm.backbone import WorkOptions
from perslib.memory.base import BuildRecord, Key, RecordingSystem

T = TypeVar("T")
X = TypeVar("X")


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
    **work_options: Unpack[WorkOptions],
) -> pd.DataFrame:
    """Return the judge's verdicts on the replies of a split (None for all users) or of the `users` named.

    A judge that learns is fitted first, on the train users less those that are judged; of a corpus that is `cross_fitted` a copy
    of it for each fold. With a `limit` that
    many turns are drawn at random, as many of each user, the same for every judge. `blocks` are judged instead where they
    are given; cut them once with `targets` when several judges are to judge the same. `cap` bounds what the
    backbone may cost.

    Users without sessions in another scenario have no history and are not judged; where nobody has any, that is
    `NotEnough`. `corpus.with_history("none")` judges them too.
    """
    if judge.inputs.train and split == "test" and users is None and corpus.folds:
        blocks = list(select_blocks(corpus, limit=limit, seed=seed)) if blocks is None else blocks
        return _judge_by_folds(judge, corpus, backbone, blocks, **work_options)
    if blocks is None and limit is None:
        return _judge_one_by_one(judge, corpus, backbone, _pairs(corpus, split, users), **work_options)
    if blocks is None:
        blocks = list(select_blocks(corpus, split=split, users=users, limit=limit, seed=seed))
    fit_judge(judge, corpus, blocks, backbone, **work_options)
    return make_verdict_frame(judge, corpus, backbone, blocks, judge_blocks(judge, blocks, backbone, **work_options))


def _judge_by_folds(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None,
    blocks: Sequence[Block],
    **work_options: Unpack[WorkOptions],
) -> pd.DataFrame:
    """Return verdicts by copies of the judge, each taught by all users but those of a fold, which it judges."""
    verdicts: dict[str, Sequence[Verdict]] = {}
    for fold in corpus.folds:
        own, taught = [block for block in blocks if block.user in fold], copy(judge)
        if own:
            _learn(taught, corpus, set(fold), backbone, **work_options)
            verdicts |= zip((block.id for block in own), judge_blocks(taught, own, backbone, **work_options))
    return make_verdict_frame(judge, corpus, backbone, blocks, [verdicts[block.id] for block in blocks])


def require_texts(judge: Judge, corpus: Corpus) -> None:
    """Raise NotEnough where a judge reads replies or tasks, and a corpus holds numbers without their texts."""
    if judge.reads_texts and (source := corpus.meta.get("without_texts")):
        raise NotEnough(
            "{corpus} holds numbers of people without the texts that {judge} reads. The texts: {source}",
            corpus=corpus.name,
            judge=judge.name,
            source=source,
        )


def _judge_one_by_one(
    judge: Judge,
    corpus: Corpus,
    backbone: Backbone | None,
    pairs: Sequence[tuple[str, str]],
    **work_options: Unpack[WorkOptions],
) -> pd.DataFrame:
    """Return the verdicts on these pairs of user and scenario; a block is cut when its turn comes, and forgotten after it."""
    _learn(judge, corpus, {user for user, _ in pairs}, backbone, **work_options)
    replies, rows = (
        corpus.turns.groupby(BLOCK).size().reindex(pairs, fill_value=0),
        VerdictRows(judge, corpus, backbone),
    )
    asked, work_options["stands_for"] = sample_units(replies.index.get_level_values("user").repeat(replies))
    pairs, total = [pair for pair in pairs if pair[0] in asked], int(replies.sum())
    _each(partial(_judge_pair, _who_judges(judge), corpus), pairs, rows.add, judge, backbone, total, **work_options)
    return rows.make_verdict_frame()


class _NotComputed(Judge):
    """Stands in a dry run for a judge that asks no model: nobody looks at its scores."""

    def __init__(self, judge: Judge):
        self.name, self.inputs, self.values = judge.name, judge.inputs, judge.values

    async def judge(self, block: Block, ask: Ask) -> Sequence[Verdict]:
        """Return the middle of the scale."""
        return [Verdict(raw=3.0, mode="computed")] * len(block)


def _who_judges(judge: Judge) -> Judge:
    return _NotComputed(judge) if is_dry_run() and not judge.inputs.model else judge


async def _judge_pair(judge: Judge, corpus: Corpus, pair: tuple[str, str], ask: Ask) -> tuple[Block, Sequence[Verdict]]:
    """Judge the block of a user and a scenario; on a cluster corpus and judge travel once, then only these names."""
    block = corpus.block(*pair)
    verdicts = await judge.judge(block, ask)
    return block.bare(), verdicts


def fit_judge(
    judge: Judge,
    corpus: Corpus,
    blocks: Iterable[Block],
    backbone: Backbone | None = None,
    **work_options: Unpack[WorkOptions],
) -> None:
    """Let a judge that learns do so, from the train users that are not in these blocks."""
    _learn(judge, corpus, {block.user for block in blocks}, backbone, **work_options)


def _learn(
    judge: Judge, corpus: Corpus, judged: set[str], backbone: Backbone | None, **work_options: Unpack[WorkOptions]
) -> None:
    require_texts(judge, corpus)
    if not judge.inputs.train or (is_dry_run() and not judge.inputs.model):
        return
    train = [user for user in corpus.split().get("train", []) if user not in judged]
    if not train and not isinstance(judge, Computed):  # computed scores are missing then, and say why
        raise NotEnough(
            "Judge {judge!r} learns from train users, but {corpus} has none that are not judged; judge its test "
            "users, add users (a fifth of them become train users), or use a judge that does not learn.",
            judge=judge.name,
            corpus=corpus.name,
        )
    learn = partial(judge.fit, corpus.of_users(train))
    if backbone is not None and judge.inputs.model:
        backbone.work([learn], **work_options)  # here: what is learned is kept in the judge
    else:
        compute(learn)


def judge_blocks(
    judge: Judge, blocks: Sequence[Block], backbone: Backbone | None = None, **work_options: Unpack[WorkOptions]
) -> list[Sequence[Verdict]]:
    """Return the verdicts of a judge that knows what it has to know, block by block and target by target."""
    verdicts: list[Sequence[Verdict]] = []
    asked, work_options["stands_for"] = sample_units(block.user for block in blocks for _ in range(len(block)))
    own = [block for block in blocks if block.user in asked]
    _each(_who_judges(judge).judge, own, verdicts.append, judge, backbone, sum(map(len, blocks)), **work_options)
    if len(own) < len(blocks):  # of a sample: the rest get what the first of it got
        judged = iter(verdicts)
        return [next(judged) if block.user in asked else [verdicts[0][0]] * len(block) for block in blocks]
    return verdicts


def select_blocks(
    corpus: Corpus,
    *,
    split: str | None = "test",
    users: Iterable[str] | None = None,
    limit: int | None = None,
    seed: int = 42,
    has_score: bool = False,
) -> Iterator[Block]:
    """Return the blocks to judge; with a `limit`, so many turns at random, as many of each user.

    With `has_score` they are drawn among the turns that the user rated, where there are any: agreement needs both scores.
    """
    if limit is not None and limit < 1:
        raise DataError(Problem("limit", f"is {limit}, expected 1 or more, or None for all"))
    pairs = _pairs(corpus, split, users)
    if limit is None:
        return (corpus.block(*pair) for pair in pairs)
    return _sample_targets(corpus, pairs, limit, seed, has_score)


def _pairs(corpus: Corpus, split: str | None, users: Iterable[str] | None) -> list[tuple[str, str]]:
    """Return the blocks of a split or of these users, by user and scenario."""
    users = None if users is None else list(users)
    for user in users or ():
        corpus.profile(user)  # an error if there is no such user
    users = corpus.users_of(split) if users is None else users
    pairs = corpus.block_ids(users)
    if not pairs:
        raise _nothing_to_judge(corpus, users)
    return pairs


def _nothing_to_judge(corpus: Corpus, users: Iterable[str] | None) -> NotEnough:
    """Return why no reply of these users can be judged, and what to do."""
    sessions = corpus.sessions
    if users is not None:
        sessions = sessions[sessions["user"].isin(list(users))]
    if sessions.empty:
        return NotEnough(
            "{corpus}: the users to be judged have no sessions, so there is nothing to judge.", corpus=corpus.name
        )
    scenarios = sessions["scenario"].unique()
    named = f" ({scenarios[0]!r})" if len(scenarios) == 1 else ""
    return NotEnough(
        "{corpus}: each of the {users:,} users to be judged has sessions in one scenario only{named}; what judges know of a "
        "user comes from the user's other scenarios, so there is nothing to judge. To learn from a user's other "
        'conversations: corpus.with_evidence("conversations"), or --evidence conversations at the import of a table. To judge '
        'without a history: corpus.with_history("none"), on pages 01, 03 and 04 -p history=none. If the data have task '
        "families, import them as `scenario` (data/README.md).",
        corpus=corpus.name,
        users=sessions["user"].nunique(),
        named=named,
    )


def _sample_targets(
    corpus: Corpus, pairs: Sequence[tuple[str, str]], limit: int, seed: int, has_score: bool
) -> Iterator[Block]:
    """Yield this many turns at random, as many of each user; where a user has too few, more of the others.

    A user's turns come from as few scenarios as hold them, since a memory is built for each.
    """
    random = np.random.default_rng(seed)
    judged = corpus.turns[~corpus.turns["leads"]] if "leads" in corpus.turns else corpus.turns
    turns = judged[[*TURN, "score"]].merge(pd.DataFrame(pairs, columns=BLOCK), on=BLOCK)
    if has_score and turns["score"].notna().any():
        turns = turns.dropna(subset="score")
    for by in (["user"], BLOCK):
        number = turns.groupby(by).ngroup().to_numpy()
        turns[f"place {len(by)}"] = random.permutation(number.max(initial=-1) + 1)[number]
    turns = turns.iloc[random.permutation(len(turns))].sort_values("place 2", kind="stable")
    turns["round"] = turns.groupby("user").cumcount()
    first = turns.sort_values(["round", "place 1"]).head(limit)
    for pair, own in first.groupby(BLOCK):
        block = corpus.block(*pair)
        chosen = pd.MultiIndex.from_frame(block.targets[TURN]).isin(pd.MultiIndex.from_frame(own[TURN]))
        yield replace(block, targets=block.targets[chosen].reset_index(drop=True))


def _each(
    method: Callable[[X, Ask], Awaitable[T]],
    items: Iterable[X],
    sink: Callable[[T], object],
    judge: Judge,
    backbone: Backbone | None,
    total: int,
    **work_options: Unpack[WorkOptions],
) -> None:
    """Hand what the method finds for each item to `sink` as it comes."""
    if backbone is None or not judge.inputs.model:
        if judge.inputs.model:
            raise NotEnough(
                "The judge {judge} asks a model, and none is named: `-b NAME` names one for a page, "
                "`backbone=backbone('NAME')` in code.",
                judge=judge.name,
            )

        async def all_items(ask: Ask) -> None:
            for item in items:
                sink(await method(item, ask))
                await asyncio.sleep(0)  # so that Ctrl-C comes through

        compute(all_items)
        return
    work_options["totals"] = {"judge": total * judge.samples}
    noting = getattr(judge, "memory", None)
    if not isinstance(noting, RecordingSystem):
        backbone.each(method, items, sink, **work_options)
        return

    def keep_notes(judged: tuple[T, dict[Key, BuildRecord]]) -> None:
        result, notes = judged
        noting.notes.update(notes)
        sink(result)

    backbone.each(partial(_hand_over, method, noting), items, keep_notes, **work_options)


async def _hand_over(
    method: Callable[[X, Ask], Awaitable[T]], noting: RecordingSystem, item: X, ask: Ask
) -> tuple[T, dict[Key, BuildRecord]]:
    """Return what a method finds and what was noted meanwhile; on a cluster both travel together and share the memory."""
    result = await method(item, ask)
    return result, noting.handed_over()
