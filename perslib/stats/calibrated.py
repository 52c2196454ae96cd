"""The calibrators on the verdicts frame: one more column a method, and one that says where it fell back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, Corpus
from perslib.errors import DataError, Problem, UnknownName
from perslib.stats.calibration import MIN_HISTORY, Calibrated, Floats, Ints, SharedTies, Ties, cdf, mean_shift
from perslib.stats.calibration_on_replay import (
    pooled_reference_cdf,
    reference_cdf,
    reference_mean_shift,
    reference_transfer,
)

COUNTS = [f"n{s}" for s in range(1, 6)]

#: What makes scores one judge's: each combination is calibrated on its own.
JUDGED_BY = ["corpus", "judge", "backbone"]

METHODS = ("mean_shift", "cdf")
#: Scores that differ by less are equal: the same reply, computed beside other ones, can differ in the last bits.
DECIMALS = 9
REFERENCE_METHODS = ("reference_mean_shift", "reference_cdf", "reference_cdf_pooled", "reference_transfer")


def histories(corpus: Corpus) -> pd.DataFrame:
    """How often each user gave 1 to 5 outside a scenario, for every block: user, scenario, n1 … n5.

    Ratings in the scenario itself are what a judge is tested on; they are never counted.
    """
    rated = corpus.turns.dropna(subset="score")
    given = pd.crosstab([rated["user"], rated["scenario"]], rated["score"].astype(int))
    blocks = pd.MultiIndex.from_frame(corpus.sessions[BLOCK].drop_duplicates())
    own = given.reindex(index=blocks, columns=range(1, 6), fill_value=0)
    others = own.groupby(level="user", sort=False).transform("sum") - own
    return others.set_axis(COUNTS, axis=1).astype("int64").reset_index()


def calibrated(
    verdicts: pd.DataFrame,
    histories: pd.DataFrame,
    methods: Iterable[str] = METHODS,
    *,
    score: str = "raw",
    ties: Ties = "expected",
    min_history: float = MIN_HISTORY,
    prefix: str = "",
) -> pd.DataFrame:
    """The verdicts with two further columns a method: `{prefix}{method}` and `{prefix}{method}_fallback`.

    The first holds the calibrated `score` (Float64), the second why the raw score stands, missing where the method
    applied; `fallbacks` counts them. Every corpus, candidate, judge and backbone is calibrated on its own. `ties` is
    `cdf`'s. A block that `histories` lacks has no history.
    """
    raw = np.round(scores_of(verdicts, score), DECIMALS)
    block, of_block = _numbered(verdicts, [*JUDGED_BY, "candidate"])
    counts = of_blocks(of_block, histories)
    out: dict[str, Any] = {}
    for method in methods:
        if method == "mean_shift":
            done = mean_shift(raw, block, counts, min_history=min_history)
        elif method == "cdf":
            turn = verdicts["turn"].to_numpy(dtype="int64")
            done = cdf(raw, block, counts, ties=ties, turn=turn, min_history=min_history)
        else:
            raise UnknownName("calibration method", method, METHODS)
        out |= _columns(prefix + method, done, verdicts.index)
    return verdicts.assign(**out)


def reference_calibrated(
    verdicts: pd.DataFrame,
    reference: pd.DataFrame,
    histories: pd.DataFrame,
    methods: Iterable[str] = ("reference_cdf",),
    *,
    score: str = "raw",
    ties: Ties = "expected",
    min_history: float = MIN_HISTORY,
) -> pd.DataFrame:
    """The verdicts on candidates' replies, calibrated by the same judge's verdicts on the recorded replies.

    Columns as in `calibrated`. `ties` holds for `reference_cdf` and for the block CDF that `reference_transfer`
    learns from; `reference_cdf_pooled`, the published rule, brings its own and pools each candidate on its own.

    A block without recorded replies falls back to the raw scores; a judge without any is refused, for nothing of
    what it gave could be compared with a calibrated score.
    """
    _refuse_without_reference(verdicts, reference)
    pooled = pd.concat([reference, verdicts], ignore_index=True)
    is_reference = np.arange(len(pooled)) < len(reference)
    raw = np.round(scores_of(pooled, score), DECIMALS)
    block, of_block = _numbered(pooled, JUDGED_BY)
    counts = of_blocks(of_block, histories)
    new, old = (raw[~is_reference], block[~is_reference]), (raw[is_reference], block[is_reference])
    out: dict[str, Any] = {}
    for method in methods:
        if method == "reference_mean_shift":
            done = reference_mean_shift(*new, *old, counts, min_history=min_history)
        elif method == "reference_cdf":
            shared = cast(SharedTies, ties)  # reference_cdf refuses the other one
            done = reference_cdf(*new, *old, counts, ties=shared, min_history=min_history)
        elif method == "reference_cdf_pooled":
            done = _pooled(pooled, raw, block, is_reference, counts, min_history)
        elif method == "reference_transfer":
            turn = reference["turn"].to_numpy(dtype="int64")
            became = cdf(*old, counts, ties=ties, turn=turn, min_history=min_history).scores
            done = reference_transfer(*new, old[0], became, old[1])
        else:
            raise UnknownName("calibration method", method, REFERENCE_METHODS)
        out |= _columns(method, done, verdicts.index)
    return verdicts.assign(**out)


def fallbacks(calibrated: pd.DataFrame) -> pd.DataFrame:
    """How often each method left the raw score standing, and why: judge, backbone, method, reason, n, of."""
    who = [c for c in (*JUDGED_BY, "candidate") if c in calibrated]
    methods = [c for c in calibrated if str(c).endswith("_fallback")]
    long = calibrated[[*who, *methods]].melt(who, methods, "method", "reason")
    long["method"] = long["method"].str.removesuffix("_fallback")
    of = long.groupby([*who, "method"], dropna=False, sort=False).size().rename("of").reset_index()
    found = long.dropna(subset="reason").groupby([*who, "method", "reason"], dropna=False, sort=False)
    return found.size().rename("n").reset_index().merge(of, on=[*who, "method"], how="left")


def scores_of(verdicts: pd.DataFrame, score: str) -> Floats:
    """A column of scores as plain floats, NaN where unscored."""
    if score not in verdicts:
        raise UnknownName("column of the verdicts", score, map(str, verdicts.columns))
    return verdicts[score].to_numpy(dtype=float, na_value=np.nan)


def _numbered(verdicts: pd.DataFrame, by: list[str]) -> tuple[Ints, pd.DataFrame]:
    """The number of each verdict's block, and user and scenario of each number."""
    keys = [*(c for c in by if c in verdicts), *BLOCK]
    number = verdicts.groupby(keys, dropna=False, sort=False).ngroup()
    first = ~number.duplicated()
    of_block = verdicts.loc[first, BLOCK].set_axis(number[first]).sort_index()
    return number.to_numpy(dtype=np.int64), of_block


