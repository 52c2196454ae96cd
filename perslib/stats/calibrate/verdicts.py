"""The calibrators on the verdicts frame: one more column a method, and one that says where it fell back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import BLOCK, TURN, Corpus
from perslib.errors import DataError, Problem, UnknownName, check_names
from perslib.stats.calibrate.user_scale import MIN_HISTORY, CalibratedScores, Floats, Ints, Ties, cdf, mean_shift
from perslib.stats.resample.leave_one_out import floats

COUNTS = [f"n{s}" for s in range(1, 6)]

#: What makes scores one judge's: each combination is calibrated on its own.
JUDGED_BY = ["corpus", "judge", "backbone"]

METHODS, POOLED = ("mean_shift", "cdf"), "cdf_pooled"
#: Scores that differ by less are equal: the same reply, computed beside other ones, can differ in the last bits.
DECIMALS = 9


def histories(corpus: Corpus) -> pd.DataFrame:
    """Return how often each user gave 1 to 5 outside a scenario, for every block: user, scenario, n1 … n5.

    Ratings in the scenario itself are what a judge is tested on; they are never counted, and where only earlier
    conversations are evidence, neither are later ones.
    """
    rated = corpus.turns.dropna(subset="score")
    given = pd.crosstab([rated["user"], rated["scenario"]], rated["score"].astype(int))
    blocks = pd.MultiIndex.from_frame(corpus.sessions[BLOCK].drop_duplicates())
    own = given.reindex(index=blocks, columns=range(1, 6), fill_value=0)
    users = own.groupby(level="user", sort=False)
    others = (users.cumsum() if corpus.evidence == "earlier" else users.transform("sum")) - own
    return others.set_axis(COUNTS, axis=1).astype("int64").reset_index()


def calibrate_verdicts(
    verdicts: pd.DataFrame,
    histories: pd.DataFrame,
    methods: Iterable[str] = METHODS,
    *,
    reference: pd.DataFrame | None = None,
    score: str = "raw",
    ties: Ties = "expected",
    min_history: float = MIN_HISTORY,
) -> pd.DataFrame:
    """Return the verdicts with two further columns a method: `{method}` and `{method}_fallback`.

    The first holds the calibrated `score` (Float64), the second why the raw score stands, missing where the method
    applied; `fallbacks` counts them. A block that `histories` lacks has no history.

    Parameters
    ----------
    verdicts, score : every corpus, judge, backbone and candidate is calibrated on its own.
    histories, min_history : as of `histories`, and with fewer rated turns than this the raw score stands.
    methods : `mean_shift`, `cdf`; with a reference also `cdf_pooled`, as published: all of a candidate's scores of a
        block are ranked with its reference, ties by sample id as text, the reference first. So a score depends on what
        else stands in the table, and `10.json` comes before `2.json`; `cdf` has neither fault.
    reference : the same judges' verdicts on the recorded replies. With them the verdicts, on candidates' replies, are
        ranked among those of the block, and columns are called `reference_cdf`, `reference_mean_shift`. A block without
        recorded replies falls back; a judge without any is refused, for nothing of what it gave could be compared.
    ties : as of `perslib.stats.calibrate.user_scale.cdf`.
    """
    pooled, by = verdicts, [*JUDGED_BY, "candidate"]
    if reference is not None:
        _refuse_without_reference(verdicts, reference)
        pooled, by = pd.concat([verdicts, reference], ignore_index=True), JUDGED_BY
    n = len(verdicts)
    raw = np.round(scores_of(pooled, score), DECIMALS)
    block, of_block = _number_blocks(pooled, by)
    reference_scores = None if reference is None else (raw[n:], block[n:])
    given = (raw[:n], block[:n], of_blocks(of_block, histories), reference_scores)
    out: dict[str, Any] = {}
    for method in methods:
        if method == "mean_shift":
            done = mean_shift(*given, min_history=min_history)
        elif method == "cdf":
            done = cdf(*given, ties=ties, turn=verdicts["turn"].to_numpy("int64"), min_history=min_history)
        elif method == POOLED and reference is not None:
            done = _pool_references(pooled, n, raw, block, cdf(*given, min_history=min_history), given[2])
        else:
            raise UnknownName("calibration method", method, METHODS if reference is None else (*METHODS, POOLED))
        name = method if reference is None else f"reference_{method}"
        reasons = [str(why) or None for why in done.fallback]
        out[name] = pd.Series(done.scores, verdicts.index, "Float64")
        out[f"{name}_fallback"] = pd.Series(reasons, index=verdicts.index, dtype="str")
    return verdicts.assign(**out)


def fallbacks(calibrated: pd.DataFrame) -> pd.DataFrame:
    """Return how often each method left the raw score standing, and why: judge, backbone, method, reason, n, verdicts (of how many)."""
    who = [c for c in (*JUDGED_BY, "candidate") if c in calibrated]
    methods = [c for c in calibrated if str(c).endswith("_fallback")]
    long = calibrated[[*who, *methods]].melt(who, methods, "method", "reason")
    long["method"] = long["method"].str.removesuffix("_fallback")
    whole = long.groupby([*who, "method"], dropna=False, sort=False).size().rename("verdicts").reset_index()
    groups = long.dropna(subset="reason").groupby([*who, "method", "reason"], dropna=False, sort=False)
    return groups.size().rename("n").reset_index().merge(whole, on=[*who, "method"], how="left")


def scores_of(verdicts: pd.DataFrame, score: str) -> Floats:
    """Return a column of scores as plain floats, NaN where unscored."""
    check_names("column of the verdicts", score, verdicts)
    return floats(verdicts[score])


def _number_blocks(verdicts: pd.DataFrame, by: list[str]) -> tuple[Ints, pd.DataFrame]:
    """Return the number of each verdict's block, and user and scenario of each number."""
    keys = [*(c for c in by if c in verdicts), *BLOCK]
    number = verdicts.groupby(keys, dropna=False, sort=False).ngroup()
    first = ~number.duplicated()
    of_block = verdicts.loc[first, BLOCK].set_axis(number[first]).sort_index()
    return number.to_numpy(dtype=np.int64), of_block


def of_blocks(blocks: pd.DataFrame, histories: pd.DataFrame) -> Floats:
    """Return the rows of `histories` for these blocks, in order; zeros where there is none."""
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


def _pool_references(
    verdicts: pd.DataFrame, n: int, raw: Floats, block: Ints, alone: CalibratedScores, counts: Floats
) -> CalibratedScores:
    """Return the pooled rule for the first `n` verdicts, the others being the reference; what falls back does so
    `alone`, too.

    One candidate after another: the published program reads one candidate's file.
    """
    user, scenario, session, turn = (verdicts[c].astype(str) for c in TURN)
    ids = (user + "__" + scenario + "__" + session + ".json__turn_" + turn).to_numpy(dtype=str)
    candidate = (
        verdicts["candidate"].astype(object).fillna("") if "candidate" in verdicts else pd.Series("", verdicts.index)
    )
    scores = alone.scores.copy()
    for name in candidate[:n].unique():
        own = np.flatnonzero(candidate[:n] == name)
        rows = np.r_[own, n : len(verdicts)]
        place = np.argsort(np.lexsort((rows < n, ids[rows])))
        ranked = cdf(raw[rows], block[rows], counts, ties="turn_index", turn=place, min_history=0).scores[: len(own)]
        scores[own] = np.where(alone.fallback[own] == "", ranked, scores[own])
    return CalibratedScores(scores, alone.fallback)
