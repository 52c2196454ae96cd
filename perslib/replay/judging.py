"""Candidates' replies before the frozen judge (PersTurnBench, section 5).

A replayed turn is judged as the recorded one was: same user memory, same conversation, another reply. All replies to
a turn are asked about one after another, so that they share the longest prefix, and the memory is built once a block.

Scores are then calibrated by the same judge's scores of the *recorded* replies of the block, the reference. The
recorded replies go through the same calibrator when they are a candidate of their own (`originals`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus, coerce
from perslib.errors import DataError, PerslibError, Problem
from perslib.judge import Judge, Personal
from perslib.judge.base import make_judge_columns, make_verdict_frame
from perslib.judge.evaluate import fit_judge as fit_judge
from perslib.judge.evaluate import judge_blocks, require_texts
from perslib.llm import Backbone
from perslib.llm.backbone import WorkOptions
from perslib.replay.replies import KEY, ORIGINAL, blocks_of, check_single, is_among, known_turns
from perslib.stats import SEED, calibrate_verdicts, histories
from perslib.stats.resample.leave_one_out import Bools, Ints

#: What a judge of a replay is calibrated with.
CALIBRATIONS = ("cdf", "mean_shift")


def judge_candidates(
    judge: Judge,
    corpus: Corpus,
    replies: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    fit: bool = True,
    **work_options: Unpack[WorkOptions],
) -> pd.DataFrame:
    """Return the judge's verdicts on the replies of all candidates, one row a reply, in the order of `replies`.

    What has no reply is unscored and says why. The judge is frozen: fitted on train users, its memory built from the
    user's other scenarios and fixed, so that no verdict depends on which candidates stand beside. With `fit` off, a
    judge that learns is taken as it is.
    """
    if isinstance(judge, Personal) and judge.update != "fixed":
        raise PerslibError(
            f"Judge {judge.name!r} changes its memory as it judges ({judge.update}), so a reply's score would depend "
            "on the replies before it; a replay needs update='fixed'."
        )
    require_texts(judge, corpus)
    replies = coerce(replies, "replies")
    check_single(replies)
    known_turns(corpus, replies[TURN].drop_duplicates())
    is_given = replies["response"].fillna("").str.strip() != ""
    blocks, order = [], []
    for block, rows in blocks_of(corpus, replies[is_given]):
        targets = block.targets.assign(response=replies.loc[rows, "response"].to_numpy())
        blocks.append(replace(block, targets=targets))
        order += rows
    if fit and judge.inputs.train:
        fit_judge(judge, corpus, (block for block, _ in blocks_of(corpus, replies)), backbone, **work_options)
    judged = judge_blocks(judge, blocks, backbone, **work_options)
    verdicts = make_verdict_frame(judge, corpus, backbone, blocks, judged, list(replies.loc[order, "candidate"]))
    every = replies[KEY].merge(verdicts, how="left", on=KEY, validate="1:1")
    missing: dict[str, Any] = {**make_judge_columns(judge, corpus, backbone), "mode": "unscored"}
    missing["error"] = "no reply: " + replies["error"].fillna("it is empty")
    columns = {name: every[name].where(is_given, value) for name, value in missing.items()}
    return coerce(every.assign(**columns), "verdicts")


def judge_recorded_replies(
    judge: Judge,
    corpus: Corpus,
    turns: pd.DataFrame,
    backbone: Backbone | None = None,
    *,
    most: int | None = None,
    fit: bool = True,
) -> pd.DataFrame:
    """Return the judge's verdicts on the recorded replies of the blocks of these turns, as `judge_candidates` gives
    them.

    All of them, as published; with `most` so many a block, drawn at random, the replayed ones first. `fit` is off
    for a judge that `judge_candidates` has just fitted.
    """
    if most is not None and most < 1:
        raise DataError(Problem("most", f"is {most}, expected 1 or more replies of a block, or None for all"))
    whole = turns[BLOCK].drop_duplicates().merge(corpus.turns[[*TURN, "response"]], on=BLOCK)
    if most is not None:
        replayed = is_among(whole, turns)
        places = whole.groupby(BLOCK, sort=False).indices.values()
        whole = whole.iloc[[i for own in places for i in own[_draw(replayed[own], most)]]]
    recorded = whole.assign(candidate=ORIGINAL)
    verdicts = judge_candidates(judge, corpus, recorded, backbone, fit=fit)
    return coerce(verdicts.assign(candidate=None), "verdicts")


def _draw(replayed: Bools, most: int) -> Ints:
    """Return at most this many turns of a block, in order: those that are replayed, then others at random."""
    lot = np.random.default_rng(SEED).permutation(len(replayed))
    return np.sort(lot[np.argsort(~replayed[lot], kind="stable")][:most])


def calibrate_on_reference(verdicts: pd.DataFrame, reference: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Return the verdicts with `real` (the mean of the distribution where there is one, else the score) and a column a
    calibration by the recorded replies' scores."""
    new, old = (v.assign(real=v["expected"].fillna(v["raw"])) for v in (verdicts, reference))
    return calibrate_verdicts(new, histories(corpus), CALIBRATIONS, reference=old, score="real")


def judged_by_themselves(
    replies: pd.DataFrame, verdicts: pd.DataFrame, judge_models: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return candidates whose own model is the judge: pairs of candidate and judge.

    A backbone goes by its name and by the model behind it, where `judge_models` (name → model) says which, be it the
    judge's or a candidate's: `Qwen/Qwen3-8B` is `qwen3-8b`. A candidate without a backbone, one from a file, goes by
    its name up to the context (`qwen3-8b · tfidf`, `qwen3-8b (tfidf)`).

    Not found is what no name tells: a model behind an alias, another size or a tuned version of the judge's model, and
    a candidate from a file whose name is its own invention.
    """
    models = judge_models or {}

    def known_as(backbone: str) -> set[str]:
        return {_bare(backbone), _bare(models.get(backbone, backbone))}

    judges = verdicts[["judge", "backbone"]].dropna().drop_duplicates().to_numpy()
    candidates = replies[["candidate", "backbone"]].drop_duplicates().to_numpy()
    pairs = {
        (str(candidate), str(judge))
        for candidate, own in candidates
        for judge, backbone in judges
        if known_as(re.split(r" · | \(", candidate)[0] if pd.isna(own) else own) & known_as(backbone)
    }
    return sorted(pairs)


def _bare(model: str) -> str:
    """Return a model's name without whose it is: `Qwen/Qwen3-8B` → qwen3-8b."""
    return model.rsplit("/", 1)[-1].strip().casefold()