def of_blocks(blocks: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """The rows of `histories` for these blocks, in order; zeros where there is none."""
    if histories.duplicated(BLOCK).any():
        raise DataError("histories has a block twice", "Give it the histories of one corpus.")
    joined = blocks[BLOCK].merge(histories, on=BLOCK, how="left", sort=False)
    return joined[COUNTS].fillna(0).to_numpy(dtype=float)


def _refuse_without_reference(verdicts: pd.DataFrame, reference: pd.DataFrame) -> None:
    who = [c for c in JUDGED_BY if c in verdicts or c in reference]
    judges, known = (
        {*map(tuple, v.reindex(columns=who).astype("str").fillna("").to_numpy())} for v in (verdicts, reference)
    )
    if lacking := sorted(judges - known):
        named = ([f"{c} {n}" for c, n in zip(who, names, strict=True) if n] for names in lacking)
        raise DataError(
            [Problem("reference", f"has no verdict of {', '.join(n) or 'this judge'}") for n in named],
            "Candidates are calibrated by what their judge gave the recorded replies: give the reference verdicts "
            "of the same judge and backbone on the same corpus.",
        )


def _columns(name: str, done: Calibrated, index: pd.Index) -> dict[str, Any]:
    reasons = [str(why) or None for why in done.fallback]
    return {
        name: pd.Series(pd.array(done.scores, dtype="Float64"), index=index),
        f"{name}_fallback": pd.Series(reasons, index=index, dtype="str"),
    }


def _pooled(
    pooled: pd.DataFrame, raw: Floats, block: Ints, is_reference: np.ndarray, counts: Floats, min_history: float
) -> Calibrated:
    """The pooled rule, one candidate after another: the published program reads one candidate's file."""
    keys = (pooled[c].astype(str) for c in (*BLOCK, "session", "turn"))
    user, scenario, session, turn = keys
    ids = (user + "__" + scenario + "__" + session + ".json__turn_" + turn).to_numpy(dtype=str)
    candidate = pooled["candidate"].fillna("") if "candidate" in pooled else pd.Series("", pooled.index)
    old = (raw[is_reference], ids[is_reference], block[is_reference])
    scores, why = np.full(len(pooled), np.nan), np.full(len(pooled), "", dtype="<U20")
    for name in candidate[~is_reference].unique():
        of = ~is_reference & (candidate == name).to_numpy()
        done = pooled_reference_cdf(raw[of], ids[of], block[of], *old, counts, min_history=min_history)
        scores[of], why[of] = done.scores, done.fallback
    return Calibrated(scores[~is_reference], why[~is_reference])
