"""Candidates' replies before the frozen judge (PersTurnBench, section 5).

A replayed turn is judged as the recorded one was: same user memory, same conversation, another reply. All replies to
a turn are asked about one after another, so that they share the longest prefix, and the memory is built once a block.

Scores are then calibrated by the same judge's scores of the *recorded* replies of the block, the reference. The
recorded replies go through the same calibrator when they are a candidate of their own (`originals`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from perslib.calibrate import histories, reference_calibrated
from perslib.corpus import TURN, Block, Corpus, coerce
from perslib.errors import PerslibError
from perslib.judge import Judge, Personal, evaluate
from perslib.judge.evaluate import fit, frame, verdicts_on
from perslib.llm import Backbone

BLOCK = ["user", "scenario"]
#: What a judge of a replay is calibrated with.
CALIBRATIONS = ("reference_cdf", "reference_mean_shift")


def scored(
    judge: Judge,
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    progress: bool = True,
    cap: float | None = None,
) -> pd.DataFrame:
    """The judge's verdicts on the replies of all candidates, one row a reply, in the order of `replies`.

    What has no reply is unscored and says why. The judge is frozen: fitted on train users, its memory built from the
    user's other scenarios and fixed, so that no verdict depends on which candidates stand beside.
    """
    _frozen(judge)
    replies = coerce(replies, "replies")
    given = replies[replies["response"].fillna("").str.strip() != ""]
    blocks, order = _blocks(corpus, given)
    fit(judge, corpus, blocks, backbone, progress=progress, cap=cap)
    found = verdicts_on(judge, blocks, backbone, progress=progress, cap=cap)
    verdicts = frame(judge, corpus, backbone, blocks, found, candidates=list(given.loc[order, "candidate"]))
    verdicts = pd.concat([verdicts, _unscored(replies.drop(index=given.index), verdicts)], ignore_index=True)
    wanted = replies[["candidate", *TURN]]
    return coerce(wanted.merge(verdicts, how="left", on=["candidate", *TURN], validate="1:1"), "verdicts")


def reference(
    judge: Judge,
    corpus: Corpus,
    turns: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
    seed: int = 42,
    progress: bool = True,
    cap: float | None = None,
) -> pd.DataFrame:
    """The judge's verdicts on the recorded replies of the blocks of these turns.

    All of them, as published; with `most` so many a block, drawn by the seed, the replayed ones first.
    """
    _frozen(judge)
    pairs = turns[BLOCK].drop_duplicates().itertuples(index=False)
    blocks = [corpus.block(*pair) for pair in pairs]
    if most is not None:
        replayed = set(turns[TURN].itertuples(index=False, name=None))
        blocks = [_some(block, replayed, most, seed) for block in blocks]
    return evaluate(judge, corpus, backbone, blocks=blocks, progress=progress, cap=cap)


def on_reference(
    verdicts: pd.DataFrame,
    reference: pd.DataFrame,
    corpus: Corpus,
    methods: Iterable[str] = CALIBRATIONS,
) -> pd.DataFrame:
    """The verdicts with `real` (the mean of the distribution where there is one, else the score) and a column a
    calibration by the recorded replies' scores."""
    new, old = (v.assign(real=v["expected"].fillna(v["raw"])) for v in (verdicts, reference))
    return reference_calibrated(new, old, histories(corpus), methods, score="real")


def judged_by_themselves(replies: pd.DataFrame, verdicts: pd.DataFrame) -> list[tuple[str, str]]:
    """Candidates whose own model is the judge: pairs of candidate and judge."""
    judges = verdicts[["judge", "backbone"]].dropna().drop_duplicates()
    own = replies[["candidate", "backbone"]].dropna().drop_duplicates().merge(judges, on="backbone")
    return sorted(own[["candidate", "judge"]].itertuples(index=False, name=None))


def _blocks(corpus: Corpus, replies: pd.DataFrame) -> tuple[list[Block], list[int]]:
    """The blocks with the candidates' replies as targets, and which row of `replies` each target is."""
    blocks, order = [], []
    for (user, scenario), own in replies.groupby(BLOCK, sort=False):
        block = corpus.block(user, scenario)
        recorded = block.targets.reset_index(drop=True)
        place = recorded.reset_index(names="place")[["place", "session", "turn"]]
        found = own.reset_index(names="row").merge(place, on=["session", "turn"], how="left")
        if (unknown := found["place"].isna()).any():
            one = found[unknown].iloc[0]
            raise PerslibError(
                f"{one['candidate']} answers {user}/{scenario}/{one['session']}/{one['turn']}, which {corpus.name} "
                "does not have; was this replay made from another corpus? perslib.replay.checked names all such turns."
            )
        found = found.sort_values(["place", "row"], kind="stable")
        targets = recorded.loc[found["place"]].assign(response=found["response"].to_numpy())
        blocks.append(replace(block, targets=targets.reset_index(drop=True)))
        order += found["row"].tolist()
    return blocks, order


def _unscored(replies: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    why = "no reply: " + replies["error"].fillna("it is empty")
    rows = replies[["candidate", *TURN]].assign(mode="unscored", error=why)
    one = like.iloc[:1]
    named = {c: one[c].iloc[0] for c in ("corpus", "judge", "backbone")} if len(one) else {}
    return coerce(rows.assign(**named), "verdicts") if len(rows) and named else like.iloc[:0]


def _some(block: Block, replayed: set[tuple[object, ...]], most: int, seed: int) -> Block:
    """At most this many targets of a block: those that are replayed, then others by lot."""
    keys = block.targets[TURN].itertuples(index=False, name=None)
    first = np.array([key in replayed for key in keys], dtype=bool)
    lot = np.random.default_rng(seed).permutation(len(block))
    kept = sorted(lot[np.argsort(~first[lot], kind="stable")][:most])
    return replace(block, targets=block.targets.iloc[kept].reset_index(drop=True))


def _frozen(judge: Judge) -> None:
    if isinstance(judge, Personal) and judge.update != "fixed":
        raise PerslibError(
            f"Judge {judge.name!r} changes its memory as it judges ({judge.update}), so a reply's score would depend "
            "on the replies before it; a replay needs update='fixed'."
        )
