"""Candidates on the same turns (PersTurnBench, Figures 3 and 4): win, tie, lose, and by how much.

Also: does a judge rate the candidates of its own model family higher than other judges do?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN
from perslib.errors import DataError, Problem
from perslib.replay.replies import ORIGINAL
from perslib.replay.scores import EXACT, SCORE, Floats, Scores, by_judge, mean_over
from perslib.stats import (
    FEWEST_USERS,
    LEVEL,
    RESAMPLES,
    SEED,
    Resamples,
    holm,
    own_family_preference,
    sign_flip,
)
from perslib.stats.power import proper_share
from perslib.stats.resamples import ratio

_COUNTS = ("n", "users", "left_out", "left_out_other", "unscored")
_RATES = ("win", "tie", "lose", "non_tie_win_rate", "mean_delta")
#: What is compared of a pair, in the order of the columns; each has an interval beside it.
_COMPARED = [group + rate for group in ("", "user_", "task_", "block_") for rate in _RATES]


def against(
    verdicts: pd.DataFrame,
    other: str = ORIGINAL,
    *,
    score: str = SCORE,
    margin: float = 0.0,
    inclusion: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Every candidate compared with `other` on the turns that both have a score on, one row each (and a judge).

    - candidate, other; n (common turns), users; left_out (turns that only the candidate has a score on),
      left_out_other (only `other`), unscored (neither, though the judge was asked)
    - win, lose: shares of turns where the candidate's score is more than `margin` above, below; tie: the rest;
      non_tie_win_rate = win / (win + lose); mean_delta
    - user_win, …, task_win, …, block_win, …: the same five for the means of users, scenarios, blocks instead of
      turns, each group one vote and without margin, as published
    - each with …_low and …_high, a percentile interval over resampled users (from five users on)
    - mean_delta_p: of "mean_delta is zero", by flipping the sign of all of a user's differences together;
      mean_delta_p_holm: corrected for all candidates that this judge compared

    `inclusion` as in `summary`. A candidate with the same scores as `other` comes out as all ties with p = 1.
    Where there is nobody to compare, the table has these columns and no row.
    """

    def pairs(of: Scores) -> Iterable[tuple[str, str]]:
        of.column(other)
        return [(c, other) for c in of.candidates if c != other]

    return _compared(verdicts, pairs, score, margin, inclusion, resamples, seed, level)


