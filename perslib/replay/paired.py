"""Candidates on the same turns (PersTurnBench, Figures 3 and 4): win, tie, lose, and by how much.

Also: does a judge rate the candidates of its own model family higher than other judges do?
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from perslib.corpus import TURN
from perslib.replay.replies import ORIGINAL
from perslib.replay.score_arrays import SCORE, CandidateScores, Groups, by_judge
from perslib.stats import FEWEST_FLIPPED, SEED, estimate, holm, own_family_preference, sign_flip
from perslib.stats.compare.paired import EXACT
from perslib.stats.resample.leave_one_out import name_bounds, ratio

_COUNTS = ("n", "users", "left_out", "left_out_other", "unscored")
#: How columns begin → what has one vote each.
_GROUPS = {"": "turn", "user_": "user", "task_": "task", "block_": "block"}
_RATES = ("win", "tie", "lose", "non_tie_win_rate", "mean_delta")


def compare_candidate_scores(
    verdicts: pd.DataFrame,
    other: str | None = ORIGINAL,
    *,
    score: str = SCORE,
    inclusion: pd.DataFrame | None = None,
    seed: int = SEED,
) -> pd.DataFrame:
    """Compare every candidate with `other` on the turns that both have a score on; with None, every two candidates.

    One row a pair and judge:

    - candidate, other; n (common turns), users; left_out (turns that only the candidate has a score on),
      left_out_other (only `other`), unscored (neither, though the judge was asked)
    - win, lose: shares of turns where the candidate's score is above, below; tie: the rest;
      non_tie_win_rate = win / (win + lose); mean_delta
    - user_win, …, task_win, …, block_win, …: the same five for the means of users, scenarios, blocks instead of
      turns, each group one vote, as published
    - each with …_low and …_high, an interval over users (from ten on)
    - mean_delta_p: of "mean_delta is zero", by flipping the sign of all of a user's differences together;
      mean_delta_p_holm: corrected for all pairs of this judge

    `inclusion` as in `summarize_candidates`. A candidate with the same scores as `other` comes out as all ties with p = 1.
    Where there is nobody to compare, the table has these columns and no row.
    """
    rows: list[dict[str, Any]] = []
    p: list[float] = []
    for of in by_judge(verdicts, score, inclusion):
        pairs = list(combinations(of.candidates, 2))
        if other is not None:
            of.column(other)
            pairs = [(candidate, other) for candidate in of.candidates if candidate != other]
        own = [{"candidate": a, "other": b, **_pair(of, a, b, seed)} for a, b in pairs]
        p += holm([row["mean_delta_p"] for row in own]).tolist()
        rows += [of.judged_by | row for row in own]
    if rows:
        return pd.DataFrame(rows).assign(mean_delta_p_holm=p)
    rates = [name for prefix in _GROUPS for rate in _RATES for name in name_bounds(prefix + rate)]
    who = [*(c for c in ("judge", "backbone") if c in verdicts), "candidate", "other"]
    kinds = {**dict.fromkeys(who, "str"), **dict.fromkeys(_COUNTS, "int64")}
    kinds |= dict.fromkeys([*rates, "mean_delta_p", "mean_delta_p_holm"], "float64")
    return pd.DataFrame(columns=list(kinds)).astype(kinds)


def list_turn_differences(verdicts: pd.DataFrame, candidate: str, other: str) -> pd.DataFrame:
    """Return by how much the candidate's score is above the other's on each common turn: keys and `difference`.

    What `perslib.stats.users_needed` reads; with several judges, one after another, named.
    """
    parts = []
    for of in by_judge(verdicts, SCORE):
        difference = of.score[:, of.column(candidate)] - of.score[:, of.column(other)]
        parts.append(of.turns.assign(**of.judged_by, difference=difference)[np.isfinite(difference)])
    columns = [*(c for c in ("judge", "backbone") if c in verdicts), *TURN, "difference"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _pair(of: CandidateScores, candidate: str, other: str, seed: int) -> dict[str, Any]:
    a, b = of.column(candidate), of.column(other)
    has, has_other = np.isfinite(of.score[:, [a, b]]).T
    common, asked = has & has_other, of.judged[:, [a, b]].any(axis=1)
    delta = np.where(common, of.score[:, a] - of.score[:, b], np.nan)
    delta[np.abs(delta) < EXACT] = 0.0
    groups = Groups(of, delta)
    counts = (common, groups.present, has & ~has_other, has_other & ~has, asked & ~has & ~has_other)
    row: dict[str, Any] = {name: int(counted.sum()) for name, counted in zip(_COUNTS, counts, strict=True)}
    for prefix, group in _GROUPS.items():
        changes = (lambda means: means > EXACT, lambda means: means < -EXACT, None)
        win, lose, differing = (groups.over(group, change) for change in changes)
        rates = (win, np.round(1 - win - lose, 12) + 0.0, lose, ratio(win, win + lose), differing)
        for rate, value in zip(_RATES, rates, strict=True):
            row |= estimate(value, prefix + rate, "plain" if rate == _RATES[-1] else "share")
    # One total a user: their sum over users is the mean difference times the number of turns.
    totals = groups.total.sum(axis=1)[groups.present]
    return {**row, "mean_delta_p": sign_flip(totals, seed=seed) if len(totals) >= FEWEST_FLIPPED else np.nan}


def self_preference(verdicts: pd.DataFrame, families: Mapping[str, str], score: str = SCORE) -> pd.DataFrame:
    """Return how much more each judge gives its own family than judges of other families give the same replies.

    `families` maps candidates, and backbones or judges, to families; see `perslib.stats.own_family_preference`.

    Columns: judge, backbone, family, own and others (the two means), preference, preference_low, preference_high,
    preference_p (two-sided, over users), preference_p_holm (over the judges), own_candidates, other_candidates,
    judges (the others), turns (replies), users, why (what is lacking where there is no value).
    """
    judges: list[dict[str, Any]] = []
    columns: list[pd.Series] = []
    for of in by_judge(verdicts, SCORE):
        table = pd.DataFrame(of.score, pd.MultiIndex.from_frame(of.turns), of.candidates)
        columns.append(table.rename_axis(columns="candidate").stack().rename(len(columns)))
        judges.append({"judge": None, "backbone": None, **of.judged_by})
    nobody = pd.DataFrame(index=pd.MultiIndex.from_frame(verdicts[["candidate", *TURN]]))
    replies = pd.concat(columns, axis=1) if columns else nobody
    known = {
        place: families[name]
        for place, about in enumerate(judges)
        for name in (about["judge"], about["backbone"])
        if name in families
    }
    made_by, users = (replies.index.get_level_values(name) for name in ("candidate", "user"))
    preferred = own_family_preference(replies, made_by, users, families, judge_families=known)
    names = {"own_makers": "own_candidates", "other_makers": "other_candidates", "rows": "turns", "units": "users"}
    return pd.DataFrame(judges, columns=["judge", "backbone"]).join(
        preferred.drop(columns="judge").rename(columns=names)
    )