def all_pairs(
    verdicts: pd.DataFrame,
    *,
    score: str = SCORE,
    margin: float = 0.0,
    inclusion: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Every pair of candidates once, with the columns of `against`; p is corrected for all pairs."""

    def pairs(of: Scores) -> Iterable[tuple[str, str]]:
        return combinations(of.candidates, 2)

    return _compared(verdicts, pairs, score, margin, inclusion, resamples, seed, level)


def differences(verdicts: pd.DataFrame, candidate: str, other: str, *, score: str = SCORE) -> pd.DataFrame:
    """By how much the candidate's score is above the other's on each common turn: keys and `difference`.

    What `perslib.stats.users_needed` reads; with several judges, one after another, named.
    """
    parts = []
    for of in by_judge(verdicts, score):
        difference = of.score[:, of.column(candidate)] - of.score[:, of.column(other)]
        parts.append(of.turns.assign(**of.judged_by, difference=difference)[np.isfinite(difference)])
    columns = [*(c for c in ("judge", "backbone") if c in verdicts), *TURN, "difference"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _compared(
    verdicts: pd.DataFrame,
    pairs: Callable[[Scores], Iterable[tuple[str, str]]],
    score: str,
    margin: float,
    inclusion: pd.DataFrame | None,
    resamples: int,
    seed: int,
    level: float,
) -> pd.DataFrame:
    proper_share("level", level)
    if not margin >= 0:
        raise DataError(
            Problem("margin", f"{margin:g} is not a difference of 0 or more"),
            "Give the largest difference that still counts as a tie, 0 for none.",
        )
    tables = []
    for of in by_judge(verdicts, score, inclusion):
        drawn = of.resamples(resamples, seed, level)
        rows = [
            {**of.judged_by, "candidate": a, "other": b, **_pair(of, a, b, margin, drawn, seed)}
            for a, b in pairs(of)
        ]
        if rows:
            table = pd.DataFrame(rows)
            tables.append(table.assign(mean_delta_p_holm=holm(table["mean_delta_p"])))
    return pd.concat(tables, ignore_index=True) if tables else _nobody(verdicts)


def _nobody(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The table of no pair at all, typed as one of many."""
    who = [*(c for c in ("judge", "backbone") if c in verdicts), "candidate", "other"]
    measured = [name + end for name in _COMPARED for end in ("", "_low", "_high")]
    kinds = {**dict.fromkeys(who, "str"), **dict.fromkeys(_COUNTS, "int64")}
    kinds |= dict.fromkeys([*measured, "mean_delta_p", "mean_delta_p_holm"], "float64")
    return pd.DataFrame(columns=list(kinds)).astype(kinds)


def _pair(
    of: Scores, candidate: str, other: str, margin: float, drawn: Resamples, seed: int
) -> dict[str, Any]:
    a, b = of.column(candidate), of.column(other)
    has, has_other = np.isfinite(of.score[:, [a, b]]).T
    common, asked = has & has_other, of.judged[:, [a, b]].any(axis=1)
    delta = np.where(common, of.score[:, a] - of.score[:, b], 0.0)
    delta[np.abs(delta) < EXACT] = 0.0

    turns, total = of.cells(of.weight * common), of.cells(of.weight * delta)
    win, lose = (of.cells(of.weight * (common & (s * delta > margin + EXACT))) for s in (1, -1))
    by_user = ratio(total.sum(axis=1), turns.sum(axis=1))
    present = np.isfinite(by_user)
    weights = drawn.weights_for(int(present.sum()))
    groups = {
        "": [of_user.sum(axis=1) for of_user in (turns, total, win, lose)],
        "user_": _votes(by_user[:, None]),
        "block_": _votes(ratio(total, turns)),
    }
    values: dict[str, Floats] = {}
    for name, sums in groups.items():
        n, apart, won, lost = np.array(sums) @ weights
        values |= _rates(name, ratio(won, n), ratio(lost, n), ratio(apart, n))
    by_task = ratio(total.T @ weights, turns.T @ weights)
    won, lost = (mean_over(np.where(np.isnan(by_task), np.nan, s * by_task > EXACT)) for s in (1, -1))
    values |= _rates("task_", won, lost, mean_over(by_task))

    tested = int(present.sum()) >= FEWEST_USERS
    counts = (common, present, has & ~has_other, has_other & ~has, asked & ~has & ~has_other)
    return {
        **{name: int(counted.sum()) for name, counted in zip(_COUNTS, counts, strict=True)},
        **{k: v for name in _COMPARED for k, v in drawn.estimate(values[name], name).items()},
        # One total a user: their sum over users is the mean difference times the number of turns.
        "mean_delta_p": sign_flip(total.sum(axis=1)[present], seed=seed) if tested else np.nan,
    }


def _votes(means: Floats) -> list[Floats]:
    """For each user: number of groups, sum of their mean differences, groups won and lost."""
    votes = (np.isfinite(means), np.nan_to_num(means), means > EXACT, means < -EXACT)
    return [np.asarray(v, dtype=float).sum(axis=1) for v in votes]


def _rates(prefix: str, win: Floats, lose: Floats, delta: Floats) -> dict[str, Floats]:
    tie = np.round(1 - win - lose, 12) + 0.0
    values = (win, tie, lose, ratio(win, win + lose), delta)
    return {prefix + rate: value for rate, value in zip(_RATES, values, strict=True)}


def self_preference(
    verdicts: pd.DataFrame,
    families: Mapping[str, str],
    score: str = SCORE,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> pd.DataFrame:
    """How much more each judge gives its own family than judges of other families give the same replies.

    `families` maps candidates, and backbones or judges, to families; see `perslib.stats.own_family_preference`.

    Columns: judge, backbone, family, own and others (the two means), preference, preference_low, preference_high,
    preference_p (two-sided, resampled users), preference_p_holm (over the judges), own_candidates, other_candidates,
    judges (the others), turns (replies), users, why (what is lacking where there is no value).
    """
    proper_share("level", level)
    judges: list[dict[str, Any]] = []
    columns: list[pd.Series] = []
    for of in by_judge(verdicts, score):
        table = pd.DataFrame(of.score, pd.MultiIndex.from_frame(of.turns), of.candidates)
        columns.append(table.rename_axis(columns="candidate").stack().rename(len(columns)))
        judges.append({"judge": None, "backbone": None, **of.judged_by})
    if columns:
        replies = pd.concat(columns, axis=1)
    else:
        replies = pd.DataFrame(index=pd.MultiIndex.from_frame(verdicts[["candidate", *TURN]]))
    known = {
        place: families[name]
        for place, about in enumerate(judges)
        for name in (about["judge"], about["backbone"])
        if name in families
    }
    made_by, users = (replies.index.get_level_values(name) for name in ("candidate", "user"))
    found = own_family_preference(
        replies, made_by, users, families, judge_families=known, resamples=resamples, seed=seed, level=level
    )
    names = {
        "own_makers": "own_candidates",
        "other_makers": "other_candidates",
        "rows": "turns",
        "units": "users",
    }
    found = found.drop(columns="judge").rename(columns=names)
    return pd.DataFrame(judges, columns=["judge", "backbone"]).join(found)
